// SPDX-License-Identifier: GPL-2.0-or-later
// HFSC (Stoica, Zhang, Ng: "A Hierarchical Fair Service Curve Algorithm for Link-Sharing, Real-Time and Priority
// Services", SIGCOMM 1997): two criteria over one tree. Real time picks among leaves whose eligible time has come the
// one with the earliest deadline, and knows no hierarchy. Otherwise link-sharing walks from the root to the child with
// the smallest virtual time. An upper limit takes a class out of link-sharing until it fits again.
//
// Four kinds of heap hold it all: per inner class its queued children by virtual time; over the whole tree the leaves
// that are not yet eligible, by eligible time; those that are, by deadline; and the classes above their upper limit, by
// the time they fit again. Every member of a heap is active and belongs there: there are no stale entries, so that an
// inner class is active exactly if its heap is not empty, and the earliest event is the first key of three heaps.
//
// Everything happens at the link's clock, the instant the link would start its next packet. A batch therefore gives
// the order of a link that was polled for each packet: eligibility seen once a batch would make deadlines late by the
// batch. docs/hfsc.md has the semantics in full, and where they differ from Linux.
#include "sched/hfsc.h"

#include "sched/leaf.h"

#define LEAD_MAX HEAP_SPAN // ns of virtual time that a class may be ahead of its siblings by

// A key that moves into the first twenty places is served soon: its record now, its next packet when it is nearer.
static inline void promoted(const void *arg, uint32_t place, uint32_t slot)
{
	const struct tree *t = arg;

	if (place <= 4) {
		__builtin_prefetch(&t->pkt[t->cls[slot].head]);
	} else if (place <= 20) {
		__builtin_prefetch(&t->cls[slot], 1);
		__builtin_prefetch(&t->cls[slot].hash, 1);
	}
}

static inline void promoted_rt(const void *arg, uint32_t place, uint32_t slot)
{
	const struct tree *t = arg;

	promoted(arg, place, slot);
	if (place > 4 && place <= 20)
		__builtin_prefetch(&t->cls[slot].rt, 1);
}

// --- link-sharing ----------------------------------------------------------------------------------------------

static inline uint64_t vt_key(const struct class *c, uint32_t slot)
{
	return heap_key(c->ls.x, slot);
}

static inline bool fits(const struct tree *t, const struct class *c)
{
	return !(c->flags & C_UL) || !time_before(t->clock, c->ul.x);
}

static void wait_begin(struct tree *t, struct class *c, uint32_t slot)
{
	c->flags |= C_WAITING;
	heap_push(&t->waiting, t->pos_ls, heap_key_near(c->ul.x, t->clock, slot));
}

static void wait_end(struct tree *t, struct class *c, uint32_t slot)
{
	c->flags &= (uint16_t)~C_WAITING;
	heap_remove(&t->waiting, t->pos_ls, t->pos_ls[slot], promoted, t);
}

// Into the parent's queue. What a class missed while it was away is gone: it starts where its siblings are.
static void queue_enter(struct tree *t, struct class *c, uint32_t slot, struct node *n)
{
	if (time_before(c->ls.x, n->vtmin)) {
		c->ls.x = n->vtmin;
		c->ls.frac = 0;
	}
	c->flags |= C_QUEUED;
	heap_push(&n->heap, t->pos_ls, vt_key(c, slot));
}

static void queue_leave(struct tree *t, struct class *c, uint32_t slot, struct node *n)
{
	c->flags &= (uint16_t)~C_QUEUED;
	heap_remove(&n->heap, t->pos_ls, t->pos_ls[slot], promoted, t);
	n->vtmax = time_later(n->vtmax, c->ls.x);
	if (!n->heap.n)
		n->vtmin = time_later(n->vtmin, n->vtmax); // the period ends, and with it all debts
}

static inline void vt_run(struct tree *t, struct class *c, const struct node *n, uint64_t bytes)
{
	if (unlikely(c->ls.left))
		bytes = cursor_run_first(&c->ls, &t->service[c->ls_service], bytes);
	time_run(&c->ls.x, &c->ls.frac, bytes, c->ls_slope);
	if (unlikely(time_before(n->vtmin + LEAD_MAX, c->ls.x)))
		c->ls.x = n->vtmin + LEAD_MAX;
}

