// SPDX-License-Identifier: GPL-2.0-or-later
// Playing a scenario: a queue of events in virtual time, sources that make packets, and for each tree a worker that
// enqueues what has arrived and dequeues what is due. Nothing depends on anything but the file and its seed: events of
// one instant run in the order they were made, and each source has a generator of its own.
//
// An ideal worker is called at each arrival and at each due time. A polled one is called every so often, with a
// random delay, takes what arrived meanwhile in one batch and asks for one batch: the product's loop as the
// scheduler sees it. Frames have no bytes here; a packet is its descriptor.
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/oracle/hfsc_oracle.h"

enum { CHECKS = 100, BATCH_MAX = 4096, CALLS_AN_INSTANT_MAX = 1 << 20 };
enum event_kind { EVENT_EMIT, EVENT_ACK, EVENT_LOSS, EVENT_WORK, EVENT_CHANGE, EVENT_CHECK };
enum where { FREE, ARRIVED, QUEUED };

struct event {
	nsec_t at;
	uint64_t order;
	uint32_t kind, index, flow;
};

struct flow {
	uint64_t seq, seen; // last one made, last one that left
	double window, threshold;
	uint32_t flying;
	nsec_t recovered; // losses before this belong to the last decrease
};

struct source {
	uint64_t random;
	struct flow *flow;
	uint32_t turn, flying;
	nsec_t phase; // on/off: end of the running on-time
	bool wanting; // greedy: on the list of those to refill
};

struct meta {
	uint64_t seq;
	uint32_t source, flow, cls, where;
};

struct tree_run {
	struct tree *tree;
	struct class_stats *stats;
	uint32_t plan;
	nsec_t work_at; // of the event that counts; others are stale
	bool touched;
	uint32_t *arrived; // packets waiting for the worker
	uint32_t arrivals, arrivals_room;
	uint64_t enqueued, sent, dropped;
	struct oracle *follows, *alone;
	uint64_t *rt_seen; // [classes] rt_packets when last looked
};

struct run {
	const struct scenario *s;
	struct watch *w;
	struct result *r;
	struct packet *pkt;
	struct meta *meta;
	uint32_t *free, frees;
	struct event *heap;
	uint32_t events, heap_room;
	uint64_t order;
	struct source *source;
	struct tree_run *tree;
	uint32_t *id_of; // [classes] id in the running plan, UINT32_MAX: not in it
	uint32_t *wanting, wants;
};

static void *zeroed(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		abort();
	return p;
}

static void broken(struct run *x, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void broken(struct run *x, const char *fmt, ...)
{
	va_list ap;

	if (x->r->broken[0])
		return;
	va_start(ap, fmt);
	vsnprintf(x->r->broken, sizeof x->r->broken, fmt, ap);
	va_end(ap);
}

// --- events --------------------------------------------------------------------------------------------------------

static bool event_before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void event_add(struct run *x, nsec_t at, uint32_t kind, uint32_t index, uint32_t flow)
{
	struct event e = {at, x->order++, kind, index, flow};
	uint32_t i = x->events++;

	if (x->events > x->heap_room) {
		x->heap_room = x->heap_room ? 2 * x->heap_room : 1024;
		x->heap = realloc(x->heap, x->heap_room * sizeof *x->heap);
		if (!x->heap)
			abort();
	}
	for (; i && event_before(&e, &x->heap[(i - 1) / 2]); i = (i - 1) / 2)
		x->heap[i] = x->heap[(i - 1) / 2];
	x->heap[i] = e;
}

static struct event event_take(struct run *x)
{
	struct event top = x->heap[0], last = x->heap[--x->events];
	uint32_t i = 0, c;

	while ((c = 2 * i + 1) < x->events) {
		if (c + 1 < x->events && event_before(&x->heap[c + 1], &x->heap[c]))
			c++;
		if (!event_before(&x->heap[c], &last))
			break;
		x->heap[i] = x->heap[c];
		i = c;
	}
	x->heap[i] = last;
	return top;
}

// --- packets and sources -------------------------------------------------------------------------------------------

static uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((u128)random_next(state) * n >> 64);
}

