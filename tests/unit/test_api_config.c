// SPDX-License-Identifier: GPL-2.0-or-later
// /v1/config and /v1/revisions on a commit and a store that live in an array here: what a request makes of the document,
// and which status, tag and receipt each outcome becomes.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "api_world.h"
#include "mgmt/api_write.h"
#include "mgmt/desired.h"

static const char first_document[] =
	"{\"ports\":{\"lan\":{\"device\":\"eth1\"},\"wan\":{\"device\":\"eth2\"}},"
	"\"bridges\":{\"br0\":{\"ports\":[\"lan\",\"wan\"]}},"
	"\"shapers\":{\"up\":{\"port\":\"wan\",\"rate\":\"100mbit\",\"default\":\"rest\",\"classes\":{"
	"\"voice\":{\"rt\":\"5mbit\",\"ls\":\"5mbit\"},\"rest\":{\"ls\":\"90mbit\"}}}},"
	"\"classifiers\":{\"up\":[{\"dscp\":\"ef\",\"class\":\"voice\"},{\"proto\":\"icmp\",\"class\":\"voice\"}]}}";

enum { REVISIONS = 64 };

static struct {
	json_t *document[REVISIONS];
	struct revision_row row[REVISIONS];
	int64_t newest, running, pending;
	uint32_t seconds_left;
	enum commit_outcome next; // != COMMIT_DONE: what the next change ends with
	int rivals;               // changes that somebody else makes just before ours
	uint32_t confirm_s;       // of the last change
	bool restart, dry_run;
	char comment[256];
} fake;

// ---- the fakes

static void append(json_t *document, const char *comment)
{
	int64_t id = ++fake.newest;

	fake.document[id] = json_incref(document);
	fake.row[id] = (struct revision_row){.id = id,
					     .parent = fake.running,
					     .state = REVISION_CONFIRMED,
					     .created_s = 1767323045,
					     .author = "ada"};
	snprintf(fake.row[id].comment, sizeof fake.row[id].comment, "%s", comment);
	fake.running = id;
}

enum commit_outcome commit_change(struct commit *c, const struct commit_request *r, struct commit_receipt *out)
{
	enum commit_outcome forced = fake.next;
	struct config *config;
	char *text;

	fake.next = COMMIT_DONE;
	*out = (struct commit_receipt){.revision = fake.running};
	for (; fake.rivals; fake.rivals--) {
		json_t *theirs = json_deep_copy(fake.document[fake.running]);

		json_object_set_new(theirs, "system", json_pack("{s:i}", "frames", 40000));
		append(theirs, "theirs");
		json_decref(theirs);
	}
	if (r->base != -1 && r->base != fake.running)
		return COMMIT_STALE;
	if (forced != COMMIT_DONE)
		return forced;
	text = json_dumps(r->document, JSON_ENCODE_ANY);
	config = desired_parse(text, strlen(text), &out->problems);
	free(text);
	config_free(config);
	if (!config)
		return COMMIT_INVALID;
	out->changes = document_diff(fake.document[fake.running], r->document);
	fake.confirm_s = r->confirm_s;
	fake.restart = r->restart;
	fake.dry_run = r->dry_run;
	snprintf(fake.comment, sizeof fake.comment, "%s", r->comment);
	assert_string_equal(r->author, "ada");
	if (!json_array_size(out->changes))
		return COMMIT_UNCHANGED;
	if (r->dry_run)
		return COMMIT_DONE;
	append(r->document, r->comment);
	out->revision = fake.running;
	out->pending = r->confirm_s != 0;
	out->seconds_left = r->confirm_s;
	out->duration_ns = 412000;
	out->pause_ns = 3100;
	problem_add(&out->problems, PROBLEM_WARNING, "/shapers/up", "careful");
	return COMMIT_DONE;
}

enum commit_outcome commit_confirm(struct commit *c, int64_t id, struct commit_receipt *out)
{
	*out = (struct commit_receipt){.revision = fake.running};
	return id == fake.pending ? COMMIT_DONE : COMMIT_NOT_PENDING;
}

enum commit_outcome commit_revert(struct commit *c, int64_t id, struct commit_receipt *out)
{
	*out = (struct commit_receipt){.revision = fake.running - 1};
	return id == fake.pending ? COMMIT_DONE : COMMIT_NOT_PENDING;
}

json_t *commit_running(struct commit *c, int64_t *revision)
{
	*revision = fake.running;
	return json_incref(fake.document[fake.running]);
}

