// SPDX-License-Identifier: GPL-2.0-or-later
// Rates from counters. A sample copies every counter it needs while the names stand still; an event is the difference
// of two samples, so an event that must be taken again has spoilt nothing. Counters of an engine that was restarted may
// be smaller than before: that is a difference of zero. A class id that means another class than before starts
// from zero, as its counters did.
//
// Delays need differences of whole histograms. Only classes that sent something in the interval are looked at, and only
// those keep a copy: 768 bytes for each class that was ever busy, nothing for the thousands that are not.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/clock.h"
#include "mgmt/api_state.h"
#include "mgmt/stats_view.h"
#include "mgmt/text.h"

enum { TREE_DEPTH = 64 }; // steps up that a walk takes at most; plans are shallower

struct class_sample {
	char name[CLASS_NAME_MAX];
	uint32_t parent, leaf_kind;
	uint64_t packets, bytes, drops; // since its beginning
	uint64_t backlog_packets, backlog_bytes;
};

struct shaper_sample {
	char name[NAME_MAX_LEN];
	bool is_shaper;
	uint64_t rate_bps;
	uint32_t first, ids; // first: of class_info
	struct class_sample *cls;
};

struct port_sample {
	char name[NAME_MAX_LEN];
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, lost;
	const char *mode;
	bool up;
};

struct sample {
	nsec_t when;
	uint32_t ports, shapers, workers;
	struct port_sample port[PORTS_MAX];
	struct shaper_sample shaper[PORTS_MAX];
	uint64_t busy_ns[WORKERS_MAX];
};

struct stats_sampler {
	uint32_t classes_max;
	struct sample *last;
	uint64_t *delay[STATS_CLASSES_MAX]; // histogram seen last, by index of class_info; NULL: all zero
};

// ---- taking a sample

static void sample_free(void *p)
{
	struct sample *m = p;

	for (uint32_t h = 0; m && h < m->shapers; h++)
		free(m->shaper[h].cls);
	free(m);
}

static bool sample_shaper(const struct stats *s, uint32_t h, struct shaper_sample *to)
{
	to->ids = view_ids(s, h, &to->first);
	to->is_shaper = view_is_shaper(s, h);
	to->rate_bps = counter_read(&s->shaper[h].rate_bps);
	to->cls = calloc(to->ids ? to->ids : 1, sizeof *to->cls);
	text_name(to->name, s->shaper[h].name, sizeof to->name);
	for (uint32_t id = 0; to->cls && id < to->ids; id++) {
		const struct stats_class *c = &s->class_info[to->first + id];
		const struct class_stats *k = &s->class_stats[to->first + id];
		struct class_sample *m = &to->cls[id];

		if (!c->name[0])
			continue;
		text_name(m->name, c->name, sizeof m->name);
		m->parent = c->parent_id;
		m->leaf_kind = c->leaf_kind;
		m->packets = counter_read(&k->sent_packets);
		m->bytes = counter_read(&k->sent_bytes);
		m->drops = counter_read(&k->drop_full) + counter_read(&k->drop_codel) +
			   counter_read(&k->drop_reconfigured);
		m->backlog_packets = counter_read(&k->backlog_packets);
		m->backlog_bytes = counter_read(&k->backlog_bytes);
	}
	return to->cls != NULL;
}

static void *sample_take(const struct stats *s, void *arg)
{
	struct sample *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->ports = view_ports(s);
	for (uint32_t p = 0; p < m->ports; p++) {
		struct view_port v;

		view_port(s, p, &v);
		m->port[p] = (struct port_sample){
			.rx_packets = v.rx_packets,
			.rx_bytes = v.rx_bytes,
			.tx_packets = v.tx_packets,
			.tx_bytes = v.tx_bytes,
			.lost = v.lost_ring + v.lost_socket + v.lost_device,
			.mode = v.mode,
			.up = v.up,
		};
		text_name(m->port[p].name, s->port[p].name, sizeof m->port[p].name);
	}
	m->workers = view_workers(s);
	for (uint32_t w = 0; w < m->workers; w++)
		m->busy_ns[w] = counter_read(&s->worker[w].busy_ns);
	for (uint32_t h = 0, n = view_shapers(s); h < n; h++) {
		m->shapers++;
		if (!sample_shaper(s, h, &m->shaper[h])) {
			sample_free(m);
			return NULL;
		}
	}
	return m;
}

// ---- differences

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static json_t *per_second(uint64_t n, uint64_t factor, nsec_t dt)
{
	u128 rate = dt ? (u128)n * factor * NSEC_PER_SEC / dt : 0;

	return json_integer(rate < INT64_MAX ? (json_int_t)rate : INT64_MAX);
}

