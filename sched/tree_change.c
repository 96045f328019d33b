// SPDX-License-Identifier: GPL-2.0-or-later
// From one plan to the next without a rest. Both plans are described in the tree's terms (class_specs) and compared by
// class id; what differs becomes a list of actions, in an order in which each finds what it needs:
//   grow    an inner class gets room for its new children
//   split   a leaf becomes an inner class: its packets are lost
//   add     new classes
//   update  classes with another parent, curve or queue, parents first; one that runs is parked, changed, let in again
//   remove  children before parents; among them inner classes that become leaves
// The comparison runs in the control thread and needs no tree; applying allocates nothing and touches no other class.
//
// A class that goes leaves its packets in the tree's grave, from where tree_maintain frees them a slice at a time.
#include <stdlib.h>
#include <string.h>

#include "sched/hfsc.h"
#include "sched/leaf.h"

enum step { STEP_GROW, STEP_SPLIT, STEP_ADD, STEP_UPDATE, STEP_REMOVE };

struct action {
	uint32_t step;  // enum step
	uint32_t order; // within the step
	struct class_spec spec;
	bool stays;       // STEP_REMOVE: it is a leaf of the next plan
	struct node room; // the queue of an inner class that grows or comes; after applying: what to free
};

struct tree_change {
	const struct plan *next;
	uint32_t actions, capacity;
	struct action *action;
	bool failed; // out of memory while building
};

// --- comparing -------------------------------------------------------------------------------------------------

struct side {
	const struct plan *plan;
	struct class_spec *spec;
	uint32_t *index; // by id: index + 1, 0: no such class
	uint32_t *depth; // by index
};

static bool side_init(struct side *s, const struct plan *p, uint32_t ids)
{
	s->plan = p;
	s->spec = class_specs(p);
	s->index = calloc(ids, sizeof *s->index);
	s->depth = calloc(p->classes, sizeof *s->depth);
	if (!s->spec || !s->index || !s->depth)
		return false;
	for (uint32_t i = 0; i < p->classes; i++) {
		s->index[p->cls[i].id] = i + 1;
		for (uint32_t c = i; c && s->depth[i] <= CLASS_DEPTH_MAX; c = p->cls[c].parent)
			s->depth[i]++;
	}
	return true;
}

static void side_free(struct side *s)
{
	free(s->spec);
	free(s->index);
	free(s->depth);
}

static struct action *action_add(struct tree_change *c, enum step step, uint32_t order, const struct class_spec *spec)
{
	struct action *a;

	if (c->actions == c->capacity) {
		uint32_t capacity = c->capacity ? 2 * c->capacity : 16;

		a = realloc(c->action, capacity * sizeof *a);
		if (!a) {
			c->failed = true;
			return NULL;
		}
		c->action = a;
		c->capacity = capacity;
	}
	a = &c->action[c->actions++];
	*a = (struct action){.step = step, .order = order, .spec = *spec};
	return a;
}

static void action_with_room(struct tree_change *c, enum step step, uint32_t order, const struct class_spec *spec,
			     uint32_t children)
{
	struct action *a = action_add(c, step, order, spec);

	if (a && spec->inner && !node_init(&a->room, children))
		c->failed = true;
}

// Same class for the running tree, whatever hangs below it.
static bool same_class(const struct class_spec *a, const struct class_spec *b)
{
	struct class_spec copy = *a;

	copy.children = b->children;
	return !memcmp(&copy, b, sizeof copy);
}

// Inner classes of both plans that get a child which they did not have need room for old and new ones together.
static void mark_grown(const struct side *prev, const struct side *next, uint8_t *grown)
{
	for (uint32_t i = 1; i < next->plan->classes; i++) {
		const struct class_spec *s = &next->spec[i];
		uint32_t before = prev->index[s->id];

		if (!before || prev->spec[before - 1].parent != s->parent)
			grown[s->parent] = 1;
	}
}

