// SPDX-License-Identifier: GPL-2.0-or-later
// Prometheus text exposition 0.0.4. Beside weir's own families there are those of node_exporter's qdisc collector, so that
// dashboards made for `tc` work.
//
// The delay histogram has four buckets an octave; a scrape of thousands of classes should not, so here it is one
// bucket an octave. Its sum is not measured: it is estimated from the middle of each bucket, within an eighth.
// Classes with no packet yet are left out where there are more than METRICS_CLASSES of them: a scrape of 13,706
// classes of which twenty are busy is 60 KB instead of 50 MB.
#include "mgmt/metrics.h"

#include <stdio.h>

#include "mgmt/stats_view.h"
#include "mgmt/text.h"

enum { METRICS_CLASSES = 1024, OCTAVES = (DELAY_BUCKETS - 1) / 4 };

static void family(struct text *t, const char *name, const char *type, const char *help)
{
	const char *const part[] = {"# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n"};

	for (size_t i = 0; i < ARRAY_LEN(part); i++)
		text_put(t, part[i]);
}

// `name{labels} value`; labels is what stands between the braces, NULL: none.
static void sample(struct text *t, const char *name, const char *labels, uint64_t value)
{
	text_put(t, name);
	if (labels) {
		text_put(t, "{");
		text_put(t, labels);
		text_put(t, "}");
	}
	text_put(t, " ");
	text_number(t, value);
	text_put(t, "\n");
}

// Nanoseconds as seconds, exactly.
static void seconds(struct text *t, uint64_t ns)
{
	char digits[] = ".000000000";
	uint64_t rest = ns % NSEC_PER_SEC;

	text_number(t, ns / NSEC_PER_SEC);
	for (int i = 9; rest; i--, rest /= 10)
		digits[i] = (char)('0' + rest % 10);
	for (int i = 9; i >= 0 && (digits[i] == '0' || digits[i] == '.'); i--)
		digits[i] = '\0';
	text_put(t, digits);
}

// ---- what there is one of

static void box(struct text *t, const struct stats *s)
{
	static const char *const place[] = {"pool", "cache", "held", "handoff", "fill", "rx", "tx"};
	struct view_frames f;
	char labels[64];

	family(t, "weir_revision", "gauge", "Revision of the configuration in force.");
	sample(t, "weir_revision", NULL, atomic_load(&s->revision));
	family(t, "weir_changes_total", "counter", "Configuration changes applied without a restart.");
	sample(t, "weir_changes_total", NULL, counter_read(&s->applied));
	view_frames(s, &f);
	family(t, "weir_frames", "gauge", "Packet buffers by where they are.");

	const uint64_t count[] = {f.pool, f.cache, f.held, f.handoff, f.fill, f.rx, f.tx};

	for (size_t i = 0; i < ARRAY_LEN(place); i++) {
		snprintf(labels, sizeof labels, "place=\"%s\"", place[i]);
		sample(t, "weir_frames", labels, count[i]);
	}
	family(t, "weir_frames_configured", "gauge", "Packet buffers in all.");
	sample(t, "weir_frames_configured", NULL, f.total);
	family(t, "weir_frames_unaccounted", "gauge", "Packet buffers that no counter accounts for, at rest 0.");
	text_put(t, "weir_frames_unaccounted ");
	text_signed(t, f.unaccounted);
	text_put(t, "\n");
	family(t, "weir_drops_total", "counter", "Packets dropped, by reason.");
	for (uint32_t r = 1; r < DROP_REASON_COUNT; r++) {
		snprintf(labels, sizeof labels, "reason=\"%s\"", drop_name(r));
		sample(t, "weir_drops_total", labels, view_dropped(s, r));
	}
}

// ---- rows of counters: workers, queues, ports, classes

struct column {
	const char *name, *type, *help;
	size_t offset; // of a counter_t in the struct
};

#define COLUMN(struct_type, member, name, type, help)           \
	{                                                       \
		name, type, help, offsetof(struct_type, member) \
	}

static uint64_t cell(const void *row, const struct column *c)
{
	return counter_read((const counter_t *)(const void *)((const char *)row + c->offset));
}

