// SPDX-License-Identifier: GPL-2.0-or-later
// The scheduler against HFSC in rational numbers. First the oracle itself, against cases worked out by hand on a link
// of one byte per nanosecond; then random trees, where the oracle follows every packet the scheduler sends and a second
// one runs on its own. WEIR_LONG=1 runs thousands of trees, "test_hfsc_oracle SEED" one, telling of each packet.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/sched.h"
#include "tests/oracle/hfsc_oracle.h"

#define GBIT 1000000000ull

enum { TREES = 200, TREES_LONG = 5000, PACKETS = 4096, SENT_A_TREE = 700, MTU = 1514 };

static struct curve line(uint64_t bps)
{
	return (struct curve){.m2_bps = bps};
}

static struct class_conf *put(struct plan *p, uint32_t i, uint32_t parent)
{
	snprintf(p->cls[i].name, CLASS_NAME_MAX, i ? "c%u" : "root", i);
	p->cls[i].parent = parent;
	return &p->cls[i];
}

static void make_leaf(struct class_conf *c)
{
	c->leaf = (struct leaf_conf){.kind = LEAF_PFIFO, .limit_packets = PACKETS, .ce_threshold_ns = TIME_NEVER};
}

// --- the oracle by itself ----------------------------------------------------------------------------------------

// Leaves of the root, on a link of 8 Gbit/s: one byte is one nanosecond.
static struct plan *flat_plan(uint32_t leaves)
{
	struct plan *p = plan_new(leaves + 1);

	p->rate_bps = 8 * GBIT;
	p->burst_ns = 1000000;
	p->mtu_wire = 1000;
	p->default_class = 1;
	put(p, 0, 0);
	for (uint32_t i = 1; i <= leaves; i++)
		make_leaf(put(p, i, 0));
	return p;
}

struct expected {
	uint32_t cls;
	double start, deadline;
};

static void sends(struct oracle *o, nsec_t now, const struct expected *e, size_t n)
{
	struct oracle_sent s;

	for (size_t i = 0; i < n; i++) {
		assert_true(oracle_send(o, now, &s));
		assert_int_equal(s.cls, e[i].cls);
		assert_true(s.start_ns > e[i].start - 0.01 && s.start_ns < e[i].start + 0.01);
		assert_true(s.deadline_ns > e[i].deadline - 0.01 && s.deadline_ns < e[i].deadline + 0.01);
	}
	assert_false(oracle_send(o, now, &s));
}

static void arrive(struct oracle *o, uint32_t cls, uint32_t n, uint32_t len, nsec_t now)
{
	while (n--)
		oracle_arrive(o, cls, len, 0, now);
}

static void by_hand_shares(void **state)
{
	// 3 : 1, virtual times of a packet 1,333 and 4,000; at 4,000 and 8,000 both are equal and the lower id goes first.
	static const struct expected e[] = {{1, 0, 0},    {2, 1000, 0}, {1, 2000, 0}, {1, 3000, 0}, {1, 4000, 0},
					    {2, 5000, 0}, {1, 6000, 0}, {1, 7000, 0}, {1, 8000, 0}, {2, 9000, 0}};
	struct plan *p = flat_plan(2);
	struct oracle *o;

	(void)state;
	p->cls[1].ls = line(6 * GBIT);
	p->cls[2].ls = line(2 * GBIT);
	o = oracle_new(p);
	arrive(o, 1, 7, 1000, 0);
	arrive(o, 2, 3, 1000, 0);
	sends(o, 1000000, e, ARRAY_LEN(e));
	assert_int_equal(oracle_bytes(o, 1), 7000);
	oracle_free(o);
	plan_free(p);
}

