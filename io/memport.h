// SPDX-License-Identifier: GPL-2.0-or-later
// A queue made of arrays: tests, fuzzers and benchmarks feed a worker and look at what it sends, without a device.
#ifndef IO_MEMPORT_H
#define IO_MEMPORT_H

#include "io/port.h"

struct queue *memport_new(const struct frames *f, struct queue_stats *stats, uint16_t port, uint32_t ring);
void memport_free(struct queue *q);
// Puts a frame on the receive side (copied into a frame of `cache`). False if there is no room.
bool memport_feed(struct queue *q, struct frame_cache *cache, const void *frame, uint32_t len);
// Takes one transmitted packet (a frame the caller then owns); PKT_NONE if there is none.
uint32_t memport_take(struct queue *q);
// Stops or resumes room on the transmit side.
void memport_block(struct queue *q, bool blocked);

#endif
