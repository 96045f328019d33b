// SPDX-License-Identifier: GPL-2.0-or-later
// libcurl for HTTP, OpenSSL's hook for trust. An appliance makes its own certificate, so whom one talks to is decided by
// its fingerprint, which the server prints at its first start and `weirctl login` remembers; the check sits in the
// handshake, before a single byte of a token is sent. With --cacert, and for servers never logged in to, certificates
// are judged as everywhere: by CA and name.
//
// No redirects, no proxies, no cookies but our own: an appliance is spoken to directly or not at all.
#include "mgmt/weirctl_client.h"

#include <ctype.h>
#include <curl/curl.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "mgmt/weirctl_args.h"
#include "mgmt/weirctl_files.h"

enum {
	CONNECT_MS = 10000,
	ANSWER_MS = 120000, // a write may wait for the engine
	SILENCE_S = 45,     // of an event stream, which has a comment every 15 s
	URL_MAX = 256,
	REQUEST_URL_MAX = 8192,
	SECRET_MAX = 512,
};

struct client {
	struct ctl *ctl;
	CURL *curl;
	char url[URL_MAX];
	char pin[FINGERPRINT_MAX], seen[FINGERPRINT_MAX];
	char token[SECRET_MAX], cookie[SECRET_MAX], csrf[SECRET_MAX];
	bool trust_any, pin_failed;
	long patience_ms;
	json_t *login;
};

void answer_free(struct answer *a)
{
	if (a->body)
		explicit_bzero(a->body, a->len);
	free(a->body);
	a->body = NULL;
	a->len = 0;
}

// ---- trust

// The digits of a fingerprint in one spelling. False: it is none (32 bytes in hex, with or without colons).
static bool fingerprint_read(const char *text, char *buf)
{
	unsigned n = 0;

	for (; *text; text++) {
		if (*text == ':')
			continue;
		if (!isxdigit((unsigned char)*text) || n == 64)
			return false;
		if (n && n % 2 == 0)
			*buf++ = ':';
		*buf++ = (char)toupper((unsigned char)*text);
		n++;
	}
	*buf = '\0';
	return n == 64;
}

static int verify(X509_STORE_CTX *store, void *arg)
{
	struct client *client = arg;
	X509 *cert = X509_STORE_CTX_get0_cert(store);
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (!cert || !X509_digest(cert, EVP_sha256(), digest, &n) || n != 32)
		return 0;
	for (unsigned i = 0; i < n; i++)
		sprintf(client->seen + 3 * i, i + 1 < n ? "%02X:" : "%02X", digest[i]);
	if (client->trust_any)
		return 1;
	if (!client->pin[0])
		return X509_verify_cert(store);
	if (!strcmp(client->pin, client->seen))
		return 1;
	client->pin_failed = true;
	X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
	return 0;
}

static CURLcode tls_setup(CURL *curl, void *ctx, void *arg)
{
	SSL_CTX_set_cert_verify_callback(ctx, verify, arg);
	return CURLE_OK;
}

const char *client_fingerprint(const struct client *client)
{
	return client->seen;
}

void client_pin(struct client *client, const char *fingerprint)
{
	snprintf(client->pin, sizeof client->pin, "%s", fingerprint);
	client->trust_any = false;
}

bool client_pinned(const struct client *client)
{
	return client->pin[0];
}

void client_trust_any(struct client *client)
{
	client->trust_any = true;
}

void client_session(struct client *client, const char *cookie, const char *csrf)
{
	client->token[0] = '\0';
	snprintf(client->cookie, sizeof client->cookie, "%s", cookie ? cookie : "");
	snprintf(client->csrf, sizeof client->csrf, "%s", csrf ? csrf : "");
}

void client_patience(struct client *client, long ms)
{
	client->patience_ms = ms;
}

const char *client_url(const struct client *client)
{
	return client->url;
}

json_t *client_login(const struct client *client)
{
	return client->login;
}

// ---- opening