// The bytes began to leave at `at`. A limit that lagged behind by more than the burst may not be caught up with.
static void ul_run(struct tree *t, struct class *c, uint64_t bytes, nsec_t at)
{
	nsec_t oldest = at - t->burst;

	if (time_before(c->ul.x, oldest)) {
		c->ul.x = oldest;
		c->ul.frac = 0;
	}
	cursor_run(&c->ul, &t->service[c->ul_service], bytes);
}

// The class has become active at `at`.
static void ls_begin(struct tree *t, struct class *c, uint32_t slot, struct node *n, nsec_t at)
{
	if (c->flags & C_BENT) // a line restarted is a line where it enters the queue
		cursor_restart(&c->ls, &t->service[c->ls_service], time_later(c->ls.x, n->vtmin));
	if (c->flags & C_UL)
		cursor_restart(&c->ul, &t->service[c->ul_service], at);
	if (fits(t, c)) {
		queue_enter(t, c, slot, n);
		return;
	}
	// What real time sends while it waits counts from where its siblings are now.
	c->ls.x = time_later(c->ls.x, n->vtmin);
	wait_begin(t, c, slot);
}

// One class on the way up: its virtual time and limit after `sent` bytes that began to leave at `at`, then its place.
static inline void ls_settle(struct tree *t, struct class *c, uint32_t slot, struct node *n, uint64_t sent, nsec_t at)
{
	bool active = class_active(t, c);

	if (sent && c->flags & C_UL)
		ul_run(t, c, sent, at);
	if (sent && c->flags & (C_QUEUED | C_WAITING))
		vt_run(t, c, n, sent);
	if (c->flags & C_QUEUED) {
		if (active && fits(t, c)) {
			heap_down(&n->heap, t->pos_ls, t->pos_ls[slot], vt_key(c, slot), promoted, t);
			return;
		}
		queue_leave(t, c, slot, n);
		if (active)
			wait_begin(t, c, slot);
	} else if (c->flags & C_WAITING) {
		if (active)
			heap_down(&t->waiting, t->pos_ls, t->pos_ls[slot], heap_key_near(c->ul.x, t->clock, slot),
				  promoted, t);
		else
			wait_end(t, c, slot);
	} else if (active && c->flags & C_LS) {
		ls_begin(t, c, slot, n, at);
	}
}

// From a leaf upward: all of its ancestors if something was sent, else as far as activity changes.
static void ls_sync(struct tree *t, uint32_t slot, uint64_t sent, nsec_t at)
{
	while (slot != ROOT_SLOT) {
		struct class *c = &t->cls[slot];
		struct node *n = node_of(t, c->parent);
		bool was = n->heap.n;

		ls_settle(t, c, slot, n, sent, at);
		if (!sent && was == (n->heap.n != 0))
			return;
		slot = c->parent;
	}
}

// Lets in the classes whose upper limit allows it by now.
static void ls_release(struct tree *t)
{
	while (heap_due(&t->waiting, t->clock)) {
		uint32_t slot = heap_first(&t->waiting);
		struct class *c = &t->cls[slot];
		struct node *n = node_of(t, c->parent);
		bool was = n->heap.n;

		if (!fits(t, c)) { // its key was pulled in
			heap_down(&t->waiting, t->pos_ls, 0, heap_key_near(c->ul.x, t->clock, slot), promoted, t);
			continue;
		}
		wait_end(t, c, slot);
		queue_enter(t, c, slot, n);
		if (!was)
			ls_sync(t, c->parent, 0, t->clock);
	}
}

static uint32_t ls_pick(struct tree *t)
{
	uint32_t slot = ROOT_SLOT;

	while (t->cls[slot].flags & C_INNER) {
		struct node *n = node_of(t, slot);

		if (!n->heap.n)
			return SLOT_NONE; // only the root: a queued class is active
		slot = heap_first(&n->heap);
		n->vtmin = time_later(n->vtmin, t->cls[slot].ls.x);
	}
	return slot;
}

