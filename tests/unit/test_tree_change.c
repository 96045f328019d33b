// SPDX-License-Identifier: GPL-2.0-or-later
// Changing the plan of a tree that runs: what must survive does, what goes is counted, only what differs is touched.
#include <time.h>

#include "tests/unit/tree_world.h"

#include "sched/tree.h"

struct change_test {
	struct world w;
	struct plan *p;
	struct tree *t;
	nsec_t now;
};

static void begin_with(struct change_test *c, struct plan *p, uint32_t packets, uint32_t ids)
{
	struct tree_env env;

	world_init(&c->w, packets, ids, 5);
	env = world_env(&c->w);
	c->p = p;
	c->t = tree_new(p, &env);
	assert_non_null(c->t);
	c->now = NSEC_PER_SEC;
}

static void end(struct change_test *c)
{
	assert_sound(c->t);
	tree_free(c->t, &c->w.freed);
	world_collect(&c->w);
	world_end(&c->w);
	plan_free(c->p);
}

// To `next`; the number of actions.
static uint32_t change(struct change_test *c, struct plan *next)
{
	struct tree_change *tc;
	uint32_t actions;

	assert_true(plan_carry_ids(next, c->p));
	tc = tree_change_new(c->p, next);
	assert_non_null(tc);
	actions = tree_change_actions(tc);
	tree_change_apply(c->t, tc, c->now, &c->w.freed);
	assert_sound(c->t);
	tree_change_free(tc);
	plan_free(c->p);
	c->p = next;
	return actions;
}

static uint32_t id_of(const struct change_test *c, const char *name)
{
	return c->p->cls[plan_find(c->p, name)].id;
}

static uint32_t fill(struct change_test *c, const char *name, uint32_t n)
{
	uint32_t id = id_of(c, name);

	for (uint32_t k = 0; k < n; k++)
		world_send(&c->w, c->t, id, 1 + k % 3, 1000, c->now);
	return id;
}

// Takes up to n packets; how many were of class `id`.
static uint32_t drain(struct change_test *c, uint32_t n, uint32_t id)
{
	uint32_t of = 0, i;

	while (n && tree_backlog_packets(c->t)) {
		if (!tree_dequeue(c->t, &i, 1, UINT32_MAX, c->now, &c->w.freed)) {
			nsec_t due = tree_next_due(c->t);

			if (due == TIME_NEVER)
				break;
			assert_true(time_before(c->now, due));
			c->now = due;
			continue;
		}
		of += c->w.pkt[i].class_id == id;
		world_give(&c->w, i);
		n--;
	}
	return of;
}

#define THREE(rate_b, kind_c)                                                                \
	{                                                                                    \
		{"a", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},            \
			{"b", 0, NO_CURVE, LINEAR(rate_b), NO_CURVE, leaf_fq_codel()},       \
			{"c", 0, LINEAR(MBIT), LINEAR(5 * MBIT), LINEAR(20 * MBIT), kind_c}, \
	}

static void test_same_plan_is_no_change(void **state)
{
	const struct class_line lines[] = THREE(10 * MBIT, leaf_fq_codel());
	struct change_test c;

	begin_with(&c, world_plan(100 * MBIT, lines, 3), 500, 16);
	fill(&c, "a", 20);
	assert_int_equal(change(&c, world_plan(100 * MBIT, lines, 3)), 0);
	end(&c);
}

static void test_rate_change_touches_one_class(void **state)
{
	const struct class_line before[] = THREE(10 * MBIT, leaf_fq_codel());
	const struct class_line after[] = THREE(40 * MBIT, leaf_fq_codel());
	struct class a;
	struct change_test c;
	uint32_t id_a, id_b, of_b;

	begin_with(&c, world_plan(100 * MBIT, before, 3), 1500, 16);
	id_a = fill(&c, "a", 400);
	id_b = fill(&c, "b", 400);
	drain(&c, 50, 0);
	a = c.t->cls[c.t->slot_of[id_a]];
	assert_int_equal(change(&c, world_plan(100 * MBIT, after, 3)), 1);
	assert_memory_equal(&a, &c.t->cls[c.t->slot_of[id_a]], sizeof a);
	of_b = drain(&c, 250, id_b);
	assert_in_range(of_b, 195, 205); // 40 : 10
	world_collect(&c.w);
	assert_int_equal(c.w.dropped[DROP_RECONFIGURED], 0);
	end(&c);
}

