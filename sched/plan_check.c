// SPDX-License-Identifier: GPL-2.0-or-later
// Everything that can be wrong with a plan.
//
// The check runs twice on each plan: where the configuration is read, for the person who wrote it, and where it is
// received from another process, against bytes that need not make sense. So it reads nothing it has not bounded
// before, reports all problems instead of the first one, and is n log n in every respect: trees of 200,000 classes
// are real. Parents form a graph that may have cycles; `struct check` holds what is known about each class, and only
// classes with a way to the root (depth known) take part in sums over the tree.
//
// Admission. Real-time guarantees hold if and only if the sum S(t) of all rt curves stays below the link's line R t
// (Stoica, Zhang, Ng 1997, section 3: the SCED condition). S is piecewise linear, so it is compared at each breakpoint
// d and, by the sum of the m2, at infinity. The same sum over a subtree against an upper limit only warns: rt ignores
// upper limits by definition, so the limit would be exceeded, not the guarantee missed.
#include "sched/plan_sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef __int128 s128;

enum { ID_LIMIT_MAX = 4 * CLASSES_MAX, CYCLE_NAMES = 6 };
// From DEPTH_WALKING on: no way to the root. CYCLE: part of a cycle itself; BROKEN: hangs on one, or on nothing.
enum {
	DEPTH_WALKING = UINT32_MAX - 3,
	DEPTH_CYCLE = UINT32_MAX - 2,
	DEPTH_BROKEN = UINT32_MAX - 1,
	DEPTH_UNKNOWN = UINT32_MAX
};
enum { TEXT = 48, PATH = PROBLEM_PATH_MAX };

#define BURST_MAX_NS NSEC_PER_SEC
#define AQM_TIME_MAX_NS (60 * NSEC_PER_SEC)

// --- texts -----------------------------------------------------------------------------------------------------

// value/unit as an exact decimal number with the unit's name behind it: 13107200 -> "13.1072 Mbit/s".
static const char *decimal(char text[TEXT], uint64_t value, uint64_t unit, const char *name)
{
	char fraction[24];
	int digits = 0, len;

	for (uint64_t u = unit; u > 1; u /= 10)
		digits++;
	len = snprintf(fraction, sizeof fraction, ".%0*" PRIu64, digits, value % unit);
	while (len > 0 && (fraction[len - 1] == '0' || fraction[len - 1] == '.')) {
		bool point = fraction[len - 1] == '.';

		fraction[--len] = 0;
		if (point)
			break;
	}
	snprintf(text, TEXT, "%" PRIu64 "%s %s", value / unit, digits ? fraction : "", name);
	return text;
}

static const char *rate_text(char text[TEXT], uint64_t bps)
{
	if (bps >= 1000000000)
		return decimal(text, bps, 1000000000, "Gbit/s");
	if (bps >= 1000000)
		return decimal(text, bps, 1000000, "Mbit/s");
	if (bps >= 1000)
		return decimal(text, bps, 1000, "kbit/s");
	return decimal(text, bps, 1, "bit/s");
}

static const char *time_text(char text[TEXT], nsec_t ns)
{
	if (ns >= NSEC_PER_SEC)
		return decimal(text, ns, NSEC_PER_SEC, "s");
	if (ns >= NSEC_PER_MSEC)
		return decimal(text, ns, NSEC_PER_MSEC, "ms");
	if (ns >= NSEC_PER_USEC)
		return decimal(text, ns, NSEC_PER_USEC, "us");
	return decimal(text, ns, 1, "ns");
}

