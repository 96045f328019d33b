// SPDX-License-Identifier: GPL-2.0-or-later
// fq_codel in one leaf, which is the whole tree: fairness between flows, sparse flows, limits, memory of flows.
#include "tests/unit/tree_world.h"

#define FLOW(n) (0x9e3779b97f4a7c15ull * (n))

struct one {
	struct world w;
	struct plan *p;
	struct tree *t;
	nsec_t now;
};

static void begin_with(struct one *o, struct leaf_conf leaf, uint32_t packets)
{
	struct tree_env env;

	world_init(&o->w, packets, 1, 3);
	o->p = plan_new(1);
	strcpy(o->p->cls[0].name, "root");
	o->p->mtu_wire = 1514;
	o->p->cls[0].leaf = leaf;
	env = world_env(&o->w);
	o->t = tree_new(o->p, &env);
	assert_non_null(o->t);
	o->now = NSEC_PER_SEC;
}

static void end(struct one *o)
{
	assert_sound(o->t);
	tree_free(o->t, &o->w.freed);
	world_collect(&o->w);
	world_end(&o->w);
	plan_free(o->p);
}

static void put(struct one *o, uint64_t flow, uint32_t len)
{
	world_send(&o->w, o->t, 0, flow, len, o->now);
	assert_sound(o->t);
}

// Next packet's flow, 0 if none; `arrival` in *arrival if wanted.
static uint64_t take(struct one *o, nsec_t *arrival)
{
	uint32_t i;
	uint64_t flow;

	if (!tree_dequeue(o->t, &i, 1, UINT32_MAX, o->now, &o->w.freed))
		return 0;
	assert_sound(o->t);
	flow = o->w.pkt[i].flow;
	if (arrival)
		*arrival = o->w.pkt[i].arrival;
	world_give(&o->w, i);
	return flow;
}

static void test_flows_share_by_bytes(void **state)
{
	uint32_t bytes[3] = {0};
	struct one o;

	begin_with(&o, leaf_fq_codel(), 2000);
	for (uint32_t k = 0; k < 400; k++) {
		put(&o, FLOW(1), 1500);
		put(&o, FLOW(2), 500);
		put(&o, FLOW(2), 500);
	}
	for (uint32_t k = 0; k < 300; k++) {
		uint64_t flow = take(&o, NULL);

		bytes[flow == FLOW(1) ? 1 : 2] += flow == FLOW(1) ? 1500 : 500;
	}
	assert_true(bytes[1] < bytes[2] + 3100 && bytes[2] < bytes[1] + 3100);
	end(&o);
}

static void test_order_within_each_flow(void **state)
{
	nsec_t last[40] = {0};
	struct one o;

	begin_with(&o, leaf_fq_codel(), 2000);
	for (uint32_t k = 0; k < 30000; k++) {
		uint32_t f = world_random(&o.w, 40);

		o.now += 10;
		if (o.w.frees > 1 && world_random(&o.w, 3)) {
			put(&o, FLOW(f + 1), 60 + world_random(&o.w, 1400));
		} else {
			nsec_t arrival;
			uint64_t flow = take(&o, &arrival);

			for (f = 0; flow && FLOW(f + 1) != flow; f++)
				;
			if (!flow)
				continue;
			assert_true(arrival > last[f]);
			last[f] = arrival;
		}
	}
	assert_int_equal(counter_read(&o.w.stats[0].flow_overflow), 0);
	end(&o);
}

static void test_sparse_flow_goes_first(void **state)
{
	struct one o;

	begin_with(&o, leaf_fq_codel(), 4000);
	for (uint32_t k = 0; k < 100; k++)
		for (uint64_t f = 1; f <= 20; f++)
			put(&o, FLOW(f), 1500);
	for (uint32_t k = 0; k < 45; k++)
		take(&o, NULL);
	put(&o, FLOW(77), 100);
	assert_int_equal(take(&o, NULL), FLOW(77));
	end(&o);
}

// One packet whenever its queue is empty: after the first it waits for its turn in the old list.
static void test_flow_that_always_empties_does_not_starve_others(void **state)
{
	uint32_t sparse = 0, bulk = 0;
	bool waits = false;
	struct one o;

	begin_with(&o, leaf_fq_codel(), 2000);
	for (uint32_t k = 0; k < 300; k++)
		put(&o, FLOW(1), 1500);
	for (uint32_t k = 0; k < 200; k++) {
		uint64_t flow;

		if (!waits)
			put(&o, FLOW(2), 1500);
		flow = take(&o, NULL);
		waits = flow != FLOW(2);
		sparse += flow == FLOW(2);
		bulk += flow == FLOW(1);
	}
	assert_true(bulk + 2 >= sparse);
	end(&o);
}

static void test_limit_drops_the_head_of_the_fattest(void **state)
{
	struct leaf_conf leaf = leaf_fq_codel();
	nsec_t first, arrival;
	struct one o;

	leaf.limit_packets = 50;
	begin_with(&o, leaf, 2000);
	for (uint64_t f = 2; f < 22; f++)
		put(&o, FLOW(f), 300);
	first = o.now;
	for (uint32_t k = 0; k < 60; k++) {
		o.now += MSEC / 100;
		put(&o, FLOW(1), 300);
	}
	assert_int_equal(tree_backlog_packets(o.t), 50);
	assert_int_equal(counter_read(&o.w.stats[0].drop_full), 30);
	for (uint32_t k = 0; k < 20; k++) // the thin ones lost nothing
		assert_true(take(&o, NULL) != FLOW(1));
	assert_int_equal(take(&o, &arrival), FLOW(1));
	assert_int_equal(arrival, first + 31 * (MSEC / 100)); // of the fat one the oldest 30 went
	world_collect(&o.w);
	assert_int_equal(o.w.dropped[DROP_QUEUE_FULL], 30);
	end(&o);
}

