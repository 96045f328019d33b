// SPDX-License-Identifier: GPL-2.0-or-later
// /v1/state and /metrics: the shared statistics as JSON. Nobody is asked and no lock is taken, so it costs the packets
// nothing however often it is read. The class list can have thousands of rows and is written as text directly; a tree of
// values for it would take ten times as long.
#include "mgmt/api_state.h"

#include <string.h>

#include "mgmt/api_schema.h"
#include "mgmt/http.h"
#include "mgmt/metrics.h"
#include "mgmt/stats_view.h"
#include "mgmt/text.h"

// Readers of JSON stop at 2^63; no honest counter gets there.
static uint64_t bounded(uint64_t n)
{
	return n < INT64_MAX ? n : INT64_MAX;
}

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)bounded(n));
}

static json_t *counter(const counter_t *c)
{
	return number(counter_read(c));
}

static void json_discard(void *json)
{
	json_decref(json);
}

// Answers with what build makes of the statistics, or 503.
static void answer(struct request *r, struct response *a, view_builder *build)
{
	const struct stats *s = r->api->stats;
	json_t *body = s ? view_consistent(s, build, NULL, json_discard) : NULL;

	if (body)
		respond_json(a, 200, body);
	else
		respond_error(a, 503, s ? "the statistics can't be read now" : "no engine has run yet", NULL);
}

// ---- ports

struct column {
	const char *name;
	size_t offset;
};

static void set_counters(json_t *o, const void *row, const struct column *column, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_object_set_new_nocheck(
			o, column[i].name,
			counter((const counter_t *)(const void *)((const char *)row + column[i].offset)));
}

static json_t *queue_json(const struct stats_queue *q)
{
#define QUEUE(member)                                         \
	{                                                     \
#member, offsetof(struct queue_stats, member) \
	}
	static const struct column column[] = {
		QUEUE(rx_packets), QUEUE(rx_bytes),    QUEUE(tx_packets),      QUEUE(tx_bytes),  QUEUE(tx_completed),
		QUEUE(rx_dropped), QUEUE(rx_wakeups),  QUEUE(tx_kicks),        QUEUE(tx_busy),   QUEUE(tx_errors),
		QUEUE(fill_empty), QUEUE(frames_fill), QUEUE(bad_completions), QUEUE(frames_rx), QUEUE(frames_tx),
	};
	json_t *o = json_pack("{s:i, s:i, s:s}", "queue", q->queue, "worker", q->worker, "mode", view_mode(q->mode));

	set_counters(o, &q->counters, column, ARRAY_LEN(column));
	return o;
}

// Drops by reason are counted by the worker that drops, for the whole box. A port has what was lost before it reached a
// worker, and what its scheduler dropped.
static json_t *port_json(const struct stats *s, uint32_t port)
{
	char name[NAME_MAX_LEN], device[DEVICE_MAX];
	json_t *queues = json_array(), *drops;
	struct view_port v;

	view_port(s, port, &v);
	for (uint32_t q = 0; q < STATS_QUEUES_MAX; q++)
		if (view_queue_of(s, q, port))
			json_array_append_new(queues, queue_json(&s->queue[q]));
	drops = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "receive_ring", number(v.lost_ring), "no_socket",
			  number(v.lost_socket), "device", number(v.lost_device), "queue_full", number(v.drop_full),
			  "codel", number(v.drop_codel), "reconfigured", number(v.drop_reconfigured));
	return json_pack("{s:s, s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			 text_name(name, s->port[port].name, sizeof name), "device",
			 text_name(device, s->port[port].device, sizeof device), "up", v.up, "mode", v.mode,
			 "rx_packets", number(v.rx_packets), "rx_bytes", number(v.rx_bytes), "tx_packets",
			 number(v.tx_packets), "tx_bytes", number(v.tx_bytes), "rx_lost",
			 number(v.lost_ring + v.lost_socket + v.lost_device), "drops", drops, "queues", queues);
}

static void *build_ports(const struct stats *s, void *arg)
{
	json_t *list = json_array();

	for (uint32_t p = 0; p < view_ports(s); p++)
		json_array_append_new(list, port_json(s, p));
	return json_pack("{s:o}", "ports", list);
}

static void get_ports(struct request *r, struct response *a)
{
	answer(r, a, build_ports);
}

// ---- shapers

static json_t *shaper_json(const struct stats *s, uint32_t h)
{
	const struct stats_shaper *sh = &s->shaper[h];
	uint32_t first, ids = view_ids(s, h, &first), classes = 0;
	char name[NAME_MAX_LEN], port[NAME_MAX_LEN] = "";

	for (uint32_t id = 0; id < ids; id++)
		classes += view_is_class(&s->class_info[first + id], id);
	if (sh->port < PORTS_MAX)
		text_name(port, s->port[sh->port].name, sizeof port);
	return json_pack("{s:s, s:s, s:o, s:i, s:i}", "name", text_name(name, sh->name, sizeof name), "port", port,
			 "rate_bps", counter(&sh->rate_bps), "worker", (int)sh->worker, "classes", (int)classes);
}

