// SPDX-License-Identifier: GPL-2.0-or-later
// The classifier: what one rule means, case by case; the compiled form against the linear one on random rules and
// packets; and that its cost does not follow the number of rules.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "core/classify.h"
#include "core/parse.h"
#include "tests/unit/frame.h"

static const uint64_t seed[2] = {1, 2};

// A rule that takes everything; what a test is about is written behind it and overrides it.
#pragma GCC diagnostic ignored "-Woverride-init"
#define RULE_DEFAULTS \
	.sport_max = 65535, .dport_max = 65535, .proto = RULE_ANY, .dscp = RULE_ANY, .vlan = RULE_ANY, .l3 = RULE_ANY

static struct packet parsed(const struct frame *f)
{
	struct packet p = {.len = (uint16_t)f->len};

	assert_int_equal(parse(&p, f->byte, seed), DROP_NONE);
	return p;
}

static uint32_t linear(const struct rule *r, uint32_t n, const struct packet *p, const uint8_t *data,
		       uint32_t default_class)
{
	for (uint32_t i = 0; i < n; i++)
		if (rule_matches(&r[i], p, data))
			return r[i].class_id;
	return default_class;
}

// Whether the rule, alone, takes the packet; both forms must say the same.
static bool takes(const struct rule *r, const struct frame *f)
{
	struct packet p = parsed(f);
	struct rule one = *r;

	one.class_id = 7;
	struct classifier *c = classifier_new(&one, 1, 3);

	assert_non_null(c);
	uint32_t got = classify(c, &p, f->byte);

	assert_int_equal(got, rule_matches(&one, &p, f->byte) ? 7 : 3);
	classifier_free(c);
	return got == 7;
}

// 10.1.2.3:1000 > 192.168.0.1:53, UDP, DSCP 46, VID 10
static void make_udp(struct frame *f)
{
	frame_start(f, 1, 2);
	frame_tag(f, 0x8100, 0x600a);
	frame_ip4(f, 0x0800, 0x0a010203, 0xc0a80001, 17, 46 << 2 | 1, 0);
	frame_udp(f, 1000, 53, 20);
	frame_finish(f);
}

static void one_field_at_a_time(void **state)
{
	static const struct {
		struct rule rule;
		bool takes;
	} cases[] = {
		{{RULE_DEFAULTS}, true},
		{{RULE_DEFAULTS, .src = {.family = 4, .len = 0}}, true},
		{{RULE_DEFAULTS, .src = {.family = 6, .len = 0}}, false},
		{{RULE_DEFAULTS, .src = {.family = 4, .len = 32, .addr = {10, 1, 2, 3}}}, true},
		{{RULE_DEFAULTS, .src = {.family = 4, .len = 32, .addr = {10, 1, 2, 2}}}, false},
		{{RULE_DEFAULTS, .src = {.family = 4, .len = 31, .addr = {10, 1, 2, 2}}}, true},
		{{RULE_DEFAULTS, .src = {.family = 4, .len = 9, .addr = {10, 0, 0, 0}}}, true},
		{{RULE_DEFAULTS, .src = {.family = 4, .len = 9, .addr = {10, 128, 0, 0}}}, false},
		{{RULE_DEFAULTS, .dst = {.family = 4, .len = 24, .addr = {192, 168, 0, 0}}}, true},
		{{RULE_DEFAULTS, .dst = {.family = 4, .len = 8, .addr = {10, 0, 0, 0}}}, false},
		{{RULE_DEFAULTS, .proto = 17}, true},
		{{RULE_DEFAULTS, .proto = 6}, false},
		{{RULE_DEFAULTS, .proto = 0}, false},
		{{RULE_DEFAULTS, .dscp = 46}, true},
		{{RULE_DEFAULTS, .dscp = 0}, false},
		{{RULE_DEFAULTS, .vlan = 10}, true},
		{{RULE_DEFAULTS, .vlan = 11}, false},
		{{RULE_DEFAULTS, .vlan = VLAN_NO_TAG}, false},
		{{RULE_DEFAULTS, .l3 = L3_IPV4}, true},
		{{RULE_DEFAULTS, .l3 = L3_IPV6}, false},
		{{RULE_DEFAULTS, .l3 = L3_OTHER}, false},
		{{RULE_DEFAULTS, .sport_min = 1000}, true},
		{{RULE_DEFAULTS, .sport_min = 1001}, false},
		{{RULE_DEFAULTS, .sport_max = 1000}, true},
		{{RULE_DEFAULTS, .sport_max = 999}, false},
		{{RULE_DEFAULTS, .dport_min = 53, .dport_max = 53}, true},
		{{RULE_DEFAULTS, .dport_min = 54, .dport_max = 54}, false},
		{{RULE_DEFAULTS, .dport_min = 9, .dport_max = 5}, false},
		{{RULE_DEFAULTS, .src = {.family = 4}, .dst = {.family = 6}}, false}, // contradictions
		{{RULE_DEFAULTS, .src = {.family = 4}, .l3 = L3_IPV6}, false},
		{{RULE_DEFAULTS, .proto = 17, .l3 = L3_ARP}, false},
	};
	struct frame f;

	make_udp(&f);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (takes(&cases[i].rule, &f) != cases[i].takes)
			fail_msg("case %zu: expected %d", i, cases[i].takes);
}