static void by_hand_concave(void **state)
{
	// 0.5 B/ns for 2,000 ns, then 0.1. The second backlog starts at (3000, 500): its first line meets the tail of the
	// first one, y = 0.1 x + 800, at x = 4,500; so 1,000 bytes are due at 4,000, and 1,500 at 7,000.
	static const struct expected first[] = {{1, 0, 1000}};
	static const struct expected second[] = {{1, 3000, 4000}, {1, 4000, 7000}};
	static const struct expected backlog[] = {{1, 0, 1000}, {1, 1000, 2000}, {1, 2000, 7000}, {1, 7000, 12000}};
	struct plan *p = flat_plan(1);
	struct oracle *o;

	(void)state;
	p->cls[1].rt = (struct curve){4 * GBIT, 2000, 800000000};
	o = oracle_new(p);
	arrive(o, 1, 1, 500, 0);
	sends(o, 2500, first, ARRAY_LEN(first));
	arrive(o, 1, 2, 500, 3000);
	sends(o, 20000, second, ARRAY_LEN(second));
	oracle_free(o);
	o = oracle_new(p);
	arrive(o, 1, 4, 500, 0);
	sends(o, 20000, backlog, ARRAY_LEN(backlog));
	oracle_free(o);
	plan_free(p);
}

static void by_hand_convex(void **state)
{
	// 0.1 B/ns for 2,000 ns, then 0.5; eligible on the line of 0.5 from the start.
	static const struct expected e[] = {{1, 0, 2600}, {1, 1000, 3600}, {1, 2000, 4600}};
	struct plan *p = flat_plan(1);
	struct oracle *o;

	(void)state;
	p->cls[1].rt = (struct curve){800000000, 2000, 4 * GBIT};
	o = oracle_new(p);
	arrive(o, 1, 3, 500, 0);
	sends(o, 20000, e, ARRAY_LEN(e));
	oracle_free(o);
	plan_free(p);
}

static void by_hand_upper_limit(void **state)
{
	static const struct expected e[] = {{1, 0, 0}, {1, 10000, 0}, {1, 20000, 0}};
	// Not called for 80 us, with a catch-up of 20: f was 10,000 and counts as 60,000 when the first packet goes.
	static const struct expected late[] = {{1, 80000, 0}, {1, 81000, 0}, {1, 82000, 0}, {1, 90000, 0}};
	struct plan *p = flat_plan(1);
	struct oracle *o;

	(void)state;
	p->cls[1].ls = line(8 * GBIT);
	p->cls[1].ul = line(800000000);
	o = oracle_new(p);
	arrive(o, 1, 3, 1000, 0);
	sends(o, 20000, e, ARRAY_LEN(e));
	oracle_free(o);
	p->burst_ns = 20000;
	o = oracle_new(p);
	arrive(o, 1, 5, 1000, 0);
	sends(o, 0, e, 1);
	sends(o, 100000, late, ARRAY_LEN(late));
	oracle_free(o);
	plan_free(p);
}

static void by_hand_waking(void **state)
{
	// Class 2 alone for 4 packets has vt 8,000 and was picked last at 6,000: class 1 starts there, two packets before it.
	static const struct expected alone[] = {{2, 0, 0}, {2, 1000, 0}, {2, 2000, 0}, {2, 3000, 0}};
	static const struct expected both[] = {{1, 4000, 0}, {1, 5000, 0}, {2, 6000, 0}, {1, 7000, 0}, {2, 8000, 0}};
	struct plan *p = flat_plan(2);
	struct oracle *o;

	(void)state;
	p->cls[1].ls = p->cls[2].ls = line(4 * GBIT);
	o = oracle_new(p);
	arrive(o, 2, 6, 1000, 0);
	for (size_t i = 0; i < ARRAY_LEN(alone); i++) {
		struct oracle_sent s;

		assert_true(oracle_send(o, i * 1000, &s));
		assert_int_equal(s.cls, alone[i].cls);
	}
	arrive(o, 1, 3, 1000, 3500);
	sends(o, 20000, both, ARRAY_LEN(both));
	oracle_free(o);
	plan_free(p);
}

