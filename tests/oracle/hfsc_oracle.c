// SPDX-License-Identifier: GPL-2.0-or-later
// Hierarchical fair service curves (Stoica, Zhang, Ng 1997) over GMP rationals. Nothing here is clever on purpose:
// it is the text against which the fast scheduler is compared. Time is ns, service is bytes, slopes are bytes/ns.
//
// A runtime curve is two lines: one of slope m1 through its origin, and one of slope m2, kept by its intercept b. A
// concave curve is the lower of the two, a convex one the upper. min(curve, curve shifted to (x, y)) is then exact:
// concave, the new first line and the lower one of the two second lines; convex, one of both curves as a whole.
//
// "Active" is a leaf with a share and packets, and an inner class with a queued child; "queued" means taking part in
// the parent's choice: active and below its upper limit.
#include "tests/oracle/hfsc_oracle.h"

#include <gmp.h>
#include <stdlib.h>
#include <string.h>

struct rcurve {
	mpq_t x0, y0, m1, m2, b;
	mpq_t dx, rise; // of the configured curve: duration of the first piece, its height
	bool present, convex, set;
};

struct opkt {
	uint32_t len;
	uint64_t tag;
};

struct ocls {
	uint32_t parent, children;
	struct rcurve deadline, virtual, limit;
	struct opkt *q;
	uint32_t head, count, room;
	bool active, queued;
	uint64_t cumul, total, ls_total; // by rt; by anything; what virtual time counts
	mpq_t e, d, vt, f, vtmin, vtmax;
};

struct oracle {
	const struct plan *plan;
	struct ocls *c;
	uint32_t n, backlog;
	uint32_t *order; // children before parents
	mpq_t t, byte_ns, burst;
	mpq_t a, b, s, at; // scratch
	uint32_t block_leaf, block_bytes;
	struct oracle_worst worst;
};

static void slope(mpq_t out, uint64_t bps)
{
	mpq_set_ui(out, bps, 8 * NSEC_PER_SEC);
	mpq_canonicalize(out);
}

static void rcurve_init(struct rcurve *r, const struct curve *c)
{
	mpq_inits(r->x0, r->y0, r->m1, r->m2, r->b, r->dx, r->rise, NULL);
	r->present = curve_present(c);
	slope(r->m2, c->m2_bps);
	slope(r->m1, c->d_ns ? c->m1_bps : c->m2_bps);
	mpq_set_ui(r->dx, c->d_ns, 1);
	mpq_mul(r->rise, r->m1, r->dx);
	r->convex = mpq_cmp(r->m1, r->m2) <= 0; // a line counts as convex: both rules agree on it
}

static void rcurve_clear(struct rcurve *r)
{
	mpq_clears(r->x0, r->y0, r->m1, r->m2, r->b, r->dx, r->rise, NULL);
}

// out = curve(x)
static void rcurve_y(mpq_t out, const struct rcurve *r, const mpq_t x)
{
	mpq_t second;

	if (mpq_cmp(x, r->x0) <= 0) {
		mpq_set(out, r->y0);
		return;
	}
	mpq_init(second);
	mpq_mul(second, r->m2, x);
	mpq_add(second, second, r->b);
	mpq_sub(out, x, r->x0);
	mpq_mul(out, out, r->m1);
	mpq_add(out, out, r->y0);
	if ((mpq_cmp(second, out) < 0) != r->convex)
		mpq_set(out, second);
	mpq_clear(second);
}

// out = the first x at which the curve reaches y
static void rcurve_x(mpq_t out, const struct rcurve *r, uint64_t y)
{
	mpq_t first;

	mpq_set_ui(out, y, 1);
	if (mpq_cmp(out, r->y0) <= 0) {
		mpq_set(out, r->x0);
		return;
	}
	mpq_init(first);
	mpq_sub(first, out, r->y0);
	mpq_sub(out, out, r->b);
	mpq_div(out, out, r->m2);
	if (mpq_sgn(r->m1)) {
		mpq_div(first, first, r->m1);
		mpq_add(first, first, r->x0);
		if ((mpq_cmp(first, out) > 0) != r->convex)
			mpq_set(out, first);
	}
	mpq_clear(first);
}