int64_t commit_pending(struct commit *c, uint32_t *seconds_left)
{
	*seconds_left = fake.seconds_left;
	return fake.pending;
}

char *store_document(struct store *s, int64_t id)
{
	return id > 0 && id <= fake.newest ? json_dumps(fake.document[id], 0) : NULL;
}

bool store_get(struct store *s, int64_t id, struct revision_row *out)
{
	if (id < 1 || id > fake.newest)
		return false;
	*out = fake.row[id];
	return true;
}

uint32_t store_list(struct store *s, int64_t before, struct revision_row *out, uint32_t n)
{
	uint32_t k = 0;

	for (int64_t id = before ? before - 1 : fake.newest; id > 0 && k < n; id--)
		if (id <= fake.newest)
			out[k++] = fake.row[id];
	return k;
}

static int setup(void **state)
{
	json_t *document = json_loads(first_document, 0, NULL);

	memset(&fake, 0, sizeof fake);
	append(document, "first");
	json_decref(document);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < REVISIONS; i++)
		json_decref(fake.document[i]);
	return 0;
}

// ---- asking

static json_t *ask(enum http_method method, const char *path, const char *body, struct fake_request f, int want_status,
		   char *etag)
{
	struct api api = {0};
	struct response a;
	json_t *json = body ? json_loads(body, JSON_DECODE_ANY, NULL) : NULL, *out;
	bool revisions = !strncmp(path, "/v1/revisions", 13);

	assert_true(!body || json);
	call(&api, revisions ? api_revision_routes : api_config_routes, method, path, &f, json, &a);
	if (a.status != want_status) {
		char *text = a.json ? json_dumps(a.json, JSON_ENCODE_ANY) : NULL;

		fail_msg("%s: status %d, want %d: %s", path, a.status, want_status, text);
	}
	if (etag)
		strcpy(etag, a.etag);
	json_decref(json);
	out = json_incref(a.json);
	response_free(&a);
	return out;
}

static void status_of(enum http_method method, const char *path, const char *body, struct fake_request f,
		      int want_status)
{
	json_decref(ask(method, path, body, f, want_status, NULL));
}

static const struct fake_request any = {.if_match = "*"}, none;

static void part_is(const char *path, const char *want)
{
	json_t *got = ask(HTTP_GET, path, NULL, none, 200, NULL), *expected = json_loads(want, JSON_DECODE_ANY, NULL);
	char *text = json_dumps(got, JSON_ENCODE_ANY);

	if (!json_equal(got, expected))
		fail_msg("%s is %s, want %s", path, text, want);
	free(text);
	json_decref(got);
	json_decref(expected);
}

static json_int_t number(json_t *o, const char *key)
{
	if (!json_is_integer(json_object_get(o, key)))
		fail_msg("%s is no integer", key);
	return json_integer_value(json_object_get(o, key));
}

static const char *string(json_t *o, const char *key)
{
	if (!json_is_string(json_object_get(o, key)))
		fail_msg("%s is no string", key);
	return json_string_value(json_object_get(o, key));
}

// ---- tests

static void reads(void **state)
{
	char etag[32];

	part_is("/v1/config", first_document);
	part_is("/v1/config/shapers/up/classes/voice/rt", "\"5mbit\"");
	part_is("/v1/config/classifiers/up/1", "{\"proto\":\"icmp\",\"class\":\"voice\"}");
	json_decref(ask(HTTP_GET, "/v1/config/ports", NULL, none, 200, etag));
	assert_string_equal(etag, "r1");
	status_of(HTTP_GET, "/v1/config/shapers/down", NULL, none, 404);
	status_of(HTTP_GET, "/v1/config/classifiers/up/2", NULL, none, 404);
	status_of(HTTP_GET, "/v1/config/classifiers/up/-", NULL, none, 404);
	status_of(HTTP_GET, "/v1/config/a~b", NULL, none, 400);
}

