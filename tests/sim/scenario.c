// SPDX-License-Identifier: GPL-2.0-or-later
// Reading scenario files. A line is a statement of words; a statement is a keyword, its fixed words, then options in
// any order. Everything is checked here, so that the player needs no error paths: names, ranges, and each plan by
// the product's own plan_check. Lists only grow; the process ends soon, so a mistake in the file simply exits.
#include "tests/sim/sim.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64, LINE_MAX_LEN = 1024, REPEAT_MAX = CLASSES_MAX };

struct change { // a statement that edits a tree's plan, at 0 for the first one
	uint32_t tree, line;
	nsec_t at;
	char *text;
};

struct reader {
	struct scenario *s;
	uint32_t line;
	char *word[WORDS_MAX];
	uint32_t words, next;
	char text[LINE_MAX_LEN];
	struct change *change;
	uint32_t changes;
	uint32_t *hash; // class index + 1 by name, open addressing
	uint32_t hash_size;
};

static void fail(const struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3) __attribute__((noreturn));
static void fail(const struct reader *r, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%u: ", r->s->file, r->line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_FILE);
}

// Room for one more element of an array that holds n; its size doubles at powers of two.
static void *grow(void *array, uint32_t n, size_t size)
{
	void *p = array;

	if ((n & (n - 1)) == 0) {
		p = realloc(array, (n ? 2 * (size_t)n : 1) * size);
		if (!p)
			abort();
	}
	memset((char *)p + n * size, 0, size);
	return p;
}

// --- words and values --------------------------------------------------------------------------------------------

static const char *word(struct reader *r, const char *what)
{
	if (r->next == r->words)
		fail(r, "the line ends where %s is expected", what);
	return r->word[r->next++];
}

static bool more(const struct reader *r)
{
	return r->next < r->words;
}

static bool accept(struct reader *r, const char *keyword)
{
	if (!more(r) || strcmp(r->word[r->next], keyword))
		return false;
	r->next++;
	return true;
}

struct unit {
	const char *name;
	double factor;
};

static const struct unit rate_units[] = {{"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {"", 1}, {NULL, 0}};
static const struct unit time_units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}, {NULL, 0}};
static const struct unit plain_units[] = {{"", 1}, {"%", 0.01}, {NULL, 0}};

static double value(struct reader *r, const char *text, const struct unit *units, double min, double max,
		    const char *allowed)
{
	char *end;
	double v;

	v = strtod(text, &end);
	for (const struct unit *u = units; end != text && u->name; u++)
		if (!strcmp(end, u->name)) {
			v *= u->factor;
			if (!isfinite(v) || v < min || v > max)
				fail(r, "\"%s\" is out of range, allowed %s", text, allowed);
			return v;
		}
	fail(r, "\"%s\" is not understood, allowed %s", text, allowed);
}

static uint64_t rate(struct reader *r, const char *text)
{
	return (uint64_t)llround(value(r, text, rate_units, 0, 4e11, "0 to 400gbit, as 500mbit, 64kbit or 1000bit"));
}

static nsec_t duration(struct reader *r, const char *text)
{
	return (nsec_t)llround(value(r, text, time_units, 0, 3.6e12, "0s to 60min, as 10ms or 5us"));
}

static uint32_t number(struct reader *r, const char *what, uint32_t min, uint32_t max)
{
	char allowed[64];

	snprintf(allowed, sizeof allowed, "%u to %u for %s", min, max, what);
	return (uint32_t)value(r, word(r, what), plain_units, min, max, allowed);
}

static int32_t integer(struct reader *r, const char *what, int32_t min, int32_t max)
{
	char allowed[64];

	snprintf(allowed, sizeof allowed, "%d to %d for %s", min, max, what);
	return (int32_t)value(r, word(r, what), plain_units, min, max, allowed);
}

// RATE, or M1/D/M2
static struct curve curve(struct reader *r)
{
	char text[64], *d, *m2;
	const char *w = word(r, "a curve");

	snprintf(text, sizeof text, "%s", w);
	if (!(d = strchr(text, '/')))
		return (struct curve){.m2_bps = rate(r, text)};
	*d++ = 0;
	if (!(m2 = strchr(d, '/')))
		fail(r, "\"%s\" is not a curve, allowed RATE or M1/D/M2, as 400mbit/10ms/100mbit", w);
	*m2++ = 0;
	return (struct curve){rate(r, text), duration(r, d), rate(r, m2)};
}