static void test_limit_in_frames(void **state)
{
	struct leaf_conf leaf = leaf_fq_codel();
	struct one o;

	leaf.limit_frames = 7;
	begin_with(&o, leaf, 100);
	for (uint32_t k = 0; k < 20; k++)
		put(&o, FLOW(1), 60);
	assert_int_equal(tree_backlog_packets(o.t), 7);
	end(&o);
}

// More flows than there are flow queues: counted, nothing lost but by the limit.
static void test_flood_of_flows(void **state)
{
	struct one o;
	uint32_t got = 0;

	begin_with(&o, leaf_fq_codel(), 3000);
	for (uint32_t k = 0; k < 2000; k++)
		world_send(&o.w, o.t, 0, FLOW(k + 1), 100, o.now);
	assert_sound(o.t);
	assert_true(counter_read(&o.w.stats[0].flow_overflow) > 0);
	while (take(&o, NULL))
		got++;
	assert_int_equal(got, 2000);
	put(&o, FLOW(1), 100); // and all flow memory is back
	for (uint32_t k = 0; k < 700; k++)
		world_send(&o.w, o.t, 0, FLOW(k + 5000), 100, o.now);
	assert_sound(o.t);
	assert_true(counter_read(&o.w.stats[0].flow_overflow) <= 2000 - 16 - 3000 / 4 + 1);
	end(&o);
}

static void test_codel_keeps_a_greedy_flow_short(void **state)
{
	struct one o;
	uint32_t sparse_sent = 0, sparse_got = 0;

	begin_with(&o, leaf_fq_codel(), 12000);
	// 1 packet out in 1 ms, 1.2 in; and a thin flow that must lose nothing.
	for (uint32_t k = 0; k < 20000; k++) {
		o.now += MSEC;
		world_send(&o.w, o.t, 0, FLOW(1), 1500, o.now);
		if (k % 5 == 0)
			world_send(&o.w, o.t, 0, FLOW(1), 1500, o.now);
		if (k % 50 == 0) {
			world_send(&o.w, o.t, 0, FLOW(2), 200, o.now);
			sparse_sent++;
		}
		sparse_got += take(&o, NULL) == FLOW(2);
		world_collect(&o.w);
	}
	assert_true(counter_read(&o.w.stats[0].drop_codel) > 500);
	assert_true(sparse_got + 1 >= sparse_sent);
	assert_true(tree_backlog_packets(o.t) < 2500);
	end(&o);
}

static void test_ecn_marks(void **state)
{
	struct leaf_conf leaf = leaf_fq_codel();
	uint32_t marked = 0;
	struct one o;

	leaf.ecn = true;
	begin_with(&o, leaf, 4000);
	for (uint32_t k = 0; k < 1000; k++) {
		uint32_t out[2];

		o.now += MSEC;
		for (uint32_t n = 0; n < (k < 20 ? 2u : 1u); n++) {
			uint32_t i = world_packet(&o.w, 0, FLOW(1), 1500, o.now);

			o.w.pkt[i].tos = 2;
			tree_enqueue(o.t, &i, 1, o.now, &o.w.freed);
		}
		assert_int_equal(tree_dequeue(o.t, out, 1, UINT32_MAX, o.now, &o.w.freed), 1);
		marked += (o.w.pkt[out[0]].flags & PKT_MARK_CE) != 0;
		world_give(&o.w, out[0]);
	}
	assert_true(marked > 10);
	assert_int_equal(marked, counter_read(&o.w.stats[0].marked));
	assert_int_equal(counter_read(&o.w.stats[0].drop_codel), 0);
	end(&o);
}

// What CoDel learned of a flow outlasts the flow's empty queue: in the record, and in a block.
static void test_flow_memory_in_empty_queue(void **state)
{
	for (uint32_t others = 0; others < 3; others++) {
		uint32_t before;
		struct one o;

		begin_with(&o, leaf_fq_codel(), 12000);
		for (uint32_t round = 0; round < 2; round++) {
			before = (uint32_t)counter_read(&o.w.stats[0].drop_codel);
			for (uint32_t k = 0; k < 400; k++)
				world_send(&o.w, o.t, 0, FLOW(1), 1500, o.now);
			for (uint32_t k = 0; k < others; k++)
				put(&o, FLOW(5 + k), 100);
			while (tree_backlog_packets(o.t)) {
				o.now += 2 * MSEC;
				take(&o, NULL);
			}
			world_collect(&o.w);
			if (!round)
				assert_true(counter_read(&o.w.stats[0].drop_codel) > 3);
			else // it goes on where it was: more drops in the same time
				assert_true(counter_read(&o.w.stats[0].drop_codel) - before > before);
		}
		o.now += 3 * NSEC_PER_SEC;
		tree_maintain(o.t, o.now, &o.w.freed);
		end(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flows_share_by_bytes),
		cmocka_unit_test(test_order_within_each_flow),
		cmocka_unit_test(test_sparse_flow_goes_first),
		cmocka_unit_test(test_flow_that_always_empties_does_not_starve_others),
		cmocka_unit_test(test_limit_drops_the_head_of_the_fattest),
		cmocka_unit_test(test_limit_in_frames),
		cmocka_unit_test(test_flood_of_flows),
		cmocka_unit_test(test_codel_keeps_a_greedy_flow_short),
		cmocka_unit_test(test_ecn_marks),
		cmocka_unit_test(test_flow_memory_in_empty_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
