// SPDX-License-Identifier: GPL-2.0-or-later
// Plans: every rule of plan_check by one broken plan each, the sums of admission, ids over revisions, wire lengths,
// and that large and senseless plans are checked quickly and without harm.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "sched/plan.h"

#define MBIT 1000000ull
#define GBIT 1000000000ull
#define MS NSEC_PER_MSEC

static struct curve line(uint64_t bps)
{
	return (struct curve){.m2_bps = bps};
}

static const struct leaf_conf fq_codel = {LEAF_FQ_CODEL, 10240, 16384, 1514, 5 * MS, 100 * MS, TIME_NEVER, true};

static struct class_conf *put(struct plan *p, uint32_t i, const char *name, uint32_t parent)
{
	snprintf(p->cls[i].name, CLASS_NAME_MAX, "%s", name);
	p->cls[i].parent = parent;
	return &p->cls[i];
}

static void leaf(struct plan *p, uint32_t i, const char *name, uint32_t parent, uint64_t rt, uint64_t ls)
{
	struct class_conf *c = put(p, i, name, parent);

	c->rt = line(rt);
	c->ls = line(ls);
	c->leaf = fq_codel;
}

// root 1 Gbit/s { inner { a, b }, c, idle }: nothing wrong with it.
enum { ROOT, INNER, A, B, C, IDLE, CLASSES };

static struct plan *good_plan(void)
{
	struct plan *p = plan_new(CLASSES);

	assert_non_null(p);
	p->rate_bps = GBIT;
	p->burst_ns = MS;
	p->mtu_wire = 1514;
	p->default_class = IDLE;
	put(p, ROOT, "root", 0);
	put(p, INNER, "inner", ROOT)->ls = line(600 * MBIT);
	leaf(p, A, "a", INNER, 100 * MBIT, 200 * MBIT);
	leaf(p, B, "b", INNER, 0, 400 * MBIT);
	leaf(p, C, "c", ROOT, 200 * MBIT, 300 * MBIT);
	leaf(p, IDLE, "idle", ROOT, 0, 100 * MBIT);
	return p;
}

static bool has(const struct problems *out, const char *path, const char *text)
{
	for (uint32_t i = 0; i < out->kept; i++)
		if (!strcmp(out->list[i].path, path) && strstr(out->list[i].text, text))
			return true;
	for (uint32_t i = 0; i < out->kept; i++)
		print_message("have %s: %s\n", out->list[i].path, out->list[i].text);
	print_message("want %s: %s\n", path, text);
	return false;
}

// Checks and frees the plan: exactly these numbers of errors and warnings, one of them at `path` with `text`.
static void expect(struct plan *p, uint32_t errors, uint32_t warnings, const char *path, const char *text)
{
	struct problems out = {0};

	plan_check(p, "/shapers/wan", &out);
	assert_true(!path || has(&out, path, text));
	for (uint32_t i = 0; i < out.kept && (out.errors != errors || out.warnings != warnings); i++)
		print_message("have %s: %s\n", out.list[i].path, out.list[i].text);
	assert_int_equal(out.errors, errors);
	assert_int_equal(out.warnings, warnings);
	problems_free(&out);
	plan_free(p);
}

static void good(void **state)
{
	(void)state;
	expect(good_plan(), 0, 0, NULL, NULL);
}

