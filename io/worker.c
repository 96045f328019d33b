// SPDX-License-Identifier: GPL-2.0-or-later
// THE loop. A worker takes a batch from each receive queue, finds out where each packet goes and what it is worth,
// queues it there, lets each scheduler fill the room its transmit queue has, and only then lets the kernel know.
//
// Everything a turn touches belongs to this thread: lanes, schedulers, its frame cache, its address table. What
// others need goes through hand-off rings; what others publish is read through one pointer at the top of the turn.
// Drops collect in w->freed and go back to the pool at the end, in bulk.
//
// When a turn moved nothing for SPIN_NS the worker sleeps. It says so first (`sleeping`), looks once more at
// everything that could give it work, and then waits on its descriptors; whoever gives it work afterwards sees the flag
// and rings. Both sides use read-modify-writes on the flag, so one of the two sees the other (no fence is needed).
#include "io/worker.h"

#include "core/csum.h"
#include "core/parse.h"
#include "io/clock.h"

#include <string.h>

enum {
	HANDOFF_BATCH = 64, // packets taken from one peer a turn
	TX_BATCH = 64,      // packets sent on one lane a turn
	SHED_BATCH = 64,
};

#define SPIN_NS (20 * NSEC_PER_USEC)
#define SLEEP_MAX_NS (250 * NSEC_PER_MSEC)
#define BLOCKED_SLEEP_NS (50 * NSEC_PER_USEC)
#define IDLE_SLEEP_STATS_NS (10 * NSEC_PER_MSEC)

// ---- egress

static void drop(struct worker *w, uint32_t i, enum drop_reason reason)
{
	pkt_drop(&w->freed, w->frames.pkt, i, reason);
}

static void send_to(struct worker *w, uint32_t i, uint16_t port)
{
	struct egress *e = &w->egress[port];
	const struct revision_port *rp = &w->tables->port[port];
	struct packet *p = &w->frames.pkt[i];

	if (atomic_load_explicit(w->port_down, memory_order_relaxed) >> port & 1 || (!e->lane && !e->handoff)) {
		drop(w, i, DROP_PORT_DOWN);
		return;
	}
	p->out_port = port;
	p->wire_len = (uint16_t)wire_length(&rp->plan->wire, p->len);
	p->class_id = rp->classifier ? classify(rp->classifier, p, frame_data(&w->frames, i)) : 0;
	e->batch[e->count++] = i;
	w->touched |= 1ull << port;
}

// To every port of the bridge but the one it came from: copies, and the original to the last.
static void flood(struct worker *w, uint32_t i, const struct bridge *bridge)
{
	const struct packet *p = &w->frames.pkt[i];
	uint16_t pending = PORT_NONE;

	for (uint32_t k = 0; k < bridge->ports; k++) {
		uint32_t copy;

		if (bridge->port[k] == p->in_port)
			continue;
		if (pending != PORT_NONE) {
			if (!frame_cache_get(&w->cache, &copy, 1)) {
				counter_add(&w->stats->drops[DROP_NO_FRAMES], 1);
			} else {
				w->frames.pkt[copy] = *p;
				memcpy(frame_data(&w->frames, copy), frame_data(&w->frames, i), p->len);
				counter_add(&w->stats->flooded, 1);
				send_to(w, copy, pending);
			}
		}
		pending = bridge->port[k];
	}
	if (pending == PORT_NONE)
		drop(w, i, DROP_SAME_PORT);
	else
		send_to(w, i, pending);
}

// Queues what the batch in hand has for each port.
static void flush_egress(struct worker *w, nsec_t now)
{
	while (w->touched) {
		uint16_t port = (uint16_t)__builtin_ctzll(w->touched);
		struct egress *e = &w->egress[port];

		w->touched &= w->touched - 1;
		if (e->lane && (e->lane->owner || !w->tables->port[port].shaped)) {
			tree_enqueue(e->lane->tree, e->batch, e->count, now, &w->freed);
		} else if (e->handoff) {
			counter_add(&w->stats->handed_over, e->count);
			if (handoff_push(e->handoff, e->batch, e->count, &w->freed))
				worker_wake(e->peer);
		} else {
			for (uint32_t k = 0; k < e->count; k++)
				drop(w, e->batch[k], DROP_PORT_DOWN);
		}
		e->count = 0;
	}
}

