// SPDX-License-Identifier: GPL-2.0-or-later
// The HTTP server as a whole on a loopback port: real TLS, real store, the product's routes of access and events, and a few
// of its own. Each test makes what users, tokens and connections it needs; the server lives for all of them.
#include "tests/unit/tls_client.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "mgmt/http_exchange.h"

enum { ANSWER = 64 << 10, IDLE_ONES = 300 };

// A sanitizer makes cryptography several times slower; the promise is of the program.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SERVED_WITHIN 5.0
#else
#define SERVED_WITHIN 1.0
#endif

static uint16_t port;
static struct http *server;
static struct api api;
static char *admin_password;
static char admin[TOKEN_TEXT + 32], operator_[TOKEN_TEXT + 32], viewer[TOKEN_TEXT + 32]; // Authorization headers
static atomic_int written;

// --- routes --------------------------------------------------------------------------------------------------------

static void echo(struct request *r, struct response *a)
{
	json_t *query = json_object();
	const char *q = request_query(r, "q");
	int64_t n;

	if (!request_number(r, a, "n", 1, 9, 5, &n)) {
		json_decref(query);
		return;
	}
	json_object_set_new(query, "n", json_integer(n));
	if (q)
		json_object_set_new(query, "q", json_string(q));
	if (r->name)
		json_object_set_new(query, "name", json_string(r->name));
	if (r->pointer)
		json_object_set_new(query, "pointer", json_string(r->pointer));
	if (r->json)
		json_object_set(query, "body", r->json);
	if (r->method != HTTP_GET)
		atomic_fetch_add(&written, 1);
	respond_json(a, 200, query);
	strcpy(a->etag, "7");
}

static void slow(struct request *r, struct response *a)
{
	poll(NULL, 0, 1000);
	respond_json(a, 200, json_object());
}

static void large(struct request *r, struct response *a)
{
	a->status = 200;
	a->type = "text/plain";
	a->text = malloc(4000001);
	memset(a->text, 'l', 4000000);
	a->text[4000000] = '\0';
}

static void silent(struct request *r, struct response *a)
{
}

static const struct route test_routes[] = {
	{HTTP_GET, "/v1/echo/{name}", ROLE_VIEWER, echo, 0, ""},
	{HTTP_GET, "/v1/echo/{name}/**", ROLE_VIEWER, echo, 0, ""},
	{HTTP_PUT | HTTP_PATCH, "/v1/echo/{name}", ROLE_OPERATOR, echo, 1 << 20, ""},
	{HTTP_DELETE, "/v1/echo/{name}", ROLE_OPERATOR, echo, 0, ""},
	{HTTP_POST, "/v1/slow", ROLE_OPERATOR, slow, 0, ""},
	{HTTP_GET, "/v1/large", ROLE_VIEWER, large, 0, ""},
	{HTTP_GET, "/v1/silent", ROLE_VIEWER, silent, 0, ""},
	{HTTP_GET, "/v1/events", ROLE_VIEWER, handle_events, 0, ""},
	{0},
};

// --- a client ------------------------------------------------------------------------------------------------------

struct answer {
	int status;
	char text[ANSWER]; // head and body
	const char *body;
};

static void read_answer(struct client *c, struct answer *a)
{
	const char *end;

	client_read_all(c, a->text, sizeof a->text);
	a->status = 0;
	sscanf(a->text, "HTTP/1.1 %d", &a->status);
	end = strstr(a->text, "\r\n\r\n");
	a->body = end ? end + 4 : "";
}

// One request on a connection of its own. `headers` end with \r\n each; body NULL: none.
static struct answer *ask(const char *method, const char *path, const char *headers, const char *body)
{
	static struct answer a;
	struct client c = tls_to(port, NULL);
	char *text;
	int len;

	assert_non_null(c.ssl);
	if (body)
		len = asprintf(&text,
			       "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%sContent-Type: "
			       "application/json\r\nContent-Length: %zu\r\n\r\n%s",
			       method, path, headers, strlen(body), body);
	else
		len = asprintf(&text, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", method, path,
			       headers);
	client_send(&c, text, (size_t)len);
	read_answer(&c, &a);
	client_close(&c);
	free(text);
	return &a;
}

static bool has_header(const struct answer *a, const char *key, const char *value)
{
	char line[256];
	const char *at;

	snprintf(line, sizeof line, "\r\n%s: ", key);
	at = strcasestr(a->text, line);
	return at && at < a->body && (!value || !strncmp(at + strlen(line), value, strlen(value)));
}

#define assert_status(a, s)                              \
	do {                                             \
		const struct answer *a_ = (a);           \
		if (a_->status != (s))                   \
			print_message("%s\n", a_->text); \
		assert_int_equal(a_->status, (s));       \
	} while (0)

