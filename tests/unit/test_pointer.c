// SPDX-License-Identifier: GPL-2.0-or-later
// JSON pointers and merge patches: the examples of RFC 6901 and RFC 7396, what changes and what must not.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdlib.h>
#include <string.h>

#include "mgmt/pointer.h"

static json_t *parse(const char *text)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

	if (!v)
		fail_msg("bad test text %s", text);
	return v;
}

static void assert_json(json_t *got, const char *want)
{
	json_t *expected = parse(want);
	char *text = got ? json_dumps(got, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	if (!got || !json_equal(got, expected))
		fail_msg("got %s, want %s", text ? text : "nothing", want);
	free(text);
	json_decref(expected);
}

// RFC 6901, section 5.
static void looks_up(void **state)
{
	static const char document[] = "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,"
				       "\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8}";
	static const char *const want[][2] = {
		{"", document},        {"/foo", "[\"bar\",\"baz\"]"},
		{"/foo/0", "\"bar\""}, {"/", "0"},
		{"/a~1b", "1"},        {"/c%d", "2"},
		{"/e^f", "3"},         {"/g|h", "4"},
		{"/i\\j", "5"},        {"/k\"l", "6"},
		{"/ ", "7"},           {"/m~0n", "8"},
	};
	static const char *const absent[] = {"/foo/2",   "/foo/-",  "/foo/00", "/foo/01",
					     "/foo/-1",  "/foo/1x", "/foo/",   "/foo/18446744073709551616",
					     "/foo/0/x", "/bar",    "/a/b",    "//"};
	json_t *d = parse(document);
	struct pointer p;

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_true(pointer_parse(&p, want[i][0]));
		assert_json(pointer_get(d, &p), want[i][1]);
	}
	for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
		assert_true(pointer_parse(&p, absent[i]));
		if (pointer_get(d, &p))
			fail_msg("%s is there", absent[i]);
	}
	json_decref(d);
}

static void refuses_what_is_no_pointer(void **state)
{
	static const char *const bad[] = {"foo", "~", "/~", "/~2", "/a~", "/\xff", "/\xc0\xaf"};
	char text[POINTER_BYTES + 2];
	struct pointer p;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (pointer_parse(&p, bad[i]))
			fail_msg("taken: %s", bad[i]);
	memset(text, 'a', sizeof text);
	text[0] = '/';
	text[POINTER_BYTES - 1] = '\0';
	assert_true(pointer_parse(&p, text));
	text[POINTER_BYTES - 1] = 'a';
	text[POINTER_BYTES] = '\0';
	assert_false(pointer_parse(&p, text));
	text[0] = '\0';
	for (unsigned i = 0; i < POINTER_STEPS; i++)
		strcat(text, "/x");
	assert_true(pointer_parse(&p, text));
	assert_int_equal(p.steps, POINTER_STEPS);
	strcat(text, "/x");
	assert_false(pointer_parse(&p, text));
}

static json_t *make_objects(const struct pointer *p, unsigned steps)
{
	return strcmp(p->step[steps - 1], "no") ? json_object() : NULL;
}

struct edit_case {
	const char *document, *pointer, *value; // value NULL: remove
	const char *want;                       // NULL: there is no such place
};

