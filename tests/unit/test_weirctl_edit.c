// SPDX-License-Identifier: GPL-2.0-or-later
// Editing documents: paths and values as typed, single changes with their refusals, merging (the examples of RFC 7396) and
// rebasing.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdlib.h>
#include <string.h>

#include "mgmt/weirctl_edit.c"

enum { WORDS_MAX = 24 };

// The words of a line, split at blanks. They live until the next call.
static int words_of(const char *line, char **word)
{
	static char copy[2048];
	char *save, *one;
	int n = 0;

	assert_true(strlen(line) < sizeof copy);
	strcpy(copy, line);
	for (one = strtok_r(copy, " ", &save); one; one = strtok_r(NULL, " ", &save))
		word[n++] = one;
	return n;
}

static json_t *json(const char *text)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

	if (!v)
		fail_msg("not JSON: %s", text);
	return v;
}

// Compares and gives up both.
static void same_json(json_t *got, const char *want)
{
	json_t *w = want ? json(want) : NULL;
	char *text = got ? json_dumps(got, JSON_ENCODE_ANY) : strdup("nothing");

	if (!got != !w || (got && !json_equal(got, w)))
		fail_msg("got %s, want %s", text, want ? want : "nothing");
	free(text);
	json_decref(got);
	json_decref(w);
}

static void paths(void **state)
{
	static const char *const same[] = {"shapers wan classes voice", "shapers/wan/classes/voice",
					   "/shapers/wan/classes/voice", "shapers/wan classes/voice/",
					   "shapers//wan/ /classes voice"};
	char *word[WORDS_MAX], why[EDIT_WHY], buf[EDIT_POINTER_MAX];
	struct edit_path p;

	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		assert_true(edit_path_read(&p, word, words_of(same[i], word), why));
		assert_int_equal(p.depth, 4);
		assert_string_equal(edit_pointer(&p, buf), "/shapers/wan/classes/voice");
		assert_string_equal(edit_url(&p, buf), "/shapers/wan/classes/voice");
	}
	assert_true(edit_path_read(&p, word, words_of("a~1b c~0d 1:10 %?#", word), why));
	assert_string_equal(p.step[0], "a/b");
	assert_string_equal(p.step[1], "c~d");
	assert_string_equal(edit_pointer(&p, buf), "/a~1b/c~0d/1:10/%?#");
	assert_string_equal(edit_url(&p, buf), "/a%2Fb/c~d/1%3A10/%25%3F%23");
	assert_true(edit_path_read(&p, word, 0, why));
	assert_string_equal(edit_pointer(&p, buf), "");
	assert_true(edit_path_read(&p, word, words_of("/", word), why));
	assert_int_equal(p.depth, 0);
}

static void paths_refused(void **state)
{
	char *word[WORDS_MAX], why[EDIT_WHY], buf[EDIT_POINTER_MAX], longest[EDIT_PATH_MAX + 1];
	struct edit_path p;

	assert_false(edit_path_read(&p, word, words_of("a~2", word), why));
	assert_false(edit_path_read(&p, word, words_of("a~", word), why));
	assert_true(edit_path_read(&p, word, words_of("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", word), why));
	assert_false(edit_path_read(&p, word, words_of("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", word), why));
	memset(longest, '%', sizeof longest);
	longest[EDIT_PATH_MAX - 2] = '\0'; // with the slash after it, it just fits
	word[0] = longest;
	assert_true(edit_path_read(&p, word, 1, why));
	assert_int_equal(strlen(edit_url(&p, buf)), 1 + 3 * (EDIT_PATH_MAX - 2));
	longest[EDIT_PATH_MAX - 2] = '%';
	longest[EDIT_PATH_MAX - 1] = '\0';
	assert_false(edit_path_read(&p, word, 1, why));
}

static void values(void **state)
{
	static const struct {
		const char *text, *want; // want NULL: refused
	} all[] = {
		{"20mbit", "\"20mbit\""},
		{"20", "20"},
		{"true", "true"},
		{"\"20\"", "\"20\""},
		{"-4", "-4"},
		{"1.5", "1.5"},
		{"1.5 gbit", "\"1.5 gbit\""},
		{"", "\"\""},
		{"{\"a\":1}", "{\"a\":1}"},
		{"[1,2]", "[1,2]"},
		{"{a:1}", NULL},
		{"[1", NULL},
		{"\"x", NULL},
		{" {", NULL},
		{"{\"a\":1,\"a\":2}", NULL},
		{"10.0.0.0/8", "\"10.0.0.0/8\""},
		{"null", "null"},
		{"\xff", NULL},
		{"1 2", "\"1 2\""},
	};
	char why[EDIT_WHY];

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		why[0] = '\0';
		same_json(edit_value(all[i].text, why), all[i].want);
		assert_int_equal(why[0] != '\0', !all[i].want);
	}
}

