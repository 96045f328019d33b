// SPDX-License-Identifier: GPL-2.0-or-later
// The running tree: batches of packets in and out, the link's clock, shedding and housekeeping. Which leaf is next is
// hfsc.c's business, what happens inside a leaf that of leaf.h; this file joins them, and accounts.
//
// A batch is handled in passes over 32 packets, each pass touching one more level of memory and fetching the next, so
// that the misses of a batch overlap: descriptor, slot, class record and counters, and only then the work.
#include <stdlib.h>
#include <string.h>

#include "sched/hfsc.h"
#include "sched/leaf.h"

enum { PASS = 32, MTU_DEFAULT = 1514 };

// --- life ------------------------------------------------------------------------------------------------------

// An array of keys whose second element is on a cache line. h->memory is to be freed.
static bool heap_init(struct heap *h, uint32_t capacity)
{
	uint64_t *memory = calloc((size_t)capacity + 2 * HEAP_PAD, sizeof *memory);
	uintptr_t line = ((uintptr_t)memory + 2 * sizeof *memory + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1);

	if (!memory)
		return false;
	h->memory = memory;
	h->key = (uint64_t *)line - 1;
	h->n = 0;
	return true;
}

void tree_link(struct tree *t, const struct plan *p)
{
	t->link_slope = p->rate_bps ? slope_ns(p->rate_bps) : 0;
	t->burst = p->burst_ns;
	t->mtu = p->mtu_wire ? p->mtu_wire : MTU_DEFAULT;
	t->default_id = p->cls[p->default_class].id;
}

bool node_init(struct node *n, uint32_t children)
{
	n->capacity = children;
	return heap_init(&n->heap, children);
}