static uint16_t random_size(const struct sim_source *q, uint64_t *state)
{
	uint32_t total = 0, pick;

	if (q->sizes == 1)
		return q->size[0];
	for (uint32_t i = 0; i < q->sizes; i++)
		total += q->weight[i];
	pick = random_below(state, total);
	for (uint32_t i = 0;; i++) {
		if (pick < q->weight[i])
			return q->size[i];
		pick -= q->weight[i];
	}
}

// One packet into the arrivals of the source's tree; its wire length, 0 if no descriptor was free.
static uint32_t emit(struct run *x, uint32_t source, uint32_t flow, nsec_t now)
{
	const struct sim_source *q = &x->s->source[source];
	struct tree_run *t = &x->tree[x->s->cls[q->cls].tree];
	const struct plan *plan = x->s->tree[x->s->cls[q->cls].tree].plan[t->plan];
	uint16_t len = random_size(q, &x->source[source].random);
	uint64_t hash = (uint64_t)source << 32 | (flow + 1);
	uint32_t i;

	x->r->source[source].offered++;
	if (!x->frees) {
		x->r->cls[q->cls].drops[DROP_NO_FRAMES]++;
		x->r->source[source].drops[DROP_NO_FRAMES]++;
		return 0;
	}
	i = x->free[--x->frees];
	x->meta[i] = (struct meta){++x->source[source].flow[flow].seq, source, flow, q->cls, ARRIVED};
	x->pkt[i] = (struct packet){.class_id = x->id_of[q->cls],
				    .flow = random_next(&hash) | 1,
				    .arrival = now,
				    .len = len,
				    .wire_len = (uint16_t)wire_length(&plan->wire, len),
				    .l3_kind = L3_IPV4,
				    .tos = q->ect ? 2 : 0};
	if (t->arrivals == t->arrivals_room) {
		t->arrivals_room = t->arrivals_room ? 2 * t->arrivals_room : 256;
		t->arrived = realloc(t->arrived, t->arrivals_room * sizeof *t->arrived);
		if (!t->arrived)
			abort();
	}
	t->arrived[t->arrivals++] = i;
	t->touched = true;
	x->source[source].flying++;
	x->source[source].flow[flow].flying++;
	return x->pkt[i].wire_len;
}

static void fill_window(struct run *x, uint32_t source, uint32_t flow, nsec_t now)
{
	const struct sim_source *q = &x->s->source[source];
	struct flow *f = &x->source[source].flow[flow];

	while (now < q->to && (double)(f->flying + 1) <= f->window && emit(x, source, flow, now))
		;
}

static void refill_greedy(struct run *x, uint32_t source, nsec_t now)
{
	const struct sim_source *q = &x->s->source[source];
	struct source *y = &x->source[source];

	y->wanting = false;
	while (now < q->to && y->flying < q->count && emit(x, source, y->turn, now))
		y->turn = (y->turn + 1) % q->flows;
}

// Time to the next packet of a source that sends by the clock, after one of `bytes`.
static nsec_t spacing(struct run *x, uint32_t source, uint32_t bytes, nsec_t now)
{
	const struct sim_source *q = &x->s->source[source];
	struct source *y = &x->source[source];
	nsec_t gap = q->rate_bps ? bytes_to_ns(bytes, q->rate_bps) : q->interval;

	if (q->kind == SOURCE_POISSON) {
		double u = ((double)(random_next(&y->random) >> 11) + 0.5) / 9007199254740992.0;

		gap = (nsec_t)(-log(u) * (double)gap) + 1;
	}
	if (q->kind == SOURCE_ONOFF && now + gap >= y->phase) {
		gap = y->phase - now + q->off;
		y->phase = now + gap + q->on;
	}
	return gap;
}

static void event_emit(struct run *x, uint32_t source, nsec_t now)
{
	const struct sim_source *q = &x->s->source[source];
	struct source *y = &x->source[source];
	uint32_t bytes = 0;

	switch (q->kind) {
	case SOURCE_GREEDY:
		refill_greedy(x, source, now);
		return;
	case SOURCE_RENO:
		for (uint32_t f = 0; f < q->flows; f++)
			fill_window(x, source, f, now);
		return;
	default:
		break;
	}
	if (now >= q->to)
		return;
	for (uint32_t i = 0; i < q->count; i++) {
		bytes = emit(x, source, y->turn, now);
		y->turn = (y->turn + 1) % q->flows;
	}
	event_add(x, now + spacing(x, source, bytes ? bytes : q->size[0], now), EVENT_EMIT, source, 0);
}