// A secret that may stand in a header. False: it may not.
static bool secret_take(char *to, const char *text)
{
	size_t n = text ? strlen(text) : 0;

	if (n >= SECRET_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)text[i]))
			return false;
	memcpy(to, n ? text : "", n + 1);
	return true;
}

static const char *saved(const struct client *client, const char *key)
{
	return json_string_value(json_object_get(client->login, key));
}

static bool whom_to_trust(struct client *client, const struct options *o)
{
	const char *given = o->fingerprint ? o->fingerprint : getenv("WEIR_FINGERPRINT");
	const char *text = given && *given ? given : o->cacert ? NULL : saved(client, "fingerprint");

	if (!text || fingerprint_read(text, client->pin))
		return true;
	client->pin[0] = '\0';
	tell(&client->ctl->err, INK_RED, "weirctl: \"%.100s\" is no SHA-256 fingerprint: 32 bytes in hex, AA:BB:..\n",
	     text);
	return false;
}

static bool who_one_is(struct client *client, const struct options *o)
{
	const char *environment = getenv("WEIR_TOKEN");
	const char *token = o->token ? o->token : environment && *environment ? environment : NULL;

	if (!secret_take(client->token, token ? token : saved(client, "token"))) {
		tell(&client->ctl->err, INK_RED, "weirctl: that is no token\n");
		return false;
	}
	if (!client->token[0])
		return secret_take(client->cookie, saved(client, "cookie")) &&
		       secret_take(client->csrf, saved(client, "csrf"));
	return true;
}

struct client *client_open(struct ctl *c, int *code)
{
	struct client *client = calloc(1, sizeof *client);
	const char *environment = getenv("WEIR_URL");
	const char *url = c->o.url ? c->o.url : environment && *environment ? environment : "https://127.0.0.1:8443";
	char why[FILES_WHY];

	*code = CTL_USAGE;
	if (!client)
		return NULL;
	client->ctl = c;
	client->patience_ms = ANSWER_MS;
	if (!args_url(url, client->url, sizeof client->url, why) ||
	    !(client->login = credentials_load(client->url, why))) {
		tell(&c->err, INK_RED, "weirctl: %s\n", why);
		client_close(client);
		return NULL;
	}
	if (!whom_to_trust(client, &c->o) || !who_one_is(client, &c->o)) {
		client_close(client);
		return NULL;
	}
	curl_global_init(CURL_GLOBAL_DEFAULT);
	client->curl = curl_easy_init();
	if (!client->curl) {
		client_close(client);
		return NULL;
	}
	*code = CTL_DONE;
	return client;
}

void client_close(struct client *client)
{
	curl_easy_cleanup(client->curl);
	json_decref(client->login);
	explicit_bzero(client, sizeof *client);
	free(client);
}

// ---- a request

struct body {
	struct answer *answer;
	size_t room;
	bool too_large;
};

static size_t take_body(char *bytes, size_t size, size_t n, void *arg)
{
	struct body *b = arg;
	struct answer *a = b->answer;

	if (n > ANSWER_BYTES_MAX - a->len) {
		b->too_large = true;
		return 0;
	}
	if (a->len + n + 1 > b->room) {
		size_t room = 2 * (a->len + n + 1);
		char *grown = realloc(a->body, room);

		if (!grown)
			return 0;
		a->body = grown;
		b->room = room;
	}
	memcpy(a->body + a->len, bytes, n);
	a->len += n;
	a->body[a->len] = '\0';
	return n;
}

// The value of a header line if it is the one named; its length in *len.
static const char *header_value(const char *line, size_t n, const char *name, size_t *len)
{
	size_t k = strlen(name);

	if (n <= k || line[k] != ':' || strncasecmp(line, name, k) != 0)
		return NULL;
	for (k++; k < n && (line[k] == ' ' || line[k] == '\t'); k++)
		;
	while (n > k && isspace((unsigned char)line[n - 1]))
		n--;
	*len = n - k;
	return line + k;
}