static void shape_of_the_tree(void **state)
{
	struct plan *p;

	(void)state;
	p = good_plan();
	p->cls[INNER].parent = A;
	expect(p, 1, 0, "/shapers/wan/classes/inner/parent", "inner -> a -> inner");
	p = good_plan();
	p->cls[C].parent = C;
	expect(p, 1, 0, "/shapers/wan/classes/c/parent", "cycle (c -> c)");
	p = good_plan();
	p->cls[B].parent = 4711;
	expect(p, 1, 0, "/shapers/wan/classes/b/parent", "class 4711 does not exist, allowed 0 to 5");
	p = good_plan();
	snprintf(p->cls[B].name, CLASS_NAME_MAX, "a");
	expect(p, 1, 0, "/shapers/wan/classes/a", "used twice");
	p = good_plan();
	snprintf(p->cls[B].name, CLASS_NAME_MAX, "root");
	expect(p, 1, 0, "/shapers/wan/classes/root", "used twice");
	p = good_plan();
	p->default_class = 0;
	expect(p, 1, 0, "/shapers/wan/default", "no default class");
	p = good_plan();
	p->default_class = 99;
	expect(p, 1, 0, "/shapers/wan/default", "no default class");
	p = good_plan();
	p->default_class = INNER;
	expect(p, 1, 0, "/shapers/wan/default", "\"inner\" has children");
	p = good_plan();
	p->cls[A].parent = p->cls[B].parent = ROOT;
	expect(p, 1, 1, "/shapers/wan/classes/inner/leaf", "needs a queue"); // and c has less of a share now
	p = plan_new(1);
	put(p, ROOT, "root", 0);
	expect(p, 2, 0, "/shapers/wan/classes", "no class below its root");
	expect(plan_new(0), 1, 0, "/shapers/wan/classes", "0 classes");
}

static void depth(void **state)
{
	(void)state;
	for (uint32_t deep = CLASS_DEPTH_MAX; deep <= CLASS_DEPTH_MAX + 3; deep++) {
		struct plan *p = plan_new(deep + 1);
		char name[16];

		p->rate_bps = GBIT;
		p->default_class = deep;
		put(p, 0, "root", 0);
		for (uint32_t i = 1; i < deep; i++) {
			snprintf(name, sizeof name, "n%u", i);
			put(p, i, name, i - 1)->ls = line(MBIT);
		}
		leaf(p, deep, "leaf", deep - 1, 0, MBIT);
		if (deep <= CLASS_DEPTH_MAX)
			expect(p, 0, 0, NULL, NULL);
		else
			expect(p, 1, 0,
			       deep == CLASS_DEPTH_MAX + 1 ? "/shapers/wan/classes/leaf/parent"
							   : "/shapers/wan/classes/n9/parent",
			       "9 levels below the root, allowed are 8");
	}
}

static void kinds_of_classes(void **state)
{
	struct plan *p;

	(void)state;
	p = good_plan();
	p->cls[INNER].rt = line(MBIT);
	expect(p, 1, 0, "/shapers/wan/classes/inner/rt", "on a class with 2 children");
	p = good_plan();
	p->cls[INNER].leaf = fq_codel;
	expect(p, 1, 0, "/shapers/wan/classes/inner/leaf", "on a class with 2 children");
	p = good_plan();
	p->cls[INNER].ls = line(0);
	expect(p, 1, 1, "/shapers/wan/classes/inner/ls",
	       "needs a share"); // the leaf with a guarantee then has no fair share
	p = good_plan();
	p->cls[C].ls = line(0);
	p->cls[C].ul = line(500 * MBIT);
	expect(p, 1, 0, "/shapers/wan/classes/c/ul", "without a share");
	p = good_plan();
	p->cls[B].ls = line(0);
	expect(p, 1, 0, "/shapers/wan/classes/b", "would never send");
	p = good_plan();
	p->cls[B].leaf.kind = LEAF_NONE;
	expect(p, 1, 0, "/shapers/wan/classes/b/leaf", "needs a queue");
	p = good_plan();
	p->cls[B].leaf.kind = 77;
	expect(p, 1, 0, "/shapers/wan/classes/b/leaf", "kind 77");
	p = good_plan();
	p->cls[ROOT].ls = line(MBIT);
	expect(p, 1, 0, "/shapers/wan", "root has a curve");
	p = good_plan();
	p->cls[ROOT].leaf = fq_codel;
	expect(p, 1, 0, "/shapers/wan", "root has a queue");
}

