// SPDX-License-Identifier: GPL-2.0-or-later
// The running tree: rates against what the curves promise, in virtual time; and a long random walk over all
// operations, with every invariant checked and every packet accounted for after each.
#include "tests/unit/tree_world.h"

#include "sched/tree.h"

// --- a link in virtual time ------------------------------------------------------------------------------------

enum { FED_MAX = 8 };

// Keeps classes backlogged and takes packets as they fall due.
struct link {
	struct world *w;
	struct tree *t;
	nsec_t now;
	uint32_t fed[FED_MAX], feds; // ids
	uint32_t len;
};

static void link_feed(struct link *l)
{
	for (uint32_t k = 0; k < l->feds; k++)
		while (counter_read(&l->w->stats[l->fed[k]].backlog_packets) < 8)
			world_send(l->w, l->t, l->fed[k], 1 + l->fed[k], l->len, l->now);
}

// Runs for `ns`; sent[id] is what each class sent in it, in bytes.
static void link_run(struct link *l, nsec_t ns, uint64_t *sent)
{
	nsec_t end = l->now + ns;
	uint32_t out[4];

	memset(sent, 0, l->w->ids * sizeof *sent);
	while (time_before(l->now, end)) {
		uint32_t n;
		nsec_t due;

		link_feed(l);
		n = tree_dequeue(l->t, out, ARRAY_LEN(out), UINT32_MAX, l->now, &l->w->freed);
		for (uint32_t k = 0; k < n; k++) {
			sent[l->w->pkt[out[k]].class_id] += l->w->pkt[out[k]].wire_len;
			world_give(l->w, out[k]);
		}
		world_collect(l->w);
		if (n)
			continue;
		due = tree_next_due(l->t);
		if (due == TIME_NEVER || !time_before(due, end)) {
			l->now = end;
			break;
		}
		assert_true(time_before(l->now, due)); // nothing came out though it was due: it would spin
		l->now = due;
	}
}

static void assert_rate(uint64_t bytes, nsec_t ns, uint64_t bps, double tolerance)
{
	double rate = (double)bytes * 8e9 / (double)ns;

	if (rate < (double)bps * (1 - tolerance) || rate > (double)bps * (1 + tolerance))
		fail_msg("rate %.0f bit/s, expected %llu within %g", rate, (unsigned long long)bps, tolerance);
}

static void link_end(struct link *l, struct plan *p)
{
	assert_sound(l->t);
	tree_free(l->t, &l->w->freed);
	world_collect(l->w);
	world_end(l->w);
	plan_free(p);
}

static void link_begin(struct link *l, struct world *w, const struct plan *p)
{
	struct tree_env env;

	world_init(w, 1024, p->classes, 1);
	env = world_env(w);
	*l = (struct link){.w = w, .t = tree_new(p, &env), .now = 5 * NSEC_PER_SEC, .len = 1500};
	assert_non_null(l->t);
}

static void test_shares_split_the_link(void **state)
{
	const struct class_line lines[] = {
		{"site", 0, NO_CURVE, LINEAR(30 * MBIT), NO_CURVE, {0}},
		{"other", 0, NO_CURVE, LINEAR(70 * MBIT), NO_CURVE, leaf_pfifo(100)},
		{"a", 1, NO_CURVE, LINEAR(1 * MBIT), NO_CURVE, leaf_pfifo(100)},
		{"b", 1, NO_CURVE, LINEAR(2 * MBIT), NO_CURVE, leaf_pfifo(100)},
	};
	struct plan *p = world_plan(100 * MBIT, lines, 4);
	uint64_t sent[5];
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	l.feds = 3;
	l.fed[0] = 2, l.fed[1] = 3, l.fed[2] = 4;
	link_run(&l, 20 * NSEC_PER_SEC, sent);
	assert_rate(sent[2], 20 * NSEC_PER_SEC, 70 * MBIT, 0.001);
	assert_rate(sent[3], 20 * NSEC_PER_SEC, 10 * MBIT, 0.001);
	assert_rate(sent[4], 20 * NSEC_PER_SEC, 20 * MBIT, 0.001);
	// b pauses: a takes over its site's share, no more.
	l.feds = 2;
	link_run(&l, NSEC_PER_SEC, sent);
	link_run(&l, 10 * NSEC_PER_SEC, sent);
	assert_rate(sent[3], 10 * NSEC_PER_SEC, 30 * MBIT, 0.001);
	// It comes back without a claim to what it missed.
	l.feds = 3;
	link_run(&l, 2 * NSEC_PER_SEC, sent);
	assert_rate(sent[4], 2 * NSEC_PER_SEC, 20 * MBIT, 0.005);
	link_end(&l, p);
}

