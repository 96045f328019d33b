// SPDX-License-Identifier: GPL-2.0-or-later
// The parser: a table of frames with verdicts, what flows share and what they do not, and 100,000 random and harmed
// frames through everything in core/ that reads a frame.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/classify.h"
#include "core/csum.h"
#include "core/forward.h"
#include "core/parse.h"
#include "tests/unit/frame.h"
#include "tests/vectors/parse.h"

enum { HOSTILE_FRAMES = 100000 };

static const uint64_t seed[2] = {0x0123456789abcdef, 0xfedcba9876543210};

static uint32_t from_hex(uint8_t *out, const char *hex)
{
	uint32_t n = 0;
	unsigned byte;

	for (; *hex; hex += *hex == ' ' ? 1 : 2) {
		if (*hex == ' ')
			continue;
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		out[n++] = (uint8_t)byte;
	}
	return n;
}

// The descriptor in the words of the vectors.
static void describe(char *out, size_t size, const struct packet *p)
{
	static const char *const kind[] = {"other", "arp", "ip4", "ip6"};
	int n = snprintf(out, size, "%s l3=%u l4=%u len=%u proto=%u tos=%u", kind[p->l3_kind], p->l3, p->l4, p->l3_len,
			 p->ip_proto, p->tos);

	if (p->sport || p->dport)
		n += snprintf(out + n, size - (size_t)n, " ports=%u>%u", p->sport, p->dport);
	if (p->flags & PKT_VLAN)
		n += snprintf(out + n, size - (size_t)n, " vlan=%x", p->vlan);
	if (p->flags & PKT_FRAGMENT)
		snprintf(out + n, size - (size_t)n, " fragment");
}

static void vectors(void **state)
{
	bool seen[DROP_REASON_COUNT] = {false};
	struct frame f;
	char text[160];

	for (size_t i = 0; i < ARRAY_LEN(parse_vectors); i++) {
		const struct parse_vector *v = &parse_vectors[i];
		struct packet p;

		memset(&p, 0xa5, sizeof p); // nothing may be left of an earlier packet
		f.len = from_hex(f.byte, v->frame);
		p.len = (uint16_t)f.len;
		uint8_t *data = frame_exact(&f);
		enum drop_reason got = parse(&p, data, seed);

		if (got != v->verdict)
			fail_msg("vector %zu (%s): %s, not %s", i, v->sentence, drop_name(got), drop_name(v->verdict));
		seen[got] = true;
		if (got == DROP_NONE) {
			describe(text, sizeof text, &p);
			if (strcmp(text, v->expect) != 0)
				fail_msg("vector %zu (%s):\n got  %s\n want %s", i, v->sentence, text, v->expect);
			assert_int_equal(!!(p.flags & PKT_L4), p.l4 != 0);
			assert_int_not_equal(p.flow, 0);
		}
		free(data);
	}
	for (unsigned reason = 0; reason < DROP_REASON_COUNT; reason++) {
		bool parsers = reason == DROP_NONE || reason == DROP_TOO_SHORT ||
			       (reason >= DROP_VLAN_TRUNCATED && reason <= DROP_L4_BAD_HEADER);

		if (seen[reason] != parsers)
			fail_msg("%s: %s", drop_name(reason), parsers ? "no vector" : "not the parser's");
	}
}

// Every frame of the table cut at every length: a verdict each time, and no byte read behind the cut.
static void cut_everywhere(void **state)
{
	struct frame f;

	for (size_t i = 0; i < ARRAY_LEN(parse_vectors); i++) {
		for (f.len = from_hex(f.byte, parse_vectors[i].frame);; f.len--) {
			struct packet p = {.len = (uint16_t)f.len};
			uint8_t *data = frame_exact(&f);

			parse(&p, data, seed);
			free(data);
			if (f.len == 0)
				break;
		}
	}
}

static uint64_t flow_of(struct frame *f)
{
	struct packet p = {.len = (uint16_t)f->len};

	assert_int_equal(parse(&p, f->byte, seed), DROP_NONE);
	return p.flow;
}

static void make_udp4(struct frame *f, uint32_t vid, uint32_t inner_vid, uint32_t src, uint32_t sport)
{
	frame_start(f, 1, 2);
	if (vid)
		frame_tag(f, 0x8100, vid);
	if (inner_vid)
		frame_tag(f, 0x8100, inner_vid);
	frame_ip4(f, 0x0800, src, 0xc0000201, 17, 0, 0);
	frame_udp(f, sport, 53, 20);
	frame_finish(f);
}