// ---- ingress

static void decide(struct worker *w, struct lane *lane, uint32_t i, nsec_t now)
{
	struct packet *p = &w->frames.pkt[i];
	uint8_t *data = frame_data(&w->frames, i);
	enum drop_reason reason;
	struct verdict v;

	p->arrival = now;
	reason = parse(p, data, w->seed);
	if (reason) {
		drop(w, i, reason);
		return;
	}
	if (lane->queue->fix_checksums && csum_is_partial(p, data))
		csum_complete(p, data);
	v = forward(&w->tables->forward, w->fdb, w->fdb_all, w->workers, p, data, now);
	if (v.kind == VERDICT_SEND)
		send_to(w, i, v.port);
	else if (v.kind == VERDICT_FLOOD)
		flood(w, i, v.bridge);
	else
		drop(w, i, v.reason);
}

static bool receive(struct worker *w, struct lane *lane, nsec_t now)
{
	uint32_t batch[RX_BATCH], n = lane->queue->ops->rx(lane->queue, batch, RX_BATCH);

	for (uint32_t k = 0; k < n; k++)
		__builtin_prefetch(frame_data(&w->frames, batch[k]));
	for (uint32_t k = 0; k < n; k++)
		decide(w, lane, batch[k], now);
	flush_egress(w, now);
	return n;
}

// Packets that other workers hand over for ports whose right lane is here.
static bool take_over(struct worker *w, struct handoff *h, nsec_t now)
{
	uint32_t batch[HANDOFF_BATCH], n = handoff_pop(h, batch, HANDOFF_BATCH), from = 0;

	for (uint32_t k = 0; k < n; k++) {
		const struct lane *lane = w->egress[w->frames.pkt[batch[k]].out_port].lane;
		bool last = k + 1 == n || w->egress[w->frames.pkt[batch[k + 1]].out_port].lane != lane;

		if (!last)
			continue;
		if (lane)
			tree_enqueue(lane->tree, batch + from, k + 1 - from, now, &w->freed);
		else
			for (uint32_t d = from; d <= k; d++)
				drop(w, batch[d], DROP_PORT_DOWN);
		from = k + 1;
	}
	counter_add(&w->stats->received_over, n);
	return n;
}

// ---- transmit

static bool transmit(struct worker *w, struct lane *lane, nsec_t now)
{
	uint32_t out[TX_BATCH], packets, bytes, n;
	struct packet *pkt = w->frames.pkt;

	lane->blocked = false;
	if (!tree_backlog_packets(lane->tree) ||
	    atomic_load_explicit(w->port_down, memory_order_relaxed) >> lane->port & 1)
		return false;
	lane->queue->ops->tx_room(lane->queue, &packets, &bytes);
	if (!packets || !bytes) {
		lane->blocked = true;
		return false;
	}
	n = tree_dequeue(lane->tree, out, packets < TX_BATCH ? packets : TX_BATCH, bytes, now, &w->freed);
	for (uint32_t k = 0; k < n; k++)
		if (unlikely(pkt[out[k]].flags & PKT_MARK_CE))
			ecn_mark_ce(&pkt[out[k]], frame_data(&w->frames, out[k]));
	if (n)
		lane->queue->ops->tx(lane->queue, out, n);
	return n;
}

// When frames run low the fattest classes give way, before receive queues run dry and take the control plane along.
static void relieve(struct worker *w, nsec_t now)
{
	struct lane *fat = NULL;

	if (likely(pool_count(w->cache.pool) >= w->pool_low))
		return;
	for (uint32_t l = 0; l < w->lanes; l++)
		if (!fat || tree_backlog_packets(w->lane[l].tree) > tree_backlog_packets(fat->tree))
			fat = &w->lane[l];
	if (fat)
		tree_shed(fat->tree, SHED_BATCH, now, &w->freed);
}

static void free_dropped(struct worker *w)
{
	uint32_t i = w->freed.head;

	for (uint32_t n = w->freed.count; n; n--) {
		counter_add(&w->stats->drops[w->frames.pkt[i].drop], 1);
		i = w->frames.pkt[i].next;
	}
	frame_cache_put_list(&w->cache, &w->freed);
}