// --- real time -------------------------------------------------------------------------------------------------

static inline void rt_deadline(struct tree *t, struct class *c)
{
	c->d_head = c->head;
	c->d = cursor_after(&c->rt, &t->service[c->rt_service], leaf_head_len(t, c));
}

static void rt_enter(struct tree *t, struct class *c, uint32_t slot)
{
	if (time_before(t->clock, c->e)) {
		c->flags |= C_LATER;
		heap_push(&t->ineligible, t->pos_rt, heap_key_near(c->e, t->clock, slot));
	} else {
		c->flags |= C_ELIGIBLE;
		heap_push(&t->eligible, t->pos_rt, heap_key_near(c->d, t->clock, slot));
	}
}

static void rt_leave(struct tree *t, struct class *c, uint32_t slot)
{
	struct heap *h = c->flags & C_LATER ? &t->ineligible : &t->eligible;

	c->flags &= (uint16_t) ~(C_LATER | C_ELIGIBLE);
	heap_remove(h, t->pos_rt, t->pos_rt[slot], promoted_rt, t);
}

// The leaf has become backlogged at `at`. Concave: eligible as the deadline curve says. Convex: by the line of the
// second slope from where the curve begins, early enough for the steep part to come.
static void rt_begin(struct tree *t, struct class *c, nsec_t at)
{
	const struct service *s = &t->service[c->rt_service];
	bool replaced = cursor_restart(&c->rt, s, at);

	if (!service_convex(s)) {
		c->e = c->rt.x;
	} else if (replaced) {
		c->e = at;
		c->e_frac = 0;
	}
}

static void rt_sync(struct tree *t, struct class *c, uint32_t slot, uint64_t sent, nsec_t at)
{
	bool active = class_active(t, c);

	if (!(c->flags & (C_LATER | C_ELIGIBLE))) {
		if (!active)
			return;
		rt_begin(t, c, at);
		rt_deadline(t, c);
		rt_enter(t, c, slot);
		return;
	}
	if (!active) {
		rt_leave(t, c, slot);
		return;
	}
	if (c->d_head != c->head)
		rt_deadline(t, c);
	else if (!sent)
		return;
	if (c->flags & C_LATER)
		return; // e moves with service alone, and service takes eligible leaves
	if (time_before(t->clock, c->e)) {
		rt_leave(t, c, slot);
		rt_enter(t, c, slot);
		return;
	}
	heap_move(&t->eligible, t->pos_rt, t->pos_rt[slot], heap_key_near(c->d, t->clock, slot), promoted_rt, t);
}

static void rt_release(struct tree *t)
{
	while (heap_due(&t->ineligible, t->clock)) {
		uint32_t slot = heap_first(&t->ineligible);
		struct class *c = &t->cls[slot];

		if (time_before(t->clock, c->e)) { // its key was pulled in
			heap_down(&t->ineligible, t->pos_rt, 0, heap_key_near(c->e, t->clock, slot), promoted_rt, t);
			continue;
		}
		rt_leave(t, c, slot);
		rt_enter(t, c, slot);
	}
}

void hfsc_rt_sent(struct tree *t, struct class *c, uint32_t len)
{
	const struct service *s = &t->service[c->rt_service];

	cursor_run(&c->rt, s, len);
	if (service_convex(s))
		time_run(&c->e, &c->e_frac, len, s->ns2);
	else
		c->e = c->rt.x;
	if (c->packets)
		rt_deadline(t, c);
}

bool hfsc_rt_goes_on(const struct tree *t, const struct class *c)
{
	if (time_before(t->clock, c->e) || heap_due(&t->ineligible, t->clock))
		return false;
	return t->eligible.n == 1 || heap_less(heap_key_near(c->d, t->clock, 0), heap_second(&t->eligible));
}

// --- both ------------------------------------------------------------------------------------------------------

void hfsc_sync(struct tree *t, uint32_t slot, uint64_t sent, nsec_t at)
{
	struct class *c = &t->cls[slot];

	if (c->flags & C_RT)
		rt_sync(t, c, slot, sent, at);
	if (!sent && c->flags & (C_QUEUED | C_WAITING) && class_active(t, c))
		return;
	ls_sync(t, slot, sent, at);
}

