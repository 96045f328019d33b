// SPDX-License-Identifier: GPL-2.0-or-later
// Class records: what the plan says of a class, and the record it has while it runs.
#include <stdlib.h>
#include <string.h>

#include "sched/hfsc.h"
#include "sched/leaf.h"

// A target that follows from the class's rate moves a little with every rate beside it. It is rounded up to eight steps
// an octave, so that a change of one class does not reach all its siblings.
static nsec_t target_of(const struct plan *p, uint32_t cls, uint64_t rate)
{
	nsec_t target = plan_codel_target_at(p, cls, rate), step;

	if (target == p->cls[cls].leaf.target_ns || target < 16)
		return target;
	step = 1ull << (60 - __builtin_clzll(target));
	return (target + step - 1) & ~(step - 1);
}

static void queue_describe(struct queue_conf *q, const struct plan *p, uint32_t cls, uint64_t rate)
{
	const struct leaf_conf *l = &p->cls[cls].leaf;

	q->kind = l->kind;
	q->limit = l->limit_packets;
	if (l->kind != LEAF_FQ_CODEL)
		return;
	if (l->limit_frames < q->limit) // a packet is a frame
		q->limit = l->limit_frames;
	q->quantum = l->quantum ? l->quantum : 1;
	q->codel = (struct codel_conf){.target = target_of(p, cls, rate),
				       .interval = l->interval_ns,
				       .ce_threshold = l->ce_threshold_ns,
				       .mtu = p->mtu_wire,
				       .ecn = l->ecn};
	// RFC 8289: the interval covers a round trip, and a target near it would never be exceeded for one.
	if (q->codel.interval < q->codel.target)
		q->codel.interval = q->codel.target;
	q->watch = q->codel.target;
	if (q->codel.ce_threshold < q->watch)
		q->watch = q->codel.ce_threshold + 1;
}

struct class_spec *class_specs(const struct plan *p)
{
	struct class_spec *spec = calloc(p->classes, sizeof *spec);
	uint64_t *rate = calloc(p->classes, sizeof *rate);

	if (!spec || !rate || !plan_class_rates(p, rate)) {
		free(spec);
		free(rate);
		return NULL;
	}
	for (uint32_t i = 0; i < p->classes; i++) {
		const struct class_conf *c = &p->cls[i];

		spec[i].id = c->id;
		spec[i].parent = p->cls[c->parent].id;
		spec[i].inner = c->leaf.kind == LEAF_NONE;
		service_make(&spec[i].ls, &c->ls);
		service_make(&spec[i].ul, &c->ul);
		if (!spec[i].inner) {
			service_make(&spec[i].rt, &c->rt);
			queue_describe(&spec[i].queue, p, i, rate[i]);
		}
		if (i)
			spec[c->parent].children++;
	}
	free(rate);
	return spec;
}

void class_configure(struct tree *t, const struct class_spec *spec)
{
	struct class_plan *p = &t->plan[spec->id];
	struct class_plan old = *p;

	*p = (struct class_plan){
		.parent = spec->parent,
		.rt = intern_take(&t->services, &spec->rt),
		.ls = intern_take(&t->services, &spec->ls),
		.ul = intern_take(&t->services, &spec->ul),
		.queue = intern_take(&t->queues, &spec->queue),
		.present = 1,
		.inner = (uint8_t)spec->inner,
		.kind = (uint8_t)spec->queue.kind,
	};
	intern_drop(&t->services, old.rt);
	intern_drop(&t->services, old.ls);
	intern_drop(&t->services, old.ul);
	intern_drop(&t->queues, old.queue);
}

void class_unconfigure(struct tree *t, uint32_t id)
{
	struct class_plan *p = &t->plan[id];

	intern_drop(&t->services, p->rt);
	intern_drop(&t->services, p->ls);
	intern_drop(&t->services, p->ul);
	intern_drop(&t->queues, p->queue);
	*p = (struct class_plan){0};
}

void class_refresh(struct tree *t, uint32_t slot)
{
	struct class *c = &t->cls[slot];
	const struct class_plan *p = &t->plan[c->id];
	uint16_t flags = c->flags & (uint16_t) ~(C_INNER | C_RT | C_LS | C_UL | C_BENT);

	flags |= (p->inner ? C_INNER : 0) | (p->rt ? C_RT : 0) | (p->ls ? C_LS : 0) | (p->ul ? C_UL : 0);
	flags |= t->service[p->ls].first ? C_BENT : 0;
	c->flags = flags;
	c->kind = p->kind;
	c->queue = p->queue;
	c->rt_service = p->rt;
	c->ls_service = p->ls;
	c->ul_service = p->ul;
	c->ls_slope = t->service[p->ls].ns2;
}

static uint32_t slot_take(struct tree *t)
{
	uint32_t slot = t->slot_free;

	if (slot)
		t->slot_free = t->cls[slot].parent;
	else
		slot = t->slot_top++;
	assert(slot < t->slots);
	return slot;
}

static uint32_t record_new(struct tree *t, uint32_t id, uint32_t parent, nsec_t at)
{
	uint32_t slot = slot_take(t);
	struct class *c = &t->cls[slot];

	memset(c, 0, sizeof *c);
	c->id = id;
	c->flags = C_LIVE;
	c->parent = parent;
	t->slot_of[id] = slot;
	class_refresh(t, slot);
	hfsc_begin(t, c, at);
	if (parent)
		t->cls[parent].children++;
	return slot;
}

uint32_t class_open(struct tree *t, uint32_t id, nsec_t at)
{
	uint32_t path[CLASS_DEPTH_MAX + 1];
	uint32_t depth = 0, slot;

	while (!t->slot_of[id] && id != t->root_id && depth < ARRAY_LEN(path)) {
		path[depth++] = id;
		id = t->plan[id].parent;
	}
	slot = t->slot_of[id];
	if (!slot)
		slot = record_new(t, id, SLOT_NONE, at); // the root, in ROOT_SLOT as the first of all
	while (depth--)
		slot = record_new(t, path[depth], slot, at);
	return slot;
}

void class_close(struct tree *t, uint32_t slot)
{
	struct class *c = &t->cls[slot];

	t->slot_of[c->id] = SLOT_NONE;
	t->cls[c->parent].children--;
	c->flags = 0;
	c->parent = t->slot_free;
	t->slot_free = slot;
}

bool class_forgettable(struct tree *t, uint32_t slot, nsec_t now)
{
	struct class *c = &t->cls[slot];

	if (slot == ROOT_SLOT || !(c->flags & C_LIVE) || class_active(t, c) || c->children)
		return false;
	return hfsc_forgettable(t, c, now) && (c->flags & C_INNER || leaf_forgettable(t, slot, now));
}

void class_refat(struct tree *t, uint32_t slot, uint32_t bucket)
{
	struct class *c = &t->cls[slot];

	if (bucket == c->fat)
		return;
	if (c->fat) {
		if (c->fat_prev)
			t->cls[c->fat_prev].fat_next = c->fat_next;
		else
			t->fat_head[c->fat] = c->fat_next;
		if (c->fat_next)
			t->cls[c->fat_next].fat_prev = c->fat_prev;
		if (!t->fat_head[c->fat])
			t->fat_mask &= ~(1u << c->fat);
	}
	c->fat = (uint8_t)bucket;
	if (!bucket)
		return;
	c->fat_prev = 0;
	c->fat_next = t->fat_head[bucket];
	if (c->fat_next)
		t->cls[c->fat_next].fat_prev = slot;
	t->fat_head[bucket] = slot;
	t->fat_mask |= 1u << bucket;
}
