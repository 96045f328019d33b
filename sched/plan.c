// SPDX-License-Identifier: GPL-2.0-or-later
// Plans: making them, the rates their classes can count on, and class ids from one revision to the next. The checks
// are in plan_check.c; what is here must be safe on plans that failed them, too, and is n log n at most: trees of
// 200,000 classes are real.
#include "sched/plan_sums.h"

#include <stdlib.h>
#include <string.h>

enum { RETIRED_FOR = 3 }; // an id rests for the revision that drops it and two further ones

struct plan *plan_new(uint32_t classes)
{
	struct plan *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->classes = p->id_limit = classes;
	p->cls = calloc(classes ? classes : 1, sizeof *p->cls);
	p->id_free_at = calloc(classes ? classes : 1, sizeof *p->id_free_at);
	if (!p->cls || !p->id_free_at) {
		plan_free(p);
		return NULL;
	}
	for (uint32_t i = 0; i < classes; i++)
		p->cls[i].id = i;
	return p;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	free(p->cls);
	free(p->id_free_at);
	free(p);
}

uint32_t plan_find(const struct plan *p, const char *name)
{
	for (uint32_t i = 0; i < p->classes; i++)
		if (!strncmp(p->cls[i].name, name, CLASS_NAME_MAX))
			return i;
	return UINT32_MAX;
}

// --- names -----------------------------------------------------------------------------------------------------
static uint64_t name_hash(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull; // FNV-1a; collisions only cost a comparison

	for (size_t i = 0; i < CLASS_NAME_MAX && name[i]; i++)
		h = (h ^ (uint8_t)name[i]) * 0x100000001b3ull;
	return h;
}

int name_order(const struct named *a, const struct named *b)
{
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return strncmp(a->name, b->name, CLASS_NAME_MAX);
}

static int named_compare(const void *va, const void *vb)
{
	const struct named *a = va, *b = vb;
	int order = name_order(a, b);

	return order ? order : (a->cls > b->cls) - (a->cls < b->cls);
}

struct named *names_sorted(const struct plan *p)
{
	struct named *n = malloc((p->classes ? p->classes : 1) * sizeof *n);

	if (!n)
		return NULL;
	for (uint32_t i = 0; i < p->classes; i++)
		n[i] = (struct named){name_hash(p->cls[i].name), p->cls[i].name, i};
	qsort(n, p->classes, sizeof *n, named_compare);
	return n;
}

// --- rates a class can count on --------------------------------------------------------------------------------

static uint64_t capped_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t share_of(const struct plan *p, uint32_t i, uint64_t parent_rate, uint64_t siblings_ls)
{
	const struct class_conf *c = &p->cls[i];
	uint64_t rate = 0;

	if (curve_present(&c->ls) && siblings_ls)
		rate = (uint64_t)((u128)parent_rate * c->ls.m2_bps / siblings_ls);
	if (curve_present(&c->ul) && rate > c->ul.m2_bps)
		rate = c->ul.m2_bps;
	return rate;
}

static uint64_t root_rate(const struct plan *p)
{
	return p->rate_bps ? p->rate_bps : RATE_MAX_BPS;
}

uint64_t plan_class_rate(const struct plan *p, uint32_t cls)
{
	uint32_t path[CLASS_DEPTH_MAX];
	uint32_t depth = 0;
	uint64_t rate = root_rate(p);

	for (uint32_t c = cls; c != 0; c = p->cls[c].parent) {
		if (c >= p->classes || depth == CLASS_DEPTH_MAX)
			return 0; // not a checked plan
		path[depth++] = c;
	}
	while (depth--) {
		uint32_t parent = p->cls[path[depth]].parent;
		uint64_t siblings = 0;

		for (uint32_t i = 1; i < p->classes; i++)
			if (p->cls[i].parent == parent)
				siblings = capped_add(siblings, p->cls[i].ls.m2_bps);
		rate = share_of(p, path[depth], rate, siblings);
	}
	return cls && rate < p->cls[cls].rt.m2_bps ? p->cls[cls].rt.m2_bps : rate;
}

