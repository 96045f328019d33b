// SPDX-License-Identifier: GPL-2.0-or-later
// What all leaf disciplines have in common, beside the two calls per packet in leaf.h.
#include "sched/leaf.h"

void leaf_drop(struct tree *t, uint32_t slot, struct pkt_list *freed)
{
	if (t->cls[slot].kind == LEAF_FQ_CODEL)
		fq_codel_drop(t, slot, freed);
	else
		leaf_discard(t, &t->cls[slot], pfifo_dequeue(t, slot), DROP_QUEUE_FULL, freed);
}

void leaf_drain(struct tree *t, uint32_t slot, struct pkt_list *out)
{
	if (t->cls[slot].kind == LEAF_FQ_CODEL)
		fq_codel_drain(t, slot, out);
	else
		pfifo_drain(t, slot, out);
}

bool leaf_forgettable(struct tree *t, uint32_t slot, nsec_t now)
{
	return t->cls[slot].kind != LEAF_FQ_CODEL || fq_codel_forgettable(t, slot, now);
}

// A list linked by packet.next from head to tail: its packets and bytes, NULL, or what is wrong with it.
static const char *check_queue(const struct tree *t, uint32_t slot)
{
	const struct class *c = &t->cls[slot];
	uint32_t n = 0, last = PKT_NONE;
	uint64_t bytes = 0;

	for (uint32_t i = c->head; c->packets && i != PKT_NONE; i = t->pkt[i].next) {
		if (++n > c->packets)
			return "queue longer than its count, or a cycle";
		bytes += t->pkt[i].wire_len;
		last = i;
	}
	if (n != c->packets || bytes != c->bytes)
		return "queue and its counts differ";
	return n && last != c->tail ? "tail is not the last packet" : NULL;
}

const char *leaf_check(const struct tree *t, uint32_t slot)
{
	const struct class *c = &t->cls[slot];

	if (c->kind == LEAF_FQ_CODEL && c->block)
		return fq_codel_check(t, slot);
	return check_queue(t, slot);
}