// curve = min(curve, configured curve shifted to (x, y))
static void rcurve_min(struct rcurve *r, const mpq_t x, uint64_t y)
{
	mpq_t b, at, q;
	bool below = false;

	mpq_inits(b, at, q, NULL);
	mpq_set_ui(q, y, 1);
	mpq_add(b, x, r->dx); // intercept of the shifted second line: y + rise - m2 (x + dx)
	mpq_mul(b, b, r->m2);
	mpq_sub(b, r->rise, b);
	mpq_add(b, b, q);
	if (r->set) {
		rcurve_y(at, r, x);
		below = r->convex ? mpq_cmp(at, q) < 0 : mpq_cmp(at, q) <= 0;
		if (!below && !r->convex && mpq_cmp(r->b, b) < 0)
			mpq_set(b, r->b);
	}
	if (!below) {
		mpq_set(r->x0, x);
		mpq_set(r->y0, q);
		mpq_set(r->b, b);
		r->set = true;
	}
	mpq_clears(b, at, q, NULL);
}

// Moves the curve right by dx.
static void rcurve_shift(struct rcurve *r, const mpq_t dx)
{
	mpq_t lower;

	mpq_init(lower);
	mpq_mul(lower, r->m2, dx);
	mpq_sub(r->b, r->b, lower);
	mpq_add(r->x0, r->x0, dx);
	mpq_clear(lower);
}

struct oracle *oracle_new(const struct plan *plan)
{
	struct oracle *o = calloc(1, sizeof *o);
	uint32_t filled = 0;

	if (!o || !(o->c = calloc(plan->classes, sizeof *o->c)) ||
	    !(o->order = calloc(plan->classes, sizeof *o->order)))
		abort();
	o->plan = plan;
	o->n = plan->classes;
	mpq_inits(o->t, o->byte_ns, o->burst, o->a, o->b, o->s, o->at, NULL);
	mpq_set_ui(o->byte_ns, 8 * NSEC_PER_SEC, plan->rate_bps);
	mpq_canonicalize(o->byte_ns);
	mpq_set_ui(o->burst, plan->burst_ns, 1);
	for (uint32_t i = 0; i < o->n; i++) {
		struct ocls *c = &o->c[i];

		c->parent = plan->cls[i].parent;
		if (i)
			o->c[c->parent].children++;
		rcurve_init(&c->deadline, &plan->cls[i].rt);
		rcurve_init(&c->virtual, &plan->cls[i].ls);
		rcurve_init(&c->limit, &plan->cls[i].ul);
		mpq_inits(c->e, c->d, c->vt, c->f, c->vtmin, c->vtmax, NULL);
	}
	for (int depth = CLASS_DEPTH_MAX; depth > 0; depth--)
		for (uint32_t i = 1; i < o->n; i++) {
			int own = 0;

			for (uint32_t p = i; p; p = o->c[p].parent)
				own++;
			if (own == depth)
				o->order[filled++] = i;
		}
	return o;
}

void oracle_free(struct oracle *o)
{
	if (!o)
		return;
	for (uint32_t i = 0; i < o->n; i++) {
		struct ocls *c = &o->c[i];

		rcurve_clear(&c->deadline);
		rcurve_clear(&c->virtual);
		rcurve_clear(&c->limit);
		mpq_clears(c->e, c->d, c->vt, c->f, c->vtmin, c->vtmax, NULL);
		free(c->q);
	}
	mpq_clears(o->t, o->byte_ns, o->burst, o->a, o->b, o->s, o->at, NULL);
	free(o->c);
	free(o->order);
	free(o);
}

static const struct opkt *head(const struct ocls *c)
{
	return &c->q[c->head];
}