struct class_rate {
	uint32_t id;
	uint64_t packets, bytes, drops, backlog_packets, backlog_bytes;
	nsec_t p50, p99;
};

static const struct class_sample *class_before(const struct sample *last, uint32_t h, const struct shaper_sample *now,
					       uint32_t id)
{
	static const struct class_sample zero;
	const struct shaper_sample *b = last && h < last->shapers ? &last->shaper[h] : NULL;

	if (!b || b->first != now->first || id >= b->ids || strcmp(b->cls[id].name, now->cls[id].name) != 0)
		return &zero;
	return &b->cls[id];
}

// What the histogram counted since the last look, as quantiles.
static void delays(struct stats_sampler *m, const struct stats *s, uint32_t index, struct class_rate *out)
{
	uint64_t *seen = m->delay[index];
	counter_t interval[DELAY_BUCKETS];

	if (!seen)
		seen = m->delay[index] = calloc(DELAY_BUCKETS, sizeof *seen);
	if (!seen)
		return;
	for (uint32_t b = 0; b < DELAY_BUCKETS; b++) {
		uint64_t n = counter_read(&s->class_stats[index].delay[b]);

		atomic_init(&interval[b].value, since(n, seen[b]));
		seen[b] = n;
	}
	out->p50 = delay_quantile(interval, 500);
	out->p99 = delay_quantile(interval, 990);
}

// An inner class is the sum of the leaves below it.
static void add_to_parents(const struct shaper_sample *now, struct class_rate *rate, uint32_t id)
{
	const struct class_rate leaf = rate[id];

	for (unsigned steps = 0; id && steps < TREE_DEPTH; steps++) {
		id = now->cls[id].parent;
		if (id >= now->ids || !now->cls[id].name[0])
			return;
		rate[id].packets += leaf.packets;
		rate[id].bytes += leaf.bytes;
		rate[id].drops += leaf.drops;
		rate[id].backlog_packets += leaf.backlog_packets;
		rate[id].backlog_bytes += leaf.backlog_bytes;
	}
}

// A rate for every id of the shaper. NULL without memory.
static struct class_rate *class_rates(struct stats_sampler *m, const struct stats *s, const struct sample *sample,
				      uint32_t h)
{
	const struct shaper_sample *now = &sample->shaper[h];
	struct class_rate *rate = calloc(now->ids ? now->ids : 1, sizeof *rate);

	for (uint32_t id = 0; rate && id < now->ids; id++) {
		const struct class_sample *c = &now->cls[id], *b = class_before(m->last, h, now, id);

		rate[id].id = id;
		if (!c->name[0] || c->leaf_kind == LEAF_NONE)
			continue;
		if (!b->name[0]) { // another class had the id
			free(m->delay[now->first + id]);
			m->delay[now->first + id] = NULL;
		}
		rate[id].packets = since(c->packets, b->packets);
		rate[id].bytes = since(c->bytes, b->bytes);
		rate[id].drops = since(c->drops, b->drops);
		rate[id].backlog_packets = c->backlog_packets;
		rate[id].backlog_bytes = c->backlog_bytes;
		if (rate[id].packets || c->packets < b->packets)
			delays(m, s, now->first + id, &rate[id]);
		if (!m->last) // everything ever sent is no rate
			rate[id].packets = rate[id].bytes = rate[id].drops = rate[id].p50 = rate[id].p99 = 0;
		add_to_parents(now, rate, id);
	}
	return rate;
}

// ---- the busiest

static int busier(const void *a, const void *b)
{
	const struct class_rate *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->backlog_bytes != y->backlog_bytes)
		return x->backlog_bytes > y->backlog_bytes ? -1 : 1;
	if (x->drops != y->drops)
		return x->drops > y->drops ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int earlier(const void *a, const void *b)
{
	const struct class_rate *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

// Moves what an event shows to the front: at most `max` classes, the busiest, in the order of their ids.
static uint32_t choose(const struct shaper_sample *now, struct class_rate *rate, uint32_t max, bool *truncated)
{
	uint32_t n = 0;

	for (uint32_t id = 0; id < now->ids; id++)
		if (now->cls[id].name[0] && (id || now->cls[id].leaf_kind != LEAF_NONE))
			rate[n++] = rate[id];
	*truncated = max && n > max;
	if (!*truncated)
		return n;
	qsort(rate, n, sizeof *rate, busier);
	qsort(rate, max, sizeof *rate, earlier);
	return max;
}

// ---- the event

static json_t *class_event(const struct class_sample *c, const struct class_rate *r, nsec_t dt)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "name", c->name, "bps",
			 per_second(r->bytes, 8, dt), "pps", per_second(r->packets, 1, dt), "drops_ps",
			 per_second(r->drops, 1, dt), "backlog_packets", (json_int_t)r->backlog_packets,
			 "backlog_bytes", (json_int_t)r->backlog_bytes, "delay_p50_ns", (json_int_t)r->p50,
			 "delay_p99_ns", (json_int_t)r->p99);
}