// Reno: one packet acknowledged, or known to be lost, one round trip after it left or was dropped.
static void event_answer(struct run *x, const struct event *e)
{
	struct flow *f = &x->source[e->index].flow[e->flow];

	f->flying--;
	if (e->kind == EVENT_ACK) {
		f->window += f->window < f->threshold ? 1 : 1 / f->window;
	} else if (e->at >= f->recovered) {
		f->threshold = f->window = fmax(f->window / 2, 2);
		f->recovered = e->at + x->s->source[e->index].rtt;
	}
	fill_window(x, e->index, e->flow, e->at);
}

// The packet is out of the tree: its descriptor is free again, and its source hears of it.
static void packet_done(struct run *x, uint32_t i, bool lost, nsec_t now)
{
	struct meta *m = &x->meta[i];
	const struct sim_source *q = &x->s->source[m->source];
	struct source *y = &x->source[m->source];

	m->where = FREE;
	x->free[x->frees++] = i;
	y->flying--;
	if (q->kind == SOURCE_RENO) {
		event_add(x, now + q->rtt, lost ? EVENT_LOSS : EVENT_ACK, m->source, m->flow);
		return;
	}
	y->flow[m->flow].flying--;
	if (q->kind == SOURCE_GREEDY && !y->wanting) {
		y->wanting = true;
		x->wanting[x->wants++] = m->source;
	}
}

// --- the worker ----------------------------------------------------------------------------------------------------

static bool in_tree(struct run *x, uint32_t i, const char *how)
{
	if (i == PKT_NONE || i >= x->s->packets || x->meta[i].where != QUEUED) {
		broken(x, "packet %u was %s, but is not in the tree", i, how);
		return false;
	}
	return true;
}

static void take_freed(struct run *x, struct tree_run *t, struct pkt_list *freed, nsec_t now)
{
	uint32_t i;

	while ((i = pkt_list_take(freed, x->pkt)) != PKT_NONE) {
		uint32_t reason = x->pkt[i].drop;

		if (!in_tree(x, i, "dropped"))
			return;
		if (reason == DROP_NONE || reason >= DROP_REASON_COUNT) {
			broken(x, "a packet was dropped without a reason");
			reason = 0;
		}
		if (t->follows)
			broken(x, "a packet was dropped; the oracle follows trees without drops only");
		x->r->cls[x->meta[i].cls].drops[reason]++;
		x->r->source[x->meta[i].source].drops[reason]++;
		t->dropped++;
		packet_done(x, i, true, now);
	}
}

static void digest(struct result *r, uint64_t v)
{
	uint64_t state = r->digest ^ v;

	r->digest = random_next(&state);
}

static void take_sent(struct run *x, struct tree_run *t, uint32_t i, nsec_t now)
{
	struct meta *m = &x->meta[i];
	struct flow *f;
	struct class_result *c = &x->r->cls[m->cls];
	bool marked = x->pkt[i].flags & PKT_MARK_CE;

	if (!in_tree(x, i, "handed out"))
		return;
	f = &x->source[m->source].flow[m->flow];
	if (m->seq <= f->seen)
		broken(x, "flow %u of source %s: packet %" PRIu64 " left after packet %" PRIu64, m->flow,
		       x->s->source[m->source].name, m->seq, f->seen);
	f->seen = m->seq;
	c->packets++;
	c->bytes += x->pkt[i].wire_len;
	c->marks += marked;
	t->sent++;
	x->r->packets++;
	digest(x->r, now);
	digest(x->r, (uint64_t)m->source << 40 | (uint64_t)m->flow << 20 | x->pkt[i].wire_len);
	digest(x->r, m->seq);
	watch_sent(x->w, m->source, x->pkt[i].wire_len, x->pkt[i].arrival, now);
	packet_done(x, i, marked, now);
}