static void set_deadline(struct ocls *c)
{
	if (!c->deadline.present || !c->count)
		return;
	rcurve_x(c->d, &c->deadline, c->cumul + head(c)->len);
}

static void set_eligible(struct ocls *c)
{
	struct rcurve *r = &c->deadline;

	if (!r->present)
		return;
	if (!r->convex) {
		rcurve_x(c->e, r, c->cumul);
		return;
	}
	mpq_set_ui(c->e, c->cumul, 1); // the line of slope m2 through the origin
	mpq_sub(c->e, c->e, r->y0);
	if (mpq_sgn(c->e) < 0)
		mpq_set_ui(c->e, 0, 1);
	mpq_div(c->e, c->e, r->m2);
	mpq_add(c->e, c->e, r->x0);
}

static bool is_leaf(const struct ocls *c)
{
	return c->children == 0;
}

static bool fits(const struct oracle *o, const struct ocls *c)
{
	return !c->limit.present || mpq_cmp(c->f, o->t) <= 0;
}

static bool child_queued(const struct oracle *o, uint32_t p)
{
	for (uint32_t i = 1; i < o->n; i++)
		if (o->c[i].queued && o->c[i].parent == p)
			return true;
	return false;
}

static void limit_begin(struct ocls *c, const mpq_t at)
{
	if (!c->limit.present)
		return;
	rcurve_min(&c->limit, at, c->total);
	rcurve_x(c->f, &c->limit, c->total);
}

// A class starts where its siblings are, or later if it was ahead of them; what it missed is gone.
static void begin(struct oracle *o, struct ocls *c, const mpq_t at)
{
	const struct ocls *p = &o->c[c->parent];

	c->active = true;
	if (mpq_cmp(c->vt, p->vtmin) < 0)
		mpq_set(c->vt, p->vtmin);
	rcurve_min(&c->virtual, c->vt, c->ls_total);
	limit_begin(c, at);
}

static void enter(struct oracle *o, struct ocls *c)
{
	const struct ocls *p = &o->c[c->parent];

	c->queued = true;
	if (mpq_cmp(c->vt, p->vtmin) >= 0)
		return;
	// It was active, but waited for its upper limit: the same curve, later.
	mpq_sub(o->s, p->vtmin, c->vt);
	rcurve_shift(&c->virtual, o->s);
	mpq_set(c->vt, p->vtmin);
}

static void leave(struct oracle *o, struct ocls *c)
{
	struct ocls *p = &o->c[c->parent];

	c->queued = false;
	if (mpq_cmp(p->vtmax, c->vt) < 0)
		mpq_set(p->vtmax, c->vt);
	if (!child_queued(o, c->parent) && mpq_cmp(p->vtmin, p->vtmax) < 0)
		mpq_set(p->vtmin, p->vtmax);
}

// Brings every class in line with what it holds and with the link clock; periods that begin with this begin at `at`.
static void settle_at(struct oracle *o, const mpq_t at, bool release)
{
	for (uint32_t k = 0; k + 1 < o->n; k++) {
		uint32_t i = o->order[k];
		struct ocls *c = &o->c[i];
		bool active = c->virtual.present && (is_leaf(c) ? c->count > 0 : child_queued(o, i));
		bool begins = active && !c->active;

		if (begins)
			begin(o, c, at);
		c->active = active;
		if (active && fits(o, c) && !c->queued && (begins || release))
			enter(o, c);
		else if (c->queued && !(active && fits(o, c)))
			leave(o, c);
	}
}

// What follows from the packets sent.
static void settle(struct oracle *o)
{
	settle_at(o, o->t, false);
}

// And the classes that waited for their upper limit and fit by now: they come in when the next packet is chosen.
static void release(struct oracle *o)
{
	settle(o);
	settle_at(o, o->t, true);
}

