// SPDX-License-Identifier: GPL-2.0-or-later
// Trees, and their plans over time. Statements are kept as text until the whole file is known; those of one tree and
// one instant then edit a draft, of which each instant leaves a plan, checked by the product's own plan_check.
#include "tests/sim/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep_change(struct reader *r, uint32_t tree, nsec_t at)
{
	struct change *c;

	r->change = grow_array(r->change, r->changes, sizeof *r->change);
	c = &r->change[r->changes++];
	*c = (struct change){tree, r->line, at, strdup(r->text)};
	if (!c->text)
		abort();
}

void statement_tree(struct reader *r)
{
	struct scenario *s = r->s;
	struct sim_tree *t;

	s->tree = grow_array(s->tree, s->trees, sizeof *s->tree);
	t = &s->tree[s->trees];
	read_name(r, t->name, "the tree");
	for (uint32_t i = 0; i < s->trees; i++)
		if (!strcmp(s->tree[i].name, t->name))
			wrong(r, "the tree \"%s\" exists already", t->name);
	t->line = r->line;
	t->batch = 32;
	keep_change(r, s->trees++, 0);
}

// poll ideal|every TIME [jitter TIME] [batch N], of the newest tree
void statement_poll(struct reader *r)
{
	struct sim_tree *t;

	if (!r->s->trees)
		wrong(r, "poll before any tree");
	t = &r->s->tree[r->s->trees - 1];
	if (!accept_word(r, "ideal")) {
		if (!accept_word(r, "every"))
			wrong(r, "\"%s\" is not understood, allowed \"ideal\" or \"every TIME\"",
			      next_word(r, "every"));
		t->polled = true;
		t->every = read_time(r, next_word(r, "a time"));
		if (!t->every)
			wrong(r, "a poll interval of 0s, allowed 1ns to 60min");
	}
	while (more_words(r)) {
		if (accept_word(r, "jitter"))
			t->jitter = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "batch"))
			t->batch = read_number(r, "batch", 1, 4096);
		else
			wrong(r, "\"%s\" is not understood, allowed jitter and batch", r->word[r->next]);
	}
}

static void edit_tree(struct reader *r, struct plan *p, char default_name[CLASS_NAME_MAX])
{
	while (more_words(r)) {
		if (accept_word(r, "rate")) {
			p->rate_bps = read_rate(r, next_word(r, "a rate"));
		} else if (accept_word(r, "burst")) {
			p->burst_ns = read_time(r, next_word(r, "a time"));
		} else if (accept_word(r, "default")) {
			read_name(r, default_name, "the default class");
		} else if (accept_word(r, "overhead")) {
			p->wire.overhead = read_integer(r, "overhead", -64, 256);
		} else if (accept_word(r, "mpu")) {
			p->wire.mpu = read_number(r, "mpu", 0, 256);
		} else if (accept_word(r, "mtu")) {
			p->mtu_wire = read_number(r, "mtu", 64,
						  9216); // a frame here; made a wire length when the plan is whole
		} else if (accept_word(r, "layer")) {
			const char *w = next_word(r, "a link layer");

			p->wire.layer = !strcmp(w, "ethernet") ? LINK_ETHERNET
					: !strcmp(w, "ptm")    ? LINK_PTM
					: !strcmp(w, "atm")    ? LINK_ATM
							       : UINT32_MAX;
			if (p->wire.layer == UINT32_MAX)
				wrong(r, "\"%s\" is no link layer, allowed ethernet, ptm, atm", w);
		} else {
			wrong(r, "\"%s\" is not understood, allowed rate, burst, default, overhead, mpu, mtu, layer",
			      r->word[r->next]);
		}
	}
}

static void edit_queue(struct reader *r, struct leaf_conf *l)
{
	const char *w = next_word(r, "a queue");

	*l = (struct leaf_conf){.limit_packets = 1000, .ce_threshold_ns = TIME_NEVER};
	if (!strcmp(w, "pfifo")) {
		l->kind = LEAF_PFIFO;
	} else if (!strcmp(w, "fq_codel")) {
		*l = (struct leaf_conf){LEAF_FQ_CODEL,       10240,      16384, 1514, 5 * NSEC_PER_MSEC,
					100 * NSEC_PER_MSEC, TIME_NEVER, true};
	} else {
		wrong(r, "\"%s\" is no queue, allowed pfifo, fq_codel", w);
	}
	for (;;) {
		if (accept_word(r, "limit"))
			l->limit_packets = read_number(r, "limit", 1, 1 << 20);
		else if (accept_word(r, "memory"))
			l->limit_frames = read_number(r, "memory", 1, 1 << 24);
		else if (accept_word(r, "quantum"))
			l->quantum = read_number(r, "quantum", 64, 65535);
		else if (accept_word(r, "target"))
			l->target_ns = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "interval"))
			l->interval_ns = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "ce"))
			l->ce_threshold_ns = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "noecn"))
			l->ecn = false;
		else
			return;
	}
}

