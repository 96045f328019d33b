// SPDX-License-Identifier: GPL-2.0-or-later
// A bounded ring of 32-bit indices from one producer thread to one consumer thread. Cursors run freely and wrap at
// 2^32; their difference is the fill. The packets named by the indices pass to the consumer with them (release/acquire).
#ifndef CORE_RING_H
#define CORE_RING_H

#include "core/types.h"

struct ring;

// `size` is a power of two, 2 to 2^20. NULL without memory.
struct ring *ring_new(uint32_t size);
void ring_free(struct ring *r);

// Producer: free places (at least).
uint32_t ring_room(struct ring *r);
// Producer: appends up to n, in order; returns how many fitted. Those belong to the consumer now.
uint32_t ring_push(struct ring *r, const uint32_t *items, uint32_t n);
// Consumer: takes up to n, in order.
uint32_t ring_pop(struct ring *r, uint32_t *items, uint32_t n);
// Either side: items in it, a moment ago.
uint32_t ring_count(const struct ring *r);

#endif
