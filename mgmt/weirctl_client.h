// SPDX-License-Identifier: GPL-2.0-or-later
// The connection to one server: HTTPS with a pinned certificate (or one from a CA), the login that is sent along, answers
// of bounded size in bounded time.
#ifndef MGMT_WEIRCTL_CLIENT_H
#define MGMT_WEIRCTL_CLIENT_H

#include <jansson.h>

#include "mgmt/weirctl.h"
#include "mgmt/weirctl_events.h"

enum { ANSWER_BYTES_MAX = 64 << 20, FINGERPRINT_MAX = 96 };

struct answer {
	long status;
	char *body; // with a 0 at its end
	size_t len;
	char etag[64]; // without quotes
	char cookie[512];
	long retry_after_s;
	double seconds; // from the first byte out to the last byte in
};
void answer_free(struct answer *a);

// From options, environment and saved login. NULL: it was said why, and *code is the exit code.
struct client *client_open(struct ctl *c, int *code);
void client_close(struct client *client);
const char *client_url(const struct client *client);
// How long an answer may take; two minutes unless told otherwise, because a write may wait for the engine.
void client_patience(struct client *client, long ms);
// The saved login of the server, for login and logout to look at; borrowed.
json_t *client_login(const struct client *client);

// What the server's certificate was in the last handshake, AA:BB:..; "" if there was none.
const char *client_fingerprint(const struct client *client);
// Trusts this certificate and no other from now on.
void client_pin(struct client *client, const char *fingerprint);
// Whether a certificate is pinned; if not, `client_trust_any` lets the next requests through to see it. Nothing secret may be
// sent then.
bool client_pinned(const struct client *client);
void client_trust_any(struct client *client);
// What authenticates from now on, instead of what was saved: a session. NULL, NULL: nothing.
void client_session(struct client *client, const char *cookie, const char *csrf);

struct call {
	const char *method, *path; // path with query
	const char *body;          // NULL: none
	size_t body_len;
	const char *type;     // of the body; NULL: application/json
	const char *if_match; // ETag without quotes, or "*"; NULL: not sent
};

// Sends and reads the whole answer, whatever its status. CTL_DONE, or it was said why not.
int client_send(struct client *client, const struct call *call, struct answer *a);
// The same, and an answer of 400 or more is told as errors: CTL_REFUSED, or CTL_LOGIN. `a` must be freed in any case.
int client_call(struct client *client, const struct call *call, struct answer *a);
// GET path: the answer as JSON. NULL: it was said why, and *code is the exit code. `a`, if not NULL, must be freed.
json_t *client_get(struct client *client, const char *path, struct answer *a, int *code);
// The answer's body as JSON; NULL: said.
json_t *answer_json(struct client *client, const struct answer *a);

// Prints the answer's body as the server gave it, for -j.
void answer_print(const struct ctl *c, const struct answer *a);

// Reads /v1/events until `stop` says so, calling events->event; `ready` (NULL: nobody) is called when `fd` (-1: none) can be
// read, and at least every `tick_ms`. CTL_DONE when stopped; CTL_UNREACHABLE when the stream broke or ended.
struct live {
	struct sse events;
	int fd, tick_ms;
	void (*ready)(void *arg, bool readable);
	bool (*stop)(void *arg);
	void *arg;
	bool quiet;     // an unreachable server is not told: it will be tried again
	bool connected; // set when the server has accepted it
};
int client_events(struct client *client, struct live *live);

// `text` as part of a query, appended to path (`size` bytes) as KEY=TEXT with ? or &. False: no room.
bool query_add(char *path, size_t size, const char *key, const char *text);

#endif