static size_t take_header(char *line, size_t size, size_t n, void *arg)
{
	static const char cookie[] = "__Host-weir=";
	struct body *b = arg;
	struct answer *a = b->answer;
	const char *v;
	size_t len;

	if ((v = header_value(line, n, "ETag", &len)) && len >= 2 && v[0] == '"' && len - 2 < sizeof a->etag)
		snprintf(a->etag, sizeof a->etag, "%.*s", (int)len - 2, v + 1);
	else if ((v = header_value(line, n, "Retry-After", &len)))
		a->retry_after_s = strtol(v, NULL, 10);
	else if ((v = header_value(line, n, "Set-Cookie", &len)) && len > sizeof cookie &&
		 !strncmp(v, cookie, sizeof cookie - 1))
		snprintf(a->cookie, sizeof a->cookie, "%.*s", (int)strcspn(v, "; \r\n"), v);
	return n;
}

static void header_add(struct curl_slist **list, const char *name, const char *value)
{
	char line[SECRET_MAX + 64];

	snprintf(line, sizeof line, "%s: %s", name, value);
	*list = curl_slist_append(*list, line);
	explicit_bzero(line, sizeof line);
}

static struct curl_slist *headers_of(const struct client *client, const struct call *call)
{
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");
	char text[SECRET_MAX + 16];

	if (client->trust_any) {
		; // whoever that is, it gets no secret
	} else if (client->token[0]) {
		snprintf(text, sizeof text, "Bearer %s", client->token);
		header_add(&list, "Authorization", text);
	} else if (client->cookie[0]) {
		header_add(&list, "Cookie", client->cookie);
		header_add(&list, "X-Weir-CSRF", client->csrf);
	}
	if (call->body)
		header_add(&list, "Content-Type", call->type ? call->type : "application/json");
	if (call->if_match && !strcmp(call->if_match, "*")) {
		header_add(&list, "If-Match", "*");
	} else if (call->if_match) {
		snprintf(text, sizeof text, "\"%.*s\"", SECRET_MAX, call->if_match);
		header_add(&list, "If-Match", text);
	}
	explicit_bzero(text, sizeof text);
	return list;
}

// The options that every request has.
static void setup(struct client *client, const char *url, char *error)
{
	CURL *curl = client->curl;
	bool by_name = !client->pin[0] && !client->trust_any;

	curl_easy_reset(curl);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "weirctl");
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, by_name ? 2L : 0L);
	curl_easy_setopt(curl, CURLOPT_SSL_SESSIONID_CACHE, 0L); // a resumed session would skip the check
	if (client->ctl->o.cacert)
		curl_easy_setopt(curl, CURLOPT_CAINFO, client->ctl->o.cacert);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
			 client->patience_ms < CONNECT_MS ? client->patience_ms : CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, client->patience_ms);
	client->pin_failed = false;
}

// Without the hook nothing is sent: the certificate would be judged by nobody.
static bool setup_trust(struct client *client)
{
	if (!curl_easy_setopt(client->curl, CURLOPT_SSL_CTX_FUNCTION, tls_setup) &&
	    !curl_easy_setopt(client->curl, CURLOPT_SSL_CTX_DATA, client))
		return true;
	tell(&client->ctl->err, INK_RED, "weirctl: this libcurl has no OpenSSL, so certificates cannot be checked\n");
	return false;
}

static int not_reached(struct client *client, CURLcode code, const char *error)
{
	const struct screen *s = &client->ctl->err;

	if (client->pin_failed) {
		tell(s, INK_RED,
		     "weirctl: %s has another certificate than the one that is trusted; nothing was sent\n"
		     "  trusted  %s\n"
		     "  found    %s\n",
		     client->url, client->pin, client->seen);
		tell(s, INK_NONE,
		     "Somebody may be in between. If you know that the certificate was replaced, trust the new one:\n"
		     "  weirctl --url %s login --fingerprint %s\n",
		     client->url, client->seen);
		return CTL_UNREACHABLE;
	}
	if (code == CURLE_PEER_FAILED_VERIFICATION && !client->pin[0] && !client->ctl->o.cacert) {
		tell(s, INK_RED, "weirctl: the certificate of %s is not known here\n", client->url);
		tell(s, INK_NONE,
		     "Log in once to remember it (weirctl login), or say which it must be: --fingerprint or --cacert\n");
		return CTL_LOGIN;
	}
	tell(s, INK_RED, "weirctl: %s: %s\n", client->url, *error ? error : curl_easy_strerror(code));
	if (code == CURLE_COULDNT_CONNECT)
		tell(s, INK_NONE, "Does weir run there, and does it listen at this address? (--url or $WEIR_URL)\n");
	return CTL_UNREACHABLE;
}

