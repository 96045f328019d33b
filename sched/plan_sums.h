// SPDX-License-Identifier: GPL-2.0-or-later
// What plan.c and plan_check.c share: orders and sums over all classes of a plan that need not have been checked.
#ifndef SCHED_PLAN_SUMS_H
#define SCHED_PLAN_SUMS_H

#include "sched/plan.h"

// Classes in the order of their names, found by sorting hashes: one order for "twice?" and for merging two plans.
struct named {
	uint64_t hash;
	const char *name; // CLASS_NAME_MAX bytes, perhaps without terminator
	uint32_t cls;
};

// All classes in that order. NULL without memory; the caller frees it.
struct named *names_sorted(const struct plan *p);
int name_order(const struct named *a, const struct named *b);

// What ls alone gives each class that has a way of at most CLASS_DEPTH_MAX to the root; others get 0. False without
// memory.
bool ls_shares(const struct plan *p, uint64_t *share);

#endif