static void assignments(void **state)
{
	static const struct {
		const char *line, *pointer, *value; // pointer NULL: refused
	} all[] = {
		{"shapers wan rate 20mbit", "/shapers/wan/rate", "\"20mbit\""},
		{"shapers/wan rate 20mbit", "/shapers/wan/rate", "\"20mbit\""},
		{"/shapers/wan/rate 20mbit", "/shapers/wan/rate", "\"20mbit\""},
		{"/bridges/b/ports lan wan", "/bridges/b/ports", "[\"lan\",\"wan\"]"},
		{"/bridges/b/ports [\"lan\"]", "/bridges/b/ports", "[\"lan\"]"},
		{"/system/workers 2 3", "/system/workers", "[2,3]"},
		{"shapers wan overhead -4", "/shapers/wan/overhead", "-4"},
		{"classifiers wan - {\"class\":\"a\"}", "/classifiers/wan/-", "{\"class\":\"a\"}"},
		{"shapers/wan/rate", NULL, NULL},
		{"/bridges/b/ports lan {", NULL, NULL},
	};
	char *word[WORDS_MAX], why[EDIT_WHY], buf[EDIT_POINTER_MAX];
	struct edit_path p;
	json_t *v;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		bool ok = edit_assignment(&p, &v, word, words_of(all[i].line, word), why);

		assert_int_equal(ok, all[i].pointer != NULL);
		if (!ok)
			continue;
		assert_string_equal(edit_pointer(&p, buf), all[i].pointer);
		same_json(v, all[i].value);
	}
}

enum verb { SET, INSERT, DELETE };

