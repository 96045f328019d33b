// SPDX-License-Identifier: GPL-2.0-or-later
// The configuration: random ones survive encoding unchanged, damaged bytes never do harm, and each rule of the check
// finds its own kind of nonsense, at the right place.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/config.h"

static uint64_t rng = 0x9e3779b97f4a7c15ull;

static uint64_t random64(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random64() % n);
}

static void random_text(char *to, size_t size)
{
	size_t n = below((uint32_t)size);

	memset(to, 0, size);
	for (size_t i = 0; i < n; i++)
		to[i] = (char)(0x20 + below(0x5f));
}

static void random_prefix(struct prefix *p)
{
	for (size_t i = 0; i < sizeof p->addr; i++)
		p->addr[i] = (uint8_t)random64();
	p->len = (uint8_t)below(129);
	p->family = (uint8_t)below(7);
}

static void random_class(struct class_conf *k, uint32_t classes)
{
	struct curve *const curves[] = {&k->rt, &k->ls, &k->ul};

	random_text(k->name, sizeof k->name);
	k->parent = below(classes);
	for (size_t i = 0; i < ARRAY_LEN(curves); i++)
		*curves[i] = (struct curve){random64() % RATE_MAX_BPS, random64() % CURVE_D_MAX_NS,
					    random64() % RATE_MAX_BPS};
	k->leaf.kind = below(LEAF_KINDS);
	k->leaf.limit_packets = (uint32_t)random64();
	k->leaf.limit_frames = (uint32_t)random64();
	k->leaf.quantum = (uint32_t)random64();
	k->leaf.target_ns = random64();
	k->leaf.interval_ns = random64();
	k->leaf.ce_threshold_ns = random64();
	k->leaf.ecn = below(2);
}

static void random_shaper(struct shaper_conf *s, uint32_t ports)
{
	uint32_t classes = 1 + below(40);

	random_text(s->name, sizeof s->name);
	s->port = below(ports);
	s->plan = plan_new(classes);
	s->plan->rate_bps = random64() % RATE_MAX_BPS;
	s->plan->burst_ns = random64();
	s->plan->wire = (struct wire){(int32_t)random64(), (uint32_t)random64(), below(LINK_ATM + 1)};
	s->plan->mtu_wire = (uint32_t)random64();
	s->plan->default_class = below(classes);
	for (uint32_t i = 0; i < classes; i++)
		random_class(&s->plan->cls[i], classes);
	s->rules = below(30);
	s->rule = calloc(s->rules + 1, sizeof *s->rule);
	for (uint32_t i = 0; i < s->rules; i++) {
		struct rule *r = &s->rule[i];

		random_prefix(&r->src);
		random_prefix(&r->dst);
		r->sport_min = (uint16_t)random64();
		r->sport_max = (uint16_t)random64();
		r->dport_min = (uint16_t)random64();
		r->dport_max = (uint16_t)random64();
		r->proto = (int16_t)((int)below(257) - 1);
		r->dscp = (int16_t)((int)below(65) - 1);
		r->vlan = (int16_t)((int)below(4096) - 1);
		r->l3 = (int16_t)((int)below(5) - 1);
		r->class_id = below(classes);
	}
}

// Sense is not required of it: only what the decoder insists on.
static struct config *random_config(void)
{
	struct config *c = config_new();

	c->revision = random64();
	c->workers = below(WORKERS_MAX + 1);
	for (uint32_t i = 0; i < WORKERS_MAX; i++)
		c->worker_cpu[i] = (uint16_t)random64();
	c->frames = (uint32_t)random64();
	c->chunk_size = (uint32_t)random64();
	c->ports = 1 + below(PORTS_MAX);
	for (uint32_t i = 0; i < c->ports; i++) {
		struct port_conf *p = &c->port[i];

		random_text(p->name, sizeof p->name);
		random_text(p->device, sizeof p->device);
		p->mode = below(MODE_GENERIC + 1);
		p->queues = below(QUEUES_MAX + 1);
		p->rx_ring = (uint32_t)random64();
		p->tx_ring = (uint32_t)random64();
		p->mtu = below(65536);
		p->busy_poll = below(BUSY_POLL_OFF + 1);
		p->inflight_us = (uint32_t)random64();
	}
	c->bridges = below(8);
	for (uint32_t i = 0; i < c->bridges; i++) {
		struct bridge_conf *b = &c->bridge[i];

		random_text(b->name, sizeof b->name);
		b->ports = below(c->ports + 1);
		for (uint32_t k = 0; k < b->ports; k++)
			b->port[k] = (uint16_t)below(c->ports);
		b->ageing_ns = random64();
	}
	c->shapers = below(5);
	for (uint32_t i = 0; i < c->shapers; i++)
		random_shaper(&c->shaper[i], c->ports);
	return c;
}