// A value of 0 is not the same as a field that is not there.
static void absent_fields(void **state)
{
	static const struct rule port0 = {RULE_DEFAULTS, .sport_max = 0};
	static const struct rule low_ports = {RULE_DEFAULTS, .dport_max = 1023};
	static const struct rule proto0 = {RULE_DEFAULTS, .proto = 0}, dscp0 = {RULE_DEFAULTS, .dscp = 0};
	static const struct rule untagged = {RULE_DEFAULTS, .vlan = VLAN_NO_TAG}, any = {RULE_DEFAULTS};
	static const struct rule arp_only = {RULE_DEFAULTS, .l3 = L3_ARP}, udp = {RULE_DEFAULTS, .proto = 17};
	struct frame arp, fragment, zero, priority;

	frame_start(&arp, 1, 2);
	frame_put16(&arp, 0x0806);
	arp.len += 28;
	assert_true(takes(&any, &arp) && takes(&arp_only, &arp) && takes(&untagged, &arp));
	assert_false(takes(&port0, &arp) || takes(&low_ports, &arp));
	assert_false(takes(&proto0, &arp) || takes(&dscp0, &arp));

	make_udp(&fragment);
	put16(fragment.byte + fragment.l3 + 6, 0x2000);
	frame_finish(&fragment);
	assert_true(takes(&any, &fragment) && takes(&udp, &fragment));
	assert_false(takes(&port0, &fragment) || takes(&low_ports, &fragment));

	frame_start(&zero, 1, 2);
	frame_ip4(&zero, 0x0800, 1, 2, 17, 0, 0);
	frame_udp(&zero, 0, 0, 0);
	frame_finish(&zero);
	assert_true(takes(&port0, &zero) && takes(&low_ports, &zero) && takes(&dscp0, &zero));
	assert_false(takes(&proto0, &zero));

	frame_start(&priority, 1, 2);
	frame_tag(&priority, 0x8100, 0xe000); // priority tag: no VLAN
	frame_put16(&priority, 0x88b5);
	priority.len = 60;
	assert_true(takes(&untagged, &priority));
}