static void test_guarantee_holds_under_overload(void **state)
{
	const struct class_line lines[] = {
		{"rt", 0, LINEAR(40 * MBIT), LINEAR(1 * MBIT), NO_CURVE, leaf_pfifo(100)},
		{"bulk", 0, NO_CURVE, LINEAR(99 * MBIT), NO_CURVE, leaf_pfifo(100)},
	};
	struct plan *p = world_plan(100 * MBIT, lines, 2);
	uint64_t sent[3];
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	l.feds = 2;
	l.fed[0] = 1, l.fed[1] = 2;
	link_run(&l, 10 * NSEC_PER_SEC, sent);
	assert_rate(sent[1], 10 * NSEC_PER_SEC, 40 * MBIT, 0.001);
	assert_rate(sent[1] + sent[2], 10 * NSEC_PER_SEC, 100 * MBIT, 0.001);
	assert_true(counter_read(&w.stats[1].rt_packets) > 0);
	link_end(&l, p);
}

static void test_upper_limit_holds(void **state)
{
	const struct class_line lines[] = {
		{"capped", 0, NO_CURVE, LINEAR(90 * MBIT), LINEAR(25 * MBIT), leaf_pfifo(100)},
		{"free", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_pfifo(100)},
	};
	struct plan *p = world_plan(100 * MBIT, lines, 2);
	uint64_t sent[3];
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	l.feds = 2;
	l.fed[0] = 1, l.fed[1] = 2;
	link_run(&l, 10 * NSEC_PER_SEC, sent);
	assert_rate(sent[1], 10 * NSEC_PER_SEC, 25 * MBIT, 0.001);
	assert_rate(sent[2], 10 * NSEC_PER_SEC, 75 * MBIT, 0.001);
	l.feds = 1; // alone the link idles between its packets
	link_run(&l, NSEC_PER_SEC, sent);
	link_run(&l, 10 * NSEC_PER_SEC, sent);
	assert_rate(sent[1], 10 * NSEC_PER_SEC, 25 * MBIT, 0.001);
	link_end(&l, p);
}

static void test_starved_class_may_not_exceed_its_limit_later(void **state)
{
	const struct class_line lines[] = {
		{"capped", 0, NO_CURVE, LINEAR(1 * MBIT), LINEAR(50 * MBIT), leaf_pfifo(100)},
		{"big", 0, NO_CURVE, LINEAR(99 * MBIT), NO_CURVE, leaf_pfifo(100)},
	};
	struct plan *p = world_plan(100 * MBIT, lines, 2);
	uint64_t sent[3];
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	l.feds = 2;
	l.fed[0] = 1, l.fed[1] = 2;
	link_run(&l, NSEC_PER_SEC, sent);
	l.feds = 1;
	link_run(&l, 10 * MSEC, sent);
	// 10 ms at the limit, the burst of 1 ms, and a packet at either end.
	assert_true(sent[1] <= ns_to_bytes(11 * MSEC, 50 * MBIT) + 2 * 1514);
	link_end(&l, p);
}

static void test_rates_from_lowest_to_highest(void **state)
{
	static const uint64_t rates[] = {8 * KBIT, 64 * KBIT, MBIT, GBIT, 10 * GBIT, 100 * GBIT, 400 * GBIT};

	for (uint32_t r = 0; r < ARRAY_LEN(rates); r++) {
		const struct class_line lines[] = {
			{"one", 0, NO_CURVE, LINEAR(rates[r]), LINEAR(rates[r] / 2), leaf_pfifo(100)},
		};
		struct plan *p = world_plan(rates[r], lines, 1);
		nsec_t ns = bytes_to_ns(20000 * 64, rates[r] / 2);
		uint64_t sent[2];
		struct world w;
		struct link l;

		link_begin(&l, &w, p);
		l.len = 64;
		l.feds = 1;
		l.fed[0] = 1;
		link_run(&l, ns / 10, sent);
		link_run(&l, ns, sent);
		assert_rate(sent[1], ns, rates[r] / 2, 0.001);
		link_end(&l, p);
	}
}