static void ranges(void **state)
{
	struct plan *p;

	(void)state;
	p = good_plan();
	p->cls[B].ls = line(999);
	expect(p, 1, 0, "/shapers/wan/classes/b/ls", "m2 of 999 bit/s is out of range, allowed 1 kbit/s to 400 Gbit/s");
	p = good_plan();
	p->cls[B].ls = line(400 * GBIT + 1);
	expect(p, 1, 1, "/shapers/wan/classes/b/ls", "m2 of 400.000000001 Gbit/s");
	p = good_plan();
	p->cls[B].ls = (struct curve){10 * MBIT, 61 * NSEC_PER_SEC, 20 * MBIT};
	expect(p, 1, 0, "/shapers/wan/classes/b/ls", "d of 61 s is out of range, allowed 0 to 60 s");
	p = good_plan();
	p->cls[B].ls = (struct curve){10 * MBIT, 0, 20 * MBIT};
	expect(p, 1, 0, "/shapers/wan/classes/b/ls", "m1 of 10 Mbit/s has no duration");
	p = good_plan();
	p->cls[B].rt = (struct curve){0, MS, 0};
	expect(p, 1, 0, "/shapers/wan/classes/b/rt", "delay of 1 ms without a rate");
	p = good_plan();
	p->cls[B].rt = (struct curve){10 * MBIT, MS, 0};
	expect(p, 1, 0, "/shapers/wan/classes/b/rt", "m2 of 0 bit/s");
	p = good_plan();
	p->cls[B].rt = (struct curve){0, MS, 10 * MBIT}; // convex with a flat start is fine
	expect(p, 0, 0, NULL, NULL);
	p = good_plan();
	p->rate_bps = 999;
	expect(p, 2, 2, "/shapers/wan/rate", "999 bit/s");
	p = good_plan();
	p->burst_ns = 2 * NSEC_PER_SEC;
	expect(p, 1, 0, "/shapers/wan/burst", "2 s is out of range");
	p = good_plan();
	p->wire = (struct wire){-65, 257, 3};
	expect(p, 3, 0, "/shapers/wan/overhead", "-65 is out of range, allowed -64 to 256");
	p = good_plan();
	p->cls[B].leaf.quantum = 0;
	p->cls[B].leaf.limit_packets = 0;
	p->cls[B].leaf.limit_frames = 1u << 30;
	p->cls[B].leaf.target_ns = 200 * MS;
	expect(p, 4, 0, "/shapers/wan/classes/b/leaf/target", "200 ms is above the interval of 100 ms");
	p = good_plan();
	p->cls[B].id = 6;
	expect(p, 1, 0, "/shapers/wan/classes/b", "id 6 is out of range, allowed below 6");
	p = good_plan();
	p->cls[B].id = 2;
	expect(p, 1, 0, "/shapers/wan/classes/b", "id 2 is used twice");
	p = good_plan();
	p->id_limit = UINT32_MAX;
	expect(p, 1, 0, "/shapers/wan", "id limit");
}

static void names(void **state)
{
	struct plan *p;

	(void)state;
	p = good_plan();
	p->cls[B].name[0] = 0;
	expect(p, 1, 0, "/shapers/wan/classes/3", "name \"\" is not allowed");
	p = good_plan();
	snprintf(p->cls[B].name, CLASS_NAME_MAX, "x/y~z");
	expect(p, 1, 0, "/shapers/wan/classes/x~1y~0z", "not allowed");
	p = good_plan();
	memset(p->cls[B].name, 'b', CLASS_NAME_MAX); // no terminator
	expect(p, 1, 0, "/shapers/wan/classes/3", "1 to 47 letters");
	p = good_plan();
	snprintf(p->cls[B].name, CLASS_NAME_MAX, "\n\x80");
	expect(p, 1, 0, "/shapers/wan/classes/??", "name \"??\"");
	p = good_plan();
	snprintf(p->cls[B].name, CLASS_NAME_MAX, "1:10-x_y.z");
	expect(p, 0, 0, NULL, NULL);
}

