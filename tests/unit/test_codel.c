// SPDX-License-Identifier: GPL-2.0-or-later
// CoDel's verdicts, one by one. The model beside it is the loop of RFC 8289 section 5 as printed there, over a list of
// packets; both must drop the same packets at the same times.
#include "tests/unit/tree_world.h"

#include <math.h>

#include "sched/codel.h"

static const struct codel_conf conf = {
	.target = 5 * MSEC, .interval = 100 * MSEC, .ce_threshold = TIME_NEVER, .mtu = 1514};

enum { LONG = 100000 }; // bytes left behind: more than one packet

static enum codel_verdict late(struct codel *s, nsec_t now)
{
	return codel_judge(s, &conf, now, 10 * MSEC, LONG, false);
}

static void test_step_is_exact(void **state)
{
	for (uint32_t count = 1; count < 200000; count = count < 2000 ? count + 1 : count * 3) {
		double exact = 1e8 / sqrt(count);
		double got = (double)codel_step(100 * MSEC, count);

		assert_true(fabs(got - exact) <= 1.0 + exact * 1e-9);
	}
	assert_int_equal(codel_step(60 * NSEC_PER_SEC, 4), 30 * NSEC_PER_SEC);
}

static void test_first_drop_after_an_interval(void **state)
{
	struct codel s = {0};
	nsec_t t = 1000 * MSEC;

	assert_int_equal(late(&s, t), CODEL_PASS);
	assert_int_equal(late(&s, t + 100 * MSEC - 1), CODEL_PASS);
	assert_int_equal(late(&s, t + 100 * MSEC), CODEL_DROP);
	assert_int_equal(s.drop_next, t + 200 * MSEC);
	assert_int_equal(late(&s, t + 100 * MSEC), CODEL_PASS); // the one behind it
	assert_int_equal(late(&s, t + 200 * MSEC - 1), CODEL_PASS);
	assert_int_equal(late(&s, t + 200 * MSEC), CODEL_DROP);
	assert_int_equal(late(&s, t + 200 * MSEC), CODEL_PASS);
	assert_int_equal(s.drop_next, t + 200 * MSEC + codel_step(100 * MSEC, 2));
}

static void test_below_target_or_one_packet_ends_it(void **state)
{
	struct codel s = {0};
	nsec_t t = 1000 * MSEC;

	late(&s, t);
	assert_int_equal(late(&s, t + 100 * MSEC), CODEL_DROP);
	assert_int_equal(codel_judge(&s, &conf, t + 101 * MSEC, 10 * MSEC, 1514, false), CODEL_PASS);
	assert_false(codel_alert(&s));
	late(&s, t + 102 * MSEC);
	assert_int_equal(codel_judge(&s, &conf, t + 300 * MSEC, 5 * MSEC - 1, LONG, false), CODEL_PASS);
	assert_false(codel_alert(&s));
}

// Drops until count is n, then a calm; the state before a new dropping period, whose verdict is asked for at `again`.
static struct codel after_drops(uint32_t n, nsec_t *calm)
{
	struct codel s = {0};
	nsec_t t = 1000 * MSEC;

	late(&s, t);
	for (t += 100 * MSEC; s.count < n; t = s.drop_next) {
		late(&s, t); // drops
		late(&s, t); // moves drop_next
	}
	codel_judge(&s, &conf, t, MSEC, LONG, false);
	assert_false(codel_alert(&s));
	*calm = t;
	return s;
}

static void test_memory_of_sixteen_intervals(void **state)
{
	static const int off[] = {-1, 0, 1};

	for (uint32_t k = 0; k < ARRAY_LEN(off); k++) {
		nsec_t calm;
		struct codel s = after_drops(6, &calm);
		nsec_t again = s.drop_next + 1600 * MSEC + (nsec_t)(int64_t)off[k];

		assert_int_equal(s.last_count, 1);
		late(&s, again - 100 * MSEC);
		assert_int_equal(late(&s, again), CODEL_DROP);
		assert_int_equal(s.count, off[k] < 0 ? 5 : 1); // count - last_count, or anew
		assert_int_equal(s.last_count, s.count);
		assert_int_equal(s.drop_next, again + codel_step(100 * MSEC, s.count));
	}
}

static void test_memory_needs_two_drops(void **state)
{
	for (uint32_t n = 2; n <= 3; n++) {
		nsec_t calm;
		struct codel s = after_drops(n, &calm);

		late(&s, calm + 10 * MSEC);
		assert_int_equal(late(&s, calm + 110 * MSEC), CODEL_DROP);
		assert_int_equal(s.count, n == 2 ? 1 : 2);
	}
}

static void test_marks_instead_of_drops(void **state)
{
	struct codel_conf ecn = conf;
	struct codel s = {0};
	nsec_t t = 1000 * MSEC;

	ecn.ecn = 1;
	assert_int_equal(codel_judge(&s, &ecn, t, 10 * MSEC, LONG, true), CODEL_PASS);
	assert_int_equal(codel_judge(&s, &ecn, t + 100 * MSEC, 10 * MSEC, LONG, true), CODEL_MARK);
	assert_int_equal(codel_judge(&s, &ecn, t + 200 * MSEC, 10 * MSEC, LONG, true), CODEL_MARK);
	assert_int_equal(s.drop_next, t + 200 * MSEC + codel_step(100 * MSEC, 2));
	assert_int_equal(codel_judge(&s, &ecn, s.drop_next, 10 * MSEC, LONG, false), CODEL_DROP); // not capable
}

