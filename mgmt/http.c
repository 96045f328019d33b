// SPDX-License-Identifier: GPL-2.0-or-later
// The HTTP server: libmicrohttpd parses, on one thread, what the front (mgmt/front.c) passes to it. That thread must never
// wait, because it serves everybody. So it only reads: a request that changes something, and every check of a password,
// is done on a queue (mgmt/queue.c) while its connection is suspended. Changes have one queue and so come one
// after another; passwords have their own, and somebody who guesses them delays nobody but others who log in.
//
// MHD calls access_handler several times for a request: when its head is there, for each piece of the body, and at its end; a
// call that suspended the connection is made again. The exchange's step says what the next call means. MHD takes an answer only
// when the head is there or after the body, so a request that is refused in between has its body thrown away first.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/clock.h"
#include "mgmt/http_exchange.h"
#include "mgmt/json.h"

enum { CONNECTION_MEMORY = 64 << 10, CONNECTIONS_MAX = 128, BODY_FIRST = 4096 };

// --- an exchange ---------------------------------------------------------------------------------------------------

static void peer_text(struct MHD_Connection *c, char *buf, socklen_t size)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *sa = info ? info->client_addr : NULL;

	snprintf(buf, size, "?");
	if (sa && sa->sa_family == AF_INET) {
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)sa)->sin_addr, buf, size);
	} else if (sa && sa->sa_family == AF_INET6) {
		const struct in6_addr *a = &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;

		if (IN6_IS_ADDR_V4MAPPED(a))
			inet_ntop(AF_INET, a->s6_addr + 12, buf, size);
		else
			inet_ntop(AF_INET6, a, buf, size);
	}
}

// MHD has the request line.
static void *exchange_new(void *arg, const char *uri, struct MHD_Connection *c)
{
	struct http *h = arg;
	struct exchange *e = calloc(1, sizeof *e);
	const union MHD_ConnectionInfo *front = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	if (!e)
		return NULL;
	e->http = h;
	e->mhd = c;
	e->front = front ? front->socket_context : NULL;
	e->request.api = h->api;
	e->request.connection = e;
	e->request.user = "";
	peer_text(c, e->request.from, sizeof e->request.from);
	e->verdict = target_parse(uri, &e->target, &e->why);
	return e;
}

static void body_free(struct exchange *e)
{
	e->http->bodies -= e->size;
	if (e->body)
		OPENSSL_cleanse(e->body, e->size); // there may be a password in it
	free(e->body);
	e->body = NULL;
	e->len = e->size = 0;
}

static void phase(struct exchange *e, enum front_phase p)
{
	if (e->front)
		front_phase(e->front, p);
}

// The answer is complete, or the connection lost.
static void exchange_free(void *arg, struct MHD_Connection *c, void **context, enum MHD_RequestTerminationCode why)
{
	struct exchange *e = *context;

	*context = NULL;
	if (!e)
		return;
	phase(e, FRONT_KEPT);
	body_free(e);
	json_decref(e->request.json);
	response_free(&e->response);
	OPENSSL_cleanse(&e->basic, sizeof e->basic);
	free(e);
}

// A piece of the body. False: there is no use in reading on.
static bool body_add(struct exchange *e, const char *data, size_t len)
{
	size_t most = e->match.route ? e->match.route->body_max : 0, want = e->size ? e->size : BODY_FIRST;
	char *grown;

	if (e->response.status)
		return true; // thrown away
	if (e->len + len > most) {
		if (e->front)
			front_refuse(e->front, 413);
		return false;
	}
	while (want < e->len + len)
		want *= 2;
	if (want > e->size) {
		grown = e->http->bodies + want - e->size <= BODIES_MAX ? realloc(e->body, want) : NULL;
		if (!grown) {
			body_free(e);
			respond_error(&e->response, 503, "too many large requests at once", NULL);
			e->response.retry_after_s = 1;
			return true;
		}
		e->http->bodies += want - e->size;
		e->body = grown;
		e->size = want;
	}
	memcpy(e->body + e->len, data, len);
	e->len += len;
	return true;
}

// --- handlers ------------------------------------------------------------------------------------------------------

