// SPDX-License-Identifier: GPL-2.0-or-later
// The configuration as bytes. A header, then records (type, length, body) in one fixed order:
//
//   CONFIG  PORT*  BRIDGE*  ( SHAPER  PLAN  CLASS*  RULE* )*  END
//
// How many of each follow is told by the record before them, so decoding is a straight descent without a state. One
// table per record names the members it carries and the values each may have; encoding and decoding walk the same
// table, so that the two cannot drift apart. The bytes never leave the machine and both ends are one binary: numbers
// are in its own byte order, and a version that differs is refused.
//
// The decoder trusts nothing. Counts are compared with the bytes that are left before memory is taken for them;
// every text must end and be printable; every number has a range that makes computing with it safe. What the values
// mean, alone and together, is config_check's.
// Class ids are not carried: they belong to the process that runs the plan, which gives them out.
#include <stdlib.h>
#include <string.h>

#include "io/config.h"

#define CODEC_MAGIC 0x666e6377u // "wcnf"

enum { CODEC_VERSION = 1 };

enum record_type { REC_CONFIG = 1, REC_PORT, REC_BRIDGE, REC_SHAPER, REC_PLAN, REC_CLASS, REC_RULE, REC_END };

struct codec_header {
	uint32_t magic, version;
	uint64_t bytes; // all, this header included
};

struct record_header {
	uint32_t type, len;
};

enum field_kind { FIELD_UNSIGNED, FIELD_SIGNED, FIELD_TEXT, FIELD_BYTES };

struct field {
	const char *name;
	enum field_kind kind;
	size_t offset, size, count; // size of one element; a text or bytes are one element
	int64_t min;
	uint64_t max;
};

#define SIZE_OF(type, member) sizeof(((type *)0)->member)
#define UNSIGNED(type, m, lo, hi)                                                  \
	{                                                                          \
#m, FIELD_UNSIGNED, offsetof(type, m), SIZE_OF(type, m), 1, lo, hi \
	}
#define UNSIGNEDS(type, m, lo, hi)                                                                            \
	{                                                                                                     \
#m, FIELD_UNSIGNED, offsetof(type, m), SIZE_OF(type, m[0]), ARRAY_LEN(((type *)0)->m), lo, hi \
	}
#define SIGNED(type, m, lo, hi)                                                  \
	{                                                                        \
#m, FIELD_SIGNED, offsetof(type, m), SIZE_OF(type, m), 1, lo, hi \
	}
#define TEXT(type, m)                                                        \
	{                                                                    \
#m, FIELD_TEXT, offsetof(type, m), SIZE_OF(type, m), 1, 0, 0 \
	}
#define BYTES(type, m)                                                        \
	{                                                                     \
#m, FIELD_BYTES, offsetof(type, m), SIZE_OF(type, m), 1, 0, 0 \
	}

static const struct field config_fields[] = {
	UNSIGNED(struct config, revision, 0, UINT64_MAX),    UNSIGNED(struct config, workers, 0, WORKERS_MAX),
	UNSIGNEDS(struct config, worker_cpu, 0, UINT16_MAX), UNSIGNED(struct config, frames, 0, UINT32_MAX),
	UNSIGNED(struct config, chunk_size, 0, UINT32_MAX),  UNSIGNED(struct config, ports, 0, PORTS_MAX),
	UNSIGNED(struct config, bridges, 0, BRIDGES_MAX),    UNSIGNED(struct config, shapers, 0, PORTS_MAX),
};

static const struct field port_fields[] = {
	TEXT(struct port_conf, name),
	TEXT(struct port_conf, device),
	UNSIGNED(struct port_conf, mode, 0, MODE_GENERIC),
	UNSIGNED(struct port_conf, queues, 0, QUEUES_MAX),
	UNSIGNED(struct port_conf, rx_ring, 0, UINT32_MAX),
	UNSIGNED(struct port_conf, tx_ring, 0, UINT32_MAX),
	UNSIGNED(struct port_conf, mtu, 0, UINT16_MAX),
	UNSIGNED(struct port_conf, busy_poll, 0, BUSY_POLL_OFF),
	UNSIGNED(struct port_conf, inflight_us, 0, UINT32_MAX),
};

static const struct field bridge_fields[] = {
	TEXT(struct bridge_conf, name),
	UNSIGNED(struct bridge_conf, ports, 0, PORTS_MAX),
	UNSIGNEDS(struct bridge_conf, port, 0, PORTS_MAX - 1),
	UNSIGNED(struct bridge_conf, ageing_ns, 0, UINT64_MAX),
};

