// SPDX-License-Identifier: GPL-2.0-or-later
// The configuration as a value: defaults, and what its parts must be to each other.
//
// The check runs wherever a configuration crosses a border: where the text was read, so that people see all problems
// at once, and again in the parent and in the engine, which believe nobody. So it is pure; whether a device or a CPU
// exists is asked elsewhere, by the process that can. Paths in problems are JSON pointers into the document people
// wrote. With at most 64 of everything, duplicates are found by comparing all pairs.
#include "io/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "core/pool.h"
#include "io/stats.h"

enum {
	FRAMES_DEFAULT = 1 << 15,
	RING_DEFAULT = 2048,
	INFLIGHT_DEFAULT_US = 200,
	INFLIGHT_MAX_US = 1000000,
	AGEING_DEFAULT_S = 300, // 802.1D
	CPU_MAX = 1023,         // what a cpu_set_t holds
	XDP_HEADROOM = 256,
	MTU_MIN = 68, // RFC 791
};

struct config *config_new(void)
{
	struct config *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->workers = 1;
	c->frames = FRAMES_DEFAULT;
	c->chunk_size = 2048;
	for (uint32_t i = 0; i < PORTS_MAX; i++) {
		c->port[i].rx_ring = c->port[i].tx_ring = RING_DEFAULT;
		c->port[i].inflight_us = INFLIGHT_DEFAULT_US;
	}
	for (uint32_t i = 0; i < BRIDGES_MAX; i++)
		c->bridge[i].ageing_ns = AGEING_DEFAULT_S * NSEC_PER_SEC;
	return c;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < PORTS_MAX; i++) {
		plan_free(c->shaper[i].plan);
		free(c->shaper[i].rule);
	}
	free(c);
}

uint64_t config_frames_needed(const struct config *c)
{
	uint64_t n = FRAMES_BACKLOG + 1, fill = 0; // chunk 0 is not used

	n += (uint64_t)c->workers * POOL_MAGAZINE * CACHE_MAGAZINES;
	// All fill rings have one size, twice the largest receive ring: then they can hold what a full one gave back.
	for (uint32_t i = 0; i < c->ports; i++)
		if (fill < 2 * (uint64_t)c->port[i].rx_ring)
			fill = 2 * (uint64_t)c->port[i].rx_ring;
	for (uint32_t i = 0; i < c->ports; i++)
		n += (c->port[i].queues ? c->port[i].queues : 1) * (fill + c->port[i].tx_ring);
	return n;
}

// --- check -------------------------------------------------------------------------------------------------------

// A problem at /KIND/NAME[/FIELD].
static void wrong(struct problems *out, const char *kind, const char *name, const char *field, const char *fmt, ...)
	PRINTF_LIKE(5, 6);
static void wrong(struct problems *out, const char *kind, const char *name, const char *field, const char *fmt, ...)
{
	char path[PROBLEM_PATH_MAX], text[PROBLEM_TEXT_MAX];
	va_list ap;

	snprintf(path, sizeof path, "/%s/%s%s%s", kind, name, *field ? "/" : "", field);
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	problem_add(out, PROBLEM_ERROR, path, "%s", text);
}

static void check_range(struct problems *out, const char *kind, const char *name, const char *field, uint64_t value,
			uint64_t min, uint64_t max)
{
	if (value < min || value > max)
		wrong(out, kind, name, field, "%llu is not in %llu to %llu", (unsigned long long)value,
		      (unsigned long long)min, (unsigned long long)max);
}

// Names become parts of paths, of files and of metrics; so they are words.
static void check_name(struct problems *out, const char *kind, const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
	size_t len = strnlen(name, NAME_MAX_LEN);

	if (!len || len == NAME_MAX_LEN || strspn(name, letters) != len)
		wrong(out, kind, name, "", "the name must be 1 to %d letters, digits or any of . _ : -",
		      NAME_MAX_LEN - 1);
}