// --- encoding ----------------------------------------------------------------------------------------------------

static void assert_same(const struct config *a, const struct config *b)
{
	struct config x = *a, y = *b;

	for (uint32_t i = 0; i < a->shapers; i++) {
		const struct shaper_conf *s = &a->shaper[i], *t = &b->shaper[i];
		struct plan p = *s->plan, q = *t->plan;

		assert_memory_equal(p.cls, q.cls, p.classes * sizeof *p.cls);
		assert_int_equal(q.id_limit, q.classes);
		p.cls = q.cls = NULL;
		p.id_free_at = q.id_free_at = NULL;
		assert_memory_equal(&p, &q, sizeof p);
		assert_memory_equal(s->rule, t->rule, s->rules * sizeof *s->rule);
		x.shaper[i].plan = y.shaper[i].plan = NULL;
		x.shaper[i].rule = y.shaper[i].rule = NULL;
	}
	assert_memory_equal(&x, &y, sizeof x);
}

static void test_round_trip(void **state)
{
	for (int i = 0; i < 300; i++) {
		struct problems none = {0};
		struct config *c = random_config(), *d;
		uint8_t *bytes;
		size_t len;

		assert_true(config_encode(c, &bytes, &len));
		d = config_decode(bytes, len, &none);
		if (!d)
			fail_msg("%s", none.list[0].text);
		assert_same(c, d);
		free(bytes);
		config_free(c);
		config_free(d);
	}
}

// Each prefix is refused, with a problem, and so is anything appended.
static void test_truncated(void **state)
{
	struct config *c = random_config();
	uint8_t *bytes;
	size_t len;

	assert_true(config_encode(c, &bytes, &len));
	for (size_t n = 0; n < len; n += n < 2000 ? 1 : 97) {
		struct problems found = {0};
		uint64_t bytes_said = n; // a header that agrees, so that the records are what is looked at
		uint8_t *cut = malloc(n ? n : 1);

		memcpy(cut, bytes, n);
		if (n >= 16)
			memcpy(cut + 8, &bytes_said, sizeof bytes_said);
		assert_null(config_decode(cut, n, &found));
		assert_true(found.errors);
		problems_free(&found);
		free(cut);
	}
	struct problems found = {0};
	uint8_t *more = calloc(1, len + 8);
	uint64_t said = len + 8;

	memcpy(more, bytes, len);
	memcpy(more + 8, &said, sizeof said);
	assert_null(config_decode(more, len + 8, &found));
	assert_int_equal(found.errors, 1);
	problems_free(&found);
	free(more);
	free(bytes);
	config_free(c);
}

// Random damage: refused or, if the value happens to be possible, decoded into something the check can look at.
static void test_mutated(void **state)
{
	for (int i = 0; i < 3000; i++) {
		struct config *c = i % 100 ? NULL : random_config(), *d;
		static uint8_t *bytes;
		static size_t len;
		struct problems found = {0};

		if (c) {
			free(bytes);
			assert_true(config_encode(c, &bytes, &len));
			config_free(c);
		}
		uint8_t *bad = malloc(len);

		memcpy(bad, bytes, len);
		for (uint32_t k = 1 + below(3); k; k--)
			bad[below((uint32_t)len)] ^= (uint8_t)(1 << below(8));
		d = config_decode(bad, len, &found);
		assert_true(d || found.errors);
		if (d)
			config_check(d, &found);
		config_free(d);
		problems_free(&found);
		free(bad);
		if (i == 2999)
			free(bytes);
	}
}

