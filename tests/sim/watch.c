// SPDX-License-Identifier: GPL-2.0-or-later
// Expectations: what each one counts while packets leave, and its verdict at the end. Times are those of the dequeue
// call that handed the packet out; a rate is wire bytes over the expectation's own time.
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
	uint64_t bytes, of_bytes, packets;
	uint64_t window_bytes, window_min, window_max;
	nsec_t window_start, last, gap;
	nsec_t *delay;
	size_t delays, delay_room;
};

struct link { // expectation `expect` looks at a class's packets; as its subject, or only as a part of the whole
	uint32_t expect, next;
	bool subject;
};

struct watch {
	const struct scenario *s;
	struct state *state;
	uint32_t *first; // [classes], link + 1
	struct link *link;
	uint32_t links;
	uint32_t *first_tree; // [trees]
};

static void add_link(struct watch *w, uint32_t *first, uint32_t expect, bool subject)
{
	struct link *l = realloc(w->link, (w->links + 1) * sizeof *l);

	if (!l)
		abort();
	w->link = l;
	w->link[w->links++] = (struct link){expect, *first, subject};
	*first = w->links;
}

struct watch *watch_new(const struct scenario *s)
{
	struct watch *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	w->s = s;
	w->state = calloc(s->expects + 1, sizeof *w->state);
	w->first = calloc(s->classes + 1, sizeof *w->first);
	w->first_tree = calloc(s->trees, sizeof *w->first_tree);
	if (!w->state || !w->first || !w->first_tree)
		abort();
	for (uint32_t i = 0; i < s->expects; i++) {
		const struct sim_expect *e = &s->expect[i];

		w->state[i].window_min = UINT64_MAX;
		w->state[i].window_start = w->state[i].last = e->from;
		add_link(w, e->cls == UINT32_MAX ? &w->first_tree[e->tree] : &w->first[e->cls], i, true);
		for (uint32_t k = 0; k < e->ofs; k++)
			add_link(w, &w->first[e->of[k]], i, false);
	}
	return w;
}

void watch_free(struct watch *w)
{
	for (uint32_t i = 0; i < w->s->expects; i++)
		free(w->state[i].delay);
	free(w->state);
	free(w->first);
	free(w->first_tree);
	free(w->link);
	free(w);
}

// Closes the windows that end by `now`.
static void windows(struct state *t, const struct sim_expect *e, nsec_t now)
{
	while (e->window && t->window_start + e->window <= now && t->window_start + e->window <= e->to) {
		if (t->window_bytes < t->window_min)
			t->window_min = t->window_bytes;
		if (t->window_bytes > t->window_max)
			t->window_max = t->window_bytes;
		t->window_bytes = 0;
		t->window_start += e->window;
	}
}

static void keep_delay(struct state *t, nsec_t delay)
{
	if (t->delays == t->delay_room) {
		t->delay_room = t->delay_room ? 2 * t->delay_room : 1024;
		t->delay = realloc(t->delay, t->delay_room * sizeof *t->delay);
		if (!t->delay)
			abort();
	}
	t->delay[t->delays++] = delay;
}

static void seen(struct watch *w, const struct link *l, uint32_t source, uint32_t bytes, nsec_t arrival, nsec_t now)
{
	const struct sim_expect *e = &w->s->expect[l->expect];
	struct state *t = &w->state[l->expect];

	if (now < e->from || now >= e->to || (e->source != UINT32_MAX && e->source != source))
		return;
	if (!l->subject) {
		t->of_bytes += bytes;
		return;
	}
	windows(t, e, now);
	t->window_bytes += bytes;
	t->bytes += bytes;
	t->packets++;
	if (now - t->last > t->gap)
		t->gap = now - t->last;
	t->last = now;
	if (e->kind == EXPECT_DELAY)
		keep_delay(t, now - arrival);
}

void watch_sent(struct watch *w, uint32_t source, uint32_t bytes, nsec_t arrival, nsec_t now)
{
	uint32_t cls = w->s->source[source].cls;

	for (uint32_t l = w->first[cls]; l; l = w->link[l - 1].next)
		seen(w, &w->link[l - 1], source, bytes, arrival, now);
	for (uint32_t l = w->first_tree[w->s->cls[cls].tree]; l; l = w->link[l - 1].next)
		seen(w, &w->link[l - 1], source, bytes, arrival, now);
}

static int nsec_order(const void *a, const void *b)
{
	nsec_t x = *(const nsec_t *)a, y = *(const nsec_t *)b;

	return (x > y) - (x < y);
}

static double quantile(struct state *t, double permille)
{
	size_t i;

	if (!t->delays)
		return NAN; // nothing measured: no expectation is met
	qsort(t->delay, t->delays, sizeof *t->delay, nsec_order);
	i = (size_t)ceil((double)t->delays * permille / 1000);
	return (double)t->delay[i ? i - 1 : 0];
}

static bool concerns(const struct watch *w, const struct sim_expect *e, uint32_t source)
{
	return e->source != UINT32_MAX ? e->source == source
				       : e->cls == UINT32_MAX || e->cls == w->s->source[source].cls;
}

static double offered(const struct watch *w, const struct sim_expect *e, const struct result *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < w->s->sources; i++)
		if (concerns(w, e, i))
			n += r->source[i].offered;
	return (double)n;
}

