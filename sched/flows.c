// SPDX-License-Identifier: GPL-2.0-or-later
// Slabs of flows. Each hands out what was given back last, or what was never used, so memory follows the most that was
// ever needed at once. Singles are found in one open-addressing table over all classes: the flow hash is keyed, so
// nobody can aim at its probe chains. Those of a class are ordered by the logarithm of their backlog, so that the
// fattest of ten thousand is found by one look at a bit mask.
#include "sched/flows.h"

#include <stdlib.h>
#include <string.h>

enum { SINGLES_MIN = 64 };

struct flow_store *flow_store_new(uint32_t packets, uint32_t classes)
{
	struct flow_store *s = calloc(1, sizeof *s);
	uint32_t singles = packets / 4 < SINGLES_MIN ? SINGLES_MIN : packets / 4;
	uint32_t flows;

	if (!s)
		return NULL;
	// A block is needed by a class with two flows, hence two packets; some more are kept by classes that remember.
	s->blocks = (packets < classes ? packets : classes) + 1;
	s->block_top = s->crowd_top = 1;
	s->singles = s->single_top = BLOCK_FLOWS * s->blocks + BLOCK_FLOWS;
	s->single_end = flows = s->singles + singles;
	s->crowds = singles / 2 + 2;
	s->table_mask = 64;
	while (s->table_mask < 2 * singles)
		s->table_mask *= 2;
	s->table = calloc(s->table_mask--, sizeof *s->table);
	s->flow = calloc(flows, sizeof *s->flow);
	s->codel = calloc(flows, sizeof *s->codel);
	s->block = calloc((size_t)s->blocks + 1, sizeof *s->block);
	s->crowd = calloc(s->crowds, sizeof *s->crowd);
	if (!s->table || !s->flow || !s->codel || !s->block || !s->crowd) {
		flow_store_free(s);
		return NULL;
	}
	return s;
}

void flow_store_free(struct flow_store *s)
{
	if (!s)
		return;
	free(s->table);
	free(s->flow);
	free(s->codel);
	free(s->block);
	free(s->crowd);
	free(s);
}

// --- slabs -----------------------------------------------------------------------------------------------------

uint32_t block_take(struct flow_store *s)
{
	uint32_t b = s->block_free;

	if (b)
		s->block_free = s->block[b].next_free;
	else if (s->block_top <= s->blocks)
		b = s->block_top++;
	else
		return 0;
	s->block[b].used = 0;
	return b;
}

void block_give(struct flow_store *s, uint32_t b)
{
	s->block[b].next_free = s->block_free;
	s->block_free = b;
}

static uint32_t crowd_take(struct flow_store *s)
{
	uint32_t k = s->crowd_free;

	if (k)
		s->crowd_free = s->crowd[k].next_free;
	else if (s->crowd_top < s->crowds)
		k = s->crowd_top++;
	else
		return 0;
	memset(&s->crowd[k], 0, sizeof s->crowd[k]);
	return k;
}

static void crowd_give(struct flow_store *s, uint32_t k)
{
	s->crowd[k].next_free = s->crowd_free;
	s->crowd_free = k;
}

static uint32_t single_take(struct flow_store *s)
{
	uint32_t f = s->single_free;

	if (f)
		s->single_free = s->flow[f].next;
	else if (s->single_top < s->single_end)
		f = s->single_top++;
	else
		return 0;
	return f;
}

static void single_give(struct flow_store *s, uint32_t f)
{
	s->flow[f].next = s->single_free;
	s->single_free = f;
}

// --- the table of singles --------------------------------------------------------------------------------------

