// SPDX-License-Identifier: GPL-2.0-or-later
// Server-sent events: the same events whatever the line ends are and wherever the reads cut the stream.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdlib.h>
#include <string.h>

#include "mgmt/weirctl_events.c"

struct heard {
	char all[1024];
};

static void hear(void *arg, const char *name, const char *data)
{
	struct heard *h = arg;
	size_t at = strlen(h->all);

	snprintf(h->all + at, sizeof h->all - at, "[%s|%s]", name, data);
}

static const char stream[] = ": hello\n"
			     "\n"
			     "id: 7\n"
			     "event: stats\n"
			     "data: {\"a\":1}\n"
			     "\n"
			     "data: one\n"
			     "data:two\n"
			     "data:  three\n"
			     "data\n"
			     "unknown: x\n"
			     "\n"
			     "event: empty\n"
			     "\n"
			     "id: 8\n"
			     "event: alarm\n"
			     "data: x: y\n"
			     "\n"
			     "event: cut\n"
			     "data: off\n";
static const char wanted[] = "[stats|{\"a\":1}][message|one\ntwo\n three\n][alarm|x: y]";

// `text` in pieces of `step` bytes.
static void check(const char *text, size_t step)
{
	struct heard h = {""};
	struct sse e = {.event = hear, .arg = &h};
	size_t len = strlen(text);

	for (size_t at = 0; at < len; at += step)
		assert_true(sse_feed(&e, text + at, step < len - at ? step : len - at));
	assert_string_equal(h.all, wanted);
	assert_string_equal(e.id, "8");
	sse_free(&e);
}

static void pieces_and_line_ends(void **state)
{
	static const char *const ends[] = {"\n", "\r\n", "\r"};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		char text[2 * sizeof stream] = "";
		size_t n = 0;

		for (const char *p = stream; *p; p++) {
			if (*p == '\n')
				n += (size_t)sprintf(text + n, "%s", ends[i]);
			else
				text[n++] = *p;
		}
		text[n] = '\0';
		for (size_t step = 1; step <= n; step++)
			check(text, step);
	}
}

static void restart_drops_what_is_incomplete(void **state)
{
	struct heard h = {""};
	struct sse e = {.event = hear, .arg = &h};
	const char *first = "id: 3\nevent: stats\ndata: old\ndat", *second = "data: new\n\n";

	assert_true(sse_feed(&e, first, strlen(first)));
	sse_restart(&e);
	assert_true(sse_feed(&e, second, strlen(second)));
	assert_string_equal(h.all, "[message|new]");
	assert_string_equal(e.id, "3");
	sse_free(&e);
}

static void too_large(void **state)
{
	struct heard h = {""};
	struct sse e = {.event = hear, .arg = &h};
	enum { PIECE = 1 << 20 };
	char *piece = malloc(PIECE);
	bool ok = true;
	int n = 0;

	memset(piece, 'x', PIECE);
	while (ok && n < 64) {
		ok = sse_feed(&e, piece, PIECE);
		n += ok;
	}
	assert_false(ok);
	assert_int_equal(n, EVENT_BYTES_MAX / PIECE - 1);
	assert_string_equal(h.all, "");
	free(piece);
	sse_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_and_line_ends),
		cmocka_unit_test(restart_drops_what_is_incomplete),
		cmocka_unit_test(too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
