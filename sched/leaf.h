// SPDX-License-Identifier: GPL-2.0-or-later
// What a leaf discipline does. It keeps c->head (the packet that goes next), c->packets and c->bytes true at all times
// and calls nobody: whoever calls it brings the rest of the tree in line (class_sync).
#ifndef SCHED_LEAF_H
#define SCHED_LEAF_H

#include "sched/tree.h"

// Flows of all leaves. NULL without memory.
struct flow_store *flow_store_new(uint32_t packets, uint32_t classes);
void flow_store_free(struct flow_store *s);

// Drops one packet from the head of the fattest flow (the class is not empty).
void leaf_drop(struct tree *t, uint32_t slot, struct pkt_list *freed);
// Moves all packets to `out`, each flow in order, and forgets all flows.
void leaf_drain(struct tree *t, uint32_t slot, struct pkt_list *out);
// Whether an empty leaf has nothing to remember; gives back flow memory it no longer needs.
bool leaf_forgettable(struct tree *t, uint32_t slot, nsec_t now);
const char *leaf_check(const struct tree *t, uint32_t slot);

// The disciplines behind it.
void fq_codel_enqueue(struct tree *t, uint32_t slot, uint32_t i, struct pkt_list *freed);
uint32_t fq_codel_dequeue(struct tree *t, uint32_t slot, nsec_t now, struct pkt_list *freed);
void fq_codel_drop(struct tree *t, uint32_t slot, struct pkt_list *freed);
void fq_codel_drain(struct tree *t, uint32_t slot, struct pkt_list *out);
bool fq_codel_forgettable(struct tree *t, uint32_t slot, nsec_t now);
const char *fq_codel_check(const struct tree *t, uint32_t slot);

void pfifo_enqueue(struct tree *t, uint32_t slot, uint32_t i, struct pkt_list *freed);
uint32_t pfifo_dequeue(struct tree *t, uint32_t slot);
void pfifo_drain(struct tree *t, uint32_t slot, struct pkt_list *out);

// Queues packet i; if the class then exceeds its limit, packets from the head of its fattest flow go to `freed`.
static inline void leaf_enqueue(struct tree *t, uint32_t slot, uint32_t i, struct pkt_list *freed)
{
	if (t->cls[slot].kind == LEAF_FQ_CODEL)
		fq_codel_enqueue(t, slot, i, freed);
	else
		pfifo_enqueue(t, slot, i, freed);
}

// Takes the next packet; those that the AQM drops before it go to `freed`. PKT_NONE if none was left.
static inline uint32_t leaf_dequeue(struct tree *t, uint32_t slot, nsec_t now, struct pkt_list *freed)
{
	if (t->cls[slot].kind == LEAF_FQ_CODEL)
		return fq_codel_dequeue(t, slot, now, freed);
	return pfifo_dequeue(t, slot);
}

// Length of the packet that goes next (the class is not empty).
static inline uint32_t leaf_head_len(const struct tree *t, const struct class *c)
{
	return t->pkt[c->head].wire_len;
}

// Accounts.
static inline void leaf_came(struct tree *t, struct class *c, uint32_t len)
{
	c->packets++;
	c->bytes += len;
	t->packets++;
	t->bytes += len;
}

static inline void leaf_gone(struct tree *t, struct class *c, uint32_t len)
{
	c->packets--;
	c->bytes -= len;
	t->packets--;
	t->bytes -= len;
}

static inline void leaf_discard(struct tree *t, struct class *c, uint32_t i, enum drop_reason reason,
				struct pkt_list *freed)
{
	struct class_stats *st = class_stats_of(t, c);

	counter_add(reason == DROP_CODEL ? &st->drop_codel : &st->drop_full, 1);
	pkt_drop(freed, t->pkt, i, reason);
}

static inline void leaf_mark(struct tree *t, struct class *c, uint32_t i)
{
	t->pkt[i].flags |= PKT_MARK_CE;
	counter_add(&class_stats_of(t, c)->marked, 1);
}

static inline bool packet_ect(const struct packet *p)
{
	return p->tos & 3;
}

static inline nsec_t packet_sojourn(const struct packet *p, nsec_t now)
{
	return time_before(p->arrival, now) ? now - p->arrival : 0;
}

#endif