static void make_token(const char *name, const char *role, char *header)
{
	char body[128];
	struct answer *a;
	json_t *j;

	snprintf(body, sizeof body, "{\"name\":\"%s\",\"role\":\"%s\"}", name, role);
	a = ask("POST", "/v1/tokens", admin, body);
	assert_status(a, 201);
	j = json_loads(a->body, 0, NULL);
	sprintf(header, "Authorization: Bearer %s\r\n", json_string_value(json_object_get(j, "token")));
	json_decref(j);
}

struct session {
	char cookie[128], csrf[128]; // headers
};

static int login(const char *user, const char *password, struct session *s)
{
	char body[256];
	struct answer *a;
	json_t *j;

	snprintf(body, sizeof body, "{\"user\":\"%s\",\"password\":\"%s\"}", user, password);
	a = ask("POST", "/v1/session", "", body);
	if (a->status == 200 && s) {
		const char *at = strstr(a->text, "__Host-weir=");

		assert_non_null(at);
		snprintf(s->cookie, sizeof s->cookie, "Cookie: %.*s\r\n", (int)strcspn(at, ";"), at);
		assert_non_null(strstr(at, "; Path=/; Secure; HttpOnly; SameSite=Strict"));
		j = json_loads(a->body, 0, NULL);
		snprintf(s->csrf, sizeof s->csrf, "X-Weir-CSRF: %s\r\n", json_string_value(json_object_get(j, "csrf")));
		json_decref(j);
	}
	return a->status;
}

static void basic(const char *user, const char *password, char *header)
{
	char both[128], encoded[200];

	snprintf(both, sizeof both, "%s:%s", user, password);
	EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)both, (int)strlen(both));
	sprintf(header, "Authorization: Basic %s\r\n", encoded);
}

static void make_user(const char *name, const char *role, const char *password)
{
	char path[64], body[128];

	snprintf(path, sizeof path, "/v1/users/%s", name);
	snprintf(body, sizeof body, "{\"role\":\"%s\",\"password\":\"%s\"}", role, password);
	assert_status(ask("PUT", path, admin, body), 201);
}

// --- start and stop ------------------------------------------------------------------------------------------------

static int listener;

static int start(void **state)
{
	static const struct route *const tables[] = {test_routes, api_access_routes, NULL};
	struct problems found = {0};
	struct token_row t = {.name = "first", .role = ROLE_ADMIN, .created_s = 1};
	uint8_t hash[32];
	char token[TOKEN_TEXT];

	make_state_dir();
	api.store = store_open(test_dir, &found);
	assert_non_null(api.store);
	api.started_s = time(NULL);
	admin_password = auth_first_password(api.store, &found);
	assert_non_null(admin_password);
	assert_true(token_make(token, hash));
	assert_true(store_token_put(api.store, &t, hash, &found));
	sprintf(admin, "Authorization: Bearer %s\r\n", token);
	listener = listen_somewhere(&port);
	server = http_start_routes(&api, tables, &listener, 1, test_dir, &found);
	assert_non_null(server);
	make_token("op", "operator", operator_);
	make_token("view", "viewer", viewer);
	return 0;
}

static int stop(void **state)
{
	http_stop(server);
	close(listener);
	store_close(api.store);
	free(admin_password);
	remove_state_dir();
	return 0;
}

// --- requests ------------------------------------------------------------------------------------------------------

static void info_needs_no_login(void **state)
{
	struct answer *a = ask("GET", "/v1/info", "", NULL);
	json_t *j = json_loads(a->body, 0, NULL);

	assert_status(a, 200);
	assert_string_equal(json_string_value(json_object_get(j, "name")), "weir");
	assert_string_equal(json_string_value(json_object_get(j, "api")), "v1");
	json_decref(j);
	assert_true(has_header(a, "Content-Type", "application/json\r"));
	assert_true(has_header(a, "Content-Security-Policy", "default-src 'self'"));
	assert_true(has_header(a, "Strict-Transport-Security", "max-age="));
	assert_true(has_header(a, "X-Content-Type-Options", "nosniff"));
	assert_true(has_header(a, "Referrer-Policy", "no-referrer"));
	assert_true(has_header(a, "Cache-Control", "no-store"));
	a = ask("HEAD", "/v1/info", "", NULL);
	assert_status(a, 200);
	assert_string_equal(a->body, "");
	assert_true(has_header(a, "Content-Length", NULL));
}

static void the_dashboard_needs_no_login(void **state)
{
	struct answer *a = ask("GET", "/", "", NULL);
	char etag[64], header[96];
	const char *at;

	assert_status(a, 200);
	assert_true(has_header(a, "Content-Type", "text/html"));
	assert_true(has_header(a, "Content-Security-Policy", "default-src 'self'"));
	at = strcasestr(a->text, "\r\nETag: ");
	assert_non_null(at);
	snprintf(etag, sizeof etag, "%.*s", (int)strcspn(at + 8, "\r"), at + 8);
	snprintf(header, sizeof header, "If-None-Match: %s\r\n", etag);
	a = ask("GET", "/", header, NULL);
	assert_status(a, 304);
	assert_string_equal(a->body, "");
	a = ask("PUT", "/", "", NULL);
	assert_status(a, 405);
	assert_true(has_header(a, "Allow", "GET, HEAD\r"));
}