static void workers(struct text *t, const struct stats *s)
{
#define WORKER(member, name, type, help) COLUMN(struct stats_worker, member, "weir_worker_" name, type, help)
	static const struct column column[] = {
		WORKER(loops, "loops_total", "counter", "Turns of the packet loop."),
		WORKER(sleeps, "sleeps_total", "counter", "Times it slept."),
		WORKER(wakeups, "wakeups_total", "counter", "Sleeps ended by a packet or a message."),
		WORKER(timeouts, "timeouts_total", "counter", "Sleeps ended because a packet became due."),
		WORKER(flooded, "flooded_total", "counter", "Packets copied to several ports."),
		WORKER(handed_over, "handed_over_total", "counter", "Packets given to another worker's shaper."),
		WORKER(received_over, "received_over_total", "counter", "Packets taken from other workers."),
		WORKER(fdb_entries, "fdb_entries", "gauge", "MAC addresses it has learned."),
	};
	char labels[32];

	for (size_t i = 0; i < ARRAY_LEN(column); i++) {
		family(t, column[i].name, column[i].type, column[i].help);
		for (uint32_t w = 0; w < view_workers(s); w++) {
			snprintf(labels, sizeof labels, "worker=\"%u\"", w);
			sample(t, column[i].name, labels, cell(&s->worker[w], &column[i]));
		}
	}
	for (int pause = 0; pause < 2; pause++) {
		const char *name = pause ? "weir_worker_longest_pause_seconds" : "weir_worker_busy_seconds_total";

		family(t, name, pause ? "gauge" : "counter",
		       pause ? "Longest gap between two turns of a busy worker." : "Time spent with packets.");
		for (uint32_t w = 0; w < view_workers(s); w++) {
			snprintf(labels, sizeof labels, "{worker=\"%u\"} ", w);
			text_put(t, name);
			text_put(t, labels);
			seconds(t, counter_read(pause ? &s->worker[w].longest_pause_ns : &s->worker[w].busy_ns));
			text_put(t, "\n");
		}
	}
}

static void queues(struct text *t, const struct stats *s)
{
#define QUEUE(member, name, type, help) COLUMN(struct queue_stats, member, "weir_queue_" name, type, help)
	static const struct column column[] = {
		QUEUE(rx_packets, "receive_packets_total", "counter", "Packets received."),
		QUEUE(rx_bytes, "receive_bytes_total", "counter", "Bytes received."),
		QUEUE(tx_packets, "transmit_packets_total", "counter", "Packets sent."),
		QUEUE(tx_bytes, "transmit_bytes_total", "counter", "Bytes sent."),
		QUEUE(tx_completed, "transmit_completed_total", "counter", "Packets the device has finished with."),
		QUEUE(rx_dropped, "receive_lost_total", "counter", "Packets lost before weir: no buffer or ring full."),
		QUEUE(rx_wakeups, "receive_wakeups_total", "counter", "System calls that made the device receive."),
		QUEUE(tx_kicks, "transmit_kicks_total", "counter", "System calls that made the device send."),
		QUEUE(tx_busy, "transmit_busy_total", "counter", "Those answered with busy."),
		QUEUE(tx_errors, "transmit_errors_total", "counter", "Those that failed."),
		QUEUE(fill_empty, "fill_ring_empty_total", "counter",
		      "Times the kernel found no buffer to receive into."),
	};
	char labels[128], port[NAME_MAX_LEN], device[DEVICE_MAX];

	for (size_t i = 0; i < ARRAY_LEN(column); i++) {
		family(t, column[i].name, column[i].type, column[i].help);
		for (uint32_t p = 0; p < view_ports(s); p++)
			for (uint32_t q = 0; q < STATS_QUEUES_MAX; q++) {
				if (!view_queue_of(s, q, p))
					continue;
				snprintf(labels, sizeof labels, "port=\"%s\",device=\"%s\",queue=\"%u\"",
					 text_name(port, s->port[p].name, sizeof port),
					 text_name(device, s->queue[q].device, sizeof device), s->queue[q].queue);
				sample(t, column[i].name, labels, cell(&s->queue[q].counters, &column[i]));
			}
	}
}

// A port's columns are offsets of plain numbers in struct view_port.
static void ports(struct text *t, const struct stats *s)
{
#define PORT(member, name, help)                                                       \
	{                                                                              \
		"weir_port_" name, "counter", help, offsetof(struct view_port, member) \
	}
	static const struct column column[] = {
		PORT(rx_packets, "receive_packets_total", "Packets received."),
		PORT(rx_bytes, "receive_bytes_total", "Bytes received."),
		PORT(tx_packets, "transmit_packets_total", "Packets sent."),
		PORT(tx_bytes, "transmit_bytes_total", "Bytes sent."),
		PORT(lost_ring, "receive_lost_total", "Packets lost before weir: no buffer or ring full."),
		PORT(lost_socket, "no_socket_total", "Packets on receive queues that weir does not serve."),
		PORT(lost_device, "device_dropped_total", "Packets the device itself dropped."),
	};
	uint32_t n = view_ports(s);
	struct view_port v[PORTS_MAX];
	char labels[128], port[NAME_MAX_LEN], device[DEVICE_MAX];

	for (uint32_t p = 0; p < n; p++)
		view_port(s, p, &v[p]);
	for (size_t i = 0; i <= ARRAY_LEN(column); i++) {
		const struct column up = {"weir_port_up", "gauge", "Whether the port has a link.", 0};
		const struct column *c = i < ARRAY_LEN(column) ? &column[i] : &up;

		family(t, c->name, c->type, c->help);
		for (uint32_t p = 0; p < n; p++) {
			uint64_t value = v[p].up;

			if (i < ARRAY_LEN(column))
				memcpy(&value, (const char *)&v[p] + c->offset, sizeof value);
			snprintf(labels, sizeof labels, "port=\"%s\",device=\"%s\"",
				 text_name(port, s->port[p].name, sizeof port),
				 text_name(device, s->port[p].device, sizeof device));
			sample(t, c->name, labels, value);
		}
	}
}