static void admission(void **state)
{
	struct plan *p;

	(void)state;
	p = good_plan();
	p->cls[C].rt = line(900 * MBIT); // + a: 100, exactly the link
	expect(p, 0, 1, "/shapers/wan/classes/c/rt", "900 Mbit/s is above the class's fair share (ls) of 300 Mbit/s");
	p = good_plan();
	p->cls[C].rt = line(900 * MBIT + 1);
	expect(p, 1, 1, "/shapers/wan/classes", "add up to 1.000000001 Gbit/s, allowed 1 Gbit/s");
	p = good_plan();
	p->cls[C].rt = line(900 * MBIT + 1);
	p->rate_bps = 0; // unshaped: no promise to break
	expect(p, 0, 0, NULL, NULL);
	// First segments: 950 + 100 for 10 ms is too much, though the second ones are small.
	p = good_plan();
	p->cls[C].rt = (struct curve){950 * MBIT, 10 * MS, 10 * MBIT};
	expect(p, 1, 0, "/shapers/wan/classes", "add up to 1.05 Gbit/s over the first 10 ms, allowed 1 Gbit/s");
	// A convex guarantee lets a concave one pass while it is flat, and no longer.
	p = good_plan();
	p->cls[A].rt = (struct curve){0, 10 * MS, 100 * MBIT};
	p->cls[C].rt = (struct curve){GBIT, 10 * MS, 900 * MBIT};
	expect(p, 0, 1, NULL, NULL);
	p = good_plan();
	p->cls[A].rt = (struct curve){0, 10 * MS, 100 * MBIT};
	p->cls[C].rt = (struct curve){GBIT, 11 * MS, 900 * MBIT};
	expect(p, 1, 1, "/shapers/wan/classes", "over the first 11 ms");
	p = good_plan();
	p->cls[INNER].ul = line(99 * MBIT);
	expect(p, 0, 2, "/shapers/wan/classes/inner/ul",
	       "the classes below add up to 100 Mbit/s, the upper limit is 99");
	p = good_plan();
	p->cls[A].ul = (struct curve){10 * MBIT, 5 * MS, 150 * MBIT};
	expect(p, 0, 1, "/shapers/wan/classes/a/ul", "over the first 5 ms, the upper limit is 10 Mbit/s");
	// The largest numbers there are do not overflow the sums.
	p = good_plan();
	p->cls[A].rt = p->cls[C].rt = (struct curve){400 * GBIT, 60 * NSEC_PER_SEC, 400 * GBIT - 1};
	expect(p, 1, 2, "/shapers/wan/classes", "add up to 800 Gbit/s over the first 60 s");
}

static void all_at_once(void **state)
{
	struct plan *p = good_plan();
	struct problems out = {0};

	(void)state;
	p->default_class = 0;
	p->cls[INNER].rt = line(MBIT);
	p->cls[B].ls = line(0);
	p->cls[B].ul = line(MBIT);
	p->cls[C].rt = line(2 * GBIT);
	p->cls[IDLE].parent = IDLE;
	plan_check(p, "/shapers/wan", &out);
	assert_true(has(&out, "/shapers/wan/default", "no default class"));
	assert_true(has(&out, "/shapers/wan/classes/inner/rt", "on leaves only"));
	assert_true(has(&out, "/shapers/wan/classes/b/ul", "without a share"));
	assert_true(has(&out, "/shapers/wan/classes/b", "never send"));
	assert_true(has(&out, "/shapers/wan/classes", "add up to 2.1 Gbit/s"));
	assert_true(has(&out, "/shapers/wan/classes/idle/parent", "cycle"));
	problems_free(&out);
	plan_free(p);
}