static const struct field shaper_fields[] = {
	TEXT(struct shaper_conf, name),
	UNSIGNED(struct shaper_conf, port, 0, PORTS_MAX - 1),
	UNSIGNED(struct shaper_conf, rules, 0, RULES_MAX),
};

static const struct field plan_fields[] = {
	UNSIGNED(struct plan, rate_bps, 0, RATE_MAX_BPS),
	UNSIGNED(struct plan, burst_ns, 0, UINT64_MAX),
	SIGNED(struct plan, wire.overhead, INT32_MIN, INT32_MAX),
	UNSIGNED(struct plan, wire.mpu, 0, UINT32_MAX),
	UNSIGNED(struct plan, wire.layer, 0, LINK_ATM),
	UNSIGNED(struct plan, mtu_wire, 0, UINT32_MAX),
	UNSIGNED(struct plan, classes, 1, CLASSES_MAX),
	UNSIGNED(struct plan, default_class, 0, CLASSES_MAX - 1),
};

static const struct field class_fields[] = {
	TEXT(struct class_conf, name),
	UNSIGNED(struct class_conf, parent, 0, CLASSES_MAX - 1),
	UNSIGNED(struct class_conf, rt.m1_bps, 0, RATE_MAX_BPS),
	UNSIGNED(struct class_conf, rt.d_ns, 0, CURVE_D_MAX_NS),
	UNSIGNED(struct class_conf, rt.m2_bps, 0, RATE_MAX_BPS),
	UNSIGNED(struct class_conf, ls.m1_bps, 0, RATE_MAX_BPS),
	UNSIGNED(struct class_conf, ls.d_ns, 0, CURVE_D_MAX_NS),
	UNSIGNED(struct class_conf, ls.m2_bps, 0, RATE_MAX_BPS),
	UNSIGNED(struct class_conf, ul.m1_bps, 0, RATE_MAX_BPS),
	UNSIGNED(struct class_conf, ul.d_ns, 0, CURVE_D_MAX_NS),
	UNSIGNED(struct class_conf, ul.m2_bps, 0, RATE_MAX_BPS),
	UNSIGNED(struct class_conf, leaf.kind, 0, LEAF_KINDS - 1),
	UNSIGNED(struct class_conf, leaf.limit_packets, 0, UINT32_MAX),
	UNSIGNED(struct class_conf, leaf.limit_frames, 0, UINT32_MAX),
	UNSIGNED(struct class_conf, leaf.quantum, 0, UINT32_MAX),
	UNSIGNED(struct class_conf, leaf.target_ns, 0, UINT64_MAX),
	UNSIGNED(struct class_conf, leaf.interval_ns, 0, UINT64_MAX),
	UNSIGNED(struct class_conf, leaf.ce_threshold_ns, 0, UINT64_MAX),
	UNSIGNED(struct class_conf, leaf.ecn, 0, 1),
};

static const struct field rule_fields[] = {
	BYTES(struct rule, src.addr),
	UNSIGNED(struct rule, src.len, 0, 128),
	UNSIGNED(struct rule, src.family, 0, 6),
	BYTES(struct rule, dst.addr),
	UNSIGNED(struct rule, dst.len, 0, 128),
	UNSIGNED(struct rule, dst.family, 0, 6),
	UNSIGNED(struct rule, sport_min, 0, UINT16_MAX),
	UNSIGNED(struct rule, sport_max, 0, UINT16_MAX),
	UNSIGNED(struct rule, dport_min, 0, UINT16_MAX),
	UNSIGNED(struct rule, dport_max, 0, UINT16_MAX),
	SIGNED(struct rule, proto, RULE_ANY, UINT8_MAX),
	SIGNED(struct rule, dscp, RULE_ANY, 63),
	SIGNED(struct rule, vlan, RULE_ANY, 4094),
	SIGNED(struct rule, l3, RULE_ANY, L3_IPV6),
	UNSIGNED(struct rule, class_id, 0, CLASSES_MAX - 1),
};

struct layout {
	const char *name;
	const struct field *field;
	size_t fields;
};

static const struct layout layouts[] = {
	[REC_CONFIG] = {"config", config_fields, ARRAY_LEN(config_fields)},
	[REC_PORT] = {"port", port_fields, ARRAY_LEN(port_fields)},
	[REC_BRIDGE] = {"bridge", bridge_fields, ARRAY_LEN(bridge_fields)},
	[REC_SHAPER] = {"shaper", shaper_fields, ARRAY_LEN(shaper_fields)},
	[REC_PLAN] = {"plan", plan_fields, ARRAY_LEN(plan_fields)},
	[REC_CLASS] = {"class", class_fields, ARRAY_LEN(class_fields)},
	[REC_RULE] = {"rule", rule_fields, ARRAY_LEN(rule_fields)},
	[REC_END] = {"end", NULL, 0},
};

