// SPDX-License-Identifier: GPL-2.0-or-later
// Statistics as an engine would leave them: two ports, and the shaper "up" with classes on the second one.
#ifndef TESTS_UNIT_STATS_WORLD_H
#define TESTS_UNIT_STATS_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/stats.h"

static void put_class(struct stats *s, uint32_t index, uint32_t shaper, const char *name, uint32_t parent,
		      uint32_t leaf)
{
	struct stats_class *c = &s->class_info[index];

	snprintf(c->name, sizeof c->name, "%s", name);
	c->shaper = shaper;
	c->parent_id = parent;
	c->leaf_kind = leaf;
}

static void send_packets(struct stats *s, uint32_t index, uint64_t packets, uint64_t bytes, nsec_t delay)
{
	struct class_stats *k = &s->class_stats[index];

	counter_add(&k->enq_packets, packets);
	counter_add(&k->enq_bytes, packets * bytes);
	counter_add(&k->sent_packets, packets);
	counter_add(&k->sent_bytes, packets * bytes);
	counter_add(&k->delay[delay_bucket(delay)], packets);
}

enum { UP_FIRST = STATS_CLASSES_MAX / 2 };

// `leaves` leaf classes c0, c1, ... below the inner class "staff" (id 1), itself below the root.
static struct stats *stats_world(uint32_t leaves)
{
	struct stats *s;
	int fd = stats_create(NULL, &s);

	if (fd < 0)
		abort();
	s->ports = s->shapers = 2;
	s->workers = 1;
	s->queues = 2;
	for (uint32_t p = 0; p < 2; p++) {
		snprintf(s->port[p].name, sizeof s->port[p].name, p ? "wan" : "lan");
		snprintf(s->port[p].device, sizeof s->port[p].device, "eth%u", p);
		counter_set(&s->port[p].up, 1);
		snprintf(s->queue[p].device, sizeof s->queue[p].device, "eth%u", p);
		s->queue[p].port = (uint16_t)p;
		s->queue[p].mode = MODE_COPY;
		s->queue[p].used = 1;
		snprintf(s->shaper[p].name, sizeof s->shaper[p].name, p ? "up" : "lan");
		s->shaper[p].port = p;
		s->shaper[p].first_class = p * UP_FIRST;
	}
	s->shaper[0].id_limit = 1;
	put_class(s, 0, 0, "root", 0, LEAF_FQ_CODEL);
	s->shaper[1].id_limit = leaves + 2;
	counter_set(&s->shaper[1].rate_bps, 95000000);
	put_class(s, UP_FIRST, 1, "root", 0, LEAF_NONE);
	put_class(s, UP_FIRST + 1, 1, "staff", 0, LEAF_NONE);
	for (uint32_t i = 0; i < leaves; i++) {
		char name[16];

		snprintf(name, sizeof name, "c%u", i);
		put_class(s, UP_FIRST + 2 + i, 1, name, 1, LEAF_FQ_CODEL);
		s->class_info[UP_FIRST + 2 + i].ls_bps = 1000000 + i;
	}
	s->class_info[UP_FIRST + 2].is_default = 1;
	return s;
}

#endif