static void flows_differ(void **state)
{
	struct frame f;
	uint64_t flow[16];
	uint32_t n = 0;

	make_udp4(&f, 0, 0, 0x0a000001, 1000);
	flow[n++] = flow_of(&f);
	f.byte[f.l3 + 1] = 0xb8; // DSCP does not make another flow
	f.byte[5] = 9;           // nor does another next hop
	frame_finish(&f);
	assert_int_equal(flow_of(&f), flow[0]);
	make_udp4(&f, 0x2001, 0, 0x0a000001, 1000);
	flow[n++] = flow_of(&f);
	make_udp4(&f, 0x8001, 0, 0x0a000001, 1000); // nor the tag's priority
	assert_int_equal(flow_of(&f), flow[1]);
	make_udp4(&f, 1, 2, 0x0a000001, 1000);
	flow[n++] = flow_of(&f);
	make_udp4(&f, 2, 1, 0x0a000001, 1000);
	flow[n++] = flow_of(&f);
	make_udp4(&f, 0, 0, 0x0a000002, 1000);
	flow[n++] = flow_of(&f);
	make_udp4(&f, 0, 0, 0x0a000001, 1001);
	flow[n++] = flow_of(&f);
	f.byte[f.l3 + 9] = 132; // the same bytes as another protocol
	frame_finish(&f);
	flow[n++] = flow_of(&f);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_int_not_equal(flow[i], flow[j]);
	struct packet p = {.len = (uint16_t)f.len};

	parse(&p, f.byte, (const uint64_t[2]){seed[0], seed[1] + 1});
	assert_int_not_equal(p.flow, flow[n - 1]);
}

static void fragments_share_a_flow(void **state)
{
	static const uint32_t pieces[] = {0x2000, 0x2001, 0x0002}; // first, middle, last
	uint8_t a[16] = {0x20, 1}, b[16] = {0x20, 2};
	struct frame f;
	uint64_t flow = 0;

	for (uint32_t i = 0; i < 3; i++) {
		make_udp4(&f, 0, 0, 0x0a000001, 1000 + i); // what lies where ports would be differs
		put16(f.byte + f.l3 + 6, pieces[i]);
		frame_finish(&f);
		if (i)
			assert_int_equal(flow_of(&f), flow);
		flow = flow_of(&f);
	}
	for (uint32_t i = 0; i < 3; i++) {
		frame_start(&f, 1, 2);
		frame_ip6(&f, 0x86dd, a, b, 44, 0);
		frame_extension(&f, 17, 0);
		put16(f.byte + f.len - 6, (pieces[i] & 0x1fff) << 3 | pieces[i] >> 13);
		frame_udp(&f, 1000 + i, 53, 20);
		frame_finish(&f);
		if (i)
			assert_int_equal(flow_of(&f), flow);
		flow = flow_of(&f);
	}
}

static void pppoe_flows(void **state)
{
	struct frame f;
	uint64_t flow[4];
	static const struct {
		uint8_t session;
		uint32_t sport;
	} cases[4] = {{1, 1000}, {1, 1001}, {2, 1000}, {1, 1000}};

	for (uint32_t i = 0; i < 4; i++) {
		frame_start(&f, 1, 2);
		frame_put16(&f, 0x8864);
		frame_put(&f, (const uint8_t[]){0x11, 0, 0, cases[i].session, 0, 50}, 6);
		frame_ip4(&f, 0x0021, 0x0a000001, 0xc0000201, 17, 0, 0);
		frame_udp(&f, cases[i].sport, 53, 20);
		frame_finish(&f);
		flow[i] = flow_of(&f);
	}
	assert_int_equal(flow[0], flow[3]);
	assert_int_not_equal(flow[0], flow[1]);
	assert_int_not_equal(flow[0], flow[2]);
}

static void other_flows(void **state)
{
	struct frame f;
	uint64_t flow[4];
	static const uint32_t type[4] = {0x88cc, 0x88f7, 100, 200};

	for (uint32_t i = 0; i < 4; i++) {
		frame_start(&f, 1, 2);
		frame_put16(&f, type[i]);
		f.len += 100;
		flow[i] = flow_of(&f);
	}
	assert_int_not_equal(flow[0], flow[1]);
	assert_int_not_equal(flow[0], flow[2]);
	assert_int_equal(flow[2], flow[3]); // 802.3: the field is a length
	f.byte[11]++;
	assert_int_not_equal(flow_of(&f), flow[3]);
}

// Whether the descriptor stays inside the frame, in the order of headers.
static void check_offsets(const struct packet *p)
{
	assert_true(p->flow != 0);
	assert_true(p->l3 >= ETH_HEADER && p->l3 <= p->len);
	assert_true(p->l3 + p->l3_len <= p->len);
	assert_true(!(p->flags & PKT_L4) == !p->l4);
	if (p->l3_kind == L3_IPV4 || p->l3_kind == L3_IPV6)
		assert_true(p->l3_len >= (p->l3_kind == L3_IPV4 ? 20 : 40));
	else
		assert_true(p->l3_len == 0 && p->l4 == 0);
	if (p->l4)
		assert_true(p->l4 > p->l3 && p->l4 + 4 <= p->l3 + p->l3_len);
	if (p->flags & PKT_FRAGMENT)
		assert_true(!p->l4 && !p->sport && !p->dport);
}