static void name(struct reader *r, char out[CLASS_NAME_MAX], const char *what)
{
	const char *w = word(r, what);

	if (strlen(w) >= CLASS_NAME_MAX || strchr(w, '/'))
		fail(r, "\"%s\" is no name for %s, allowed are up to %d letters, digits and _-.:", w, what,
		     CLASS_NAME_MAX - 1);
	snprintf(out, CLASS_NAME_MAX, "%s", w);
}

// --- classes by name ---------------------------------------------------------------------------------------------

static uint32_t hash_of(uint32_t tree, const char *text)
{
	uint32_t h = 2166136261u ^ tree;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h;
}

static uint32_t *class_slot(struct reader *r, uint32_t tree, const char *text)
{
	uint32_t i = hash_of(tree, text) & (r->hash_size - 1);

	for (; r->hash[i]; i = (i + 1) & (r->hash_size - 1)) {
		const struct sim_class *c = &r->s->cls[r->hash[i] - 1];

		if (c->tree == tree && !strcmp(c->name, text))
			break;
	}
	return &r->hash[i];
}

static void class_known(struct reader *r, uint32_t tree, const char *text)
{
	struct scenario *s = r->s;
	uint32_t *slot;

	if (4 * (s->classes + 1) > r->hash_size) {
		free(r->hash);
		r->hash_size = r->hash_size ? 4 * r->hash_size : 1024;
		r->hash = calloc(r->hash_size, sizeof *r->hash);
		if (!r->hash)
			abort();
		for (uint32_t i = 0; i < s->classes; i++)
			*class_slot(r, s->cls[i].tree, s->cls[i].name) = i + 1;
	}
	slot = class_slot(r, tree, text);
	if (*slot)
		return;
	s->cls = grow(s->cls, s->classes, sizeof *s->cls);
	snprintf(s->cls[s->classes].name, CLASS_NAME_MAX, "%s", text);
	s->cls[s->classes].tree = tree;
	*slot = ++s->classes;
}

static uint32_t tree_by_name(struct reader *r, const char *text)
{
	for (uint32_t i = 0; i < r->s->trees; i++)
		if (!strcmp(r->s->tree[i].name, text))
			return i;
	fail(r, "there is no tree \"%s\" above this line", text);
}

// CLASS of the first tree, or TREE/CLASS
static uint32_t class_named(struct reader *r, const char *w)
{
	char text[2 * CLASS_NAME_MAX];
	char *slash;
	uint32_t tree = 0, found;

	if (!r->s->trees)
		fail(r, "\"%s\": there is no tree above this line", w);
	snprintf(text, sizeof text, "%s", w);
	slash = strchr(text, '/');
	if (slash) {
		*slash = 0;
		tree = tree_by_name(r, text);
	}
	found = r->hash ? *class_slot(r, tree, slash ? slash + 1 : text) : 0;
	if (!found)
		fail(r, "there is no class \"%s\" above this line", w);
	return found - 1;
}

// --- trees and plans ---------------------------------------------------------------------------------------------

static void keep_change(struct reader *r, uint32_t tree, nsec_t at)
{
	struct change *c;

	r->change = grow(r->change, r->changes, sizeof *r->change);
	c = &r->change[r->changes++];
	*c = (struct change){tree, r->line, at, strdup(r->text)};
	if (!c->text)
		abort();
}

static void statement_tree(struct reader *r)
{
	struct scenario *s = r->s;
	struct sim_tree *t;

	s->tree = grow(s->tree, s->trees, sizeof *s->tree);
	t = &s->tree[s->trees];
	name(r, t->name, "the tree");
	for (uint32_t i = 0; i < s->trees; i++)
		if (!strcmp(s->tree[i].name, t->name))
			fail(r, "the tree \"%s\" exists already", t->name);
	t->line = r->line;
	t->batch = 32;
	keep_change(r, s->trees++, 0);
}

// poll ideal|every TIME [jitter TIME] [batch N], of the newest tree
static void statement_poll(struct reader *r)
{
	struct sim_tree *t;

	if (!r->s->trees)
		fail(r, "poll before any tree");
	t = &r->s->tree[r->s->trees - 1];
	if (!accept(r, "ideal")) {
		if (!accept(r, "every"))
			fail(r, "\"%s\" is not understood, allowed \"ideal\" or \"every TIME\"", word(r, "every"));
		t->polled = true;
		t->every = duration(r, word(r, "a time"));
		if (!t->every)
			fail(r, "a poll interval of 0s, allowed 1ns to 60min");
	}
	while (more(r)) {
		if (accept(r, "jitter"))
			t->jitter = duration(r, word(r, "a time"));
		else if (accept(r, "batch"))
			t->batch = number(r, "batch", 1, 4096);
		else
			fail(r, "\"%s\" is not understood, allowed jitter and batch", r->word[r->next]);
	}
}