// A guarantee above its share for a long time; then a third class wakes (tc-hfsc(7), corner cases).
static void test_class_waking_beside_one_far_ahead(void **state)
{
	const struct class_line lines[] = {
		{"a", 0, LINEAR(8 * MBIT), LINEAR(5 * MBIT), NO_CURVE, leaf_pfifo(100)},
		{"b", 0, NO_CURVE, {2500 * KBIT, 0, 2500 * KBIT}, NO_CURVE, leaf_pfifo(100)},
		{"c", 0, NO_CURVE, {2500 * KBIT, 0, 2500 * KBIT}, NO_CURVE, leaf_pfifo(100)},
	};
	struct plan *p = world_plan(10 * MBIT, lines, 3);
	uint64_t sent[4];
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	l.feds = 2;
	l.fed[0] = 1, l.fed[1] = 3, l.fed[2] = 2;
	link_run(&l, 300 * NSEC_PER_SEC, sent);
	assert_rate(sent[1], 300 * NSEC_PER_SEC, 8 * MBIT, 0.001);
	l.feds = 3;
	link_run(&l, 50 * MSEC, sent);
	assert_true(sent[2] > 0); // no outage: it shares what c had from the start
	link_run(&l, 2 * NSEC_PER_SEC, sent);
	assert_rate(sent[2], 2 * NSEC_PER_SEC, 1 * MBIT, 0.02);
	assert_true(time_before(l.t->node[0].vtmin + NSEC_PER_SEC, l.t->cls[l.t->slot_of[1]].ls.x));
	l.feds = 0; // and when all have been idle nobody is ahead any more
	link_run(&l, NSEC_PER_SEC, sent);
	assert_true(l.t->node[0].vtmin == l.t->cls[l.t->slot_of[1]].ls.x);
	link_end(&l, p);
}

// A leaf with a guarantee and no share, busy for a minute below a limited class; then its siblings wake.
static void test_shares_after_a_guarantee_alone(void **state)
{
	const struct class_line lines[] = {
		{"all", 0, NO_CURVE, LINEAR(20 * MBIT), LINEAR(20 * MBIT), {0}},
		{"game", 1, {19400 * KBIT, 25 * MSEC, 3 * MBIT}, NO_CURVE, NO_CURVE, leaf_pfifo(100)},
		{"x", 1, NO_CURVE, LINEAR(6 * MBIT), NO_CURVE, leaf_pfifo(100)},
		{"y", 1, NO_CURVE, LINEAR(9 * MBIT), NO_CURVE, leaf_pfifo(100)},
	};
	struct plan *p = world_plan(20 * MBIT, lines, 4);
	uint64_t sent[5];
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	l.feds = 1;
	l.fed[0] = 2, l.fed[1] = 3, l.fed[2] = 4;
	link_run(&l, 60 * NSEC_PER_SEC, sent);
	assert_rate(sent[2], 60 * NSEC_PER_SEC, 3 * MBIT, 0.02);
	l.feds = 3;
	link_run(&l, NSEC_PER_SEC, sent);
	assert_rate(sent[3], NSEC_PER_SEC, 17 * MBIT * 6 / 15, 0.02);
	assert_rate(sent[4], NSEC_PER_SEC, 17 * MBIT * 9 / 15, 0.02);
	link_end(&l, p);
}

