// SPDX-License-Identifier: GPL-2.0-or-later
// Tuple space search (Srinivasan, Suri, Varghese, "Packet Classification using Tuple Space Search", 1999), for
// first-match rules. Every rule is a mask and a value over one 320-bit key made of the packet, plus two port ranges.
// Rules with the same mask are a group, and a group is a hash table of its values: one probe finds the only rules in
// it that can match. A list of 13,706 /32 prefixes is one group, so it costs one probe, as a list of one does.
//
// Groups stand in the order of their first rules. Once a rule has matched, groups that begin behind it are not looked
// at, and neither is the rest of a bucket. A port that is given exactly is part of the key; ranges are compared one
// rule after the other among rules that are equal in everything else.
//
// Memory: 64 bytes a rule, 4 to 16 for its buckets. Building is linear in the number of rules.
#include "core/classify.h"

#include <stdlib.h>
#include <string.h>

enum { PROTO_TCP = 6, PROTO_UDP = 17, VID_MASK = 0xfff };
enum { IP4_SRC = 12, IP4_DST = 16, IP6_SRC = 8, IP6_DST = 24 }; // offsets in the IP header

// The key: word 0 holds the small fields, words 1-2 the source address, 3-4 the destination address, as they lie in
// memory. IS_IP and HAS_PORTS let a rule for protocol 0, DSCP 0 or port 0 tell that value from a field not there.
enum { KEY_SMALL, KEY_SRC, KEY_DST = KEY_SRC + 2, KEY_WORDS = KEY_DST + 2 };
enum {
	SPORT_SHIFT = 0,
	DPORT_SHIFT = 16,
	PROTO_SHIFT = 32,
	DSCP_SHIFT = 40,
	VLAN_SHIFT = 46,
	L3_SHIFT = 58,
	IS_IP_SHIFT = 60,
	HAS_PORTS_SHIFT = 61,
};
static_assert(L3_IPV6 < 1 << (IS_IP_SHIFT - L3_SHIFT), "the l3 kind fits");

struct pattern {
	uint64_t mask[KEY_WORDS], value[KEY_WORDS];
};

// A compiled rule; a cache line of its own.
struct entry {
	uint64_t value[KEY_WORDS];
	uint16_t sport_min, sport_max, dport_min, dport_max;
	uint32_t rule; // place in the list as written
	uint32_t class_id;
} CACHE_ALIGNED;
static_assert(sizeof(struct entry) == CACHE_LINE, "one entry, one cache line");

struct group {
	uint64_t mask[KEY_WORDS];
	uint32_t first_rule;
	uint32_t first_bucket; // in classifier.start
	uint32_t buckets;      // power of two
	uint32_t rules;
} CACHE_ALIGNED;
static_assert(sizeof(struct group) == CACHE_LINE, "one group, one cache line");

struct classifier {
	uint32_t default_class;
	uint32_t groups;
	struct group *group;
	struct entry *entry; // by group, bucket, rule
	uint32_t *start;     // bucket b holds entry[start[b]] to entry[start[b + 1] - 1]
};

static inline bool is_ip(const struct packet *p)
{
	return p->l3_kind == L3_IPV4 || p->l3_kind == L3_IPV6;
}

static inline bool has_ports(const struct packet *p)
{
	return p->flags & PKT_L4 && (p->ip_proto == PROTO_TCP || p->ip_proto == PROTO_UDP);
}

static inline uint16_t packet_vid(const struct packet *p)
{
	return p->flags & PKT_VLAN ? p->vlan & VID_MASK : VLAN_NO_TAG;
}

// An address as two words of the key, made so that neither packet nor mask takes a detour through memory.
static inline void address_words(uint64_t word[2], const uint8_t *addr, bool ip4)
{
	uint32_t four;

	if (ip4) {
		memcpy(&four, addr, sizeof four);
		word[0] = four;
		word[1] = 0;
	} else {
		memcpy(word, addr, 16);
	}
}