// ---- revisions

// Plans first, on every worker, then the tables that send packets into them: no packet names a class before it is
// there.
static bool adopt(struct worker *w, nsec_t now)
{
	const struct revision *trees = atomic_load_explicit(w->publish_trees, memory_order_acquire);
	const struct revision *tables = atomic_load_explicit(w->publish_tables, memory_order_acquire);
	bool changing = false;

	if (likely(trees == w->trees && tables == w->tables))
		return false;
	if (trees != w->trees) {
		nsec_t before = clock_now(), pause;

		for (uint32_t l = 0; l < w->lanes; l++) {
			struct lane *lane = &w->lane[l];
			const struct revision_port *rp = &trees->port[lane->port];

			lane->queue->inflight_cap = rp->inflight_bytes;
			if (lane->owner && rp->change) {
				tree_change_apply(lane->tree, rp->change, now, &w->freed);
				lane->changing = true;
			}
		}
		w->trees = trees;
		pause = clock_now() - before;
		if (pause > atomic_load_explicit(&w->pause_ns, memory_order_relaxed))
			atomic_store_explicit(&w->pause_ns, pause, memory_order_relaxed);
	}
	for (uint32_t l = 0; l < w->lanes; l++)
		changing |= w->lane[l].changing;
	if (!changing)
		atomic_store_explicit(&w->trees_seen, w->trees->number, memory_order_release);
	if (tables != w->tables) {
		w->tables = tables;
		atomic_store_explicit(&w->tables_seen, tables->number, memory_order_release);
	}
	return true;
}

// Frees what a change left over, a slice a turn, and reports the revision settled when nothing is left.
static void settle(struct worker *w, nsec_t now)
{
	bool changing = false;

	for (uint32_t l = 0; l < w->lanes; l++) {
		struct lane *lane = &w->lane[l];

		if (lane->changing)
			lane->changing = tree_maintain(lane->tree, now, &w->freed);
		changing |= lane->changing;
	}
	if (!changing && atomic_load_explicit(&w->trees_seen, memory_order_relaxed) != w->trees->number)
		atomic_store_explicit(&w->trees_seen, w->trees->number, memory_order_release);
}

// Addresses behind a port whose link went down are forgotten: they may turn up elsewhere.
static void watch_links(struct worker *w)
{
	uint64_t down = atomic_load_explicit(w->port_down, memory_order_relaxed), gone = down & ~w->down_seen;

	if (likely(down == w->down_seen))
		return;
	for (; gone; gone &= gone - 1)
		fdb_forget_port(w->fdb, (uint16_t)__builtin_ctzll(gone));
	w->down_seen = down;
}

// ---- the turn

bool worker_turn(struct worker *w, nsec_t now)
{
	bool moved = adopt(w, now);

	watch_links(w);
	for (uint32_t l = 0; l < w->lanes; l++)
		moved |= receive(w, &w->lane[l], now);
	for (uint32_t p = 0; p < w->workers; p++)
		if (w->from[p])
			moved |= take_over(w, w->from[p], now);
	relieve(w, now);
	for (uint32_t l = 0; l < w->lanes; l++)
		moved |= transmit(w, &w->lane[l], now);
	for (uint32_t l = 0; l < w->lanes; l++)
		moved |= w->lane[l].queue->ops->service(w->lane[l].queue, &w->cache, now);
	for (uint32_t p = 0; p < w->workers; p++)
		if (w->to[p] && handoff_staged(w->to[p]) && handoff_flush(w->to[p]))
			moved = true;
	settle(w, now);
	free_dropped(w);
	return moved;
}

// ---- gauges and housekeeping, every few ms