// A small fq_codel leaf that empties itself while it is dequeued (its last packets dropped by CoDel or its limit) must
// not take its siblings with it: the kernel's HFSC lost count of active children there, and they never sent again.
static void test_leaf_that_empties_itself(void **state)
{
	struct class_line lines[] = {
		{"all", 0, NO_CURVE, LINEAR(5 * MBIT), LINEAR(5 * MBIT), {0}},
		{"rt", 1, {4850 * KBIT, 25 * MSEC, 800 * KBIT}, NO_CURVE, NO_CURVE, leaf_pfifo(10)},
		{"small", 1, NO_CURVE, {150 * KBIT, 25 * MSEC, 500 * KBIT}, NO_CURVE, leaf_fq_codel()},
		{"default", 1, NO_CURVE, LINEAR(4200 * KBIT), NO_CURVE, leaf_fq_codel()},
	};
	uint64_t sent[5];
	struct plan *p;
	struct world w;
	struct link l;

	lines[2].leaf.quantum = 3000;
	lines[2].leaf.limit_frames = 61; // 125,000 bytes of frames
	p = world_plan(5 * MBIT, lines, 4);
	link_begin(&l, &w, p);
	l.feds = 1;
	l.fed[0] = 4;
	for (uint32_t k = 0; k < 600; k++) {
		if (k % 2 == 0)
			for (uint32_t n = 0; n < 84; n++)
				world_send(&w, l.t, 3, 1 + n / 28, 1462, l.now);
		for (uint32_t n = 0; n < 4; n++)
			world_send(&w, l.t, 2, 1, 200, l.now);
		link_run(&l, 100 * MSEC, sent);
		assert_sound(l.t);
		assert_true(sent[4] * 8 * 10 >= 8 * 4200 * KBIT / 10);
	}
	assert_true(counter_read(&w.stats[3].drop_codel) > 0 && counter_read(&w.stats[3].drop_full) > 0);
	link_end(&l, p);
}

// 500 kbit/s: a full frame takes 24 ms, and CoDel with its usual target of 5 ms would never be content.
static void test_target_follows_the_rate(void **state)
{
	const struct class_line lines[] = {
		{"all", 0, NO_CURVE, LINEAR(500 * KBIT), NO_CURVE, leaf_fq_codel()},
	};
	struct plan *p = world_plan(500 * KBIT, lines, 1);
	const struct queue_conf *q;
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	q = &l.t->queue[l.t->plan[1].queue];
	assert_in_range(q->codel.target, 36 * MSEC, 42 * MSEC);
	assert_int_equal(q->codel.interval, 100 * MSEC);
	assert_int_equal(q->watch, q->codel.target);
	link_end(&l, p);
}

static void test_small_packets_meet_their_deadline(void **state)
{
	const struct class_line lines[] = {
		{"voice", 0, {2 * MBIT, 5 * MSEC, 100 * KBIT}, NO_CURVE, NO_CURVE, leaf_pfifo(100)},
		{"bulk", 0, NO_CURVE, LINEAR(10 * MBIT), NO_CURVE, leaf_pfifo(100)},
	};
	struct plan *p = world_plan(10 * MBIT, lines, 2);
	nsec_t start, bound = bytes_to_ns(200, 2 * MBIT) + bytes_to_ns(1514, 10 * MBIT);
	uint64_t sent[3];
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	l.feds = 1;
	l.fed[0] = 2;
	for (uint32_t k = 0; k < 500; k++) {
		link_run(&l, 20 * MSEC, sent);
		start = l.now;
		world_send(&w, l.t, 1, 9, 200, l.now);
		while (counter_read(&w.stats[1].backlog_packets))
			link_run(&l, 1, sent);
		assert_true(l.now - start <= bound);
	}
	link_end(&l, p);
}

static void test_leaf_as_root(void **state)
{
	struct plan *p = plan_new(1);
	struct world w;
	struct link l;
	uint64_t sent[1];

	strcpy(p->cls[0].name, "root");
	p->rate_bps = 10 * MBIT;
	p->burst_ns = MSEC;
	p->mtu_wire = 1514;
	p->cls[0].leaf = leaf_fq_codel();
	link_begin(&l, &w, p);
	l.feds = 1;
	l.fed[0] = 0;
	link_run(&l, 10 * NSEC_PER_SEC, sent);
	assert_rate(sent[0], 10 * NSEC_PER_SEC, 10 * MBIT, 0.001);
	link_end(&l, p);
}

static void test_unknown_class_goes_to_default(void **state)
{
	const struct class_line lines[] = {
		{"a", 0, NO_CURVE, LINEAR(MBIT), NO_CURVE, leaf_pfifo(10)},
		{"default", 0, NO_CURVE, LINEAR(MBIT), NO_CURVE, leaf_pfifo(10)},
	};
	struct plan *p = world_plan(10 * MBIT, lines, 2);
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	world_send(&w, l.t, 77, 1, 100, l.now);
	world_send(&w, l.t, 0, 1, 100, l.now); // the root is no leaf
	assert_int_equal(counter_read(&w.stats[2].enq_packets), 2);
	link_end(&l, p);
}

