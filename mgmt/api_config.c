// SPDX-License-Identifier: GPL-2.0-or-later
// /v1/config: the configuration as one tree of resources. A write makes a new document from the one in force, and the whole
// of it is checked, stored and applied, or nothing. Whether it is valid is not judged here: that is commit_change, whose
// problems point into the document, whatever part of it was written.
#include <stdio.h>
#include <string.h>

#include "mgmt/api_write.h"
#include "mgmt/http.h"
#include "mgmt/json.h"
#include "mgmt/pointer.h"
#include "mgmt/schema.h"

enum { BODY_PART = 1 << 20, BODY_WHOLE = 16 << 20, ATTEMPTS = 8 };

static const struct setting *row_of(const char *path)
{
	struct settings all = schema_all();

	for (unsigned i = 0; i < all.count; i++)
		if (!strcmp(all.row[i].path, path))
			return &all.row[i];
	return NULL;
}

// Containers on the way to a place that is written may be missing where the table of settings knows them: an object, a map,
// a resource in a map, a list, a curve. Elements of lists are not made on the way.
static json_t *make_container(const struct pointer *p, unsigned steps)
{
	const struct setting *s = NULL;
	char path[128] = "";
	size_t len = 0;

	for (unsigned i = 0; i < steps; i++) {
		bool named = s && s->type == SETTING_MAP; // the step is a name of the user's choice
		const char *key = named ? "*" : p->step[i];

		if (len + strlen(key) + 2 > sizeof path || !strcmp(p->step[i], "*"))
			return NULL;
		len += (size_t)snprintf(path + len, sizeof path - len, "/%s", key);
		s = row_of(path);
		if (!s && !named)
			return NULL;
		if (s && s->type == SETTING_LIST)
			return i + 1 == steps ? json_array() : NULL;
	}
	return !s || s->type == SETTING_OBJECT || s->type == SETTING_MAP || s->type == SETTING_CURVE ? json_object()
												     : NULL;
}

static bool parse_pointer(const struct request *r, struct response *a, struct pointer *out)
{
	if (pointer_parse(out, r->pointer ? r->pointer : ""))
		return true;
	respond_error(a, 400, "the path is not a place in a document", NULL);
	return false;
}

static void respond_absent(struct response *a)
{
	respond_error(a, 404, "there is nothing at this path of the configuration", NULL);
}

static void get_config(struct request *r, struct response *a)
{
	json_t *document, *at;
	struct pointer p;
	int64_t revision;

	if (!parse_pointer(r, a, &p))
		return;
	document = commit_running(r->api->commit, &revision);
	at = pointer_get(document, &p);
	if (at) {
		respond_json(a, 200, json_incref(at));
		write_etag(a, revision);
	} else {
		respond_absent(a);
	}
	json_decref(document);
}

// The document that the request makes of the one in force. NULL with *fault.
static json_t *changed(const struct request *r, const struct pointer *p, json_t *document, enum pointer_fault *fault)
{
	json_t *value, *out;

	if (r->method == HTTP_DELETE)
		return pointer_remove(document, p, fault);
	if (r->method == HTTP_PUT)
		return pointer_put(document, p, r->json, make_container, fault);
	value = merge_patch(pointer_get(document, p), r->json);
	if (!value) {
		*fault = POINTER_MEMORY;
		return NULL;
	}
	out = pointer_put(document, p, value, make_container, fault);
	json_decref(value);
	return out;
}

// Whether it nests deeper than a document may; the parser has seen the body alone.
static bool is_deeper(json_t *v, unsigned allowed)
{
	json_t *below;
	const char *key;
	size_t i;

	if (json_is_object(v) || json_is_array(v)) {
		if (!allowed)
			return true;
		json_object_foreach(v, key, below) if (is_deeper(below, allowed - 1)) return true;
		json_array_foreach(v, i, below) if (is_deeper(below, allowed - 1)) return true;
	}
	return false;
}

static bool has_body(const struct request *r, struct response *a, const struct pointer *p)
{
	if (r->method == HTTP_DELETE)
		return true;
	if (!r->json)
		respond_error(a, 400, "the body is missing", NULL);
	else if (is_deeper(r->json, JSON_DEPTH_MAX - p->steps))
		respond_error(a, 422, "nested too deep", NULL);
	else
		return true;
	return false;
}

// One attempt on the document in force now. False: with If-Match: * somebody else was faster, and it is to be tried again.
static bool try_write(struct request *r, struct response *a, const struct pointer *p, struct commit_request *q)
{
	struct commit_receipt receipt = {0};
	enum commit_outcome outcome;
	enum pointer_fault fault;
	int64_t revision;
	json_t *document = commit_running(r->api->commit, &revision);
	bool any;

	if (!write_match(r, a, revision, &any)) {
		json_decref(document);
		return true;
	}
	q->base = revision;
	q->document = changed(r, p, document, &fault);
	json_decref(document);
	if (!q->document) {
		if (fault == POINTER_MEMORY)
			respond_error(a, 503, "out of memory; nothing was changed", NULL);
		else
			respond_absent(a);
		return true;
	}
	outcome = commit_change(r->api->commit, q, &receipt);
	json_decref(q->document);
	write_answer(a, outcome, q, &receipt);
	return outcome != COMMIT_STALE || !any;
}

static void write_config(struct request *r, struct response *a)
{
	struct commit_request q;
	struct pointer p;

	if (!parse_pointer(r, a, &p) || !write_query(r, a, &q) || !has_body(r, a, &p))
		return;
	for (int i = 0; i < ATTEMPTS; i++)
		if (try_write(r, a, &p, &q))
			return;
}

const struct route api_config_routes[] = {
	{HTTP_GET, "/v1/config", ROLE_VIEWER, get_config, 0, "the configuration in force"},
	{HTTP_PUT | HTTP_PATCH, "/v1/config", ROLE_OPERATOR, write_config, BODY_WHOLE, "replace or merge the whole"},
	{HTTP_GET, "/v1/config/**", ROLE_VIEWER, get_config, 0, "a part of it"},
	{HTTP_PUT | HTTP_PATCH, "/v1/config/**", ROLE_OPERATOR, write_config, BODY_PART, "replace or merge a part"},
	{HTTP_DELETE, "/v1/config/**", ROLE_OPERATOR, write_config, 0, "remove a part"},
	{0},
};
