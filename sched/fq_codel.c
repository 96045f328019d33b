// SPDX-License-Identifier: GPL-2.0-or-later
// fq_codel (RFC 8290): the flows of a class share it by deficit round robin, flows that just began go first, and each
// flow has a CoDel (RFC 8289) of its own.
//
// There is no table of 1,024 queues a class: with 13,706 classes it would hold mostly nothing, and of 100 flows nine
// would still meet another by chance. A flow exists while it has packets, and is told apart by its whole 64-bit hash.
//   one flow     lives in the class record itself; by far the most frequent case
//   up to 16     a block of sixteen flows, found by comparing sixteen 16-bit tags at once
//   more         single flows from a slab, found in one hash table by class and flow, and ordered by their backlog so
//                that the fattest is found without a scan (a "crowd", from a slab too)
// When a slab is exhausted a packet joins a flow of its class at random; that is counted (flow_overflow).
//
// Memory of the past: an empty flow whose CoDel dropped in the last 16 intervals stays where it is, in the record or
// its block. A crowd's flows forget when they empty: among more than sixteen active flows that hardly matters.
//
// Between calls the flow at the front of the lists has a packet and a positive deficit, so that everybody knows which
// packet comes next. RFC 8290 finds emptied and exhausted flows only when it next dequeues; here that is done at once.
// So a flow that just sent its last packet, new or old, passes once more through the old list before it is forgotten:
// else one that always empties would begin anew with each packet, ahead of all others.
#include "sched/flows.h"

// --- finding and making flows ----------------------------------------------------------------------------------

// The flow in the record moves to the first place of a block. False: no block left.
static bool record_to_block(struct tree *t, struct class *c, uint32_t slot)
{
	struct flow_store *s = t->flows;
	uint32_t block = block_take(s), f = BLOCK_FLOWS * block;
	struct flow *g = &s->flow[f];

	if (!block)
		return false;
	c->block = block;
	s->block[block].used = 1;
	flow_init(s, f, slot, c->hash);
	s->codel[f] = c->codel;
	g->alert = c->alert;
	c->codel = (struct codel){0};
	c->alert = 0;
	c->new_head = c->old_head = 0;
	if (!c->packets)
		return true;
	g->head = c->head;
	g->tail = c->tail;
	g->bytes = c->bytes;
	g->deficit = c->deficit;
	g->list = c->flow_list;
	if (g->list == FLOW_NEW)
		c->new_head = c->new_tail = f;
	else
		c->old_head = c->old_tail = f;
	return true;
}

// The flow of a packet, in a class that has a block.
static uint32_t flow_of(struct tree *t, struct class *c, uint32_t slot, uint64_t hash, nsec_t now)
{
	struct flow_store *s = t->flows;
	uint32_t f = block_find(s, c->block, hash);

	if (f)
		return f;
	if (c->crowd && (f = crowd_find(s, slot, hash)))
		return f;
	f = block_place(s, t->queue[c->queue].codel.interval, c->block, now);
	if (f) {
		flow_init(s, f, slot, hash);
		return f;
	}
	f = crowd_join(s, c, slot, hash);
	if (f)
		return f;
	counter_add(&class_stats_of(t, c)->flow_overflow, 1);
	return BLOCK_FLOWS * c->block + (uint32_t)(hash % BLOCK_FLOWS);
}

// --- lists -----------------------------------------------------------------------------------------------------

static void list_add(struct flow_store *s, uint32_t *head, uint32_t *tail, uint32_t f)
{
	s->flow[f].next = 0;
	if (*head)
		s->flow[*tail].next = f;
	else
		*head = f;
	*tail = f;
}

static uint32_t front_flow(const struct class *c)
{
	return c->new_head ? c->new_head : c->old_head;
}

static uint32_t take_front(struct flow_store *s, struct class *c)
{
	uint32_t *head = c->new_head ? &c->new_head : &c->old_head;
	uint32_t f = *head;

	*head = s->flow[f].next;
	return f;
}

// An empty flow leaves the lists; only what CoDel remembers is kept, and only in the block.
static void flow_end(struct tree *t, struct class *c, uint32_t f)
{
	struct flow_store *s = t->flows;

	s->flow[f].list = FLOW_UNLISTED;
	s->flow[f].last_round = 0;
	if (is_single(s, f)) {
		crowd_leave(s, c, f);
		return;
	}
	if (s->flow[f].alert) {
		codel_emptied(&s->codel[f]);
		s->flow[f].alert = 0;
	}
	if (!s->codel[f].count)
		s->block[f / BLOCK_FLOWS].used &= (uint16_t) ~(1u << f % BLOCK_FLOWS);
}

