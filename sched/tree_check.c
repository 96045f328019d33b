// SPDX-License-Identifier: GPL-2.0-or-later
// Every invariant of a running tree, checked the slow way. Tests and fuzzers run it after each operation; its words are
// those of tree.h.
#include "sched/hfsc.h"
#include "sched/leaf.h"

static const char *check_heap(const struct tree *t, const struct heap *h, const uint32_t *pos, uint16_t flag)
{
	for (uint32_t i = 0; i < h->n; i++) {
		uint32_t slot = heap_slot(h->key[i]);

		if (i && heap_less(h->key[i], h->key[(i - 1) / 4]))
			return "heap order";
		if (slot >= t->slot_top || !(t->cls[slot].flags & C_LIVE))
			return "heap holds a class without record";
		if (pos[slot] != i)
			return "place of a heap's member";
		if (!(t->cls[slot].flags & flag))
			return "heap holds a class that does not belong there";
	}
	return NULL;
}

// Of all records: what hangs below each inner class, and sums.
struct tally {
	uint32_t packets, queued, waiting, eligible, later, children;
	uint64_t bytes;
};

static const char *check_place(const struct tree *t, uint32_t slot)
{
	const struct class *c = &t->cls[slot];
	bool active = class_active(t, c);
	bool in_ls = c->flags & (C_QUEUED | C_WAITING), in_rt = c->flags & (C_LATER | C_ELIGIBLE);

	if ((c->flags & C_QUEUED && c->flags & C_WAITING) || (c->flags & C_LATER && c->flags & C_ELIGIBLE))
		return "class in two heaps of a kind";
	if (slot == ROOT_SLOT)
		return in_ls || in_rt ? "the root is in a heap" : NULL;
	if (in_ls != (active && c->flags & C_LS))
		return active ? "active class not queued for link-sharing" : "idle class queued for link-sharing";
	if (in_rt != (active && c->flags & C_RT))
		return active ? "active leaf in neither real-time heap" : "idle leaf in a real-time heap";
	if (c->flags & C_QUEUED) {
		const struct node *n = node_of(t, c->parent);

		if (n->heap.key[t->pos_ls[slot]] != heap_key(c->ls.x, slot))
			return "key is not the virtual time";
		if (time_before(c->ls.x, n->vtmin))
			return "queued class behind its parent's virtual time";
	}
	if (in_rt && c->d_head != c->head)
		return "deadline of another packet";
	return NULL;
}

static const char *check_class(const struct tree *t, uint32_t slot, struct tally *sum)
{
	const struct class *c = &t->cls[slot];
	const struct class_plan *p = &t->plan[c->id];
	const char *problem = check_place(t, slot);

	if (problem)
		return problem;
	if (!p->present || t->slot_of[c->id] != slot)
		return "record of a class that the plan does not have";
	if (slot != ROOT_SLOT && (!(t->cls[c->parent].flags & C_LIVE) || t->cls[c->parent].id != p->parent))
		return "record under the wrong parent";
	if (c->flags & C_PARKED)
		return "class left parked";
	sum->queued += c->flags & C_QUEUED ? 1 : 0;
	sum->waiting += c->flags & C_WAITING ? 1 : 0;
	sum->eligible += c->flags & C_ELIGIBLE ? 1 : 0;
	sum->later += c->flags & C_LATER ? 1 : 0;
	sum->packets += c->packets;
	sum->bytes += c->bytes;
	if (c->flags & C_INNER) {
		sum->children += t->node[c->id].heap.n;
		return check_heap(t, &t->node[c->id].heap, t->pos_ls, C_QUEUED);
	}
	return leaf_check(t, slot);
}

// The classes in a bucket of the shedding order belong there; their number.
static const char *check_fat(const struct tree *t, uint32_t bucket, uint32_t *classes)
{
	uint32_t prev = 0;

	if (!(t->fat_mask & 1u << bucket) != !t->fat_head[bucket])
		return "mask of shedding buckets";
	for (uint32_t slot = t->fat_head[bucket]; slot; slot = t->cls[slot].fat_next) {
		const struct class *c = &t->cls[slot];

		if (++*classes > t->slot_top)
			return "cycle in a shedding bucket";
		if (c->fat != bucket || c->fat_prev != prev || !(c->flags & C_LIVE))
			return "shedding bucket";
		if (bucket < FAT_BUCKETS - 1 && c->bytes >> FAT_SHIFT >> (bucket - 1) != 1)
			return "class in the wrong shedding bucket";
		prev = slot;
	}
	return NULL;
}

static const char *check_counts(const struct tree *t, const struct tally *sum, uint32_t fat)
{
	uint32_t listed = 0;
	const char *problem = NULL;

	for (uint32_t b = 1; b < FAT_BUCKETS && !problem; b++)
		problem = check_fat(t, b, &listed);
	if (problem)
		return problem;
	if (listed != fat)
		return "class missing in the shedding order";
	if (sum->packets != t->packets || sum->bytes != t->bytes)
		return "backlog of the tree is not the sum of its leaves";
	if (sum->queued != sum->children)
		return "queued classes and members of heaps differ";
	if (sum->waiting != t->waiting.n || sum->eligible != t->eligible.n || sum->later != t->ineligible.n)
		return "classes and members of the tree's heaps differ";
	return NULL;
}

const char *tree_check(const struct tree *t)
{
	struct tally sum = {0};
	uint32_t fat = 0;
	const char *problem = check_heap(t, &t->waiting, t->pos_ls, C_WAITING);

	if (!problem)
		problem = check_heap(t, &t->eligible, t->pos_rt, C_ELIGIBLE);
	if (!problem)
		problem = check_heap(t, &t->ineligible, t->pos_rt, C_LATER);
	for (uint32_t slot = ROOT_SLOT; slot < t->slot_top && !problem; slot++) {
		uint32_t children = 0;

		if (!(t->cls[slot].flags & C_LIVE))
			continue;
		problem = check_class(t, slot, &sum);
		fat += t->cls[slot].fat != 0;
		for (uint32_t s = ROOT_SLOT + 1; t->cls[slot].flags & C_INNER && s < t->slot_top; s++)
			children += t->cls[s].flags & C_LIVE && t->cls[s].parent == slot;
		if (children != t->cls[slot].children)
			problem = "count of child records";
	}
	return problem ? problem : check_counts(t, &sum, fat);
}