static void ip6_prefixes(void **state)
{
	static const uint8_t src[16] = {0x20, 1, 0x0d, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	static const uint8_t dst[16] = {0x20, 1, 0x0d, 0xb8, [15] = 1};
	struct frame f;

	frame_start(&f, 1, 2);
	frame_ip6(&f, 0x86dd, src, dst, 17, 0);
	frame_udp(&f, 1, 2, 3);
	frame_finish(&f);
	for (uint8_t len = 0; len <= 128; len++) {
		struct rule r = {RULE_DEFAULTS, .src = {.family = 6, .len = len}};

		for (uint8_t bit = 0; bit < len; bit++)
			r.src.addr[bit / 8] |= src[bit / 8] & (0x80 >> bit % 8);
		assert_true(takes(&r, &f));
		if (len == 0)
			continue;
		r.src.addr[(len - 1) / 8] ^= 0x80 >> (len - 1) % 8; // the last bit that counts
		assert_false(takes(&r, &f));
	}
}

static void first_match_decides(void **state)
{
	struct rule r[4] = {
		{RULE_DEFAULTS, .dscp = 5, .class_id = 1},
		{RULE_DEFAULTS, .src = {.family = 4, .len = 8, .addr = {10}}, .class_id = 2},
		{RULE_DEFAULTS, .src = {.family = 4, .len = 32, .addr = {10, 1, 2, 3}}, .class_id = 3},
		{RULE_DEFAULTS, .src = {.family = 4, .len = 32, .addr = {10, 1, 2, 3}}, .class_id = 4},
	};
	struct classifier *c = classifier_new(r, 4, 9);
	struct frame f;

	make_udp(&f);
	struct packet p = parsed(&f);

	assert_int_equal(classify(c, &p, f.byte), 2); // the order counts, not the longer prefix
	classifier_free(c);
	c = classifier_new(r + 2, 2, 9);
	assert_int_equal(classify(c, &p, f.byte), 3); // of two equal rules the first
	classifier_free(c);
	c = classifier_new(NULL, 0, 9);
	assert_int_equal(classify(c, &p, f.byte), 9);
	classifier_free(c);
}

static void random_prefix(struct prefix *x, uint64_t *rng, bool src)
{
	uint32_t v4 = src ? 0x0a000000 + rng_below(rng, 4) * 0x10001 + rng_below(rng, 4)
			  : 0xc0a80000 + rng_below(rng, 4) * 0x101;

	memset(x, 0, sizeof *x);
	switch (rng_below(rng, 4)) {
	case 0:
		x->family = 4;
		x->len = (uint8_t)(rng_below(rng, 2) ? 32 : rng_below(rng, 33));
		put32(x->addr, v4);
		break;
	case 1:
		x->family = 6;
		x->len = (uint8_t)(rng_below(rng, 2) ? 128 : rng_below(rng, 129));
		memcpy(x->addr, (const uint8_t[]){0x20, 1, 0x0d, 0xb8}, 4);
		if (src) {
			x->addr[5] = (uint8_t)rng_below(rng, 3);
			x->addr[15] = (uint8_t)rng_below(rng, 4);
		} else {
			x->addr[6] = (uint8_t)(rng_below(rng, 3) << 6);
		}
		break;
	default:
		return;
	}
	for (uint32_t bit = x->len; bit < 128; bit++)
		x->addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
}

static void random_range(uint16_t *min, uint16_t *max, uint64_t *rng)
{
	static const uint16_t ports[] = {0, 22, 53, 443, 1024, 5060, 8080, 49152, 65535};

	*min = 0;
	*max = 65535;
	if (rng_below(rng, 3) == 0)
		*min = *max = ports[rng_below(rng, 9)];
	else if (rng_below(rng, 3) == 0) {
		*min = (uint16_t)rng_below(rng, 9000);
		*max = (uint16_t)(*min + rng_below(rng, 20000));
	}
}

static struct rule random_rule(uint64_t *rng, uint32_t class_id)
{
	static const uint8_t protos[] = {6, 17, 1, 58, 47, 0};
	struct rule r = {RULE_DEFAULTS, .class_id = class_id};

	random_prefix(&r.src, rng, true);
	random_prefix(&r.dst, rng, false);
	random_range(&r.sport_min, &r.sport_max, rng);
	random_range(&r.dport_min, &r.dport_max, rng);
	if (rng_below(rng, 3) == 0)
		r.proto = protos[rng_below(rng, 6)];
	if (rng_below(rng, 6) == 0)
		r.dscp = (int16_t)(rng_below(rng, 2) ? 0 : rng_below(rng, 64));
	if (rng_below(rng, 4) == 0)
		r.vlan = (int16_t)rng_below(rng, 3);
	if (rng_below(rng, 6) == 0)
		r.l3 = (int16_t)rng_below(rng, 4);
	return r;
}

static void against_the_linear_form(void **state)
{
	enum { LISTS = 500, PACKETS = 250, RULES = 200 };
	struct rule *r = calloc(RULES, sizeof *r);
	uint64_t rng = 42;
	uint32_t checked = 0, matched = 0;
	struct frame f;

	assert_non_null(r);
	print_message("seed %llu\n", (unsigned long long)rng);
	for (uint32_t list = 0; list < LISTS; list++) {
		uint32_t n = rng_below(&rng, rng_below(&rng, 2) ? RULES : 10);

		for (uint32_t i = 0; i < n; i++)
			r[i] = random_rule(&rng, i);
		struct classifier *c = classifier_new(r, n, UINT32_MAX);

		assert_non_null(c);
		for (uint32_t i = 0; i < PACKETS; i++) {
			frame_random(&f, &rng);
			struct packet p = {.len = (uint16_t)f.len};

			if (parse(&p, f.byte, seed) != DROP_NONE)
				continue;
			uint32_t want = linear(r, n, &p, f.byte, UINT32_MAX);

			if (classify(c, &p, f.byte) != want)
				fail_msg("list %u, packet %u: rule %d, not %d", list, i, (int)classify(c, &p, f.byte),
					 (int)want);
			checked++;
			matched += want != UINT32_MAX;
		}
		classifier_free(c);
	}
	print_message("%u packets, %u of them matched a rule\n", checked, matched);
	assert_true(checked > 100000 && matched > checked / 3 && matched < checked);
	free(r);
}

static struct rule *host_rules(uint32_t n)
{
	struct rule *r = calloc(n, sizeof *r);

	assert_non_null(r);
	for (uint32_t i = 0; i < n; i++) {
		r[i] = (struct rule){RULE_DEFAULTS, .dst = {.family = 4, .len = 32}, .class_id = i};
		put32(r[i].dst.addr, 0x0a000000 + i);
	}
	return r;
}

// CPU time of a million lookups of packets to the hosts of a list of n rules.
static double lookups(uint32_t n)
{
	enum { LOOKUPS = 1000000, PACKETS = 256 };
	struct rule *r = host_rules(n);
	struct classifier *c = classifier_new(r, n, UINT32_MAX);
	struct frame *f = calloc(PACKETS, sizeof *f);
	struct packet p[PACKETS];
	uint32_t wrong = 0;

	assert_true(c && f);
	for (uint32_t i = 0; i < PACKETS; i++) {
		frame_start(&f[i], 1, 2);
		frame_ip4(&f[i], 0x0800, 1, 0x0a000000 + i * 7919 % n, 17, 0, 0);
		frame_udp(&f[i], 1, 2, 0);
		frame_finish(&f[i]);
		p[i] = parsed(&f[i]);
	}
	clock_t start = clock();

	for (uint32_t i = 0; i < LOOKUPS; i++) {
		uint32_t k = i % PACKETS;

		wrong += classify(c, &p[k], f[k].byte) != k * 7919 % n;
	}
	double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;

	assert_int_equal(wrong, 0);
	free(f);
	free(r);
	classifier_free(c);
	return seconds;
}

static void cost_follows_shapes_not_rules(void **state)
{
	double one = lookups(1), many = lookups(13706);

	print_message("a lookup among 1 rule %.0f ns, among 13706 rules %.0f ns\n", one * 1e3, many * 1e3);
	assert_true(many < 10 * one); // one after the other it would be thousands
}

static void builds_large_lists(void **state)
{
	struct rule *r = host_rules(RULES_MAX);
	clock_t start = clock();
	struct classifier *c = classifier_new(r, RULES_MAX, UINT32_MAX);
	double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;

	assert_non_null(c);
	print_message("%d rules built in %.0f ms\n", RULES_MAX, seconds * 1e3);
	assert_true(seconds < 1);
	classifier_free(c);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_field_at_a_time),
		cmocka_unit_test(absent_fields),
		cmocka_unit_test(ip6_prefixes),
		cmocka_unit_test(first_match_decides),
		cmocka_unit_test(against_the_linear_form),
		cmocka_unit_test(cost_follows_shapes_not_rules),
		cmocka_unit_test(builds_large_lists),
	};

	return cmocka_run_group_tests_name("classify", tests, NULL, NULL);
}