static void test_shed_takes_from_the_fattest(void **state)
{
	const struct class_line lines[] = {
		{"thin", 0, NO_CURVE, LINEAR(MBIT), NO_CURVE, leaf_pfifo(200)},
		{"fat", 0, NO_CURVE, LINEAR(MBIT), NO_CURVE, leaf_pfifo(200)},
	};
	struct plan *p = world_plan(10 * MBIT, lines, 2);
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	for (uint32_t k = 0; k < 4; k++)
		world_send(&w, l.t, 1, 1, 1000, l.now);
	for (uint32_t k = 0; k < 50; k++)
		world_send(&w, l.t, 2, 1, 1000, l.now);
	assert_int_equal(tree_shed(l.t, 40, l.now, &w.freed), 40);
	assert_int_equal(counter_read(&w.stats[2].drop_full), 40);
	assert_int_equal(counter_read(&w.stats[1].drop_full), 0);
	assert_sound(l.t);
	assert_int_equal(tree_shed(l.t, 100, l.now, &w.freed), 14); // thin ones too, until nothing is left
	assert_int_equal(tree_backlog_packets(l.t), 0);
	assert_int_equal(tree_next_due(l.t), TIME_NEVER);
	assert_int_equal(world_collect(&w), 54);
	link_end(&l, p);
}

static void test_next_due_is_exact(void **state)
{
	const struct class_line lines[] = {
		{"capped", 0, NO_CURVE, LINEAR(MBIT), LINEAR(MBIT), leaf_pfifo(10)},
	};
	struct plan *p = world_plan(100 * MBIT, lines, 1);
	uint32_t out[4], n;
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	world_send(&w, l.t, 1, 1, 1000, l.now);
	world_send(&w, l.t, 1, 1, 1000, l.now);
	assert_int_equal(tree_dequeue(l.t, out, 4, UINT32_MAX, l.now, &w.freed), 1);
	world_give(&w, out[0]);
	assert_int_equal(tree_next_due(l.t), l.now + 8 * MSEC);
	assert_int_equal(tree_dequeue(l.t, out, 4, UINT32_MAX, l.now + 8 * MSEC - 1, &w.freed), 0);
	n = tree_dequeue(l.t, out, 4, UINT32_MAX, l.now + 8 * MSEC, &w.freed);
	assert_int_equal(n, 1);
	world_give(&w, out[0]);
	link_end(&l, p);
}

static void test_unshaped_gives_all_there_is(void **state)
{
	const struct class_line lines[] = {
		{"a", 0, NO_CURVE, LINEAR(MBIT), NO_CURVE, leaf_pfifo(100)},
		{"b", 0, NO_CURVE, LINEAR(3 * MBIT), NO_CURVE, leaf_pfifo(100)},
	};
	struct plan *p = world_plan(0, lines, 2);
	uint32_t out[40], from_b = 0;
	struct world w;
	struct link l;

	link_begin(&l, &w, p);
	for (uint32_t k = 0; k < 40; k++) {
		world_send(&w, l.t, 1, 1, 1500, l.now);
		world_send(&w, l.t, 2, 1, 1500, l.now);
	}
	assert_int_equal(tree_dequeue(l.t, out, 40, UINT32_MAX, l.now, &w.freed), 40);
	for (uint32_t k = 0; k < 40; k++) {
		from_b += w.pkt[out[k]].class_id == 2;
		world_give(&w, out[k]);
	}
	assert_in_range(from_b, 29, 31);
	assert_int_equal(tree_dequeue(l.t, out, 40, 3000, l.now, &w.freed), 2); // room in bytes
	world_give(&w, out[0]);
	world_give(&w, out[1]);
	link_end(&l, p);
}

// --- the random walk -------------------------------------------------------------------------------------------

enum { WALK_STEPS = 100000, WALK_IDS = 64, WALK_CLASSES = 24 };

static struct curve random_curve(struct world *w, uint64_t scale)
{
	struct curve c = {0};

	c.m2_bps = scale * (1 + world_random(w, 100));
	c.m1_bps = c.m2_bps;
	if (world_random(w, 2)) {
		c.d_ns = 1 + world_random(w, 50) * MSEC;
		c.m1_bps = world_random(w, 4) ? scale * (1 + world_random(w, 100)) : 0;
	}
	return c;
}

