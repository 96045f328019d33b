// SPDX-License-Identifier: GPL-2.0-or-later
// The 4-ary heap against a plain array that is searched.
#include "tests/unit/tree_world.h"

#include "sched/heap4.h"

enum { MEMBERS = 300, STEPS = 200000 };

static void not_interested(const void *arg, uint32_t place, uint32_t slot)
{
}

struct model {
	struct heap h;
	_Alignas(64) uint64_t memory[MEMBERS + 16];
	uint32_t pos[MEMBERS];
	bool in[MEMBERS];
	nsec_t time[MEMBERS];
	uint32_t n;
};

static void assert_same(const struct model *m)
{
	uint32_t least = UINT32_MAX;

	assert_int_equal(m->h.n, m->n);
	for (uint32_t s = 0; s < MEMBERS; s++) {
		if (!m->in[s])
			continue;
		assert_int_equal(m->h.key[m->pos[s]], heap_key(m->time[s], s));
		if (least == UINT32_MAX || time_before(m->time[s], m->time[least]))
			least = s;
	}
	if (m->n)
		assert_int_equal(heap_first(&m->h), least);
}

static void walk(nsec_t start, uint64_t seed)
{
	static struct model m;
	struct world w = {.seed = seed};
	nsec_t now = start;

	memset(&m, 0, sizeof m);
	m.h.key = m.memory + 7;
	for (uint32_t k = 0; k < STEPS; k++) {
		uint32_t s = world_random(&w, MEMBERS);
		nsec_t time = now + world_random(&w, 2000);

		now += world_random(&w, 3);
		if (!m.in[s]) {
			m.in[s] = true;
			m.time[s] = time;
			m.n++;
			heap_push(&m.h, m.pos, heap_key(time, s));
		} else if (world_random(&w, 2)) {
			m.in[s] = false;
			m.n--;
			heap_remove(&m.h, m.pos, m.pos[s], not_interested, NULL);
		} else {
			m.time[s] = time;
			heap_move(&m.h, m.pos, m.pos[s], heap_key(time, s), not_interested, NULL);
		}
		if (k % 16 == 0)
			assert_same(&m);
	}
}

static void test_against_an_array(void **state)
{
	walk(1000, 7);
}

static void test_across_the_wrap_of_keys(void **state)
{
	walk((1ull << 45) - 100000, 8);
	walk(UINT64_MAX - 100000, 9);
}

static void test_due_and_second(void **state)
{
	uint64_t key[8] = {0};
	uint32_t pos[8];
	struct heap h = {.key = key};

	assert_false(heap_due(&h, 100));
	heap_push(&h, pos, heap_key(50, 3));
	assert_true(heap_due(&h, 50));
	assert_false(heap_due(&h, 49));
	heap_push(&h, pos, heap_key(60, 2));
	heap_push(&h, pos, heap_key(55, 1));
	assert_int_equal(heap_second(&h), heap_key(55, 1));
	heap_push(&h, pos, heap_key(50, 4));
	assert_int_equal(heap_first(&h), 3); // equal times: the lower slot
	assert_int_equal(heap_slot(heap_second(&h)), 4);
}

static void test_far_times_are_pulled_in(void **state)
{
	nsec_t at = 1ull << 50;

	assert_int_equal(heap_key_near(at + 5, at, 9), heap_key(at + 5, 9));
	assert_int_equal(heap_key_near(at - 5, at, 9), heap_key(at - 5, 9));
	assert_int_equal(heap_key_near(at + (1ull << 49), at, 9), heap_key(at + HEAP_SPAN, 9));
	assert_int_equal(heap_key_near(at - (1ull << 49), at, 9), heap_key(at - HEAP_SPAN, 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_an_array),
		cmocka_unit_test(test_across_the_wrap_of_keys),
		cmocka_unit_test(test_due_and_second),
		cmocka_unit_test(test_far_times_are_pulled_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