static void first_packet(struct oracle *o, uint32_t leaf, const mpq_t at)
{
	struct ocls *c = &o->c[leaf];

	if (c->deadline.present) {
		rcurve_min(&c->deadline, at, c->cumul);
		set_eligible(c);
		set_deadline(c);
	}
	for (uint32_t i = leaf; i; i = o->c[i].parent)
		if (!o->c[i].limit.set)
			limit_begin(&o->c[i], at);
}

void oracle_arrive(struct oracle *o, uint32_t cls, uint32_t len, uint64_t tag, nsec_t now)
{
	struct ocls *c = &o->c[cls];

	settle(o);
	mpq_set_ui(o->at, now, 1);
	if (!o->backlog && mpq_cmp(o->t, o->at) < 0)
		mpq_set(o->t, o->at);
	if (mpq_cmp(o->at, o->t) < 0)
		mpq_set(o->at, o->t);
	if (c->head + c->count == c->room) {
		if (c->count)
			memmove(c->q, c->q + c->head, c->count * sizeof *c->q);
		c->head = 0;
		if (c->count * 2 >= c->room) {
			c->room = c->room ? 2 * c->room : 16;
			c->q = realloc(c->q, c->room * sizeof *c->q);
			if (!c->q)
				abort();
		}
	}
	c->q[c->head + c->count++] = (struct opkt){len, tag};
	o->backlog++;
	if (c->count == 1)
		first_packet(o, cls, o->at);
	settle_at(o, o->at, false);
}

static uint32_t pick_rt(const struct oracle *o)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < o->n; i++) {
		const struct ocls *c = &o->c[i];

		if (!c->count || !c->deadline.present || mpq_cmp(c->e, o->t) > 0)
			continue;
		if (!best || mpq_cmp(c->d, o->c[best].d) < 0)
			best = i;
	}
	return best;
}

static uint32_t pick_ls(const struct oracle *o)
{
	uint32_t node = 0;

	for (;;) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < o->n; i++)
			if (o->c[i].queued && o->c[i].parent == node &&
			    (!best || mpq_cmp(o->c[i].vt, o->c[best].vt) < 0))
				best = i;
		if (!best)
			return 0;
		if (is_leaf(&o->c[best]))
			return best;
		node = best;
	}
}

// Moves the link clock to the next instant at which something changes, if that is not after `now`.
static bool jump(struct oracle *o, nsec_t now)
{
	bool found = false;

	for (uint32_t i = 1; i < o->n; i++) {
		const struct ocls *c = &o->c[i];

		if (is_leaf(c) && c->count && c->deadline.present && mpq_cmp(c->e, o->t) > 0 &&
		    (!found || mpq_cmp(c->e, o->b) < 0)) {
			mpq_set(o->b, c->e);
			found = true;
		}
		if (c->active && c->limit.present && mpq_cmp(c->f, o->t) > 0 && (!found || mpq_cmp(c->f, o->b) < 0)) {
			mpq_set(o->b, c->f);
			found = true;
		}
	}
	mpq_set_ui(o->a, now, 1);
	if (!found || mpq_cmp(o->b, o->a) > 0)
		return false;
	mpq_set(o->t, o->b);
	return true;
}

static void picked_ls(struct oracle *o, uint32_t leaf)
{
	for (uint32_t i = leaf; i; i = o->c[i].parent) {
		struct ocls *p = &o->c[o->c[i].parent];

		if (mpq_cmp(p->vtmin, o->c[i].vt) < 0)
			mpq_set(p->vtmin, o->c[i].vt);
	}
}