static void paths(void **state)
{
	static const struct {
		const char *method, *path;
		int status;
		const char *in_body;
	} row[] = {
		{"GET", "/v1/echo/a", 200, "\"name\":\"a\""},
		{"GET", "/v1/echo/a%20%2Fb", 200, "\"name\":\"a /b\""},
		{"GET", "/v1/echo/a/b/c~%2Fd", 200, "\"pointer\":\"/b/c~0~1d\""},
		{"GET", "/v1/echo/a?q=x+y%26&n=9", 200, "\"n\":9,\"q\":\"x y&\""},
		{"GET", "/v1/echo/a?n=10", 400, "not a number from 1 to 9"},
		{"GET", "/v1/echo/a?n=", 400, "not a number"},
		{"GET", "/v1/echo/a?q=1&q=2", 400, "twice"},
		{"GET", "/v1/echo/%", 400, "percent"},
		{"GET", "/v1/echo/%00", 400, "percent"},
		{"GET", "/v1/echo/%ff", 400, "UTF-8"},
		{"GET", "/v1/echo/..", 400, ".."},
		{"GET", "/v1/echo/%2e%2e/x", 400, ".."},
		{"GET", "/v1//echo", 400, "empty"},
		{"GET", "/v1/nothing", 404, "nothing at"},
		{"GET", "/../../etc/passwd", 400, ".."},
		{"GET", "/nothing.html", 404, "nothing at"},
		{"POST", "/v1/echo/a", 405, "Allow"},
		{"OPTIONS", "/v1/echo/a", 405, "Allow"},
		{"BREW", "/v1/echo/a", 405, "Allow"},
	};
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct answer *a = ask(row[i].method, row[i].path, viewer, NULL);

		if (a->status == 200 && !has_header(a, "ETag", "\"7\""))
			fail();
		if (a->status != row[i].status || !strstr(a->status == 405 ? a->text : a->body, row[i].in_body))
			fail_msg("%s %s: %s", row[i].method, row[i].path, a->text);
		if (a->status != 200)
			assert_true(has_header(a, "Content-Type", "application/problem+json"));
		if (a->status == 405)
			assert_true(has_header(a, "Allow", "GET, HEAD, PUT, PATCH, DELETE\r"));
	}
}

static void sizes(void **state)
{
	static char path[9000], headers[210000];

	memset(path, 'a', sizeof path - 1);
	path[0] = '/';
	assert_status(ask("GET", path, viewer, NULL), 414);
	path[2048] = '\0';
	assert_status(ask("GET", path, viewer, NULL), 404);
	sprintf(headers, "%sX-Long: ", viewer);
	memset(headers + strlen(headers), 'a', 15000);
	strcat(headers, "\r\n");
	assert_status(ask("GET", "/v1/echo/a", headers, NULL), 200);
	sprintf(headers, "X-Long: ");
	memset(headers + strlen(headers), 'a', 17000);
	memcpy(headers + 17000, "\r\n", 3);
	assert_status(ask("GET", "/v1/echo/a", headers, NULL), 431);
	memset(headers + 8, 'a', 200000);
	memcpy(headers + 200000, "\r\n", 3);
	assert_status(ask("GET", "/v1/echo/a", headers, NULL), 431);
}

static void garbage(void **state)
{
	static const char *const text[] = {
		"\x16\x03\x01 nonsense\r\n\r\n",
		"GET / HTTP/9.9\r\n\r\n",
		"GET /v1/info HTTP/1.1\r\n\r\n",
		"\r\n\r\n\r\n",
		"GET\r\n\r\n",
		"PUT /v1/echo/a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
		"PUT /v1/echo/a HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n"};
	for (size_t i = 0; i < ARRAY_LEN(text); i++) {
		struct client c = tls_to(port, NULL);
		struct answer a;

		assert_true(client_send(&c, text[i], strlen(text[i])));
		SSL_shutdown(c.ssl);
		shutdown(c.fd, SHUT_WR);
		read_answer(&c, &a);
		if (a.status && (a.status < 400 || a.status >= 600))
			fail_msg("%zu: %s", i, a.text);
		client_close(&c);
	}
	assert_status(ask("GET", "/v1/info", "", NULL), 200);
}