// The class is empty: all its flows end, and the block goes unless it remembers something.
static void class_emptied(struct tree *t, struct class *c)
{
	struct flow_store *s = t->flows;

	while (front_flow(c))
		flow_end(t, c, take_front(s, c));
	if (!s->block[c->block].used) {
		block_give(s, c->block);
		c->block = 0;
	}
}

// Brings a flow with a packet and a positive deficit to the front. Each turn of the loop ends a flow's round or its
// existence, so over time there are not more turns than flows that came and quanta that were sent.
static void settle(struct tree *t, struct class *c)
{
	struct flow_store *s = t->flows;
	int32_t quantum = (int32_t)t->queue[c->queue].quantum;

	if (!c->packets) {
		class_emptied(t, c);
		return;
	}
	for (;;) {
		uint32_t f = front_flow(c);
		struct flow *g = &s->flow[f];

		if (g->head && g->deficit > 0) {
			c->head = g->head;
			return;
		}
		take_front(s, c);
		if (!g->head && g->last_round) {
			flow_end(t, c, f);
			continue;
		}
		if (g->head)
			g->deficit += quantum;
		else
			g->last_round = 1;
		g->list = FLOW_OLD;
		list_add(s, &c->old_head, &c->old_tail, f);
	}
}

// --- packets ---------------------------------------------------------------------------------------------------

static uint32_t flow_take_head(struct tree *t, struct class *c, uint32_t f)
{
	struct flow *g = &t->flows->flow[f];
	uint32_t i = g->head;
	const struct packet *p = &t->pkt[i];

	g->head = p->next;
	__builtin_prefetch(&t->pkt[g->head]);
	g->bytes -= p->wire_len;
	leaf_gone(t, c, p->wire_len);
	if (is_single(t->flows, f))
		crowd_weigh(t->flows, c, f);
	return i;
}

// The only flow's.
static uint32_t record_take_head(struct tree *t, struct class *c)
{
	uint32_t i = c->head;

	c->head = t->pkt[i].next;
	__builtin_prefetch(&t->pkt[c->head]);
	leaf_gone(t, c, t->pkt[i].wire_len);
	return i;
}

static void block_enqueue(struct tree *t, struct class *c, uint32_t slot, uint32_t i)
{
	struct flow_store *s = t->flows;
	struct packet *p = &t->pkt[i];
	uint32_t f = flow_of(t, c, slot, p->flow, p->arrival);
	struct flow *g = &s->flow[f];

	if (g->head)
		t->pkt[g->tail].next = i;
	else
		g->head = i;
	g->tail = i;
	g->bytes += p->wire_len;
	g->last_round = 0;
	leaf_came(t, c, p->wire_len);
	if (is_single(s, f))
		crowd_weigh(s, c, f);
	if (g->list == FLOW_UNLISTED) {
		g->list = FLOW_NEW;
		g->deficit = (int32_t)t->queue[c->queue].quantum;
		list_add(s, &c->new_head, &c->new_tail, f);
		c->head = s->flow[front_flow(c)].head;
	}
}

// The head of the fattest flow, out of its queue.
static uint32_t take_from_fattest(struct tree *t, struct class *c)
{
	struct flow_store *s = t->flows;
	uint32_t fattest = 0, i;

	if (!c->block)
		return record_take_head(t, c);
	if (c->crowd && s->crowd[c->crowd].fat_mask)
		fattest = s->crowd[c->crowd].fat_head[31 - __builtin_clz(s->crowd[c->crowd].fat_mask)];
	for (uint32_t m = s->block[c->block].used; m; m &= m - 1) {
		uint32_t f = BLOCK_FLOWS * c->block + (uint32_t)__builtin_ctz(m);

		if (s->flow[f].head && (!fattest || s->flow[f].bytes > s->flow[fattest].bytes))
			fattest = f;
	}
	i = flow_take_head(t, c, fattest);
	settle(t, c);
	return i;
}

