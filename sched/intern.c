// SPDX-License-Identifier: GPL-2.0-or-later
// A chained hash table of values by their bytes, all memory reserved at the start, so that a change of plan can take
// and drop values between two batches of packets.
#include "sched/intern.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS_MAX = 1 << 14 };

bool intern_init(struct intern *in, uint32_t size, uint32_t capacity)
{
	*in = (struct intern){.size = size, .capacity = capacity + 1, .buckets = 16, .top = 1};
	while (in->buckets < capacity && in->buckets < BUCKETS_MAX)
		in->buckets *= 2;
	in->value = calloc(in->capacity, size);
	in->refs = calloc(in->capacity, sizeof *in->refs);
	in->next = calloc(in->capacity, sizeof *in->next);
	in->bucket = calloc(in->buckets, sizeof *in->bucket);
	return in->value && in->refs && in->next && in->bucket;
}

void intern_free(struct intern *in)
{
	free(in->value);
	free(in->refs);
	free(in->next);
	free(in->bucket);
}

static uint8_t *value_at(const struct intern *in, uint32_t number)
{
	return (uint8_t *)in->value + (size_t)number * in->size;
}

static uint32_t *bucket_of(const struct intern *in, const void *value)
{
	const uint8_t *byte = value;
	uint64_t h = 0xcbf29ce484222325ull; // FNV-1a

	for (uint32_t i = 0; i < in->size; i++)
		h = (h ^ byte[i]) * 0x100000001b3ull;
	return &in->bucket[(h ^ h >> 32) & (in->buckets - 1)];
}

uint32_t intern_take(struct intern *in, const void *value)
{
	uint32_t *bucket = bucket_of(in, value);
	uint32_t number;

	if (!memcmp(value, in->value, in->size))
		return 0;
	for (number = *bucket; number; number = in->next[number]) {
		if (!memcmp(value_at(in, number), value, in->size)) {
			in->refs[number]++;
			return number;
		}
	}
	number = in->free;
	if (number)
		in->free = in->next[number];
	else
		number = in->top++;
	assert(number < in->capacity);
	memcpy(value_at(in, number), value, in->size);
	in->refs[number] = 1;
	in->next[number] = *bucket;
	*bucket = number;
	return number;
}

void intern_drop(struct intern *in, uint32_t number)
{
	uint32_t *link;

	if (!number || --in->refs[number])
		return;
	link = bucket_of(in, value_at(in, number));
	while (*link != number)
		link = &in->next[*link];
	*link = in->next[number];
	in->next[number] = in->free;
	in->free = number;
}