// Bytes of one record of this type, its header included.
static size_t record_size(enum record_type type)
{
	const struct layout *l = &layouts[type];
	size_t n = sizeof(struct record_header);

	for (size_t i = 0; i < l->fields; i++)
		n += l->field[i].size * l->field[i].count;
	return n;
}

static size_t encoded_size(const struct config *c)
{
	size_t n = sizeof(struct codec_header) + record_size(REC_CONFIG) + record_size(REC_END);

	n += c->ports * record_size(REC_PORT) + c->bridges * record_size(REC_BRIDGE);
	for (uint32_t i = 0; i < c->shapers; i++) {
		n += record_size(REC_SHAPER) + record_size(REC_PLAN);
		n += c->shaper[i].plan->classes * record_size(REC_CLASS);
		n += c->shaper[i].rules * record_size(REC_RULE);
	}
	return n;
}

static uint8_t *write_record(uint8_t *to, enum record_type type, const void *object)
{
	const struct layout *l = &layouts[type];
	struct record_header h = {type, (uint32_t)(record_size(type) - sizeof h)};

	memcpy(to, &h, sizeof h);
	to += sizeof h;
	for (size_t i = 0; i < l->fields; i++) {
		size_t bytes = l->field[i].size * l->field[i].count;

		memcpy(to, (const uint8_t *)object + l->field[i].offset, bytes);
		to += bytes;
	}
	return to;
}

bool config_encode(const struct config *c, uint8_t **out, size_t *len)
{
	struct codec_header h = {CODEC_MAGIC, CODEC_VERSION, encoded_size(c)};
	uint8_t *at;

	if (h.bytes > CONFIG_BYTES_MAX || !(*out = malloc(h.bytes)))
		return false;
	memcpy(*out, &h, sizeof h);
	at = write_record(*out + sizeof h, REC_CONFIG, c);
	for (uint32_t i = 0; i < c->ports; i++)
		at = write_record(at, REC_PORT, &c->port[i]);
	for (uint32_t i = 0; i < c->bridges; i++)
		at = write_record(at, REC_BRIDGE, &c->bridge[i]);
	for (uint32_t i = 0; i < c->shapers; i++) {
		const struct shaper_conf *s = &c->shaper[i];

		at = write_record(at, REC_SHAPER, s);
		at = write_record(at, REC_PLAN, s->plan);
		for (uint32_t k = 0; k < s->plan->classes; k++)
			at = write_record(at, REC_CLASS, &s->plan->cls[k]);
		for (uint32_t k = 0; k < s->rules; k++)
			at = write_record(at, REC_RULE, &s->rule[k]);
	}
	at = write_record(at, REC_END, NULL);
	assert(at == *out + h.bytes);
	*len = h.bytes;
	return true;
}

struct reading {
	const uint8_t *at;
	size_t left;
	uint32_t records; // read so far, for the error text
	struct problems *problems;
};

static bool refuse(struct reading *r, enum record_type type, const char *field, const char *why)
{
	problem_add(r->problems, PROBLEM_ERROR, "", "encoded configuration: record %u (%s)%s%s: %s", r->records,
		    layouts[type].name, *field ? ", " : "", field, why);
	return false;
}

static bool text_ok(const uint8_t *text, size_t size)
{
	const uint8_t *end = memchr(text, 0, size);

	for (const uint8_t *p = text; end && p < end; p++)
		if (*p < 0x20 || *p > 0x7e)
			return false;
	return end != NULL;
}

static uint64_t load(const uint8_t *at, size_t size)
{
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	switch (size) {
	case sizeof u64:
		return memcpy(&u64, at, size), u64;
	case sizeof u32:
		return memcpy(&u32, at, size), u32;
	case sizeof u16:
		return memcpy(&u16, at, size), u16;
	default:
		return *at;
	}
}

static bool number_ok(const struct field *f, const uint8_t *at)
{
	uint64_t value = load(at, f->size);

	if (f->kind == FIELD_UNSIGNED)
		return value >= (uint64_t)f->min && value <= f->max;
	unsigned unused = 64 - 8 * (unsigned)f->size;
	int64_t number = (int64_t)(value << unused) >> unused; // its own sign, extended

	return number >= f->min && number <= (int64_t)f->max;
}

static bool field_ok(const struct field *f, const uint8_t *at)
{
	if (f->kind == FIELD_BYTES)
		return true;
	if (f->kind == FIELD_TEXT)
		return text_ok(at, f->size);
	for (size_t i = 0; i < f->count; i++)
		if (!number_ok(f, at + i * f->size))
			return false;
	return true;
}