void fq_codel_drop(struct tree *t, uint32_t slot, struct pkt_list *freed)
{
	struct class *c = &t->cls[slot];

	leaf_discard(t, c, take_from_fattest(t, c), DROP_QUEUE_FULL, freed);
}

// A packet for a class whose flow is in the record, or that has none.
static void record_enqueue(struct tree *t, struct class *c, uint32_t slot, uint32_t i)
{
	struct packet *p = &t->pkt[i];

	if (!c->packets) {
		if (c->hash != p->flow && c->codel.count &&
		    codel_remembers(&c->codel, t->queue[c->queue].codel.interval, p->arrival) &&
		    record_to_block(t, c, slot)) {
			block_enqueue(t, c, slot, i);
			return;
		}
		if (c->hash != p->flow) {
			c->hash = p->flow;
			c->codel = (struct codel){0};
		} else if (c->alert) {
			codel_emptied(&c->codel);
		}
		c->alert = 0;
		c->flow_list = FLOW_NEW;
		c->deficit = (int32_t)t->queue[c->queue].quantum;
		c->head = i;
	} else if (c->hash == p->flow) {
		t->pkt[c->tail].next = i;
	} else if (record_to_block(t, c, slot)) {
		block_enqueue(t, c, slot, i);
		return;
	} else {
		counter_add(&class_stats_of(t, c)->flow_overflow, 1);
		t->pkt[c->tail].next = i;
	}
	c->tail = i;
	leaf_came(t, c, p->wire_len);
}

void fq_codel_enqueue(struct tree *t, uint32_t slot, uint32_t i, struct pkt_list *freed)
{
	struct class *c = &t->cls[slot];

	t->pkt[i].next = PKT_NONE;
	if (likely(!c->block))
		record_enqueue(t, c, slot, i);
	else
		block_enqueue(t, c, slot, i);
	while (unlikely(c->packets > t->queue[c->queue].limit))
		fq_codel_drop(t, slot, freed);
}

// A packet that waited long, or whose queue is on alert.
static bool passes_codel(struct tree *t, struct class *c, struct codel *codel, uint8_t *alert, uint32_t i,
			 uint64_t left, nsec_t now, struct pkt_list *freed)
{
	const struct packet *p = &t->pkt[i];

	switch (codel_judge(codel, &t->queue[c->queue].codel, now, packet_sojourn(p, now), left, packet_ect(p))) {
	case CODEL_DROP:
		leaf_discard(t, c, i, DROP_CODEL, freed);
		*alert = 1;
		return false;
	case CODEL_MARK:
		leaf_mark(t, c, i);
		break;
	case CODEL_PASS:
		break;
	}
	*alert = codel_alert(codel);
	return true;
}

// Whether packet i, just taken from a queue that holds `left` bytes, is to be sent; if not, it is gone.
static inline bool passes(struct tree *t, struct class *c, struct codel *codel, uint8_t *alert, uint32_t i,
			  uint64_t left, nsec_t now, struct pkt_list *freed)
{
	if (likely(packet_sojourn(&t->pkt[i], now) < t->queue[c->queue].watch && !*alert))
		return true;
	return passes_codel(t, c, codel, alert, i, left, now, freed);
}

static uint32_t record_dequeue(struct tree *t, struct class *c, nsec_t now, struct pkt_list *freed)
{
	for (uint32_t dropped = 0; c->packets; dropped++) {
		uint32_t i = record_take_head(t, c);

		if (dropped < CODEL_DROPS_MAX && !passes(t, c, &c->codel, &c->alert, i, c->bytes, now, freed))
			continue;
		c->deficit -= t->pkt[i].wire_len;
		while (c->deficit <= 0) {
			c->deficit += (int32_t)t->queue[c->queue].quantum;
			c->flow_list = FLOW_OLD;
		}
		return i;
	}
	return PKT_NONE;
}

uint32_t fq_codel_dequeue(struct tree *t, uint32_t slot, nsec_t now, struct pkt_list *freed)
{
	struct class *c = &t->cls[slot];
	struct flow_store *s = t->flows;

	if (likely(!c->block))
		return record_dequeue(t, c, now, freed);
	for (uint32_t dropped = 0; c->packets; dropped++) {
		uint32_t f = front_flow(c);
		struct flow *g = &s->flow[f];
		uint32_t i = flow_take_head(t, c, f);
		bool sent =
			dropped >= CODEL_DROPS_MAX || passes(t, c, &s->codel[f], &g->alert, i, g->bytes, now, freed);

		if (sent)
			g->deficit -= t->pkt[i].wire_len;
		settle(t, c);
		if (sent)
			return i;
		if (!c->block)
			break;
	}
	return PKT_NONE;
}