static bool prefix_matches(const struct prefix *x, uint8_t family, const uint8_t *addr)
{
	if (x->family == 0)
		return true;
	if (x->family != family || memcmp(x->addr, addr, x->len / 8) != 0)
		return false;
	uint32_t rest = x->len % 8;

	return !rest || (x->addr[x->len / 8] ^ addr[x->len / 8]) >> (8 - rest) == 0;
}

static bool range_matches(uint16_t min, uint16_t max, bool present, uint16_t port)
{
	return (min == 0 && max == UINT16_MAX) || (present && min <= port && port <= max);
}

bool rule_matches(const struct rule *r, const struct packet *p, const uint8_t *data)
{
	uint8_t family = p->l3_kind == L3_IPV4 ? 4 : p->l3_kind == L3_IPV6 ? 6 : 0;
	const uint8_t *src = data + p->l3 + (family == 4 ? IP4_SRC : IP6_SRC);
	const uint8_t *dst = data + p->l3 + (family == 4 ? IP4_DST : IP6_DST);

	return prefix_matches(&r->src, family, src) && prefix_matches(&r->dst, family, dst) &&
	       range_matches(r->sport_min, r->sport_max, has_ports(p), p->sport) &&
	       range_matches(r->dport_min, r->dport_max, has_ports(p), p->dport) &&
	       (r->proto == RULE_ANY || (family && r->proto == p->ip_proto)) &&
	       (r->dscp == RULE_ANY || (family && r->dscp == p->tos >> 2)) &&
	       (r->vlan == RULE_ANY || r->vlan == packet_vid(p)) && (r->l3 == RULE_ANY || r->l3 == p->l3_kind);
}

// Asks for `bits` bits at `shift` of the small fields to be `value`; false if they were asked to be something else.
static bool require(struct pattern *x, uint32_t shift, uint32_t bits, uint64_t value)
{
	uint64_t mask = ((1ull << bits) - 1) << shift;

	if (x->mask[KEY_SMALL] & mask && (x->value[KEY_SMALL] & mask) != value << shift)
		return false;
	x->mask[KEY_SMALL] |= mask;
	x->value[KEY_SMALL] |= value << shift;
	return true;
}

static bool require_range(struct pattern *x, uint32_t shift, uint16_t min, uint16_t max)
{
	if (min == 0 && max == UINT16_MAX)
		return true;
	return require(x, HAS_PORTS_SHIFT, 1, 1) && (min != max || require(x, shift, 16, min));
}

static bool require_prefix(struct pattern *x, uint32_t word, const struct prefix *prefix)
{
	uint8_t mask[16] = {0};
	bool ip4 = prefix->family == 4;

	if (prefix->family == 0)
		return true;
	for (uint32_t i = 0; i < sizeof mask && i * 8 < prefix->len; i++)
		mask[i] = prefix->len - i * 8 >= 8 ? 0xff : (uint8_t)(0xff00 >> (prefix->len - i * 8));
	address_words(&x->mask[word], mask, ip4);
	address_words(&x->value[word], prefix->addr, ip4);
	x->value[word] &= x->mask[word];
	x->value[word + 1] &= x->mask[word + 1];
	return require(x, L3_SHIFT, IS_IP_SHIFT - L3_SHIFT, ip4 ? L3_IPV4 : L3_IPV6);
}

// The rule as mask and value. False if it contradicts itself and no packet can match it.
static bool make_pattern(struct pattern *x, const struct rule *r)
{
	*x = (struct pattern){0};
	return require_prefix(x, KEY_SRC, &r->src) && require_prefix(x, KEY_DST, &r->dst) &&
	       (r->l3 == RULE_ANY || require(x, L3_SHIFT, IS_IP_SHIFT - L3_SHIFT, (uint64_t)r->l3)) &&
	       (r->vlan == RULE_ANY || require(x, VLAN_SHIFT, L3_SHIFT - VLAN_SHIFT, (uint64_t)r->vlan)) &&
	       (r->proto == RULE_ANY || (require(x, PROTO_SHIFT, DSCP_SHIFT - PROTO_SHIFT, (uint64_t)r->proto) &&
					 require(x, IS_IP_SHIFT, 1, 1))) &&
	       (r->dscp == RULE_ANY || (require(x, DSCP_SHIFT, VLAN_SHIFT - DSCP_SHIFT, (uint64_t)r->dscp) &&
					require(x, IS_IP_SHIFT, 1, 1))) &&
	       require_range(x, SPORT_SHIFT, r->sport_min, r->sport_max) &&
	       require_range(x, DPORT_SHIFT, r->dport_min, r->dport_max);
}