static void edit_class(struct reader *r, struct class_conf *c, char parent[CLASS_NAME_MAX])
{
	while (more_words(r)) {
		if (accept_word(r, "rt"))
			c->rt = read_curve(r);
		else if (accept_word(r, "ls"))
			c->ls = read_curve(r);
		else if (accept_word(r, "ul"))
			c->ul = read_curve(r);
		else if (accept_word(r, "queue"))
			edit_queue(r, &c->leaf);
		else if (accept_word(r, "parent"))
			read_name(r, parent, "the parent");
		else
			wrong(r, "\"%s\" is not understood, allowed parent, rt, ls, ul, queue", r->word[r->next]);
	}
}

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
	split_line(r, text);
	if (accept_word(r, "at"))
		r->next++;
	if (accept_word(r, "tree")) {
		r->next++;
		edit_tree(r, &d->head, d->default_name);
		return;
	}
	if (accept_word(r, "remove")) {
		accept_word(r, "class");
		read_name(r, n, "a class");
		i = draft_find(d, n);
		if (i == UINT32_MAX || i == 0)
			wrong(r, "there is no class \"%s\" to remove", n);
		memmove(&d->cls[i], &d->cls[i + 1], (d->classes - i - 1) * sizeof *d->cls);
		memmove(&d->parent[i], &d->parent[i + 1], (d->classes - i - 1) * sizeof *d->parent);
		d->classes--;
		return;
	}
	r->next++; // "class"
	read_name(r, n, "a class");
	i = c->at ? draft_find(d, n) : UINT32_MAX;
	if (i == UINT32_MAX) {
		i = d->classes++;
		d->cls = grow_array(d->cls, i, sizeof *d->cls);
		d->parent = grow_array(d->parent, i, sizeof *d->parent);
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
		uint32_t id = p->cls[i].id, h = text_hash(0, d->cls[i].name) & (size - 1);

		p->cls[i] = d->cls[i];
		p->cls[i].id = id;
		while (slot[h])
			h = (h + 1) & (size - 1);
		slot[h] = i + 1;
	}
	for (uint32_t i = 0; i <= d->classes; i++) { // one round more: the default class
		const char *n = i < d->classes ? d->parent[i] : d->default_name;
		uint32_t h = text_hash(0, n) & (size - 1);

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
	t->plan = grow_array(t->plan, t->plans, sizeof(struct plan *));
	t->at = grow_array(t->at, t->plans, sizeof *t->at);
	t->class_of = grow_array(t->class_of, t->plans, sizeof(uint32_t *));
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
void make_plans(struct reader *r)
{
	uint32_t i = 0;

	qsort(r->change, r->changes, sizeof *r->change, change_order);
	for (uint32_t t = 0; t < r->s->trees; t++) {
		struct draft d = {.head = {.burst_ns = NSEC_PER_MSEC, .mtu_wire = 1514}};

		d.cls = grow_array(NULL, 0, sizeof *d.cls);
		d.parent = grow_array(NULL, 0, sizeof *d.parent);
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

void statement_class(struct reader *r)
{
	char n[CLASS_NAME_MAX];

	if (!r->s->trees)
		wrong(r, "a class before any tree");
	read_name(r, n, "the class");
	class_known(r, r->s->trees - 1, n);
	keep_change(r, r->s->trees - 1, 0);
}

// at TIME tree|class|remove ..., of the newest tree
void statement_at(struct reader *r)
{
	nsec_t at = read_time(r, next_word(r, "a time"));
	char n[CLASS_NAME_MAX];
	uint32_t tree = r->s->trees - 1;

	if (!r->s->trees)
		wrong(r, "a change before any tree");
	if (!at)
		wrong(r, "a change at 0s, allowed is any time above: write the first plan so");
	if (accept_word(r, "tree")) {
		if (strcmp(next_word(r, "the tree's name"), r->s->tree[tree].name))
			wrong(r, "only the newest tree, \"%s\", can be changed here", r->s->tree[tree].name);
	} else if (accept_word(r, "class")) {
		read_name(r, n, "the class");
		class_known(r, tree, n);
	} else if (!accept_word(r, "remove")) {
		wrong(r, "\"%s\" is not understood, allowed tree, class, remove", next_word(r, "a change"));
	}
	keep_change(r, tree, at);
}