// Order of removal: what was deepest goes first.
static uint32_t leaf_first(const struct side *prev, uint32_t id)
{
	return CLASS_DEPTH_MAX + 1 - prev->depth[prev->index[id] - 1];
}

static void compare(struct tree_change *c, const struct side *prev, const struct side *next, const uint8_t *grown)
{
	for (uint32_t i = 0; i < next->plan->classes; i++) {
		const struct class_spec *now = &next->spec[i], *was;

		if (!prev->index[now->id]) {
			action_with_room(c, STEP_ADD, next->depth[i], now, now->children);
			continue;
		}
		was = &prev->spec[prev->index[now->id] - 1];
		if (now->inner && !was->inner) {
			action_with_room(c, STEP_SPLIT, 0, now, now->children);
			continue;
		}
		if (was->inner && !now->inner) {
			struct action *a = action_add(c, STEP_REMOVE, leaf_first(prev, now->id), now);

			if (a)
				a->stays = true;
			continue;
		}
		if (now->inner && grown[now->id])
			action_with_room(c, STEP_GROW, 0, now, now->children + was->children);
		if (!same_class(now, was))
			action_add(c, STEP_UPDATE, next->depth[i], now);
	}
	for (uint32_t i = 0; i < prev->plan->classes; i++)
		if (!next->index[prev->spec[i].id])
			action_add(c, STEP_REMOVE, leaf_first(prev, prev->spec[i].id), &prev->spec[i]);
}

static int action_order(const void *va, const void *vb)
{
	const struct action *a = va, *b = vb;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return a->spec.id < b->spec.id ? -1 : a->spec.id > b->spec.id;
}

struct tree_change *tree_change_new(const struct plan *prev, const struct plan *next)
{
	uint32_t ids = prev->id_limit > next->id_limit ? prev->id_limit : next->id_limit;
	struct tree_change *c = calloc(1, sizeof *c);
	uint8_t *grown = calloc(ids, 1);
	struct side before = {0}, after = {0};

	if (c && grown && side_init(&before, prev, ids) && side_init(&after, next, ids)) {
		c->next = next;
		mark_grown(&before, &after, grown);
		compare(c, &before, &after, grown);
		if (c->actions)
			qsort(c->action, c->actions, sizeof *c->action, action_order);
	} else if (c) {
		c->failed = true;
	}
	if (c && c->failed) {
		tree_change_free(c);
		c = NULL;
	}
	side_free(&before);
	side_free(&after);
	free(grown);
	return c;
}

uint32_t tree_change_actions(const struct tree_change *c)
{
	return c->actions;
}

void tree_change_free(struct tree_change *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->actions; i++)
		free(c->action[i].room.heap.memory);
	free(c->action);
	free(c);
}

// --- applying --------------------------------------------------------------------------------------------------

static void park(struct tree *t, uint32_t slot, nsec_t at)
{
	t->cls[slot].flags |= C_PARKED;
	class_sync(t, slot, 0, at);
}

static void unpark(struct tree *t, uint32_t slot, nsec_t at)
{
	t->cls[slot].flags &= (uint16_t)~C_PARKED;
	class_sync(t, slot, 0, at);
}

static void bury(struct tree *t, uint32_t slot)
{
	struct class *c = &t->cls[slot];
	struct class_stats *st = class_stats_of(t, c);

	counter_add(&st->drop_reconfigured, c->packets);
	t->grave_bytes += c->bytes;
	leaf_drain(t, slot, &t->grave);
}

// The record goes, if there is one; an inner class has none below it any more.
static void end_record(struct tree *t, uint32_t id, nsec_t at)
{
	uint32_t slot = t->slot_of[id];

	if (!slot)
		return;
	if (!(t->cls[slot].flags & C_INNER))
		bury(t, slot);
	class_sync(t, slot, 0, at);
	if (slot != ROOT_SLOT)
		class_close(t, slot);
}