static void changes(void **state)
{
	static const struct {
		enum verb verb;
		const char *before, *path, *value, *after; // after NULL: refused, and nothing is changed
	} all[] = {
		{SET, "{\"a\":1}", "a", "2", "{\"a\":2}"},
		{SET, "{\"a\":1}", "b", "2", "{\"a\":1,\"b\":2}"},
		{SET, "{}", "a b c", "[]", "{\"a\":{\"b\":{\"c\":[]}}}"},
		{SET, "{\"l\":[1,2]}", "l 0", "9", "{\"l\":[9,2]}"},
		{SET, "{\"l\":[1,2]}", "l -", "9", "{\"l\":[1,2,9]}"},
		{SET, "{\"l\":[]}", "l -", "9", "{\"l\":[9]}"},
		{SET, "{\"l\":[{\"a\":1}]}", "l 0 a", "9", "{\"l\":[{\"a\":9}]}"},
		{SET, "{\"l\":[1]}", "l - a", "9", "{\"l\":[1,{\"a\":9}]}"},
		{SET, "{\"l\":[1]}", "l 1", "9", NULL},
		{SET, "{\"l\":[1]}", "l 00", "9", NULL},
		{SET, "{\"l\":[1]}", "l x", "9", NULL},
		{SET, "{\"l\":[1]}", "l 99999999999999999999", "9", NULL},
		{SET, "{\"a\":1}", "a b", "9", NULL},
		{SET, "{\"a\":1}", "", "{\"b\":1}", "{\"b\":1}"},
		{SET, "{\"a\":1}", "", "3", NULL},
		{INSERT, "{\"l\":[1,2]}", "l 0", "9", "{\"l\":[9,1,2]}"},
		{INSERT, "{\"l\":[1,2]}", "l 2", "9", "{\"l\":[1,2,9]}"},
		{INSERT, "{\"l\":[1,2]}", "l -", "9", "{\"l\":[1,2,9]}"},
		{INSERT, "{\"l\":[1,2]}", "l 3", "9", NULL},
		{INSERT, "{\"a\":{}}", "a b", "9", NULL},
		{DELETE, "{\"a\":1,\"b\":2}", "a", NULL, "{\"b\":2}"},
		{DELETE, "{\"a\":{\"b\":{\"c\":1}}}", "a b", NULL, "{\"a\":{}}"},
		{DELETE, "{\"l\":[1,2,3]}", "l 1", NULL, "{\"l\":[1,3]}"},
		{DELETE, "{\"l\":[1]}", "l 1", NULL, NULL},
		{DELETE, "{\"l\":[1]}", "l -", NULL, NULL},
		{DELETE, "{\"a\":1}", "b", NULL, NULL},
		{DELETE, "{\"a\":1}", "a b", NULL, NULL},
		{DELETE, "{\"a\":1}", "", NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		char *word[WORDS_MAX], why[EDIT_WHY] = "";
		json_t *doc = json(all[i].before);
		struct edit_path p;
		bool ok;

		assert_true(edit_path_read(&p, word, words_of(all[i].path, word), why));
		ok = all[i].verb == DELETE ? edit_delete(doc, &p, why)
					   : edit_set(doc, &p, json(all[i].value), all[i].verb == INSERT, why);
		assert_int_equal(ok, all[i].after != NULL);
		assert_int_equal(why[0] == '\0', ok);
		same_json(doc, all[i].after ? all[i].after : all[i].before);
	}
}

static void reads(void **state)
{
	char *word[WORDS_MAX], why[EDIT_WHY];
	json_t *doc = json("{\"a\":{\"l\":[1,{\"b\":2}]}}");
	struct edit_path p;

	assert_true(edit_path_read(&p, word, words_of("a l 1 b", word), why));
	assert_int_equal(json_integer_value(edit_get(doc, &p)), 2);
	assert_true(edit_path_read(&p, word, words_of("a l 2", word), why));
	assert_null(edit_get(doc, &p));
	assert_true(edit_path_read(&p, word, 0, why));
	assert_ptr_equal(edit_get(doc, &p), doc);
	json_decref(doc);
}

// RFC 7396, appendix A.
static void merging(void **state)
{
	static const char *const all[][3] = {
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
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		json_t *target = json(all[i][0]), *patch = json(all[i][1]);

		same_json(edit_merged(target, patch), all[i][2]);
		same_json(target, all[i][0]); // arguments stay as they were
		same_json(patch, all[i][1]);
	}
}

static void rebasing(void **state)
{
	static const struct {
		const char *base, *mine, *theirs, *want, *conflicts;
	} all[] = {
		{"{\"a\":1,\"b\":1}", "{\"a\":2,\"b\":1}", "{\"a\":1,\"b\":3}", "{\"a\":2,\"b\":3}", "[]"},
		{"{\"a\":1}", "{\"a\":2}", "{\"a\":2}", "{\"a\":2}", "[]"},
		{"{\"a\":1}", "{\"a\":2}", "{\"a\":3}", "{\"a\":3}", "[\"/a\"]"},
		{"{\"a\":1}", "{}", "{\"a\":1,\"b\":2}", "{\"b\":2}", "[]"},
		{"{\"a\":1}", "{}", "{\"a\":2}", "{\"a\":2}", "[\"/a\"]"},
		{"{}", "{\"x\":{\"a\":1}}", "{\"x\":{\"b\":1}}", "{\"x\":{\"a\":1,\"b\":1}}", "[]"},
		{"{}", "{\"x\":{\"a\":1}}", "{\"x\":{\"a\":2}}", "{\"x\":{\"a\":2}}", "[\"/x/a\"]"},
		{"{\"l\":[1]}", "{\"l\":[1,2]}", "{\"l\":[1,3]}", "{\"l\":[1,3]}", "[\"/l\"]"},
		{"{\"x\":{\"a\":1}}", "{}", "{\"x\":{\"a\":1},\"y\":1}", "{\"y\":1}", "[]"},
		{"{\"x\":{\"a\":1}}", "{}", "{\"x\":{\"a\":2}}", "{\"x\":{\"a\":2}}", "[\"/x\"]"},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		json_t *base = json(all[i].base), *mine = json(all[i].mine), *theirs = json(all[i].theirs);
		json_t *conflicts = json_array();

		same_json(edit_rebased(base, mine, theirs, false, conflicts), all[i].want);
		same_json(conflicts, all[i].conflicts);
		json_decref(base);
		json_decref(mine);
		json_decref(theirs);
	}
}

static void rebasing_mine(void **state)
{
	json_t *base = json("{\"a\":1,\"b\":1}"), *mine = json("{\"a\":2}"),
	       *theirs = json("{\"a\":3,\"b\":2,\"c\":1}");
	json_t *conflicts = json_array();

	same_json(edit_rebased(base, mine, theirs, true, conflicts), "{\"a\":2,\"c\":1}");
	same_json(conflicts, "[\"/a\",\"/b\"]");
	json_decref(base);
	json_decref(mine);
	json_decref(theirs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),       cmocka_unit_test(paths_refused), cmocka_unit_test(values),
		cmocka_unit_test(assignments), cmocka_unit_test(changes),       cmocka_unit_test(reads),
		cmocka_unit_test(merging),     cmocka_unit_test(rebasing),      cmocka_unit_test(rebasing_mine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