// A count that promises more than there are bytes takes no memory.
static void test_empty_promise(void **state)
{
	struct config *c = config_new();
	struct problems found = {0};
	bool told = false;
	uint8_t *bytes;
	size_t len;

	c->ports = c->shapers = 1;
	strcpy(c->port[0].name, "lan");
	strcpy(c->shaper[0].name, "s");
	c->shaper[0].plan = plan_new(1);
	assert_true(config_encode(c, &bytes, &len));
	for (size_t at = 16; at + 4 <= len; at++) {
		uint32_t value;

		memcpy(&value, bytes + at, sizeof value);
		if (value != 1)
			continue;
		uint32_t many = CLASSES_MAX; // as good for classes as for any other count of one
		uint8_t *bad = malloc(len);

		memcpy(bad, bytes, len);
		memcpy(bad + at, &many, sizeof many);
		struct config *d = config_decode(bad, len, &found);

		assert_null(d);
		free(bad);
	}
	for (uint32_t i = 0; i < found.kept; i++)
		told |= strstr(found.list[i].text, "more classes and rules than bytes") != NULL;
	assert_true(told);
	problems_free(&found);
	free(bytes);
	config_free(c);
}

// What points at nothing does not get through, whoever encoded it.
static void test_references(void **state)
{
	for (int i = 0; i < 5; i++) {
		struct config *c = config_new();
		struct problems found = {0};
		uint8_t *bytes;
		size_t len;

		c->ports = c->bridges = c->shapers = c->bridge[0].ports = 1;
		c->shaper[0].plan = plan_new(2);
		c->shaper[0].rules = 1;
		c->shaper[0].rule = calloc(1, sizeof(struct rule));
		uint32_t *const index[] = {&c->shaper[0].plan->cls[1].parent, &c->shaper[0].plan->default_class,
					   &c->shaper[0].rule->class_id, &c->shaper[0].port};

		if (i < 4)
			*index[i] = 2;
		else
			c->bridge[0].port[0] = 1;
		assert_true(config_encode(c, &bytes, &len));
		assert_null(config_decode(bytes, len, &found));
		assert_int_equal(found.errors, 1);
		problems_free(&found);
		free(bytes);
		config_free(c);
	}
}

// --- check -------------------------------------------------------------------------------------------------------

static struct config *sound(void)
{
	struct config *c = config_new();
	struct plan *p = plan_new(2);

	c->workers = 2;
	c->worker_cpu[1] = 1;
	c->frames = 1 << 16;
	c->ports = 2;
	strcpy(c->port[0].name, "lan");
	strcpy(c->port[0].device, "eth0");
	strcpy(c->port[1].name, "wan");
	strcpy(c->port[1].device, "eth1");
	c->bridges = 1;
	strcpy(c->bridge[0].name, "br");
	c->bridge[0].ports = 2;
	c->bridge[0].port[1] = 1;
	c->shapers = 1;
	strcpy(c->shaper[0].name, "up");
	c->shaper[0].port = 1;
	c->shaper[0].plan = p;
	p->rate_bps = 1000000000;
	p->burst_ns = NSEC_PER_MSEC;
	p->mtu_wire = 1514;
	p->default_class = 1;
	strcpy(p->cls[0].name, "root");
	strcpy(p->cls[1].name, "all");
	p->cls[1].ls.m2_bps = p->rate_bps;
	p->cls[1].leaf = (struct leaf_conf){.kind = LEAF_FQ_CODEL,
					    .limit_packets = 1000,
					    .limit_frames = 1000,
					    .quantum = 1514,
					    .target_ns = 5 * NSEC_PER_MSEC,
					    .interval_ns = 100 * NSEC_PER_MSEC,
					    .ce_threshold_ns = TIME_NEVER};
	c->shaper[0].rules = 1;
	c->shaper[0].rule = calloc(1, sizeof(struct rule));
	c->shaper[0].rule[0] = (struct rule){.sport_max = 65535,
					     .dport_max = 65535,
					     .proto = RULE_ANY,
					     .dscp = RULE_ANY,
					     .vlan = RULE_ANY,
					     .l3 = RULE_ANY,
					     .class_id = 1};
	return c;
}