static void check_workers(const struct config *c, struct problems *out)
{
	check_range(out, "system", "workers", "", c->workers, 1, WORKERS_MAX);
	for (uint32_t i = 0; i < c->workers && i < WORKERS_MAX; i++) {
		char index[16];

		snprintf(index, sizeof index, "%u", i);
		check_range(out, "system", "workers", index, c->worker_cpu[i], 0, CPU_MAX);
		for (uint32_t k = 0; k < i; k++)
			if (c->worker_cpu[i] == c->worker_cpu[k])
				wrong(out, "system", "workers", index, "CPU %u has a worker already", c->worker_cpu[i]);
	}
}

static void check_memory(const struct config *c, struct problems *out)
{
	uint64_t needed = config_frames_needed(c);

	if (c->chunk_size != 2048 && c->chunk_size != 4096)
		wrong(out, "system", "chunk", "", "%u is neither 2048 nor 4096", c->chunk_size);
	if (c->frames > FRAMES_MAX)
		check_range(out, "system", "frames", "", c->frames, needed, FRAMES_MAX);
	else if (c->frames < needed)
		wrong(out, "system", "frames", "",
		      "%u frames are too few: the rings of all queues, the workers' caches and %d frames of backlog need %llu",
		      c->frames, FRAMES_BACKLOG, (unsigned long long)needed);
}

static void check_ring(struct problems *out, const struct port_conf *p, const char *field, uint32_t size)
{
	if (size < RING_MIN || size > RING_MAX || (size & (size - 1)))
		wrong(out, "ports", p->name, field, "%u is not a power of two in %d to %d", size, RING_MIN, RING_MAX);
}

// As the kernel sees it, and printable.
static bool device_name_ok(const char *name)
{
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (; *name; name++)
		if (*name <= ' ' || *name > '~' || *name == '/' || *name == ':')
			return false;
	return true;
}

static void check_device(const struct config *c, uint32_t i, struct problems *out)
{
	const struct port_conf *p = &c->port[i];

	if (!device_name_ok(p->device))
		wrong(out, "ports", p->name, "device", "\"%s\" is not the name of a network device", p->device);
	for (uint32_t k = 0; k < i; k++)
		if (!strcmp(p->device, c->port[k].device))
			wrong(out, "ports", p->name, "device", "%s is used by port %s already", p->device,
			      c->port[k].name);
}

static void check_port(const struct config *c, uint32_t i, struct problems *out)
{
	const struct port_conf *p = &c->port[i];
	uint32_t mtu_max = c->chunk_size - XDP_HEADROOM - ETH_HEADER - PARSE_TAGS_MAX * VLAN_TAG;

	check_name(out, "ports", p->name);
	for (uint32_t k = 0; k < i; k++)
		if (!strcmp(p->name, c->port[k].name))
			wrong(out, "ports", p->name, "", "there are two ports of this name");
	check_device(c, i, out);
	check_range(out, "ports", p->name, "mode", p->mode, 0, MODE_GENERIC);
	check_range(out, "ports", p->name, "queues", p->queues, 0, QUEUES_MAX);
	check_ring(out, p, "rx_ring", p->rx_ring);
	check_ring(out, p, "tx_ring", p->tx_ring);
	if (p->mtu && (c->chunk_size == 2048 || c->chunk_size == 4096))
		check_range(out, "ports", p->name, "mtu", p->mtu, MTU_MIN, mtu_max);
	check_range(out, "ports", p->name, "busy_poll", p->busy_poll, 0, BUSY_POLL_OFF);
	check_range(out, "ports", p->name, "in_flight", p->inflight_us, 1, INFLIGHT_MAX_US);
}

static void check_ports(const struct config *c, struct problems *out)
{
	uint32_t queues = 0;

	if (!c->ports)
		problem_add(out, PROBLEM_ERROR, "/ports", "there is no port");
	for (uint32_t i = 0; i < c->ports; i++) {
		check_port(c, i, out);
		queues += c->port[i].queues ? c->port[i].queues : 1;
	}
	if (queues > STATS_QUEUES_MAX)
		problem_add(out, PROBLEM_ERROR, "/ports", "all ports together have %u queues, at most %d can be served",
			    queues, STATS_QUEUES_MAX);
}