int client_send(struct client *client, const struct call *call, struct answer *a)
{
	char url[REQUEST_URL_MAX], error[CURL_ERROR_SIZE] = "";
	struct body body = {a, 0, false};
	struct curl_slist *headers;
	CURLcode code;

	memset(a, 0, sizeof *a);
	if (snprintf(url, sizeof url, "%s%s", client->url, call->path) >= (int)sizeof url) {
		tell(&client->ctl->err, INK_RED, "weirctl: the path is too long\n");
		return CTL_USAGE;
	}
	setup(client, url, error);
	if (!setup_trust(client))
		return CTL_UNREACHABLE;
	headers = headers_of(client, call);
	curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, &body);
	curl_easy_setopt(client->curl, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(client->curl, CURLOPT_HEADERDATA, &body);
	if (call->body) {
		curl_easy_setopt(client->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_len);
		curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, call->body);
	}
	curl_easy_setopt(client->curl, CURLOPT_CUSTOMREQUEST, call->method);
	code = curl_easy_perform(client->curl);
	curl_slist_free_all(headers);
	curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &a->status);
	curl_easy_getinfo(client->curl, CURLINFO_TOTAL_TIME, &a->seconds);
	if (body.too_large)
		snprintf(error, sizeof error, "the answer is larger than %d MB", ANSWER_BYTES_MAX >> 20);
	return code ? not_reached(client, code, error) : CTL_DONE;
}

json_t *answer_json(struct client *client, const struct answer *a)
{
	json_error_t error;
	json_t *v = json_loadb(a->body ? a->body : "", a->len, JSON_DECODE_ANY, &error);

	if (!v)
		tell(&client->ctl->err, INK_RED,
		     "weirctl: %s answered %ld with something that is not JSON: is that weir?\n", client->url,
		     a->status);
	return v;
}

void answer_print(const struct ctl *c, const struct answer *a)
{
	fwrite(a->body ? a->body : "", 1, a->len, c->out.out);
	if (!a->len || a->body[a->len - 1] != '\n')
		fputc('\n', c->out.out);
}

// `asked` is false while logging in: then there is no login to blame.
static int refused(struct client *client, const struct answer *a, bool asked)
{
	const struct screen *s = &client->ctl->err;
	json_t *problem = json_loadb(a->body ? a->body : "", a->len, 0, NULL);
	bool anonymous = asked && !client->token[0] && !client->cookie[0];

	if (client->ctl->o.json && problem)
		answer_print(client->ctl, a);
	if (a->status == 401 && anonymous)
		tell(s, INK_RED, "weirctl: %s wants to know who you are\n", client->url);
	else
		problem_print(s, problem, a->status);
	json_decref(problem);
	if (a->status == 401 && asked)
		tell(s, INK_NONE, "%s: weirctl login\n", anonymous ? "Log in" : "Log in again");
	if (a->status == 429 && a->retry_after_s > 0)
		tell(s, INK_NONE, "Try again in %ld s\n", a->retry_after_s);
	return a->status == 401 ? CTL_LOGIN : CTL_REFUSED;
}

int client_call(struct client *client, const struct call *call, struct answer *a)
{
	int code = client_send(client, call, a);

	return code || a->status < 400 ? code : refused(client, a, strcmp(call->path, "/v1/session") != 0);
}