// Sends the head of `leaf` at the link clock.
static void serve(struct oracle *o, uint32_t leaf, bool rt, struct oracle_sent *out)
{
	struct ocls *c = &o->c[leaf];
	uint32_t len = head(c)->len;

	*out = (struct oracle_sent){
		leaf, len, head(c)->tag, rt, mpq_get_d(o->t), c->deadline.present ? mpq_get_d(c->d) : 0};
	mpq_sub(o->a, o->t, o->burst);
	mpq_set_ui(o->s, len, 1);
	mpq_mul(o->s, o->s, o->byte_ns);
	mpq_add(o->t, o->t, o->s);
	for (uint32_t i = leaf; i; i = o->c[i].parent) {
		struct ocls *x = &o->c[i];

		// The upper limit may catch up by the burst, not more: its origin moves.
		if (x->limit.set && mpq_cmp(x->f, o->a) < 0) {
			mpq_sub(o->b, o->a, x->f);
			rcurve_shift(&x->limit, o->b);
		}
		x->total += len;
		if (x->limit.set)
			rcurve_x(x->f, &x->limit, x->total);
		if (x->active) {
			x->ls_total += len;
			rcurve_x(x->vt, &x->virtual, x->ls_total);
		}
	}
	o->c[0].total += len;
	c->head++;
	c->count--;
	o->backlog--;
	if (rt)
		c->cumul += len;
	if (c->count) {
		set_eligible(c);
		set_deadline(c);
	}
}

static bool start_of_call(struct oracle *o, nsec_t now)
{
	mpq_set_ui(o->a, now, 1);
	mpq_sub(o->b, o->a, o->burst);
	if (mpq_cmp(o->t, o->b) < 0)
		mpq_set(o->t, o->b);
	return mpq_cmp(o->t, o->a) <= 0;
}

bool oracle_send(struct oracle *o, nsec_t now, struct oracle_sent *out)
{
	settle(o);
	if (!o->backlog || !start_of_call(o, now))
		return false;
	do {
		uint32_t leaf;

		release(o);
		leaf = pick_rt(o);
		if (leaf) {
			serve(o, leaf, true, out);
			return true;
		}
		leaf = pick_ls(o);
		if (leaf) {
			picked_ls(o, leaf);
			serve(o, leaf, false, out);
			return true;
		}
	} while (jump(o, now));
	return false;
}

// --- following another scheduler --------------------------------------------------------------------------------

// A scheduler that counts whole nanoseconds may see an instant this much early.
#define ROUNDING_NS 3

// How long after a class fits again a scheduler may not have noticed yet.
#define SLACK_NS 10000ull

static void worse(double *worst, double value)
{
	if (value > *worst)
		*worst = value;
}

static double difference(struct oracle *o, const mpq_t a, const mpq_t b)
{
	mpq_sub(o->s, a, b);
	return mpq_get_d(o->s);
}

// How far `leaf` and its ancestors are ahead of what the sibling most behind has had, as service of their own.
static void measure_ls(struct oracle *o, uint32_t leaf)
{
	for (uint32_t i = leaf; i; i = o->c[i].parent) {
		const struct ocls *c = &o->c[i];
		const struct ocls *least = c;

		if (!c->queued)
			continue;
		for (uint32_t k = 1; k < o->n; k++) {
			const struct ocls *x = &o->c[k];
			// Just released by its upper limit: the other may legitimately not have seen it.
			bool fresh = x->limit.present && difference(o, o->t, x->f) < (double)SLACK_NS;

			if (x->queued && x->parent == c->parent && !fresh && mpq_cmp(x->vt, least->vt) < 0)
				least = x;
		}
		rcurve_y(o->a, &c->virtual, least->vt);
		mpq_set_ui(o->b, c->ls_total, 1);
		worse(&o->worst.ls_lead, difference(o, o->b, o->a) / o->plan->mtu_wire);
	}
}

// ns that one byte takes on the slower piece of the leaf's rt curve.
static double byte_time(const struct ocls *c)
{
	double m1 = mpq_get_d(c->deadline.m1), m2 = mpq_get_d(c->deadline.m2);

	return 1 / (m1 > 0 && m1 < m2 ? m1 : m2);
}

// A scheduler that counts whole bytes may see a leaf become eligible this many bytes of its curve early or late.
#define ROUNDING_BYTES 2

