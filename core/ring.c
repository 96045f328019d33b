// SPDX-License-Identifier: GPL-2.0-or-later
// Single producer, single consumer. Each side keeps its own cursor and a copy of the other's on a cache line of its
// own, and reads the other's real cursor only when the copy says "full" or "empty": in steady state a batch costs one
// line transfer each way. (The cached-cursor idea: Lee et al., "FastForward"/"MCRingBuffer", 2008-2010.)
#include "core/ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct ring {
	_Alignas(CACHE_LINE) _Atomic uint32_t tail; // producer's line: next place to fill
	uint32_t head_seen;
	_Alignas(CACHE_LINE) _Atomic uint32_t head; // consumer's line: next place to empty
	uint32_t tail_seen;
	_Alignas(CACHE_LINE) uint32_t mask;
	uint32_t item[];
};

struct ring *ring_new(uint32_t size)
{
	assert(size >= 2 && size <= 1u << 20 && !(size & (size - 1)));
	size_t bytes = sizeof(struct ring) + (size_t)size * sizeof(uint32_t);

	bytes = (bytes + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
	struct ring *r = aligned_alloc(CACHE_LINE, bytes);

	if (!r)
		return NULL;
	memset(r, 0, bytes);
	r->mask = size - 1;
	return r;
}

void ring_free(struct ring *r)
{
	free(r);
}

uint32_t ring_room(struct ring *r)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
	return r->mask + 1 - (tail - r->head_seen);
}

uint32_t ring_push(struct ring *r, const uint32_t *items, uint32_t n)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint32_t room = r->mask + 1 - (tail - r->head_seen);

	if (room < n)
		room = ring_room(r);
	if (n > room)
		n = room;
	for (uint32_t i = 0; i < n; i++)
		r->item[(tail + i) & r->mask] = items[i];
	atomic_store_explicit(&r->tail, tail + n, memory_order_release);
	return n;
}

uint32_t ring_pop(struct ring *r, uint32_t *items, uint32_t n)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint32_t there = r->tail_seen - head;

	if (there < n) {
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
		there = r->tail_seen - head;
	}
	if (n > there)
		n = there;
	for (uint32_t i = 0; i < n; i++)
		items[i] = r->item[(head + i) & r->mask];
	if (n)
		atomic_store_explicit(&r->head, head + n, memory_order_release);
	return n;
}

uint32_t ring_count(const struct ring *r)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_acquire);

	return atomic_load_explicit(&r->tail, memory_order_acquire) - head;
}
