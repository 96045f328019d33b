// SPDX-License-Identifier: GPL-2.0-or-later
// The hand-off: order within a class, the fattest class loses, a sparse class never does, nothing gets lost uncounted.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
// cmocka wants the three above first
#include <cmocka.h>

#include "sched/handoff.h"

enum { PACKETS = 4096, RING = 16, STAGE = 64 };

static struct packet pkt[PACKETS];

static void packet(uint32_t i, uint32_t class_id, uint16_t len)
{
	pkt[i] = (struct packet){.class_id = class_id, .wire_len = len, .len = len};
}

static void order_is_kept_within_a_class(void **state)
{
	struct handoff *h = handoff_new(pkt, RING, STAGE);
	struct pkt_list freed = {0};
	uint32_t next[4] = {0}, got = 0, i, out;

	for (i = 1; i <= 60; i++) {
		packet(i, i % 3, 100);
		handoff_push(h, &i, 1, &freed);
	}
	assert_int_equal(freed.count, 0);
	assert_int_equal(handoff_staged(h), 60 - RING);
	while (got < 60) {
		if (!handoff_pop(h, &out, 1)) {
			assert_true(handoff_flush(h) > 0);
			continue;
		}
		assert_true(out > next[pkt[out].class_id]);
		next[pkt[out].class_id] = out;
		got++;
	}
	assert_int_equal(handoff_staged(h) + handoff_waiting(h), 0);
	handoff_free(h, &freed);
	assert_int_equal(freed.count, 0);
}

static void the_fattest_class_loses(void **state)
{
	struct handoff *h = handoff_new(pkt, RING, STAGE);
	struct pkt_list freed = {0};
	uint32_t i;

	for (i = 1; i <= 1000; i++) { // class 1 floods; every tenth packet is of a sparse class
		packet(i, i % 10 ? 1 : 7, i % 10 ? 1500 : 200);
		handoff_push(h, &i, 1, &freed);
		if (i % 10 == 0)
			for (uint32_t k = 0, out; k < 2; k++)
				handoff_pop(h, &out, 1);
	}
	assert_true(freed.count > 100);
	while ((i = pkt_list_take(&freed, pkt)) != PKT_NONE) {
		assert_int_equal(pkt[i].class_id, 1);
		assert_int_equal(pkt[i].drop, DROP_HANDOFF_FULL);
	}
	handoff_free(h, &freed);
}

// More classes than the stage holds, ring stuck: the table must neither fill up with dead classes nor lose count.
static void a_flood_of_classes_is_survived(void **state)
{
	struct handoff *h = handoff_new(pkt, RING, STAGE);
	struct pkt_list freed = {0};
	uint32_t dropped = 0, out, popped = 0, pushed = 0;

	srand(1);
	for (uint32_t round = 0; round < 200; round++) {
		for (uint32_t k = 0; k < 20; k++) {
			uint32_t i = 1 + pushed % (PACKETS - 1);

			packet(i, (uint32_t)rand() % 100000, (uint16_t)(64 + rand() % 1400));
			handoff_push(h, &i, 1, &freed);
			pushed++;
			assert_true(handoff_staged(h) <= STAGE);
		}
		if (round % 5 == 4)
			for (uint32_t k = 0; k < 30; k++)
				popped += handoff_pop(h, &out, 1);
		dropped += freed.count;
		freed = (struct pkt_list){0};
	}
	handoff_free(h, &freed);
	assert_int_equal(pushed, popped + dropped + freed.count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_kept_within_a_class),
		cmocka_unit_test(the_fattest_class_loses),
		cmocka_unit_test(a_flood_of_classes_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
