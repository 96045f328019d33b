// SPDX-License-Identifier: GPL-2.0-or-later
// What a packet costs in the scheduler: enqueue and dequeue in batches, a random class and flow each, descriptors
// written before and read behind as a worker does. Random numbers are drawn outside of the measured pieces; the figure
// is the median over pieces. Virtual time runs so that the link is just not the limit.
//
//   sched [tree=hfsc] [leaves=N] [flows=N] [size=BYTES] [bulk=N] [backlog=N] [curves=ls|rt|ul]
//
// backlog is the average number of packets waiting in a leaf; 0: as many out as in, nothing waits. Without arguments a
// small matrix is run; each argument holds one of its dimensions fixed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sched/sched.h"

enum { BATCHES = 64, PIECES = 200, BULK_MAX = 32 };

struct bench_case {
	uint32_t leaves, flows, size, bulk, backlog;
	const char *curves;
};

static uint64_t seed = 42;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 32) * n >> 32);
}

static nsec_t clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (nsec_t)ts.tv_sec * NSEC_PER_SEC + (nsec_t)ts.tv_nsec;
}

static struct plan *plan_of(const struct bench_case *b)
{
	struct plan *p = plan_new(b->leaves + 1);
	uint64_t share;

	if (!p)
		return NULL;
	p->rate_bps = RATE_MAX_BPS;
	p->burst_ns = NSEC_PER_MSEC;
	p->mtu_wire = 1514;
	p->default_class = 1;
	share = p->rate_bps / b->leaves;
	for (uint32_t i = 1; i <= b->leaves; i++) {
		struct class_conf *c = &p->cls[i];

		c->ls = (struct curve){share, 0, share};
		if (!strcmp(b->curves, "rt"))
			c->rt = (struct curve){share / 2, 0, share / 2};
		if (!strcmp(b->curves, "ul"))
			c->ul = (struct curve){share * 2, 0, share * 2};
		c->leaf = (struct leaf_conf){.kind = LEAF_FQ_CODEL,
					     .limit_packets = 10240,
					     .limit_frames = 10240,
					     .quantum = 1514,
					     .target_ns = 5 * NSEC_PER_MSEC,
					     .interval_ns = 100 * NSEC_PER_MSEC,
					     .ce_threshold_ns = TIME_NEVER};
	}
	return p;
}

struct bench {
	const struct bench_case *conf;
	struct tree *tree;
	struct packet *pkt;
	uint32_t *free, frees;
	struct pkt_list freed;
	nsec_t now;
	uint32_t queued, wanted;
	uint32_t *class_id;
	uint64_t *flow;
	uint64_t sum; // of what was read behind, so that it is read
};

static void batch_in(struct bench *b, uint32_t at)
{
	uint32_t pkts[BULK_MAX];

	for (uint32_t k = 0; k < b->conf->bulk; k++) {
		uint32_t i = b->free[--b->frees];
		struct packet *p = &b->pkt[i];

		p->class_id = b->class_id[at + k];
		p->flow = b->flow[at + k];
		p->len = p->wire_len = (uint16_t)b->conf->size;
		p->arrival = b->now;
		pkts[k] = i;
	}
	tree_enqueue(b->tree, pkts, b->conf->bulk, b->now, &b->freed);
	b->queued += b->conf->bulk;
}

static uint32_t batch_out(struct bench *b)
{
	uint32_t out[BULK_MAX], i;
	uint32_t n = tree_dequeue(b->tree, out, b->conf->bulk, UINT32_MAX, b->now, &b->freed);

	for (uint32_t k = 0; k < n; k++) {
		b->sum += b->pkt[out[k]].len;
		b->free[b->frees++] = out[k];
	}
	b->queued -= n + b->freed.count;
	while ((i = pkt_list_take(&b->freed, b->pkt)) != PKT_NONE)
		b->free[b->frees++] = i;
	return n;
}

// One piece; ns per packet that went out.
static double piece(struct bench *b)
{
	const struct bench_case *c = b->conf;
	nsec_t start, step = bytes_to_ns((uint64_t)c->bulk * c->size, RATE_MAX_BPS);
	uint32_t sent = 0;

	for (uint32_t k = 0; k < BATCHES * c->bulk; k++) {
		uint32_t leaf = random_below(c->leaves);

		b->class_id[k] = 1 + leaf;
		b->flow[k] = (uint64_t)(random_below(c->flows) + 1) * 0x9e3779b97f4a7c15ull ^ leaf;
	}
	start = clock_now();
	for (uint32_t k = 0; k < BATCHES; k++) {
		if (b->queued < b->wanted + c->bulk)
			batch_in(b, k * c->bulk);
		sent += batch_out(b);
		b->now += step;
	}
	return sent ? (double)(clock_now() - start) / sent : 0;
}