static void puts_parts(void **state)
{
	char etag[32];
	json_t *receipt = ask(HTTP_PUT, "/v1/config/shapers/up/classes/voice/rt", "\"6mbit\"", any, 200, etag), *change;

	assert_string_equal(etag, "r2");
	assert_int_equal(number(receipt, "revision"), 2);
	assert_string_equal(string(receipt, "state"), "confirmed");
	assert_null(json_object_get(receipt, "seconds_left"));
	assert_true(json_is_true(json_object_get(receipt, "applied")));
	assert_int_equal(number(receipt, "duration_ns"), 412000);
	assert_int_equal(number(receipt, "longest_pause_ns"), 3100);
	assert_int_equal(number(receipt, "packets_lost"), 0);
	assert_int_equal(json_array_size(json_object_get(receipt, "changes")), 1);
	change = json_array_get(json_object_get(receipt, "changes"), 0);
	assert_string_equal(string(change, "path"), "/shapers/up/classes/voice/rt");
	assert_string_equal(string(change, "from"), "5mbit");
	change = json_object_get(receipt, "warnings");
	change = json_array_get(change, json_array_size(change) - 1);
	assert_string_equal(string(change, "path"), "/shapers/up");
	json_decref(receipt);
	part_is("/v1/config/shapers/up/classes/voice", "{\"rt\":\"6mbit\",\"ls\":\"5mbit\"}");

	status_of(HTTP_PUT, "/v1/config/classifiers/up/-", "{\"ether\":\"arp\",\"class\":\"rest\"}", any, 200);
	status_of(HTTP_PUT, "/v1/config/classifiers/up/0/class", "\"rest\"", any, 200);
	part_is("/v1/config/classifiers/up",
		"[{\"dscp\":\"ef\",\"class\":\"rest\"},{\"proto\":\"icmp\",\"class\":\"voice\"},"
		"{\"ether\":\"arp\",\"class\":\"rest\"}]");
	status_of(HTTP_PUT, "/v1/config", first_document, any, 200);
	part_is("/v1/config", first_document);
}

// Parents that may be there are made; others are not.
static void puts_with_parents(void **state)
{
	status_of(HTTP_PUT, "/v1/config/system/frames", "65536", any, 200);
	part_is("/v1/config/system", "{\"frames\":65536}");
	status_of(HTTP_PUT, "/v1/config/shapers/up/classes/bulk/ls", "\"1mbit\"", any, 200);
	status_of(HTTP_PUT, "/v1/config/shapers/up/classes/bulk/leaf/limit", "100", any, 200);
	status_of(HTTP_PUT, "/v1/config/shapers/up/classes/bulk/ul/m2", "\"50mbit\"", any, 200);
	part_is("/v1/config/shapers/up/classes/bulk",
		"{\"ls\":\"1mbit\",\"leaf\":{\"limit\":100},\"ul\":{\"m2\":\"50mbit\"}}");
	status_of(HTTP_DELETE, "/v1/config/classifiers", NULL, any, 200);
	status_of(HTTP_PUT, "/v1/config/classifiers/up/-", "{\"dscp\":\"ef\",\"class\":\"voice\"}", any, 200);
	part_is("/v1/config/classifiers", "{\"up\":[{\"dscp\":\"ef\",\"class\":\"voice\"}]}");

	status_of(HTTP_PUT, "/v1/config/nonsense/x", "1", any, 404);
	status_of(HTTP_PUT, "/v1/config/ports/*/device/x", "1", any, 404);
	status_of(HTTP_PUT, "/v1/config/shapers/up/classes/new/nonsense/x", "1", any, 404);
	status_of(HTTP_PUT, "/v1/config/shapers/up/burst/x", "1", any, 404);
	status_of(HTTP_PUT, "/v1/config/shapers/up/rate/x", "1", any, 404);
	status_of(HTTP_PUT, "/v1/config/classifiers/up/7", "{}", any, 404);
	status_of(HTTP_PUT, "/v1/config/classifiers/up/-/class", "\"voice\"", any, 404);
	status_of(HTTP_PUT, "/v1/config/shapers/down/classes/a/ls", "\"1mbit\"", any, 422); // no port, rate, default
	status_of(HTTP_PUT, "/v1/config/shapers/up/classes/voice/nonsense", "1", any, 422);
}

static void patches(void **state)
{
	status_of(HTTP_PATCH, "/v1/config/shapers/up/classes/voice", "{\"rt\":null,\"ls\":\"7mbit\"}", any, 200);
	part_is("/v1/config/shapers/up/classes/voice", "{\"ls\":\"7mbit\"}");
	status_of(HTTP_PATCH, "/v1/config",
		  "{\"shapers\":{\"up\":{\"classes\":{\"bulk\":{\"ls\":\"1mbit\",\"ul\":null}}}},\"classifiers\":null}",
		  any, 200);
	part_is("/v1/config/shapers/up/classes/bulk", "{\"ls\":\"1mbit\"}");
	status_of(HTTP_GET, "/v1/config/classifiers", NULL, none, 404);
	status_of(HTTP_PATCH, "/v1/config/system", "{\"frames\":65536}", any, 200);
	status_of(HTTP_PATCH, "/v1/config/system", "null", any, 422);
	status_of(HTTP_PATCH, "/v1/config", "[]", any, 422);
}

