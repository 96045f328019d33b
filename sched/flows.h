// SPDX-License-Identifier: GPL-2.0-or-later
// Flow state of all fq_codel leaves of a tree: blocks of sixteen for classes with a few flows, single flows beyond
// that, all memory reserved at the start and touched only as it is needed.
#ifndef SCHED_FLOWS_H
#define SCHED_FLOWS_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "sched/leaf.h"

enum { BLOCK_FLOWS = 16, FLOW_FAT_BUCKETS = 32 };
enum flow_list { FLOW_UNLISTED, FLOW_NEW, FLOW_OLD };

struct flow {
	uint64_t hash;
	uint64_t bytes;
	uint32_t head, tail; // packets, PKT_NONE if empty
	int32_t deficit;
	uint32_t next;               // in its list, or in the chain of free ones
	uint32_t slot;               // of the class (singles)
	uint32_t fat_prev, fat_next; // singles of a class by backlog
	uint8_t list;                // enum flow_list
	uint8_t last_round;          // empty, and passing through the old list
	uint8_t alert;               // CoDel must see every packet
	uint8_t fat;                 // singles: bucket, log2 of bytes
};

struct block {
	uint16_t tag[BLOCK_FLOWS]; // top bits of the hashes
	uint16_t used;             // bit mask; flows that are listed, or remember
	uint32_t next_free;
};

// A class's flows beyond its block.
struct crowd {
	uint32_t fat_mask, flows, next_free;
	uint32_t fat_head[FLOW_FAT_BUCKETS];
};

// Flows 16 b .. 16 b + 15 belong to block b (from 1), flows from `singles` on are singles. The slabs hand out what was
// given back, or what was never used, so that memory appears only as it is needed.
struct flow_store {
	struct flow *flow;
	struct codel *codel; // beside: touched only by flows that wait too long
	struct block *block;
	struct crowd *crowd;
	uint32_t *table; // singles by class and hash, open addressing
	uint32_t table_mask;
	uint32_t singles; // index of the first
	uint32_t block_free, block_top, blocks;
	uint32_t single_free, single_top, single_end;
	uint32_t crowd_free, crowd_top, crowds;
};

// A block, empty; 0: there is none left.
uint32_t block_take(struct flow_store *s);
void block_give(struct flow_store *s, uint32_t block);
// A place in the block: a free one, or that of an empty flow whose memory is over. 0: all taken.
uint32_t block_place(struct flow_store *s, nsec_t interval, uint32_t block, nsec_t now);

// A new flow of the class beyond its block. 0: a slab is exhausted.
uint32_t crowd_join(struct flow_store *s, struct class *c, uint32_t slot, uint64_t hash);
// An empty one of them ends.
void crowd_leave(struct flow_store *s, struct class *c, uint32_t flow);
// The class's flow with this hash among its singles, or 0.
uint32_t crowd_find(const struct flow_store *s, uint32_t slot, uint64_t hash);
// Moves a single flow to the bucket of its backlog.
void crowd_weigh(struct flow_store *s, struct class *c, uint32_t flow);

void flow_init(struct flow_store *s, uint32_t flow, uint32_t slot, uint64_t hash);

static inline bool is_single(const struct flow_store *s, uint32_t f)
{
	return f >= s->singles;
}

static inline uint16_t tag_of(uint64_t hash)
{
	return (uint16_t)(hash >> 48);
}

static inline uint32_t tags_equal(const struct block *b, uint16_t tag)
{
#ifdef __SSE2__
	__m128i want = _mm_set1_epi16((short)tag);
	__m128i low = _mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)(const void *)b->tag), want);
	__m128i high = _mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)(const void *)(b->tag + 8)), want);

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) & b->used;
#else
	uint32_t mask = 0;

	for (uint32_t i = 0; i < BLOCK_FLOWS; i++)
		mask |= (uint32_t)(b->tag[i] == tag) << i;
	return mask & b->used;
#endif
}

// The flow with this hash in the block, or 0.
static inline uint32_t block_find(const struct flow_store *s, uint32_t block, uint64_t hash)
{
	for (uint32_t m = tags_equal(&s->block[block], tag_of(hash)); m; m &= m - 1) {
		uint32_t f = BLOCK_FLOWS * block + (uint32_t)__builtin_ctz(m);

		if (s->flow[f].hash == hash)
			return f;
	}
	return 0;
}

#endif
