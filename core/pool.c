// SPDX-License-Identifier: GPL-2.0-or-later
// The frame pool: two lock-free stacks (Treiber 1986) of magazines, the full and the empty ones (Bonwick, Adams 2001,
// without their lock). A magazine is a fixed slot that holds up to 64 frame numbers; slots are never freed, so a thread that
// lost a race may still read a slot's link: it is atomic, and the counter beside the top (ABA) makes its exchange fail.
// There are more slots than full magazines can exist, so an empty one is always to be had.
#include "core/pool.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SPARE_SLOTS = 256 }; // partial magazines: one a flush and thread, and those in the hands of threads

struct magazine {
	_Atomic uint32_t below; // next slot down the stack + 1, 0: bottom
	uint32_t count;
	uint32_t frame[POOL_MAGAZINE];
};

struct stack {
	_Alignas(CACHE_LINE) _Atomic uint64_t top; // counter << 32 | slot + 1
};

struct pool {
	struct stack full, empty;
	_Alignas(CACHE_LINE) _Atomic uint32_t frames;
	struct magazine *slot;
};

static void push(struct pool *pool, struct stack *s, uint32_t slot)
{
	uint64_t top = atomic_load_explicit(&s->top, memory_order_relaxed), next;

	do {
		atomic_store_explicit(&pool->slot[slot].below, (uint32_t)top, memory_order_relaxed);
		next = ((top >> 32) + 1) << 32 | (slot + 1);
	} while (!atomic_compare_exchange_weak_explicit(&s->top, &top, next, memory_order_release,
							memory_order_relaxed));
}

static bool pop(struct pool *pool, struct stack *s, uint32_t *slot)
{
	uint64_t top = atomic_load_explicit(&s->top, memory_order_acquire), next;

	do {
		if (!(uint32_t)top)
			return false;
		uint32_t below = atomic_load_explicit(&pool->slot[(uint32_t)top - 1].below, memory_order_relaxed);

		next = ((top >> 32) + 1) << 32 | below;
	} while (!atomic_compare_exchange_weak_explicit(&s->top, &top, next, memory_order_acquire,
							memory_order_acquire));
	*slot = (uint32_t)top - 1;
	return true;
}

// Moves n (<= POOL_MAGAZINE) frames into the pool.
static void give(struct pool *pool, const uint32_t *frame, uint32_t n)
{
	uint32_t slot;
	bool found = pop(pool, &pool->empty, &slot);

	assert(found);
	if (!found)
		return;
	pool->slot[slot].count = n;
	memcpy(pool->slot[slot].frame, frame, n * sizeof *frame);
	atomic_fetch_add_explicit(&pool->frames, n, memory_order_relaxed);
	push(pool, &pool->full, slot);
}

static uint32_t take(struct pool *pool, uint32_t *frame)
{
	uint32_t slot;

	if (!pop(pool, &pool->full, &slot))
		return 0;
	uint32_t n = pool->slot[slot].count;

	memcpy(frame, pool->slot[slot].frame, n * sizeof *frame);
	atomic_fetch_sub_explicit(&pool->frames, n, memory_order_relaxed);
	push(pool, &pool->empty, slot);
	return n;
}

struct pool *pool_new(const struct frames *f)
{
	uint32_t slots = f->count / POOL_MAGAZINE + 1 + SPARE_SLOTS;
	struct pool *pool = aligned_alloc(CACHE_LINE, sizeof *pool);

	if (!pool)
		return NULL;
	memset(pool, 0, sizeof *pool);
	pool->slot = calloc(slots, sizeof *pool->slot);
	if (!pool->slot) {
		free(pool);
		return NULL;
	}
	for (uint32_t i = 0; i < slots; i++)
		push(pool, &pool->empty, i);
	for (uint32_t i = 1; i < f->count;) {
		uint32_t frame[POOL_MAGAZINE], n = 0;

		while (n < POOL_MAGAZINE && i < f->count)
			frame[n++] = i++;
		give(pool, frame, n);
	}
	return pool;
}

void pool_free(struct pool *pool)
{
	if (pool)
		free(pool->slot);
	free(pool);
}

uint32_t pool_count(const struct pool *pool)
{
	return atomic_load_explicit(&pool->frames, memory_order_relaxed);
}

void frame_cache_init(struct frame_cache *c, struct pool *pool, const struct frames *f)
{
	*c = (struct frame_cache){.pool = pool, .frames = f};
}

uint32_t frame_cache_get(struct frame_cache *c, uint32_t *out, uint32_t n)
{
	uint32_t got = 0;

	while (got < n) {
		if (!c->count) {
			c->count = take(c->pool, c->frame);
			if (!c->count)
				break;
		}
		uint32_t k = n - got < c->count ? n - got : c->count;

		c->count -= k;
		memcpy(out + got, c->frame + c->count, k * sizeof *out);
		got += k;
	}
	return got;
}

void frame_cache_put(struct frame_cache *c, const uint32_t *frame, uint32_t n)
{
	while (n) {
		if (c->count == ARRAY_LEN(c->frame)) {
			c->count -= POOL_MAGAZINE;
			give(c->pool, c->frame + c->count, POOL_MAGAZINE);
		}
		uint32_t room = ARRAY_LEN(c->frame) - c->count, k = n < room ? n : room;

		memcpy(c->frame + c->count, frame, k * sizeof *frame);
		c->count += k;
		frame += k;
		n -= k;
	}
}

void frame_cache_put_list(struct frame_cache *c, struct pkt_list *l)
{
	uint32_t frame[POOL_MAGAZINE], n = 0, i;

	while ((i = pkt_list_take(l, c->frames->pkt)) != PKT_NONE) {
		frame[n++] = i;
		if (n == ARRAY_LEN(frame)) {
			frame_cache_put(c, frame, n);
			n = 0;
		}
	}
	frame_cache_put(c, frame, n);
}

void frame_cache_flush(struct frame_cache *c)
{
	while (c->count) {
		uint32_t n = c->count < POOL_MAGAZINE ? c->count : POOL_MAGAZINE;

		c->count -= n;
		give(c->pool, c->frame + c->count, n);
	}
}