void fq_codel_drain(struct tree *t, uint32_t slot, struct pkt_list *out)
{
	struct class *c = &t->cls[slot];

	while (c->packets) {
		uint32_t i;

		if (c->block) {
			i = flow_take_head(t, c, front_flow(c));
			settle(t, c);
		} else {
			i = record_take_head(t, c);
		}
		pkt_list_add(out, t->pkt, i);
	}
	if (c->block) {
		block_give(t->flows, c->block);
		c->block = 0;
	}
	c->codel = (struct codel){0};
	c->alert = 0;
}

bool fq_codel_forgettable(struct tree *t, uint32_t slot, nsec_t now)
{
	struct class *c = &t->cls[slot];
	struct flow_store *s = t->flows;
	nsec_t interval = t->queue[c->queue].codel.interval;

	if (!c->block)
		return !codel_remembers(&c->codel, interval, now);
	for (uint32_t m = s->block[c->block].used; m; m &= m - 1) {
		uint32_t k = (uint32_t)__builtin_ctz(m);

		if (!codel_remembers(&s->codel[BLOCK_FLOWS * c->block + k], interval, now))
			s->block[c->block].used &= (uint16_t) ~(1u << k);
	}
	if (s->block[c->block].used)
		return false;
	block_give(s, c->block);
	c->block = 0;
	return true;
}

// --- check -----------------------------------------------------------------------------------------------------

struct sums {
	uint32_t packets, flows, singles;
	uint64_t bytes;
};

static const char *check_flow(const struct tree *t, uint32_t slot, uint32_t f, struct sums *sum)
{
	const struct class *c = &t->cls[slot];
	const struct flow *g = &t->flows->flow[f];
	uint32_t last = PKT_NONE;
	uint64_t bytes = 0;

	for (uint32_t i = g->head; i != PKT_NONE; i = t->pkt[i].next) {
		if (++sum->packets > c->packets)
			return "flows hold more than their class, or a cycle of packets";
		bytes += t->pkt[i].wire_len;
		last = i;
	}
	if (bytes != g->bytes)
		return "bytes of a flow";
	if (g->head && last != g->tail)
		return "tail of a flow is not its last packet";
	if (g->slot != slot)
		return "flow of another class";
	sum->bytes += bytes;
	if (!is_single(t->flows, f))
		return t->flows->block[c->block].used & 1u << f % BLOCK_FLOWS ? NULL : "listed flow not marked used";
	sum->singles++;
	if (crowd_find(t->flows, slot, g->hash) != f)
		return "single flow not in the table";
	return g->bytes && g->fat != 63 - __builtin_clzll(g->bytes) && g->fat != FLOW_FAT_BUCKETS - 1
		       ? "single flow in the wrong bucket"
		       : NULL;
}

static const char *check_list(const struct tree *t, uint32_t slot, uint32_t f, enum flow_list list, struct sums *sum)
{
	const char *problem;

	for (; f; f = t->flows->flow[f].next) {
		if (++sum->flows > t->flows->single_end)
			return "cycle of flows";
		if (t->flows->flow[f].list != list)
			return "flow in a list that it does not know of";
		problem = check_flow(t, slot, f, sum);
		if (problem)
			return problem;
	}
	return NULL;
}

const char *fq_codel_check(const struct tree *t, uint32_t slot)
{
	const struct class *c = &t->cls[slot];
	const struct flow_store *s = t->flows;
	struct sums sum = {0};
	const char *problem = check_list(t, slot, c->new_head, FLOW_NEW, &sum);

	if (!problem)
		problem = check_list(t, slot, c->old_head, FLOW_OLD, &sum);
	if (problem)
		return problem;
	if (sum.packets != c->packets || sum.bytes != c->bytes)
		return "flows and their class differ";
	if (sum.singles != (c->crowd ? s->crowd[c->crowd].flows : 0))
		return "count of single flows";
	if (c->packets &&
	    (!front_flow(c) || s->flow[front_flow(c)].head != c->head || s->flow[front_flow(c)].deficit <= 0))
		return "front flow is not the one to send";
	return NULL;
}
