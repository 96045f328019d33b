// SPDX-License-Identifier: GPL-2.0-or-later
// A 4-ary implicit heap of packed keys: 45 bits of time, 19 bits of slot. Eight bytes a member, four children side by
// side in half a cache line, the minimum of four without a branch (with branches a pop costs three times as much).
// Where each member stands is kept in a dense array beside it, so that any member can be moved or removed at once and
// no stale entry exists; against lazy deletion that costs 1 to 3 ns up to 10,000 members.
//
// Times compare by difference: the members of one heap lie within 2^44 ns (4.9 hours). heap_key_near() sees to it,
// with hfsc_refit() for a heap that nobody drew from for an hour.
// Equal times: lower slot first.
#ifndef SCHED_HEAP4_H
#define SCHED_HEAP4_H

#include "core/units.h"

enum { SLOT_BITS = 19, HEAP_PAD = 8 };

#define SLOT_MASK ((1u << SLOT_BITS) - 1)
#define HEAP_SPAN (1ull << 42) // ns; the farthest a key is put from the present

struct heap {
	uint64_t *key;    // [0] is the first; [1] lies on a cache line, so that no four children straddle two
	uint64_t *memory; // what to free
	uint32_t n;
};

// Called when a sift moves a key to a better place, so that its owner's memory can be fetched before its turn comes.
typedef void heap_promoted(const void *arg, uint32_t place, uint32_t slot);

static inline uint64_t heap_key(nsec_t time, uint32_t slot)
{
	return time << SLOT_BITS | slot;
}

static inline uint32_t heap_slot(uint64_t key)
{
	return (uint32_t)key & SLOT_MASK;
}

static inline bool heap_less(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

// Slot of the first member (the heap is not empty).
static inline uint32_t heap_first(const struct heap *h)
{
	return heap_slot(h->key[0]);
}

// Whether the first member's time has come.
static inline bool heap_due(const struct heap *h, nsec_t now)
{
	return h->n && !heap_less(heap_key(now, SLOT_MASK), h->key[0]);
}

// The key of `time`, pulled in to HEAP_SPAN around `at`. Whoever takes such a member looks at its true time.
static inline uint64_t heap_key_near(nsec_t time, nsec_t at, uint32_t slot)
{
	if (unlikely(time - at + HEAP_SPAN > 2 * HEAP_SPAN))
		time = time_before(time, at) ? at - HEAP_SPAN : at + HEAP_SPAN;
	return heap_key(time, slot);
}

static inline uint32_t heap_min_of_4(const uint64_t *key, uint32_t c)
{
	uint32_t a = heap_less(key[c + 1], key[c]) ? c + 1 : c;
	uint32_t b = heap_less(key[c + 3], key[c + 2]) ? c + 3 : c + 2;

	return heap_less(key[b], key[a]) ? b : a;
}

static inline void heap_place(struct heap *h, uint32_t *pos, uint32_t i, uint64_t key)
{
	h->key[i] = key;
	pos[heap_slot(key)] = i;
}

// Puts `key` at place i or below.
static inline __attribute__((always_inline)) void heap_down(struct heap *h, uint32_t *pos, uint32_t i, uint64_t key,
							    heap_promoted *promoted, const void *arg)
{
	for (;;) {
		uint32_t c = 4 * i + 1, m = c;

		if (likely(c + 4 <= h->n)) {
			m = heap_min_of_4(h->key, c);
		} else if (c < h->n) {
			for (uint32_t k = c + 1; k < h->n; k++)
				m = heap_less(h->key[k], h->key[m]) ? k : m;
		} else {
			break;
		}
		if (!heap_less(h->key[m], key))
			break;
		heap_place(h, pos, i, h->key[m]);
		promoted(arg, i, heap_slot(h->key[m]));
		i = m;
	}
	heap_place(h, pos, i, key);
}

// Puts `key` at place i or above.
static inline void heap_up(struct heap *h, uint32_t *pos, uint32_t i, uint64_t key)
{
	while (i) {
		uint32_t p = (i - 1) / 4;

		if (!heap_less(key, h->key[p]))
			break;
		heap_place(h, pos, i, h->key[p]);
		i = p;
	}
	heap_place(h, pos, i, key);
}

static inline void heap_push(struct heap *h, uint32_t *pos, uint64_t key)
{
	heap_up(h, pos, h->n++, key);
}

// The member at place i gets `key`.
static inline __attribute__((always_inline)) void heap_move(struct heap *h, uint32_t *pos, uint32_t i, uint64_t key,
							    heap_promoted *promoted, const void *arg)
{
	if (heap_less(key, h->key[i]))
		heap_up(h, pos, i, key);
	else
		heap_down(h, pos, i, key, promoted, arg);
}

// Takes the member at place i out.
static inline __attribute__((always_inline)) void heap_remove(struct heap *h, uint32_t *pos, uint32_t i,
							      heap_promoted *promoted, const void *arg)
{
	uint64_t last = h->key[--h->n];

	if (i == h->n)
		return;
	if (i && heap_less(last, h->key[(i - 1) / 4]))
		heap_up(h, pos, i, last);
	else
		heap_down(h, pos, i, last, promoted, arg);
}

// Second smallest key (n > 1).
static inline uint64_t heap_second(const struct heap *h)
{
	uint32_t m = 1;

	for (uint32_t k = 2; k < h->n && k <= 4; k++)
		m = heap_less(h->key[k], h->key[m]) ? k : m;
	return h->key[m];
}

#endif
