// SPDX-License-Identifier: GPL-2.0-or-later
// What a handler of the API sees of HTTP: a request that was bounded, parsed, routed and authorised, and an answer to
// fill in. libmicrohttpd stays inside http.c, TLS inside tls.c. docs/rest-api.md is the contract with the outside.
#ifndef MGMT_HTTP_H
#define MGMT_HTTP_H

#include <jansson.h>

#include "core/problem.h"
#include "io/stats.h"
#include "mgmt/commit.h"
#include "mgmt/store.h"

enum role { ROLE_NONE, ROLE_VIEWER, ROLE_OPERATOR, ROLE_ADMIN };
enum http_method { HTTP_GET = 1, HTTP_POST = 2, HTTP_PUT = 4, HTTP_PATCH = 8, HTTP_DELETE = 16 };

// What all handlers share; lives as long as the manager.
struct api {
	struct store *store;
	struct commit *commit;
	const struct stats *stats; // NULL: no engine ever ran
	int64_t started_s;
};

struct request {
	struct api *api;
	enum http_method method;
	const char *path;    // decoded, without query
	const char *name;    // what {name} of the route matched, decoded; NULL: it has none
	const char *pointer; // what ** of the route matched, as a JSON pointer ("" or "/a/b"); NULL: it has none
	const char *user;    // who is logged in, "" if nobody
	enum role role;
	char from[64];          // address of the peer
	json_t *json;           // body, NULL: none
	const void *connection; // for request_query and request_header
};

// A query value or header of the request; NULL if it is not there. Valid until the handler returns.
const char *request_query(const struct request *r, const char *key);
const char *request_header(const struct request *r, const char *key);
// An unsigned number in the query within min..max, `def` if absent. False: respond_error(400) was done.
struct response;
bool request_number(const struct request *r, struct response *a, const char *key, int64_t min, int64_t max, int64_t def,
		    int64_t *out);

struct response {
	int status;
	json_t *json;      // taken over
	char *text;        // instead of json: malloc'ed, taken over
	const char *type;  // of text; static
	char etag[32];     // without quotes; "": none
	int retry_after_s; // 0: none
	char cookie[512];  // Set-Cookie value; "": none
	char location[128];
};

void respond_json(struct response *a, int status, json_t *body);
// application/problem+json; problems may be NULL.
void respond_error(struct response *a, int status, const char *detail, const struct problems *problems);

typedef void handler(struct request *r, struct response *a);

// One row per method and path. Path segments may be literal, {name}, or a final **.
struct route {
	unsigned methods; // enum http_method, or-ed
	const char *path;
	enum role role; // least role; ROLE_NONE: no login needed
	handler *handle;
	size_t body_max;  // bytes; 0: no body allowed
	const char *help; // one line, for the list of routes
};

// Route tables of the API's parts; each ends with a row without path.
extern const struct route api_config_routes[];   // api_config.c
extern const struct route api_revision_routes[]; // api_revisions.c
extern const struct route api_state_routes[];    // api_state.c, /metrics included
extern const struct route api_access_routes[];   // api_access.c: session, users, tokens, audit, info

// The front: TLS on the listening sockets, MHD behind it, everything on threads of its own until http_stop.
struct http;
struct http *http_start(struct api *api, const int *listener, uint32_t listeners, const char *state_dir,
			struct problems *out);
void http_stop(struct http *h);
// Sends an event to all event streams (any thread; never blocks).
void http_event(struct http *h, const char *event, const json_t *data);

// auth.c: makes the first admin if there is no user, and returns its password (malloc'ed), to be printed once; else NULL.
char *auth_first_password(struct store *s, struct problems *out);
// SHA-256 fingerprint of the certificate in state_dir (made if missing), as AA:BB:...; buf has 96 bytes. False with a problem.
bool tls_prepare(const char *state_dir, char *buf, struct problems *out);

#endif