json_t *client_get(struct client *client, const char *path, struct answer *a, int *code)
{
	struct answer own, *to = a ? a : &own;
	json_t *v = NULL;

	*code = client_call(client, &(struct call){.method = "GET", .path = path}, to);
	if (!*code && !(v = answer_json(client, to)))
		*code = CTL_UNREACHABLE;
	if (!a)
		answer_free(&own);
	return v;
}

// ---- events

struct stream {
	struct client *client;
	struct live *live;
	struct answer refusal;
	struct body body;
};

static size_t take_events(char *bytes, size_t size, size_t n, void *arg)
{
	struct stream *s = arg;
	long status = 0;

	curl_easy_getinfo(s->client->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200)
		return take_body(bytes, size, n, &s->body);
	s->live->connected = true;
	return sse_feed(&s->live->events, bytes, n) ? n : 0;
}

// Until the stream ends (its result in *code) or is not wanted any more: false.
static bool stream_run(struct live *live, CURLM *multi, CURLcode *code)
{
	struct curl_waitfd wait = {.fd = live->fd, .events = CURL_WAIT_POLLIN};
	int running = 1, left;

	for (;;) {
		CURLMsg *message;

		if (live->stop(live->arg))
			return false;
		curl_multi_perform(multi, &running);
		while ((message = curl_multi_info_read(multi, &left)))
			if (message->msg == CURLMSG_DONE) {
				*code = message->data.result;
				return true;
			}
		wait.revents = 0;
		curl_multi_poll(multi, &wait, live->fd >= 0, live->tick_ms, NULL);
		if (live->ready)
			live->ready(live->arg, wait.revents != 0);
	}
}

int client_events(struct client *client, struct live *live)
{
	char url[URL_MAX + 32], error[CURL_ERROR_SIZE] = "", last[EVENT_ID_MAX];
	struct stream s = {.client = client, .live = live, .body = {.answer = &s.refusal}};
	struct curl_slist *headers = headers_of(client, &(struct call){0});
	CURLM *multi = curl_multi_init();
	CURLcode code = CURLE_OK;
	int result = CTL_DONE;
	long status = 0;

	snprintf(url, sizeof url, "%s/v1/events", client->url);
	snprintf(last, sizeof last, "%s", live->events.id);
	sse_restart(&live->events);
	live->connected = false;
	setup(client, url, error);
	if (!setup_trust(client) || !multi) {
		curl_slist_free_all(headers);
		curl_multi_cleanup(multi);
		return CTL_UNREACHABLE;
	}
	header_add(&headers, "Accept", "text/event-stream");
	if (last[0])
		header_add(&headers, "Last-Event-ID", last);
	curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, 0L);
	curl_easy_setopt(client->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(client->curl, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_S);
	curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, take_events);
	curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, &s);
	curl_multi_add_handle(multi, client->curl);
	if (stream_run(live, multi, &code)) {
		curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
		s.refusal.status = status;
		if (!code && status >= 400)
			result = refused(client, &s.refusal, true);
		else if (live->quiet && !client->pin_failed)
			result = CTL_UNREACHABLE;
		else
			result = not_reached(client, code, code ? error : "the stream of events ended");
	}
	curl_multi_remove_handle(multi, client->curl);
	curl_multi_cleanup(multi);
	curl_slist_free_all(headers);
	answer_free(&s.refusal);
	return result;
}

bool query_add(char *path, size_t size, const char *key, const char *text)
{
	size_t at = strlen(path);
	int n = snprintf(path + at, size - at, "%c%s=", strchr(path, '?') ? '&' : '?', key);

	if (n < 0 || (size_t)n >= size - at)
		return false;
	for (at += (size_t)n; *text; text++) {
		if (at + 4 > size)
			return false;
		if (isalnum((unsigned char)*text) || strchr("-._~", *text))
			path[at++] = *text;
		else
			at += (size_t)sprintf(path + at, "%%%02X", (unsigned char)*text);
	}
	path[at] = '\0';
	return true;
}