static void deletes(void **state)
{
	status_of(HTTP_DELETE, "/v1/config/classifiers/up/0", NULL, any, 200);
	part_is("/v1/config/classifiers/up", "[{\"proto\":\"icmp\",\"class\":\"voice\"}]");
	status_of(HTTP_DELETE, "/v1/config/classifiers/up/1", NULL, any, 404);
	status_of(HTTP_DELETE, "/v1/config/shapers/down", NULL, any, 404);
	status_of(HTTP_DELETE, "/v1/config/shapers/up/classes/rest", NULL, any, 422); // it is the default
	status_of(HTTP_DELETE, "/v1/config/classifiers/up/-", NULL, any, 404);
}

static void problems_have_pointers(void **state)
{
	json_t *p = ask(HTTP_PATCH, "/v1/config/shapers/up/classes", "{\"voice\":{\"rt\":\"x\"},\"rest\":{\"ls\":-1}}",
			any, 422, NULL),
	       *errors = json_object_get(p, "errors");

	assert_int_equal(json_array_size(errors), 2);
	assert_string_equal(string(json_array_get(errors, 0), "pointer"), "/shapers/up/classes/voice/rt");
	assert_string_equal(string(json_array_get(errors, 1), "pointer"), "/shapers/up/classes/rest/ls");
	assert_int_equal(number(p, "status"), 422);
	json_decref(p);
	assert_int_equal(fake.newest, 1);
}

static void wants_to_know_the_base(void **state)
{
	static const struct {
		const char *if_match;
		int status;
	} cases[] = {
		{NULL, 428},
		{"\"r0\"", 412},
		{"\"r2\"", 412},
		{"\"r1\"", 200},
		{"r1", 200},
		{"\"r9\", \"r1\"", 200},
		{"\"r1\" , \"x\"", 200},
		{"W/\"r1\"", 412},
		{"\"r01\"", 412},
		{"\"r1x\"", 412},
		{"\"\"", 412},
		{"", 400},
		{"\"r1", 400},
		{"\"r1\" x", 400},
		{"\"r1\",", 400},
		{"W/r1", 400},
		{"\"r1\", *", 200},
		{"\"r99999999999999999999\"", 412},
		{"\"r-1\"", 412},
		{"1", 412},
		{"**", 412},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char etag[32];
		int want = cases[i].status;

		teardown(state);
		setup(state);
		json_decref(ask(HTTP_PUT, "/v1/config/system/frames", "65536",
				(struct fake_request){.if_match = cases[i].if_match}, want, etag));
		assert_int_equal(fake.newest, want == 200 ? 2 : 1);
		if (want == 412)
			assert_string_equal(etag, "r1");
	}
}

// With If-Match: * a change between reading and writing is not overwritten: the request is made again on top of it.
static void is_not_lost_to_a_rival(void **state)
{
	fake.rivals = 1;
	status_of(HTTP_PATCH, "/v1/config/shapers/up", "{\"rate\":\"200mbit\"}", any, 200);
	part_is("/v1/config/shapers/up/rate", "\"200mbit\"");
	part_is("/v1/config/system", "{\"frames\":40000}");
	fake.rivals = 1;
	status_of(HTTP_PATCH, "/v1/config/shapers/up", "{\"rate\":\"300mbit\"}",
		  (struct fake_request){.if_match = "\"r3\""}, 412);
}

