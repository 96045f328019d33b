// SPDX-License-Identifier: GPL-2.0-or-later
// The hand-off of packets to a shaper on another worker.
// Every class in the table holds a packet and stands once in the round-robin order.
//
// As long as the ring has room a packet goes straight into it. When it is full, packets are staged per class (an open
// hash table by class id, linear probing: at most half full since every class in it holds a packet) and move on by
// deficit round robin. When the stage is full too, a batch is dropped from the head of the class with most bytes; the
// search reads the table once, and dropping up to 32 packets, at most half of what that class holds, pays for it.
#include "sched/handoff.h"

#include <stdlib.h>
#include <string.h>

enum { DROP_BATCH = 32, DRR_QUANTUM = 2048, EMPTY = 0 };

struct staged {               // packets of one class
	uint32_t class_plus1; // EMPTY: free slot
	uint32_t count;
	uint32_t head, tail;
	uint32_t bytes;
	int32_t deficit;
};

struct handoff {
	struct ring *ring;
	struct packet *pkt;
	uint32_t limit, staged;
	uint32_t mask;
	uint32_t rr_head, rr_tail; // FIFO of class ids whose turn comes, in `order`
	uint32_t *order;
	struct staged *slot;
};

struct handoff *handoff_new(struct packet *pkt, uint32_t ring_size, uint32_t stage)
{
	assert(stage >= 1 && stage <= 65536);
	struct handoff *h = calloc(1, sizeof *h);
	uint32_t slots = 16;

	if (!h)
		return NULL;
	while (slots < 2 * stage)
		slots *= 2;
	h->pkt = pkt;
	h->limit = stage;
	h->mask = slots - 1;
	h->ring = ring_new(ring_size);
	h->slot = calloc(slots, sizeof *h->slot);
	h->order = calloc(slots, sizeof *h->order);
	if (!h->ring || !h->slot || !h->order) {
		handoff_free(h, &(struct pkt_list){0});
		return NULL;
	}
	return h;
}

void handoff_free(struct handoff *h, struct pkt_list *freed)
{
	uint32_t i;

	if (!h)
		return;
	while (h->ring && ring_pop(h->ring, &i, 1))
		pkt_drop(freed, h->pkt, i, DROP_SHUTDOWN);
	for (uint32_t s = 0; h->slot && s <= h->mask; s++)
		for (i = h->slot[s].head; h->slot[s].count; h->slot[s].count--) {
			uint32_t next = h->pkt[i].next;

			pkt_drop(freed, h->pkt, i, DROP_SHUTDOWN);
			i = next;
		}
	ring_free(h->ring);
	free(h->slot);
	free(h->order);
	free(h);
}

static uint32_t home(const struct handoff *h, uint32_t class_id)
{
	return (class_id * 0x9e3779b1u) >> 8 & h->mask;
}

// Slot of the class, or the free slot where it would go.
static struct staged *find(struct handoff *h, uint32_t class_id)
{
	uint32_t s = home(h, class_id);

	while (h->slot[s].class_plus1 != EMPTY && h->slot[s].class_plus1 != class_id + 1)
		s = (s + 1) & h->mask;
	return &h->slot[s];
}

// Frees a slot and closes the gap, so that probing needs no tombstones.
static void erase(struct handoff *h, struct staged *gone)
{
	uint32_t hole = (uint32_t)(gone - h->slot), s = hole;

	for (;;) {
		s = (s + 1) & h->mask;
		if (h->slot[s].class_plus1 == EMPTY)
			break;
		uint32_t want = home(h, h->slot[s].class_plus1 - 1);

		if (((s - want) & h->mask) >= ((s - hole) & h->mask)) {
			h->slot[hole] = h->slot[s];
			hole = s;
		}
	}
	h->slot[hole] = (struct staged){0};
}

static void order_push(struct handoff *h, uint32_t class_id)
{
	h->order[h->rr_tail++ & h->mask] = class_id;
}

// Takes the head packet of a class out of the stage. The caller sees to it that no class stays in the table empty.
static uint32_t take_head(struct handoff *h, struct staged *c)
{
	uint32_t i = c->head;

	c->head = h->pkt[i].next;
	c->count--;
	c->bytes -= h->pkt[i].wire_len;
	h->staged--;
	return i;
}

static void order_remove(struct handoff *h, uint32_t class_id)
{
	uint32_t to = h->rr_head;

	for (uint32_t from = h->rr_head; from != h->rr_tail; from++)
		if (h->order[from & h->mask] != class_id)
			h->order[to++ & h->mask] = h->order[from & h->mask];
	h->rr_tail = to;
}

static void drop_from_fattest(struct handoff *h, struct pkt_list *freed)
{
	struct staged *fat = &h->slot[0];

	for (uint32_t s = 1; s <= h->mask; s++)
		if (h->slot[s].bytes > fat->bytes)
			fat = &h->slot[s];
	uint32_t n = fat->count / 2 < DROP_BATCH ? fat->count / 2 : DROP_BATCH;

	do
		pkt_drop(freed, h->pkt, take_head(h, fat), DROP_HANDOFF_FULL);
	while (n-- > 1);
	if (!fat->count) {
		order_remove(h, fat->class_plus1 - 1);
		erase(h, fat);
	}
}

static void stage(struct handoff *h, uint32_t i)
{
	struct staged *c = find(h, h->pkt[i].class_id);

	if (c->class_plus1 == EMPTY) {
		*c = (struct staged){.class_plus1 = h->pkt[i].class_id + 1};
		order_push(h, h->pkt[i].class_id);
	}
	h->pkt[i].next = PKT_NONE;
	if (c->count++)
		h->pkt[c->tail].next = i;
	else
		c->head = i;
	c->tail = i;
	c->bytes += h->pkt[i].wire_len;
	h->staged++;
}

uint32_t handoff_flush(struct handoff *h)
{
	uint32_t batch[64], moved = 0, room = h->staged ? ring_room(h->ring) : 0, n = 0;

	while (room && h->staged) {
		uint32_t class_id = h->order[h->rr_head & h->mask];
		struct staged *c = find(h, class_id);

		h->rr_head++;
		c->deficit += DRR_QUANTUM;
		while (c->count && c->deficit > 0 && room) {
			uint32_t i = take_head(h, c);

			c->deficit -= h->pkt[i].wire_len;
			batch[n++] = i;
			room--;
			if (n == ARRAY_LEN(batch)) {
				moved += ring_push(h->ring, batch, n);
				n = 0;
			}
		}
		if (c->count)
			order_push(h, class_id);
		else
			erase(h, c);
	}
	return moved + ring_push(h->ring, batch, n);
}

uint32_t handoff_push(struct handoff *h, const uint32_t *pkts, uint32_t n, struct pkt_list *freed)
{
	uint32_t done = handoff_flush(h);
	uint32_t direct = h->staged ? 0 : ring_push(h->ring, pkts, n);

	for (uint32_t k = direct; k < n; k++) {
		if (h->staged == h->limit)
			drop_from_fattest(h, freed);
		stage(h, pkts[k]);
	}
	return done + direct;
}

uint32_t handoff_staged(const struct handoff *h)
{
	return h->staged;
}

uint32_t handoff_pop(struct handoff *h, uint32_t *out, uint32_t n)
{
	return ring_pop(h->ring, out, n);
}

uint32_t handoff_waiting(const struct handoff *h)
{
	return ring_count(h->ring);
}