static double drops(const struct watch *w, const struct sim_expect *e, const struct result *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < w->s->sources; i++)
		for (uint32_t d = 0; d < DROP_REASON_COUNT; d++)
			if (concerns(w, e, i) && (e->drop == DROP_NONE || e->drop == d))
				n += r->source[i].drops[d];
	return (double)n;
}

static double target(const struct watch *w, const struct sim_expect *e)
{
	const struct plan *p = w->s->tree[e->tree].plan[0];

	return e->cls == UINT32_MAX ? NAN : (double)plan_codel_target(p, plan_find(p, w->s->cls[e->cls].name));
}

static double measured(struct watch *w, uint32_t i, const struct result *r)
{
	const struct sim_expect *e = &w->s->expect[i];
	struct state *t = &w->state[i];
	double seconds = (double)(e->to - e->from) / 1e9, window = (double)e->window / 1e9;

	windows(t, e, e->to);
	switch (e->kind) {
	case EXPECT_RATE:
	case EXPECT_TOTAL:
		return (double)t->bytes * 8 / seconds;
	case EXPECT_SHARE:
		return (double)t->bytes / (double)t->of_bytes;
	case EXPECT_DELAY:
		return quantile(t, e->permille);
	case EXPECT_DROPS:
		return drops(w, e, r);
	case EXPECT_LOSS:
		return drops(w, e, r) / offered(w, e, r);
	case EXPECT_SENT:
		return (double)t->packets;
	case EXPECT_GAP:
		return (double)(e->to - t->last > t->gap ? e->to - t->last : t->gap);
	case EXPECT_FLOOR:
		return t->window_min == UINT64_MAX ? NAN : (double)t->window_min * 8 / window;
	case EXPECT_CEILING:
		return t->window_max <= e->burst ? 0 : (double)(t->window_max - e->burst) * 8 / window;
	case EXPECT_TARGET:
		return target(w, e);
	default:
		return NAN;
	}
}

static const char *in_unit(char text[64], uint32_t kind, double v)
{
	switch (kind) {
	case EXPECT_RATE:
	case EXPECT_TOTAL:
	case EXPECT_FLOOR:
	case EXPECT_CEILING:
		snprintf(text, 64, "%.6f Mbit/s", v / 1e6);
		break;
	case EXPECT_DELAY:
	case EXPECT_GAP:
	case EXPECT_TARGET:
		snprintf(text, 64, "%.3f ms", v / 1e6);
		break;
	case EXPECT_SHARE:
	case EXPECT_LOSS:
		snprintf(text, 64, "%.4f %%", v * 100);
		break;
	default:
		snprintf(text, 64, "%.0f", v);
	}
	return text;
}

static bool met(const struct sim_expect *e, double v)
{
	switch (e->compare) { // each false if v is not a number
	case AT_LEAST:
		return v >= e->value * (1 - e->tolerance);
	case AT_MOST:
		return v <= e->value * (1 + e->tolerance);
	default:
		return fabs(v - e->value) <= e->value * e->tolerance;
	}
}

// Bounds of the oracle comparison, in packets of the largest size: see docs/simulator.md. The rest above 1 is left to a
// scheduler that counts whole nanoseconds.
static bool oracle_met(const struct oracle_result *o, char text[256])
{
	snprintf(text, 256,
		 "late %.3f, ahead %.3f, above ul %.3f, service differs by %.3f largest packets; %" PRIu64
		 " unexplained",
		 o->rt_late, o->ls_lead, o->ul_excess, o->service_diff, o->unknown);
	return o->ran && o->rt_late <= 1.001 && o->ls_lead <= 1.01 && o->ul_excess <= 1.001 && !o->unknown;
}

static bool judge(struct watch *w, uint32_t i, const struct result *r, const struct result *again, char text[256])
{
	const struct sim_expect *e = &w->s->expect[i];
	char unit[64];
	double v;

	switch (e->kind) {
	case EXPECT_DIGEST:
		snprintf(text, 256, "%016" PRIx64, r->digest);
		return r->digest == e->digest;
	case EXPECT_REPEATABLE:
		snprintf(text, 256, "%016" PRIx64 ", again %016" PRIx64, r->digest, again ? again->digest : 0);
		return again && r->digest == again->digest;
	case EXPECT_ORACLE:
		return oracle_met(&r->oracle, text);
	default:
		v = measured(w, i, r);
		snprintf(text, 256, "%s", in_unit(unit, e->kind, v));
		return met(e, v);
	}
}

uint32_t watch_judge(struct watch *w, const struct result *r, const struct result *again)
{
	enum { SHOWN = 40 }; // of thousands of expectations the good ones are only counted
	uint32_t failed = 0, shown = 0;

	for (uint32_t i = 0; i < w->s->expects; i++) {
		const struct sim_expect *e = &w->s->expect[i];
		char text[256];
		bool ok = judge(w, i, r, again, text);

		failed += !ok;
		if (!ok || shown++ < SHOWN)
			printf("%-4s %s:%u: %s -> %s\n", ok ? "ok" : "FAIL", w->s->file, e->line, e->text, text);
	}
	if (shown > SHOWN)
		printf("ok   %u more\n", shown - SHOWN);
	return failed;
}
