// SPDX-License-Identifier: GPL-2.0-or-later
// Service curves in motion, against values worked out by hand and against the curve drawn point by point.
#include "tests/unit/tree_world.h"

#include "sched/curve.h"

static struct service service_of(uint64_t m1, nsec_t d, uint64_t m2)
{
	struct curve c = {m1, d, m2};
	struct service s;

	service_make(&s, &c);
	return s;
}

static void assert_near(uint64_t value, uint64_t expected, uint64_t tolerance)
{
	if (value + tolerance < expected || value > expected + tolerance)
		fail_msg("%llu, expected %llu", (unsigned long long)value, (unsigned long long)expected);
}

static void test_rates_are_exact_over_the_whole_range(void **state)
{
	static const uint64_t rates[] = {RATE_MIN_BPS, 8 * KBIT, 1234567, MBIT, GBIT, 9999999999, RATE_MAX_BPS};
	static const uint32_t lens[] = {64, 1514, 9000};

	for (uint32_t r = 0; r < ARRAY_LEN(rates); r++) {
		for (uint32_t l = 0; l < ARRAY_LEN(lens); l++) {
			struct service s = service_of(0, 0, rates[r]);
			struct cursor c;
			nsec_t exact = bytes_to_ns(1000000ull * lens[l], rates[r]);

			cursor_start(&c, &s, 77);
			for (uint32_t k = 0; k < 1000000; k++)
				cursor_run(&c, &s, lens[l]);
			assert_near(c.x - 77, exact, 1 + exact / 10000000);
		}
	}
}

static void test_two_pieces(void **state)
{
	struct service concave = service_of(8 * MBIT, 10 * MSEC, MBIT);
	struct service convex = service_of(MBIT, 10 * MSEC, 8 * MBIT);
	struct service flat = service_of(0, 10 * MSEC, 8 * MBIT);
	struct cursor c;

	cursor_start(&c, &concave, 0); // 10,000 bytes in 10 ms, then 125 in 1 ms
	assert_near(cursor_after(&c, &concave, 5000), 5 * MSEC, 1);
	assert_near(cursor_after(&c, &concave, 10000), 10 * MSEC, 1);
	assert_near(cursor_after(&c, &concave, 10125), 11 * MSEC, 1);
	cursor_run(&c, &concave, 9999);
	cursor_run(&c, &concave, 126);
	assert_near(c.x, 11 * MSEC, 1);
	cursor_start(&c, &convex, 0); // 1,250 bytes in 10 ms, then 1,000 in 1 ms
	assert_near(cursor_after(&c, &convex, 125), MSEC, 1);
	assert_near(cursor_after(&c, &convex, 2250), 11 * MSEC, 1);
	cursor_start(&c, &flat, 0);
	assert_int_equal(cursor_after(&c, &flat, 0), 0);
	assert_near(cursor_after(&c, &flat, 1), 10 * MSEC + 1000, 1);
	assert_near(cursor_after(&c, &flat, 1000), 11 * MSEC, 1);
}

// First pieces of a fraction of a byte, or of no time.
static void test_degenerate_pieces(void **state)
{
	struct service tiny_steep = service_of(GBIT, 1, MBIT);
	struct service tiny_slow = service_of(KBIT, 100, MBIT);
	struct service never = service_of(MBIT, MSEC, 0);
	struct service equal = service_of(MBIT, MSEC, MBIT);
	struct cursor c;

	cursor_start(&c, &tiny_steep, 0);
	assert_near(cursor_after(&c, &tiny_steep, 1000), 8 * MSEC, 1000);
	cursor_start(&c, &tiny_slow, 0);
	assert_near(cursor_after(&c, &tiny_slow, 1000), 8 * MSEC, 1000);
	cursor_start(&c, &never, 0); // 125 bytes, then next to nothing
	assert_near(cursor_after(&c, &never, 125), MSEC, 1);
	assert_true(cursor_after(&c, &never, 126) > 500 * MSEC);
	cursor_run(&c, &never, 65535);
	assert_false(equal.first);
	assert_false(service_present(&(struct service){0}));
	assert_true(service_present(&never));
}

static void test_restart_linear_and_convex(void **state)
{
	struct service linear = service_of(0, 0, MBIT), convex = service_of(MBIT, 10 * MSEC, 8 * MBIT);
	struct cursor c;

	cursor_start(&c, &linear, 0);
	cursor_run(&c, &linear, 1000); // stands at 8 ms
	assert_false(cursor_restart(&c, &linear, 7 * MSEC));
	assert_near(c.x, 8 * MSEC, 1);
	assert_true(cursor_restart(&c, &linear, 9 * MSEC));
	assert_int_equal(c.x, 9 * MSEC);
	cursor_start(&c, &convex, 0);
	cursor_run(&c, &convex, 1250); // the first piece is over
	assert_false(cursor_restart(&c, &convex, 5 * MSEC));
	assert_int_equal(c.left, 0);
	assert_true(cursor_restart(&c, &convex, 20 * MSEC));
	assert_int_equal(c.left, convex.first);
}

// Old curve and new one met exactly: 8 Mbit/s for 10 ms, then 1 Mbit/s. 5,000 bytes were sent by 5 ms of the curve;
// restart at 8 ms: the old one is 3,000 bytes above and has 2,000 of its first piece left. From there the distance
// closes at 7 Mbit/s: 2,000 + 3,000 * 8/7.
static void test_restart_concave_meets_exactly(void **state)
{
	struct service s = service_of(8 * MBIT, 10 * MSEC, MBIT);
	struct cursor c;

	cursor_start(&c, &s, 0);
	cursor_run(&c, &s, 5000);
	assert_false(cursor_restart(&c, &s, 8 * MSEC));
	assert_int_equal(c.x, 8 * MSEC);
	assert_near(c.left >> PART_SHIFT, 2000 + 3000 * 8 / 7, 1);
	// On the second piece: 10,125 bytes at 11 ms; restart at 19 ms, 1,000 bytes below the old one.
	cursor_start(&c, &s, 0);
	cursor_run(&c, &s, 10125);
	assert_false(cursor_restart(&c, &s, 19 * MSEC));
	assert_near(c.left >> PART_SHIFT, 1000 * 8 / 7, 1);
	// Long after: nothing of the old one is left.
	assert_false(cursor_overtaken(&c, &s, 50 * MSEC));
	assert_true(cursor_overtaken(&c, &s, 200 * MSEC));
	assert_true(cursor_restart(&c, &s, 200 * MSEC));
	assert_int_equal(c.left, s.first);
}

static void test_time_survives_long_runs_and_the_wrap(void **state)
{
	struct service s = service_of(0, 0, GBIT);
	struct cursor c;

	cursor_start(&c, &s, UINT64_MAX - 4000);
	cursor_run(&c, &s, 1000); // 8,000 ns
	assert_int_equal(c.x, 3999);
	assert_true(cursor_restart(&c, &s, 5000));
	assert_false(cursor_restart(&c, &s, UINT64_MAX - 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates_are_exact_over_the_whole_range),
		cmocka_unit_test(test_two_pieces),
		cmocka_unit_test(test_degenerate_pieces),
		cmocka_unit_test(test_restart_linear_and_convex),
		cmocka_unit_test(test_restart_concave_meets_exactly),
		cmocka_unit_test(test_time_survives_long_runs_and_the_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