static void *build_shapers(const struct stats *s, void *arg)
{
	json_t *list = json_array();

	for (uint32_t h = 0; h < view_shapers(s); h++)
		if (view_is_shaper(s, h))
			json_array_append_new(list, shaper_json(s, h));
	return json_pack("{s:o}", "shapers", list);
}

static void get_shapers(struct request *r, struct response *a)
{
	answer(r, a, build_shapers);
}

// ---- classes

enum { SUMS = 10, TREE_DEPTH = 64 }; // TREE_DEPTH: steps up that a walk takes at most; plans are shallower

// The numbers of a class, in the order of an answer. Those of an inner class are the sums of the leaves below it.
struct sums {
	uint64_t n[SUMS];
};

static void leaf_sums(const struct class_stats *k, struct sums *out)
{
	const counter_t *const from[SUMS] = {&k->sent_packets,      &k->sent_bytes,    &k->enq_packets, &k->enq_bytes,
					     &k->backlog_packets,   &k->backlog_bytes, &k->drop_full,   &k->drop_codel,
					     &k->drop_reconfigured, &k->marked};

	for (size_t i = 0; i < SUMS; i++)
		out->n[i] = counter_read(from[i]);
}

static struct sums *class_sums(const struct stats *s, uint32_t first, uint32_t ids)
{
	struct sums *sum = calloc(ids ? ids : 1, sizeof *sum);

	for (uint32_t id = 0; sum && id < ids; id++) {
		const struct stats_class *c = &s->class_info[first + id];
		struct sums leaf;

		if (!c->name[0] || c->leaf_kind == LEAF_NONE)
			continue;
		leaf_sums(&s->class_stats[first + id], &leaf);
		sum[id] = leaf;
		for (uint32_t up = id, steps = 0; up && steps < TREE_DEPTH; steps++) {
			up = s->class_info[first + up].parent_id;
			if (up >= ids)
				break;
			for (size_t i = 0; i < SUMS; i++)
				sum[up].n[i] += leaf.n[i];
		}
	}
	return sum;
}

static void put_field(struct text *t, const char *before, uint64_t n)
{
	text_put(t, before);
	text_number(t, bounded(n));
}

static void class_text(struct text *t, const struct stats *s, uint32_t first, uint32_t ids, uint32_t id,
		       const struct sums *sum)
{
	static const char *const field[SUMS] = {
		",\"sent_packets\":",    ",\"sent_bytes\":",    ",\"enqueued_packets\":",      ",\"enqueued_bytes\":",
		",\"backlog_packets\":", ",\"backlog_bytes\":", ",\"drops\":{\"queue_full\":", ",\"codel\":",
		",\"reconfigured\":",    "},\"marked\":"};
	const struct stats_class *c = &s->class_info[first + id];
	const counter_t *delay = s->class_stats[first + id].delay;
	bool timed = c->leaf_kind != LEAF_NONE && sum->n[0];
	char name[CLASS_NAME_MAX];

	text_put(t, "{\"name\":\"");
	text_put(t, text_name(name, c->name, sizeof name));
	text_put(t, "\",\"parent\":\"");
	text_put(t, c->parent_id < ids ? text_name(name, s->class_info[first + c->parent_id].name, sizeof name) : "");
	text_put(t, "\",\"leaf\":\"");
	text_put(t, view_leaf(c->leaf_kind));
	text_put(t, c->is_default ? "\",\"default\":true" : "\",\"default\":false");
	put_field(t, ",\"rt_bps\":", c->rt_bps);
	put_field(t, ",\"ls_bps\":", c->ls_bps);
	put_field(t, ",\"ul_bps\":", c->ul_bps);
	for (size_t i = 0; i < SUMS; i++)
		put_field(t, field[i], sum->n[i]);
	put_field(t, ",\"delay_p50_ns\":", timed ? delay_quantile(delay, 500) : 0);
	put_field(t, ",\"delay_p99_ns\":", timed ? delay_quantile(delay, 990) : 0);
	text_put(t, "}");
}

static char *classes_text(const struct stats *s, uint32_t h)
{
	uint32_t first, ids = view_ids(s, h, &first);
	struct sums *sum = class_sums(s, first, ids);
	char name[NAME_MAX_LEN];
	const char *comma = "";
	struct text t = {0};

	if (!sum)
		return NULL;
	text_put(&t, "{\"shaper\":\"");
	text_put(&t, text_name(name, s->shaper[h].name, sizeof name));
	put_field(&t, "\",\"rate_bps\":", counter_read(&s->shaper[h].rate_bps));
	text_put(&t, ",\"classes\":[");
	for (uint32_t id = 0; id < ids; id++) {
		if (!view_is_class(&s->class_info[first + id], id))
			continue;
		text_put(&t, comma);
		class_text(&t, s, first, ids, id, &sum[id]);
		comma = ",";
	}
	text_put(&t, "]}");
	free(sum);
	return text_take(&t);
}

