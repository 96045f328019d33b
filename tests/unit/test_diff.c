// SPDX-License-Identifier: GPL-2.0-or-later
// Differences between documents: from, to, and what is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mgmt/commit.h"

static const struct {
	const char *from, *to, *changes, *summary;
} cases[] = {
	{"{}", "{}", "[]", "no change"},
	{"{\"a\":1}", "{\"a\":1}", "[]", "no change"},
	{"{\"a\":1}", "{\"a\":2}", "[{\"op\":\"replace\",\"path\":\"/a\",\"from\":1,\"to\":2}]", "1 change: /a"},
	{"{\"a\":1}", "{\"a\":\"1\"}", "[{\"op\":\"replace\",\"path\":\"/a\",\"from\":1,\"to\":\"1\"}]",
	 "1 change: /a"},
	{"{}", "{\"a\":{\"b\":{\"c\":1}}}", "[{\"op\":\"add\",\"path\":\"/a\",\"to\":{\"b\":{\"c\":1}}}]",
	 "1 change: /a"},
	{"{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"c\":3,\"d\":4}}",
	 "[{\"op\":\"remove\",\"path\":\"/a/b\",\"from\":1},{\"op\":\"replace\",\"path\":\"/a/c\",\"from\":2,\"to\":3},"
	 "{\"op\":\"add\",\"path\":\"/a/d\",\"to\":4}]",
	 "3 changes: /a/b, /a/c, /a/d"},
	{"{\"a\":[1,2]}", "{\"a\":[1,3]}", "[{\"op\":\"replace\",\"path\":\"/a/1\",\"from\":2,\"to\":3}]",
	 "1 change: /a/1"},
	{"{\"a\":[1,2]}", "{\"a\":[2]}", "[{\"op\":\"replace\",\"path\":\"/a\",\"from\":[1,2],\"to\":[2]}]",
	 "1 change: /a"},
	{"{\"a/b\":{\"~\":1}}", "{\"a/b\":{\"~\":2}}",
	 "[{\"op\":\"replace\",\"path\":\"/a~1b/~0\",\"from\":1,\"to\":2}]", "1 change: /a~1b/~0"},
	{"{\"b\":1,\"a\":1}", "{\"a\":1,\"b\":1}", "[]", "no change"}, // the order of keys means nothing
	{"{\"a\":{}}", "{\"a\":[]}", "[{\"op\":\"replace\",\"path\":\"/a\",\"from\":{},\"to\":[]}]", "1 change: /a"},
	{"[]", "{}", "[{\"op\":\"replace\",\"path\":\"\",\"from\":[],\"to\":{}}]", "1 change: /"},
};

static void test_cases(void **state)
{
	char summary[256];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *from = json_loads(cases[i].from, 0, NULL), *to = json_loads(cases[i].to, 0, NULL);
		json_t *changes = document_diff(from, to);
		char *text = json_dumps(changes, JSON_COMPACT);

		assert_string_equal(text, cases[i].changes);
		assert_string_equal(diff_summary(changes, summary), cases[i].summary);
		free(text);
		json_decref(changes);
		json_decref(from);
		json_decref(to);
	}
}

// However much has changed, a summary is a line that says how much.
static void test_long_summary(void **state)
{
	json_t *from = json_object(), *to = json_object(), *changes;
	char key[64], summary[256];

	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof key, "a-rather-long-name-of-a-resource-%d", i);
		json_object_set_new(to, key, json_integer(i));
	}
	changes = document_diff(from, to);
	diff_summary(changes, summary);
	assert_true(strlen(summary) < 256);
	assert_int_equal(strncmp(summary, "1000 changes: /a-rather", 23), 0);
	assert_string_equal(summary + strlen(summary) - 3, "...");
	json_decref(changes);
	json_decref(from);
	json_decref(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_long_summary)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