static void test_sound(void **state)
{
	struct config *c = sound();
	struct problems found = {0};

	config_check(c, &found);
	if (found.errors)
		fail_msg("%s: %s", found.list[0].path, found.list[0].text);
	problems_free(&found);
	config_free(c);
}

#define CASE(name, statement)              \
	static void name(struct config *c) \
	{                                  \
		statement;                 \
	}
CASE(no_ports, c->ports = c->bridges = c->shapers = 0)
CASE(no_workers, c->workers = 0)
CASE(cpu_twice, c->worker_cpu[1] = 0)
CASE(cpu_huge, c->worker_cpu[1] = 1024)
CASE(few_frames, c->frames = 13000)
CASE(many_frames, c->frames = FRAMES_MAX + 1)
CASE(odd_chunk, c->chunk_size = 3000)
CASE(port_twice, strcpy(c->port[1].name, "lan"))
CASE(port_unnamed, c->port[1].name[0] = 0)
CASE(port_slash, strcpy(c->port[1].name, "a/b"))
CASE(device_twice, strcpy(c->port[1].device, "eth0"))
CASE(device_none, c->port[1].device[0] = 0)
CASE(device_path, strcpy(c->port[1].device, "../etc"))
CASE(ring_odd, c->port[0].rx_ring = 1000)
CASE(ring_small, c->port[0].tx_ring = 32)
CASE(mtu_large, c->port[0].mtu = 1771)
CASE(mtu_small, c->port[0].mtu = 67)
CASE(inflight, c->port[0].inflight_us = 0)
CASE(bridge_twice, c->bridges = 2; c->bridge[1] = c->bridge[0]; c->bridge[1].ports = 0)
CASE(bridge_port_twice, c->bridge[0].port[1] = 0)
CASE(bridge_port, c->bridge[0].port[1] = 7)
CASE(ageing, c->bridge[0].ageing_ns = 1)
CASE(shaper_port, c->shaper[0].port = 9)
CASE(no_default, c->shaper[0].plan->default_class = 0)
CASE(rule_class, c->shaper[0].rule->class_id = 2)
CASE(rule_inner, c->shaper[0].rule->class_id = 0)
CASE(rule_ports, c->shaper[0].rule->dport_min = 9; c->shaper[0].rule->dport_max = 8)
CASE(rule_prefix, c->shaper[0].rule->src.family = 4; c->shaper[0].rule->src.len = 33)
CASE(rule_bits, c->shaper[0].rule->src.family = 4; c->shaper[0].rule->src.addr[3] = 1)
CASE(rule_mixed, c->shaper[0].rule->src.family = 4; c->shaper[0].rule->dst.family = 6)
CASE(two_shapers, c->shapers = 2; c->shaper[1] = c->shaper[0]; c->shaper[1].rules = 0; c->shaper[1].rule = NULL;
     strcpy(c->shaper[1].name, "other"); c->shaper[1].plan = plan_new(2); struct plan *p = c->shaper[1].plan;
     struct class_conf *cls = p->cls; memcpy(cls, c->shaper[0].plan->cls, 2 * sizeof *cls);
     uint64_t *ids = p->id_free_at; *p = *c->shaper[0].plan; p->cls = cls; p->id_free_at = ids)