static void test_flood_that_ignores_marks_is_dropped(void **state)
{
	struct codel_conf ecn = conf;
	struct codel s = {0};
	uint32_t marks = 0, drops = 0;

	ecn.ecn = 1;
	for (nsec_t t = 1000 * MSEC; t < 3000 * MSEC; t += MSEC) {
		enum codel_verdict v = codel_judge(&s, &ecn, t, 60 * MSEC, LONG, true);

		marks += v == CODEL_MARK;
		drops += v == CODEL_DROP;
	}
	assert_true(drops > 20 && marks < 5);
}

static void test_ce_threshold_marks_all_above_it(void **state)
{
	struct codel_conf ce = conf;
	struct codel s = {0};

	ce.ce_threshold = MSEC;
	assert_int_equal(codel_judge(&s, &ce, 1000 * MSEC, MSEC + 1, LONG, true), CODEL_MARK);
	assert_int_equal(codel_judge(&s, &ce, 1000 * MSEC, MSEC, LONG, true), CODEL_PASS);
	assert_int_equal(codel_judge(&s, &ce, 1000 * MSEC, MSEC + 1, LONG, false), CODEL_PASS);
}

// --- the RFC's loop --------------------------------------------------------------------------------------------

enum { LOAD = 20000 };

struct load {
	nsec_t arrival[LOAD];
	uint32_t head, tail;
};

struct rfc {
	nsec_t first_above, drop_next;
	uint32_t count, lastcount;
	bool dropping;
};

static nsec_t law(nsec_t t, uint32_t count)
{
	return t + codel_step(conf.interval, count);
}

// Takes a packet; its index, or LOAD if there is none. *ok: it may be dropped.
static uint32_t rfc_take(struct rfc *r, struct load *q, nsec_t now, bool *ok)
{
	uint32_t p = q->head;

	*ok = false;
	if (q->head == q->tail) {
		r->first_above = 0;
		return LOAD;
	}
	q->head++;
	if (now - q->arrival[p] < conf.target || (q->tail - q->head) * 1000 <= conf.mtu)
		r->first_above = 0;
	else if (!r->first_above)
		r->first_above = now + conf.interval;
	else if (now >= r->first_above)
		*ok = true;
	return p;
}

static uint32_t rfc_dequeue(struct rfc *r, struct load *q, nsec_t now)
{
	uint32_t delta = r->count - r->lastcount, p;
	bool ok;

	p = rfc_take(r, q, now, &ok);
	if (p == LOAD) {
		r->dropping = false;
		return p;
	}
	if (r->dropping) {
		if (!ok)
			r->dropping = false;
		while (now >= r->drop_next && r->dropping) {
			r->count++;
			p = rfc_take(r, q, now, &ok);
			if (!ok)
				r->dropping = false;
			else
				r->drop_next = law(r->drop_next, r->count);
		}
	} else if (ok) {
		p = rfc_take(r, q, now, &ok);
		r->dropping = true;
		r->count = delta > 1 && now - r->drop_next < 16 * conf.interval ? delta : 1;
		r->drop_next = law(now, r->count);
		r->lastcount = r->count;
	}
	return p;
}

static uint32_t own_dequeue(struct codel *s, struct load *q, nsec_t now)
{
	while (q->head != q->tail) {
		uint32_t p = q->head++;

		if (codel_judge(s, &conf, now, now - q->arrival[p], (q->tail - q->head) * 1000, false) != CODEL_DROP)
			return p;
	}
	codel_emptied(s);
	return LOAD;
}

// A queue fed in waves, served at a steady rate.
static void test_same_packets_as_the_rfc(void **state)
{
	static struct load a, b;
	struct rfc r = {0};
	struct codel s = {0};
	struct world w = {.seed = 99};
	nsec_t now = 10 * NSEC_PER_SEC;

	a.head = a.tail = b.head = b.tail = 0;
	while (a.tail < LOAD - 100) {
		uint32_t burst = world_random(&w, a.tail / 1000 % 3 ? 4 : 2), got;

		for (uint32_t k = 0; k < burst; k++) {
			a.arrival[a.tail++] = now;
			b.arrival[b.tail++] = now;
		}
		now += MSEC / 2 + world_random(&w, (uint32_t)MSEC);
		got = rfc_dequeue(&r, &a, now);
		assert_int_equal(own_dequeue(&s, &b, now), got);
		assert_int_equal(a.head, b.head);
		assert_int_equal(s.count, r.count);
	}
	assert_true(r.count > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step_is_exact),
		cmocka_unit_test(test_first_drop_after_an_interval),
		cmocka_unit_test(test_below_target_or_one_packet_ends_it),
		cmocka_unit_test(test_memory_of_sixteen_intervals),
		cmocka_unit_test(test_memory_needs_two_drops),
		cmocka_unit_test(test_marks_instead_of_drops),
		cmocka_unit_test(test_flood_that_ignores_marks_is_dropped),
		cmocka_unit_test(test_ce_threshold_marks_all_above_it),
		cmocka_unit_test(test_same_packets_as_the_rfc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