static void edit_tree(struct reader *r, struct plan *p, char default_name[CLASS_NAME_MAX])
{
	while (more(r)) {
		if (accept(r, "rate")) {
			p->rate_bps = rate(r, word(r, "a rate"));
		} else if (accept(r, "burst")) {
			p->burst_ns = duration(r, word(r, "a time"));
		} else if (accept(r, "default")) {
			name(r, default_name, "the default class");
		} else if (accept(r, "overhead")) {
			p->wire.overhead = integer(r, "overhead", -64, 256);
		} else if (accept(r, "mpu")) {
			p->wire.mpu = number(r, "mpu", 0, 256);
		} else if (accept(r, "mtu")) {
			p->mtu_wire =
				number(r, "mtu", 64, 9216); // a frame here; made a wire length when the plan is whole
		} else if (accept(r, "layer")) {
			const char *w = word(r, "a link layer");

			p->wire.layer = !strcmp(w, "ethernet") ? LINK_ETHERNET
					: !strcmp(w, "ptm")    ? LINK_PTM
					: !strcmp(w, "atm")    ? LINK_ATM
							       : UINT32_MAX;
			if (p->wire.layer == UINT32_MAX)
				fail(r, "\"%s\" is no link layer, allowed ethernet, ptm, atm", w);
		} else {
			fail(r, "\"%s\" is not understood, allowed rate, burst, default, overhead, mpu, mtu, layer",
			     r->word[r->next]);
		}
	}
}

static void edit_queue(struct reader *r, struct leaf_conf *l)
{
	const char *w = word(r, "a queue");

	*l = (struct leaf_conf){.limit_packets = 1000, .ce_threshold_ns = TIME_NEVER};
	if (!strcmp(w, "pfifo")) {
		l->kind = LEAF_PFIFO;
	} else if (!strcmp(w, "fq_codel")) {
		*l = (struct leaf_conf){LEAF_FQ_CODEL,       10240,      16384, 1514, 5 * NSEC_PER_MSEC,
					100 * NSEC_PER_MSEC, TIME_NEVER, true};
	} else {
		fail(r, "\"%s\" is no queue, allowed pfifo, fq_codel", w);
	}
	for (;;) {
		if (accept(r, "limit"))
			l->limit_packets = number(r, "limit", 1, 1 << 20);
		else if (accept(r, "memory"))
			l->limit_frames = number(r, "memory", 1, 1 << 24);
		else if (accept(r, "quantum"))
			l->quantum = number(r, "quantum", 64, 65535);
		else if (accept(r, "target"))
			l->target_ns = duration(r, word(r, "a time"));
		else if (accept(r, "interval"))
			l->interval_ns = duration(r, word(r, "a time"));
		else if (accept(r, "ce"))
			l->ce_threshold_ns = duration(r, word(r, "a time"));
		else if (accept(r, "noecn"))
			l->ecn = false;
		else
			return;
	}
}

static void edit_class(struct reader *r, struct class_conf *c, char parent[CLASS_NAME_MAX])
{
	while (more(r)) {
		if (accept(r, "rt"))
			c->rt = curve(r);
		else if (accept(r, "ls"))
			c->ls = curve(r);
		else if (accept(r, "ul"))
			c->ul = curve(r);
		else if (accept(r, "queue"))
			edit_queue(r, &c->leaf);
		else if (accept(r, "parent"))
			name(r, parent, "the parent");
		else
			fail(r, "\"%s\" is not understood, allowed parent, rt, ls, ul, queue", r->word[r->next]);
	}
}

static void split(struct reader *r, char *text);

// Plans grow here as lists; parents are kept by name until all classes are known.
struct draft {
	struct plan head; // everything but the classes
	char default_name[CLASS_NAME_MAX];
	struct class_conf *cls;
	char (*parent)[CLASS_NAME_MAX];
	uint32_t classes;
};

static uint32_t draft_find(const struct draft *d, const char *text)
{
	for (uint32_t i = 0; i < d->classes; i++)
		if (!strcmp(d->cls[i].name, text))
			return i;
	return UINT32_MAX;
}