// Reads the next record, which must be of this type, into `object`, of which nothing else is touched.
static bool read_record(struct reading *r, enum record_type type, void *object)
{
	const struct layout *l = &layouts[type];
	size_t size = record_size(type);
	struct record_header h;

	r->records++;
	if (r->left < size)
		return refuse(r, type, "", "truncated");
	memcpy(&h, r->at, sizeof h);
	if (h.type != type || h.len != size - sizeof h)
		return refuse(r, type, "", "another type or length");
	const uint8_t *at = r->at + sizeof h;

	for (size_t i = 0; i < l->fields; i++) {
		const struct field *f = &l->field[i];

		if (!field_ok(f, at))
			return refuse(r, type, f->name, f->kind == FIELD_TEXT ? "not a text" : "out of range");
		memcpy((uint8_t *)object + f->offset, at, f->size * f->count);
		at += f->size * f->count;
	}
	r->at += size;
	r->left -= size;
	return true;
}

static bool read_shaper(struct reading *r, struct shaper_conf *s)
{
	struct plan head = {0};

	if (!read_record(r, REC_SHAPER, s) || !read_record(r, REC_PLAN, &head))
		return false;
	if (r->left < head.classes * record_size(REC_CLASS) + s->rules * record_size(REC_RULE))
		return refuse(r, REC_SHAPER, "", "more classes and rules than bytes");
	s->plan = plan_new(head.classes);
	s->rule = calloc(s->rules ? s->rules : 1, sizeof *s->rule);
	if (!s->plan || !s->rule)
		return refuse(r, REC_SHAPER, "", "not enough memory");
	s->plan->rate_bps = head.rate_bps;
	s->plan->burst_ns = head.burst_ns;
	s->plan->wire = head.wire;
	s->plan->mtu_wire = head.mtu_wire;
	s->plan->default_class = head.default_class;
	if (head.default_class >= head.classes)
		return refuse(r, REC_PLAN, "default_class", "out of range");
	for (uint32_t i = 0; i < head.classes; i++) {
		if (!read_record(r, REC_CLASS, &s->plan->cls[i]))
			return false;
		if (s->plan->cls[i].parent >= head.classes)
			return refuse(r, REC_CLASS, "parent", "out of range");
	}
	for (uint32_t i = 0; i < s->rules; i++) {
		if (!read_record(r, REC_RULE, &s->rule[i]))
			return false;
		if (s->rule[i].class_id >= head.classes)
			return refuse(r, REC_RULE, "class_id", "out of range");
	}
	return true;
}

static bool read_config(struct reading *r, struct config *c)
{
	if (!read_record(r, REC_CONFIG, c))
		return false;
	for (uint32_t i = 0; i < c->ports; i++)
		if (!read_record(r, REC_PORT, &c->port[i]))
			return false;
	for (uint32_t i = 0; i < c->bridges; i++) {
		if (!read_record(r, REC_BRIDGE, &c->bridge[i]))
			return false;
		for (uint32_t k = 0; k < c->bridge[i].ports; k++)
			if (c->bridge[i].port[k] >= c->ports)
				return refuse(r, REC_BRIDGE, "port", "out of range");
	}
	for (uint32_t i = 0; i < c->shapers; i++) {
		if (!read_shaper(r, &c->shaper[i]))
			return false;
		if (c->shaper[i].port >= c->ports)
			return refuse(r, REC_SHAPER, "port", "out of range");
	}
	return read_record(r, REC_END, NULL);
}

struct config *config_decode(const uint8_t *data, size_t len, struct problems *out)
{
	struct codec_header h;
	struct reading r = {.problems = out};
	struct config *c;

	if (len < sizeof h || len > CONFIG_BYTES_MAX) {
		problem_add(out, PROBLEM_ERROR, "", "encoded configuration: %zu bytes, allowed are %zu to %d", len,
			    sizeof h, CONFIG_BYTES_MAX);
		return NULL;
	}
	memcpy(&h, data, sizeof h);
	if (h.magic != CODEC_MAGIC || h.version != CODEC_VERSION || h.bytes != len) {
		problem_add(out, PROBLEM_ERROR, "", "encoded configuration: wrong mark, version or length");
		return NULL;
	}
	r.at = data + sizeof h;
	r.left = len - sizeof h;
	c = config_new();
	if (!c) {
		problem_add(out, PROBLEM_ERROR, "", "not enough memory");
		return NULL;
	}
	bool good = read_config(&r, c);

	if (good && r.left)
		good = refuse(&r, REC_END, "", "more bytes after it");
	if (good)
		return c;
	config_free(c);
	return NULL;
}
