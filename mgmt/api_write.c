// SPDX-License-Identifier: GPL-2.0-or-later
// From HTTP to a commit and back. The entity tag is the revision's number, the same for the whole configuration and
// all its parts, because a change is checked as a whole: "rt" of one class may be wrong because of another class.
#include "mgmt/api_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIRM_MIN_S = 5, CONFIRM_MAX_S = 3600 };

void write_etag(struct response *a, int64_t revision)
{
	snprintf(a->etag, sizeof a->etag, "r%" PRId64, revision);
}

static bool query_flag(const struct request *r, struct response *a, const char *key, bool *out)
{
	int64_t n;

	if (!request_number(r, a, key, 0, 1, 0, &n))
		return false;
	*out = n == 1;
	return true;
}

// UTF-8 without what would move about or turn around the text beside it on a terminal: controls, line and
// paragraph separators, marks and overrides of direction.
static bool is_printable(const char *text)
{
	json_t *utf8 = json_string(text);
	bool ok = utf8 != NULL;

	json_decref(utf8);
	for (const unsigned char *c = (const unsigned char *)text; ok && *c; c++) {
		ok = *c >= ' ' && *c != 0x7f && !(c[0] == 0xc2 && c[1] < 0xa0);
		if (c[0] == 0xe2 && c[1] == 0x80) // U+200B-200F, U+2028-202E
			ok &= !(c[2] >= 0x8b && c[2] <= 0x8f) && !(c[2] >= 0xa8 && c[2] <= 0xae);
		if (c[0] == 0xe2 && c[1] == 0x81) // U+2060-206F
			ok &= !(c[2] >= 0xa0 && c[2] <= 0xaf);
	}
	return ok;
}

bool write_query(const struct request *r, struct response *a, struct commit_request *out)
{
	const char *comment = request_query(r, "comment");
	int64_t confirm;

	*out = (struct commit_request){
		.base = -1, .author = r->user, .source = "api", .comment = comment ? comment : ""};
	if (!query_flag(r, a, "dry_run", &out->dry_run) || !query_flag(r, a, "restart", &out->restart))
		return false;
	if (!request_number(r, a, "confirm", CONFIRM_MIN_S, CONFIRM_MAX_S, 0, &confirm))
		return false;
	out->confirm_s = (uint32_t)confirm;
	if (strlen(out->comment) > COMMENT_MAX || !is_printable(out->comment)) {
		respond_error(a, 400, "comment: up to 200 bytes of printable text", NULL);
		return false;
	}
	return true;
}

// One entity tag of a list: `"r12"`, or r12 as shells leave it. The weak form never matches (RFC 9110, 13.1.1). *at moves
// behind it. -1: it is of no revision, -2: malformed.
static int64_t entity_tag(const char **at)
{
	bool weak = !strncmp(*at, "W/", 2);
	const char *start = *at + 2 * weak, *end;
	bool quoted = *start == '"';
	int64_t n = -1;
	char *stop;

	start += quoted;
	end = start + strcspn(start, quoted ? "\"" : ", \t");
	if ((quoted && !*end) || (weak && !quoted) || (!quoted && end == start))
		return -2;
	if (!weak && start[0] == 'r' && start[1] >= '0' && start[1] <= '9' && end - start < 19) {
		n = strtoll(start + 1, &stop, 10);
		if (stop != end || (start[1] == '0' && end - start > 2))
			n = -1;
	}
	*at = end + quoted;
	return n;
}

bool write_match(const struct request *r, struct response *a, int64_t revision, bool *any)
{
	const char *at = request_header(r, "If-Match");
	bool match = false;
	char detail[160];

	*any = at && !strcmp(at, "*");
	if (!at) {
		respond_error(a, 428, "If-Match is missing: send the ETag of the configuration you have read, or *",
			      NULL);
		return false;
	}
	while (!*any) {
		at += strspn(at, " \t");

		int64_t tag = entity_tag(&at);

		if (tag == -2) {
			respond_error(a, 400, "If-Match is malformed; allowed: \"rN\" or *", NULL);
			return false;
		}
		match |= tag == revision;
		at += strspn(at, " \t");
		if (*at != ',')
			break;
		at++;
	}
	if (*any)
		return true;
	if (*at)
		respond_error(a, 400, "If-Match is malformed; allowed: \"rN\" or *", NULL);
	else if (!match) {
		snprintf(detail, sizeof detail, "the configuration has changed since: revision %" PRId64 " is in force",
			 revision);
		respond_error(a, 412, detail, NULL);
		write_etag(a, revision);
	}
	return match && !*at;
}

static json_t *warnings(const struct problems *p)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < p->kept; i++)
		if (p->list[i].level == PROBLEM_WARNING)
			json_array_append_new(
				list, json_pack("{s:s, s:s}", "path", p->list[i].path, "text", p->list[i].text));
	return list;
}

static json_t *receipt_json(const struct commit_request *q, const struct commit_receipt *p)
{
	bool pending = q->dry_run ? q->confirm_s != 0 : p->pending;
	json_t *o = json_object();

	if (!q->dry_run)
		json_object_set_new(o, "revision", json_integer(p->revision));
	json_object_set_new(o, "state", json_string(pending ? "pending" : "confirmed"));
	if (pending)
		json_object_set_new(o, "seconds_left", json_integer(q->dry_run ? q->confirm_s : p->seconds_left));
	json_object_set_new(o, "applied", json_boolean(!q->dry_run));
	json_object_set_new(o, "duration_ns", json_integer((json_int_t)p->duration_ns));
	json_object_set_new(o, "longest_pause_ns", json_integer((json_int_t)p->pause_ns));
	json_object_set_new(o, "packets_lost", json_integer((json_int_t)p->lost));
	json_object_set_new(o, "changes", p->changes ? json_incref(p->changes) : json_array());
	json_object_set_new(o, "warnings", warnings(&p->problems));
	return o;
}

void write_answer(struct response *a, enum commit_outcome outcome, const struct commit_request *q,
		  struct commit_receipt *p)
{
	static const struct {
		int status;
		const char *detail;
	} error[] = {
		[COMMIT_INVALID] = {422, "the configuration is not valid, or the engine refused it"},
		[COMMIT_STALE] = {412, "the configuration has changed since"},
		[COMMIT_BUSY] = {409, "another revision is pending: confirm or revert it first"},
		[COMMIT_NEEDS_RESTART] = {409, "the change needs new sockets (traffic stops for about a second): "
					       "allow it with restart=1"},
		[COMMIT_NO_ENGINE] = {503, "no engine is running; nothing was changed"},
		[COMMIT_STORE_FAILED] = {503, "the store can't be written; nothing was changed"},
		[COMMIT_NOT_PENDING] = {409, "the revision is not pending"},
	};

	if (outcome == COMMIT_DONE || outcome == COMMIT_UNCHANGED) {
		respond_json(a, 200, receipt_json(q, p));
		write_etag(a, p->revision);
	} else {
		respond_error(a, error[outcome].status, error[outcome].detail, &p->problems);
	}
	json_decref(p->changes);
	problems_free(&p->problems);
}