// The oracles' part of one dequeue call, of at most one packet so that the counters tell its criterion. Ids are class
// indices here, as such a tree has one plan only.
static void oracles(struct run *x, struct tree_run *t, const uint32_t *out, uint32_t n, nsec_t now)
{
	const struct plan *plan = x->s->tree[t - x->tree].plan[0];
	struct oracle_sent sent;
	struct oracle_result *o = &x->r->oracle;

	oracle_poll(t->follows, now);
	if (n) {
		uint32_t c = x->pkt[out[0]].class_id;
		uint64_t rt = counter_read(&t->stats[c].rt_packets);

		oracle_follow(t->follows, c, rt > t->rt_seen[c], now);
		t->rt_seen[c] = rt;
	} else {
		oracle_rests(t->follows, now);
	}
	oracle_send(t->alone, now, &sent);
	for (uint32_t c = 1; c < plan->classes; c++) {
		double d = fabs((double)oracle_bytes(t->alone, c) - (double)oracle_bytes(t->follows, c));

		if (d / plan->mtu_wire > o->service_diff)
			o->service_diff = d / plan->mtu_wire;
	}
}

static void enqueue_arrived(struct run *x, struct tree_run *t, nsec_t now)
{
	struct pkt_list freed = {0};

	for (uint32_t i = 0; i < t->arrivals; i++) {
		struct packet *p = &x->pkt[t->arrived[i]];

		x->meta[t->arrived[i]].where = QUEUED;
		if (t->follows) {
			oracle_arrive(t->follows, p->class_id, p->wire_len, 0, now);
			oracle_arrive(t->alone, p->class_id, p->wire_len, 0, now);
		}
	}
	t->enqueued += t->arrivals;
	tree_enqueue(t->tree, t->arrived, t->arrivals, now, &freed);
	t->arrivals = 0;
	take_freed(x, t, &freed, now);
}

// One call for at most `room` packets; number of packets that left.
static uint32_t take(struct run *x, struct tree_run *t, uint32_t room, nsec_t now)
{
	struct pkt_list freed = {0};
	uint32_t out[BATCH_MAX], n;

	n = tree_dequeue(t->tree, out, room, 1u << 30, now, &freed);
	take_freed(x, t, &freed, now);
	if (n > room)
		broken(x, "dequeue returned %u packets, room was %u", n, room);
	if (t->follows)
		oracles(x, t, out, n, now);
	for (uint32_t i = 0; i < n; i++)
		take_sent(x, t, out[i], now);
	return n;
}

// One turn of the worker's loop: what has arrived, then a batch, which oracles need packet by packet.
static uint32_t turn(struct run *x, struct tree_run *t, nsec_t now)
{
	uint32_t batch = x->s->tree[t - x->tree].batch, n = 0;

	if (t->arrivals)
		enqueue_arrived(x, t, now);
	if (!t->follows)
		n = take(x, t, batch, now);
	while (t->follows && n < batch && take(x, t, 1, now))
		n++;
	for (uint32_t i = 0; i < x->wants; i++)
		refill_greedy(x, x->wanting[i], now);
	x->wants = 0;
	return n;
}

static void work_ideal(struct run *x, struct tree_run *t, nsec_t now)
{
	nsec_t due;

	for (uint32_t calls = 0;; calls++) {
		uint32_t n = turn(x, t, now);

		due = tree_next_due(t->tree);
		if (!t->arrivals && due > now)
			break;
		if ((!n && !t->arrivals) || calls == CALLS_AN_INSTANT_MAX) {
			broken(x, "%" PRIu64 " ns: something is due at %" PRIu64 " ns, but dequeue gave nothing", now,
			       due);
			return;
		}
	}
	if (due == TIME_NEVER) {
		if (tree_backlog_packets(t->tree))
			broken(x, "%" PRIu64 " ns: %u packets are queued, but nothing will ever be due", now,
			       tree_backlog_packets(t->tree));
		return;
	}
	if (due != t->work_at)
		event_add(x, due, EVENT_WORK, (uint32_t)(t - x->tree), 0);
	t->work_at = due;
}

static void event_work(struct run *x, uint32_t tree, nsec_t now)
{
	struct tree_run *t = &x->tree[tree];
	const struct sim_tree *st = &x->s->tree[tree];

	if (!st->polled) {
		if (t->work_at == now) {
			t->work_at = TIME_NEVER;
			t->touched = true;
		}
		return;
	}
	turn(x, t, now);
	t->work_at = now + st->every;
	if (st->jitter)
		t->work_at += (nsec_t)((u128)random_next(&x->source[x->s->sources].random) * st->jitter >> 64);
	event_add(x, t->work_at, EVENT_WORK, tree, 0);
}

// --- changes and checks --------------------------------------------------------------------------------------------