static bool tree_reserve(struct tree *t, const struct tree_env *env)
{
	t->ids = env->stats_limit;
	t->slots = env->stats_limit + 2 < SLOT_MASK ? env->stats_limit + 2 : SLOT_MASK;
	t->cls_memory = calloc(t->slots + 1, sizeof *t->cls);
	t->cls = (struct class *)(((uintptr_t)t->cls_memory + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
	t->slot_of = calloc(t->ids, sizeof *t->slot_of);
	t->plan = calloc(t->ids, sizeof *t->plan);
	t->node = calloc(t->ids, sizeof *t->node);
	t->pos_ls = calloc(t->slots, sizeof *t->pos_ls);
	t->pos_rt = calloc(t->slots, sizeof *t->pos_rt);
	t->flows = flow_store_new(env->packets, env->stats_limit);
	return t->cls_memory && t->slot_of && t->plan && t->node && t->pos_ls && t->pos_rt && t->flows &&
	       heap_init(&t->ineligible, t->slots) && heap_init(&t->eligible, t->slots) &&
	       heap_init(&t->waiting, t->slots) && intern_init(&t->services, sizeof(struct service), 3 * t->ids + 3) &&
	       intern_init(&t->queues, sizeof(struct queue_conf), t->ids + 1);
}

static bool tree_fill(struct tree *t, const struct plan *p)
{
	struct class_spec *spec = class_specs(p);
	bool ok = spec;

	for (uint32_t i = 0; ok && i < p->classes; i++) {
		class_configure(t, &spec[i]);
		ok = !spec[i].inner || node_init(&t->node[spec[i].id], spec[i].children);
	}
	free(spec);
	return ok;
}

struct tree *tree_new(const struct plan *plan, const struct tree_env *env)
{
	struct tree *t = calloc(1, sizeof *t);
	struct pkt_list none = {0};

	if (!t)
		return NULL;
	t->pkt = env->pkt;
	t->stats = env->stats;
	t->slot_top = t->hand = ROOT_SLOT;
	if (plan->id_limit > env->stats_limit || !tree_reserve(t, env) || !tree_fill(t, plan)) {
		tree_free(t, &none);
		return NULL;
	}
	t->service = t->services.value;
	t->queue = t->queues.value;
	t->root_id = plan->cls[0].id;
	tree_link(t, plan);
	class_open(t, t->root_id, 0);
	return t;
}

void tree_free(struct tree *t, struct pkt_list *freed)
{
	uint32_t i;

	if (!t)
		return;
	for (uint32_t slot = ROOT_SLOT; slot < t->slot_top; slot++) {
		struct pkt_list list = {0};

		if (!(t->cls[slot].flags & C_LIVE) || t->cls[slot].flags & C_INNER)
			continue;
		leaf_drain(t, slot, &list);
		while ((i = pkt_list_take(&list, t->pkt)) != PKT_NONE)
			pkt_drop(freed, t->pkt, i, DROP_SHUTDOWN);
	}
	while ((i = pkt_list_take(&t->grave, t->pkt)) != PKT_NONE)
		pkt_drop(freed, t->pkt, i, DROP_RECONFIGURED);
	for (uint32_t id = 0; t->node && t->plan && id < t->ids; id++)
		if (t->plan[id].inner)
			free(t->node[id].heap.memory);
	flow_store_free(t->flows);
	free(t->ineligible.memory);
	free(t->eligible.memory);
	free(t->waiting.memory);
	intern_free(&t->services);
	intern_free(&t->queues);
	free(t->cls_memory);
	free(t->slot_of);
	free(t->plan);
	free(t->node);
	free(t->pos_ls);
	free(t->pos_rt);
	free(t);
}

// --- the link's clock ------------------------------------------------------------------------------------------

// `now` was reached. The clock follows: at once if the link is idle or unshaped, else at most burst behind.
static inline void clock_follow(struct tree *t, nsec_t now)
{
	nsec_t least = t->packets && t->link_slope ? now - t->burst : now;

	if (unlikely(now - t->refitted > HEAP_SPAN / 2))
		hfsc_refit(t, now);
	if (time_before(t->clock, least)) {
		t->clock = least;
		t->clock_frac = 0;
	}
}

static inline void clock_sent(struct tree *t, uint32_t len)
{
	time_run(&t->clock, &t->clock_frac, len, t->link_slope);
}

// --- in --------------------------------------------------------------------------------------------------------

// Where a packet without an open class goes: its own if the plan has it as a leaf, else the default class.
static uint32_t slot_for(struct tree *t, uint32_t id, nsec_t at)
{
	return class_open(t, id < t->ids && t->plan[id].kind ? id : t->default_id, at);
}

static void enqueue_one(struct tree *t, uint32_t slot, uint32_t i, nsec_t at, struct pkt_list *freed)
{
	struct class *c = &t->cls[slot];
	struct class_stats *st = class_stats_of(t, c);

	counter_add(&st->enq_packets, 1);
	counter_add(&st->enq_bytes, t->pkt[i].wire_len);
	leaf_enqueue(t, slot, i, freed);
	class_sync(t, slot, 0, at);
}

static void enqueue_pass(struct tree *t, const uint32_t *pkts, uint32_t n, nsec_t at, struct pkt_list *freed)
{
	uint32_t slot[PASS];

	for (uint32_t k = 0; k < n; k++) {
		uint32_t id = t->pkt[pkts[k]].class_id;

		slot[k] = id < t->ids ? t->slot_of[id] : SLOT_NONE;
		__builtin_prefetch(&t->cls[slot[k]], 1);
		__builtin_prefetch(&t->cls[slot[k]].hash, 1);
		if (slot[k])
			__builtin_prefetch(&t->stats[id], 1);
	}
	for (uint32_t k = 0; k < n; k++) {
		const struct class *c = &t->cls[slot[k]];

		if (c->flags & C_RT)
			__builtin_prefetch(&c->rt, 1);
		if (c->packets && !c->block)
			__builtin_prefetch(&t->pkt[c->tail], 1);
	}
	for (uint32_t k = 0; k < n; k++) {
		// Slot 0 has no kind, nor has an inner class.
		if (unlikely(!t->cls[slot[k]].kind))
			slot[k] = slot_for(t, t->pkt[pkts[k]].class_id, at);
		enqueue_one(t, slot[k], pkts[k], at, freed);
	}
}

void tree_enqueue(struct tree *t, const uint32_t *pkts, uint32_t n, nsec_t now, struct pkt_list *freed)
{
	if (!t->packets)
		clock_follow(t, now);
	for (uint32_t k = 0; k < n; k += PASS)
		enqueue_pass(t, pkts + k, n - k < PASS ? n - k : PASS, time_later(t->clock, now), freed);
}

// --- out -------------------------------------------------------------------------------------------------------

struct visit {
	uint32_t *out;
	uint32_t packets, packets_max;
	uint32_t bytes, bytes_max;
};

static bool visit_full(const struct visit *v)
{
	return v->packets >= v->packets_max || v->bytes >= v->bytes_max;
}

// Sends from one leaf. By link-sharing up to one largest frame, or until a leaf becomes eligible; by real time as long
// as a new pick would choose it again: free blocks there would make each leaf's deadline late by all others' blocks.
static void serve(struct tree *t, uint32_t slot, bool by_rt, struct visit *v, nsec_t now, struct pkt_list *freed)
{
	struct class *c = &t->cls[slot];
	struct class_stats *st = class_stats_of(t, c);
	uint32_t before = v->packets, sent = 0;
	nsec_t start = t->clock;
	uint32_t i, len;

	while ((i = leaf_dequeue(t, slot, now, freed)) != PKT_NONE) {
		len = t->pkt[i].wire_len;
		v->out[v->packets++] = i;
		v->bytes += len;
		sent += len;
		clock_sent(t, len);
		counter_add(&st->delay[delay_bucket(packet_sojourn(&t->pkt[i], now))], 1);
		if (by_rt)
			hfsc_rt_sent(t, c, len);
		if (!c->packets || visit_full(v) || time_before(now, t->clock))
			break;
		if (by_rt ? !hfsc_rt_goes_on(t, c) : hfsc_rt_waits(t) || sent + leaf_head_len(t, c) > t->mtu)
			break;
	}
	counter_add(&st->sent_packets, v->packets - before);
	counter_add(&st->sent_bytes, sent);
	if (by_rt)
		counter_add(&st->rt_packets, v->packets - before);
	class_sync(t, slot, sent, start);
}

uint32_t tree_dequeue(struct tree *t, uint32_t *out, uint32_t room_packets, uint32_t room_bytes, nsec_t now,
		      struct pkt_list *freed)
{
	struct visit v = {.out = out, .packets_max = room_packets, .bytes_max = room_bytes};

	if (!t->packets)
		return 0;
	clock_follow(t, now);
	while (t->packets && !visit_full(&v) && !time_before(now, t->clock)) {
		bool by_rt = false;
		uint32_t slot = ROOT_SLOT;

		if (t->cls[ROOT_SLOT].flags & C_INNER)
			slot = hfsc_pick(t, now, &by_rt);
		if (!slot)
			break;
		serve(t, slot, by_rt, &v, now, freed);
	}
	return v.packets;
}

nsec_t tree_next_due(const struct tree *t)
{
	if (!t->packets)
		return TIME_NEVER;
	return t->cls[ROOT_SLOT].flags & C_INNER ? hfsc_next_due(t) : t->clock;
}

uint32_t tree_backlog_packets(const struct tree *t)
{
	return t->packets + t->grave.count;
}

uint64_t tree_backlog_bytes(const struct tree *t)
{
	return t->bytes + t->grave_bytes;
}

// --- shedding and housekeeping ---------------------------------------------------------------------------------

// A class with little backlog, when none has more: the next one in a round over all slots, TREE_SLICE at most.
static uint32_t thin_class(struct tree *t)
{
	for (uint32_t k = 0; k < TREE_SLICE; k++) {
		t->shed_hand = t->shed_hand + 1 < t->slot_top ? t->shed_hand + 1 : ROOT_SLOT;
		if (t->cls[t->shed_hand].flags & C_LIVE && t->cls[t->shed_hand].packets)
			return t->shed_hand;
	}
	return SLOT_NONE;
}

uint32_t tree_shed(struct tree *t, uint32_t n, nsec_t now, struct pkt_list *freed)
{
	uint32_t shed = 0, misses = 0;

	while (shed < n && t->packets) {
		uint32_t slot = t->fat_mask ? t->fat_head[31 - __builtin_clz(t->fat_mask)] : thin_class(t);

		if (!slot) {
			if (++misses * TREE_SLICE > t->slot_top)
				break;
			continue;
		}
		leaf_drop(t, slot, freed);
		class_sync(t, slot, 0, time_later(t->clock, now));
		shed++;
	}
	return shed;
}

bool tree_maintain(struct tree *t, nsec_t now, struct pkt_list *freed)
{
	for (uint32_t k = 0; k < TREE_SLICE && t->grave.count; k++) {
		uint32_t i = pkt_list_take(&t->grave, t->pkt);

		t->grave_bytes -= t->pkt[i].wire_len;
		pkt_drop(freed, t->pkt, i, DROP_RECONFIGURED);
	}
	for (uint32_t k = 0; k < TREE_SLICE; k++) {
		if (++t->hand >= t->slot_top) {
			t->hand = ROOT_SLOT;
			break;
		}
		if (class_forgettable(t, t->hand, now))
			class_close(t, t->hand);
	}
	return t->grave.count || t->hand != ROOT_SLOT;
}