// The port a scheduler is on, within bounds.
static uint32_t port_of(const struct stats *s, uint32_t shaper)
{
	return s->shaper[shaper].port < PORTS_MAX ? s->shaper[shaper].port : 0;
}

// One scheduler a port, as one qdisc of node_exporter. What an unshaped port sends does not all pass the one
// scheduler with counters here, so there the queues' counters are taken.
static void qdiscs(struct text *t, const struct stats *s)
{
	static const struct column column[] = {
		{"node_qdisc_bytes_total", "counter", "Number of bytes sent.", offsetof(struct view_port, sent_bytes)},
		{"node_qdisc_packets_total", "counter", "Number of packets sent.",
		 offsetof(struct view_port, sent_packets)},
		{"node_qdisc_drops_total", "counter", "Number of packets dropped.",
		 offsetof(struct view_port, drop_full)},
		{"node_qdisc_backlog", "gauge", "Number of bytes currently in queue to be sent.",
		 offsetof(struct view_port, backlog_bytes)},
		{"node_qdisc_current_queue_length", "gauge", "Number of packets currently in queue to be sent.",
		 offsetof(struct view_port, backlog_packets)},
	};
	char labels[64], device[DEVICE_MAX];

	for (size_t i = 0; i < ARRAY_LEN(column); i++) {
		family(t, column[i].name, column[i].type, column[i].help);
		for (uint32_t h = 0; h < view_shapers(s); h++) {
			struct view_port v;
			uint64_t value;

			view_port(s, port_of(s, h), &v);
			if (!view_is_shaper(s, h)) {
				v.sent_bytes = v.tx_bytes;
				v.sent_packets = v.tx_packets;
			}
			v.drop_full += v.drop_codel + v.drop_reconfigured;
			memcpy(&value, (const char *)&v + column[i].offset, sizeof value);
			snprintf(labels, sizeof labels, "device=\"%s\",kind=\"%s\"",
				 text_name(device, s->port[port_of(s, h)].device, sizeof device),
				 view_is_shaper(s, h) ? "hfsc" : "fq_codel");
			sample(t, column[i].name, labels, value);
		}
	}
}

// ---- classes

// Calls f for each leaf class worth showing, with its labels.
typedef void class_writer(struct text *t, const char *labels, const struct stats_class *c, const struct class_stats *k,
			  const struct column *column);

static void each_class(struct text *t, const struct stats *s, class_writer *write, const struct column *column)
{
	char labels[sizeof "shaper=\"\",class=\"\"" + NAME_MAX_LEN + CLASS_NAME_MAX];
	char shaper[NAME_MAX_LEN], name[CLASS_NAME_MAX];

	for (uint32_t h = 0; h < view_shapers(s); h++) {
		uint32_t first, ids = view_ids(s, h, &first);

		text_name(shaper, s->shaper[h].name, sizeof shaper);
		for (uint32_t id = 0; id < ids; id++) {
			const struct stats_class *c = &s->class_info[first + id];
			const struct class_stats *k = &s->class_stats[first + id];

			if (!c->name[0] || c->leaf_kind == LEAF_NONE)
				continue;
			if (ids > METRICS_CLASSES && !counter_read(&k->enq_packets) && !counter_read(&k->drop_full))
				continue;
			snprintf(labels, sizeof labels, "shaper=\"%s\",class=\"%s\"", shaper,
				 text_name(name, c->name, sizeof name));
			write(t, labels, c, k, column);
		}
	}
}

static void class_column(struct text *t, const char *labels, const struct stats_class *c, const struct class_stats *k,
			 const struct column *column)
{
	sample(t, column->name, labels, cell(k, column));
}

static void class_drops(struct text *t, const char *labels, const struct stats_class *c, const struct class_stats *k,
			const struct column *column)
{
	static const char *const reason[] = {"queue_full", "codel", "reconfigured"};
	const uint64_t count[] = {counter_read(&k->drop_full), counter_read(&k->drop_codel),
				  counter_read(&k->drop_reconfigured)};

	for (size_t i = 0; i < ARRAY_LEN(reason); i++) {
		char more[256];

		snprintf(more, sizeof more, "%s,reason=\"%s\"", labels, reason[i]);
		sample(t, column->name, more, count[i]);
	}
}