static void draft_edit(struct reader *r, struct draft *d, const struct change *c)
{
	char text[LINE_MAX_LEN], n[CLASS_NAME_MAX];
	uint32_t i;

	snprintf(text, sizeof text, "%s", c->text);
	r->line = c->line;
	split(r, text);
	if (accept(r, "at"))
		r->next++;
	if (accept(r, "tree")) {
		r->next++;
		edit_tree(r, &d->head, d->default_name);
		return;
	}
	if (accept(r, "remove")) {
		accept(r, "class");
		name(r, n, "a class");
		i = draft_find(d, n);
		if (i == UINT32_MAX || i == 0)
			fail(r, "there is no class \"%s\" to remove", n);
		memmove(&d->cls[i], &d->cls[i + 1], (d->classes - i - 1) * sizeof *d->cls);
		memmove(&d->parent[i], &d->parent[i + 1], (d->classes - i - 1) * sizeof *d->parent);
		d->classes--;
		return;
	}
	r->next++; // "class"
	name(r, n, "a class");
	i = c->at ? draft_find(d, n) : UINT32_MAX;
	if (i == UINT32_MAX) {
		i = d->classes++;
		d->cls = grow(d->cls, i, sizeof *d->cls);
		d->parent = grow(d->parent, i, sizeof *d->parent);
		snprintf(d->cls[i].name, CLASS_NAME_MAX, "%s", n);
		snprintf(d->parent[i], CLASS_NAME_MAX, "root");
	}
	edit_class(r, &d->cls[i], d->parent[i]);
}

// The draft as a plan: parents by index. Names are looked up in a hash, as trees may have 200,000 of them.
static struct plan *draft_plan(struct reader *r, const struct draft *d, const struct plan *prev)
{
	struct plan *p = plan_new(d->classes);
	uint32_t size = 1, *slot;

	while (size < 4 * d->classes)
		size *= 2;
	slot = calloc(size, sizeof *slot);
	if (!p || !slot)
		abort();
	p->rate_bps = d->head.rate_bps;
	p->burst_ns = d->head.burst_ns;
	p->wire = d->head.wire;
	p->mtu_wire = wire_length(&p->wire, d->head.mtu_wire);
	for (uint32_t i = 0; i < d->classes; i++) {
		uint32_t id = p->cls[i].id, h = hash_of(0, d->cls[i].name) & (size - 1);

		p->cls[i] = d->cls[i];
		p->cls[i].id = id;
		while (slot[h])
			h = (h + 1) & (size - 1);
		slot[h] = i + 1;
	}
	for (uint32_t i = 0; i <= d->classes; i++) { // one round more: the default class
		const char *n = i < d->classes ? d->parent[i] : d->default_name;
		uint32_t h = hash_of(0, n) & (size - 1);

		while (slot[h] && strcmp(d->cls[slot[h] - 1].name, n))
			h = (h + 1) & (size - 1);
		if (i == d->classes)
			p->default_class = slot[h] ? slot[h] - 1 : 0;
		else if (i)
			p->cls[i].parent = slot[h] ? slot[h] - 1 : UINT32_MAX;
	}
	free(slot);
	if (!plan_carry_ids(p, prev))
		abort();
	(void)r;
	return p;
}

static void add_plan(struct reader *r, struct sim_tree *t, const struct draft *d, nsec_t at)
{
	struct problems out = {0};
	struct plan *p = draft_plan(r, d, t->plans ? t->plan[t->plans - 1] : NULL);
	char path[2 * CLASS_NAME_MAX];

	snprintf(path, sizeof path, "/shapers/%s", t->name);
	plan_check(p, path, &out);
	if (!p->rate_bps)
		problem_add(&out, PROBLEM_ERROR, path,
			    "rate is 0, allowed 1kbit to 400gbit: a simulated link needs one");
	for (uint32_t i = 0; i < out.kept; i++)
		fprintf(stderr, "%s:%u: %s: %s: %s\n", r->s->file, r->line,
			out.list[i].level == PROBLEM_ERROR ? "error" : "warning", out.list[i].path, out.list[i].text);
	if (out.errors)
		exit(EXIT_FILE);
	problems_free(&out);
	t->plan = grow(t->plan, t->plans, sizeof(struct plan *));
	t->at = grow(t->at, t->plans, sizeof *t->at);
	t->class_of = grow(t->class_of, t->plans, sizeof(uint32_t *));
	t->class_of[t->plans] = calloc(p->classes, sizeof(uint32_t));
	if (!t->class_of[t->plans])
		abort();
	for (uint32_t i = 1; i < p->classes; i++)
		t->class_of[t->plans][i] = *class_slot(r, (uint32_t)(t - r->s->tree), p->cls[i].name) - 1;
	t->plan[t->plans] = p;
	t->at[t->plans++] = at;
}