static void rates_to_count_on(void **state)
{
	struct plan *p = good_plan();
	uint64_t rate[CLASSES];

	(void)state;
	assert_int_equal(plan_class_rate(p, ROOT), GBIT);
	assert_int_equal(plan_class_rate(p, INNER), 600 * MBIT);
	assert_int_equal(plan_class_rate(p, A), 200 * MBIT);
	assert_int_equal(plan_class_rate(p, C), 300 * MBIT);
	p->cls[INNER].ul = line(300 * MBIT);
	assert_int_equal(plan_class_rate(p, B), 200 * MBIT);
	assert_int_equal(plan_class_rate(p, A), 100 * MBIT);
	p->cls[A].rt = line(150 * MBIT); // a guarantee above the share counts
	assert_int_equal(plan_class_rate(p, A), 150 * MBIT);
	assert_true(plan_class_rates(p, rate));
	for (uint32_t i = 0; i < CLASSES; i++)
		assert_int_equal(rate[i], plan_class_rate(p, i));
	// 1.5 frames of 1,514 bytes at 500 kbit/s are 36.336 ms; at 200 Mbit/s the configured 5 ms are more.
	assert_int_equal(plan_codel_target(p, B), 5 * MS);
	p->rate_bps = 500000;
	p->cls[INNER].ul = line(0);
	p->cls[A].ls = line(0);
	p->cls[C].ls = p->cls[IDLE].ls = line(0);
	assert_int_equal(plan_codel_target(p, B), 36336000);
	plan_free(p);
}

static void ids(void **state)
{
	struct plan *p[8];
	uint32_t a_id, b_id;

	(void)state;
	p[0] = good_plan();
	assert_true(plan_carry_ids(p[0], NULL));
	b_id = p[0]->cls[B].id;
	// The same classes in another order keep their ids.
	p[1] = good_plan();
	struct class_conf swap = p[1]->cls[A];

	p[1]->cls[A] = p[1]->cls[C];
	p[1]->cls[C] = swap;
	assert_true(plan_carry_ids(p[1], p[0]));
	a_id = p[0]->cls[A].id;
	assert_int_equal(p[1]->cls[C].id, a_id);
	assert_int_equal(p[1]->cls[A].id, p[0]->cls[C].id);
	assert_int_equal(p[1]->id_limit, CLASSES);
	// b is renamed: its id rests for two further revisions, the new name gets a fresh one.
	for (uint32_t i = 2; i < 8; i++) {
		struct problems out = {0};

		p[i] = good_plan();
		snprintf(p[i]->cls[B].name, CLASS_NAME_MAX, "b%u", i);
		assert_true(plan_carry_ids(p[i], p[i - 1]));
		assert_int_equal(p[i]->cls[A].id, a_id);
		if (i < 5)
			assert_int_equal(p[i]->cls[B].id, CLASSES + i - 2);
		plan_check(p[i], "", &out);
		assert_int_equal(out.errors, 0);
		problems_free(&out);
	}
	assert_int_equal(p[5]->cls[B].id, b_id);    // retired by revision 2; 3 and 4 went by
	assert_int_equal(p[6]->cls[B].id, CLASSES); // that of b2, retired by revision 3
	assert_int_equal(p[7]->id_limit, CLASSES + 3);
	// A name that comes back while its id rests is a new class.
	for (uint32_t i = 0; i < 8; i++)
		plan_free(p[i]);
}