struct wanted {
	const char *name;
	bool found;
};

static void *build_classes(const struct stats *s, void *arg)
{
	struct wanted *want = arg;
	char name[NAME_MAX_LEN];

	want->found = false;
	for (uint32_t h = 0; h < view_shapers(s); h++)
		if (view_is_shaper(s, h) && !strcmp(text_name(name, s->shaper[h].name, sizeof name), want->name)) {
			want->found = true;
			return classes_text(s, h);
		}
	return NULL;
}

static void get_classes(struct request *r, struct response *a)
{
	const struct stats *s = r->api->stats;
	struct wanted want = {.name = r->name ? r->name : ""};
	char *text = s ? view_consistent(s, build_classes, &want, free) : NULL;

	if (text) {
		a->status = 200;
		a->text = text;
		a->type = "application/json";
	} else if (s && !want.found) {
		respond_error(a, 404, "there is no such shaper", NULL);
	} else {
		respond_error(a, 503, s ? "the statistics can't be read now" : "no engine has run yet", NULL);
	}
}

// ---- workers, drops, metrics

static json_t *worker_json(const struct stats *s, uint32_t w)
{
#define WORKER(member)                                         \
	{                                                      \
#member, offsetof(struct stats_worker, member) \
	}
	static const struct column column[] = {
		WORKER(loops),
		WORKER(busy_ns),
		WORKER(sleeps),
		WORKER(wakeups),
		WORKER(timeouts),
		WORKER(flooded),
		WORKER(handed_over),
		WORKER(received_over),
		WORKER(frames_cache),
		WORKER(frames_held),
		WORKER(fdb_entries),
		WORKER(frames_handoff),
		WORKER(longest_pause_ns),
	};
	json_t *o = json_pack("{s:i}", "worker", (int)w);

	set_counters(o, &s->worker[w], column, ARRAY_LEN(column));
	return o;
}

static void *build_workers(const struct stats *s, void *arg)
{
	json_t *list = json_array(), *frames;
	struct view_frames f;

	for (uint32_t w = 0; w < view_workers(s); w++)
		json_array_append_new(list, worker_json(s, w));
	view_frames(s, &f);
	frames = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "total", number(f.total), "pool",
			   number(f.pool), "cache", number(f.cache), "held", number(f.held), "handoff",
			   number(f.handoff), "fill", number(f.fill), "rx", number(f.rx), "tx", number(f.tx),
			   "unaccounted", (json_int_t)f.unaccounted);
	return json_pack("{s:o, s:o}", "workers", list, "frames", frames);
}

static void get_workers(struct request *r, struct response *a)
{
	answer(r, a, build_workers);
}

static void *build_drops(const struct stats *s, void *arg)
{
	json_t *list = json_array();

	for (uint32_t i = 1; i < DROP_REASON_COUNT; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "reason", drop_name(i), "text", drop_text(i),
						      "packets", number(view_dropped(s, i))));
	return json_pack("{s:o}", "drops", list);
}

static void get_drops(struct request *r, struct response *a)
{
	answer(r, a, build_drops);
}

static void get_metrics(struct request *r, struct response *a)
{
	char *text = metrics_text(r->api->stats);

	if (!text) {
		respond_error(a, 503, "the statistics can't be read now", NULL);
		return;
	}
	a->status = 200;
	a->text = text;
	a->type = METRICS_TYPE;
}

const struct route api_state_routes[] = {
	{HTTP_GET, "/v1/state/ports", ROLE_VIEWER, get_ports, 0, "ports with counters and queues"},
	{HTTP_GET, "/v1/state/shapers", ROLE_VIEWER, get_shapers, 0, "shapers in force"},
	{HTTP_GET, "/v1/state/shapers/{name}/classes", ROLE_VIEWER, get_classes, 0,
	 "classes of a shaper with counters"},
	{HTTP_GET, "/v1/state/workers", ROLE_VIEWER, get_workers, 0, "packet threads and buffers"},
	{HTTP_GET, "/v1/state/drops", ROLE_VIEWER, get_drops, 0, "packets dropped by reason"},
	{HTTP_GET, "/v1/schema", ROLE_VIEWER, api_schema_get, 0, "all settings"},
	{HTTP_GET, "/metrics", ROLE_VIEWER, get_metrics, 0, "Prometheus metrics"},
	{0},
};
