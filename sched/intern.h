// SPDX-License-Identifier: GPL-2.0-or-later
// Shared values: thousands of classes use a handful of curves and queue settings, so each distinct one is kept once,
// counted, and named by a small number. Equal means equal bytes: values have no padding that is not zero.
#ifndef SCHED_INTERN_H
#define SCHED_INTERN_H

#include "core/types.h"

struct intern {
	void *value; // [capacity] of `size` bytes; a value never moves while it is in use; [0] is all zero
	uint32_t *refs, *next, *bucket;
	uint32_t size, capacity, buckets;
	uint32_t free, top; // chain of free numbers; numbers from top on were never used
};

// Reserves room for `capacity` values; memory appears as it is used. False without memory.
bool intern_init(struct intern *in, uint32_t size, uint32_t capacity);
void intern_free(struct intern *in);

// The number of a value equal to *value, counted once more; 0 for the all-zero value. The caller never takes more than
// `capacity` distinct ones.
uint32_t intern_take(struct intern *in, const void *value);
void intern_drop(struct intern *in, uint32_t number);

#endif
