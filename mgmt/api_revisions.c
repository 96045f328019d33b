// SPDX-License-Identifier: GPL-2.0-or-later
// /v1/revisions: the history of the configuration, and the ways forward and back through it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mgmt/api_write.h"
#include "mgmt/http.h"

enum { LIST_MAX = 1000, LIST_DEFAULT = 50 };

// A number as a path has it: no sign, no leading zero. 0: it is none.
static int64_t revision_number(const char *text)
{
	size_t digits = text ? strspn(text, "0123456789") : 0;

	return digits && digits <= 18 && !text[digits] && text[0] != '0' ? strtoll(text, NULL, 10) : 0;
}

static void respond_absent(struct response *a)
{
	respond_error(a, 404, "there is no such revision", NULL);
}

static bool find(struct request *r, struct response *a, struct revision_row *out)
{
	int64_t id = revision_number(r->name);

	if (id && store_get(r->api->store, id, out))
		return true;
	respond_absent(a);
	return false;
}

static json_t *row_json(const struct revision_row *row)
{
	static const char *const state[REVISION_STATES] = {"stored", "pending", "confirmed", "reverted", "failed"};
	time_t t = (time_t)row->created_s;
	char created[32];
	struct tm tm;

	strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	return json_pack("{s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:s}", "id", (json_int_t)row->id, "parent",
			 (json_int_t)row->parent, "state", row->state < REVISION_STATES ? state[row->state] : "unknown",
			 "created", created, "author", row->author, "comment", row->comment, "source", row->source,
			 "summary", row->summary);
}

// The document of a revision (0: before the first, an empty one). NULL: it is not there, or damaged.
static json_t *load(struct store *s, int64_t id)
{
	char *text = id ? store_document(s, id) : NULL;
	json_t *document = id ? NULL : json_object();

	if (text)
		document = json_loads(text, 0, NULL);
	free(text);
	return document;
}

static void list_revisions(struct request *r, struct response *a)
{
	int64_t limit, before;
	struct revision_row *row;
	json_t *list;
	uint32_t n;

	if (!request_number(r, a, "limit", 1, LIST_MAX, LIST_DEFAULT, &limit) ||
	    !request_number(r, a, "before", 1, INT64_MAX, 0, &before))
		return;
	row = calloc((size_t)limit, sizeof *row);
	if (!row) {
		respond_error(a, 503, "out of memory", NULL);
		return;
	}
	list = json_array();
	n = store_list(r->api->store, before, row, (uint32_t)limit);
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list, row_json(&row[i]));
	free(row);
	respond_json(a, 200, json_pack("{s:o}", "revisions", list));
}

static void get_revision(struct request *r, struct response *a)
{
	struct revision_row row;
	json_t *body, *document;

	if (!find(r, a, &row))
		return;
	document = load(r->api->store, row.id);
	if (!document) {
		respond_error(a, 503, "the document of this revision can't be read", NULL);
		return;
	}
	body = row_json(&row);
	json_object_set_new(body, "document", document);
	respond_json(a, 200, body);
}

static void get_pending(struct request *r, struct response *a)
{
	uint32_t seconds_left;
	int64_t id = commit_pending(r->api->commit, &seconds_left);
	struct revision_row row;
	json_t *body;

	if (!id || !store_get(r->api->store, id, &row)) {
		respond_error(a, 404, "no revision is pending", NULL);
		return;
	}
	body = row_json(&row);
	json_object_set_new(body, "seconds_left", json_integer(seconds_left));
	respond_json(a, 200, body);
}

// `to` is another revision; without, the revision is compared with its parent, from old to new.
static void get_diff(struct request *r, struct response *a)
{
	struct revision_row row, other;
	int64_t from, to;
	json_t *old, *new, *changes;

	if (!find(r, a, &row) || !request_number(r, a, "to", 1, INT64_MAX, 0, &to))
		return;
	if (to && !store_get(r->api->store, to, &other)) {
		respond_absent(a);
		return;
	}
	from = to ? row.id : row.parent;
	to = to ? to : row.id;
	old = load(r->api->store, from);
	new = load(r->api->store, to);
	changes = old && new ? document_diff(old, new) : NULL;
	json_decref(old);
	json_decref(new);
	if (changes)
		respond_json(a, 200,
			     json_pack("{s:I, s:I, s:o}", "from", (json_int_t)from, "to", (json_int_t)to, "changes",
				       changes));
	else
		respond_error(a, 503, "the documents of these revisions can't be read", NULL);
}

static void end_pending(struct request *r, struct response *a,
			enum commit_outcome (*end)(struct commit *c, int64_t id, struct commit_receipt *out))
{
	const struct commit_request q = {0};
	struct commit_receipt receipt = {0};
	struct revision_row row;

	if (!find(r, a, &row))
		return;
	write_answer(a, end(r->api->commit, row.id, &receipt), &q, &receipt);
}

static void confirm(struct request *r, struct response *a)
{
	end_pending(r, a, commit_confirm);
}

static void revert(struct request *r, struct response *a)
{
	end_pending(r, a, commit_revert);
}

// It says what is to be in force whatever is there now, so If-Match is not asked for; if it is sent, it counts.
static void rollback(struct request *r, struct response *a)
{
	struct commit_receipt receipt = {0};
	struct revision_row row;
	struct commit_request q;
	char comment[64];
	int64_t running;
	bool any = true;

	if (!find(r, a, &row) || !write_query(r, a, &q))
		return;
	json_decref(commit_running(r->api->commit, &running));
	if (request_header(r, "If-Match") && !write_match(r, a, running, &any))
		return;
	q.base = any ? -1 : running;
	q.document = load(r->api->store, row.id);
	if (!q.document) {
		respond_error(a, 503, "the document of this revision can't be read", NULL);
		return;
	}
	snprintf(comment, sizeof comment, "rollback to revision %" PRId64, row.id);
	if (!q.comment[0])
		q.comment = comment;
	write_answer(a, commit_change(r->api->commit, &q, &receipt), &q, &receipt);
	json_decref(q.document);
}

const struct route api_revision_routes[] = {
	{HTTP_GET, "/v1/revisions", ROLE_VIEWER, list_revisions, 0, "the history, newest first"},
	{HTTP_GET, "/v1/revisions/pending", ROLE_VIEWER, get_pending, 0, "the one that waits for confirmation"},
	{HTTP_GET, "/v1/revisions/{id}", ROLE_VIEWER, get_revision, 0, "one, with its document"},
	{HTTP_GET, "/v1/revisions/{id}/diff", ROLE_VIEWER, get_diff, 0, "what it changed, or differs from another"},
	{HTTP_POST, "/v1/revisions/{id}/confirm", ROLE_OPERATOR, confirm, 0, "keep it"},
	{HTTP_POST, "/v1/revisions/{id}/revert", ROLE_OPERATOR, revert, 0, "take it back now"},
	{HTTP_POST, "/v1/revisions/{id}/rollback", ROLE_OPERATOR, rollback, 0, "put its document in force again"},
	{0},
};
