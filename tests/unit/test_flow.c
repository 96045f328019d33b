// SPDX-License-Identifier: GPL-2.0-or-later
// The flow hash against values of another SipHash-1-3 (CPython's hash of bytes), and its spread.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/flow.h"

// Input: the bytes 0, 1, 2, ... CPython draws its key from PYTHONHASHSEED=1 by x = 214013 x + 2531011, bits 16-23.
static void reference_values(void **state)
{
	static const uint64_t seed[2] = {0xaed66ce184be2329, 0xebe9bbf1f1499052};
	static const struct {
		uint32_t len;
		uint64_t hash;
	} cases[] = {
		{1, 0xecd3e5afcecda4b9},  {7, 0xfd15e78052a69ddf},  {8, 0xc0b5739e7e28dd01},  {13, 0x75973ed5708eb192},
		{20, 0xcd48cd0e7a31cb04}, {23, 0xf7cea028f939ae8c}, {44, 0xc3509aecc2c5c591},
	};
	uint8_t in[64];

	for (unsigned i = 0; i < sizeof in; i++)
		in[i] = (uint8_t)i;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint8_t *exact = malloc(cases[i].len);

		assert_non_null(exact);
		for (uint32_t j = 0; j < cases[i].len; j++)
			exact[j] = in[j];
		assert_true(flow_hash(exact, cases[i].len, seed) == cases[i].hash);
		free(exact);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

// Tuples that differ in a counter only: no two alike, never 0, every bit set about half the time.
static void spread(void **state)
{
	enum { FLOWS = 100000 };
	static const uint64_t seed[2] = {1, 2};
	uint64_t *hash = calloc(FLOWS, sizeof *hash);
	uint32_t set[64] = {0};

	assert_non_null(hash);
	for (uint32_t i = 0; i < FLOWS; i++) {
		uint32_t tuple[5] = {17, 0x0a000001, 0x0a000002, i, 0};

		hash[i] = flow_hash(tuple, sizeof tuple, seed);
		for (uint32_t b = 0; b < 64; b++)
			set[b] += hash[i] >> b & 1;
	}
	for (uint32_t b = 0; b < 64; b++)
		assert_in_range(set[b], FLOWS / 2 - 1000, FLOWS / 2 + 1000); // six standard deviations
	qsort(hash, FLOWS, sizeof *hash, compare);
	assert_true(hash[0] != 0);
	for (uint32_t i = 1; i < FLOWS; i++)
		assert_true(hash[i] != hash[i - 1]);
	free(hash);
}

static void length_and_key_count(void **state)
{
	static const uint8_t zeros[24];
	static const uint64_t seed[2] = {1, 2}, other[2] = {1, 3};

	for (uint32_t len = 1; len <= sizeof zeros; len++) {
		assert_true(flow_hash(zeros, len, seed) != flow_hash(zeros, len - 1, seed));
		assert_true(flow_hash(zeros, len, seed) != flow_hash(zeros, len, other));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_values),
		cmocka_unit_test(spread),
		cmocka_unit_test(length_and_key_count),
	};

	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
