// SPDX-License-Identifier: GPL-2.0-or-later
// The table of settings against itself, the C structs behind it, and the reference made from it.
//   UPDATE=1 test_schema     writes the reference into docs/configuration.md instead of comparing it
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/config.h"
#include "mgmt/schema.h"

static size_t parent_length(const char *path)
{
	return (size_t)(strrchr(path, '/') - path);
}

static bool same_parent(const char *a, const char *b)
{
	size_t n = parent_length(a);

	return n == parent_length(b) && !strncmp(a, b, n);
}

// schema_below relies on it.
static void siblings_stand_together(void **state)
{
	struct settings all = schema_all();

	for (unsigned i = 0; i < all.count; i++) {
		bool gap = false;

		for (unsigned k = i + 1; k < all.count; k++) {
			bool sibling = same_parent(all.row[i].path, all.row[k].path);

			if (sibling && gap)
				fail_msg("%s is apart from %s", all.row[k].path, all.row[i].path);
			gap |= !sibling;
			assert_string_not_equal(all.row[i].path, all.row[k].path);
		}
	}
}

// Every row is reached from the top, so every key of a document is looked up in the slice where its row is.
static unsigned reach(struct settings rows, bool *seen)
{
	struct settings all = schema_all();
	unsigned n = 0;

	for (unsigned i = 0; i < rows.count; i++) {
		const struct setting *s = &rows.row[i];

		assert_false(seen[s - all.row]);
		seen[s - all.row] = true;
		assert_ptr_equal(schema_find(rows, setting_key(s)), s);
		assert_ptr_equal(schema_row(s->path), s);
		n += 1 + reach(schema_below(s), seen);
	}
	return n;
}

static void all_reached(void **state)
{
	struct settings all = schema_all();
	bool *seen = calloc(all.count, sizeof *seen);
	unsigned n = reach(schema_below(NULL), seen);

	for (unsigned i = 0; i < all.count; i++) {
		// elements of lists are no objects, their rows are asked for by path
		if (seen[i] || strcmp(setting_key(&all.row[i]), "*") != 0)
			continue;
		seen[i] = true;
		n += 1 + reach(schema_below(&all.row[i]), seen);
	}
	free(seen);
	assert_int_equal(n, all.count);
	assert_null(schema_find(schema_below(NULL), "port"));
}

static void rows_make_sense(void **state)
{
	struct settings all = schema_all();

	for (unsigned i = 0; i < all.count; i++) {
		const struct setting *s = &all.row[i];
		bool scalar = s->type == SETTING_NUMBER || s->type == SETTING_WORD || s->type == SETTING_BOOL;
		bool word = false;

		for (const struct word *w = s->words; w && w->name; w++)
			word |= w->value == s->def;
		assert_non_null(s->help);
		assert_true(strlen(s->help) > 4 && !strchr(s->help, '|'));
		assert_true(s->min <= s->max);
		if (s->type == SETTING_NUMBER && s->size && !word && !(s->flags & (SETTING_REQUIRED | SETTING_OR_ZERO)))
			assert_true(s->def >= s->min && s->def <= s->max);
		if (scalar && s->size && s->size < 8 && !(s->flags & SETTING_IN_FRAMES))
			assert_true(s->max < (int64_t)1 << (s->size * 8));
		if (s->flags & SETTING_IN_FRAMES)
			assert_true(s->max / 2048 < (int64_t)1 << (s->size * 8));
		if (s->type == SETTING_WORD)
			assert_non_null(s->words);
	}
}

static void rule_ports_lie_together(void **state)
{
	assert_int_equal(offsetof(struct rule, sport_max), offsetof(struct rule, sport_min) + sizeof(uint16_t));
	assert_int_equal(offsetof(struct rule, dport_max), offsetof(struct rule, dport_min) + sizeof(uint16_t));
}

static void allowed_texts(void **state)
{
	static const char *const want[][2] = {
		{"/shapers/*/rate", "1kbit to 400gbit, \"unlimited\""},
		{"/ports/*/rx_ring", "64 to 32768, a power of two"},
		{"/shapers/*/classes/*/rt", "1kbit to 400gbit, or an object with m1, d, m2"},
		{"/shapers/*/classes/*/rt/m1", "0, 1kbit to 400gbit"},
		{"/shapers/*/classes/*/leaf/ce_threshold", "0 to 60s, \"off\""},
		{"/ports/*/busy_poll", "\"auto\", \"on\", \"off\""},
	};
	char text[ALLOWED_MAX];
	struct settings all = schema_all();

	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(setting_allowed(schema_row(want[i][0]), text), want[i][1]);
	for (unsigned i = 0; i < all.count; i++)
		assert_true(strlen(setting_allowed(&all.row[i], text)) < ALLOWED_MAX - 1); // not cut
}

#define DOC "docs/configuration.md"
static const char mark[] = "<!-- made from the table of settings: UPDATE=1 build/tests/test_schema -->\n";

static void reference_is_current(void **state)
{
	static char doc[1 << 17];
	char *reference = NULL, *at;
	size_t len, n;
	FILE *out = open_memstream(&reference, &len), *f = fopen(DOC, "r");

	assert_true(out && f);
	schema_print(out);
	fclose(out);
	n = fread(doc, 1, sizeof doc - 1, f);
	fclose(f);
	doc[n] = '\0';
	at = strstr(doc, mark);
	assert_non_null(at);
	at += strlen(mark);
	if (getenv("UPDATE")) {
		f = fopen(DOC, "w");
		assert_non_null(f);
		fprintf(f, "%.*s%s", (int)(at - doc), doc, reference);
		fclose(f);
	} else {
		assert_string_equal(at, reference);
	}
	free(reference);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(siblings_stand_together), cmocka_unit_test(all_reached),
		cmocka_unit_test(rows_make_sense),         cmocka_unit_test(rule_ports_lie_together),
		cmocka_unit_test(allowed_texts),           cmocka_unit_test(reference_is_current),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
