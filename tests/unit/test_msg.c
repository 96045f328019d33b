// SPDX-License-Identifier: GPL-2.0-or-later
// Framing: what is packed comes out again, and nothing else comes out.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/msg.h"

static void test_round_trip(void **state)
{
	static const uint32_t lengths[] = {0, 1, 7, 8, 100, MSG_BODY_MAX - 1, MSG_BODY_MAX};
	uint8_t body[MSG_BODY_MAX], bytes[MSG_MAX];
	struct message m;

	for (size_t i = 0; i < sizeof body; i++)
		body[i] = (uint8_t)(i * 7);
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		size_t n = msg_pack(bytes, 42, body, lengths[i]);

		assert_int_equal(n, MSG_HEADER + lengths[i]);
		assert_true(msg_unpack(&m, bytes, n));
		assert_int_equal(m.type, 42);
		assert_int_equal(m.len, lengths[i]);
		assert_memory_equal(m.body, body, lengths[i]);
	}
}

static void test_too_long(void **state)
{
	uint8_t bytes[MSG_MAX] = {0};

	assert_int_equal(msg_pack(bytes, 1, bytes, MSG_BODY_MAX + 1), 0);
	assert_int_equal(msg_pack(bytes, 1, bytes, UINT32_MAX), 0);
}

// Every wrong length of a datagram is refused, and so is every flipped bit of the magic number and of the length.
static void test_damaged(void **state)
{
	uint8_t bytes[MSG_MAX + 1] = {0}, bad[MSG_MAX];
	size_t n = msg_pack(bytes, 3, "twelve bytes", 12);
	struct message m = {.type = 77};

	for (size_t i = 0; i <= sizeof bytes; i++)
		if (i != n)
			assert_false(msg_unpack(&m, bytes, i));
	for (size_t bit = 0; bit < 8 * MSG_HEADER; bit++) {
		if (bit / 32 == 1)
			continue; // the type is the receiver's business
		memcpy(bad, bytes, n);
		bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(msg_unpack(&m, bad, n));
	}
	assert_int_equal(m.type, 77);
}

static void test_body(void **state)
{
	struct message m = {.type = 5, .len = 16};

	assert_ptr_equal(msg_body(&m, 5, 16), m.body);
	assert_null(msg_body(&m, 5, 8));
	assert_null(msg_body(&m, 5, 24));
	assert_null(msg_body(&m, 6, 16));
	assert_int_equal((uintptr_t)m.body % 8, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