static void bodies(void **state)
{
	static char big[2 << 20];
	struct answer *a = ask("PUT", "/v1/echo/a", operator_, "{\"x\":[1,2]}");
	char headers[512];

	assert_status(a, 200);
	assert_non_null(strstr(a->body, "\"body\":{\"x\":[1,2]}"));
	a = ask("PUT", "/v1/echo/a", operator_, "{\"x\":1,\n\"x\":2}");
	assert_status(a, 400);
	assert_non_null(strstr(a->body, "line 2"));
	assert_status(ask("PUT", "/v1/echo/a", operator_, "{\"x\":"), 400);
	assert_status(ask("DELETE", "/v1/echo/a", operator_, "{}"), 413);
	assert_status(ask("DELETE", "/v1/echo/a", operator_, NULL), 200);
	memset(big, ' ', sizeof big - 1);
	a = ask("PUT", "/v1/echo/a", operator_, big);
	assert_status(a, 413);
	assert_non_null(strstr(a->body, "1048576"));
	big[1 << 20] = '\0';
	memcpy(big, "{\"a\":1}", 7);
	assert_status(ask("PUT", "/v1/echo/a", operator_, big), 200);
	snprintf(headers, sizeof headers, "%sContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", operator_);
	assert_status(ask("PUT", "/v1/echo/a", headers, NULL), 415);
	snprintf(headers, sizeof headers,
		 "%sContent-Type: application/merge-patch+json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
		 operator_);
	assert_status(ask("PUT", "/v1/echo/a", headers, NULL), 415);
	assert_status(ask("PATCH", "/v1/echo/a", headers, NULL), 200);
	assert_status(ask("GET", "/v1/silent", viewer, NULL), 500);
}