// A scheduler that does it wrong must be seen: FIFO instead of shares, and a deadline passed over.
static void follower_sees_errors(void **state)
{
	struct plan *p = flat_plan(2);
	struct oracle *o;

	(void)state;
	p->cls[1].ls = p->cls[2].ls = line(4 * GBIT);
	o = oracle_new(p);
	arrive(o, 1, 5, 1000, 0);
	arrive(o, 2, 5, 1000, 0);
	for (int i = 0; i < 5; i++)
		oracle_follow(o, 1, false, 100000);
	assert_true(oracle_worst(o)->ls_lead > 3.9);
	oracle_free(o);
	p->cls[1].rt = p->cls[2].rt = line(4 * GBIT);
	o = oracle_new(p);
	arrive(o, 1, 3, 1000, 0);
	arrive(o, 2, 3, 1000, 0);
	for (int i = 0; i < 6; i++)
		oracle_follow(o, i < 3 ? 1 : 2, true, 100000);
	assert_true(oracle_worst(o)->rt_late > 1.9);
	assert_true(oracle_worst(o)->rt_early > 900);
	oracle_free(o);
	plan_free(p);
}

// --- random trees ------------------------------------------------------------------------------------------------

static uint64_t random_state;

static uint64_t rnd(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t below(uint64_t n)
{
	return rnd() % n;
}

static bool chance(uint32_t percent)
{
	return below(100) < percent;
}

// A curve around `bps`: a line, or two pieces that are concave or convex. Rates and times are odd on purpose: between
// round ones, instants coincide, and a tie that two schedulers break differently is no error but looks like one.
static struct curve random_curve(uint64_t bps, uint32_t two_pieces_percent, nsec_t packet_ns)
{
	struct curve c = {.m2_bps = bps < RATE_MIN_BPS ? RATE_MIN_BPS : bps - below(bps / 50 + 1)};

	if (!chance(two_pieces_percent))
		return c;
	c.d_ns = packet_ns + below(packet_ns * 30);
	if (chance(60))
		c.m1_bps = c.m2_bps * (2 + below(4));
	else
		c.m1_bps = chance(30) ? 0 : c.m2_bps / (2 + below(4));
	if (c.m1_bps && c.m1_bps < RATE_MIN_BPS)
		c.m1_bps = RATE_MIN_BPS;
	return c;
}

static bool plan_good(const struct plan *p)
{
	struct problems out = {0};
	bool good;

	plan_check(p, "", &out);
	good = !out.errors;
	problems_free(&out);
	return good;
}

// One criterion a leaf: each packet's criterion is then known even when many come in one call.
static struct plan *random_plan(bool one_criterion)
{
	static const uint64_t rates[] = {1000000, 10000000, 100000000, GBIT, 10 * GBIT};
	uint32_t inner = (uint32_t)below(6), leaves = 2 + (uint32_t)below(chance(20) ? 63 : 10);
	struct plan *p = plan_new(1 + inner + (leaves < inner ? inner : leaves));
	uint32_t levels[64] = {0};
	nsec_t packet_ns;

	p->rate_bps = rates[below(ARRAY_LEN(rates))] + below(1000);
	p->mtu_wire = MTU;
	packet_ns = bytes_to_ns(MTU, p->rate_bps);
	p->burst_ns = packet_ns * 4 + below(packet_ns * 60);
	if (p->burst_ns > NSEC_PER_SEC)
		p->burst_ns = NSEC_PER_SEC;
	put(p, 0, 0);
	for (uint32_t i = 1; i <= inner; i++) {
		uint32_t parent = (uint32_t)below(i);

		if (levels[parent] == 3)
			parent = 0;
		levels[i] = levels[parent] + 1;
		put(p, i, parent)->ls = random_curve(p->rate_bps / (1 + below(20)), 20, packet_ns);
		if (chance(20))
			p->cls[i].ul = random_curve(p->rate_bps / (1 + below(10)), 20, packet_ns);
	}
	for (uint32_t i = inner + 1; i < p->classes; i++) {
		uint32_t first = i - inner; // the first leaves go one below each inner class: none is without children
		struct class_conf *c = put(p, i, first <= inner ? first : (uint32_t)below(inner + 1));

		make_leaf(c);
		if (chance(one_criterion ? 60 : 85))
			c->ls = random_curve(p->rate_bps / (1 + below(20)), 25, packet_ns);
		if ((!one_criterion && chance(50)) || !curve_present(&c->ls))
			c->rt = random_curve(p->rate_bps / leaves / (1 + below(3)), 50, packet_ns);
		if (curve_present(&c->ls) && chance(20))
			c->ul = random_curve(p->rate_bps / (1 + below(15)), 20, packet_ns);
	}
	p->default_class = p->classes - 1;
	while (!plan_good(p)) // too much is guaranteed
		for (uint32_t i = inner + 1; i < p->classes; i++) {
			struct curve *rt = &p->cls[i].rt;

			rt->m1_bps = rt->m1_bps > 2 * RATE_MIN_BPS ? rt->m1_bps / 2 : rt->m1_bps;
			rt->m2_bps = rt->m2_bps > 2 * RATE_MIN_BPS ? rt->m2_bps / 2 : rt->m2_bps;
		}
	return p;
}

struct world {
	const struct plan *plan;
	struct tree *tree;
	struct packet *pkt;
	struct class_stats *stats;
	struct oracle *follows, *alone;
	uint32_t *free, frees, queued[128];
	uint64_t rt_seen[128];
	bool on[128];
	uint32_t greed[128]; // packets kept queued; 0: an on/off source
	uint32_t batch;
	double service_diff; // in packets, by the depth of the class
	bool loud;
};

static bool is_leaf(const struct plan *p, uint32_t i)
{
	return p->cls[i].leaf.kind != LEAF_NONE;
}

static void arrivals(struct world *w, nsec_t now)
{
	struct pkt_list freed = {0};
	uint32_t n = 0, list[256];

	for (uint32_t c = 1; c < w->plan->classes; c++) {
		uint32_t want;

		if (!is_leaf(w->plan, c))
			continue;
		if (chance(2))
			w->on[c] = !w->on[c];
		want = w->greed[c] ? w->greed[c] - (w->queued[c] < w->greed[c] ? w->queued[c] : w->greed[c])
		       : w->on[c] && chance(30) ? 1 + (uint32_t)below(3)
						: 0;
		for (; want && w->frees && n < ARRAY_LEN(list); want--) {
			uint32_t i = w->free[--w->frees];
			uint16_t len = (uint16_t)(chance(60) ? MTU : 64 + below(MTU - 63));

			w->pkt[i] =
				(struct packet){.class_id = c, .flow = 1, .arrival = now, .len = len, .wire_len = len};
			oracle_arrive(w->follows, c, len, i, now);
			oracle_arrive(w->alone, c, len, i, now);
			w->queued[c]++;
			list[n++] = i;
		}
	}
	tree_enqueue(w->tree, list, n, now, &freed);
	assert_int_equal(freed.count, 0);
}

static uint32_t depth_of(const struct plan *p, uint32_t c)
{
	uint32_t depth = 0;

	for (; c; c = p->cls[c].parent)
		depth++;
	return depth;
}

// One dequeue call of the scheduler, followed and compared; packets sent.
static uint32_t departures(struct world *w, nsec_t now)
{
	struct pkt_list freed = {0};
	uint32_t out[32], n;
	struct oracle_sent sent;

	n = tree_dequeue(w->tree, out, w->batch, 1u << 30, now, &freed);
	assert_int_equal(freed.count, 0);
	oracle_poll(w->follows, now);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t c = w->pkt[out[i]].class_id;
		bool rt = counter_read(&w->stats[c].rt_packets) > w->rt_seen[c];

		w->rt_seen[c] += rt;
		oracle_follow(w->follows, c, rt, now);
		if (w->loud) {
			const struct oracle_worst *o = oracle_worst(w->follows);

			printf("%12llu class %2u len %4u %s late %.3f order %.1f early %.1f missed %.1f ahead %.3f ul "
			       "%.3f link %.1f unknown %llu\n",
			       (unsigned long long)now, c, w->pkt[out[i]].wire_len, rt ? "rt" : "ls", o->rt_late,
			       o->rt_order, o->rt_early, o->rt_missed, o->ls_lead, o->ul_excess, o->link_excess,
			       (unsigned long long)o->unknown);
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t c = w->pkt[out[i]].class_id;

		assert_int_equal(w->rt_seen[c], counter_read(&w->stats[c].rt_packets));
		w->free[w->frees++] = out[i];
		w->queued[c]--;
	}
	if (n < w->batch)
		oracle_rests(w->follows, now);
	for (uint32_t i = 0; i < w->batch && oracle_send(w->alone, now, &sent); i++)
		;
	for (uint32_t c = 1; c < w->plan->classes; c++) {
		double d = (double)oracle_bytes(w->follows, c) - (double)oracle_bytes(w->alone, c);

		d = (d < 0 ? -d : d) / MTU / depth_of(w->plan, c);
		if (d > w->service_diff)
			w->service_diff = d;
	}
	return n;
}

static struct world *world_new(const struct plan *plan)
{
	struct world *w = calloc(1, sizeof *w);
	struct tree_env env = {.packets = PACKETS, .stats_limit = plan->id_limit};

	w->plan = plan;
	env.pkt = w->pkt = aligned_alloc(CACHE_LINE, PACKETS * sizeof *w->pkt);
	env.stats = w->stats = calloc(plan->id_limit, sizeof *w->stats);
	w->free = malloc(PACKETS * sizeof *w->free);
	for (uint32_t i = PACKETS - 1; i > 0; i--)
		w->free[w->frees++] = i;
	w->tree = tree_new(plan, &env);
	assert_non_null(w->tree);
	w->follows = oracle_new(plan);
	w->alone = oracle_new(plan);
	return w;
}

static void world_free(struct world *w)
{
	struct pkt_list left = {0};

	tree_free(w->tree, &left);
	assert_int_equal(left.count + w->frees, PACKETS - 1);
	oracle_free(w->follows);
	oracle_free(w->alone);
	free(w->pkt);
	free(w->stats);
	free(w->free);
	free(w);
}

struct worst_of_all {
	struct oracle_worst o;
	double service_diff, service_diff_any; // trees of shares alone, and others
	uint64_t seed_late, seed_ahead, seed_ul, seed_diff;
};

static void keep(double *worst, uint64_t *seed, double value, uint64_t now_seed)
{
	if (value > *worst) {
		*worst = value;
		*seed = now_seed;
	}
}

static void one_tree(uint64_t seed, bool loud, struct worst_of_all *all)
{
	struct plan *plan;
	struct world *w;
	const struct oracle_worst *o;
	nsec_t now, packet_ns;
	uint64_t ignored;
	uint32_t batch;
	bool history = false;

	random_state = seed * 7919;
	batch = chance(50) ? 1 : 32;
	plan = random_plan(batch > 1);
	w = world_new(plan);
	w->loud = loud;
	w->batch = batch;
	packet_ns = bytes_to_ns(MTU, plan->rate_bps);
	now = 1000 + below(NSEC_PER_SEC);
	for (uint32_t c = 1; c < plan->classes; c++) {
		history |= curve_present(&plan->cls[c].ul) || curve_present(&plan->cls[c].rt);
		w->greed[c] = chance(40) ? 4 + (uint32_t)below(8) : 0;
	}
	for (uint32_t i = 0, sent = 0; sent < SENT_A_TREE && i < 4 * SENT_A_TREE; i++) {
		const char *wrong;
		nsec_t step;
		uint32_t n;

		// Late, but within what the shaper may catch up: link time that is lost for good breaks guarantees.
		step = below(packet_ns * (chance(5) ? 20 : 3));
		now += step < plan->burst_ns ? step : plan->burst_ns;
		if (chance(80))
			arrivals(w, now);
		do {
			n = departures(w, now);
			sent += n;
		} while (n == w->batch);
		if (chance(5)) {
			struct pkt_list freed = {0};

			tree_maintain(w->tree, now, &freed);
			assert_int_equal(freed.count, 0);
		}
		wrong = tree_check(w->tree);
		if (wrong)
			fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
	}
	o = oracle_worst(w->follows);
	keep(&all->o.rt_late, &all->seed_late, o->rt_late, seed);
	keep(&all->o.ls_lead, &all->seed_ahead, o->ls_lead, seed);
	keep(&all->o.ul_excess, &all->seed_ul, o->ul_excess, seed);
	keep(history ? &all->service_diff_any : &all->service_diff, history ? &ignored : &all->seed_diff,
	     w->service_diff, seed);
	keep(&all->o.rt_order, &ignored, o->rt_order, seed);
	keep(&all->o.rt_early, &ignored, o->rt_early, seed);
	keep(&all->o.rt_missed, &ignored, o->rt_missed, seed);
	keep(&all->o.link_excess, &ignored, o->link_excess, seed);
	all->o.packets += o->packets;
	all->o.rt_packets += o->rt_packets;
	all->o.unknown += o->unknown;
	all->o.idle += o->idle;
	if (o->unknown)
		print_message("seed %llu: %llu packets that no rule explains\n", (unsigned long long)seed,
			      (unsigned long long)o->unknown);
	world_free(w);
	plan_free(plan);
}

static uint64_t first_seed = 1, trees = TREES;
static bool loud;

static void random_trees(void **state)
{
	struct worst_of_all all = {0};

	(void)state;
	for (uint64_t s = first_seed; s < first_seed + trees; s++)
		one_tree(s, loud, &all);
	print_message("%llu trees from seed %llu, %llu packets, %llu by rt\n", (unsigned long long)trees,
		      (unsigned long long)first_seed, (unsigned long long)all.o.packets,
		      (unsigned long long)all.o.rt_packets);
	print_message("late %.4f packets (seed %llu), ahead %.4f (seed %llu), above ul %.4f (seed %llu)\n",
		      all.o.rt_late, (unsigned long long)all.seed_late, all.o.ls_lead,
		      (unsigned long long)all.seed_ahead, all.o.ul_excess, (unsigned long long)all.seed_ul);
	print_message("service apart %.4f packets a level (seed %llu), with rt or ul %.4f\n", all.service_diff,
		      (unsigned long long)all.seed_diff, all.service_diff_any);
	print_message(
		"order %.2f bytes, early %.2f bytes, rt missed %.2f bytes, link early %.2f ns, idle %llu, unexplained %llu\n",
		all.o.rt_order, all.o.rt_early, all.o.rt_missed, all.o.link_excess, (unsigned long long)all.o.idle,
		(unsigned long long)all.o.unknown);
	assert_true(all.o.rt_packets > 100 || loud);
	// Whole nanoseconds are 1.25 bytes each at 10 Gbit/s, for clock, curve and virtual time.
	assert_true(all.o.rt_order <= 8 && all.o.rt_early <= 8 && all.o.rt_missed <= 8);
	assert_true(all.o.rt_late <= 1.001);
	assert_true(all.o.ls_lead <= 1.01);
	// Two schedulers, each within a packet a level of the ideal. With rt or ul they may part for long over a nanosecond
	// (a leaf that just empties, or just does not, begins a curve anew): there only following measures anything.
	assert_true(all.service_diff <= 2);
	assert_true(all.o.ul_excess <= 1.001);
	assert_true(all.o.link_excess <= 1000); // of up to a minute: the clock's rounding, well below 1e-6
	assert_int_equal(all.o.unknown, 0);
	assert_int_equal(all.o.idle, 0);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand_shares), cmocka_unit_test(by_hand_concave),
		cmocka_unit_test(by_hand_convex), cmocka_unit_test(by_hand_upper_limit),
		cmocka_unit_test(by_hand_waking), cmocka_unit_test(follower_sees_errors),
		cmocka_unit_test(random_trees),
	};

	if (getenv("WEIR_LONG"))
		trees = TREES_LONG;
	if (argc > 1) {
		loud = true;
		trees = 1;
		first_seed = strtoull(argv[1], NULL, 10);
	}
	return cmocka_run_group_tests_name("hfsc_oracle", tests, NULL, NULL);
}