static void query(void **state)
{
	static const struct fake_request bad[] = {
		{{{"dry_run", "yes"}}, "*"},          {{{"dry_run", "2"}}, "*"},       {{{"confirm", "4"}}, "*"},
		{{{"confirm", "3601"}}, "*"},         {{{"confirm", "x"}}, "*"},       {{{"restart", "-1"}}, "*"},
		{{{"comment", "a\nb"}}, "*"},         {{{"comment", "\x1b[2J"}}, "*"}, {{{"comment", "\xc2\x9b"}}, "*"},
		{{{"comment", "\xe2\x80\xae"}}, "*"}, {{{"comment", "\xff"}}, "*"},
	};
	const char *path = "/v1/config/shapers/up/rate";
	char long_text[COMMENT_MAX + 2];
	json_t *receipt;
	char etag[32];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		status_of(HTTP_PUT, path, "\"90mbit\"", bad[i], 400);
	memset(long_text, 'x', sizeof long_text);
	long_text[COMMENT_MAX + 1] = '\0';
	status_of(HTTP_PUT, path, "\"90mbit\"", (struct fake_request){{{"comment", long_text}}, "*"}, 400);
	assert_int_equal(fake.newest, 1);

	receipt = ask(HTTP_PUT, path, "\"110mbit\"", (struct fake_request){{{"dry_run", "1"}, {"confirm", "60"}}, "*"},
		      200, etag);
	assert_string_equal(etag, "r1");
	assert_null(json_object_get(receipt, "revision"));
	assert_true(json_is_false(json_object_get(receipt, "applied")));
	assert_int_equal(json_array_size(json_object_get(receipt, "changes")), 1);
	json_decref(receipt);
	assert_int_equal(fake.newest, 1);

	long_text[COMMENT_MAX] = '\0';
	receipt = ask(HTTP_PUT, path, "\"110mbit\"",
		      (struct fake_request){{{"confirm", "60"}, {"restart", "1"}, {"comment", long_text}}, "*"}, 200,
		      etag);
	assert_string_equal(string(receipt, "state"), "pending");
	assert_int_equal(number(receipt, "seconds_left"), 60);
	assert_int_equal(fake.confirm_s, 60);
	assert_true(fake.restart && !fake.dry_run);
	assert_string_equal(fake.comment, long_text);
	json_decref(receipt);
}

static void unchanged(void **state)
{
	char etag[32];
	json_t *receipt = ask(HTTP_PUT, "/v1/config/shapers/up/rate", "\"100mbit\"", any, 200, etag);

	assert_string_equal(etag, "r1");
	assert_int_equal(number(receipt, "revision"), 1);
	assert_int_equal(json_array_size(json_object_get(receipt, "changes")), 0);
	json_decref(receipt);
}

static void outcomes(void **state)
{
	static const struct {
		enum commit_outcome outcome;
		int status;
	} cases[] = {{COMMIT_INVALID, 422},       {COMMIT_STALE, 412},     {COMMIT_BUSY, 409},
		     {COMMIT_NEEDS_RESTART, 409}, {COMMIT_NO_ENGINE, 503}, {COMMIT_STORE_FAILED, 503},
		     {COMMIT_NOT_PENDING, 409}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		fake.next = cases[i].outcome;
		status_of(HTTP_PUT, "/v1/config/shapers/up/rate", "\"90mbit\"",
			  (struct fake_request){.if_match = "\"r1\""}, cases[i].status);
	}
}

static void bodies(void **state)
{
	char deep[80] = "", path[200] = "/v1/config/shapers/up/classes/x";

	status_of(HTTP_PUT, "/v1/config/system", NULL, any, 400);
	memset(deep, '[', 16);
	memset(deep + 16, ']', 16);
	status_of(HTTP_PUT, "/v1/config/system", deep, any, 422);
	for (int i = 0; i < 13; i++)
		strcat(path, "/x");
	status_of(HTTP_PUT, path, "1", any, 400); // more steps than a document is deep
}

