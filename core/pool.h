// SPDX-License-Identifier: GPL-2.0-or-later
// Free frames. The pool holds them in magazines of POOL_MAGAZINE; a worker keeps a cache of its own and trades whole
// magazines with the pool, one compare-and-swap for that many frames, so the packet path takes no lock.
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include "core/packet.h"

enum { POOL_MAGAZINE = 64, CACHE_MAGAZINES = 4 };

struct pool;

// All frames 1..f->count-1 are free in it (a remainder below a magazine too). NULL without memory.
struct pool *pool_new(const struct frames *f);
void pool_free(struct pool *pool);
// Free frames in the pool (caches not counted), a moment ago.
uint32_t pool_count(const struct pool *pool);

struct frame_cache {
	struct pool *pool;
	const struct frames *frames;
	uint32_t count;
	uint32_t frame[POOL_MAGAZINE * CACHE_MAGAZINES];
};

void frame_cache_init(struct frame_cache *c, struct pool *pool, const struct frames *f);
// Takes up to n free frames; fewer only when the pool is empty.
uint32_t frame_cache_get(struct frame_cache *c, uint32_t *out, uint32_t n);
// Gives frames back; surplus magazines go to the pool.
void frame_cache_put(struct frame_cache *c, const uint32_t *frame, uint32_t n);
// Gives back a whole list and empties it.
void frame_cache_put_list(struct frame_cache *c, struct pkt_list *l);
// Everything to the pool (worker stops).
void frame_cache_flush(struct frame_cache *c);

#endif