static void learn_ids(struct run *x, uint32_t tree)
{
	const struct sim_tree *st = &x->s->tree[tree];
	uint32_t k = x->tree[tree].plan;

	for (uint32_t c = 0; c < x->s->classes; c++)
		if (x->s->cls[c].tree == tree)
			x->id_of[c] = UINT32_MAX;
	for (uint32_t i = 1; i < st->plan[k]->classes; i++)
		x->id_of[st->class_of[k][i]] = st->plan[k]->cls[i].id;
}

static void check(struct run *x, uint32_t tree, nsec_t now)
{
	struct tree_run *t = &x->tree[tree];
	const char *wrong = tree_check(t->tree);

	if (wrong)
		broken(x, "%" PRIu64 " ns: tree %s: %s", now, x->s->tree[tree].name, wrong);
	if (t->enqueued != t->sent + t->dropped + tree_backlog_packets(t->tree))
		broken(x,
		       "%" PRIu64 " ns: tree %s: %" PRIu64 " packets in, %" PRIu64 " sent, %" PRIu64
		       " dropped, %u queued",
		       now, x->s->tree[tree].name, t->enqueued, t->sent, t->dropped, tree_backlog_packets(t->tree));
}

static void event_change(struct run *x, uint32_t tree, nsec_t now)
{
	struct tree_run *t = &x->tree[tree];
	const struct sim_tree *st = &x->s->tree[tree];
	struct tree_change *c = tree_change_new(st->plan[t->plan], st->plan[t->plan + 1]);
	struct pkt_list freed = {0};

	if (!c)
		abort();
	t->plan++;
	tree_change_apply(t->tree, c, now, &freed);
	take_freed(x, t, &freed, now);
	tree_change_free(c);
	learn_ids(x, tree);
	check(x, tree, now);
	t->touched = true;
}

static void event_check(struct run *x, nsec_t now)
{
	for (uint32_t i = 0; i < x->s->trees; i++) {
		struct pkt_list freed = {0};

		check(x, i, now);
		tree_maintain(x->tree[i].tree, now, &freed);
		take_freed(x, &x->tree[i], &freed, now);
		check(x, i, now);
	}
	event_add(x, now + x->s->duration / CHECKS + 1, EVENT_CHECK, 0, 0);
}

// --- start, run, end -----------------------------------------------------------------------------------------------

static void start_tree(struct run *x, uint32_t i)
{
	const struct sim_tree *st = &x->s->tree[i];
	struct tree_run *t = &x->tree[i];
	struct tree_env env = {.pkt = x->pkt, .packets = x->s->packets};

	for (uint32_t k = 0; k < st->plans; k++)
		if (env.stats_limit < st->plan[k]->id_limit)
			env.stats_limit = st->plan[k]->id_limit;
	env.stats = t->stats = zeroed(env.stats_limit, sizeof *t->stats);
	t->tree = tree_new(st->plan[0], &env);
	if (!t->tree)
		abort();
	t->work_at = TIME_NEVER;
	learn_ids(x, i);
	if (st->oracle) {
		t->follows = oracle_new(st->plan[0]);
		t->alone = oracle_new(st->plan[0]);
		t->rt_seen = zeroed(st->plan[0]->classes, sizeof *t->rt_seen);
	}
	if (st->polled)
		event_add(x, 0, EVENT_WORK, i, 0);
	for (uint32_t k = 1; k < st->plans; k++)
		event_add(x, st->at[k], EVENT_CHANGE, i, 0);
}

static void start(struct run *x)
{
	const struct scenario *s = x->s;

	x->pkt = aligned_alloc(CACHE_LINE, s->packets * sizeof *x->pkt);
	if (!x->pkt)
		abort();
	memset(x->pkt, 0, s->packets * sizeof *x->pkt);
	x->meta = zeroed(s->packets, sizeof *x->meta);
	x->free = zeroed(s->packets, sizeof *x->free);
	for (uint32_t i = s->packets - 1; i > 0; i--)
		x->free[x->frees++] = i;
	x->id_of = zeroed(s->classes, sizeof *x->id_of);
	x->wanting = zeroed(s->sources, sizeof *x->wanting);
	x->tree = zeroed(s->trees, sizeof *x->tree);
	x->source = zeroed(s->sources + 1, sizeof *x->source); // the last one is the workers' jitter
	x->r->cls = zeroed(s->classes, sizeof *x->r->cls);
	x->r->source = zeroed(s->sources, sizeof *x->r->source);
	for (uint32_t i = 0; i <= s->sources; i++)
		x->source[i].random = s->seed * 0x2545f4914f6cdd1dull + i;
	for (uint32_t i = 0; i < s->trees; i++)
		start_tree(x, i);
	for (uint32_t i = 0; i < s->sources; i++) {
		x->source[i].flow = zeroed(s->source[i].flows, sizeof(struct flow));
		x->source[i].phase = s->source[i].from + s->source[i].on;
		for (uint32_t f = 0; f < s->source[i].flows; f++)
			x->source[i].flow[f] = (struct flow){.window = 10, .threshold = 1e4};
		event_add(x, s->source[i].from, EVENT_EMIT, i, 0);
	}
	event_add(x, s->duration / CHECKS, EVENT_CHECK, 0, 0);
}