static void history(void **state)
{
	json_t *v, *list;

	status_of(HTTP_PUT, "/v1/config/shapers/up/rate", "\"200mbit\"", any, 200);
	status_of(HTTP_PUT, "/v1/config/shapers/up/rate", "\"300mbit\"", any, 200);
	v = ask(HTTP_GET, "/v1/revisions", NULL, none, 200, NULL);
	list = json_object_get(v, "revisions");
	assert_int_equal(json_array_size(list), 3);
	assert_int_equal(number(json_array_get(list, 0), "id"), 3);
	assert_int_equal(number(json_array_get(list, 0), "parent"), 2);
	assert_string_equal(string(json_array_get(list, 0), "state"), "confirmed");
	assert_string_equal(string(json_array_get(list, 0), "created"), "2026-01-02T03:04:05Z");
	json_decref(v);
	v = ask(HTTP_GET, "/v1/revisions", NULL, (struct fake_request){.query = {{"limit", "1"}, {"before", "3"}}}, 200,
		NULL);
	list = json_object_get(v, "revisions");
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(number(json_array_get(list, 0), "id"), 2);
	json_decref(v);
	v = ask(HTTP_GET, "/v1/revisions/2", NULL, none, 200, NULL);
	assert_string_equal(
		string(json_object_get(json_object_get(json_object_get(v, "document"), "shapers"), "up"), "rate"),
		"200mbit");
	json_decref(v);
	v = ask(HTTP_GET, "/v1/revisions/3/diff", NULL, none, 200, NULL);
	assert_int_equal(number(v, "from"), 2);
	assert_int_equal(number(v, "to"), 3);
	assert_string_equal(string(json_array_get(json_object_get(v, "changes"), 0), "to"), "300mbit");
	json_decref(v);
	v = ask(HTTP_GET, "/v1/revisions/3/diff", NULL, (struct fake_request){.query = {{"to", "1"}}}, 200, NULL);
	assert_string_equal(string(json_array_get(json_object_get(v, "changes"), 0), "to"), "100mbit");
	json_decref(v);
	v = ask(HTTP_GET, "/v1/revisions/1/diff", NULL, none, 200, NULL); // the first: everything is new
	assert_int_equal(number(v, "from"), 0);
	assert_true(json_array_size(json_object_get(v, "changes")) > 0);
	json_decref(v);
	status_of(HTTP_GET, "/v1/revisions/4", NULL, none, 404);
	status_of(HTTP_GET, "/v1/revisions/0", NULL, none, 404);
	status_of(HTTP_GET, "/v1/revisions/02", NULL, none, 404);
	status_of(HTTP_GET, "/v1/revisions/x", NULL, none, 404);
	status_of(HTTP_GET, "/v1/revisions/99999999999999999999", NULL, none, 404);
	status_of(HTTP_GET, "/v1/revisions/1/diff", NULL, (struct fake_request){.query = {{"to", "9"}}}, 404);
	status_of(HTTP_GET, "/v1/revisions", NULL, (struct fake_request){.query = {{"limit", "0"}}}, 400);
}

static void pending(void **state)
{
	json_t *v;
	char etag[32];

	status_of(HTTP_GET, "/v1/revisions/pending", NULL, none, 404);
	status_of(HTTP_PUT, "/v1/config/shapers/up/rate", "\"200mbit\"", any, 200);
	fake.pending = 2;
	fake.seconds_left = 17;
	v = ask(HTTP_GET, "/v1/revisions/pending", NULL, none, 200, NULL);
	assert_int_equal(number(v, "id"), 2);
	assert_int_equal(number(v, "seconds_left"), 17);
	json_decref(v);
	v = ask(HTTP_POST, "/v1/revisions/2/confirm", NULL, none, 200, etag);
	assert_int_equal(number(v, "revision"), 2);
	assert_string_equal(string(v, "state"), "confirmed");
	assert_string_equal(etag, "r2");
	json_decref(v);
	v = ask(HTTP_POST, "/v1/revisions/2/revert", NULL, none, 200, etag);
	assert_int_equal(number(v, "revision"), 1);
	json_decref(v);
	status_of(HTTP_POST, "/v1/revisions/1/confirm", NULL, none, 409);
	status_of(HTTP_POST, "/v1/revisions/7/confirm", NULL, none, 404);
	status_of(HTTP_POST, "/v1/revisions/7/revert", NULL, none, 404);
}

static void rolls_back(void **state)
{
	json_t *v;

	status_of(HTTP_PUT, "/v1/config/shapers/up/rate", "\"200mbit\"", any, 200);
	v = ask(HTTP_POST, "/v1/revisions/1/rollback", NULL, (struct fake_request){.query = {{"dry_run", "1"}}}, 200,
		NULL);
	assert_int_equal(json_array_size(json_object_get(v, "changes")), 1);
	json_decref(v);
	part_is("/v1/config/shapers/up/rate", "\"200mbit\"");
	status_of(HTTP_POST, "/v1/revisions/1/rollback", NULL, (struct fake_request){.if_match = "\"r1\""}, 412);
	status_of(HTTP_POST, "/v1/revisions/1/rollback", NULL, (struct fake_request){.query = {{"confirm", "30"}}},
		  200);
	assert_int_equal(fake.running, 3);
	assert_int_equal(fake.confirm_s, 30);
	assert_string_equal(fake.comment, "rollback to revision 1");
	part_is("/v1/config", first_document);
	status_of(HTTP_POST, "/v1/revisions/9/rollback", NULL, none, 404);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads),
		TEST(puts_parts),
		TEST(puts_with_parents),
		TEST(patches),
		TEST(deletes),
		TEST(problems_have_pointers),
		TEST(wants_to_know_the_base),
		TEST(is_not_lost_to_a_rival),
		TEST(query),
		TEST(unchanged),
		TEST(outcomes),
		TEST(bodies),
		TEST(history),
		TEST(pending),
		TEST(rolls_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