// A class's name for people: printable, always terminated.
static const char *shown(char text[CLASS_NAME_MAX], const char *name)
{
	size_t n = strnlen(name, CLASS_NAME_MAX - 1);

	for (size_t i = 0; i < n; i++)
		text[i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
	text[n] = 0;
	return text;
}

// --- the check -------------------------------------------------------------------------------------------------
static bool name_char_ok(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_-.:", c));
}

static bool name_ok(const char *name)
{
	size_t n = strnlen(name, CLASS_NAME_MAX);

	for (size_t i = 0; i < n; i++)
		if (!name_char_ok(name[i]))
			return false;
	return n > 0 && n < CLASS_NAME_MAX;
}

struct check {
	const struct plan *p;
	const char *path;
	struct problems *out;
	uint32_t *depth;    // steps to the root, or DEPTH_*
	uint32_t *children; // those on a cycle do not count: a class is not made an inner one by that mistake
	uint64_t *rate;     // plan_class_rates
};

// Path of class i's member ("rt"), or of the class itself (""): JSON keys the classes by name. A class whose name
// cannot be told apart is named by its position. Class 0 is the shaper.
static const char *class_path(const struct check *k, char path[PATH], uint32_t i, const char *member)
{
	const char *slash = *member ? "/" : "";
	const char *name = k->p->cls[i].name;
	char key[2 * CLASS_NAME_MAX];
	size_t n = 0;

	if (i == 0) {
		snprintf(path, PATH, "%s%s%s", k->path, slash, member);
		return path;
	}
	for (size_t c = 0; c < CLASS_NAME_MAX && name[c]; c++) {
		if (name[c] == '~' || name[c] == '/') { // RFC 6901
			key[n++] = '~';
			key[n++] = name[c] == '~' ? '0' : '1';
		} else {
			key[n++] = name[c] > ' ' && name[c] < '~' ? name[c] : '?';
		}
	}
	key[n] = 0;
	if (n == 0 || n >= CLASS_NAME_MAX)
		snprintf(key, sizeof key, "%" PRIu32, i);
	snprintf(path, PATH, "%s/classes/%s%s%s", k->path, key, slash, member);
	return path;
}

#define CLASS_ERROR(k, i, member, ...)                                                              \
	do {                                                                                        \
		char path_[PATH];                                                                   \
		problem_add((k)->out, PROBLEM_ERROR, class_path(k, path_, i, member), __VA_ARGS__); \
	} while (0)
#define CLASS_WARNING(k, i, member, ...)                                                              \
	do {                                                                                          \
		char path_[PATH];                                                                     \
		problem_add((k)->out, PROBLEM_WARNING, class_path(k, path_, i, member), __VA_ARGS__); \
	} while (0)

static void check_number(const struct check *k, uint32_t i, const char *member, int64_t value, int64_t min, int64_t max)
{
	if (value < min || value > max)
		CLASS_ERROR(k, i, member, "%" PRId64 " is out of range, allowed %" PRId64 " to %" PRId64, value, min,
			    max);
}

static void check_time(const struct check *k, uint32_t i, const char *member, nsec_t value, nsec_t min, nsec_t max)
{
	char v[TEXT], lo[TEXT], hi[TEXT];

	if (value < min || value > max)
		CLASS_ERROR(k, i, member, "%s is out of range, allowed %s to %s", time_text(v, value),
			    time_text(lo, min), time_text(hi, max));
}

static void check_rate(const struct check *k, uint32_t i, const char *member, const char *what, uint64_t value)
{
	char v[TEXT], lo[TEXT], hi[TEXT];

	if (value < RATE_MIN_BPS || value > RATE_MAX_BPS)
		CLASS_ERROR(k, i, member, "%s%s is out of range, allowed %s to %s", what, rate_text(v, value),
			    rate_text(lo, RATE_MIN_BPS), rate_text(hi, RATE_MAX_BPS));
}

static void check_curve(const struct check *k, uint32_t i, const char *member, const struct curve *c)
{
	char text[TEXT], limit[TEXT];

	if (!curve_present(c)) {
		if (c->d_ns)
			CLASS_ERROR(k, i, member, "delay of %s without a rate", time_text(text, c->d_ns));
		return;
	}
	// A second slope of 0 would stop the class for good, a first one of 0 only delays it.
	check_rate(k, i, member, "m2 of ", c->m2_bps);
	if (c->m1_bps)
		check_rate(k, i, member, "m1 of ", c->m1_bps);
	if (c->d_ns > CURVE_D_MAX_NS)
		CLASS_ERROR(k, i, member, "d of %s is out of range, allowed 0 to %s", time_text(text, c->d_ns),
			    time_text(limit, CURVE_D_MAX_NS));
	if (c->d_ns == 0 && c->m1_bps && c->m1_bps != c->m2_bps)
		CLASS_ERROR(k, i, member, "m1 of %s has no duration: d is 0, allowed 1 ns to %s",
			    rate_text(text, c->m1_bps), time_text(limit, CURVE_D_MAX_NS));
}

static void check_leaf(const struct check *k, uint32_t i)
{
	const struct leaf_conf *l = &k->p->cls[i].leaf;
	char text[TEXT], other[TEXT];

	if (l->kind >= LEAF_KINDS) {
		CLASS_ERROR(k, i, "leaf", "kind %" PRIu32 " is unknown, allowed pfifo and fq_codel", l->kind);
		return;
	}
	check_number(k, i, "leaf/limit", l->limit_packets, 1, 1 << 20);
	if (l->kind != LEAF_FQ_CODEL)
		return;
	check_number(k, i, "leaf/memory", l->limit_frames, 1, 1 << 24);
	check_number(k, i, "leaf/quantum", l->quantum, 64, 65535);
	check_time(k, i, "leaf/target", l->target_ns, NSEC_PER_USEC, AQM_TIME_MAX_NS);
	check_time(k, i, "leaf/interval", l->interval_ns, NSEC_PER_USEC, AQM_TIME_MAX_NS);
	if (l->ce_threshold_ns != TIME_NEVER)
		check_time(k, i, "leaf/ce_threshold", l->ce_threshold_ns, 0, AQM_TIME_MAX_NS);
	if (l->target_ns > l->interval_ns)
		CLASS_ERROR(k, i, "leaf/target", "%s is above the interval of %s", time_text(text, l->target_ns),
			    time_text(other, l->interval_ns));
}

static void check_root(const struct check *k)
{
	const struct class_conf *r = &k->p->cls[0];
	char text[CLASS_NAME_MAX];

	if (strncmp(r->name, "root", CLASS_NAME_MAX))
		CLASS_ERROR(k, 0, "", "class 0 is named \"%s\", allowed is \"root\"", shown(text, r->name));
	if (r->parent != 0)
		CLASS_ERROR(k, 0, "", "the root's parent is class %" PRIu32 ", allowed is 0 (itself)", r->parent);
	if (curve_present(&r->rt) || curve_present(&r->ls) || curve_present(&r->ul))
		CLASS_ERROR(k, 0, "", "the root has a curve, allowed is none: its limit is the shaper's rate");
	if (r->leaf.kind != LEAF_NONE)
		CLASS_ERROR(k, 0, "", "the root has a queue, allowed is none: packets queue in leaf classes");
	if (!k->children[0])
		CLASS_ERROR(k, 0, "classes", "the shaper has no class below its root, at least one leaf is needed");
}

static void check_inner(const struct check *k, uint32_t i)
{
	const struct class_conf *c = &k->p->cls[i];

	if (curve_present(&c->rt))
		CLASS_ERROR(k, i, "rt", "a guarantee on a class with %" PRIu32 " children, allowed on leaves only",
			    k->children[i]);
	if (c->leaf.kind != LEAF_NONE)
		CLASS_ERROR(k, i, "leaf", "a queue on a class with %" PRIu32 " children, allowed on leaves only",
			    k->children[i]);
	if (!curve_present(&c->ls))
		CLASS_ERROR(k, i, "ls", "a class with children needs a share, or what they may borrow is 0");
}

static void check_class(const struct check *k, uint32_t i)
{
	const struct class_conf *c = &k->p->cls[i];
	char text[CLASS_NAME_MAX];

	if (!name_ok(c->name))
		CLASS_ERROR(k, i, "", "name \"%s\" is not allowed: 1 to %d letters, digits or any of _ - . :",
			    shown(text, c->name), CLASS_NAME_MAX - 1);
	check_curve(k, i, "rt", &c->rt);
	check_curve(k, i, "ls", &c->ls);
	check_curve(k, i, "ul", &c->ul);
	if (curve_present(&c->ul) && !curve_present(&c->ls))
		CLASS_ERROR(k, i, "ul", "an upper limit without a share (ls): it limits what ls gives, rt ignores it");
	if (k->children[i]) {
		check_inner(k, i);
		return;
	}
	if (!curve_present(&c->rt) && !curve_present(&c->ls))
		CLASS_ERROR(k, i, "", "neither a guarantee (rt) nor a share (ls): the class would never send");
	if (c->leaf.kind == LEAF_NONE && k->depth[i] != DEPTH_CYCLE)
		CLASS_ERROR(k, i, "leaf", "a class without children needs a queue, allowed pfifo and fq_codel");
	else if (c->leaf.kind != LEAF_NONE)
		check_leaf(k, i);
}

static void check_port(const struct check *k)
{
	const struct plan *p = k->p;
	char text[CLASS_NAME_MAX];

	if (p->rate_bps)
		check_rate(k, 0, "rate", "", p->rate_bps);
	check_time(k, 0, "burst", p->burst_ns, 0, BURST_MAX_NS);
	check_number(k, 0, "overhead", p->wire.overhead, -64, 256);
	check_number(k, 0, "mpu", p->wire.mpu, 0, 256);
	if (p->wire.layer > LINK_ATM)
		CLASS_ERROR(k, 0, "link_layer", "%" PRIu32 " is unknown, allowed ethernet, ptm and atm", p->wire.layer);
	if (p->mtu_wire) // 0: known only when the device is opened
		check_number(k, 0, "mtu", p->mtu_wire, 64, 65535);
	if (p->default_class == 0 || p->default_class >= p->classes)
		CLASS_ERROR(k, 0, "default", "no default class: a leaf for everything unclassified must be named");
	else if (k->children[p->default_class])
		CLASS_ERROR(k, 0, "default", "\"%s\" has children, allowed is a leaf",
			    shown(text, p->cls[p->default_class].name));
}

static void check_names(const struct check *k)
{
	struct named *n = names_sorted(k->p);
	char text[CLASS_NAME_MAX];

	if (!n) {
		CLASS_ERROR(k, 0, "", "out of memory");
		return;
	}
	for (uint32_t i = 1; i < k->p->classes; i++)
		if (name_order(&n[i - 1], &n[i]) == 0)
			CLASS_ERROR(k, n[i].cls, "", "the name \"%s\" is used twice", shown(text, n[i].name));
	free(n);
}

static void check_ids(const struct check *k)
{
	const struct plan *p = k->p;
	uint8_t *used;

	if (p->id_limit > ID_LIMIT_MAX) {
		CLASS_ERROR(k, 0, "", "id limit %" PRIu32 " is out of range, allowed 1 to %d", p->id_limit,
			    ID_LIMIT_MAX);
		return;
	}
	used = calloc(p->id_limit ? p->id_limit : 1, 1);
	if (!used) {
		CLASS_ERROR(k, 0, "", "out of memory");
		return;
	}
	for (uint32_t i = 0; i < p->classes; i++) {
		uint32_t id = p->cls[i].id;

		if (id >= p->id_limit)
			CLASS_ERROR(k, i, "", "id %" PRIu32 " is out of range, allowed below %" PRIu32, id,
				    p->id_limit);
		else if (used[id]++)
			CLASS_ERROR(k, i, "", "id %" PRIu32 " is used twice", id);
		if (id < p->id_limit)
			used[id] = 1;
	}
	free(used);
}

// Tells the names of the cycle that class `first` is on, and marks all of its classes.
static void report_cycle(const struct check *k, uint32_t first)
{
	char text[PROBLEM_TEXT_MAX], name[CLASS_NAME_MAX];
	uint32_t c = first, shown_names = 0;
	size_t n = 0;

	do {
		n += (size_t)snprintf(text + n, sizeof text - n, "%s -> ", shown(name, k->p->cls[c].name));
		c = k->p->cls[c].parent;
	} while (c != first && ++shown_names < CYCLE_NAMES && n < sizeof text / 2);
	snprintf(text + n, sizeof text - n, "%s%s", c == first ? "" : "... -> ", shown(name, k->p->cls[first].name));
	CLASS_ERROR(k, first, "parent", "parents form a cycle (%s), allowed is a way to the root", text);
	for (c = first; k->depth[c] != DEPTH_CYCLE; c = k->p->cls[c].parent)
		k->depth[c] = DEPTH_CYCLE;
}

// Depths, and the parents that lead nowhere. Each class is walked over twice at most: up to a class whose depth is
// known (or a fault), then once more to write down what was found.
static void find_depths(const struct check *k)
{
	const struct plan *p = k->p;

	for (uint32_t i = 0; i < p->classes; i++)
		k->depth[i] = DEPTH_UNKNOWN;
	k->depth[0] = 0;
	for (uint32_t i = 1; i < p->classes; i++) {
		uint32_t c = i, steps = 0, top;

		while (k->depth[c] == DEPTH_UNKNOWN) {
			k->depth[c] = DEPTH_WALKING;
			steps++;
			if (p->cls[c].parent >= p->classes) {
				CLASS_ERROR(k, c, "parent", "class %" PRIu32 " does not exist, allowed 0 to %" PRIu32,
					    p->cls[c].parent, p->classes - 1);
				k->depth[c] = DEPTH_BROKEN;
				steps--;
				break;
			}
			c = p->cls[c].parent;
		}
		if (k->depth[c] == DEPTH_WALKING)
			report_cycle(k, c);
		top = k->depth[c];
		for (c = i; steps; steps--, c = p->cls[c].parent)
			if (k->depth[c] == DEPTH_WALKING)
				k->depth[c] = top >= DEPTH_WALKING ? DEPTH_BROKEN : top + steps;
	}
	for (uint32_t i = 1; i < p->classes; i++) {
		if (p->cls[i].parent < p->classes && k->depth[i] != DEPTH_CYCLE)
			k->children[p->cls[i].parent]++;
		// Below the first class that is too deep all are: one report a branch is enough.
		if (k->depth[i] == CLASS_DEPTH_MAX + 1)
			CLASS_ERROR(k, i, "parent", "the class is %" PRIu32 " levels below the root, allowed are %d",
				    k->depth[i], CLASS_DEPTH_MAX);
	}
}

// --- admission -------------------------------------------------------------------------------------------------

// A line: slope in bit/s, offset in bit/s x ns. 2^18 curves of 4e11 bit/s and 6e10 ns stay below 2^93.
struct line {
	s128 slope, offset;
};

struct event { // a breakpoint at `at` of class cls's rt curve, or of its upper limit
	nsec_t at;
	uint32_t cls;
	bool ul;
};

static int event_compare(const void *va, const void *vb)
{
	const struct event *a = va, *b = vb;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return (a->cls > b->cls) - (a->cls < b->cls);
}

static bool two_piece(const struct curve *c)
{
	return curve_present(c) && c->d_ns && c->m1_bps != c->m2_bps;
}

// Numbers beyond the range were reported; they stay out of the sums, which they could overflow.
static bool in_range(const struct curve *c)
{
	return c->m1_bps <= RATE_MAX_BPS && c->m2_bps <= RATE_MAX_BPS && c->d_ns <= CURVE_D_MAX_NS;
}

static s128 line_at(const struct line *l, nsec_t t)
{
	return l->slope * (s128)t + l->offset;
}

static s128 curve_at(const struct curve *c, nsec_t t)
{
	nsec_t first = two_piece(c) && t > c->d_ns ? c->d_ns : t;

	if (!two_piece(c))
		return (s128)c->m2_bps * t;
	return (s128)c->m1_bps * first + (s128)c->m2_bps * (t - first);
}

struct admission {
	const struct check *k;
	struct line *sum; // [classes] of the rt curves below, as they run between two events
	uint8_t *told;    // [classes] one report each
};

// The curve that limits what is below class i; false if nothing does.
static bool limit_of(const struct plan *p, uint32_t i, struct curve *limit)
{
	*limit = i ? p->cls[i].ul : (struct curve){.m2_bps = p->rate_bps};
	return curve_present(limit) && in_range(limit);
}

static void admit(struct admission *a, uint32_t i, nsec_t at)
{
	const struct plan *p = a->k->p;
	struct curve limit;
	s128 need, have;
	char n[TEXT], h[TEXT], t[TEXT], span[TEXT + 32] = "";

	if (a->told[i] || !limit_of(p, i, &limit))
		return;
	if (at == TIME_NEVER) {
		need = a->sum[i].slope;
		have = limit.m2_bps;
	} else {
		if (!at)
			return;
		need = line_at(&a->sum[i], at);
		have = curve_at(&limit, at);
		if (need <= have)
			return;
		need = (need + (s128)at - 1) / (s128)at; // told as mean rates over the time
		have /= (s128)at;
		snprintf(span, sizeof span, " over the first %s", time_text(t, at));
	}
	if (need <= have)
		return;
	a->told[i] = 1;
	rate_text(n, need > (s128)UINT64_MAX ? UINT64_MAX : (uint64_t)need);
	rate_text(h, (uint64_t)have);
	if (i == 0)
		CLASS_ERROR(a->k, 0, "classes", "guarantees (rt) add up to %s%s, allowed %s: the rate of the shaper", n,
			    span, h);
	else
		CLASS_WARNING(a->k, i, "ul", "guarantees (rt) of %s %s %s%s, the upper limit is %s: rt will exceed it",
			      a->k->children[i] ? "the classes below" : "the class",
			      a->k->children[i] ? "add up to" : "are", n, span, h);
}

static void admit_event(struct admission *a, const struct event *e)
{
	const struct class_conf *cls = a->k->p->cls;
	const struct curve *rt = &cls[e->cls].rt;

	if (e->ul) {
		admit(a, e->cls, e->at);
		return;
	}
	for (uint32_t c = e->cls;; c = cls[c].parent) {
		admit(a, c, e->at);
		a->sum[c].slope += (s128)rt->m2_bps - (s128)rt->m1_bps;
		a->sum[c].offset += ((s128)rt->m1_bps - (s128)rt->m2_bps) * (s128)e->at;
		if (c == 0)
			return;
	}
}

static void check_admission(const struct check *k)
{
	const struct plan *p = k->p;
	struct admission a = {k, calloc(p->classes, sizeof *a.sum), calloc(p->classes, 1)};
	struct event *event = malloc(2 * (size_t)p->classes * sizeof *event);
	uint32_t events = 0;

	if (!a.sum || !a.told || !event) {
		CLASS_ERROR(k, 0, "", "out of memory");
		goto out;
	}
	for (uint32_t i = 1; i < p->classes; i++) {
		const struct class_conf *c = &p->cls[i];

		if (k->depth[i] > CLASS_DEPTH_MAX)
			continue;
		if (two_piece(&c->ul) && in_range(&c->ul))
			event[events++] = (struct event){c->ul.d_ns, i, true};
		if (k->children[i] || !curve_present(&c->rt) || !in_range(&c->rt))
			continue;
		if (two_piece(&c->rt))
			event[events++] = (struct event){c->rt.d_ns, i, false};
		for (uint32_t u = i;; u = p->cls[u].parent) {
			a.sum[u].slope += (s128)(two_piece(&c->rt) ? c->rt.m1_bps : c->rt.m2_bps);
			if (u == 0)
				break;
		}
	}
	qsort(event, events, sizeof *event, event_compare);
	for (uint32_t i = 0; i < events; i++)
		admit_event(&a, &event[i]);
	for (uint32_t i = 0; i < p->classes; i++)
		admit(&a, i, TIME_NEVER);
out:
	free(a.sum);
	free(a.told);
	free(event);
}

// --- all of it -------------------------------------------------------------------------------------------------

// A class whose guarantee is far above its share runs ahead in virtual time, and a sibling that wakes later may take
// long to be served by ls; the running tree bounds that, but the plan is probably not what was meant.
static void check_shares(const struct check *k)
{
	char rt[TEXT], ls[TEXT];

	if (!k->p->rate_bps)
		return;
	if (!ls_shares(k->p, k->rate)) {
		CLASS_ERROR(k, 0, "", "out of memory");
		return;
	}
	for (uint32_t i = 1; i < k->p->classes; i++) {
		const struct class_conf *c = &k->p->cls[i];

		if (k->depth[i] > CLASS_DEPTH_MAX || k->children[i] || !curve_present(&c->ls))
			continue;
		if (c->rt.m2_bps > k->rate[i])
			CLASS_WARNING(k, i, "rt", "guarantee of %s is above the class's fair share (ls) of %s",
				      rate_text(rt, c->rt.m2_bps), rate_text(ls, k->rate[i]));
	}
}

void plan_check(const struct plan *p, const char *path, struct problems *out)
{
	struct check k = {.p = p, .path = path, .out = out};

	if (p->classes == 0 || p->classes > CLASSES_MAX) {
		char where[PATH];

		snprintf(where, sizeof where, "%s/classes", path);
		problem_add(out, PROBLEM_ERROR, where, "%" PRIu32 " classes (root included), allowed 2 to %d",
			    p->classes, CLASSES_MAX);
		return;
	}
	k.depth = malloc(p->classes * sizeof *k.depth);
	k.children = calloc(p->classes, sizeof *k.children);
	k.rate = malloc(p->classes * sizeof *k.rate);
	if (!k.depth || !k.children || !k.rate) {
		problem_add(out, PROBLEM_ERROR, path, "out of memory");
	} else {
		find_depths(&k);
		check_port(&k);
		check_root(&k);
		for (uint32_t i = 1; i < p->classes; i++)
			check_class(&k, i);
		check_names(&k);
		check_ids(&k);
		check_admission(&k);
		check_shares(&k);
	}
	free(k.depth);
	free(k.children);
	free(k.rate);
}