static void check_bridges(const struct config *c, struct problems *out)
{
	const char *owner[PORTS_MAX] = {NULL};

	for (uint32_t i = 0; i < c->bridges; i++) {
		const struct bridge_conf *b = &c->bridge[i];

		check_name(out, "bridges", b->name);
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(b->name, c->bridge[k].name))
				wrong(out, "bridges", b->name, "", "there are two bridges of this name");
		if (b->ageing_ns < NSEC_PER_SEC || b->ageing_ns > 1000000 * NSEC_PER_SEC)
			wrong(out, "bridges", b->name, "ageing", "%llu ns are not in 1 s to 1,000,000 s",
			      (unsigned long long)b->ageing_ns);
		for (uint32_t k = 0; k < b->ports; k++) {
			if (b->port[k] >= c->ports) {
				wrong(out, "bridges", b->name, "ports", "there is no port %u", b->port[k]);
				continue;
			}
			if (owner[b->port[k]])
				wrong(out, "bridges", b->name, "ports", "port %s is in bridge %s already",
				      c->port[b->port[k]].name, owner[b->port[k]]);
			owner[b->port[k]] = b->name;
		}
	}
}

static const char *prefix_fault(const struct prefix *p)
{
	uint32_t bits = p->family == 4 ? 32 : p->family == 6 ? 128 : 0;

	if (p->family != 0 && p->family != 4 && p->family != 6)
		return "is of no known address family";
	if (p->len > bits)
		return "is longer than an address";
	for (uint32_t i = p->len; i < 128; i++)
		if (p->addr[i / 8] & (0x80 >> i % 8))
			return "has bits set beyond its length";
	return NULL;
}

static void check_rule(const struct shaper_conf *s, uint32_t i, struct problems *out)
{
	const struct rule *r = &s->rule[i];
	const char *fault;
	char at[32];

	snprintf(at, sizeof at, "%u", i);
	if ((fault = prefix_fault(&r->src)))
		wrong(out, "classifiers", s->name, at, "the source prefix %s", fault);
	if ((fault = prefix_fault(&r->dst)))
		wrong(out, "classifiers", s->name, at, "the destination prefix %s", fault);
	if (r->src.family && r->dst.family && r->src.family != r->dst.family)
		wrong(out, "classifiers", s->name, at, "no packet goes from an IPv%u to an IPv%u address",
		      r->src.family, r->dst.family);
	if (r->sport_min > r->sport_max)
		wrong(out, "classifiers", s->name, at, "source ports %u to %u: the first is above the last",
		      r->sport_min, r->sport_max);
	if (r->dport_min > r->dport_max)
		wrong(out, "classifiers", s->name, at, "destination ports %u to %u: the first is above the last",
		      r->dport_min, r->dport_max);
	if (r->proto < RULE_ANY || r->proto > 255)
		wrong(out, "classifiers", s->name, at, "protocol %d is not in 0 to 255", r->proto);
	if (r->dscp < RULE_ANY || r->dscp > 63)
		wrong(out, "classifiers", s->name, at, "DSCP %d is not in 0 to 63", r->dscp);
	if (r->vlan < RULE_ANY || r->vlan > 4094)
		wrong(out, "classifiers", s->name, at, "VLAN %d is not in 1 to 4094", r->vlan);
	if (r->l3 < RULE_ANY || r->l3 > L3_IPV6)
		wrong(out, "classifiers", s->name, at, "network protocol %d is not known", r->l3);
	if (r->class_id >= s->plan->classes)
		wrong(out, "classifiers", s->name, at, "there is no class %u", r->class_id);
	else if (s->plan->cls[r->class_id].leaf.kind == LEAF_NONE)
		wrong(out, "classifiers", s->name, at, "class %s is no leaf, packets can't queue in it",
		      s->plan->cls[r->class_id].name);
}

