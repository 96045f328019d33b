// SPDX-License-Identifier: GPL-2.0-or-later
// From the head of a request to the decision to read on. In the order of what it costs: the limits, the route, who it
// is, what they may, and whether the body will be acceptable; so nobody without a login makes us read a large one.
//
// A browser sends a session's cookie, and cached HTTP credentials too, with requests that other sites make it send. So
// whatever changes anything must come from our own origin if it says where it comes from (RFC 6454), and with a session it
// must also carry the value that only our pages can read (X-Weir-CSRF). 401 names the scheme Bearer, which browsers
// have no dialogue for: HTTP Basic is for curl.
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "io/clock.h"
#include "mgmt/http_exchange.h"

static void refuse(struct exchange *e, int status, const char *detail)
{
	respond_error(&e->response, status, detail, NULL);
}

void refuse_login(struct exchange *e, const char *detail)
{
	refuse(e, 401, detail);
}

void refuse_wait(struct exchange *e, int wait_s)
{
	refuse(e, 429, "too many failed logins");
	e->response.retry_after_s = wait_s;
}

static enum http_method method_of(const char *name, bool *head)
{
	static const struct {
		const char *name;
		enum http_method method;
	} methods[] = {
		{"GET", HTTP_GET}, {"HEAD", HTTP_GET},    {"POST", HTTP_POST},
		{"PUT", HTTP_PUT}, {"PATCH", HTTP_PATCH}, {"DELETE", HTTP_DELETE},
	};

	*head = !strcmp(name, "HEAD");
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (!strcmp(name, methods[i].name))
			return methods[i].method;
	return 0;
}

// --- who -----------------------------------------------------------------------------------------------------------

// Standard base64 (RFC 4648, 4) with its padding, to a text without NULs. False: it is not, or does not fit.
static bool base64_text(const char *in, char *out, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = strcspn(in, "="), n = 0;
	uint32_t bits = 0;
	unsigned have = 0;

	if ((len + strlen(in + len)) % 4 || strlen(in + len) > 2 || strspn(in + len, "=") != strlen(in + len))
		return false;
	for (size_t i = 0; i < len; i++) {
		const char *d = strchr(digits, in[i]);

		if (!d)
			return false;
		bits = bits << 6 | (uint32_t)(d - digits);
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		if (n + 1 >= size || !(out[n++] = (char)(bits >> have)))
			return false;
	}
	out[n] = '\0';
	return true;
}

static void given_password(struct exchange *e, const char *encoded)
{
	char both[sizeof e->basic], *colon;
	int wait;

	colon = base64_text(encoded, both, sizeof both) ? strchr(both, ':') : NULL;
	if (!colon || colon == both || colon - both >= (ptrdiff_t)sizeof e->basic.user ||
	    strlen(colon + 1) > PASSWORD_MAX) {
		refuse_login(e, "the Authorization header has no name and password");
	} else {
		*colon = '\0';
		wait = auth_wait(e->http->auth, both, e->request.from, clock_now());
		if (wait) {
			refuse_wait(e, wait);
		} else {
			strcpy(e->basic.user, both);
			strcpy(e->basic.password, colon + 1);
		}
	}
	OPENSSL_cleanse(both, sizeof both);
}

static void note_use(struct exchange *e);

static void authenticate(struct exchange *e)
{
	const char *header = header_of(e->mhd, "Authorization"), *cookie;

	if (header && !strncasecmp(header, "Basic ", 6)) {
		given_password(e, header + 6 + strspn(header + 6, " "));
	} else if (header && !strncasecmp(header, "Bearer ", 7)) {
		if (!auth_token(e->http->auth, header + 7 + strspn(header + 7, " "), &e->identity))
			refuse_login(e, "there is no such token");
	} else if (header) {
		refuse_login(e, "the Authorization header is neither Bearer nor Basic");
	} else {
		cookie = MHD_lookup_connection_value(e->mhd, MHD_COOKIE_KIND, "__Host-weir");
		if (!cookie)
			refuse_login(e, "this needs a login");
		else if (!auth_session(e->http->auth, cookie, time(NULL), &e->identity))
			refuse_login(e, "the session has ended");
	}
	if (!e->response.status && e->identity.kind != CREDENTIAL_NONE)
		note_use(e);
}

struct touch {
	struct http *http;
	struct identity who;
};

static void touch_job(void *arg)
{
	struct touch *t = arg;

	auth_touch(t->http->auth, &t->who, time(NULL));
	atomic_store(&t->http->touching, false);
	free(t);
}