static void publish_gauges(struct worker *w)
{
	uint64_t held = w->freed.count, waiting = 0;

	for (uint32_t l = 0; l < w->lanes; l++) {
		held += tree_backlog_packets(w->lane[l].tree);
		w->lane[l].queue->ops->read_stats(w->lane[l].queue);
	}
	for (uint32_t p = 0; p < w->workers; p++) {
		if (w->to[p])
			held += handoff_staged(w->to[p]);
		if (w->from[p])
			waiting += handoff_waiting(w->from[p]);
	}
	counter_set(&w->stats->frames_cache, w->cache.count);
	counter_set(&w->stats->frames_held, held);
	counter_set(&w->stats->frames_handoff, waiting);
	counter_set(&w->stats->fdb_entries, fdb_count(w->fdb));
}

static void housekeep(struct worker *w, nsec_t now)
{
	for (uint32_t l = 0; l < w->lanes; l++)
		tree_maintain(w->lane[l].tree, now, &w->freed);
	free_dropped(w);
	publish_gauges(w);
}

// ---- sleeping

// How long nothing can be due here; 0: don't sleep.
static nsec_t may_sleep(const struct worker *w, nsec_t now)
{
	nsec_t wait = SLEEP_MAX_NS;

	for (uint32_t l = 0; l < w->lanes; l++) {
		const struct lane *lane = &w->lane[l];
		nsec_t due = tree_next_due(lane->tree), until;

		if (lane->changing)
			return 0;
		if (due == TIME_NEVER || atomic_load_explicit(w->port_down, memory_order_relaxed) >> lane->port & 1)
			continue;
		until = lane->blocked ? BLOCKED_SLEEP_NS : time_before(now, due) ? due - now : 0;
		wait = until < wait ? until : wait;
	}
	return wait < SPIN_NS ? 0 : wait;
}

static bool work_waits(struct worker *w)
{
	bool waits = atomic_load_explicit(w->publish_trees, memory_order_acquire) != w->trees ||
		     atomic_load_explicit(w->publish_tables, memory_order_acquire) != w->tables || atomic_load(w->stop);

	for (uint32_t p = 0; p < w->workers; p++)
		waits |= w->from[p] && handoff_waiting(w->from[p]);
	for (uint32_t p = 0; p < w->workers; p++)
		waits |= w->to[p] && handoff_staged(w->to[p]);
	for (uint32_t l = 0; l < w->lanes; l++)
		waits |= w->lane[l].queue->ops->before_sleep(w->lane[l].queue, &w->cache);
	return waits;
}

static void rest(struct worker *w, nsec_t now)
{
	nsec_t wait = may_sleep(w, now);

	if (!wait)
		return;
	if (wait > IDLE_SLEEP_STATS_NS)
		housekeep(w, now);
	atomic_exchange(&w->sleeping, WORKER_ASLEEP);
	if (!work_waits(w)) {
		counter_add(&w->stats->sleeps, 1);
		counter_add(idle_wait(w->idle, wait) ? &w->stats->wakeups : &w->stats->timeouts, 1);
	}
	atomic_store(&w->sleeping, WORKER_AWAKE);
}

void worker_wake(struct worker *w)
{
	if (atomic_fetch_add(&w->sleeping, 0) == WORKER_ASLEEP)
		idle_wake(w->idle);
}

void *worker_main(void *arg)
{
	struct worker *w = arg;
	nsec_t before = clock_now(), kept = before;
	bool busy = false;

	w->worked = before;
	while (!atomic_load_explicit(w->stop, memory_order_relaxed)) {
		nsec_t now = clock_now();

		if (busy) {
			counter_add(&w->stats->busy_ns, now - before);
			if (now - before > counter_read(&w->stats->longest_pause_ns))
				counter_set(&w->stats->longest_pause_ns, now - before);
		}
		before = now;
		counter_add(&w->stats->loops, 1);
		busy = worker_turn(w, now);
		if (now - kept > IDLE_SLEEP_STATS_NS) {
			housekeep(w, now);
			kept = now;
		}
		if (busy)
			w->worked = now;
		else if (now - w->worked > SPIN_NS)
			rest(w, now);
	}
	publish_gauges(w);
	return NULL;
}

void worker_drain(struct worker *w)
{
	for (uint32_t l = 0; l < w->lanes; l++) {
		tree_free(w->lane[l].tree, &w->freed);
		w->lane[l].tree = NULL;
		w->lane[l].queue->ops->close(w->lane[l].queue, &w->cache);
	}
	free_dropped(w);
}