static json_t *shaper_event(struct stats_sampler *m, const struct stats *s, const struct sample *now, uint32_t h,
			    nsec_t dt)
{
	const struct shaper_sample *sh = &now->shaper[h];
	struct class_rate *rate = class_rates(m, s, now, h);
	json_t *list = json_array(), *out;
	bool truncated = false;
	uint32_t n;

	if (!rate || !list) {
		free(rate);
		json_decref(list);
		return NULL;
	}
	n = choose(sh, rate, m->classes_max, &truncated);
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list, class_event(&sh->cls[rate[i].id], &rate[i], dt));
	free(rate);
	out = json_pack("{s:s, s:I, s:o}", "name", sh->name, "rate_bps", (json_int_t)sh->rate_bps, "classes", list);
	if (truncated)
		json_object_set_new(out, "truncated", json_true());
	return out;
}

static json_t *port_event(const struct port_sample *p, const struct port_sample *b, nsec_t dt)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:s}", "name", p->name, "rx_bps",
			 per_second(since(p->rx_bytes, b->rx_bytes), 8, dt), "rx_pps",
			 per_second(since(p->rx_packets, b->rx_packets), 1, dt), "tx_bps",
			 per_second(since(p->tx_bytes, b->tx_bytes), 8, dt), "tx_pps",
			 per_second(since(p->tx_packets, b->tx_packets), 1, dt), "lost_pps",
			 per_second(since(p->lost, b->lost), 1, dt), "up", p->up, "mode", p->mode);
}

static json_t *worker_event(uint32_t w, uint64_t busy_ns, nsec_t dt)
{
	double percent = dt ? 100.0 * (double)busy_ns / (double)dt : 0;

	return json_pack("{s:i, s:f}", "worker", (int)w, "busy_percent",
			 percent > 100 ? 100.0 : (int)(percent * 10) / 10.0);
}

static json_t *event(struct stats_sampler *m, const struct stats *s, const struct sample *now, const char *time_text)
{
	const struct sample *last = m->last;
	nsec_t dt = last && time_before(last->when, now->when) ? now->when - last->when : 0;
	json_t *ports = json_array(), *shapers = json_array(), *workers = json_array();

	for (uint32_t p = 0; p < now->ports; p++) {
		const struct port_sample *b = last && p < last->ports ? &last->port[p] : &now->port[p];

		json_array_append_new(ports, port_event(&now->port[p], b, dt));
	}
	for (uint32_t h = 0; h < now->shapers; h++)
		if (now->shaper[h].is_shaper)
			json_array_append_new(shapers, shaper_event(m, s, now, h, dt));
	for (uint32_t w = 0; w < now->workers; w++) {
		uint64_t before = last && w < last->workers ? last->busy_ns[w] : now->busy_ns[w];

		json_array_append_new(workers, worker_event(w, since(now->busy_ns[w], before), dt));
	}
	return json_pack("{s:s, s:o, s:o, s:o}", "time", time_text, "ports", ports, "shapers", shapers, "workers",
			 workers);
}

struct stats_sampler *stats_sampler_new(uint32_t classes_max)
{
	struct stats_sampler *m = calloc(1, sizeof *m);

	if (m)
		m->classes_max = classes_max;
	return m;
}

void stats_sampler_free(struct stats_sampler *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < STATS_CLASSES_MAX; i++)
		free(m->delay[i]);
	sample_free(m->last);
	free(m);
}

json_t *state_stats_event_at(const struct stats *s, struct stats_sampler *m, nsec_t now, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / NSEC_PER_SEC);
	char day[32], text[64];
	struct sample *sample;
	struct tm tm;
	json_t *out;

	if (!s || !(sample = view_consistent(s, sample_take, NULL, sample_free)))
		return NULL;
	sample->when = now;
	strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
	snprintf(text, sizeof text, "%s.%03uZ", day, (unsigned)(unix_ns % NSEC_PER_SEC / NSEC_PER_MSEC));
	out = event(m, s, sample, text);
	sample_free(m->last);
	m->last = sample;
	return out;
}

json_t *state_stats_event(const struct stats *s, struct stats_sampler *m)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return state_stats_event_at(s, m, clock_now(), (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec);
}