static void check_shapers(const struct config *c, struct problems *out)
{
	uint64_t classes = 0, rules = 0;

	for (uint32_t i = 0; i < c->shapers; i++) {
		const struct shaper_conf *s = &c->shaper[i];
		char path[PROBLEM_PATH_MAX];

		check_name(out, "shapers", s->name);
		if (s->port >= c->ports)
			wrong(out, "shapers", s->name, "port", "there is no port %u", s->port);
		for (uint32_t k = 0; k < i; k++) {
			if (!strcmp(s->name, c->shaper[k].name))
				wrong(out, "shapers", s->name, "", "there are two shapers of this name");
			if (s->port < c->ports && s->port == c->shaper[k].port)
				wrong(out, "shapers", s->name, "port", "port %s has a shaper already: %s",
				      c->port[s->port].name, c->shaper[k].name);
		}
		snprintf(path, sizeof path, "/shapers/%s", s->name);
		plan_check(s->plan, path, out);
		for (uint32_t k = 0; k < s->rules; k++)
			check_rule(s, k, out);
		classes += s->plan->classes;
		rules += s->rules;
	}
	if (classes > STATS_CLASSES_MAX)
		problem_add(out, PROBLEM_ERROR, "/shapers",
			    "all shapers together have %llu classes, at most %d are possible",
			    (unsigned long long)classes, STATS_CLASSES_MAX);
	if (rules > RULES_MAX)
		problem_add(out, PROBLEM_ERROR, "/shapers",
			    "all shapers together have %llu rules, at most %d are possible", (unsigned long long)rules,
			    RULES_MAX);
}

void config_check(const struct config *c, struct problems *out)
{
	check_workers(c, out);
	check_memory(c, out);
	check_ports(c, out);
	check_bridges(c, out);
	check_shapers(c, out);
}

// --- what is fixed while it runs ---------------------------------------------------------------------------------

static void check_fixed(struct problems *out, const char *kind, const char *name, const char *field, uint64_t prev,
			uint64_t next)
{
	if (prev != next)
		wrong(out, kind, name, field, "a change from %llu to %llu needs a restart", (unsigned long long)prev,
		      (unsigned long long)next);
}

static void check_port_live(const struct port_conf *prev, const struct port_conf *next, struct problems *out)
{
	if (strcmp(prev->device, next->device))
		wrong(out, "ports", next->name, "device", "a change from %s to %s needs a restart", prev->device,
		      next->device);
	check_fixed(out, "ports", next->name, "mode", prev->mode, next->mode);
	check_fixed(out, "ports", next->name, "queues", prev->queues, next->queues);
	check_fixed(out, "ports", next->name, "rx_ring", prev->rx_ring, next->rx_ring);
	check_fixed(out, "ports", next->name, "tx_ring", prev->tx_ring, next->tx_ring);
	check_fixed(out, "ports", next->name, "mtu", prev->mtu, next->mtu);
	check_fixed(out, "ports", next->name, "busy_poll", prev->busy_poll, next->busy_poll);
}

static bool has_port(const struct config *c, const char *name)
{
	for (uint32_t i = 0; i < c->ports; i++)
		if (!strcmp(c->port[i].name, name))
			return true;
	return false;
}

void config_check_live(const struct config *prev, const struct config *next, struct problems *out)
{
	bool same_set = true;

	check_fixed(out, "system", "workers", "", prev->workers, next->workers);
	for (uint32_t i = 0; i < prev->workers && i < next->workers; i++) {
		char index[16];

		snprintf(index, sizeof index, "%u", i);
		check_fixed(out, "system", "workers", index, prev->worker_cpu[i], next->worker_cpu[i]);
	}
	check_fixed(out, "system", "frames", "", prev->frames, next->frames);
	check_fixed(out, "system", "chunk", "", prev->chunk_size, next->chunk_size);
	for (uint32_t i = 0; i < next->ports; i++)
		if (!has_port(prev, next->port[i].name)) {
			wrong(out, "ports", next->port[i].name, "", "a new port needs a restart");
			same_set = false;
		}
	for (uint32_t i = 0; i < prev->ports; i++)
		if (!has_port(next, prev->port[i].name)) {
			wrong(out, "ports", prev->port[i].name, "", "removing a port needs a restart");
			same_set = false;
		}
	for (uint32_t i = 0; same_set && i < next->ports; i++) {
		if (strcmp(prev->port[i].name, next->port[i].name))
			wrong(out, "ports", next->port[i].name, "", "another order of ports needs a restart");
		else
			check_port_live(&prev->port[i], &next->port[i], out);
	}
}