// The old queue's memory stays in the action, for tree_change_free.
static void swap_node(struct tree *t, struct action *a)
{
	struct node *n = &t->node[a->spec.id], old = *n;

	memcpy(a->room.heap.key, n->heap.key, n->heap.n * sizeof *n->heap.key);
	a->room.heap.n = n->heap.n;
	a->room.vtmin = n->vtmin;
	a->room.vtmax = n->vtmax;
	*n = a->room;
	a->room = old;
}

static void enter_node(struct tree *t, struct action *a)
{
	t->node[a->spec.id] = a->room;
	a->room = (struct node){0};
}

static void remove_class(struct tree *t, struct action *a, nsec_t at)
{
	uint32_t id = a->spec.id;

	end_record(t, id, at);
	if (t->plan[id].inner)
		a->room = t->node[id];
	t->node[id] = (struct node){0};
	class_unconfigure(t, id);
	if (!a->stays)
		return;
	class_configure(t, &a->spec);
	if (t->slot_of[id]) // the root's record stays, with another nature
		class_refresh(t, t->slot_of[id]);
}

static void split_class(struct tree *t, struct action *a, nsec_t at)
{
	uint32_t id = a->spec.id;

	end_record(t, id, at);
	enter_node(t, a);
	class_configure(t, &a->spec);
	if (t->slot_of[id])
		class_refresh(t, t->slot_of[id]);
}

static void move_record(struct tree *t, uint32_t slot, uint32_t parent_id, nsec_t at)
{
	struct class *c = &t->cls[slot];
	uint32_t parent = class_open(t, parent_id, at);

	if (parent == c->parent)
		return;
	t->cls[c->parent].children--;
	t->cls[parent].children++;
	c->parent = parent;
	c->ls.x = t->node[parent_id].vtmin; // virtual times of two parents have nothing in common
	c->ls.frac = 0;
}

static void requeue(struct tree *t, uint32_t slot, struct pkt_list *list, struct pkt_list *freed)
{
	uint32_t i;

	while ((i = pkt_list_take(list, t->pkt)) != PKT_NONE)
		leaf_enqueue(t, slot, i, freed);
}

static bool same_place(const struct class_plan *a, const struct class_plan *b)
{
	return a->parent == b->parent && a->rt == b->rt && a->ls == b->ls && a->ul == b->ul && a->kind == b->kind;
}

static void update_class(struct tree *t, const struct class_spec *spec, nsec_t at, struct pkt_list *freed)
{
	uint32_t slot = t->slot_of[spec->id];
	struct class_plan old = t->plan[spec->id];
	const struct class_plan *new = &t->plan[spec->id];
	struct pkt_list list = {0};
	struct class *c = &t->cls[slot];

	class_configure(t, spec);
	if (!slot)
		return;
	if (same_place(&old, new)) { // its queue's settings alone
		class_refresh(t, slot);
		return;
	}
	park(t, slot, at);
	if (old.kind != new->kind)
		leaf_drain(t, slot, &list);
	if (slot != ROOT_SLOT)
		move_record(t, slot, spec->parent, at);
	class_refresh(t, slot);
	hfsc_recurve(t, c,
		     (old.rt != new->rt ? C_RT : 0) | (old.ls != new->ls ? C_LS : 0) | (old.ul != new->ul ? C_UL : 0),
		     at);
	requeue(t, slot, &list, freed);
	unpark(t, slot, at);
}

void tree_change_apply(struct tree *t, struct tree_change *c, nsec_t now, struct pkt_list *freed)
{
	nsec_t at = time_later(t->clock, now);

	for (uint32_t i = 0; i < c->actions; i++) {
		struct action *a = &c->action[i];

		switch ((enum step)a->step) {
		case STEP_GROW:
			swap_node(t, a);
			break;
		case STEP_SPLIT:
			split_class(t, a, at);
			break;
		case STEP_ADD:
			if (a->spec.inner)
				enter_node(t, a);
			class_configure(t, &a->spec);
			break;
		case STEP_UPDATE:
			update_class(t, &a->spec, at, freed);
			break;
		case STEP_REMOVE:
			remove_class(t, a, at);
			break;
		}
	}
	tree_link(t, c->next);
}