static void write_audit(struct exchange *e, bool login)
{
	static const char *const names[] = {
		[HTTP_POST] = "POST", [HTTP_PUT] = "PUT", [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE"};
	struct audit_row r = {.time_s = time(NULL), .status = e->response.status};
	const char *who = e->request.user[0] ? e->request.user : e->basic.user;

	snprintf(r.who, sizeof r.who, "%s", who);
	snprintf(r.from, sizeof r.from, "%s", e->request.from);
	if (login)
		snprintf(r.what, sizeof r.what, "login");
	else
		snprintf(r.what, sizeof r.what, "%s %s%s", names[e->request.method], e->request.path,
			 target_query(&e->target, "dry_run") ? " (dry run)" : "");
	store_audit(e->http->api->store, &r);
}

static bool read_json(struct exchange *e)
{
	struct problems found = {0};

	if (!e->has_body)
		return true;
	e->request.json = value_parse(e->body ? e->body : "", e->len, &found);
	if (found.errors)
		respond_error(&e->response, 400, "the body is not JSON", &found);
	problems_free(&found);
	return !e->response.status;
}

static void run_handler(struct exchange *e)
{
	if (read_json(e))
		e->match.route->handle(&e->request, &e->response);
	if (!e->response.status)
		respond_error(&e->response, 500, "there was no answer to give", NULL);
	if (e->request.method != HTTP_GET && !(e->login && e->response.status == 429))
		write_audit(e, e->login);
}

static void handler_job(void *arg)
{
	struct exchange *e = arg;

	run_handler(e);
	MHD_resume_connection(e->mhd);
}

static void password_job(void *arg)
{
	struct exchange *e = arg;
	int wait;

	switch (auth_password(e->http->auth, e->basic.user, e->basic.password, e->request.from, clock_now(),
			      &e->identity, &wait)) {
	case AUTH_FINE:
		break;
	case AUTH_WRONG:
		refuse_login(e, "wrong name or password");
		write_audit(e, true);
		break;
	case AUTH_WAIT:
		refuse_wait(e, wait);
		break;
	}
	OPENSSL_cleanse(e->basic.password, sizeof e->basic.password);
	MHD_resume_connection(e->mhd);
}

// MHD's thread goes on with others; the job resumes the connection. It is suspended first: the job may be done before
// this returns.
static bool hand_to(struct exchange *e, struct queue *q, queue_job *job, enum exchange_step step)
{
	e->step = step;
	MHD_suspend_connection(e->mhd);
	if (queue_add(q, job, e))
		return true;
	MHD_resume_connection(e->mhd);
	respond_error(&e->response, 503, "too many requests are waiting", NULL);
	e->response.retry_after_s = 1;
	return false;
}

// --- what MHD calls ------------------------------------------------------------------------------------------------

// Before the body has been read; MHD then closes, if there is one.
static enum MHD_Result answer_early(struct exchange *e)
{
	phase(e, FRONT_ANSWER);
	return answer(e);
}

static enum MHD_Result begin(struct exchange *e, const char *method)
{
	check_head(e, method);
	e->login = e->match.route && e->match.route->handle == handle_login && e->request.method == HTTP_POST;
	if (e->response.status)
		return answer_early(e);
	phase(e, FRONT_BODY);
	if (e->basic.user[0])
		hand_to(e, e->http->passwords, password_job, STEP_PASSWORD);
	else
		e->step = STEP_BODY;
	return MHD_YES;
}

// The request is complete.
static enum MHD_Result finish(struct exchange *e)
{
	phase(e, FRONT_ANSWER);
	if (e->response.status || e->asset.data)
		return answer(e);
	if (e->request.method == HTTP_GET) {
		e->stream = e->match.route->handle == handle_events;
		run_handler(e);
		return answer(e);
	}
	hand_to(e, e->login ? e->http->passwords : e->http->writes, handler_job, STEP_HANDLER);
	return MHD_YES;
}

static enum MHD_Result access_handler(void *arg, struct MHD_Connection *c, const char *url, const char *method,
				      const char *version, const char *data, size_t *len, void **context)
{
	struct exchange *e = *context;

	if (!e)
		return MHD_NO;
	switch (e->step) {
	case STEP_HEAD:
		return begin(e, method);
	case STEP_PASSWORD:
		e->step = STEP_BODY;
		if (!e->response.status)
			check_rights(e);
		if (e->has_body && !*len)
			return e->response.status ? answer_early(e) : MHD_YES;
		// fall through
	case STEP_BODY:
		if (!*len)
			return finish(e);
		if (!body_add(e, data, *len))
			return MHD_NO;
		*len = 0;
		return MHD_YES;
	case STEP_HANDLER:
		e->step = STEP_ANSWER;
		return answer(e);
	case STEP_ANSWER:
		break;
	}
	return MHD_NO;
}

static void connection_changed(void *arg, struct MHD_Connection *c, void **context,
			       enum MHD_ConnectionNotificationCode code)
{
	struct http *h = arg;
	const union MHD_ConnectionInfo *fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = fd ? front_take(h->front, fd->connect_fd) : NULL;
	} else if (*context) {
		front_gone(*context);
		*context = NULL;
	}
}

// --- events --------------------------------------------------------------------------------------------------------

void handle_events(struct request *r, struct response *a)
{
	a->status = 200;
	a->type = "text/event-stream";
}

static json_t *sample(void *arg)
{
	struct http *h = arg;

	return state_stats_event(h->api->stats, h->sampler);
}

static bool still_allowed(void *arg, const struct identity *who)
{
	struct http *h = arg;

	return auth_still(h->auth, who, ROLE_VIEWER, time(NULL));
}

static void wake_stream(void *arg, void *connection)
{
	MHD_resume_connection(connection);
}

void http_event(struct http *h, const char *event, const json_t *data)
{
	events_send(h->events, event, data);
}

static const struct route own_routes[] = {
	{HTTP_GET, "/v1/events", ROLE_VIEWER, handle_events, 0, "server-sent events"},
	{0},
};

// --- start and stop ------------------------------------------------------------------------------------------------

static bool deliver(void *arg, int fd, const struct sockaddr_storage *peer, socklen_t peer_len)
{
	struct http *h = arg;

	return MHD_add_connection(h->mhd, fd, (const struct sockaddr *)peer, peer_len) == MHD_YES;
}

static struct MHD_Daemon *start_mhd(struct http *h)
{
	sigset_t all, before;
	struct MHD_Daemon *d;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	d = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME, 0,
		NULL, NULL, access_handler, h, MHD_OPTION_URI_LOG_CALLBACK, exchange_new, h,
		MHD_OPTION_NOTIFY_COMPLETED, exchange_free, h, MHD_OPTION_NOTIFY_CONNECTION, connection_changed, h,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return d;
}

static bool start_parts(struct http *h, const char *state_dir, const int *listener, uint32_t listeners,
			struct problems *out)
{
	const struct events_options events = {
		.sample = sample, .allowed = still_allowed, .wake = wake_stream, .arg = h, .second_ns = NSEC_PER_SEC};
	const struct front_options front = {.state_dir = state_dir,
					    .listener = listener,
					    .listeners = listeners,
					    .limits = &front_limits_default,
					    .deliver = deliver,
					    .arg = h};
	uint32_t before = out->errors;

	h->auth = auth_new(h->api->store);
	h->sampler = stats_sampler_new(EVENT_CLASSES);
	h->passwords = queue_start(PASSWORDS_WAITING);
	h->writes = queue_start(WRITES_WAITING);
	h->events = events_new(&events);
	if (h->auth && h->sampler && h->passwords && h->writes && h->events)
		h->front = front_new(&front, out);
	if (h->front)
		h->mhd = start_mhd(h);
	if (h->mhd && front_start(h->front, out))
		return true;
	if (out->errors == before)
		problem_add(out, PROBLEM_ERROR, "", "cannot serve HTTP: no memory or no threads");
	return false;
}

struct http *http_start_routes(struct api *api, const struct route *const *tables, const int *listener,
			       uint32_t listeners, const char *state_dir, struct problems *out)
{
	struct http *h = calloc(1, sizeof *h);

	if (!h) {
		problem_add(out, PROBLEM_ERROR, "", "cannot serve HTTP: out of memory");
		return NULL;
	}
	h->api = api;
	h->tables = tables;
	if (start_parts(h, state_dir, listener, listeners, out))
		return h;
	http_stop(h);
	return NULL;
}

struct http *http_start(struct api *api, const int *listener, uint32_t listeners, const char *state_dir,
			struct problems *out)
{
	static const struct route *const tables[] = {api_config_routes, api_revision_routes, api_state_routes,
						     api_access_routes, own_routes,          NULL};

	return http_start_routes(api, tables, listener, listeners, state_dir, out);
}

// The reverse of the start, with one thing in mind: MHD can only be stopped when no connection is suspended. The queues end
// their jobs and take no more, and the events end their streams; each resumes its connections.
void http_stop(struct http *h)
{
	if (!h)
		return;
	if (h->front)
		front_stop(h->front);
	if (h->passwords)
		queue_stop(h->passwords);
	if (h->writes)
		queue_stop(h->writes);
	if (h->events)
		events_stop(h->events);
	if (h->mhd)
		MHD_stop_daemon(h->mhd);
	if (h->events)
		events_free(h->events);
	if (h->writes)
		queue_free(h->writes);
	if (h->passwords)
		queue_free(h->passwords);
	if (h->front)
		front_free(h->front);
	stats_sampler_free(h->sampler);
	auth_free(h->auth);
	free(h);
}