static struct leaf_conf random_leaf(struct world *w)
{
	struct leaf_conf c = leaf_fq_codel();

	if (!world_random(w, 3))
		return leaf_pfifo(1 + world_random(w, 20));
	c.limit_packets = 1 + world_random(w, 60);
	c.quantum = 100 + world_random(w, 2000);
	c.target_ns = MSEC / 10; // raised to what the class's rate needs
	c.interval_ns = MSEC;
	c.ecn = world_random(w, 2);
	if (!world_random(w, 3))
		c.ce_threshold_ns = MSEC;
	return c;
}

// A random tree whose classes are named after their ids' place, so that many of them survive from plan to plan.
static struct plan *random_plan(struct world *w)
{
	uint32_t n = 2 + world_random(w, WALK_CLASSES - 2);
	uint32_t depth[WALK_CLASSES + 1] = {0};
	struct plan *p = plan_new(n + 1);
	bool used[2 * WALK_CLASSES] = {0};

	assert_non_null(p);
	p->rate_bps = world_random(w, 8) ? (1 + world_random(w, 100)) * MBIT : 0;
	p->burst_ns = world_random(w, 3) * MSEC;
	p->mtu_wire = 1514;
	strcpy(p->cls[0].name, "root");
	for (uint32_t i = 1; i <= n; i++) {
		struct class_conf *c = &p->cls[i];
		uint32_t name;

		do
			name = world_random(w, 2 * WALK_CLASSES);
		while (used[name]);
		used[name] = true;
		snprintf(c->name, sizeof c->name, "class%u", name);
		c->parent = world_random(w, i);
		if (depth[c->parent] >= 4)
			c->parent = 0;
		depth[i] = depth[c->parent] + 1;
		c->ls = random_curve(w, 100 * KBIT);
		if (!world_random(w, 3))
			c->ul = random_curve(w, 200 * KBIT);
		c->leaf = random_leaf(w);
		p->cls[c->parent].leaf.kind = LEAF_NONE;
	}
	for (uint32_t i = 1; i <= n; i++) {
		struct class_conf *c = &p->cls[i];

		if (c->leaf.kind == LEAF_NONE)
			continue;
		p->default_class = i;
		if (world_random(w, 2))
			continue;
		c->rt = random_curve(w, 50 * KBIT);
		if (!world_random(w, 3))
			c->ls = c->ul = (struct curve){0};
	}
	return p;
}

struct walk {
	struct world w;
	struct tree *t;
	struct plan *plan;
	nsec_t now;
	uint64_t in, out;
};

static void walk_enqueue(struct walk *k)
{
	uint32_t pkts[32], n = 0, want = 1 + world_random(&k->w, 32);
	uint32_t flows = world_random(&k->w, 4) ? 3 : 60;
	uint32_t id = world_random(&k->w, WALK_IDS);
	bool one = world_random(&k->w, 2);

	while (n < want) {
		uint32_t i =
			world_packet(&k->w, one ? id : world_random(&k->w, WALK_IDS),
				     (world_random(&k->w, flows) + 1ull) << 44, 40 + world_random(&k->w, 1475), k->now);

		if (i == PKT_NONE)
			break;
		k->w.pkt[i].tos = (uint8_t)world_random(&k->w, 4);
		pkts[n++] = i;
	}
	tree_enqueue(k->t, pkts, n, k->now, &k->w.freed);
	k->in += n;
}

static void walk_dequeue(struct walk *k)
{
	uint32_t out[32];
	uint32_t n = tree_dequeue(k->t, out, 1 + world_random(&k->w, 32), 1 + world_random(&k->w, 20000), k->now,
				  &k->w.freed);

	k->out += n;
	for (uint32_t i = 0; i < n; i++)
		world_give(&k->w, out[i]);
	if (!n && tree_next_due(k->t) != TIME_NEVER)
		assert_true(time_before(k->now, tree_next_due(k->t)));
}

static void walk_change(struct walk *k)
{
	struct plan *next = random_plan(&k->w);
	struct tree_change *c;

	assert_true(plan_carry_ids(next, k->plan));
	if (next->id_limit > WALK_IDS) { // the walk's ids are a small space
		plan_free(next);
		return;
	}
	c = tree_change_new(k->plan, next);
	assert_non_null(c);
	tree_change_apply(k->t, c, k->now, &k->w.freed);
	tree_change_free(c);
	plan_free(k->plan);
	k->plan = next;
}