static void class_curves(struct text *t, const char *labels, const struct stats_class *c, const struct class_stats *k,
			 const struct column *column)
{
	static const char *const curve[] = {"rt", "ls", "ul"};
	const uint64_t rate[] = {c->rt_bps, c->ls_bps, c->ul_bps};

	for (size_t i = 0; i < ARRAY_LEN(curve); i++) {
		char more[256];

		snprintf(more, sizeof more, "%s,curve=\"%s\"", labels, curve[i]);
		if (rate[i])
			sample(t, column->name, more, rate[i]);
	}
}

static void bucket(struct text *t, const char *labels, const char *suffix, uint64_t le_ns)
{
	text_put(t, "weir_class_delay_seconds");
	text_put(t, suffix);
	text_put(t, "{");
	text_put(t, labels);
	if (le_ns) {
		text_put(t, ",le=\"");
		if (le_ns == TIME_NEVER)
			text_put(t, "+Inf");
		else
			seconds(t, le_ns);
		text_put(t, "\"");
	}
	text_put(t, "} ");
}

// Bucket b of the histogram ends at delay_bucket_floor(b + 1); every fourth end is a power of two microseconds.
static void class_delay(struct text *t, const char *labels, const struct stats_class *c, const struct class_stats *k,
			const struct column *column)
{
	uint64_t below = 0;
	u128 sum = 0;

	for (uint32_t b = 0; b < DELAY_BUCKETS; b++) {
		uint64_t n = counter_read(&k->delay[b]);

		below += n;
		sum += (u128)n * ((delay_bucket_floor(b) + delay_bucket_floor(b + 1)) / 2);
		if (b % 4 == 0 && b / 4 <= OCTAVES && b + 1 < DELAY_BUCKETS) {
			bucket(t, labels, "_bucket", delay_bucket_floor(b + 1));
			text_number(t, below);
			text_put(t, "\n");
		}
	}
	bucket(t, labels, "_bucket", TIME_NEVER);
	text_number(t, below);
	text_put(t, "\n");
	bucket(t, labels, "_sum", 0);
	seconds(t, sum < UINT64_MAX ? (uint64_t)sum : UINT64_MAX);
	text_put(t, "\n");
	bucket(t, labels, "_count", 0);
	text_number(t, below);
	text_put(t, "\n");
}

static void classes(struct text *t, const struct stats *s)
{
#define CLASS(member, name, type, help) COLUMN(struct class_stats, member, "weir_class_" name, type, help)
	static const struct column column[] = {
		CLASS(sent_packets, "sent_packets_total", "counter", "Packets sent."),
		CLASS(sent_bytes, "sent_bytes_total", "counter", "Bytes sent, as they count on the wire."),
		CLASS(enq_packets, "enqueued_packets_total", "counter", "Packets taken in."),
		CLASS(enq_bytes, "enqueued_bytes_total", "counter", "Bytes taken in, as they count on the wire."),
		CLASS(rt_packets, "guaranteed_packets_total", "counter", "Packets sent because of the guarantee (rt)."),
		CLASS(marked, "marked_total", "counter", "Packets marked with ECN CE."),
		CLASS(backlog_packets, "backlog_packets", "gauge", "Packets waiting."),
		CLASS(backlog_bytes, "backlog_bytes", "gauge", "Bytes waiting."),
	};
	static const struct column drops = {"weir_class_drops_total", "counter", "Packets dropped in the class.", 0},
				   curves = {"weir_class_curve_bps", "gauge", "Configured rate of a curve, bit/s.", 0};

	for (size_t i = 0; i < ARRAY_LEN(column); i++) {
		family(t, column[i].name, column[i].type, column[i].help);
		each_class(t, s, class_column, &column[i]);
	}
	family(t, drops.name, drops.type, drops.help);
	each_class(t, s, class_drops, &drops);
	family(t, curves.name, curves.type, curves.help);
	each_class(t, s, class_curves, &curves);
	family(t, "weir_class_delay_seconds", "histogram",
	       "Time from arrival to the start of sending; the sum is estimated from the buckets.");
	each_class(t, s, class_delay, NULL);
}

static void up(struct text *t, bool is_up)
{
	family(t, "weir_up", "gauge", "Whether statistics of an engine are there.");
	sample(t, "weir_up", NULL, is_up);
}

static void *build(const struct stats *s, void *arg)
{
	struct text t = {0};

	up(&t, true);
	box(&t, s);
	workers(&t, s);
	ports(&t, s);
	queues(&t, s);
	classes(&t, s);
	qdiscs(&t, s);
	return text_take(&t);
}

char *metrics_text(const struct stats *s)
{
	struct text t = {0};

	if (s)
		return view_consistent(s, build, NULL, free);
	up(&t, false);
	return text_take(&t);
}
