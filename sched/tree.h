// SPDX-License-Identifier: GPL-2.0-or-later
// The running tree, as the files of this folder see it; everybody else includes sched.h.
//
//   tree.c         entry points: batches in and out, link clock, shedding, housekeeping
//   class.c        class records: made at a class's first packet, given back after its last has been forgotten
//   hfsc.c         the inner discipline: who is next, and what follows from having sent
//   leaf.h         the leaf disciplines: fq_codel.c (on codel.c), pfifo.c
//   tree_change.c  from one plan to the next        tree_check.c  every invariant
//
// A class has an id (its name over all revisions; slot_of[id] costs 4 bytes) and, while it matters, a record in a slot.
// Arrays by slot or id are reserved for the worst case, and their pages appear when they are first used.
#ifndef SCHED_TREE_H
#define SCHED_TREE_H

#include "sched/codel.h"
#include "sched/curve.h"
#include "sched/heap4.h"
#include "sched/intern.h"
#include "sched/sched.h"

enum { SLOT_NONE = 0, ROOT_SLOT = 1 };

enum class_flags {
	C_LIVE = 1 << 0, // the slot is in use
	C_INNER = 1 << 1,
	C_RT = 1 << 2, // has the curve
	C_LS = 1 << 3,
	C_UL = 1 << 4,
	C_QUEUED = 1 << 5,   // in its parent's queue of virtual times
	C_WAITING = 1 << 6,  // active, but above its upper limit: in `waiting` until it fits
	C_ELIGIBLE = 1 << 7, // in `eligible`, by deadline
	C_LATER = 1 << 8,    // in `ineligible`, by eligible time
	C_PARKED = 1 << 9,   // being changed: counts as not active
	C_BENT = 1 << 10,    // its ls curve has two pieces
};

// A running class. The lines are in the order of their use: a packet of a link-sharing leaf touches two of them.
struct class
{
	// what link-sharing reads
	struct cursor ls;  // x is the virtual time
	uint64_t ls_slope; // of the second piece
	uint64_t bytes;    // backlog
	uint32_t packets;
	uint32_t parent; // slot
	uint32_t head;   // the packet that goes next
	uint16_t flags;  // enum class_flags
	uint8_t kind;    // enum leaf_kind
	uint8_t fat;     // shedding bucket, 0: none
	uint32_t tail;   // of the packets, while they are one flow or a plain queue
	uint32_t id;

	// leaf: fq_codel's flows
	uint64_t hash; // of the only flow
	int32_t deficit;
	uint32_t block;                                  // of flows, 0: one flow at most, and it is here
	uint32_t crowd;                                  // flows beyond the block, 0: none
	uint32_t new_head, new_tail, old_head, old_tail; // lists of flows
	uint32_t queue;                                  // settings, in tree.queues
	uint32_t fat_prev, fat_next;
	uint8_t flow_list; // of the only flow
	uint8_t alert;     // its CoDel state must see every packet
	uint16_t spare;
	uint32_t children; // inner: records below
	uint64_t spare3;

	// real time
	struct cursor rt; // x is when the deadline curve reaches what real time served
	nsec_t e, d;
	uint32_t e_frac;
	uint32_t rt_service, ls_service, ul_service; // in tree.services
	uint32_t d_head;                             // the packet d was computed for
	uint32_t spare2;

	// upper limit, and the AQM of the only flow
	struct cursor ul; // x is f, when the class fits again
	struct codel codel;
};
static_assert(offsetof(struct class, hash) == CACHE_LINE, "hot line");
static_assert(sizeof(struct class) == 4 * CACHE_LINE, "four lines a class");

// An inner class's children; exists as long as the class is in the plan.
struct node {
	struct heap heap; // queued children by virtual time
	uint32_t capacity;
	nsec_t vtmin; // of the child picked last; where a waking child starts
	nsec_t vtmax; // largest that any child reached
};

// What the plan says of a class, by id.
struct class_plan {
	uint32_t parent;            // id
	uint32_t rt, ls, ul, queue; // numbers of interned values
	uint8_t present, inner, kind, spare;
};
static_assert(sizeof(struct class_plan) == 24, "what an idle leaf costs, beside its 4 bytes in slot_of");

// Settings of a leaf, interned.
struct queue_conf {
	struct codel_conf codel;
	uint32_t kind;
	uint32_t limit;   // packets
	uint32_t quantum; // bytes
	uint32_t spare;
	nsec_t watch; // packets that waited less concern no AQM rule
};

enum { FAT_SHIFT = 13, FAT_BUCKETS = 32 }; // classes below 8 KB of backlog are not worth ordering

struct flow_store; // flows of all fq_codel leaves of the tree