// On the queue of writes, because it is one; and there it cannot meet the removal of what it touches.
static void note_use(struct exchange *e)
{
	struct touch *t;

	if (!auth_touch_due(&e->identity, time(NULL)) || atomic_exchange(&e->http->touching, true))
		return;
	t = malloc(sizeof *t);
	if (t) {
		t->http = e->http;
		t->who = e->identity;
	}
	if (!t || !queue_add(e->http->writes, touch_job, t)) {
		free(t);
		atomic_store(&e->http->touching, false);
	}
}

// --- may -----------------------------------------------------------------------------------------------------------

static bool from_elsewhere(struct exchange *e)
{
	const char *origin = header_of(e->mhd, "Origin"), *host = header_of(e->mhd, "Host");

	return origin && (!host || strncasecmp(origin, "https://", 8) != 0 || strcasecmp(origin + 8, host) != 0);
}

static bool csrf_fits(struct exchange *e)
{
	const char *given = header_of(e->mhd, "X-Weir-CSRF");
	size_t len = strlen(e->identity.csrf);

	return given && strlen(given) == len && !CRYPTO_memcmp(given, e->identity.csrf, len);
}

static bool media_type_is(const char *header, const char *type)
{
	size_t len = strcspn(header, "; \t");

	return len == strlen(type) && !strncasecmp(header, type, len);
}

static void check_body(struct exchange *e)
{
	const char *length = header_of(e->mhd, "Content-Length"), *type = header_of(e->mhd, "Content-Type");
	size_t most = e->match.route->body_max;
	char detail[96];

	if (!e->has_body)
		return;
	if (!most || (length && (strlen(length) > 15 || strtoull(length, NULL, 10) > most))) {
		if (most)
			snprintf(detail, sizeof detail, "the body is longer than the %zu bytes allowed here", most);
		else
			snprintf(detail, sizeof detail, "no body is allowed here");
		refuse(e, 413, detail);
	} else if (!type ||
		   (!media_type_is(type, "application/json") &&
		    !(e->request.method == HTTP_PATCH && media_type_is(type, "application/merge-patch+json")))) {
		refuse(e, 415, "the body's Content-Type must be application/json");
	}
}

void check_rights(struct exchange *e)
{
	const struct route *r = e->match.route;
	char detail[96];

	e->request.user = e->identity.user;
	e->request.role = e->identity.role;
	if (e->identity.role < r->role) {
		snprintf(detail, sizeof detail, "this needs the role %s; yours is %s", role_name(r->role),
			 role_name(e->identity.role));
		refuse(e, 403, detail);
	} else if (e->request.method != HTTP_GET && from_elsewhere(e)) {
		refuse(e, 403, "the request comes from another site");
	} else if (e->request.method != HTTP_GET && e->identity.kind == CREDENTIAL_SESSION && !csrf_fits(e)) {
		refuse(e, 403, "the header X-Weir-CSRF is missing or wrong");
	} else {
		check_body(e);
	}
}

static void check_route(struct exchange *e)
{
	struct request *r = &e->request;

	r->path = e->target.path;
	route_find(e->http->tables, &e->target, r->method, &e->match);
	r->name = e->match.name;
	r->pointer = e->match.has_pointer ? e->match.pointer : NULL;
	if (e->match.route)
		return;
	if (!e->match.allow && asset_find(e->target.path, &e->asset)) {
		e->match.allow = HTTP_GET;
		if (r->method == HTTP_GET)
			return;
	}
	e->asset.data = NULL;
	if (e->match.allow)
		refuse(e, 405, "this cannot be done here; the header Allow says what can");
	else
		refuse(e, 404, "there is nothing at this path");
}

void check_head(struct exchange *e, const char *method)
{
	const union MHD_ConnectionInfo *size = MHD_get_connection_info(e->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	const char *length = header_of(e->mhd, "Content-Length");

	e->request.method = method_of(method, &e->head);
	e->has_body = header_of(e->mhd, "Transfer-Encoding") || (length && strspn(length, "0") != strlen(length));
	if (e->verdict == TARGET_TOO_LONG)
		refuse(e, 414, "a path with its query has at most 2048 bytes");
	else if (e->verdict == TARGET_BAD)
		refuse(e, 400, e->why);
	else if (size && size->header_size > HEADERS_MAX)
		refuse(e, 431, "the headers have at most 16384 bytes");
	else
		check_route(e);
	if (e->response.status || e->asset.data)
		return;
	if (e->match.route->role != ROLE_NONE)
		authenticate(e);
	if (!e->response.status && !e->basic.user[0])
		check_rights(e);
}
