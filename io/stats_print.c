// SPDX-License-Identifier: GPL-2.0-or-later
// `weir status`: the statistics region as tables for people, or as one JSON object. Names in it were checked when the
// configuration was read (letters, digits and a few marks), so they need no quoting; they are cut, not trusted.
#include "io/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *mode_name(uint32_t mode)
{
	static const char *const name[] = {"auto", "zerocopy", "copy", "generic"};

	return mode < ARRAY_LEN(name) ? name[mode] : "unknown";
}

static const char *leaf_name(uint32_t kind)
{
	static const char *const name[] = {"inner", "pfifo", "fq_codel"};

	return kind < ARRAY_LEN(name) ? name[kind] : "unknown";
}

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

// The frame conservation law: total minus all places a frame can be. 0 on a quiet system; a moment's difference while
// counters of several workers are read one after the other.
static int64_t frames_unaccounted(const struct stats *s)
{
	uint64_t known = counter_read(&s->frames_pool);

	for (uint32_t w = 0; w < at_most(s->workers, WORKERS_MAX); w++)
		known += counter_read(&s->worker[w].frames_cache) + counter_read(&s->worker[w].frames_held) +
			 counter_read(&s->worker[w].frames_handoff);
	for (uint32_t q = 0; q < at_most(s->queues, STATS_QUEUES_MAX); q++)
		known += counter_read(&s->queue[q].counters.frames_fill) +
			 counter_read(&s->queue[q].counters.frames_rx) + counter_read(&s->queue[q].counters.frames_tx);
	return (int64_t)(counter_read(&s->frames_total) - known);
}

static uint64_t dropped(const struct stats *s, uint32_t reason)
{
	uint64_t n = 0;

	for (uint32_t w = 0; w < at_most(s->workers, WORKERS_MAX); w++)
		n += counter_read(&s->worker[w].drops[reason]);
	return n;
}

// ---- people

static void people_ports(FILE *out, const struct stats *s)
{
	fprintf(out, "%-12s %-12s %-4s %-9s %14s %14s %12s %12s\n", "PORT", "DEVICE", "LINK", "MODE", "RX PACKETS",
		"TX PACKETS", "RX LOST", "NO SOCKET");
	for (uint32_t p = 0; p < at_most(s->ports, PORTS_MAX); p++) {
		uint64_t rx = 0, tx = 0, lost = 0;
		const char *mode = "-";

		for (uint32_t q = 0; q < at_most(s->queues, STATS_QUEUES_MAX); q++) {
			const struct stats_queue *k = &s->queue[q];

			if (!k->used || k->port != p)
				continue;
			rx += counter_read(&k->counters.rx_packets);
			tx += counter_read(&k->counters.tx_packets);
			lost += counter_read(&k->counters.rx_dropped);
			mode = mode_name(k->mode);
		}
		fprintf(out, "%-12.31s %-12.15s %-4s %-9s %14" PRIu64 " %14" PRIu64 " %12" PRIu64 " %12" PRIu64 "\n",
			s->port[p].name, s->port[p].device, counter_read(&s->port[p].up) ? "up" : "down", mode, rx, tx,
			lost, counter_read(&s->port[p].program_misses));
	}
}

static void people_classes(FILE *out, const struct stats *s, const struct stats_shaper *sh)
{
	fprintf(out, "\nSHAPER %.31s  %.1f Mbit/s\n", sh->name, (double)counter_read(&sh->rate_bps) / 1e6);
	fprintf(out, "%-16s %-8s %10s %10s %14s %12s %10s %10s %10s\n", "CLASS", "LEAF", "RT Mbit/s", "LS Mbit/s",
		"SENT PACKETS", "DROPPED", "BACKLOG", "p50 us", "p99 us");
	for (uint32_t id = 0; id < at_most(sh->id_limit, STATS_CLASSES_MAX - sh->first_class); id++) {
		const struct stats_class *c = &s->class_info[sh->first_class + id];
		const struct class_stats *k = &s->class_stats[sh->first_class + id];

		if (!c->name[0] || c->leaf_kind == LEAF_NONE)
			continue;
		fprintf(out, "%-16.47s %-8s %10.1f %10.1f %14" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10.0f %10.0f\n",
			c->name, leaf_name(c->leaf_kind), (double)c->rt_bps / 1e6, (double)c->ls_bps / 1e6,
			counter_read(&k->sent_packets),
			counter_read(&k->drop_full) + counter_read(&k->drop_codel) +
				counter_read(&k->drop_reconfigured),
			counter_read(&k->backlog_packets), (double)delay_quantile(k->delay, 500) / 1e3,
			(double)delay_quantile(k->delay, 990) / 1e3);
	}
}