// The earliest key's time, in full: the key has its low bits, and lies within HEAP_SPAN of the clock.
static nsec_t first_time(const struct heap *h, nsec_t clock)
{
	int64_t distance = (int64_t)(((h->key[0] >> SLOT_BITS) - clock) << SLOT_BITS) >> SLOT_BITS;

	return clock + (nsec_t)distance;
}

nsec_t hfsc_next_due(const struct tree *t)
{
	nsec_t due = TIME_NEVER, f;

	if (t->eligible.n || node_of(t, ROOT_SLOT)->heap.n)
		return t->clock;
	if (t->ineligible.n)
		due = time_later(t->clock, first_time(&t->ineligible, t->clock));
	if (t->waiting.n) {
		f = time_later(t->clock, first_time(&t->waiting, t->clock));
		due = due == TIME_NEVER || time_before(f, due) ? f : due;
	}
	return due;
}

uint32_t hfsc_pick(struct tree *t, nsec_t now, bool *by_rt)
{
	for (;;) {
		nsec_t due;
		uint32_t slot;

		ls_release(t);
		rt_release(t);
		*by_rt = t->eligible.n;
		slot = *by_rt ? heap_first(&t->eligible) : ls_pick(t);
		if (slot)
			return slot;
		due = hfsc_next_due(t);
		if (due == TIME_NEVER || time_before(now, due))
			return SLOT_NONE;
		t->clock = due;
		t->clock_frac = 0;
	}
}

// New keys for a heap over the whole tree, in heap order again (Floyd).
static void refit(struct tree *t, struct heap *h, uint32_t *pos, nsec_t now)
{
	for (uint32_t i = 0; i < h->n; i++) {
		uint32_t slot = heap_slot(h->key[i]);
		const struct class *c = &t->cls[slot];
		nsec_t time = h == &t->waiting ? c->ul.x : h == &t->eligible ? c->d : c->e;

		h->key[i] = heap_key_near(time, now, slot);
	}
	for (uint32_t i = h->n / 4 + 1; i--;)
		if (i < h->n)
			heap_down(h, pos, i, h->key[i], promoted, t);
}

void hfsc_refit(struct tree *t, nsec_t now)
{
	refit(t, &t->waiting, t->pos_ls, now);
	refit(t, &t->eligible, t->pos_rt, now);
	refit(t, &t->ineligible, t->pos_rt, now);
	t->refitted = now;
}

// --- records ---------------------------------------------------------------------------------------------------

void hfsc_begin(struct tree *t, struct class *c, nsec_t at)
{
	nsec_t vt = c->parent ? node_of(t, c->parent)->vtmin : 0;

	cursor_start(&c->ls, &t->service[c->ls_service], vt);
	cursor_start(&c->rt, &t->service[c->rt_service], at);
	cursor_start(&c->ul, &t->service[c->ul_service], at);
	c->e = at;
	c->e_frac = 0;
}

// A class in the middle of a period is past the first piece of whatever curve it now has: else each change would be a
// burst. What it owes (a long wait at an old, low rate) is forgiven.
static void go_on(struct cursor *c, nsec_t at)
{
	c->left = 0;
	if (time_before(at, c->x))
		c->x = at;
}

void hfsc_recurve(struct tree *t, struct class *c, uint16_t changed, nsec_t at)
{
	if (changed & C_RT)
		go_on(&c->rt, at);
	if (changed & C_UL)
		go_on(&c->ul, at);
	if (changed & C_LS)
		c->ls.left = 0;
}

bool hfsc_forgettable(const struct tree *t, const struct class *c, nsec_t now)
{
	const struct node *n = node_of(t, c->parent);

	if (c->flags & C_LS &&
	    (time_before(n->vtmin, c->ls.x) || !cursor_overtaken(&c->ls, &t->service[c->ls_service], n->vtmin)))
		return false;
	if (c->flags & C_RT && !cursor_overtaken(&c->rt, &t->service[c->rt_service], now))
		return false;
	return !(c->flags & C_UL) || cursor_overtaken(&c->ul, &t->service[c->ul_service], now);
}