static void edits(void **state)
{
	static const struct edit_case cases[] = {
		{"{\"a\":1}", "", "7", "7"},
		{"{\"a\":1,\"b\":2}", "/a", "\"x\"", "{\"a\":\"x\",\"b\":2}"},
		{"{}", "/a", "null", "{\"a\":null}"},
		{"{}", "/a/b/c", "1", "{\"a\":{\"b\":{\"c\":1}}}"},
		{"{}", "/a/no/c", "1", NULL},
		{"{\"a\":1}", "/a/b", "1", NULL},
		{"{\"a\":null}", "/a/b", "1", NULL},
		{"{\"a\":[1,2]}", "/a/1", "9", "{\"a\":[1,9]}"},
		{"{\"a\":[1,2]}", "/a/-", "9", "{\"a\":[1,2,9]}"},
		{"{\"a\":[]}", "/a/-", "[]", "{\"a\":[[]]}"},
		{"{\"a\":[1,2]}", "/a/2", "9", NULL},
		{"{\"a\":[1,2]}", "/a/-/b", "9", NULL},
		{"{\"a\":[1,2]}", "/a/x", "9", NULL},
		{"{\"a\":[{\"b\":1}]}", "/a/0/b", "2", "{\"a\":[{\"b\":2}]}"},
		{"{\"a\":1}", "/a", NULL, "{}"},
		{"{\"a\":{\"b\":1,\"c\":2}}", "/a/b", NULL, "{\"a\":{\"c\":2}}"},
		{"{\"a\":[1,2,3]}", "/a/1", NULL, "{\"a\":[1,3]}"},
		{"{\"a\":[1]}", "/a/-", NULL, NULL},
		{"{\"a\":[1]}", "/a/1", NULL, NULL},
		{"{\"a\":1}", "/b", NULL, NULL},
		{"{\"a\":1}", "/b/c", NULL, NULL},
		{"{\"a\":1}", "/a/c", NULL, NULL},
		{"{\"a\":1}", "", NULL, NULL},
		{"5", "/a", "1", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct edit_case *c = &cases[i];
		json_t *document = parse(c->document), *value = c->value ? parse(c->value) : NULL, *out;
		enum pointer_fault fault;
		struct pointer p;

		assert_true(pointer_parse(&p, c->pointer));
		out = value ? pointer_put(document, &p, value, make_objects, &fault)
			    : pointer_remove(document, &p, &fault);
		assert_int_equal(fault, c->want ? POINTER_OK : POINTER_ABSENT);
		if (c->want)
			assert_json(out, c->want);
		else
			assert_null(out);
		assert_json(document, c->document); // a document is a value
		json_decref(out);
		json_decref(document);
		json_decref(value);
	}
}

static void shares_what_stays(void **state)
{
	json_t *document = parse("{\"a\":{\"x\":1},\"b\":{\"y\":{\"z\":2}}}"), *one = json_integer(1), *out;
	enum pointer_fault fault;
	struct pointer p;

	assert_true(pointer_parse(&p, "/b/w"));
	out = pointer_put(document, &p, one, NULL, &fault);
	assert_ptr_equal(json_object_get(out, "a"), json_object_get(document, "a"));
	assert_ptr_not_equal(json_object_get(out, "b"), json_object_get(document, "b"));
	assert_ptr_equal(json_object_get(json_object_get(out, "b"), "y"),
			 json_object_get(json_object_get(document, "b"), "y"));
	json_decref(document);
	assert_json(out, "{\"a\":{\"x\":1},\"b\":{\"y\":{\"z\":2},\"w\":1}}");
	json_decref(out);
	json_decref(one);
}

static void keeps_the_order_of_keys(void **state)
{
	json_t *document = parse("{\"z\":1,\"a\":2,\"m\":3}"), *nine = json_integer(9), *out;
	enum pointer_fault fault;
	struct pointer p;
	char *text;

	assert_true(pointer_parse(&p, "/a"));
	out = pointer_put(document, &p, nine, NULL, &fault);
	text = json_dumps(out, JSON_COMPACT);
	assert_string_equal(text, "{\"z\":1,\"a\":9,\"m\":3}");
	free(text);
	json_decref(out);
	json_decref(document);
	json_decref(nine);
}

// RFC 7396, appendix A, and its example in section 3.
static void merges(void **state)
{
	static const char *const cases[][3] = {
		{"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
		{"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
		{"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
		{"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
		{"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
		{"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
		{"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
		{"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
		{"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
		{"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
		{"{\"a\":\"foo\"}", "null", "null"},
		{"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
		{"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
		{"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
		{"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
		{"{\"title\":\"Goodbye!\",\"author\":{\"givenName\":\"John\",\"familyName\":\"Doe\"},"
		 "\"tags\":[\"example\",\"sample\"],\"content\":\"This will be unchanged\"}",
		 "{\"title\":\"Hello!\",\"phoneNumber\":\"+01-123-456-7890\",\"author\":{\"familyName\":null},"
		 "\"tags\":[\"example\"]}",
		 "{\"title\":\"Hello!\",\"author\":{\"givenName\":\"John\"},\"tags\":[\"example\"],"
		 "\"content\":\"This will be unchanged\",\"phoneNumber\":\"+01-123-456-7890\"}"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *target = parse(cases[i][0]), *patch = parse(cases[i][1]), *out = merge_patch(target, patch);

		assert_json(out, cases[i][2]);
		assert_json(target, cases[i][0]);
		assert_json(patch, cases[i][1]);
		json_decref(out);
		json_decref(target);
		json_decref(patch);
	}
}

static void merges_into_nothing(void **state)
{
	json_t *patch = parse("{\"a\":{\"b\":null,\"c\":1}}"), *out = merge_patch(NULL, patch);

	assert_json(out, "{\"a\":{\"c\":1}}");
	json_decref(out);
	json_decref(patch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_up),
		cmocka_unit_test(refuses_what_is_no_pointer),
		cmocka_unit_test(edits),
		cmocka_unit_test(shares_what_stays),
		cmocka_unit_test(keeps_the_order_of_keys),
		cmocka_unit_test(merges),
		cmocka_unit_test(merges_into_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