static void people(FILE *out, const struct stats *s)
{
	fprintf(out,
		"revision %" PRIu64 ", %u workers, frames: %" PRIu64 " in all, %" PRIu64 " free, %" PRId64
		" unaccounted\n\n",
		atomic_load(&s->revision), s->workers, counter_read(&s->frames_total), counter_read(&s->frames_pool),
		frames_unaccounted(s));
	people_ports(out, s);
	for (uint32_t h = 0; h < at_most(s->shapers, PORTS_MAX); h++)
		if (s->shaper[h].first_class < STATS_CLASSES_MAX && counter_read(&s->shaper[h].rate_bps))
			people_classes(out, s, &s->shaper[h]);
	fprintf(out, "\nDROPPED\n");
	for (uint32_t r = 1; r < DROP_REASON_COUNT; r++)
		if (dropped(s, r))
			fprintf(out, "%14" PRIu64 "  %s: %s\n", dropped(s, r), drop_name(r), drop_text(r));
}

// ---- machines

static void json_field(FILE *out, const char *name, uint64_t value, bool last)
{
	fprintf(out, "\"%s\":%" PRIu64 "%s", name, value, last ? "" : ",");
}

static void json_workers(FILE *out, const struct stats *s)
{
	for (uint32_t w = 0; w < at_most(s->workers, WORKERS_MAX); w++) {
		const struct stats_worker *k = &s->worker[w];

		fprintf(out, "%s{\"worker\":%u,", w ? "," : "", w);
		json_field(out, "loops", counter_read(&k->loops), false);
		json_field(out, "busy_ns", counter_read(&k->busy_ns), false);
		json_field(out, "sleeps", counter_read(&k->sleeps), false);
		json_field(out, "wakeups", counter_read(&k->wakeups), false);
		json_field(out, "timeouts", counter_read(&k->timeouts), false);
		json_field(out, "flooded", counter_read(&k->flooded), false);
		json_field(out, "handed_over", counter_read(&k->handed_over), false);
		json_field(out, "received_over", counter_read(&k->received_over), false);
		json_field(out, "longest_pause_ns", counter_read(&k->longest_pause_ns), false);
		json_field(out, "frames_cache", counter_read(&k->frames_cache), false);
		json_field(out, "frames_held", counter_read(&k->frames_held), false);
		json_field(out, "frames_handoff", counter_read(&k->frames_handoff), false);
		json_field(out, "fdb_entries", counter_read(&k->fdb_entries), true);
		fprintf(out, "}");
	}
}

static void json_queues(FILE *out, const struct stats *s)
{
	const char *comma = "";

	for (uint32_t q = 0; q < at_most(s->queues, STATS_QUEUES_MAX); q++) {
		const struct stats_queue *k = &s->queue[q];
		const struct queue_stats *c = &k->counters;

		if (!k->used)
			continue;
		fprintf(out, "%s{\"device\":\"%.15s\",\"port\":%u,\"queue\":%u,\"worker\":%u,\"mode\":\"%s\",", comma,
			k->device, k->port, k->queue, k->worker, mode_name(k->mode));
		json_field(out, "rx_packets", counter_read(&c->rx_packets), false);
		json_field(out, "rx_bytes", counter_read(&c->rx_bytes), false);
		json_field(out, "tx_packets", counter_read(&c->tx_packets), false);
		json_field(out, "tx_bytes", counter_read(&c->tx_bytes), false);
		json_field(out, "tx_completed", counter_read(&c->tx_completed), false);
		json_field(out, "rx_dropped", counter_read(&c->rx_dropped), false);
		json_field(out, "rx_wakeups", counter_read(&c->rx_wakeups), false);
		json_field(out, "tx_kicks", counter_read(&c->tx_kicks), false);
		json_field(out, "tx_busy", counter_read(&c->tx_busy), false);
		json_field(out, "tx_errors", counter_read(&c->tx_errors), false);
		json_field(out, "fill_empty", counter_read(&c->fill_empty), false);
		json_field(out, "bad_completions", counter_read(&c->bad_completions), false);
		json_field(out, "frames_fill", counter_read(&c->frames_fill), false);
		json_field(out, "frames_rx", counter_read(&c->frames_rx), false);
		json_field(out, "frames_tx", counter_read(&c->frames_tx), true);
		fprintf(out, "}");
		comma = ",";
	}
}