static void walk_step(struct walk *k)
{
	switch (world_random(&k->w, 16)) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		walk_enqueue(k);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
	case 10:
		walk_dequeue(k);
		break;
	case 11:
	case 12:
		k->now += world_random(&k->w, 2) ? world_random(&k->w, 3000000) : world_random(&k->w, 20000);
		break;
	case 13:
		if (!world_random(&k->w, 20))
			k->now += (nsec_t)world_random(&k->w, 100) * NSEC_PER_SEC;
		if (!world_random(&k->w, 5000))
			k->now += 20000 * NSEC_PER_SEC;
		tree_maintain(k->t, k->now, &k->w.freed);
		break;
	case 14:
		tree_shed(k->t, world_random(&k->w, 5), k->now, &k->w.freed);
		break;
	case 15:
		if (!world_random(&k->w, 10))
			walk_change(k);
		break;
	}
}

static void test_random_walk(void **state)
{
	struct walk k = {.now = UINT64_MAX / 2 - 50000 * NSEC_PER_SEC};
	struct tree_env env;
	uint64_t dropped = 0, backlog = 0, counted_in = 0, counted_out = 0, counted_drops = 0;

	world_init(&k.w, 700, WALK_IDS, 20240607);
	print_message("seed %llu\n", (unsigned long long)k.w.seed);
	env = world_env(&k.w);
	k.plan = random_plan(&k.w);
	k.t = tree_new(k.plan, &env);
	assert_non_null(k.t);
	for (uint32_t step = 0; step < WALK_STEPS; step++) {
		walk_step(&k);
		dropped += world_collect(&k.w);
		assert_sound(k.t);
		assert_int_equal(k.in, k.out + dropped + tree_backlog_packets(k.t));
	}
	for (uint32_t id = 0; id < WALK_IDS; id++) {
		const struct class_stats *s = &k.w.stats[id];

		counted_in += counter_read(&s->enq_packets);
		backlog += counter_read(&s->backlog_packets);
		counted_out += counter_read(&s->sent_packets);
		counted_drops += counter_read(&s->drop_full) + counter_read(&s->drop_codel) +
				 counter_read(&s->drop_reconfigured);
	}
	assert_int_equal(counted_in, k.in);
	assert_int_equal(counted_out, k.out);
	print_message("%llu in, %llu out, drops: %llu full, %llu codel, %llu reconfigured\n", (unsigned long long)k.in,
		      (unsigned long long)k.out, (unsigned long long)k.w.dropped[DROP_QUEUE_FULL],
		      (unsigned long long)k.w.dropped[DROP_CODEL], (unsigned long long)k.w.dropped[DROP_RECONFIGURED]);
	assert_true(k.w.dropped[DROP_CODEL] > 100 && k.w.dropped[DROP_QUEUE_FULL] > 100);
	assert_true(k.w.dropped[DROP_RECONFIGURED] > 100 && k.out > 10000);
	assert_int_equal(counted_drops, k.in - k.out - backlog);
	tree_free(k.t, &k.w.freed);
	world_collect(&k.w);
	world_end(&k.w);
	plan_free(k.plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_split_the_link),
		cmocka_unit_test(test_guarantee_holds_under_overload),
		cmocka_unit_test(test_upper_limit_holds),
		cmocka_unit_test(test_starved_class_may_not_exceed_its_limit_later),
		cmocka_unit_test(test_rates_from_lowest_to_highest),
		cmocka_unit_test(test_class_waking_beside_one_far_ahead),
		cmocka_unit_test(test_shares_after_a_guarantee_alone),
		cmocka_unit_test(test_leaf_that_empties_itself),
		cmocka_unit_test(test_target_follows_the_rate),
		cmocka_unit_test(test_small_packets_meet_their_deadline),
		cmocka_unit_test(test_leaf_as_root),
		cmocka_unit_test(test_unknown_class_goes_to_default),
		cmocka_unit_test(test_shed_takes_from_the_fattest),
		cmocka_unit_test(test_next_due_is_exact),
		cmocka_unit_test(test_unshaped_gives_all_there_is),
		cmocka_unit_test(test_random_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
