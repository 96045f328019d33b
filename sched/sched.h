// SPDX-License-Identifier: GPL-2.0-or-later
// What a scheduler promises. A tree is the running form of a plan on one transmit queue; it has one owning thread,
// reads no clock, takes no lock and makes no system call. Newcomers start here.
//
// Ownership.   tree_enqueue takes every packet it is given: each is queued, or is on `freed` when the call returns.
//              tree_dequeue hands over what it returns; what it dropped on the way is on `freed`. Nothing is ever
//              put back: ask the transmit side for room first, then dequeue exactly that.
// Freed.       A list (core/packet.h) that the caller empties after the batch; packet.drop says why each is there.
// Time.        `now` never goes back between calls on one tree. A batch of dequeues lives on a local clock: the
//              instant the link, sending at the plan's rate, would start the next packet. So a batch, or a call
//              that comes late, gives the order a perfectly polled link would have given, up to plan.burst_ns behind.
// Drops        happen in enqueue overflow (fattest flow or class, from its head) and in dequeue (CoDel), nowhere else.
// Activity.    Whether a class is active is one function of what its leaf holds, recomputed by class_sync() after
//              each operation; no leaf calls its parent.
// Bounded.     enqueue: O(batch); dequeue: O(room + drops, at most CODEL_DROPS_MAX a packet); maintain: TREE_SLICE.
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include "core/counter.h"
#include "core/packet.h"
#include "sched/plan.h"

enum { TREE_SLICE = 64, CODEL_DROPS_MAX = 64, DELAY_BUCKETS = 96 };

// Counters of one class, in memory the caller provides (shared with readers); one writer, the tree's owner. What each
// packet touches comes first, in one cache line if the memory is aligned to lines.
struct class_stats {
	counter_t enq_packets, enq_bytes; // accepted by tree_enqueue, wire bytes
	counter_t backlog_packets, backlog_bytes;
	counter_t sent_packets, sent_bytes; // handed out by tree_dequeue
	counter_t rt_packets;               // of the sent ones: by the real-time criterion
	counter_t marked;                   // ECN CE asked for
	counter_t drop_full, drop_codel, drop_reconfigured;
	counter_t flow_overflow;        // packets that shared a flow queue because the slab was full
	counter_t delay[DELAY_BUCKETS]; // arrival to dequeue, see delay_bucket()
	counter_t spare[4];             // to whole cache lines
};
static_assert(sizeof(struct class_stats) % CACHE_LINE == 0, "whole cache lines");

// Histogram bucket of a delay: four per octave from 1 us (bucket 0: below 1 us) to 2^24 us. Lower bound of a bucket, ns.
static inline uint32_t delay_bucket(nsec_t delay)
{
	uint64_t quarters = delay / 250; // of the first octave's start
	uint32_t octave, bucket;

	if (quarters < 4)
		return 0;
	octave = 61 - (uint32_t)__builtin_clzll(quarters);
	bucket = 1 + 4 * octave + (uint32_t)(quarters >> octave & 3);
	return bucket < DELAY_BUCKETS ? bucket : DELAY_BUCKETS - 1;
}
nsec_t delay_bucket_floor(uint32_t bucket);
// Delay below which `permille` of the counted packets were (upper bound of that bucket), 0 if none were counted.
nsec_t delay_quantile(const counter_t delay[DELAY_BUCKETS], uint32_t permille);

struct tree;

struct tree_env {
	struct packet *pkt;        // the descriptors; index 0 is unused
	uint32_t packets;          // how many: no more can ever be queued, so that much state is reserved
	struct class_stats *stats; // [stats_limit], indexed by class id, zeroed
	uint32_t stats_limit;      // plan ids must stay below
};

// Builds the running tree of a checked plan. The plan must outlive it or be replaced by a change. NULL without memory.
// Memory is reserved, not touched: an idle leaf costs its row of the plan and
// its place in the slot table (28 bytes), an active one its record of 256 more.
struct tree *tree_new(const struct plan *plan, const struct tree_env *env);
// Frees it; packets still queued go to `freed` (DROP_SHUTDOWN).
void tree_free(struct tree *t, struct pkt_list *freed);

// Queues n packets. Of each: class_id (an unknown or deleted id means the default class), flow, wire_len, arrival.
void tree_enqueue(struct tree *t, const uint32_t *pkts, uint32_t n, nsec_t now, struct pkt_list *freed);

// Takes at most room_packets packets and about room_bytes wire bytes (it stops at the packet that reaches them)
// whose turn has come by `now`. Fewer means: nothing more is due before tree_next_due().
uint32_t tree_dequeue(struct tree *t, uint32_t *out, uint32_t room_packets, uint32_t room_bytes, nsec_t now,
		      struct pkt_list *freed);

// When tree_dequeue could return something again, if nothing is enqueued: an instant (maybe past: now), TIME_NEVER if empty.
nsec_t tree_next_due(const struct tree *t);

// Packets and wire bytes it holds.
uint32_t tree_backlog_packets(const struct tree *t);
uint64_t tree_backlog_bytes(const struct tree *t);

// Drops up to n packets from the heads of the fattest classes (the pool is low). Returns how many.
uint32_t tree_shed(struct tree *t, uint32_t n, nsec_t now, struct pkt_list *freed);

// One slice of housekeeping: gives back the state of classes long idle, frees the packets of deleted classes. True
// while more is left to do. Call it once a loop while idle, and at least every few ms.
bool tree_maintain(struct tree *t, nsec_t now, struct pkt_list *freed);

// Checks every invariant: counts, sums, reachability of all backlog, heap order, activity. NULL, or what is broken. Slow.
const char *tree_check(const struct tree *t);

// A change of plan; `next` carries the ids of `prev` (plan_carry_ids). tree_change_new compares (pure, control thread)
// and allocates all that applying will need; tree_change_apply runs in the owner between two batches, touching only
// classes that differ; queued packets, virtual times, CoDel state and counters of the others survive. Afterwards the
// tree runs on `next`, and tree_change_free (control thread, after a grace period) frees what was replaced.
struct tree_change;
struct tree_change *tree_change_new(const struct plan *prev, const struct plan *next);
uint32_t tree_change_actions(const struct tree_change *c);
void tree_change_apply(struct tree *t, struct tree_change *c, nsec_t now, struct pkt_list *freed);
void tree_change_free(struct tree_change *c);

#endif