struct tree {
	struct class *cls;       // by slot, each on four cache lines
	uint32_t *slot_of;       // by id
	struct class_plan *plan; // by id
	struct packet *pkt;
	struct class_stats *stats; // by id
	uint32_t ids;              // bound of the three arrays by id
	uint32_t slots;
	uint32_t packets; // queued in classes
	uint64_t bytes;
	uint32_t mtu; // wire length of the largest frame: what a visit may send
	uint32_t root_id, default_id;

	nsec_t clock; // when the link would start its next packet
	uint32_t clock_frac;
	uint64_t link_slope; // 0: unshaped
	nsec_t burst;

	struct node *node;                         // by id
	struct heap ineligible, eligible, waiting; // leaves by e, leaves by d, throttled classes by f
	uint32_t *pos_ls;                          // by slot: place in the parent's heap or in `waiting`
	uint32_t *pos_rt;                          // by slot: place in `ineligible` or `eligible`
	nsec_t refitted;                           // see hfsc_refit

	const struct service *service;  // services.value
	const struct queue_conf *queue; // queues.value
	struct flow_store *flows;

	void *cls_memory; // what to free
	struct intern services, queues;
	uint32_t slot_top, slot_free;
	uint32_t hand; // of housekeeping, a slot
	uint32_t shed_hand;
	uint32_t fat_mask; // buckets in use
	uint32_t fat_head[FAT_BUCKETS];
	struct pkt_list grave; // packets of deleted classes
	uint64_t grave_bytes;
};

static inline bool class_active(const struct tree *t, const struct class *c)
{
	if (unlikely(c->flags & C_PARKED))
		return false;
	return c->flags & C_INNER ? t->node[c->id].heap.n : c->packets;
}

static inline struct node *node_of(const struct tree *t, uint32_t slot)
{
	return &t->node[t->cls[slot].id];
}

static inline struct class_stats *class_stats_of(const struct tree *t, const struct class *c)
{
	return &t->stats[c->id];
}

// --- tree.c ---

// Takes over what a plan says of the link and of the tree as a whole.
void tree_link(struct tree *t, const struct plan *p);
// An inner class's queue, empty. node->heap.memory is to be freed.
bool node_init(struct node *n, uint32_t children);

// --- class.c ---

// A class as a plan describes it, in the tree's terms; no padding, so that memcmp compares it.
struct class_spec {
	uint32_t id, parent; // ids
	uint32_t inner, children;
	struct service rt, ls, ul;
	struct queue_conf queue;
};

// Describes all classes of a plan, in its order. NULL without memory; the caller frees it.
struct class_spec *class_specs(const struct plan *p);

// Enters a class into the tree's plan, or replaces what it says of it. No record is made or changed.
void class_configure(struct tree *t, const struct class_spec *spec);
void class_unconfigure(struct tree *t, uint32_t id);
// Slot of the class's record, made if it has none, with those of its ancestors. `at` is where its curves begin.
uint32_t class_open(struct tree *t, uint32_t id, nsec_t at);
// Takes what the plan says into the record: flags, slopes, settings.
void class_refresh(struct tree *t, uint32_t slot);
// Gives the record back. It is not active and holds nothing.
void class_close(struct tree *t, uint32_t slot);
// Whether a new record would behave no differently from this one.
bool class_forgettable(struct tree *t, uint32_t slot, nsec_t now);

// Order of shedding: moves the class to the bucket of its backlog.
void class_refat(struct tree *t, uint32_t slot, uint32_t bucket);
static inline void class_weigh(struct tree *t, uint32_t slot)
{
	const struct class *c = &t->cls[slot];
	uint64_t units = c->bytes >> FAT_SHIFT;
	uint32_t bucket = units ? 64 - (uint32_t)__builtin_clzll(units) : 0;

	if (unlikely(bucket != c->fat))
		class_refat(t, slot, bucket < FAT_BUCKETS ? bucket : FAT_BUCKETS - 1);
}

// The inner discipline's part of class_sync.
void hfsc_sync(struct tree *t, uint32_t slot, uint64_t sent, nsec_t at);

// Brings all that depends on a leaf's backlog in line with it, after each operation on the leaf: `sent` bytes were
// handed out by it from `at` on, or its packets changed otherwise and a backlogged period that begins with this begins
// at `at`. May be called at any time; without a change it does nothing.
static inline void class_sync(struct tree *t, uint32_t slot, uint64_t sent, nsec_t at)
{
	struct class *c = &t->cls[slot];

	// Most packets find their class active and leave it so.
	if (sent || !c->packets || (c->flags & (C_QUEUED | C_RT | C_PARKED)) != C_QUEUED)
		hfsc_sync(t, slot, sent, at);
	if (c->flags & C_INNER)
		return;
	class_weigh(t, slot);
	counter_set(&class_stats_of(t, c)->backlog_packets, c->packets);
	counter_set(&class_stats_of(t, c)->backlog_bytes, c->bytes);
}

#endif
