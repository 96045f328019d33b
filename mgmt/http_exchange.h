// SPDX-License-Identifier: GPL-2.0-or-later
// Inside the HTTP server: one request and its answer, from the request line to the last byte. For mgmt/http*.c and
// mgmt/api_access.c alone.
#ifndef MGMT_HTTP_EXCHANGE_H
#define MGMT_HTTP_EXCHANGE_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "mgmt/api_state.h"
#include "mgmt/assets.h"
#include "mgmt/auth.h"
#include "mgmt/events.h"
#include "mgmt/front.h"
#include "mgmt/http.h"
#include "mgmt/http_route.h"
#include "mgmt/queue.h"

enum {
	HEADERS_MAX = 16 << 10,
	BODIES_MAX = 64 << 20, // of all requests together, while they are being read
	PASSWORDS_WAITING = 8,
	WRITES_WAITING = 32,
};

struct http {
	struct api *api;
	struct auth *auth;
	const struct route *const *tables;
	struct front *front;
	struct MHD_Daemon *mhd;
	struct queue *passwords, *writes;
	struct events *events;
	struct stats_sampler *sampler; // of the events' thread
	size_t bodies;                 // of MHD's thread
	atomic_bool touching;
};

enum exchange_step {
	STEP_HEAD,     // headers are to be checked
	STEP_PASSWORD, // a password is being checked; MHD waits
	STEP_BODY,
	STEP_HANDLER, // the handler works; MHD waits
	STEP_ANSWER,
};

struct exchange {
	struct http *http;
	struct MHD_Connection *mhd;
	struct front_connection *front; // NULL: it has ended meanwhile
	enum exchange_step step;
	bool head, login, has_body, stream;
	enum target_verdict verdict;
	const char *why;
	struct target target;
	struct route_match match;
	struct asset_file asset; // data NULL: none
	struct identity identity;
	struct {
		char user[64], password[PASSWORD_MAX + 1];
	} basic; // user "": none given
	struct request request;
	struct response response; // status 0: none yet
	char *body;
	size_t len, size;
};

// Everything that the head of a request decides. Sets the response if it is refused; basic.user if a password must be checked
// before check_rights.
void check_head(struct exchange *e, const char *method);
// Role, CSRF, and what the head says of the body: once it is known who asks.
void check_rights(struct exchange *e);
// 401, 429 with Retry-After
void refuse_login(struct exchange *e, const char *detail);
void refuse_wait(struct exchange *e, int wait_s);

// Queues e->response, which is emptied.
enum MHD_Result answer(struct exchange *e);
void response_free(struct response *a);

// For handlers of mgmt/api_access.
const struct identity *request_identity(const struct request *r);
struct auth *request_auth(const struct request *r);
const char *header_of(struct MHD_Connection *c, const char *key);

// The handler of GET /v1/events and of POST /v1/session, which the server must know.
void handle_events(struct request *r, struct response *a);
void handle_login(struct request *r, struct response *a);

// http_start with other routes than the product's.
struct http *http_start_routes(struct api *api, const struct route *const *tables, const int *listener,
			       uint32_t listeners, const char *state_dir, struct problems *out);

#endif
