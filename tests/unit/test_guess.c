// SPDX-License-Identifier: GPL-2.0-or-later
// Distances between names, and what is made of them.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "mgmt/guess.h"

static void distances(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned distance;
	} all[] = {{"", "", 0},
		   {"rate", "rate", 0},
		   {"raet", "rate", 1},
		   {"rte", "rate", 1},
		   {"rates", "rate", 1},
		   {"rage", "rate", 1},
		   {"", "ab", 2},
		   {"leaf", "lef", 1},
		   {"abc", "xyz", 3},
		   {"queue", "queues", 1},
		   {"kitten", "sitting", 3},
		   {"workers", "wrokesr", 2}};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_int_equal(name_distance(all[i].a, all[i].b, 3), all[i].distance);
		assert_int_equal(name_distance(all[i].b, all[i].a, 3), all[i].distance);
		if (all[i].distance)
			assert_int_equal(name_distance(all[i].a, all[i].b, all[i].distance - 1), all[i].distance);
	}
	assert_int_equal(name_distance("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a", 100), 101);
}

static void assert_guess(const char *name, const char *const *known, const char *want)
{
	struct guess g = guess_start(name);
	char text[GUESS_TEXT_MAX];

	for (; *known; known++)
		guess_add(&g, *known);
	assert_string_equal(guess_text(&g, text), want);
}

static void guesses(void **state)
{
	static const char *const few[] = {"lan", "wan", "dmz", NULL}, *const none[] = {NULL},
				 *const evil[] = {"\033[31m\"x", NULL};
	const char *many[GUESS_LISTED + 2] = {NULL}, *longest[GUESS_LISTED + 1] = {NULL};
	char text[GUESS_TEXT_MAX];
	struct guess g = guess_start("quite another");

	for (int i = 0; i <= GUESS_LISTED; i++)
		many[i] = "abcdefghij";
	for (int i = 0; i < GUESS_LISTED; i++)
		longest[i] = "a-name-that-is-long-enough-to-be-cut-when-it-is-shown-in-a-message";
	assert_guess("lam", few, "; did you mean \"lan\"?");
	assert_guess("awn", few, "; did you mean \"wan\"?");
	assert_guess("x", few, "; allowed: \"lan\", \"wan\", \"dmz\"");
	assert_guess("x", none, "");
	assert_guess("x", many, "");
	assert_guess("abcdefghji", many, "; did you mean \"abcdefghij\"?");
	assert_guess("x", evil, "; allowed: \"\\u001b[31m\\\"x\"");
	for (int i = 0; longest[i]; i++)
		guess_add(&g, longest[i]);
	guess_text(&g, text); // within its bounds
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances),
		cmocka_unit_test(guesses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
