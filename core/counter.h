// SPDX-License-Identifier: GPL-2.0-or-later
// Counters with one writer and any number of readers, in this process or (in shared memory) in another one. A
// relaxed atomic store of a 64-bit word costs what a plain store costs; no reader takes a lock, none sees half a value.
#ifndef CORE_COUNTER_H
#define CORE_COUNTER_H

#include <stdatomic.h>

#include "core/types.h"

typedef struct {
	_Atomic uint64_t value;
} counter_t;

static inline uint64_t counter_read(const counter_t *c)
{
	return atomic_load_explicit(&c->value, memory_order_relaxed);
}

// For the one writer only.
static inline void counter_add(counter_t *c, uint64_t n)
{
	atomic_store_explicit(&c->value, counter_read(c) + n, memory_order_relaxed);
}

static inline void counter_set(counter_t *c, uint64_t n)
{
	atomic_store_explicit(&c->value, n, memory_order_relaxed);
}

#endif