// One frame through all that the workers do with it. The frame may change only where checksum and ECN say so.
static enum drop_reason run_line(const struct frame *f, const struct forward_table *t, struct fdb *fdb,
				 const struct classifier *c, const struct rule *rules, uint32_t n, nsec_t now)
{
	struct packet p = {.len = (uint16_t)f->len, .in_port = (uint16_t)(now % 3)};
	uint8_t *data = frame_exact(f);
	enum drop_reason reason = parse(&p, data, seed);

	assert_true(f->len == 0 || memcmp(data, f->byte, f->len) == 0);
	if (reason == DROP_NONE) {
		check_offsets(&p);
		uint32_t expect = 99;

		for (uint32_t i = n; i-- > 0;)
			if (rule_matches(&rules[i], &p, data))
				expect = rules[i].class_id;
		assert_int_equal(classify(c, &p, data), expect);
		struct verdict v = forward(t, fdb, &fdb, 1, &p, data, now);

		assert_true(v.kind != VERDICT_SEND || (v.port < 3 && v.port != p.in_port));
		assert_true((v.kind == VERDICT_DROP) == (v.reason != DROP_NONE));
		assert_true(memcmp(data, f->byte, f->len) == 0);
		if (csum_is_partial(&p, data))
			csum_complete(&p, data);
		csum_complete(&p, data);
		ecn_mark_ce(&p, data);
		struct packet q = {.len = p.len};

		assert_int_equal(parse(&q, data, seed), DROP_NONE);
		assert_true(q.flow == p.flow);
	}
	free(data);
	return reason;
}

static void hostile_frames(void **state)
{
	static struct forward_table t = {.bridges = 1, .bridge[0] = {.ports = 3, .port = {0, 1, 2}, .ageing = 5000}};
	const struct rule rules[] = {
		{.src = {.family = 4, .len = 16, .addr = {10, 0}},
		 .sport_max = 65535,
		 .dport_min = 53,
		 .dport_max = 53,
		 .proto = 17,
		 .dscp = RULE_ANY,
		 .vlan = RULE_ANY,
		 .l3 = RULE_ANY,
		 .class_id = 1},
		{.dst = {.family = 6, .len = 50, .addr = {0x20, 1, 0x0d, 0xb8, 0, 0, 0x40}},
		 .sport_max = 65535,
		 .dport_max = 65535,
		 .proto = RULE_ANY,
		 .dscp = RULE_ANY,
		 .vlan = RULE_ANY,
		 .l3 = RULE_ANY,
		 .class_id = 2},
		{.sport_min = 1000,
		 .sport_max = 9000,
		 .dport_max = 65535,
		 .proto = RULE_ANY,
		 .dscp = RULE_ANY,
		 .vlan = 1,
		 .l3 = RULE_ANY,
		 .class_id = 3},
		{.sport_max = 65535,
		 .dport_max = 65535,
		 .proto = RULE_ANY,
		 .dscp = 0,
		 .vlan = RULE_ANY,
		 .l3 = RULE_ANY,
		 .class_id = 4},
	};
	struct classifier *c = classifier_new(rules, ARRAY_LEN(rules), 99);
	struct fdb *fdb = fdb_new(64);
	uint64_t rng = 20240607;
	uint32_t count[DROP_REASON_COUNT] = {0};
	struct frame f;

	print_message("seed %llu\n", (unsigned long long)rng);
	for (uint32_t i = 3; i < PORTS_MAX; i++)
		t.bridge_of[i] = PORT_NONE;
	for (uint32_t i = 0; i < HOSTILE_FRAMES; i++) {
		frame_random(&f, &rng);
		uint32_t kind = rng_below(&rng, 10);

		if (kind > 2)
			frame_mutate(&f, &rng);
		if (kind == 9)
			for (uint32_t b = 0; b < f.len; b++)
				f.byte[b] = (uint8_t)rng_next(&rng);
		count[run_line(&f, &t, fdb, c, rules, ARRAY_LEN(rules), i)]++;
	}
	// The mix must reach every refusal, or it shows little.
	for (unsigned reason = DROP_VLAN_TRUNCATED; reason <= DROP_L4_BAD_HEADER; reason++)
		if (reason != DROP_BAD_SRC_MAC && count[reason] < 10)
			fail_msg("%s was met %u times", drop_name(reason), count[reason]);
	assert_true(count[DROP_NONE] > HOSTILE_FRAMES / 4);
	classifier_free(c);
	fdb_free(fdb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),        cmocka_unit_test(cut_everywhere),
		cmocka_unit_test(flows_differ),   cmocka_unit_test(fragments_share_a_flow),
		cmocka_unit_test(pppoe_flows),    cmocka_unit_test(other_flows),
		cmocka_unit_test(hostile_frames),
	};

	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
