// SPDX-License-Identifier: GPL-2.0-or-later
// A plain queue with a limit in packets. When it is full the oldest packet goes: what waited longest is worth least.
#include "sched/leaf.h"

void pfifo_enqueue(struct tree *t, uint32_t slot, uint32_t i, struct pkt_list *freed)
{
	struct class *c = &t->cls[slot];

	t->pkt[i].next = PKT_NONE;
	if (c->packets)
		t->pkt[c->tail].next = i;
	else
		c->head = i;
	c->tail = i;
	leaf_came(t, c, t->pkt[i].wire_len);
	while (c->packets > t->queue[c->queue].limit)
		leaf_discard(t, c, pfifo_dequeue(t, slot), DROP_QUEUE_FULL, freed);
}

uint32_t pfifo_dequeue(struct tree *t, uint32_t slot)
{
	struct class *c = &t->cls[slot];
	uint32_t i = c->head;

	if (!c->packets)
		return PKT_NONE;
	c->head = t->pkt[i].next;
	__builtin_prefetch(&t->pkt[c->head]);
	leaf_gone(t, c, t->pkt[i].wire_len);
	return i;
}

void pfifo_drain(struct tree *t, uint32_t slot, struct pkt_list *out)
{
	uint32_t i;

	while ((i = pfifo_dequeue(t, slot)) != PKT_NONE)
		pkt_list_add(out, t->pkt, i);
}
