// SPDX-License-Identifier: GPL-2.0-or-later
// The command line: options wherever they stand, words that only look like options, refusals; names of servers.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <string.h>

#include "mgmt/weirctl_args.c"
#include "mgmt/weirctl_text.c"

enum { WORDS_MAX = 24 };

// Reads a line split at blanks; the words that are left are joined by blanks again. -1: refused.
static int read_line(struct options *o, const char *line, char *left, char *why)
{
	static char copy[512];
	char *word[WORDS_MAX + 1], *save, *one;
	int n = 0, words;

	memset(o, 0, sizeof *o);
	strcpy(copy, line);
	for (one = strtok_r(copy, " ", &save); one; one = strtok_r(NULL, " ", &save))
		word[n++] = one;
	word[n] = NULL;
	words = args_read(o, n, word, why);
	left[0] = '\0';
	for (int i = 0; i < words; i++)
		strcat(strcat(left, i ? " " : ""), word[i]);
	return words;
}

static void options_anywhere(void **state)
{
	char left[512], why[ARGS_WHY];
	struct options o;

	assert_int_equal(read_line(&o, "-j show --url https://a:1 ports", left, why), 2);
	assert_string_equal(left, "show ports");
	assert_true(o.json);
	assert_string_equal(o.url, "https://a:1");

	assert_int_equal(read_line(&o, "commit --confirm=60 --comment=a=b -y --restart", left, why), 1);
	assert_int_equal(o.confirm_s, 60);
	assert_string_equal(o.comment, "a=b");
	assert_int_equal(o.given, OPT_CONFIRM | OPT_COMMENT | OPT_YES | OPT_RESTART);

	assert_int_equal(read_line(&o, "commit -c60 -m x", left, why), 1);
	assert_int_equal(o.confirm_s, 60);
	assert_string_equal(o.comment, "x");
}

static void words_that_look_like_options(void **state)
{
	char left[512], why[ARGS_WHY];
	struct options o;

	assert_int_equal(read_line(&o, "set shapers wan overhead -4", left, why), 5);
	assert_string_equal(left, "set shapers wan overhead -4");
	assert_int_equal(read_line(&o, "set classifiers wan - {}", left, why), 5);
	assert_string_equal(left, "set classifiers wan - {}");
	assert_int_equal(read_line(&o, "set a -.5", left, why), 3);
	assert_int_equal(read_line(&o, "-j set a -- -x --json", left, why), 4);
	assert_string_equal(left, "set a -x --json");
	assert_true(o.json);
	assert_int_equal(read_line(&o, "", left, why), 0);
}

static void refused(void **state)
{
	static const char *const all[] = {"show --bogus",     "show -x",
					  "commit --confirm", "commit --confirm 4",
					  "commit -c 3601",   "commit -c 1x",
					  "commit -c -5",     "show --json=1",
					  "show --limit 0",   "show --limit 1001",
					  "show --before 0",  "show -jx",
					  "show --confirmed", "commit -c 99999999999999999999"};
	char left[512], why[ARGS_WHY];
	struct options o;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		why[0] = '\0';
		if (read_line(&o, all[i], left, why) != -1)
			fail_msg("taken: %s", all[i]);
		assert_true(why[0]);
	}
	assert_int_equal(read_line(&o, "commit --confirm 5", left, why), 1);
	assert_int_equal(read_line(&o, "commit --confirm 3600", left, why), 1);
}

static void commands_take_their_own(void **state)
{
	static const struct command c = {"commit", "commit X [Y]", "", NULL, OPT_CONFIRM, 1, 2, NULL};
	static const struct command any = {"watch", "watch X...", "", NULL, 0, 1, -1, NULL};
	char why[ARGS_WHY];
	struct options o = {.given = OPT_CONFIRM};

	assert_true(args_fit(&c, &o, 1, why));
	assert_true(args_fit(&c, &o, 2, why));
	assert_false(args_fit(&c, &o, 0, why));
	assert_string_equal(why, "commit needs more: weirctl commit X [Y]");
	assert_false(args_fit(&c, &o, 3, why));
	o.given = OPT_CONFIRM | OPT_NOW;
	assert_false(args_fit(&c, &o, 1, why));
	assert_string_equal(why, "commit does not take --now");
	o.given = 0;
	assert_true(args_fit(&any, &o, 100, why));
	assert_false(args_fit(&any, &o, 0, why));
}

static void servers(void **state)
{
	static const char *const all[][2] = {
		{"https://127.0.0.1:8443", "https://127.0.0.1:8443"},
		{"https://box/", "https://box"},
		{"box", "https://box:8443"},
		{"box:9000", "https://box:9000"},
		{"[::1]", "https://[::1]:8443"},
		{"[::1]:9000//", "https://[::1]:9000"},
		{"http://box", NULL},
		{"https://box/path", NULL},
		{"https://user@box", NULL},
		{"https://", NULL},
		{"", NULL},
		{"a b", NULL},
		{"box?x", NULL},
	};
	char buf[64], why[ARGS_WHY];

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		bool ok = args_url(all[i][0], buf, sizeof buf, why);

		if (ok != (all[i][1] != NULL))
			fail_msg("%s: %s", all[i][0], ok ? buf : why);
		if (ok)
			assert_string_equal(buf, all[i][1]);
	}
	assert_false(args_url("https://a-name-that-is-far-too-long-for-the-room-that-there-is.example", buf, sizeof buf,
			      why));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_anywhere), cmocka_unit_test(words_that_look_like_options),
		cmocka_unit_test(refused),          cmocka_unit_test(commands_take_their_own),
		cmocka_unit_test(servers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