static void dispatch(struct run *x, const struct event *e)
{
	switch (e->kind) {
	case EVENT_EMIT:
		event_emit(x, e->index, e->at);
		break;
	case EVENT_ACK:
	case EVENT_LOSS:
		event_answer(x, e);
		break;
	case EVENT_WORK:
		event_work(x, e->index, e->at);
		break;
	case EVENT_CHANGE:
		event_change(x, e->index, e->at);
		break;
	default:
		event_check(x, e->at);
	}
}

static void end_tree(struct run *x, uint32_t i)
{
	struct tree_run *t = &x->tree[i];
	const struct sim_tree *st = &x->s->tree[i];
	struct pkt_list left = {0};
	uint32_t p;

	check(x, i, x->s->duration);
	for (uint32_t k = 1; k < st->plan[t->plan]->classes; k++) {
		const struct class_stats *c = &t->stats[st->plan[t->plan]->cls[k].id];
		struct class_result *r = &x->r->cls[st->class_of[t->plan][k]];

		r->p50 = delay_quantile(c->delay, 500);
		r->p99 = delay_quantile(c->delay, 990);
	}
	if (t->follows) {
		const struct oracle_worst *w = oracle_worst(t->follows);
		struct oracle_result *o = &x->r->oracle;

		o->ran = w->packets > 0;
		o->rt_late = fmax(o->rt_late, w->rt_late);
		o->ls_lead = fmax(o->ls_lead, w->ls_lead);
		o->ul_excess = fmax(o->ul_excess, w->ul_excess);
		o->unknown += w->unknown + w->idle;
	}
	// What is still queued comes back when the tree goes, and then every descriptor must be accounted for.
	tree_free(t->tree, &left);
	while ((p = pkt_list_take(&left, x->pkt)) != PKT_NONE)
		if (in_tree(x, p, "left over")) {
			x->meta[p].where = FREE;
			x->frees++;
		}
	x->frees += t->arrivals;
	oracle_free(t->follows);
	oracle_free(t->alone);
	free(t->rt_seen);
	free(t->stats);
	free(t->arrived);
}

static void end(struct run *x)
{
	for (uint32_t i = 0; i < x->s->trees; i++)
		end_tree(x, i);
	if (x->frees != x->s->packets - 1)
		broken(x, "%u of %u descriptors came back", x->frees, x->s->packets - 1);
	for (uint32_t i = 0; i < x->s->sources; i++)
		free(x->source[i].flow);
	free(x->pkt);
	free(x->meta);
	free(x->free);
	free(x->heap);
	free(x->source);
	free(x->tree);
	free(x->id_of);
	free(x->wanting);
}

void run(const struct scenario *s, struct watch *w, struct result *r)
{
	struct run x = {.s = s, .w = w, .r = r};

	*r = (struct result){0};
	start(&x);
	while (x.events && x.heap[0].at < s->duration && !r->broken[0]) {
		nsec_t now = x.heap[0].at;

		// All that happens at one instant happens before an ideal worker looks.
		while (x.events && x.heap[0].at == now) {
			struct event e = event_take(&x);

			dispatch(&x, &e);
		}
		for (uint32_t i = 0; i < s->trees; i++) {
			if (x.tree[i].touched && !s->tree[i].polled)
				work_ideal(&x, &x.tree[i], now);
			x.tree[i].touched = false;
		}
	}
	end(&x);
}

void result_free(struct result *r)
{
	free(r->cls);
	free(r->source);
}
