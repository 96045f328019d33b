// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers without HTTP: a request with query and headers in an array, found in a route table and handled.
#ifndef TESTS_UNIT_API_WORLD_H
#define TESTS_UNIT_API_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mgmt/http.h"

struct fake_request {
	const char *query[8][2];
	const char *if_match;
};

// Replaceable by tests whose `connection` is another thing than a fake_request.
static const char *listed_query(const void *connection, const char *key)
{
	const struct fake_request *f = connection;

	for (size_t i = 0; i < ARRAY_LEN(f->query) && f->query[i][0]; i++)
		if (!strcmp(f->query[i][0], key))
			return f->query[i][1];
	return NULL;
}

static const char *listed_header(const void *connection, const char *key)
{
	return strcmp(key, "If-Match") ? NULL : ((const struct fake_request *)connection)->if_match;
}

static const char *(*fake_query)(const void *connection, const char *key) = listed_query;
static const char *(*fake_header)(const void *connection, const char *key) = listed_header;

const char *request_query(const struct request *r, const char *key)
{
	return fake_query(r->connection, key);
}

const char *request_header(const struct request *r, const char *key)
{
	return fake_header(r->connection, key);
}

bool request_number(const struct request *r, struct response *a, const char *key, int64_t min, int64_t max, int64_t def,
		    int64_t *out)
{
	const char *text = request_query(r, key);
	char *end;

	*out = def;
	if (!text)
		return true;
	*out = strtoll(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || *out < min || *out > max) {
		respond_error(a, 400, key, NULL);
		return false;
	}
	return true;
}

// Finds the first row for method and path; "{}" takes one segment, "**" the rest as a pointer. Calls it. `json` is borrowed.
static inline void call(struct api *api, const struct route *table, enum http_method method, const char *path,
			const struct fake_request *fake, json_t *json, struct response *a)
{
	struct request r = {.api = api,
			    .method = method,
			    .path = path,
			    .user = "ada",
			    .role = ROLE_ADMIN,
			    .json = json,
			    .connection = fake};
	char name[256];

	memset(a, 0, sizeof *a);
	for (; table->path; table++) {
		const char *p = path, *want = table->path;

		if (!(table->methods & method))
			continue;
		r.name = r.pointer = NULL;
		while (*want && (*p || !strcmp(want, "/**"))) {
			if (*want == '{') {
				size_t n = strcspn(p, "/");

				snprintf(name, sizeof name, "%.*s", (int)n, p);
				r.name = name;
				p += n;
				want += strcspn(want, "}") + 1;
			} else if (!strcmp(want, "/**")) {
				r.pointer = p;
				p += strlen(p);
				want += 3;
			} else if (*want++ != *p++) {
				break;
			}
		}
		if (!*want && !*p && want[-1] == (r.pointer ? '*' : want[-1])) {
			table->handle(&r, a);
			return;
		}
	}
	a->status = -1;
}

static void response_free(struct response *a)
{
	json_decref(a->json);
	free(a->text);
	a->json = NULL;
	a->text = NULL;
}

#endif