static uint32_t table_home(const struct flow_store *s, uint32_t slot, uint64_t hash)
{
	return (uint32_t)((hash + slot * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull >> 32) & s->table_mask;
}

uint32_t crowd_find(const struct flow_store *s, uint32_t slot, uint64_t hash)
{
	for (uint32_t i = table_home(s, slot, hash); s->table[i]; i = (i + 1) & s->table_mask) {
		const struct flow *f = &s->flow[s->table[i]];

		if (f->hash == hash && f->slot == slot)
			return s->table[i];
	}
	return 0;
}

static void table_put(struct flow_store *s, uint32_t f)
{
	uint32_t i = table_home(s, s->flow[f].slot, s->flow[f].hash);

	while (s->table[i])
		i = (i + 1) & s->table_mask;
	s->table[i] = f;
}

// Removal closes the gap (Knuth, 6.4 R): no tombstones that would slow down a flood's aftermath.
static void table_delete(struct flow_store *s, uint32_t f)
{
	uint32_t gap = table_home(s, s->flow[f].slot, s->flow[f].hash);

	while (s->table[gap] != f)
		gap = (gap + 1) & s->table_mask;
	for (uint32_t i = (gap + 1) & s->table_mask; s->table[i]; i = (i + 1) & s->table_mask) {
		const struct flow *g = &s->flow[s->table[i]];
		uint32_t home = table_home(s, g->slot, g->hash);

		if (((i - home) & s->table_mask) >= ((i - gap) & s->table_mask)) {
			s->table[gap] = s->table[i];
			gap = i;
		}
	}
	s->table[gap] = 0;
}

// --- singles of a class ----------------------------------------------------------------------------------------

void crowd_weigh(struct flow_store *s, struct class *c, uint32_t f)
{
	struct crowd *k = &s->crowd[c->crowd];
	struct flow *g = &s->flow[f];
	uint32_t fat = g->bytes ? 63 - (uint32_t)__builtin_clzll(g->bytes) : 0;

	if (fat >= FLOW_FAT_BUCKETS)
		fat = FLOW_FAT_BUCKETS - 1;
	if (fat == g->fat)
		return;
	if (g->fat) {
		if (g->fat_prev)
			s->flow[g->fat_prev].fat_next = g->fat_next;
		else
			k->fat_head[g->fat] = g->fat_next;
		if (g->fat_next)
			s->flow[g->fat_next].fat_prev = g->fat_prev;
		if (!k->fat_head[g->fat])
			k->fat_mask &= ~(1u << g->fat);
	}
	g->fat = (uint8_t)fat;
	if (!fat)
		return;
	g->fat_prev = 0;
	g->fat_next = k->fat_head[fat];
	if (g->fat_next)
		s->flow[g->fat_next].fat_prev = f;
	k->fat_head[fat] = f;
	k->fat_mask |= 1u << fat;
}

uint32_t crowd_join(struct flow_store *s, struct class *c, uint32_t slot, uint64_t hash)
{
	uint32_t f;

	if (!c->crowd && !(c->crowd = crowd_take(s)))
		return 0;
	f = single_take(s);
	if (!f) {
		if (!s->crowd[c->crowd].flows) {
			crowd_give(s, c->crowd);
			c->crowd = 0;
		}
		return 0;
	}
	flow_init(s, f, slot, hash);
	table_put(s, f);
	s->crowd[c->crowd].flows++;
	return f;
}

void crowd_leave(struct flow_store *s, struct class *c, uint32_t flow)
{
	table_delete(s, flow);
	single_give(s, flow);
	if (--s->crowd[c->crowd].flows)
		return;
	crowd_give(s, c->crowd);
	c->crowd = 0;
}

uint32_t block_place(struct flow_store *s, nsec_t interval, uint32_t block, nsec_t now)
{
	struct block *b = &s->block[block];
	uint32_t k;

	if (b->used != UINT16_MAX) {
		k = (uint32_t)__builtin_ctz(~(uint32_t)b->used);
		b->used |= (uint16_t)(1u << k);
		return BLOCK_FLOWS * block + k;
	}
	for (k = 0; k < BLOCK_FLOWS; k++) {
		uint32_t f = BLOCK_FLOWS * block + k;

		if (s->flow[f].list == FLOW_UNLISTED && !codel_remembers(&s->codel[f], interval, now))
			return f;
	}
	return 0;
}

void flow_init(struct flow_store *s, uint32_t f, uint32_t slot, uint64_t hash)
{
	s->flow[f] = (struct flow){.hash = hash, .slot = slot};
	s->codel[f] = (struct codel){0};
	if (!is_single(s, f))
		s->block[f / BLOCK_FLOWS].tag[f % BLOCK_FLOWS] = tag_of(hash);
}