// The sender notices by itself that it can stop.
static void an_endless_body_is_told_413(void **state)
{
	struct client c = tls_to(port, NULL);
	static char chunk[65536 + 16];
	char head[512];
	struct answer a;
	size_t sent = 0;
	int n = sprintf(chunk, "10000\r\n");

	memset(chunk + n, ' ', 65536);
	memcpy(chunk + n + 65536, "\r\n", 2);
	n += 65536 + 2;
	snprintf(
		head, sizeof head,
		"PUT /v1/echo/a HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
		operator_);
	assert_true(client_send(&c, head, strlen(head)));
	while (sent < (64u << 20) && client_send(&c, chunk, (size_t)n)) {
		char byte;

		sent += (size_t)n;
		if (recv(c.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
			break;
	}
	read_answer(&c, &a);
	assert_status(&a, 413);
	assert_true(sent < (8u << 20));
	client_close(&c);
}

static void chunks_are_put_together(void **state)
{
	char headers[512];
	struct answer *a;

	snprintf(
		headers, sizeof headers,
		"%sContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n5\r\n\":42}\r\n0\r\n",
		operator_);
	a = ask("PUT", "/v1/echo/a", headers, NULL);
	assert_status(a, 200);
	assert_non_null(strstr(a->body, "\"body\":{\"a\":42}"));
}

static void a_request_cut_off_does_nothing(void **state)
{
	char head[512];
	int before = written;

	for (int i = 0; i < 20; i++) {
		struct client c = tls_to(port, NULL);

		snprintf(
			head, sizeof head,
			"PUT /v1/echo/a HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\":",
			operator_);
		assert_true(client_send(&c, head, strlen(head) - (size_t)i * 8));
		if (i % 2)
			client_reset(&c);
		else
			client_close(&c);
	}
	assert_status(ask("GET", "/v1/info", "", NULL), 200);
	assert_int_equal(written, before);
}

static void connections_are_kept(void **state)
{
	struct client c = tls_to(port, NULL);
	char text[512];

	snprintf(text, sizeof text, "GET /v1/echo/a HTTP/1.1\r\nHost: localhost\r\n%s\r\n", viewer);
	for (int i = 0; i < 50; i++) {
		char buf[4096];
		size_t at = 0;
		int n;

		assert_true(client_send(&c, text, strlen(text)));
		while ((n = SSL_read(c.ssl, buf + at, (int)(sizeof buf - 1 - at))) > 0) {
			at += (size_t)n;
			buf[at] = '\0';
			if (strstr(buf, "}\n"))
				break;
		}
		assert_true(n > 0);
	}
	client_close(&c);
}

static void a_large_answer_arrives_whole(void **state)
{
	struct client c = tls_to(port, NULL);
	char *buf = malloc(5000000), text[512];

	snprintf(text, sizeof text, "GET /v1/large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", viewer);
	assert_true(client_send(&c, text, strlen(text)));
	poll(NULL, 0, 200);
	client_read_all(&c, buf, 5000000);
	assert_int_equal(strlen(strstr(buf, "\r\n\r\n") + 4), 4000000);
	client_close(&c);
	free(buf);
}

// --- access --------------------------------------------------------------------------------------------------------

static void roles(void **state)
{
	struct answer *a = ask("GET", "/v1/echo/a", "", NULL);

	assert_status(a, 401);
	assert_true(has_header(a, "WWW-Authenticate", "Bearer"));
	assert_status(ask("GET", "/v1/echo/a", "Authorization: Bearer weir_nonsense\r\n", NULL), 401);
	assert_status(ask("GET", "/v1/echo/a", "Authorization: Digest x\r\n", NULL), 401);
	assert_status(ask("GET", "/v1/echo/a", "Authorization: Basic !!!\r\n", NULL), 401);
	assert_status(ask("GET", "/v1/echo/a", "Cookie: __Host-weir=nonsense\r\n", NULL), 401);
	assert_status(ask("GET", "/v1/echo/a", viewer, NULL), 200);
	assert_status(ask("PUT", "/v1/echo/a", viewer, "{}"), 403);
	assert_status(ask("PUT", "/v1/echo/a", operator_, "{}"), 200);
	assert_status(ask("GET", "/v1/users", operator_, NULL), 403);
	assert_status(ask("GET", "/v1/users", admin, NULL), 200);
	assert_status(ask("GET", "/v1/tokens", operator_, NULL), 403);
	assert_status(ask("GET", "/v1/audit", operator_, NULL), 403);
}

static void sessions_need_csrf_and_our_origin(void **state)
{
	char headers[1024];
	struct session s;
	struct answer *a;

	make_user("carol", "operator", "a long password");
	assert_int_equal(login("carol", "a long password", &s), 200);
	a = ask("GET", "/v1/session", s.cookie, NULL);
	assert_status(a, 200);
	assert_non_null(strstr(a->body, "\"user\":\"carol\",\"role\":\"operator\",\"csrf\":"));
	assert_status(ask("PUT", "/v1/echo/a", s.cookie, "{}"), 403);
	snprintf(headers, sizeof headers, "%sX-Weir-CSRF: wrong\r\n", s.cookie);
	assert_status(ask("PUT", "/v1/echo/a", headers, "{}"), 403);
	snprintf(headers, sizeof headers, "%s%s", s.cookie, s.csrf);
	assert_status(ask("PUT", "/v1/echo/a", headers, "{}"), 200);
	snprintf(headers, sizeof headers, "%s%sOrigin: https://localhost\r\n", s.cookie, s.csrf);
	assert_status(ask("PUT", "/v1/echo/a", headers, "{}"), 200);
	snprintf(headers, sizeof headers, "%s%sOrigin: https://localhost.example\r\n", s.cookie, s.csrf);
	assert_status(ask("PUT", "/v1/echo/a", headers, "{}"), 403);
	snprintf(headers, sizeof headers, "%sOrigin: null\r\n", operator_);
	assert_status(ask("PUT", "/v1/echo/a", headers, "{}"), 403);
	snprintf(headers, sizeof headers, "%s%s", s.cookie, s.csrf);
	a = ask("DELETE", "/v1/session", headers, NULL);
	assert_status(a, 204);
	assert_non_null(strstr(a->text, "__Host-weir=; Path=/; Max-Age=0"));
	assert_status(ask("GET", "/v1/session", s.cookie, NULL), 401);
}

static void a_new_password_ends_sessions(void **state)
{
	char headers[512];
	struct session s, t;
	struct answer *a;

	make_user("dave", "viewer", "a long password");
	assert_int_equal(login("dave", "a long password", &s), 200);
	assert_int_equal(login("dave", "a long password", &t), 200);
	snprintf(headers, sizeof headers, "%s%s", s.cookie, s.csrf);
	assert_status(ask("PUT", "/v1/users/dave", headers, "{\"password\":\"another password\"}"), 422);
	assert_status(ask("PUT", "/v1/users/dave", headers,
			  "{\"password\":\"another password\",\"old_password\":\"not this one\"}"),
		      403);
	assert_status(
		ask("PUT", "/v1/users/dave", headers, "{\"password\":\"short\",\"old_password\":\"a long password\"}"),
		422);
	assert_status(
		ask("PUT", "/v1/users/dave", headers,
		    "{\"role\":\"admin\",\"password\":\"another password\",\"old_password\":\"a long password\"}"),
		403);
	assert_status(ask("PUT", "/v1/users/admin", headers, "{\"password\":\"another password\"}"), 403);
	a = ask("PUT", "/v1/users/dave", headers,
		"{\"password\":\"another password\",\"old_password\":\"a long password\"}");
	assert_status(a, 200);
	assert_status(ask("GET", "/v1/session", s.cookie, NULL), 401);
	assert_status(ask("GET", "/v1/session", t.cookie, NULL), 401);
	assert_int_equal(login("dave", "another password", NULL), 200);
}

static void users(void **state)
{
	struct answer *a;

	make_user("erin", "admin", "a long password");
	a = ask("GET", "/v1/users", admin, NULL);
	assert_status(a, 200);
	assert_non_null(strstr(a->body, "{\"name\":\"erin\",\"role\":\"admin\"}"));
	assert_null(strstr(a->body, "scrypt"));
	assert_status(ask("PUT", "/v1/users/erin", admin, "{\"role\":\"viewer\"}"), 200);
	assert_status(ask("PUT", "/v1/users/admin", admin, "{\"role\":\"viewer\"}"), 409); // the last admin
	assert_status(ask("DELETE", "/v1/users/admin", admin, NULL), 409);
	assert_status(ask("DELETE", "/v1/users/erin", admin, NULL), 204);
	assert_status(ask("DELETE", "/v1/users/erin", admin, NULL), 404);
	assert_int_equal(login("erin", "a long password", NULL), 401);
	assert_status(ask("PUT", "/v1/users/frank", admin, "{\"role\":\"viewer\"}"), 422);
	assert_status(ask("PUT", "/v1/users/frank", admin, "{\"role\":\"king\",\"password\":\"a long password\"}"),
		      422);
	assert_status(ask("PUT", "/v1/users/frank", admin, "{\"role\":\"viewer\",\"password\":\"123456789\"}"), 422);
	assert_status(ask("PUT", "/v1/users/a%3Ab", admin, "{\"role\":\"viewer\",\"password\":\"a long password\"}"),
		      422);
	a = ask("PUT", "/v1/users/frank", admin, "{\"role\":1,\"pasword\":\"a long password\"}");
	assert_status(a, 422);
	assert_non_null(strstr(a->body, "\"/role\""));
	assert_non_null(strstr(a->body, "\"/pasword\""));
	assert_status(ask("PUT", "/v1/users/frank", admin, "[]"), 422);
	assert_status(ask("PUT", "/v1/users/frank", admin, NULL), 400);
}

static void tokens(void **state)
{
	char header[TOKEN_TEXT + 32], path[64];
	struct answer *a;
	json_t *j, *list;

	make_token("admin", "viewer", header); // a name of a user gives no right of that user
	assert_status(ask("PUT", "/v1/users/admin", header, "{\"password\":\"another password\"}"), 403);
	assert_status(ask("GET", "/v1/echo/a", header, NULL), 200);
	a = ask("GET", "/v1/tokens", admin, NULL);
	assert_null(strstr(a->body, "weir_"));
	j = json_loads(a->body, 0, NULL);
	list = json_object_get(j, "tokens");
	snprintf(path, sizeof path, "/v1/tokens/%lld",
		 (long long)json_integer_value(json_object_get(json_array_get(list, json_array_size(list) - 1), "id")));
	json_decref(j);
	assert_status(ask("DELETE", path, admin, NULL), 204);
	assert_status(ask("DELETE", path, admin, NULL), 404);
	assert_status(ask("DELETE", "/v1/tokens/0x1", admin, NULL), 404);
	assert_status(ask("GET", "/v1/echo/a", header, NULL), 401);
}

static void passwords_in_a_header(void **state)
{
	char header[256], headers[512];
	static char big[1 << 20];
	struct answer *a;

	basic("admin", admin_password, header);
	assert_status(ask("GET", "/v1/users", header, NULL), 200);
	a = ask("PUT", "/v1/echo/a", header, "{\"x\":7}"); // the body comes while the password is checked
	assert_status(a, 200);
	assert_non_null(strstr(a->body, "{\"x\":7}"));
	memset(big, ' ', sizeof big - 1);
	memcpy(big, "{\"a\":1}", 7);
	assert_status(ask("PUT", "/v1/echo/a", header, big), 200);
	basic("admin", "not this one", header);
	assert_status(ask("PUT", "/v1/echo/a", header, big), 401);
	basic("gina", "whatever", header);
	assert_status(ask("GET", "/v1/echo/a", header, NULL), 401);
	basic("admin", admin_password, header);
	snprintf(headers, sizeof headers, "%sExpect: 100-continue\r\n", header);
	a = ask("PUT", "/v1/echo/a", headers, "{\"x\":8}");
	if (a->status == 100) // may be left out when the body has come already (RFC 9110, 10.1.1)
		assert_non_null(strstr(a->body, "HTTP/1.1 200"));
	else
		assert_status(a, 200);
	assert_non_null(strstr(a->body, "{\"x\":8}"));
}

static void guessing_is_slowed_down(void **state)
{
	char header[256];
	struct answer *a;
	int wrong = 0, status;

	make_user("heidi", "viewer", "a long password");
	while (wrong < 7) { // the last is followed by a wait of 4 s, long enough for what is asked below
		status = login("heidi", "a wrong password", NULL);
		assert_true(status == 401 || (status == 429 && wrong >= 5));
		wrong += status == 401;
		if (status == 429)
			poll(NULL, 0, 300);
	}
	a = ask("POST", "/v1/session", "", "{\"user\":\"heidi\",\"password\":\"a long password\"}");
	assert_status(a, 429); // the right one has to wait too
	assert_true(has_header(a, "Retry-After", NULL));
	basic("heidi", "a long password", header);
	assert_status(ask("GET", "/v1/echo/a", header, NULL), 429);
	assert_status(ask("GET", "/v1/echo/a", viewer, NULL), 200); // a token does not
	poll(NULL, 0, 4100);
	assert_int_equal(login("heidi", "a long password", NULL), 200);
	assert_int_equal(login("heidi", "a wrong password", NULL), 401);
}

static void writes_and_logins_are_noted(void **state)
{
	struct answer *a;
	struct session s;

	make_user("ivan", "operator", "a long password");
	login("ivan", "a wrong password", NULL);
	assert_int_equal(login("ivan", "a long password", &s), 200);
	assert_status(ask("PUT", "/v1/echo/noted?q=1", operator_, "{}"), 200);
	ask("PUT", "/v1/echo/unnoted", "", "{}");
	a = ask("GET", "/v1/audit?limit=4", admin, NULL);
	assert_status(a, 200);
	assert_non_null(strstr(
		a->body, "\"who\":\"token:op\",\"from\":\"127.0.0.1\",\"what\":\"PUT /v1/echo/noted\",\"status\":200"));
	assert_non_null(strstr(a->body, "\"who\":\"ivan\",\"from\":\"127.0.0.1\",\"what\":\"login\",\"status\":200"));
	assert_non_null(strstr(a->body, "\"who\":\"ivan\",\"from\":\"127.0.0.1\",\"what\":\"login\",\"status\":401"));
	assert_non_null(strstr(a->body, "\"what\":\"PUT /v1/users/ivan\",\"status\":201"));
	assert_null(strstr(a->body, "unnoted"));
	assert_status(ask("GET", "/v1/audit?limit=0", admin, NULL), 400);
}

// --- many at once --------------------------------------------------------------------------------------------------

// How long one request of a client that just came takes, s.
static double served_in(void)
{
	nsec_t t = clock_now();

	assert_status(ask("GET", "/v1/echo/a", viewer, NULL), 200);
	return seconds_since(t);
}

static void *ask_slow(void *arg)
{
	struct client c = tls_to(port, NULL);
	char text[512];

	snprintf(text, sizeof text, "POST /v1/slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", operator_);
	client_send(&c, text, strlen(text));
	read_answer(&c, arg);
	client_close(&c);
	return NULL;
}

static void a_slow_write_delays_no_reader(void **state)
{
	struct answer *a = malloc(sizeof *a);
	pthread_t t;

	pthread_create(&t, NULL, ask_slow, a);
	poll(NULL, 0, 100);
	assert_true(served_in() < SERVED_WITHIN / 2);
	pthread_join(t, NULL);
	assert_int_equal(a->status, 200);
	free(a);
}

static void many_logins_delay_no_reader(void **state)
{
	static const char text[] =
		"POST /v1/session HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "
		"application/json\r\nContent-Length: 41\r\n\r\n{\"user\":\"nobody\",\"password\":\"1234567890\"}";
	struct client c[30];
	int turned_away = 0;
	double took;

	for (int i = 0; i < 30; i++) {
		c[i] = tls_to(port, NULL);
		assert_true(client_send(&c[i], text, sizeof text - 1));
	}
	took = served_in();
	print_message("served in %.0f ms beside 30 logins\n", took * 1e3);
	assert_true(took < SERVED_WITHIN);
	for (int i = 0; i < 30; i++) {
		static struct answer a;

		read_answer(&c[i], &a);
		assert_true(a.status == 401 || a.status == 429 || a.status == 503);
		turned_away += a.status != 401;
		client_close(&c[i]);
	}
	assert_true(turned_away >= 15);
	poll(NULL, 0, 1100);
}

static void idle_connections_keep_nobody_out(void **state)
{
	static struct client c[IDLE_ONES];
	double took, longest = 0;

	for (int i = 0; i < IDLE_ONES; i++)
		c[i] = i % 2 ? tls_to(port, NULL) : (struct client){.fd = tcp_to(port)};
	for (int i = 0; i < 5; i++) {
		took = served_in();
		longest = took > longest ? took : longest;
	}
	print_message("served in %.0f ms beside %d idle connections\n", longest * 1e3, IDLE_ONES);
	assert_true(longest < SERVED_WITHIN);
	for (int i = 0; i < IDLE_ONES; i++)
		client_close(&c[i]);
}

static void slow_headers_are_cut_off(void **state)
{
	struct client c = tls_to(port, NULL);
	static struct answer a;
	nsec_t t = clock_now();
	double longest = 0;
	int sent = 0;

	while (seconds_since(t) < 15) {
		char byte;

		if (recv(c.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1 ||
		    !client_send(&c, "GET /v1/info HTTP/1.1\r\n" + sent, 1))
			break;
		sent++;
		double took = served_in();

		longest = took > longest ? took : longest;
		poll(NULL, 0, took < 1 ? 1000 - (int)(took * 1e3) : 0);
	}
	print_message("cut off after %.1f s and %d bytes; others served in at most %.0f ms\n", seconds_since(t), sent,
		      longest * 1e3);
	read_answer(&c, &a);
	assert_status(&a, 408);
	assert_true(seconds_since(t) > 9.5 && seconds_since(t) < 12);
	assert_true(longest < SERVED_WITHIN);
	client_close(&c);
}

// --- events --------------------------------------------------------------------------------------------------------

static struct client listen_to_events(const char *login)
{
	struct client c = tls_to(port, NULL);
	char text[512];

	snprintf(text, sizeof text, "GET /v1/events HTTP/1.1\r\nHost: x\r\n%s\r\n", login);
	assert_true(client_send(&c, text, strlen(text)));
	return c;
}

// Reads until the text is there; what was read.
static const char *read_until(struct client *c, const char *wanted)
{
	static char buf[65536];
	size_t at = 0;
	int n;

	buf[0] = '\0';
	while (!strstr(buf, wanted) && (n = SSL_read(c->ssl, buf + at, (int)(sizeof buf - 1 - at))) > 0) {
		at += (size_t)n;
		buf[at] = '\0';
	}
	return buf;
}

static void events(void **state)
{
	struct client c[9];
	json_t *data = json_pack("{s:i, s:s}", "id", 12, "state", "confirmed");
	const char *text;
	char byte;

	for (int i = 0; i < 8; i++) {
		c[i] = listen_to_events(viewer);
		text = read_until(&c[i], "retry: ");
		assert_non_null(strstr(text, "HTTP/1.1 200"));
		assert_non_null(strstr(text, "text/event-stream"));
	}
	c[8] = listen_to_events(viewer);
	assert_non_null(strstr(read_until(&c[8], "\r\n\r\n"), "HTTP/1.1 503"));
	http_event(server, "revision", data);
	for (int i = 0; i < 8; i++) {
		text = read_until(&c[i], "\n\n");
		assert_non_null(strstr(text, "event: revision\ndata: {\"id\":12,\"state\":\"confirmed\"}\n\n"));
		assert_non_null(strstr(text, "id: "));
	}
	assert_status(ask("HEAD", "/v1/events", viewer, NULL), 200);
	assert_status(ask("GET", "/v1/events", "", NULL), 401);
	for (int i = 0; i < 9; i++)
		client_close(&c[i]);
	nsec_t t = clock_now(); // closed streams make room as soon as it is noticed that nobody takes their events
	do {
		http_event(server, "alarm", data);
		poll(NULL, 0, 20);
		c[0] = listen_to_events(viewer);
		text = read_until(&c[0], "retry: ");
		if (strstr(text, "HTTP/1.1 200"))
			break;
		client_close(&c[0]);
	} while (seconds_since(t) < 3);
	assert_non_null(strstr(text, "HTTP/1.1 200"));
	assert_int_equal(recv(c[0].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT), -1);
	client_close(&c[0]);
	json_decref(data);
}

static void a_stop_ends_everything(void **state)
{
	struct client stream = listen_to_events(viewer), half = tls_to(port, NULL);
	struct answer *a = malloc(sizeof *a);
	pthread_t t;
	nsec_t begin;

	read_until(&stream, "retry: ");
	assert_true(client_send(&half, "GET /v1/in", 10));
	pthread_create(&t, NULL, ask_slow, a);
	poll(NULL, 0, 200);
	begin = clock_now();
	stop(NULL);
	assert_true(seconds_since(begin) < 3);
	pthread_join(t, NULL);
	client_close(&stream);
	client_close(&half);
	free(a);
	start(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(info_needs_no_login),
		cmocka_unit_test(the_dashboard_needs_no_login),
		cmocka_unit_test(paths),
		cmocka_unit_test(sizes),
		cmocka_unit_test(garbage),
		cmocka_unit_test(bodies),
		cmocka_unit_test(an_endless_body_is_told_413),
		cmocka_unit_test(chunks_are_put_together),
		cmocka_unit_test(a_request_cut_off_does_nothing),
		cmocka_unit_test(connections_are_kept),
		cmocka_unit_test(a_large_answer_arrives_whole),
		cmocka_unit_test(roles),
		cmocka_unit_test(sessions_need_csrf_and_our_origin),
		cmocka_unit_test(a_new_password_ends_sessions),
		cmocka_unit_test(users),
		cmocka_unit_test(tokens),
		cmocka_unit_test(passwords_in_a_header),
		cmocka_unit_test(guessing_is_slowed_down),
		cmocka_unit_test(writes_and_logins_are_noted),
		cmocka_unit_test(a_slow_write_delays_no_reader),
		cmocka_unit_test(many_logins_delay_no_reader),
		cmocka_unit_test(idle_connections_keep_nobody_out),
		cmocka_unit_test(slow_headers_are_cut_off),
		cmocka_unit_test(events),
		cmocka_unit_test(a_stop_ends_everything),
	};
	int failed;

	signal(SIGPIPE, SIG_IGN);
	failed = cmocka_run_group_tests(tests, start, stop);
	SSL_CTX_free(client_tls);
	return failed;
}