static int change_order(const void *va, const void *vb)
{
	const struct change *a = va, *b = vb;

	if (a->tree != b->tree)
		return a->tree < b->tree ? -1 : 1;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

// Turns the statements about trees into plans: those of one tree and one instant make one plan.
static void make_plans(struct reader *r)
{
	uint32_t i = 0;

	qsort(r->change, r->changes, sizeof *r->change, change_order);
	for (uint32_t t = 0; t < r->s->trees; t++) {
		struct draft d = {.head = {.burst_ns = NSEC_PER_MSEC, .mtu_wire = 1514}};

		d.cls = grow(NULL, 0, sizeof *d.cls);
		d.parent = grow(NULL, 0, sizeof *d.parent);
		snprintf(d.cls[0].name, CLASS_NAME_MAX, "root");
		d.classes = 1;
		while (i < r->changes && r->change[i].tree == t) {
			nsec_t at = r->change[i].at;

			for (; i < r->changes && r->change[i].tree == t && r->change[i].at == at; i++)
				draft_edit(r, &d, &r->change[i]);
			add_plan(r, &r->s->tree[t], &d, at);
		}
		free(d.cls);
		free(d.parent);
	}
	for (i = 0; i < r->changes; i++)
		free(r->change[i].text);
	free(r->change);
}

static void statement_class(struct reader *r)
{
	char n[CLASS_NAME_MAX];

	if (!r->s->trees)
		fail(r, "a class before any tree");
	name(r, n, "the class");
	class_known(r, r->s->trees - 1, n);
	keep_change(r, r->s->trees - 1, 0);
}

// at TIME tree|class|remove ..., of the newest tree
static void statement_at(struct reader *r)
{
	nsec_t at = duration(r, word(r, "a time"));
	char n[CLASS_NAME_MAX];
	uint32_t tree = r->s->trees - 1;

	if (!r->s->trees)
		fail(r, "a change before any tree");
	if (!at)
		fail(r, "a change at 0s, allowed is any time above: write the first plan so");
	if (accept(r, "tree")) {
		if (strcmp(word(r, "the tree's name"), r->s->tree[tree].name))
			fail(r, "only the newest tree, \"%s\", can be changed here", r->s->tree[tree].name);
	} else if (accept(r, "class")) {
		name(r, n, "the class");
		class_known(r, tree, n);
	} else if (!accept(r, "remove")) {
		fail(r, "\"%s\" is not understood, allowed tree, class, remove", word(r, "a change"));
	}
	keep_change(r, tree, at);
}

// --- sources -----------------------------------------------------------------------------------------------------

static void source_sizes(struct reader *r, struct sim_source *q, const char *w)
{
	char text[128], *save, *part;

	snprintf(text, sizeof text, "%s", w);
	q->sizes = 0;
	for (part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		char *weight = strchr(part, ':');

		if (q->sizes == MIX_MAX)
			fail(r, "\"%s\" has too many sizes, allowed are %d", w, MIX_MAX);
		if (weight)
			*weight++ = 0;
		q->weight[q->sizes] =
			weight ? (uint32_t)value(r, weight, plain_units, 1, 1000, "1 to 1000 for a weight") : 1;
		q->size[q->sizes++] = (uint16_t)value(r, part, plain_units, 14, 9216, "frames of 14 to 9216 bytes");
	}
	if (!q->sizes)
		fail(r, "\"%s\" is no size", w);
}

static void source_kind(struct reader *r, struct sim_source *q)
{
	const char *w = word(r, "the kind of source");

	if (!strcmp(w, "cbr") || !strcmp(w, "poisson") || !strcmp(w, "onoff")) {
		q->kind = w[0] == 'c' ? SOURCE_CBR : w[0] == 'p' ? SOURCE_POISSON : SOURCE_ONOFF;
		q->rate_bps = rate(r, word(r, "a rate"));
		if (!q->rate_bps)
			fail(r, "a source of 0 bit/s, allowed 1bit to 400gbit");
	} else if (!strcmp(w, "every")) {
		q->kind = SOURCE_EVERY;
		q->interval = duration(r, word(r, "a time"));
		if (!q->interval)
			fail(r, "an interval of 0s, allowed 1ns to 60min");
	} else if (!strcmp(w, "greedy")) {
		q->kind = SOURCE_GREEDY;
		q->count = 64;
	} else if (!strcmp(w, "reno")) {
		q->kind = SOURCE_RENO;
		q->rtt = 20 * NSEC_PER_MSEC;
	} else {
		fail(r, "\"%s\" is no source, allowed cbr, every, poisson, onoff, greedy, reno", w);
	}
}

static void statement_source(struct reader *r)
{
	struct scenario *s = r->s;
	struct sim_source *q;

	s->source = grow(s->source, s->sources, sizeof *s->source);
	q = &s->source[s->sources++];
	*q = (struct sim_source){.line = r->line,
				 .flows = 1,
				 .count = 1,
				 .to = TIME_NEVER,
				 .sizes = 1,
				 .size = {1514},
				 .weight = {1},
				 .on = 10 * NSEC_PER_MSEC,
				 .off = 10 * NSEC_PER_MSEC};
	name(r, q->name, "the source");
	q->cls = class_named(r, word(r, "a class"));
	source_kind(r, q);
	while (more(r)) {
		if (accept(r, "size"))
			source_sizes(r, q, word(r, "a size"));
		else if (accept(r, "flows"))
			q->flows = number(r, "flows", 1, 65536);
		else if (accept(r, "from"))
			q->from = duration(r, word(r, "a time"));
		else if (accept(r, "to"))
			q->to = duration(r, word(r, "a time"));
		else if (accept(r, "count") || accept(r, "keep"))
			q->count = number(r, "a number of packets", 1, 65536);
		else if (accept(r, "on"))
			q->on = duration(r, word(r, "a time"));
		else if (accept(r, "off"))
			q->off = duration(r, word(r, "a time"));
		else if (accept(r, "rtt"))
			q->rtt = duration(r, word(r, "a time"));
		else if (accept(r, "ect"))
			q->ect = true;
		else
			fail(r,
			     "\"%s\" is not understood, allowed size, flows, from, to, count, keep, on, off, rtt, ect",
			     r->word[r->next]);
	}
	if (q->kind == SOURCE_ONOFF && (!q->on || !q->off))
		fail(r, "on or off of 0s, allowed 1ns to 60min");
	if (q->kind == SOURCE_RENO && !q->rtt)
		fail(r, "a round trip of 0s, allowed 1ns to 60min");
}

// --- expectations ------------------------------------------------------------------------------------------------

static const struct {
	const char *name;
	uint32_t kind;
} expect_names[] = {
	{"rate", EXPECT_RATE},
	{"total", EXPECT_TOTAL},
	{"share", EXPECT_SHARE},
	{"delay", EXPECT_DELAY},
	{"drops", EXPECT_DROPS},
	{"loss", EXPECT_LOSS},
	{"sent", EXPECT_SENT},
	{"gap", EXPECT_GAP},
	{"floor", EXPECT_FLOOR},
	{"ceiling", EXPECT_CEILING},
	{"target", EXPECT_TARGET},
	{"digest", EXPECT_DIGEST},
	{"repeatable", EXPECT_REPEATABLE},
	{"oracle", EXPECT_ORACLE},
};

static double expect_value(struct reader *r, const struct sim_expect *e, const char *w)
{
	switch (e->kind) {
	case EXPECT_RATE:
	case EXPECT_TOTAL:
	case EXPECT_FLOOR:
	case EXPECT_CEILING:
		return (double)rate(r, w);
	case EXPECT_DELAY:
	case EXPECT_GAP:
	case EXPECT_TARGET:
		return (double)duration(r, w);
	case EXPECT_SHARE:
	case EXPECT_LOSS:
		return value(r, w, plain_units, 0, 1, "0% to 100%");
	default:
		return value(r, w, plain_units, 0, 1e15, "a number");
	}
}

// A class, or "source NAME": that source's packets in its class.
static void expect_class(struct reader *r, struct sim_expect *e)
{
	const char *w;

	if (!accept(r, "source")) {
		e->cls = class_named(r, word(r, "a class"));
		return;
	}
	w = word(r, "a source");
	for (e->source = 0; e->source < r->s->sources; e->source++)
		if (!strcmp(r->s->source[e->source].name, w))
			break;
	if (e->source == r->s->sources)
		fail(r, "there is no source \"%s\" above this line", w);
	e->cls = r->s->source[e->source].cls;
}

static void expect_class_or_all(struct reader *r, struct sim_expect *e)
{
	e->cls = UINT32_MAX;
	if (!accept(r, "all"))
		expect_class(r, e);
}

static void expect_subject(struct reader *r, struct sim_expect *e)
{
	const char *w;

	switch (e->kind) {
	case EXPECT_TOTAL:
	case EXPECT_REPEATABLE:
	case EXPECT_DIGEST:
	case EXPECT_ORACLE:
		if (more(r) && r->word[r->next][0] == '@')
			e->tree = tree_by_name(r, word(r, "a tree") + 1);
		break;
	case EXPECT_DROPS:
		expect_class_or_all(r, e);
		w = word(r, "a drop reason or \"any\"");
		for (e->drop = DROP_NONE + 1; e->drop < DROP_REASON_COUNT; e->drop++)
			if (!strcmp(drop_name(e->drop), w))
				break;
		if (e->drop == DROP_REASON_COUNT && strcmp(w, "any"))
			fail(r, "\"%s\" is no drop reason, allowed any, queue_full, codel, reconfigured, ...", w);
		if (e->drop == DROP_REASON_COUNT)
			e->drop = DROP_NONE;
		break;
	case EXPECT_DELAY:
		expect_class(r, e);
		w = word(r, "a quantile");
		if (!strcmp(w, "max"))
			e->permille = 1000;
		else if (w[0] == 'p')
			e->permille = 10 * value(r, w + 1, plain_units, 1, 100, "p1 to p100, p99.9, max");
		else
			fail(r, "\"%s\" is no quantile, allowed p50, p99, p99.9, max", w);
		break;
	default:
		expect_class_or_all(r, e);
	}
}

static void expect_of(struct reader *r, struct sim_expect *e)
{
	char text[LINE_MAX_LEN], *save, *part;

	snprintf(text, sizeof text, "%s", word(r, "classes"));
	for (part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		e->of = grow(e->of, e->ofs, sizeof *e->of);
		e->of[e->ofs++] = class_named(r, part);
	}
}

static void statement_expect(struct reader *r)
{
	struct scenario *s = r->s;
	struct sim_expect *e;
	const char *w = word(r, "what is expected");
	size_t k = 0;

	while (k < ARRAY_LEN(expect_names) && strcmp(expect_names[k].name, w))
		k++;
	if (k == ARRAY_LEN(expect_names))
		fail(r,
		     "\"%s\" cannot be expected, allowed rate, total, share, delay, drops, loss, sent, gap, floor, "
		     "ceiling, target, digest, repeatable, oracle",
		     w);
	s->expect = grow(s->expect, s->expects, sizeof *s->expect);
	e = &s->expect[s->expects++];
	*e = (struct sim_expect){.line = r->line,
				 .kind = expect_names[k].kind,
				 .cls = UINT32_MAX,
				 .source = UINT32_MAX,
				 .to = TIME_NEVER};
	snprintf(e->text, sizeof e->text, "%.*s", (int)sizeof e->text - 1, r->text);
	expect_subject(r, e);
	if (e->kind == EXPECT_DIGEST) {
		e->digest = strtoull(word(r, "a digest"), NULL, 16);
		return;
	}
	if (e->kind == EXPECT_ORACLE)
		s->tree[e->tree].oracle = true;
	if (e->kind == EXPECT_REPEATABLE || e->kind == EXPECT_ORACLE)
		return;
	e->compare = accept(r, "<=") ? AT_MOST : accept(r, ">=") ? AT_LEAST : ABOUT;
	if (e->kind == EXPECT_FLOOR)
		e->compare = AT_LEAST;
	if (e->kind == EXPECT_CEILING)
		e->compare = AT_MOST;
	e->value = expect_value(r, e, word(r, "a value"));
	while (more(r)) {
		if (accept(r, "+-"))
			e->tolerance = value(r, word(r, "a tolerance"), plain_units, 0, 1, "0% to 100%");
		else if (accept(r, "from"))
			e->from = duration(r, word(r, "a time"));
		else if (accept(r, "to"))
			e->to = duration(r, word(r, "a time"));
		else if (accept(r, "window"))
			e->window = duration(r, word(r, "a time"));
		else if (accept(r, "plus"))
			e->burst = number(r, "bytes", 0, 1u << 30);
		else if (accept(r, "of"))
			expect_of(r, e);
		else
			fail(r, "\"%s\" is not understood, allowed +-, from, to, window, plus, of", r->word[r->next]);
	}
	if ((e->kind == EXPECT_FLOOR || e->kind == EXPECT_CEILING) && !e->window)
		fail(r, "floor and ceiling need \"window TIME\"");
	if (e->kind == EXPECT_SHARE && !e->ofs)
		fail(r, "a share needs \"of CLASS,CLASS\"");
}

// --- lines -------------------------------------------------------------------------------------------------------

static void split(struct reader *r, char *text)
{
	char *save, *w;

	r->words = r->next = 0;
	for (w = strtok_r(text, " \t\r\n", &save); w && *w != '#'; w = strtok_r(NULL, " \t\r\n", &save)) {
		if (r->words == WORDS_MAX)
			fail(r, "more than %d words in a line", WORDS_MAX);
		r->word[r->words++] = w;
	}
}

static void statement(struct reader *r, const char *line)
{
	char text[LINE_MAX_LEN];

	snprintf(r->text, sizeof r->text, "%s", line);
	r->text[strcspn(r->text, "\r\n")] = 0;
	snprintf(text, sizeof text, "%s", line);
	split(r, text);
	if (!r->words)
		return;
	if (accept(r, "seed"))
		r->s->seed = number(r, "a seed", 0, UINT32_MAX);
	else if (accept(r, "time"))
		r->s->duration = duration(r, word(r, "a time"));
	else if (accept(r, "packets"))
		r->s->packets = number(r, "packets", 16, 1 << 22);
	else if (accept(r, "tree"))
		statement_tree(r);
	else if (accept(r, "poll"))
		statement_poll(r);
	else if (accept(r, "class"))
		statement_class(r);
	else if (accept(r, "source"))
		statement_source(r);
	else if (accept(r, "at"))
		statement_at(r);
	else if (accept(r, "expect"))
		statement_expect(r);
	else
		fail(r,
		     "\"%s\" is no statement, allowed seed, time, packets, tree, poll, class, source, at, expect, "
		     "repeat",
		     r->word[0]);
	// Statements about trees are read in full when the plans are made.
	if (more(r) && strcmp(r->word[0], "tree") && strcmp(r->word[0], "class") && strcmp(r->word[0], "at"))
		fail(r, "\"%s\" is one word too many", r->word[r->next]);
}

// The line with each %d replaced by i.
static void numbered(struct reader *r, char out[LINE_MAX_LEN], const char *line, uint32_t i)
{
	size_t n = 0;

	while (*line) {
		if (line[0] == '%' && line[1] == 'd') {
			n += (size_t)snprintf(out + n, LINE_MAX_LEN - n, "%u", i);
			line += 2;
		} else {
			out[n++] = *line++;
		}
		if (n >= LINE_MAX_LEN - 12)
			fail(r, "the line is too long, allowed are %d characters", LINE_MAX_LEN - 12);
	}
	out[n] = 0;
}

// repeat N STATEMENT: N times, with %d as 1 to N.
static void line_or_repeat(struct reader *r, const char *line)
{
	char text[LINE_MAX_LEN], one[LINE_MAX_LEN];
	const char *rest = line + strspn(line, " \t");
	uint32_t n;

	if (strncmp(rest, "repeat", 6) || !strchr(" \t", rest[6])) {
		statement(r, line);
		return;
	}
	snprintf(text, sizeof text, "%s", rest);
	split(r, text);
	r->next = 1;
	n = number(r, "repeat", 1, REPEAT_MAX);
	if (!more(r))
		fail(r, "the line ends where a statement is expected");
	rest += r->word[2] - text;
	for (uint32_t i = 1; i <= n; i++) {
		numbered(r, one, rest, i);
		statement(r, one);
	}
}

static void finish(struct reader *r)
{
	struct scenario *s = r->s;

	if (!s->trees)
		fail(r, "the file has no tree");
	if (!s->duration)
		fail(r, "the file has no \"time\", allowed 1ns to 60min");
	make_plans(r);
	for (uint32_t i = 0; i < s->expects; i++) {
		struct sim_expect *e = &s->expect[i];

		r->line = e->line;
		if (e->to == TIME_NEVER)
			e->to = s->duration;
		if (e->to > s->duration || e->from >= e->to)
			fail(r, "the expectation's time is empty or ends after the run");
		if (e->cls != UINT32_MAX)
			e->tree = s->cls[e->cls].tree;
	}
	for (uint32_t i = 0; i < s->trees; i++) {
		r->line = s->tree[i].line;
		if (s->tree[i].oracle && s->tree[i].plans > 1)
			fail(r, "the oracle follows no change of plan");
	}
}

struct scenario *scenario_read(const char *file)
{
	struct reader r = {0};
	char line[LINE_MAX_LEN];
	FILE *f = fopen(file, "r");

	if (!f) {
		fprintf(stderr, "%s: %s\n", file, strerror(errno));
		exit(EXIT_FILE);
	}
	r.s = calloc(1, sizeof *r.s);
	if (!r.s)
		abort();
	r.s->file = file;
	r.s->seed = 1;
	r.s->packets = 1 << 16;
	while (fgets(line, sizeof line, f)) {
		r.line++;
		if (!strchr(line, '\n') && !feof(f))
			fail(&r, "the line is too long, allowed are %d characters", LINE_MAX_LEN - 2);
		line_or_repeat(&r, line);
	}
	fclose(f);
	finish(&r);
	free(r.hash);
	return r.s;
}

void scenario_free(struct scenario *s)
{
	for (uint32_t i = 0; i < s->trees; i++) {
		for (uint32_t k = 0; k < s->tree[i].plans; k++) {
			plan_free(s->tree[i].plan[k]);
			free(s->tree[i].class_of[k]);
		}
		free(s->tree[i].class_of);
		free(s->tree[i].plan);
		free(s->tree[i].at);
	}
	for (uint32_t i = 0; i < s->expects; i++)
		free(s->expect[i].of);
	free(s->tree);
	free(s->cls);
	free(s->source);
	free(s->expect);
	free(s);
}