static void wire(void **state)
{
	static const struct {
		struct wire w;
		uint32_t len, expected;
	} table[] = {
		{{0, 0, LINK_ETHERNET}, 60, 60},
		{{24, 84, LINK_ETHERNET}, 14, 84},
		{{24, 84, LINK_ETHERNET}, 1514, 1538},
		{{-14, 0, LINK_ETHERNET}, 1514, 1500},
		{{-64, 0, LINK_ETHERNET}, 20, 1},
		{{0, 0, LINK_ATM}, 48, 53},
		{{0, 0, LINK_ATM}, 49, 106},
		{{40, 0, LINK_ATM}, 1500, 33 * 53},
		{{0, 0, LINK_PTM}, 64, 65},
		{{0, 0, LINK_PTM}, 65, 67},
		{{22, 0, LINK_PTM}, 1518, 1565},
		{{-20, 64, LINK_ATM}, 60, 106},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		assert_int_equal(wire_length(&table[i].w, table[i].len), table[i].expected);
}

// CPU time, so that a busy machine does not fail the test.
static double seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static struct plan *large_plan(uint32_t leaves)
{
	struct plan *p = plan_new(leaves + 1);
	char name[CLASS_NAME_MAX];

	put(p, 0, "root", 0);
	p->rate_bps = 400 * GBIT;
	p->default_class = 1;
	for (uint32_t i = 1; i <= leaves; i++) {
		snprintf(name, sizeof name, "customer-%u", i);
		leaf(p, i, name, 0, 0, 13107200);
		p->cls[i].ul = line(13107200);
		p->cls[i].rt = (struct curve){2000, i * 1000ull, 1000};
	}
	return p;
}

static void large(void **state)
{
	static const uint32_t sizes[] = {13706, 200000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct plan *p = large_plan(sizes[i]), *q = large_plan(sizes[i]);
		struct problems out = {0};
		uint64_t *rate = malloc((sizes[i] + 1) * sizeof *rate);
		double start = seconds();

		plan_check(p, "/shapers/isp", &out);
		assert_true(plan_carry_ids(q, p));
		assert_true(plan_class_rates(p, rate));
		print_message("%u leaves: %.3f s\n", sizes[i], seconds() - start);
		assert_true(seconds() - start < 5); // quadratic would be minutes
		assert_int_equal(out.errors, 0);
		free(rate);
		plan_free(p);
		plan_free(q);
	}
}

// One chain of parents through all classes, towards the root and into a cycle: no walk may be quadratic.
static void long_chains(void **state)
{
	(void)state;
	for (int cycle = 0; cycle < 2; cycle++) {
		struct plan *p = large_plan(200000);
		struct problems out = {0};
		double start = seconds();

		for (uint32_t i = 1; i < p->classes; i++)
			p->cls[i].parent = i + 1 < p->classes ? i + 1 : cycle ? 1 : 0;
		plan_check(p, "/shapers/isp", &out);
		assert_true(seconds() - start < 5);
		assert_true(out.errors > 0);
		problems_free(&out);
		plan_free(p);
	}
}

static void garbage(void **state)
{
	uint64_t x = 12345;

	(void)state;
	print_message("seed 12345\n");
	for (int round = 0; round < 2000; round++) {
		struct plan *p = plan_new((uint32_t)(round % 40 + 1));
		struct problems out = {0};
		uint8_t *bytes = (uint8_t *)p->cls;

		for (size_t i = 0; i < p->classes * sizeof *p->cls; i++) {
			x = x * 6364136223846793005ull + 1442695040888963407ull;
			bytes[i] = (uint8_t)(x >> 56) & (round & 1 ? 0xff : 0x03);
		}
		for (uint32_t i = 0; i < p->classes && round % 3; i++)
			p->cls[i].parent %= p->classes + 1;
		p->rate_bps = x;
		p->default_class = (uint32_t)(x >> 7) % 50;
		plan_check(p, "", &out);
		assert_true(out.errors > 0);
		problems_free(&out);
		plan_free(p);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(shape_of_the_tree),
		cmocka_unit_test(depth),
		cmocka_unit_test(kinds_of_classes),
		cmocka_unit_test(ranges),
		cmocka_unit_test(names),
		cmocka_unit_test(admission),
		cmocka_unit_test(all_at_once),
		cmocka_unit_test(rates_to_count_on),
		cmocka_unit_test(ids),
		cmocka_unit_test(wire),
		cmocka_unit_test(large),
		cmocka_unit_test(long_chains),
		cmocka_unit_test(garbage),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
