// SPDX-License-Identifier: GPL-2.0-or-later
// HFSC as the tree sees it: who is next, for how long, and what follows. docs/hfsc.md has the semantics.
#ifndef SCHED_HFSC_H
#define SCHED_HFSC_H

#include "sched/tree.h"

// The leaf to serve at the link's clock, which first moves on to the next event if there is nothing before it and it is
// not after `now`. SLOT_NONE: nothing is due by `now`. *by_rt: by the real-time criterion.
uint32_t hfsc_pick(struct tree *t, nsec_t now, bool *by_rt);

// The leaf sent a packet of `len` bytes by real time.
void hfsc_rt_sent(struct tree *t, struct class *c, uint32_t len);
// Whether the leaf served by real time may send its next packet, without a new pick, and pick would choose it.
bool hfsc_rt_goes_on(const struct tree *t, const struct class *c);
// Whether a leaf became eligible, which ends a visit by link-sharing.
static inline bool hfsc_rt_waits(const struct tree *t)
{
	return t->eligible.n || heap_due(&t->ineligible, t->clock);
}

// When something can be sent, if nothing arrives (the tree is not empty); not before the link's clock.
nsec_t hfsc_next_due(const struct tree *t);

// Heap keys hold an hour or so around the time they were made; a tree that time left behind gets new ones.
void hfsc_refit(struct tree *t, nsec_t now);

// The curves of a record: a new one's, and those that changed (C_RT, C_LS, C_UL) in a parked class; they go on from `at`.
void hfsc_begin(struct tree *t, struct class *c, nsec_t at);
void hfsc_recurve(struct tree *t, struct class *c, uint16_t changed, nsec_t at);
bool hfsc_forgettable(const struct tree *t, const struct class *c, nsec_t now);

#endif