static void measure_rt(struct oracle *o, uint32_t leaf)
{
	const struct ocls *c = &o->c[leaf];

	worse(&o->worst.rt_early, difference(o, c->e, o->t) / byte_time(c));
	for (uint32_t i = 1; i < o->n; i++) {
		const struct ocls *x = &o->c[i];

		if (x->count && x->deadline.present && difference(o, o->t, x->e) > ROUNDING_BYTES * byte_time(x))
			worse(&o->worst.rt_order, difference(o, c->d, x->d) / (byte_time(c) + byte_time(x)));
	}
}

static void measure_limits(struct oracle *o, uint32_t leaf)
{
	for (uint32_t i = leaf; i; i = o->c[i].parent) {
		const struct ocls *c = &o->c[i];

		if (!c->limit.present || !c->limit.set)
			continue;
		rcurve_y(o->a, &c->limit, o->t); // what may have been sent by now, the burst's catching up included
		mpq_set_ui(o->b, c->total, 1);
		worse(&o->worst.ul_excess, difference(o, o->b, o->a) / o->plan->mtu_wire);
	}
}

void oracle_poll(struct oracle *o, nsec_t now)
{
	o->block_leaf = 0;
	settle(o);
	if (o->backlog)
		start_of_call(o, now);
}

// Finds the link clock at which the next packet may have been chosen; the leaf with the earliest deadline then, or 0.
static uint32_t advance(struct oracle *o, nsec_t now)
{
	do {
		uint32_t best;

		release(o);
		best = pick_rt(o);
		if (best || pick_ls(o))
			return best;
	} while (jump(o, now));
	return 0;
}

static void follow_ls(struct oracle *o, uint32_t leaf, uint32_t len, bool goes_on)
{
	if (!o->c[leaf].virtual.present)
		o->worst.unknown++;
	measure_ls(o, leaf);
	if (!goes_on) {
		o->block_leaf = leaf;
		o->block_bytes = 0;
		picked_ls(o, leaf);
	}
	o->block_bytes += len;
}

void oracle_rests(struct oracle *o, nsec_t now)
{
	if (!o->backlog || mpq_cmp_ui(o->t, now, 1) > 0)
		return;
	if (advance(o, now) || pick_ls(o))
		o->worst.idle++;
}

void oracle_follow(struct oracle *o, uint32_t leaf, bool rt, nsec_t now)
{
	struct ocls *c = &o->c[leaf];
	struct oracle_sent sent;
	uint32_t best, len;
	bool goes_on;

	if (!c->count || (rt && !c->deadline.present)) {
		o->worst.unknown++;
		return;
	}
	len = head(c)->len;
	best = pick_rt(o);
	// Inside a block by link-sharing nothing else is looked at; limits and places are settled when it ends.
	goes_on = o->block_leaf == leaf && o->block_bytes + len <= o->plan->mtu_wire && !best;
	if (!goes_on)
		best = advance(o, now + ROUNDING_NS);
	mpq_set_ui(o->a, now, 1);
	worse(&o->worst.link_excess, difference(o, o->t, o->a));

	if (rt) {
		measure_rt(o, leaf);
		o->block_leaf = 0;
		o->worst.rt_packets++;
	} else {
		if (best)
			worse(&o->worst.rt_missed, difference(o, o->t, o->c[best].e) / byte_time(&o->c[best]));
		follow_ls(o, leaf, len, goes_on);
	}
	if (c->deadline.present) {
		mpq_set_ui(o->a, len, 1);
		mpq_mul(o->a, o->a, o->byte_ns);
		mpq_add(o->a, o->a, o->t);
		worse(&o->worst.rt_late, difference(o, o->a, c->d) / (mpq_get_d(o->byte_ns) * o->plan->mtu_wire));
	}
	serve(o, leaf, rt, &sent);
	if (!rt)
		measure_limits(o, leaf);
	o->worst.packets++;
}

const struct oracle_worst *oracle_worst(const struct oracle *o)
{
	return &o->worst;
}

uint64_t oracle_bytes(const struct oracle *o, uint32_t cls)
{
	return o->c[cls].total;
}

uint32_t oracle_backlog(const struct oracle *o)
{
	return o->backlog;
}
