// SPDX-License-Identifier: GPL-2.0-or-later
// A list of rules and a frame, both made of the input: the compiled classifier must give the class that the rules give
// one after the other. Input: number of rules, 48 bytes a rule, then the frame.
#include <stdlib.h>
#include <string.h>

#include "core/classify.h"
#include "core/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

enum { RULES = 16, RULE_BYTES = 48, DEFAULT_CLASS = 1000 };

static uint16_t get16(const uint8_t *b)
{
	return (uint16_t)(b[0] << 8 | b[1]);
}

// A prefix within its contract: known family, length in range, no bits beyond it.
static void make_prefix(struct prefix *x, const uint8_t *b)
{
	static const uint8_t family[4] = {0, 4, 6, 0};

	memset(x, 0, sizeof *x);
	x->family = family[b[0] & 3];
	x->len = b[1] % (x->family == 4 ? 33 : 129);
	for (uint32_t bit = 0; bit < x->len; bit++)
		x->addr[bit / 8] |= b[2 + bit / 8] & (0x80 >> bit % 8);
}

static void make_rule(struct rule *r, const uint8_t *b, uint32_t i)
{
	uint8_t set = b[36];

	make_prefix(&r->src, b);
	make_prefix(&r->dst, b + 18);
	r->sport_min = set & 1 ? get16(b + 37) : 0;
	r->sport_max = set & 1 ? (set & 2 ? r->sport_min : get16(b + 39)) : UINT16_MAX;
	r->dport_min = set & 4 ? get16(b + 41) : 0;
	r->dport_max = set & 4 ? (set & 8 ? r->dport_min : get16(b + 43)) : UINT16_MAX;
	r->proto = set & 16 ? b[45] : RULE_ANY;
	r->dscp = set & 32 ? b[46] & 63 : RULE_ANY;
	r->vlan = set & 64 ? b[47] : RULE_ANY;
	r->l3 = set & 128 ? b[46] >> 6 : RULE_ANY;
	r->class_id = i;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	static const uint64_t seed[2] = {1, 2};
	struct rule rule[RULES];
	uint32_t n = size ? input[0] % (RULES + 1) : 0, want = DEFAULT_CLASS;

	if (size < 1 + n * RULE_BYTES || size > 9000)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		make_rule(&rule[i], input + 1 + i * RULE_BYTES, i);
	const uint8_t *frame = input + 1 + n * RULE_BYTES;
	struct packet p = {.len = (uint16_t)(size - 1 - n * RULE_BYTES)};

	if (parse(&p, frame, seed) != DROP_NONE)
		return 0;
	for (uint32_t i = n; i-- > 0;)
		if (rule_matches(&rule[i], &p, frame))
			want = i;
	struct classifier *c = classifier_new(rule, n, DEFAULT_CLASS);

	if (!c || classify(c, &p, frame) != want)
		abort();
	classifier_free(c);
	return 0;
}
