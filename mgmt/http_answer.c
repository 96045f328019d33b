// SPDX-License-Identifier: GPL-2.0-or-later
// From a response to bytes. The security headers are the same for all: the dashboard loads nothing from elsewhere, runs no
// script that is not one of its files, and is shown in nobody's frame.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mgmt/http_exchange.h"

enum { STREAM_BLOCK = 16 << 10 };

static const char *const everywhere[][2] = {
	{"Content-Security-Policy", "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
				    "frame-ancestors 'none'"},
	{"Strict-Transport-Security", "max-age=31536000"},
	{"X-Content-Type-Options", "nosniff"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
};

void response_free(struct response *a)
{
	json_decref(a->json);
	free(a->text);
	memset(a, 0, sizeof *a);
}

static void add(struct MHD_Response *m, const char *key, const char *value)
{
	if (*value)
		MHD_add_response_header(m, key, value);
}

static void add_allow(struct MHD_Response *m, unsigned methods)
{
	static const struct {
		unsigned method;
		const char *name;
	} names[] = {
		{HTTP_GET, "GET, HEAD"}, {HTTP_POST, "POST"},     {HTTP_PUT, "PUT"},
		{HTTP_PATCH, "PATCH"},   {HTTP_DELETE, "DELETE"},
	};
	char text[64] = "";

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (methods & names[i].method) {
			strcat(text, *text ? ", " : "");
			strcat(text, names[i].name);
		}
	add(m, "Allow", text);
}

static void add_headers(struct exchange *e, struct MHD_Response *m)
{
	const struct response *a = &e->response;
	char etag[40] = "", retry[16] = "";

	for (size_t i = 0; i < ARRAY_LEN(everywhere); i++)
		add(m, everywhere[i][0], everywhere[i][1]);
	if (a->etag[0])
		snprintf(etag, sizeof etag, "\"%s\"", a->etag);
	if (a->retry_after_s)
		snprintf(retry, sizeof retry, "%d", a->retry_after_s);
	if (a->type)
		add(m, "Content-Type", a->type);
	add(m, "ETag", etag);
	add(m, "Retry-After", retry);
	add(m, "Set-Cookie", a->cookie);
	add(m, "Location", a->location);
	add(m, "Cache-Control", e->asset.data ? "no-cache" : "no-store");
	if (a->status == 401)
		add(m, "WWW-Authenticate", "Bearer realm=\"weir\"");
	if (a->status == 405)
		add_allow(m, e->match.allow);
}

// --- the kinds of answers ------------------------------------------------------------------------------------------

static struct MHD_Response *of_text(char *text, size_t len)
{
	struct MHD_Response *m = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);

	if (!m)
		free(text);
	return m;
}

static struct MHD_Response *of_json(json_t *json)
{
	size_t len = json_dumpb(json, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
	char *text = malloc(len + 1);

	if (!text)
		return NULL;
	json_dumpb(json, text, len, JSON_COMPACT | JSON_ENCODE_ANY);
	text[len] = '\n'; // a terminal's prompt comes after it
	return of_text(text, len + 1);
}

static struct MHD_Response *of_asset(struct exchange *e)
{
	const char *known = header_of(e->mhd, "If-None-Match");
	struct response *a = &e->response;

	a->status = 200;
	a->type = e->asset.type;
	snprintf(a->etag, sizeof a->etag, "%s", e->asset.etag);
	if (known && *a->etag && strstr(known, a->etag)) {
		a->status = 304;
		return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	}
	// MHD's parameter is not const, but persistent memory is only read.
	union {
		const void *ours;
		void *theirs;
	} data = {.ours = e->asset.data};

	return MHD_create_response_from_buffer(e->asset.len, data.theirs, MHD_RESPMEM_PERSISTENT);
}

static void stream_sleep(void *connection)
{
	MHD_suspend_connection(connection);
}

static ssize_t stream_read(void *stream, uint64_t at, char *buf, size_t max)
{
	ssize_t n = events_read(stream, buf, max, stream_sleep);

	return n == EVENTS_END ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static void stream_end(void *stream)
{
	events_close(stream);
}

static struct MHD_Response *of_stream(struct exchange *e)
{
	struct event_stream *s = events_open(e->http->events, e->mhd, &e->identity);
	struct MHD_Response *m;

	if (!s) {
		respond_error(&e->response, 503, "8 event streams are open already", NULL);
		e->response.retry_after_s = 5;
		return of_json(e->response.json);
	}
	m = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, stream_read, s, stream_end);
	if (!m)
		events_close(s);
	else if (e->front)
		front_phase(e->front, FRONT_STREAM);
	return m;
}

enum MHD_Result answer(struct exchange *e)
{
	struct response *a = &e->response;
	struct MHD_Response *m;
	enum MHD_Result done;

	if (e->asset.data)
		m = of_asset(e);
	else if (e->stream && !e->head)
		m = of_stream(e);
	else if (a->text)
		m = of_text(a->text, strlen(a->text));
	else if (a->json)
		m = of_json(a->json);
	else
		m = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	a->text = NULL;
	if (!m)
		return MHD_NO;
	add_headers(e, m);
	done = MHD_queue_response(e->mhd, (unsigned)a->status, m);
	MHD_destroy_response(m);
	response_free(a);
	return done;
}
