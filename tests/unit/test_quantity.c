// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers with units: exact values, refusals with their reasons, and that what is written reads back.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mgmt/quantity.h"

struct right {
	const char *text;
	enum unit unit;
	int64_t value;
};

static void exact_values(void **state)
{
	static const struct right all[] = {
		{"100mbit", UNIT_BPS, 100000000},
		{"1.5 gbit", UNIT_BPS, 1500000000},
		{"1.1gbit", UNIT_BPS, 1100000000},
		{"0.1gbit", UNIT_BPS, 100000000},
		{"13107200bit", UNIT_BPS, 13107200},
		{"13107.2kbit", UNIT_BPS, 13107200},
		{"13107200", UNIT_BPS, 13107200},
		{"0.000000001gbit", UNIT_BPS, 1},
		{"1.000000001gbit", UNIT_BPS, 1000000001},
		{"1Gbit", UNIT_BPS, 1000000000},
		{"10MBIT/s", UNIT_BPS, 10000000},
		{"0.4tbit", UNIT_BPS, 400000000000},
		{"007mbit", UNIT_BPS, 7000000},
		{"1.50000000000000000000000000000000000mbit", UNIT_BPS, 1500000},
		{"0000000000000000000000000000000000001mbit", UNIT_BPS, 1000000},
		{"-5mbit", UNIT_BPS, -5000000},
		{"9223372036854775807bit", UNIT_BPS, INT64_MAX},
		{"9007199254740993bit", UNIT_BPS, 9007199254740993}, // 2^53 + 1, no double
		{"20ms", UNIT_NSEC, 20000000},
		{"5 s", UNIT_NSEC, 5000000000},
		{"0.5us", UNIT_NSEC, 500},
		{"1min", UNIT_NSEC, 60000000000},
		{"1.5h", UNIT_NSEC, 5400000000000},
		{"0", UNIT_NSEC, 0},
		{"0.0", UNIT_NSEC, 0},
		{"0.2ms", UNIT_USEC, 200},
		{"1514b", UNIT_BYTES, 1514},
		{"1514", UNIT_BYTES, 1514},
		{"32mb", UNIT_BYTES, 32000000},
		{"1mib", UNIT_BYTES, 1048576},
		{"1.5kib", UNIT_BYTES, 1536},
		{"-64", UNIT_BYTES, -64},
		{"10240", UNIT_COUNT, 10240},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		char why[QUANTITY_WHY] = "";
		int64_t v = 0;

		if (!quantity_parse(all[i].text, all[i].unit, &v, why) || v != all[i].value)
			fail_msg("%s: %" PRId64 ", expected %" PRId64 " (%s)", all[i].text, v, all[i].value, why);
	}
}

struct wrong {
	const char *text;
	enum unit unit;
	const char *why;
};