static void json_classes(FILE *out, const struct stats *s, const struct stats_shaper *sh)
{
	const char *comma = "";

	for (uint32_t id = 0; id < at_most(sh->id_limit, STATS_CLASSES_MAX - sh->first_class); id++) {
		const struct stats_class *c = &s->class_info[sh->first_class + id];
		const struct class_stats *k = &s->class_stats[sh->first_class + id];

		if (!c->name[0])
			continue;
		fprintf(out, "%s\"%.47s\":{\"leaf\":\"%s\",\"default\":%s,", comma, c->name, leaf_name(c->leaf_kind),
			c->is_default ? "true" : "false");
		json_field(out, "rt_bps", c->rt_bps, false);
		json_field(out, "ls_bps", c->ls_bps, false);
		json_field(out, "ul_bps", c->ul_bps, false);
		json_field(out, "enqueued_packets", counter_read(&k->enq_packets), false);
		json_field(out, "enqueued_bytes", counter_read(&k->enq_bytes), false);
		json_field(out, "sent_packets", counter_read(&k->sent_packets), false);
		json_field(out, "sent_bytes", counter_read(&k->sent_bytes), false);
		json_field(out, "rt_packets", counter_read(&k->rt_packets), false);
		json_field(out, "backlog_packets", counter_read(&k->backlog_packets), false);
		json_field(out, "backlog_bytes", counter_read(&k->backlog_bytes), false);
		json_field(out, "dropped_full", counter_read(&k->drop_full), false);
		json_field(out, "dropped_codel", counter_read(&k->drop_codel), false);
		json_field(out, "dropped_reconfigured", counter_read(&k->drop_reconfigured), false);
		json_field(out, "ecn_marked", counter_read(&k->marked), false);
		json_field(out, "flow_overflow", counter_read(&k->flow_overflow), false);
		json_field(out, "delay_p50_ns", delay_quantile(k->delay, 500), false);
		json_field(out, "delay_p99_ns", delay_quantile(k->delay, 990), true);
		fprintf(out, "}");
		comma = ",";
	}
}

static void json(FILE *out, const struct stats *s)
{
	fprintf(out,
		"{\"revision\":%" PRIu64 ",\"frames\":{\"total\":%" PRIu64 ",\"pool\":%" PRIu64
		",\"unaccounted\":%" PRId64 "},",
		atomic_load(&s->revision), counter_read(&s->frames_total), counter_read(&s->frames_pool),
		frames_unaccounted(s));
	fprintf(out, "\"changes\":{");
	json_field(out, "applied", counter_read(&s->applied), false);
	json_field(out, "last_ns", counter_read(&s->apply_ns), false);
	json_field(out, "last_pause_ns", counter_read(&s->apply_pause_ns), false);
	json_field(out, "last_lost", counter_read(&s->apply_lost), true);
	fprintf(out, "},\"workers\":[");
	json_workers(out, s);
	fprintf(out, "],\"ports\":[");
	for (uint32_t p = 0; p < at_most(s->ports, PORTS_MAX); p++) {
		fprintf(out, "%s{\"name\":\"%.31s\",\"device\":\"%.15s\",\"up\":%s,", p ? "," : "", s->port[p].name,
			s->port[p].device, counter_read(&s->port[p].up) ? "true" : "false");
		json_field(out, "program_misses", counter_read(&s->port[p].program_misses), false);
		json_field(out, "device_dropped", counter_read(&s->port[p].device_dropped), true);
		fprintf(out, "}");
	}
	fprintf(out, "],\"queues\":[");
	json_queues(out, s);
	fprintf(out, "],\"drops\":{");
	for (uint32_t r = 1; r < DROP_REASON_COUNT; r++)
		json_field(out, drop_name(r), dropped(s, r), r + 1 == DROP_REASON_COUNT);
	fprintf(out, "},\"shapers\":{");
	for (uint32_t h = 0; h < at_most(s->shapers, PORTS_MAX); h++) {
		const struct stats_shaper *sh = &s->shaper[h];

		fprintf(out, "%s\"%.31s\":{\"port\":%u,\"worker\":%u,", h ? "," : "", sh->name, sh->port, sh->worker);
		json_field(out, "rate_bps", counter_read(&sh->rate_bps), false);
		fprintf(out, "\"classes\":{");
		if (sh->first_class < STATS_CLASSES_MAX)
			json_classes(out, s, sh);
		fprintf(out, "}}");
	}
	fprintf(out, "}}\n");
}

// Names are rewritten while a revision takes effect: what was printed during that is thrown away and printed again.
void stats_print(const struct stats *s, bool as_json)
{
	for (int tries = 0; tries < 100; tries++) {
		uint64_t seq = atomic_load(&s->names_seq);
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);

		if (!out)
			return;
		if (as_json)
			json(out, s);
		else
			people(out, s);
		fclose(out);
		if (!(seq & 1) && atomic_load(&s->names_seq) == seq) {
			fwrite(text, 1, len, stdout);
			free(text);
			return;
		}
		free(text);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}
