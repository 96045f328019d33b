// SPDX-License-Identifier: GPL-2.0-or-later
// The scale of the delay histogram.
#include "tests/unit/tree_world.h"

static void test_buckets_cover_time_without_gaps(void **state)
{
	for (uint32_t b = 1; b < DELAY_BUCKETS; b++) {
		assert_int_equal(delay_bucket(delay_bucket_floor(b)), b);
		assert_int_equal(delay_bucket(delay_bucket_floor(b) - 1), b - 1);
		assert_true(delay_bucket_floor(b + 1) * 4 <= delay_bucket_floor(b) * 5 || b == 1);
	}
	assert_int_equal(delay_bucket(0), 0);
	assert_int_equal(delay_bucket_floor(1), 1000);
	assert_int_equal(delay_bucket_floor(5), 2000);
	assert_int_equal(delay_bucket(UINT64_MAX), DELAY_BUCKETS - 1);
}

static void test_quantiles(void **state)
{
	counter_t delay[DELAY_BUCKETS] = {0};

	assert_int_equal(delay_quantile(delay, 500), 0);
	counter_add(&delay[delay_bucket(1500)], 990);
	counter_add(&delay[delay_bucket(5 * MSEC)], 9);
	counter_add(&delay[delay_bucket(NSEC_PER_SEC)], 1);
	assert_int_equal(delay_quantile(delay, 500), 1750);
	assert_int_equal(delay_quantile(delay, 990), 1750);
	assert_int_equal(delay_quantile(delay, 991), delay_bucket_floor(delay_bucket(5 * MSEC) + 1));
	assert_int_equal(delay_quantile(delay, 999), delay_bucket_floor(delay_bucket(5 * MSEC) + 1));
	assert_true(delay_quantile(delay, 1000) > NSEC_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets_cover_time_without_gaps),
		cmocka_unit_test(test_quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