static inline void make_key(uint64_t key[KEY_WORDS], const struct packet *p, const uint8_t *data)
{
	key[KEY_SMALL] = (uint64_t)p->sport << SPORT_SHIFT | (uint64_t)p->dport << DPORT_SHIFT |
			 (uint64_t)p->ip_proto << PROTO_SHIFT | (uint64_t)(p->tos >> 2) << DSCP_SHIFT |
			 (uint64_t)packet_vid(p) << VLAN_SHIFT | (uint64_t)p->l3_kind << L3_SHIFT |
			 (uint64_t)is_ip(p) << IS_IP_SHIFT | (uint64_t)has_ports(p) << HAS_PORTS_SHIFT;
	if (p->l3_kind == L3_IPV4) {
		address_words(&key[KEY_SRC], data + p->l3 + IP4_SRC, true);
		address_words(&key[KEY_DST], data + p->l3 + IP4_DST, true);
	} else if (p->l3_kind == L3_IPV6) {
		address_words(&key[KEY_SRC], data + p->l3 + IP6_SRC, false);
		address_words(&key[KEY_DST], data + p->l3 + IP6_DST, false);
	} else {
		memset(&key[KEY_SRC], 0, (KEY_WORDS - KEY_SRC) * sizeof *key);
	}
}

static inline bool equal(const uint64_t a[KEY_WORDS], const uint64_t b[KEY_WORDS])
{
	uint64_t differ = 0;

	for (uint32_t i = 0; i < KEY_WORDS; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

// Not keyed: the tables hold the operator's rules, and no packet adds to them. The products run side by side; the last
// lines bring the upper bits, which depend on everything, down to where buckets are picked.
static inline uint32_t hash(const uint64_t word[KEY_WORDS])
{
	uint64_t h = word[0] * 0x9e3779b97f4a7c15 + word[1] * 0xc2b2ae3d27d4eb4f + word[2] * 0x165667b19e3779f9 +
		     word[3] * 0xd6e8feb86659fd93 + word[4] * 0xa0761d6478bd642f;

	h ^= h >> 32;
	return (uint32_t)(h * 0xe7037ed1a0b428db >> 32);
}

uint32_t classify(const struct classifier *c, const struct packet *p, const uint8_t *data)
{
	uint64_t key[KEY_WORDS], masked[KEY_WORDS];
	uint32_t best = UINT32_MAX, class_id = c->default_class;

	make_key(key, p, data);
	for (const struct group *g = c->group; g != c->group + c->groups && g->first_rule < best; g++) {
		for (uint32_t i = 0; i < KEY_WORDS; i++)
			masked[i] = key[i] & g->mask[i];
		const uint32_t *start = &c->start[g->first_bucket + (hash(masked) & (g->buckets - 1))];
		const struct entry *e = c->entry + start[0], *end = c->entry + start[1];

		for (; e != end && e->rule < best; e++) {
			if (!equal(e->value, masked) || p->sport < e->sport_min || p->sport > e->sport_max ||
			    p->dport < e->dport_min || p->dport > e->dport_max)
				continue;
			best = e->rule;
			class_id = e->class_id;
		}
	}
	return class_id;
}

// While building: which group each rule is in, its value, and a table to find the group of a mask.
struct build {
	struct entry *entry;
	uint32_t *group_of; // UINT32_MAX: the rule cannot match
	uint32_t *table;    // group + 1, open addressing
	uint32_t table_mask;
};

static uint32_t find_group(struct classifier *c, struct build *b, const uint64_t mask[KEY_WORDS], uint32_t rule)
{
	uint32_t i = hash(mask) & b->table_mask;

	for (; b->table[i]; i = (i + 1) & b->table_mask) {
		uint32_t found = b->table[i] - 1;

		if (equal(c->group[found].mask, mask))
			return found;
	}
	struct group *g = &c->group[c->groups];

	memset(g, 0, sizeof *g);
	memcpy(g->mask, mask, sizeof g->mask);
	g->first_rule = rule;
	b->table[i] = c->groups + 1;
	return c->groups++;
}

static void compile_rules(struct classifier *c, struct build *b, const struct rule *rules, uint32_t n)
{
	struct pattern x;

	for (uint32_t i = 0; i < n; i++) {
		const struct rule *r = &rules[i];

		b->group_of[i] = UINT32_MAX;
		if (!make_pattern(&x, r))
			continue;
		b->group_of[i] = find_group(c, b, x.mask, i);
		c->group[b->group_of[i]].rules++;
		struct entry *e = &b->entry[i];

		memcpy(e->value, x.value, sizeof e->value);
		e->sport_min = r->sport_min;
		e->sport_max = r->sport_max;
		e->dport_min = r->dport_min;
		e->dport_max = r->dport_max;
		e->rule = i;
		e->class_id = r->class_id;
	}
}

static uint32_t bucket_of(const struct classifier *c, const struct build *b, uint32_t rule)
{
	const struct group *g = &c->group[b->group_of[rule]];

	return g->first_bucket + (hash(b->entry[rule].value) & (g->buckets - 1));
}

// Sorts the compiled rules into their buckets, by counting; rules of one bucket stay in the order written.
static bool fill_buckets(struct classifier *c, const struct build *b, uint32_t n)
{
	uint32_t buckets = 0;

	for (struct group *g = c->group; g != c->group + c->groups; g++) {
		g->first_bucket = buckets;
		g->buckets = 1;
		while (g->rules > 1 && g->buckets < 2 * g->rules)
			g->buckets *= 2;
		buckets += g->buckets;
	}
	c->start = calloc((size_t)buckets + 2, sizeof *c->start);
	if (!c->start)
		return false;
	// Counted one place to the right of where it will be read: start[b + 1] is bucket b's write position while
	// filling, and its end, the beginning of b + 1, when done.
	uint32_t *position = c->start + 1;

	for (uint32_t i = 0; i < n; i++)
		if (b->group_of[i] != UINT32_MAX)
			position[bucket_of(c, b, i) + 1]++;
	for (uint32_t i = 0; i < buckets; i++)
		position[i + 1] += position[i];
	for (uint32_t i = 0; i < n; i++)
		if (b->group_of[i] != UINT32_MAX)
			c->entry[position[bucket_of(c, b, i)]++] = b->entry[i];
	return true;
}

struct classifier *classifier_new(const struct rule *rules, uint32_t n, uint32_t default_class)
{
	struct classifier *c = calloc(1, sizeof *c);
	struct build b = {.table_mask = 1};
	size_t lines = ((size_t)n + 1) * CACHE_LINE;
	bool ok = false;

	if (!c)
		return NULL;
	c->default_class = default_class;
	while (b.table_mask < 2 * (uint64_t)n)
		b.table_mask = b.table_mask * 2 + 1;
	b.table = calloc((size_t)b.table_mask + 1, sizeof *b.table);
	b.group_of = calloc((size_t)n + 1, sizeof *b.group_of);
	b.entry = aligned_alloc(CACHE_LINE, lines);
	c->entry = aligned_alloc(CACHE_LINE, lines);
	c->group = aligned_alloc(CACHE_LINE, lines);
	if (b.table && b.group_of && b.entry && c->entry && c->group) {
		compile_rules(c, &b, rules, n);
		ok = fill_buckets(c, &b, n);
	}
	free(b.table);
	free(b.group_of);
	free(b.entry);
	if (!ok) {
		classifier_free(c);
		return NULL;
	}
	return c;
}

void classifier_free(struct classifier *c)
{
	if (!c)
		return;
	free(c->group);
	free(c->entry);
	free(c->start);
	free(c);
}