static void test_added_class_and_new_default(void **state)
{
	const struct class_line before[] = THREE(10 * MBIT, leaf_fq_codel());
	const struct class_line after[] = {
		{"a", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
		{"b", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
		{"c", 0, LINEAR(MBIT), LINEAR(5 * MBIT), LINEAR(20 * MBIT), leaf_fq_codel()},
		{"site", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, {0}},
		{"d", 4, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
	};
	struct change_test c;

	begin_with(&c, world_plan(100 * MBIT, before, 3), 500, 16);
	fill(&c, "a", 20);
	assert_int_equal(change(&c, world_plan(100 * MBIT, after, 5)), 3); // two classes, and room for one in the root
	world_send(&c.w, c.t, 12, 1, 100, c.now);                          // unknown
	assert_int_equal(counter_read(&c.w.stats[id_of(&c, "d")].backlog_packets), 1);
	assert_sound(c.t);
	end(&c);
}

static void test_removed_class_loses_its_packets_in_slices(void **state)
{
	const struct class_line before[] = THREE(10 * MBIT, leaf_fq_codel());
	const struct class_line after[] = {
		{"a", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
		{"c", 0, LINEAR(MBIT), LINEAR(5 * MBIT), LINEAR(20 * MBIT), leaf_fq_codel()},
	};
	struct change_test c;
	uint32_t id_b;

	begin_with(&c, world_plan(100 * MBIT, before, 3), 500, 16);
	fill(&c, "a", 20);
	id_b = fill(&c, "b", 150);
	assert_int_equal(change(&c, world_plan(100 * MBIT, after, 2)), 1);
	assert_int_equal(counter_read(&c.w.stats[id_b].drop_reconfigured), 150);
	assert_int_equal(counter_read(&c.w.stats[id_b].backlog_packets), 0);
	assert_int_equal(tree_backlog_packets(c.t), 170); // held still
	assert_true(tree_maintain(c.t, c.now, &c.w.freed));
	assert_int_equal(world_collect(&c.w), TREE_SLICE);
	world_send(&c.w, c.t, id_b, 1, 100, c.now); // a late packet goes to the default class
	assert_int_equal(counter_read(&c.w.stats[id_of(&c, "c")].backlog_packets), 1);
	while (tree_maintain(c.t, c.now, &c.w.freed))
		;
	world_collect(&c.w);
	assert_int_equal(c.w.dropped[DROP_RECONFIGURED], 150);
	assert_int_equal(tree_backlog_packets(c.t), 21);
	assert_int_equal(drain(&c, 100, id_of(&c, "a")), 20);
	assert_int_equal(tree_next_due(c.t), TIME_NEVER);
	end(&c);
}

static void test_other_leaf_kind_keeps_the_packets(void **state)
{
	const struct class_line before[] = THREE(10 * MBIT, leaf_fq_codel());
	const struct class_line after[] = THREE(10 * MBIT, leaf_pfifo(1000));
	struct change_test c;

	begin_with(&c, world_plan(100 * MBIT, before, 3), 500, 16);
	fill(&c, "c", 60);
	assert_int_equal(change(&c, world_plan(100 * MBIT, after, 3)), 1);
	assert_int_equal(counter_read(&c.w.stats[id_of(&c, "c")].backlog_packets), 60);
	assert_int_equal(change(&c, world_plan(100 * MBIT, before, 3)), 1);
	assert_int_equal(drain(&c, 100, id_of(&c, "c")), 60);
	end(&c);
}

// b moves below a new inner class, then the inner class becomes a leaf, and back again.
static void test_moved_split_and_joined_classes(void **state)
{
	const struct class_line flat[] = {
		{"b", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
		{"site", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
		{"d", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
	};
	const struct class_line deep[] = {
		{"site", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, {0}},
		{"b", 1, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
		{"d", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
	};
	const struct class_line turned[] = {
		{"outer", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, {0}},
		{"site", 1, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, {0}},
		{"b", 2, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
		{"d", 1, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
	};
	struct change_test c;

	begin_with(&c, world_plan(100 * MBIT, flat, 3), 500, 16);
	fill(&c, "b", 30);
	fill(&c, "site", 7);
	fill(&c, "d", 30);
	change(&c, world_plan(100 * MBIT, deep, 3));
	assert_int_equal(counter_read(&c.w.stats[id_of(&c, "b")].backlog_packets), 30);
	assert_int_equal(counter_read(&c.w.stats[id_of(&c, "site")].drop_reconfigured), 7);
	drain(&c, 5, 0);
	change(&c, world_plan(100 * MBIT, turned, 4));
	drain(&c, 5, 0);
	change(&c, world_plan(100 * MBIT, deep, 3));
	change(&c, world_plan(100 * MBIT, flat, 3));
	fill(&c, "site", 3);
	drain(&c, 100, 0);
	assert_int_equal(counter_read(&c.w.stats[id_of(&c, "b")].sent_packets), 30);
	assert_int_equal(counter_read(&c.w.stats[id_of(&c, "d")].sent_packets), 30);
	end(&c);
}

static void test_limit_takes_effect_at_once(void **state)
{
	struct class_line before[] = THREE(10 * MBIT, leaf_fq_codel());
	struct class_line after[] = THREE(10 * MBIT, leaf_fq_codel());
	struct change_test c;
	nsec_t due;

	before[2].ul = (struct curve)LINEAR(10 * KBIT);
	before[2].rt = (struct curve)NO_CURVE;
	after[2].rt = (struct curve)NO_CURVE;
	begin_with(&c, world_plan(100 * MBIT, before, 3), 500, 16);
	fill(&c, "c", 60);
	drain(&c, 1, 0);
	due = tree_next_due(c.t);
	assert_true(due > c.now + 500 * MSEC); // 1,000 bytes at 10 kbit/s
	change(&c, world_plan(100 * MBIT, after, 3));
	assert_true(tree_next_due(c.t) <= c.now + MSEC);
	end(&c);
}

static void test_link_rate(void **state)
{
	const struct class_line lines[] = THREE(10 * MBIT, leaf_fq_codel());
	struct change_test c;
	nsec_t start;

	begin_with(&c, world_plan(8 * MBIT, lines, 3), 500, 16);
	fill(&c, "a", 200);
	drain(&c, 2, 0);
	change(&c, world_plan(80 * MBIT, lines, 3)); // CoDel targets follow the rate, nothing else
	start = c.now;
	drain(&c, 100, 0); // 1,000 bytes each in 0.1 ms
	assert_in_range(c.now - start, 9 * MSEC, 11 * MSEC);
	end(&c);
}

static struct plan *big_plan(uint32_t leaves, uint64_t rate_of_7)
{
	struct plan *p = plan_new(leaves + 1);

	assert_non_null(p);
	p->rate_bps = 100 * GBIT;
	p->mtu_wire = 1514;
	strcpy(p->cls[0].name, "root");
	for (uint32_t i = 1; i <= leaves; i++) {
		struct class_conf *c = &p->cls[i];

		snprintf(c->name, sizeof c->name, "customer%u", i);
		c->ls.m1_bps = c->ls.m2_bps = i == 7 ? rate_of_7 : 10 * MBIT;
		c->ul.m1_bps = c->ul.m2_bps = 2 * c->ls.m2_bps;
		c->leaf = leaf_fq_codel();
	}
	p->default_class = 1;
	return p;
}

static void test_one_of_thousands(void **state)
{
	enum { LEAVES = 13706, TIMES = 11 };
	nsec_t best = TIME_NEVER;
	struct change_test c;

	begin_with(&c, big_plan(LEAVES, 10 * MBIT), 30000, LEAVES + 1);
	for (uint32_t id = 1; id <= LEAVES; id++)
		world_send(&c.w, c.t, id, 1, 1000, c.now);
	for (uint32_t k = 0; k < TIMES; k++) {
		struct plan *next = big_plan(LEAVES, (20 + k) * MBIT);
		struct timespec a, b;
		struct tree_change *tc;
		nsec_t took;

		assert_true(plan_carry_ids(next, c.p));
		tc = tree_change_new(c.p, next);
		assert_non_null(tc);
		assert_int_equal(tree_change_actions(tc), 1);
		clock_gettime(CLOCK_MONOTONIC, &a);
		tree_change_apply(c.t, tc, c.now, &c.w.freed);
		clock_gettime(CLOCK_MONOTONIC, &b);
		took = (nsec_t)(b.tv_sec - a.tv_sec) * NSEC_PER_SEC + (nsec_t)b.tv_nsec - (nsec_t)a.tv_nsec;
		best = took < best ? took : best;
		tree_change_free(tc);
		plan_free(c.p);
		c.p = next;
	}
	print_message("one rate of %d changed in %llu ns\n", LEAVES, (unsigned long long)best);
	assert_true(best < 50 * NSEC_PER_USEC); // generous: sanitizers, a busy machine
	end(&c);
}

// Records come with a class's first packet and go when nothing in them would matter.
static void test_idle_classes_are_forgotten(void **state)
{
	const struct class_line lines[] = {
		{"site", 0, NO_CURVE, LINEAR(10 * MBIT), LINEAR(50 * MBIT), {0}},
		{"a", 1, {20 * MBIT, 10 * MSEC, 1 * MBIT}, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
		{"b", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_fq_codel()},
	};
	struct change_test c;
	uint32_t id;

	begin_with(&c, world_plan(100 * MBIT, lines, 3), 500, 16);
	id = id_of(&c, "a");
	assert_int_equal(c.t->slot_of[id], SLOT_NONE);
	fill(&c, "a", 50);
	assert_true(c.t->slot_of[id] != SLOT_NONE);
	drain(&c, 100, 0);
	tree_maintain(c.t, c.now, &c.w.freed);
	assert_true(c.t->slot_of[id] != SLOT_NONE); // its guarantee was used: that counts for a while
	c.now += 10 * NSEC_PER_SEC;
	for (uint32_t k = 0; k < 4; k++)
		tree_maintain(c.t, c.now, &c.w.freed);
	assert_int_equal(c.t->slot_of[id], SLOT_NONE);
	assert_int_equal(c.t->slot_of[id_of(&c, "site")], SLOT_NONE);
	fill(&c, "a", 1);
	assert_int_equal(drain(&c, 2, id), 1);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_plan_is_no_change),
		cmocka_unit_test(test_rate_change_touches_one_class),
		cmocka_unit_test(test_added_class_and_new_default),
		cmocka_unit_test(test_removed_class_loses_its_packets_in_slices),
		cmocka_unit_test(test_other_leaf_kind_keeps_the_packets),
		cmocka_unit_test(test_moved_split_and_joined_classes),
		cmocka_unit_test(test_limit_takes_effect_at_once),
		cmocka_unit_test(test_link_rate),
		cmocka_unit_test(test_one_of_thousands),
		cmocka_unit_test(test_idle_classes_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
