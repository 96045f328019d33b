// SPDX-License-Identifier: GPL-2.0-or-later
// From a worker to the worker that owns the port's shaper: an SPSC ring, and before it, on the producer's side, a
// small queue per class that fills only when the ring is full. What overflows is taken from the fattest class there,
// so that one flooding class cannot push the others' packets out before the scheduler has seen them.
#ifndef SCHED_HANDOFF_H
#define SCHED_HANDOFF_H

#include "core/packet.h"
#include "core/ring.h"

struct handoff;

// `ring_size` is a power of two; at most `stage` packets wait before it (1 .. 65536). NULL without memory.
struct handoff *handoff_new(struct packet *pkt, uint32_t ring_size, uint32_t stage);
// Both sides have stopped: what is still in it goes to `freed` (DROP_SHUTDOWN).
void handoff_free(struct handoff *h, struct pkt_list *freed);

// Producer: hands over n packets, in order within each class; what does not fit is on `freed` (DROP_HANDOFF_FULL).
// Returns how many reached the ring (the consumer may need a wake-up).
uint32_t handoff_push(struct handoff *h, const uint32_t *pkts, uint32_t n, struct pkt_list *freed);
// Producer: moves staged packets on as the ring has room. Call once a loop while handoff_staged().
uint32_t handoff_flush(struct handoff *h);
uint32_t handoff_staged(const struct handoff *h);

// Consumer: takes up to n.
uint32_t handoff_pop(struct handoff *h, uint32_t *out, uint32_t n);
uint32_t handoff_waiting(const struct handoff *h);

#endif
