// SPDX-License-Identifier: GPL-2.0-or-later
// A small world for tests of the scheduler: plans written in a line a class, packets that come from a free list, a
// seeded random source. Everything fails hard: a test has nothing to recover.
#ifndef TESTS_TREE_WORLD_H
#define TESTS_TREE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/sched.h"

#define KBIT 1000ull
#define MBIT 1000000ull
#define GBIT 1000000000ull
#define MSEC NSEC_PER_MSEC
#define LINEAR(rate)              \
	{                         \
		(rate), 0, (rate) \
	}
#define NO_CURVE        \
	{               \
		0, 0, 0 \
	}

struct world {
	struct packet *pkt;
	uint32_t packets;
	uint32_t *free;
	uint32_t frees;
	struct class_stats *stats;
	uint32_t ids;
	struct pkt_list freed;
	uint64_t dropped[DROP_REASON_COUNT];
	uint64_t seed;
};

static inline uint32_t world_random(struct world *w, uint32_t n)
{
	w->seed = w->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((w->seed >> 32) * n >> 32);
}

static inline void world_init(struct world *w, uint32_t packets, uint32_t ids, uint64_t seed)
{
	*w = (struct world){.packets = packets, .ids = ids, .seed = seed};
	w->pkt = aligned_alloc(64, packets * sizeof *w->pkt);
	memset(w->pkt, 0, packets * sizeof *w->pkt);
	w->free = calloc(packets, sizeof *w->free);
	w->stats = calloc(ids, sizeof *w->stats);
	for (uint32_t i = packets - 1; i > 0; i--)
		w->free[w->frees++] = i;
}

static inline void world_end(struct world *w)
{
	assert_int_equal(w->frees, w->packets - 1); // nothing lost, nothing twice
	free(w->pkt);
	free(w->free);
	free(w->stats);
}

static inline struct tree_env world_env(const struct world *w)
{
	return (struct tree_env){.pkt = w->pkt, .packets = w->packets, .stats = w->stats, .stats_limit = w->ids};
}

static inline void world_give(struct world *w, uint32_t i)
{
	assert_true(i > 0 && i < w->packets && w->frees < w->packets - 1);
	w->free[w->frees++] = i;
}

// Takes back what was dropped, counting reasons.
static inline uint32_t world_collect(struct world *w)
{
	uint32_t i, n = 0;

	while ((i = pkt_list_take(&w->freed, w->pkt)) != PKT_NONE) {
		w->dropped[w->pkt[i].drop]++;
		world_give(w, i);
		n++;
	}
	return n;
}

// A packet for class `id`; PKT_NONE if all are in use.
static inline uint32_t world_packet(struct world *w, uint32_t id, uint64_t flow, uint32_t len, nsec_t now)
{
	uint32_t i;

	if (!w->frees)
		return PKT_NONE;
	i = w->free[--w->frees];
	w->pkt[i] = (struct packet){
		.class_id = id, .flow = flow, .len = (uint16_t)len, .wire_len = (uint16_t)len, .arrival = now};
	return i;
}

static inline void world_send(struct world *w, struct tree *t, uint32_t id, uint64_t flow, uint32_t len, nsec_t now)
{
	uint32_t i = world_packet(w, id, flow, len, now);

	assert_true(i != PKT_NONE);
	tree_enqueue(t, &i, 1, now, &w->freed);
}

static inline struct leaf_conf leaf_pfifo(uint32_t limit)
{
	return (struct leaf_conf){.kind = LEAF_PFIFO, .limit_packets = limit};
}

static inline struct leaf_conf leaf_fq_codel(void)
{
	return (struct leaf_conf){.kind = LEAF_FQ_CODEL,
				  .limit_packets = 10240,
				  .limit_frames = 10240,
				  .quantum = 1514,
				  .target_ns = 5 * MSEC,
				  .interval_ns = 100 * MSEC,
				  .ce_threshold_ns = TIME_NEVER};
}

struct class_line {
	const char *name;
	uint32_t parent;
	struct curve rt, ls, ul;
	struct leaf_conf leaf;
};

// A plan of the root and `n` classes below it; the last leaf is the default.
static inline struct plan *world_plan(uint64_t rate_bps, const struct class_line *line, uint32_t n)
{
	struct plan *p = plan_new(n + 1);

	assert_non_null(p);
	p->rate_bps = rate_bps;
	p->burst_ns = MSEC;
	p->mtu_wire = 1514;
	strcpy(p->cls[0].name, "root");
	for (uint32_t i = 0; i < n; i++) {
		struct class_conf *c = &p->cls[i + 1];

		snprintf(c->name, sizeof c->name, "%s", line[i].name);
		c->parent = line[i].parent;
		c->rt = line[i].rt;
		c->ls = line[i].ls;
		c->ul = line[i].ul;
		c->leaf = line[i].leaf;
		if (c->leaf.kind != LEAF_NONE)
			p->default_class = i + 1;
	}
	return p;
}

static inline void assert_sound(const struct tree *t)
{
	const char *problem = tree_check(t);

	if (problem)
		fail_msg("invariant: %s", problem);
}

#endif