static void test_each_rule(void **state)
{
	static const struct {
		void (*spoil)(struct config *c);
		const char *path, *text; // the first problem: its place, a part of its sentence
	} cases[] = {
		{no_ports, "/ports", "no port"},
		{no_workers, "/system/workers", "0 is not in 1 to 64"},
		{cpu_twice, "/system/workers/1", "CPU 0 has a worker already"},
		{cpu_huge, "/system/workers/1", "1024 is not in 0 to 1023"},
		{few_frames, "/system/frames", "13000 frames are too few"},
		{many_frames, "/system/frames", "to 4194304"},
		{odd_chunk, "/system/chunk", "3000"},
		{port_twice, "/ports/lan", "two ports"},
		{port_unnamed, "/ports/", "1 to 31"},
		{port_slash, "/ports/a/b", "letters"},
		{device_twice, "/ports/wan/device", "eth0 is used by port lan already"},
		{device_none, "/ports/wan/device", "not the name"},
		{device_path, "/ports/wan/device", "not the name"},
		{ring_odd, "/ports/lan/rx_ring", "1000 is not a power of two"},
		{ring_small, "/ports/lan/tx_ring", "32 is not"},
		{mtu_large, "/ports/lan/mtu", "1771 is not in 68 to 1770"},
		{mtu_small, "/ports/lan/mtu", "67 is not"},
		{inflight, "/ports/lan/in_flight", "0 is not"},
		{bridge_twice, "/bridges/br", "two bridges"},
		{bridge_port_twice, "/bridges/br/ports", "port lan is in bridge br already"},
		{bridge_port, "/bridges/br/ports", "no port 7"},
		{ageing, "/bridges/br/ageing", "1 ns"},
		{shaper_port, "/shapers/up/port", "no port 9"},
		{no_default, "/shapers/up", ""},
		{rule_class, "/classifiers/up/0", "no class 2"},
		{rule_inner, "/classifiers/up/0", "root is no leaf"},
		{rule_ports, "/classifiers/up/0", "9 to 8"},
		{rule_prefix, "/classifiers/up/0", "longer than an address"},
		{rule_bits, "/classifiers/up/0", "beyond its length"},
		{rule_mixed, "/classifiers/up/0", "IPv4 to an IPv6"},
		{two_shapers, "/shapers/other/port", "port wan has a shaper already: up"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct config *c = sound();
		struct problems found = {0};

		cases[i].spoil(c);
		config_check(c, &found);
		if (found.errors != 1 || strncmp(found.list[0].path, cases[i].path, strlen(cases[i].path)) ||
		    !strstr(found.list[0].text, cases[i].text))
			fail_msg("case %zu (%s): %u errors; %s: %s", i, cases[i].path, found.errors,
				 found.errors ? found.list[0].path : "", found.errors ? found.list[0].text : "");
		problems_free(&found);
		config_free(c);
	}
}

static void test_frames_needed(void **state)
{
	struct config *c = sound();
	struct problems found = {0};

	c->port[0].queues = 4;
	c->frames = (uint32_t)config_frames_needed(c);
	config_check(c, &found);
	assert_int_equal(found.errors, 0);
	c->frames--;
	config_check(c, &found);
	assert_int_equal(found.errors, 1);
	problems_free(&found);
	config_free(c);
}

static void test_live(void **state)
{
	struct config *prev = sound(), *next = sound();
	struct problems found = {0};

	next->shaper[0].plan->rate_bps *= 2;
	next->bridge[0].ports = 1;
	next->port[0].inflight_us = 100;
	config_check_live(prev, next, &found);
	assert_int_equal(found.errors, 0);

	next->workers = 1;
	next->frames = 1 << 17;
	next->port[0].rx_ring = 1024;
	strcpy(next->port[1].device, "eth9");
	config_check_live(prev, next, &found);
	assert_int_equal(found.errors, 4);
	assert_string_equal(found.list[3].path, "/ports/wan/device");
	assert_string_equal(found.list[3].text, "a change from eth1 to eth9 needs a restart");
	problems_free(&found);
	config_free(next);

	next = sound();
	strcpy(next->port[1].name, "dsl");
	config_check_live(prev, next, &found);
	assert_int_equal(found.errors, 2);
	assert_string_equal(found.list[0].path, "/ports/dsl");
	assert_string_equal(found.list[1].path, "/ports/wan");
	problems_free(&found);
	config_free(prev);
	config_free(next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_mutated),    cmocka_unit_test(test_empty_promise),
		cmocka_unit_test(test_references), cmocka_unit_test(test_sound),
		cmocka_unit_test(test_each_rule),  cmocka_unit_test(test_frames_needed),
		cmocka_unit_test(test_live),
	};

	print_message("seed %#llx\n", (unsigned long long)rng);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
