// SPDX-License-Identifier: GPL-2.0-or-later
// The region is written by the engine, which handles packets of strangers: its counts and indices are cut to what the
// region can hold before they are used. Counters are single words; a sum over several is as exact as a moment allows.
#include "mgmt/stats_view.h"

#include <time.h>

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

uint32_t view_workers(const struct stats *s)
{
	return at_most(s->workers, WORKERS_MAX);
}

uint32_t view_ports(const struct stats *s)
{
	return at_most(s->ports, PORTS_MAX);
}

uint32_t view_shapers(const struct stats *s)
{
	return at_most(s->shapers, PORTS_MAX);
}

static uint32_t view_queues(const struct stats *s)
{
	return at_most(s->queues, STATS_QUEUES_MAX);
}

uint32_t view_ids(const struct stats *s, uint32_t shaper, uint32_t *first)
{
	*first = s->shaper[shaper].first_class;
	if (*first >= STATS_CLASSES_MAX)
		*first = STATS_CLASSES_MAX;
	return at_most(s->shaper[shaper].id_limit, STATS_CLASSES_MAX - *first);
}

bool view_is_shaper(const struct stats *s, uint32_t shaper)
{
	uint32_t first;

	return view_ids(s, shaper, &first) && s->class_info[first].name[0] &&
	       s->class_info[first].leaf_kind == LEAF_NONE;
}

bool view_is_class(const struct stats_class *c, uint32_t id)
{
	return c->name[0] && (id || c->leaf_kind != LEAF_NONE);
}

bool view_queue_of(const struct stats *s, uint32_t queue, uint32_t port)
{
	return queue < view_queues(s) && s->queue[queue].used && s->queue[queue].port == port;
}

static void add_classes(const struct stats *s, uint32_t shaper, struct view_port *out)
{
	uint32_t first, ids = view_ids(s, shaper, &first);

	for (uint32_t id = 0; id < ids; id++) {
		const struct class_stats *k = &s->class_stats[first + id];

		if (!s->class_info[first + id].name[0])
			continue;
		out->sent_packets += counter_read(&k->sent_packets);
		out->sent_bytes += counter_read(&k->sent_bytes);
		out->backlog_packets += counter_read(&k->backlog_packets);
		out->backlog_bytes += counter_read(&k->backlog_bytes);
		out->drop_full += counter_read(&k->drop_full);
		out->drop_codel += counter_read(&k->drop_codel);
		out->drop_reconfigured += counter_read(&k->drop_reconfigured);
	}
}

void view_port(const struct stats *s, uint32_t port, struct view_port *out)
{
	uint32_t mode = MODE_AUTO;

	*out = (struct view_port){
		.lost_socket = counter_read(&s->port[port].program_misses),
		.lost_device = counter_read(&s->port[port].device_dropped),
		.up = counter_read(&s->port[port].up) != 0,
	};
	for (uint32_t q = 0; q < view_queues(s); q++) {
		const struct queue_stats *k = &s->queue[q].counters;

		if (!view_queue_of(s, q, port))
			continue;
		out->rx_packets += counter_read(&k->rx_packets);
		out->rx_bytes += counter_read(&k->rx_bytes);
		out->tx_packets += counter_read(&k->tx_packets);
		out->tx_bytes += counter_read(&k->tx_bytes);
		out->lost_ring += counter_read(&k->rx_dropped);
		mode = s->queue[q].mode > mode ? s->queue[q].mode : mode;
	}
	out->mode = mode == MODE_AUTO ? "none" : view_mode(mode);
	for (uint32_t h = 0; h < view_shapers(s); h++)
		if (s->shaper[h].port == port)
			add_classes(s, h, out);
}

uint64_t view_dropped(const struct stats *s, uint32_t reason)
{
	uint64_t n = 0;

	for (uint32_t w = 0; w < view_workers(s); w++)
		n += counter_read(&s->worker[w].drops[reason]);
	return n;
}

void view_frames(const struct stats *s, struct view_frames *out)
{
	*out = (struct view_frames){.total = counter_read(&s->frames_total), .pool = counter_read(&s->frames_pool)};
	for (uint32_t w = 0; w < view_workers(s); w++) {
		out->cache += counter_read(&s->worker[w].frames_cache);
		out->held += counter_read(&s->worker[w].frames_held);
		out->handoff += counter_read(&s->worker[w].frames_handoff);
	}
	for (uint32_t q = 0; q < view_queues(s); q++) {
		out->fill += counter_read(&s->queue[q].counters.frames_fill);
		out->rx += counter_read(&s->queue[q].counters.frames_rx);
		out->tx += counter_read(&s->queue[q].counters.frames_tx);
	}
	out->unaccounted = (int64_t)(out->total - out->pool - out->cache - out->held - out->handoff - out->fill -
				     out->rx - out->tx);
}

const char *view_mode(uint32_t mode)
{
	static const char *const name[] = {"auto", "zerocopy", "copy", "generic"};

	return mode < ARRAY_LEN(name) ? name[mode] : "unknown";
}

const char *view_leaf(uint32_t kind)
{
	static const char *const name[] = {"inner", "pfifo", "fq_codel"};

	return kind < ARRAY_LEN(name) ? name[kind] : "unknown";
}

// Rewriting names takes a moment. An engine that was killed in it leaves the number odd for good: if it does not move
// in all that time nobody is writing, and what is there, being bounded anyway, is as good as it gets.
static uint64_t settled(const struct stats *s)
{
	enum { WAITS = 20 };
	uint64_t seq = atomic_load(&s->names_seq);

	for (int i = 0; i < WAITS && seq & 1; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		seq = atomic_load(&s->names_seq);
	}
	return seq;
}

void *view_consistent(const struct stats *s, view_builder *build, void *arg, void (*discard)(void *))
{
	enum { TRIES = 8 };

	for (int i = 0; i < TRIES; i++) {
		uint64_t seq = settled(s);
		void *out = build(s, arg);

		if (!out || atomic_load(&s->names_seq) == seq)
			return out;
		discard(out);
	}
	return NULL;
}