static void refusals(void **state)
{
#define RATES "bit, kbit, mbit, gbit, tbit"
#define TIMES "ns, us, ms, s, min, h"
	static const struct wrong all[] = {
		{"", UNIT_BPS, "is not a number with a unit: " RATES},
		{"-", UNIT_BPS, "is not a number with a unit: " RATES},
		{"fast", UNIT_BPS, "is not a number with a unit: " RATES},
		{".5mbit", UNIT_BPS, "is not a number with a unit: " RATES},
		{"+5mbit", UNIT_BPS, "is not a number with a unit: " RATES},
		{" 5mbit", UNIT_BPS, "is not a number with a unit: " RATES},
		{"10 bananas", UNIT_BPS, "has the unknown unit \"bananas\" (known: " RATES ")"},
		{"5mbit ", UNIT_BPS, "has the unknown unit \"mbit \" (known: " RATES ")"},
		{"5.mbit", UNIT_BPS, "has the unknown unit \".mbit\" (known: " RATES ")"},
		{"1.2.3mbit", UNIT_BPS, "has the unknown unit \".3mbit\" (known: " RATES ")"},
		{"1,5mbit", UNIT_BPS, "has the unknown unit \",5mbit\" (known: " RATES ")"},
		{"0x10", UNIT_BPS, "has the unknown unit \"x10\" (known: " RATES ")"},
		{"1e9bit", UNIT_BPS, "has the unknown unit \"e9bit\" (known: " RATES ")"},
		{"1 a-very-long-name-of-a-unit", UNIT_BPS, "has an unknown unit (known: " RATES ")"},
		{"1 \033[31m", UNIT_BPS, "has an unknown unit (known: " RATES ")"},
		{"1mbps", UNIT_BPS,
		 "has the unit \"mbps\": write mbit or, for megabytes a second, 8 times as many mbit"},
		{"1m", UNIT_BPS, "has the unit \"m\": write mbit"},
		{"1kibit", UNIT_BPS, "has the unit \"kibit\": write kbit (1000, not 1024)"},
		{"1ms", UNIT_BPS, "has the unknown unit \"ms\" (known: " RATES ")"},
		{"0.1bit", UNIT_BPS, "is not a whole number of bit/s"},
		{"0.0000000001gbit", UNIT_BPS, "is not a whole number of bit/s"},
		{"9223372036854775808bit", UNIT_BPS, "is too large"},
		{"1000000000000000000000000bit", UNIT_BPS, "has too many digits (at most 24)"},
		{"0.0000000000000000000000001bit", UNIT_BPS, "has too many digits (at most 24)"},
		{"999999999999999999999999tbit", UNIT_BPS, "is too large"},
		{"5", UNIT_NSEC, "has no unit (" TIMES ")"},
		{"5m", UNIT_NSEC, "has the unit \"m\": write min or ms"},
		{"0.5ns", UNIT_NSEC, "is not a whole number of nanoseconds"},
		{"999999999999999999999999h", UNIT_NSEC, "is too large"},
		{"1.5us", UNIT_USEC, "is not a whole number of microseconds"},
		{"1ns", UNIT_USEC, "has the unknown unit \"ns\" (known: us, ms, s, min, h)"},
		{"1k", UNIT_BYTES, "has the unit \"k\": write kb (1000) or kib (1024)"},
		{"0.5b", UNIT_BYTES, "is not a whole number of bytes"},
		{"10 packets", UNIT_COUNT, "is not a number"},
		{"1.5", UNIT_COUNT, "is not a whole number"},
		{"99999999999999999999", UNIT_COUNT, "is too large"},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		char why[QUANTITY_WHY] = "";
		int64_t v;

		if (quantity_parse(all[i].text, all[i].unit, &v, why))
			fail_msg("%s: accepted as %" PRId64, all[i].text, v);
		assert_string_equal(why, all[i].why);
	}
}

static void written(void **state)
{
	static const struct right all[] = {
		{"0", UNIT_BPS, 0},
		{"1bit", UNIT_BPS, 1},
		{"999bit", UNIT_BPS, 999},
		{"1kbit", UNIT_BPS, 1000},
		{"1.001kbit", UNIT_BPS, 1001},
		{"13107.2kbit", UNIT_BPS, 13107200},
		{"1000.001kbit", UNIT_BPS, 1000001},
		{"1.5gbit", UNIT_BPS, 1500000000},
		{"1.05gbit", UNIT_BPS, 1050000000},
		{"400gbit", UNIT_BPS, 400000000000},
		{"-5mbit", UNIT_BPS, -5000000},
		{"5ms", UNIT_NSEC, 5000000},
		{"1.514us", UNIT_NSEC, 1514},
		{"200us", UNIT_USEC, 200},
		{"65535b", UNIT_BYTES, 65535},
		{"32mb", UNIT_BYTES, 32000000},
		{"42", UNIT_COUNT, 42},
	};
	char text[QUANTITY_TEXT];

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		assert_string_equal(quantity_format(all[i].value, all[i].unit, text), all[i].text);
}

static void round_trip(void **state)
{
	uint64_t x = 20260101;

	print_message("seed %" PRIu64 "\n", x);
	for (int i = 0; i < 200000; i++) {
		char text[QUANTITY_TEXT], why[QUANTITY_WHY] = "";
		enum unit unit = (enum unit)(i % UNITS);
		int64_t v, back;

		x ^= x << 13; // xorshift64
		x ^= x >> 7;
		x ^= x << 17;
		v = (int64_t)(x >> (i / UNITS % 63 + 1));
		if (i & 1)
			v = v / 1000 * 1000;
		if (i % 7 == 0)
			v = -v;
		quantity_format(v, unit, text);
		if (!quantity_parse(text, unit, &back, why) || back != v)
			fail_msg("%" PRId64 " is written %s, read %" PRId64 " (%s)", v, text, back, why);
	}
}

static void bare_numbers(void **state)
{
	char why[QUANTITY_WHY];

	assert_true(quantity_bare(5, UNIT_BPS, why) && quantity_bare(-5, UNIT_BYTES, why) &&
		    quantity_bare(5, UNIT_COUNT, why));
	assert_true(quantity_bare(0, UNIT_NSEC, why) && quantity_bare(0, UNIT_USEC, why));
	assert_false(quantity_bare(5, UNIT_NSEC, why) || quantity_bare(5, UNIT_USEC, why));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_values), cmocka_unit_test(refusals),     cmocka_unit_test(written),
		cmocka_unit_test(round_trip),   cmocka_unit_test(bare_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