static int ascending(const void *va, const void *vb)
{
	const double *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

static void run(const struct bench_case *c)
{
	uint32_t packets = c->backlog * c->leaves + 64 * BULK_MAX;
	struct plan *plan = plan_of(c);
	struct class_stats *stats = aligned_alloc(CACHE_LINE, (c->leaves + 1) * sizeof *stats);
	struct bench b = {.conf = c, .now = NSEC_PER_SEC, .wanted = c->backlog * c->leaves};
	double result[PIECES];
	struct tree_env env;

	b.pkt = aligned_alloc(CACHE_LINE, (size_t)packets * sizeof *b.pkt);
	b.free = calloc(packets, sizeof *b.free);
	b.class_id = calloc(BATCHES * BULK_MAX, sizeof *b.class_id);
	b.flow = calloc(BATCHES * BULK_MAX, sizeof *b.flow);
	if (stats)
		memset(stats, 0, (c->leaves + 1) * sizeof *stats);
	env = (struct tree_env){.pkt = b.pkt, .packets = packets, .stats = stats, .stats_limit = c->leaves + 1};
	b.tree = plan ? tree_new(plan, &env) : NULL;
	if (!b.tree || !stats || !b.pkt || !b.free || !b.class_id || !b.flow) {
		fprintf(stderr, "sched: no memory\n");
		exit(1);
	}
	memset(b.pkt, 0, (size_t)packets * sizeof *b.pkt);
	for (uint32_t i = 1; i < packets; i++)
		b.free[b.frees++] = i;
	while (b.queued < b.wanted) {
		for (uint32_t k = 0; k < c->bulk; k++) {
			b.class_id[k] = 1 + random_below(c->leaves);
			b.flow[k] =
				(uint64_t)(random_below(c->flows) + 1) * 0x9e3779b97f4a7c15ull ^ (b.class_id[k] - 1);
		}
		batch_in(&b, 0);
	}
	for (uint32_t k = 0; k < PIECES / 2 + b.wanted / (BATCHES * c->bulk); k++)
		piece(&b);
	for (uint32_t k = 0; k < PIECES; k++)
		result[k] = piece(&b);
	qsort(result, PIECES, sizeof *result, ascending);
	printf("sched tree=hfsc leaves=%u flows=%u size=%u bulk=%u backlog=%u%s%s %.0f ns/packet\n", c->leaves,
	       c->flows, c->size, c->bulk, c->backlog, strcmp(c->curves, "ls") ? " curves=" : "",
	       strcmp(c->curves, "ls") ? c->curves : "", result[PIECES / 2]);
	fflush(stdout);
	tree_free(b.tree, &b.freed);
	plan_free(plan);
	free(stats);
	free(b.pkt);
	free(b.free);
	free(b.class_id);
	free(b.flow);
}

static const char *argument(int argc, char **argv, const char *key)
{
	size_t n = strlen(key);

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], key, n) && argv[i][n] == '=')
			return argv[i] + n + 1;
	return NULL;
}

static uint32_t number(int argc, char **argv, const char *key, uint32_t otherwise, uint32_t max)
{
	const char *text = argument(argc, argv, key);
	unsigned long value = text ? strtoul(text, NULL, 10) : otherwise;

	if (value > max || (!value && strcmp(key, "backlog"))) {
		fprintf(stderr, "sched: %s=%s is out of range, allowed up to %u\n", key, text, max);
		exit(2);
	}
	return (uint32_t)value;
}

int main(int argc, char **argv)
{
	static const uint32_t leaves[] = {1, 100, 1000, 10000}, backlogs[] = {0, 4}, sizes[] = {64, 1514};
	const char *tree = argument(argc, argv, "tree"), *curves = argument(argc, argv, "curves");
	struct bench_case c = {.curves = curves ? curves : "ls"};

	if (tree && strcmp(tree, "hfsc"))
		return 0;
	if (strcmp(c.curves, "ls") && strcmp(c.curves, "rt") && strcmp(c.curves, "ul")) {
		fprintf(stderr, "sched: curves=%s is unknown, allowed ls, rt and ul\n", c.curves);
		return 2;
	}
	c.flows = number(argc, argv, "flows", 1, 1000);
	c.bulk = number(argc, argv, "bulk", 32, BULK_MAX);
	for (uint32_t l = 0; l < (argument(argc, argv, "leaves") ? 1 : ARRAY_LEN(leaves)); l++)
		for (uint32_t b = 0; b < (argument(argc, argv, "backlog") ? 1 : ARRAY_LEN(backlogs)); b++)
			for (uint32_t s = 0; s < (argument(argc, argv, "size") ? 1 : ARRAY_LEN(sizes)); s++) {
				c.leaves = number(argc, argv, "leaves", leaves[l], 200000);
				c.backlog = number(argc, argv, "backlog", backlogs[b], 100);
				c.size = number(argc, argv, "size", sizes[s], 9000);
				run(&c);
			}
	return 0;
}
