// SPDX-License-Identifier: GPL-2.0-or-later
// Operations on a running tree, chosen by bytes: packets in and out, time, shedding, housekeeping, changes of plan that
// plan_check lets pass. After each the tree's invariants must hold and every packet must be accounted for.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"

enum { PACKETS = 400, IDS = 40, CLASSES = 12 };

struct input {
	const uint8_t *at, *end;
};

struct fuzz {
	struct input in;
	struct tree *t;
	struct plan *plan;
	struct packet *pkt;
	struct class_stats *stats;
	struct pkt_list freed;
	uint32_t free[PACKETS], frees;
	nsec_t now;
};

static uint32_t byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static uint32_t below(struct input *in, uint32_t n)
{
	return (byte(in) << 8 | byte(in)) % n;
}

static struct curve curve(struct input *in)
{
	static const uint64_t rates[] = {1000, 8000, 300000, 1000000, 7000000, 50000000, 999999999, 400000000000};
	struct curve c = {.m2_bps = rates[byte(in) % 8]};

	c.m1_bps = c.m2_bps;
	if (byte(in) & 1) {
		c.m1_bps = byte(in) % 4 ? rates[byte(in) % 8] : 0;
		c.d_ns = 1 + below(in, 60000) * 100000ull;
	}
	return c;
}

static void leaf(struct input *in, struct leaf_conf *l)
{
	l->kind = byte(in) % 3 ? LEAF_FQ_CODEL : LEAF_PFIFO;
	l->limit_packets = 1 + byte(in) % 50;
	l->limit_frames = 1 + byte(in) % 50;
	l->quantum = 64 + below(in, 2000);
	l->target_ns = 1000 + below(in, 60000) * 1000ull;
	l->interval_ns = l->target_ns * (1 + byte(in) % 20);
	l->ce_threshold_ns = byte(in) % 2 ? TIME_NEVER : below(in, 60000) * 1000ull;
	l->ecn = byte(in) & 1;
}

// NULL if the check refuses it.
static struct plan *plan(struct input *in)
{
	uint32_t n = 2 + byte(in) % (CLASSES - 1);
	struct plan *p = plan_new(n);
	struct problems problems = {0};

	p->rate_bps = byte(in) % 8 ? 1000000ull << byte(in) % 18 : 0;
	p->burst_ns = below(in, 1000) * 10000ull;
	p->mtu_wire = 1514;
	strcpy(p->cls[0].name, "root");
	for (uint32_t i = 1; i < n; i++) {
		struct class_conf *c = &p->cls[i];

		snprintf(c->name, sizeof c->name, "c%u", byte(in) % (2 * CLASSES));
		c->parent = byte(in) % i;
		c->ls = curve(in);
		leaf(in, &c->leaf);
		p->cls[c->parent].leaf.kind = LEAF_NONE;
	}
	for (uint32_t i = 1; i < n; i++) {
		struct class_conf *c = &p->cls[i];
		uint32_t kinds = byte(in);

		if (kinds & 1)
			c->ul = curve(in);
		if (c->leaf.kind == LEAF_NONE)
			continue;
		p->default_class = i;
		if (kinds & 2)
			c->rt = curve(in);
		if ((kinds & 12) == 12 && kinds & 2)
			c->ls = c->ul = (struct curve){0};
	}
	plan_check(p, "", &problems);
	problems_free(&problems);
	if (!problems.errors)
		return p;
	plan_free(p);
	return NULL;
}

static void enqueue(struct fuzz *f)
{
	uint32_t pkts[40], n = 0, want = byte(&f->in) % 40, flows = 1 + byte(&f->in);
	nsec_t now = f->now;

	while (n < want && f->frees) {
		uint32_t i = f->free[--f->frees];

		f->pkt[i] = (struct packet){.class_id = byte(&f->in) % IDS,
					    .flow = (1ull + byte(&f->in) % flows) << 40,
					    .arrival = now,
					    .tos = (uint8_t)byte(&f->in),
					    .wire_len = (uint16_t)(1 + below(&f->in, 1600))};
		pkts[n++] = i;
	}
	tree_enqueue(f->t, pkts, n, f->now, &f->freed);
}

static void dequeue(struct fuzz *f)
{
	uint32_t out[32];
	uint32_t n = tree_dequeue(f->t, out, 1 + byte(&f->in) % 32, 1 + below(&f->in, 65535), f->now, &f->freed);

	for (uint32_t k = 0; k < n; k++)
		f->free[f->frees++] = out[k];
	if (!n && tree_next_due(f->t) != TIME_NEVER && !time_before(f->now, tree_next_due(f->t)))
		abort();
}

static void change(struct fuzz *f)
{
	struct plan *next = plan(&f->in);
	struct tree_change *c;

	if (next && plan_carry_ids(next, f->plan) && next->id_limit <= IDS) {
		c = tree_change_new(f->plan, next);
		tree_change_apply(f->t, c, f->now, &f->freed);
		tree_change_free(c);
		plan_free(f->plan);
		f->plan = next;
	} else {
		plan_free(next);
	}
}

static void step(struct fuzz *f)
{
	switch (byte(&f->in) % 8) {
	case 0:
	case 1:
		enqueue(f);
		break;
	case 2:
	case 3:
		dequeue(f);
		break;
	case 4:
		f->now += below(&f->in, 65536) << byte(&f->in) % 20;
		break;
	case 5:
		tree_shed(f->t, byte(&f->in) % 20, f->now, &f->freed);
		break;
	case 6:
		tree_maintain(f->t, f->now, &f->freed);
		break;
	case 7:
		change(f);
		break;
	}
}

static void account(struct fuzz *f)
{
	const char *problem = tree_check(f->t);
	uint32_t i;

	while ((i = pkt_list_take(&f->freed, f->pkt)) != PKT_NONE)
		f->free[f->frees++] = i;
	if (problem) {
		fprintf(stderr, "%s\n", problem);
		abort();
	}
	if (f->frees + tree_backlog_packets(f->t) != PACKETS - 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = {.in = {data, data + size}, .now = NSEC_PER_SEC};
	struct tree_env env;

	f.plan = plan(&f.in);
	if (!f.plan)
		return 0;
	f.pkt = aligned_alloc(CACHE_LINE, PACKETS * sizeof *f.pkt);
	f.stats = calloc(IDS, sizeof *f.stats);
	memset(f.pkt, 0, PACKETS * sizeof *f.pkt);
	for (uint32_t i = 1; i < PACKETS; i++)
		f.free[f.frees++] = i;
	env = (struct tree_env){.pkt = f.pkt, .packets = PACKETS, .stats = f.stats, .stats_limit = IDS};
	f.t = tree_new(f.plan, &env);
	while (f.in.at < f.in.end) {
		step(&f);
		account(&f);
	}
	tree_free(f.t, &f.freed);
	if (f.frees + f.freed.count != PACKETS - 1)
		abort();
	plan_free(f.plan);
	free(f.pkt);
	free(f.stats);
	return 0;
}