bool ls_shares(const struct plan *p, uint64_t *share)
{
	uint64_t *siblings = calloc(p->classes ? p->classes : 1, sizeof *siblings);
	uint32_t path[CLASS_DEPTH_MAX];

	if (!siblings)
		return false;
	for (uint32_t i = 1; i < p->classes; i++)
		if (p->cls[i].parent < p->classes)
			siblings[p->cls[i].parent] = capped_add(siblings[p->cls[i].parent], p->cls[i].ls.m2_bps);
	for (uint32_t i = 0; i < p->classes; i++) {
		uint64_t rate = root_rate(p);
		uint32_t depth = 0, c = i;

		while (c != 0 && c < p->classes && depth < CLASS_DEPTH_MAX) {
			path[depth++] = c;
			c = p->cls[c].parent;
		}
		if (c != 0)
			rate = depth = 0;
		while (depth--)
			rate = share_of(p, path[depth], rate, siblings[p->cls[path[depth]].parent]);
		share[i] = rate;
	}
	free(siblings);
	return true;
}

bool plan_class_rates(const struct plan *p, uint64_t *rate)
{
	if (!ls_shares(p, rate))
		return false;
	for (uint32_t i = 1; i < p->classes; i++)
		if (rate[i] < p->cls[i].rt.m2_bps)
			rate[i] = p->cls[i].rt.m2_bps;
	return true;
}

nsec_t plan_codel_target_at(const struct plan *p, uint32_t cls, uint64_t rate_bps)
{
	nsec_t target = p->cls[cls].leaf.target_ns, least;

	if (!rate_bps)
		return target;
	least = bytes_to_ns((uint64_t)p->mtu_wire * 3, rate_bps * 2);
	return target < least ? least : target;
}

nsec_t plan_codel_target(const struct plan *p, uint32_t cls)
{
	return plan_codel_target_at(p, cls, plan_class_rate(p, cls));
}

// --- ids -------------------------------------------------------------------------------------------------------

// Gives the classes of `next` that are in `prev` too their ids, and marks those ids in use (free_at 0). Both lists
// are sorted by name, so one pass over them pairs them; of a name used twice only the first gets the id.
static void inherit_ids(struct plan *next, const struct plan *prev, const struct named *to, const struct named *from,
			bool *fresh, uint64_t *free_at)
{
	uint32_t f = 0;

	for (uint32_t t = 0; t < next->classes; t++) {
		while (f < prev->classes && name_order(&from[f], &to[t]) < 0)
			f++;
		fresh[to[t].cls] = true;
		if (f < prev->classes && name_order(&from[f], &to[t]) == 0) {
			uint32_t id = prev->cls[from[f++].cls].id;

			next->cls[to[t].cls].id = id;
			free_at[id] = 0;
			fresh[to[t].cls] = false;
		}
	}
}

bool plan_carry_ids(struct plan *next, const struct plan *prev)
{
	struct named *to, *from;
	uint64_t *free_at;
	bool *fresh;
	uint32_t limit, id = 0;
	bool ok = false;

	if (!prev)
		return true; // plan_new numbered them
	next->id_stamp = prev->id_stamp + 1;
	to = names_sorted(next);
	from = names_sorted(prev);
	fresh = calloc(next->classes ? next->classes : 1, sizeof *fresh);
	free_at = calloc((size_t)prev->id_limit + next->classes + 1, sizeof *free_at);
	if (!to || !from || !fresh || !free_at)
		goto out;

	memcpy(free_at, prev->id_free_at, prev->id_limit * sizeof *free_at);
	for (uint32_t i = 0; i < prev->classes; i++)
		free_at[prev->cls[i].id] = next->id_stamp + RETIRED_FOR;
	inherit_ids(next, prev, to, from, fresh, free_at);
	// An id that prev did not use and that is not waiting has 0 too; only those that were retired are looked for.
	limit = prev->id_limit;
	for (uint32_t i = 0; i < next->classes; i++) {
		if (!fresh[i])
			continue;
		while (id < prev->id_limit && !(free_at[id] && free_at[id] <= next->id_stamp))
			id++;
		next->cls[i].id = id < prev->id_limit ? id : limit++;
		free_at[next->cls[i].id] = 0;
	}
	free(next->id_free_at);
	next->id_free_at = free_at;
	next->id_limit = limit;
	free_at = NULL;
	ok = true;
out:
	free(to);
	free(from);
	free(fresh);
	free(free_at);
	return ok;
}
