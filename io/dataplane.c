// SPDX-License-Identifier: GPL-2.0-or-later
// The packet side as a whole: which worker has which lane, who hands over to whom, and how a new revision reaches them.
//
// The owner of a port, whose scheduler is its shaper, is the worker of queue (port mod queues), so that several
// ports are owned by several workers. A worker without a lane on a port hands over to the owner, and so does, while the
// port is shaped, a worker with a lane of its own.
//
// Publishing is two pointers. First the plans: each owner applies its change between two batches and acknowledges when
// it has settled. When all have, the tables: from then on packets are classified by the new rules. So no packet
// ever names a class that its scheduler doesn't know; one that names a class just deleted goes to the default class.
// When all have acknowledged the tables, nobody can hold the previous revision, and it is freed.
#include "io/dataplane.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>

#include "io/clock.h"
#include "io/worker.h"

enum {
	HANDOFF_RING = 1024,
	HANDOFF_STAGE = 512,
	FDB_ENTRIES = 16384,
	OTHER_IDS = QUEUES_MAX, // class ids at the end of a port's range, one for each queue that is not the owner
};

#define ADOPT_DEADLINE_NS (2 * NSEC_PER_SEC)
#define ADOPT_POLL_NS (20 * NSEC_PER_USEC)

struct dataplane {
	uint32_t workers, ports;
	struct worker *worker[WORKERS_MAX];
	pthread_t thread[WORKERS_MAX];
	bool running;
	struct pool *pool;
	struct frames frames;
	struct stats *stats;
	struct revision *revision;
	struct plan *unshaped[PORTS_MAX]; // plan of the queues that are not owners
	uint32_t ids_per_port;
	_Atomic(const struct revision *) trees, tables;
	_Atomic bool stop;
	_Atomic uint64_t port_down;
};

// ---- names and gauges in shared memory

static void describe_class(struct stats_class *to, const struct plan *p, uint32_t i, uint32_t shaper)
{
	const struct class_conf *c = &p->cls[i];

	snprintf(to->name, sizeof to->name, "%s", c->name);
	to->shaper = shaper;
	to->parent_id = p->cls[c->parent].id;
	to->leaf_kind = c->leaf.kind;
	to->is_default = i == p->default_class;
	to->rt_bps = c->rt.m2_bps;
	to->ls_bps = c->ls.m2_bps;
	to->ul_bps = c->ul.m2_bps;
}

// Counters of an id that comes into use start at zero; nobody writes them yet (ids rest before they are used again).
static void clear_new(struct dataplane *d, uint32_t first, uint32_t id)
{
	if (!d->stats->class_info[first + id].name[0])
		memset(&d->stats->class_stats[first + id], 0, sizeof d->stats->class_stats[0]);
}

static void describe(struct dataplane *d, const struct revision *r)
{
	struct stats *s = d->stats;
	static struct stats_class none;
	uint64_t writing = atomic_load(&s->names_seq) | 1; // odd already if an engine died over it

	atomic_store(&s->names_seq, writing);
	s->shapers = d->ports;
	for (uint32_t p = 0; p < d->ports; p++) {
		struct stats_shaper *sh = &s->shaper[p];
		const struct plan *plan = r->port[p].plan;
		uint32_t first = p * d->ids_per_port,
			 known = sh->id_limit > plan->id_limit ? sh->id_limit : plan->id_limit;
		bool *used = calloc(known, sizeof *used);

		snprintf(sh->name, sizeof sh->name, "%s", r->config->port[p].name);
		for (uint32_t k = 0; k < r->config->shapers; k++)
			if (r->config->shaper[k].port == p)
				snprintf(sh->name, sizeof sh->name, "%s", r->config->shaper[k].name);
		sh->port = p;
		sh->first_class = first;
		sh->id_limit = plan->id_limit;
		counter_set(&sh->rate_bps, plan->rate_bps);
		for (uint32_t i = 0; i < plan->classes; i++) {
			clear_new(d, first, plan->cls[i].id);
			describe_class(&s->class_info[first + plan->cls[i].id], plan, i, p);
			if (used)
				used[plan->cls[i].id] = true;
		}
		for (uint32_t id = 0; used && id < known; id++)
			if (!used[id])
				s->class_info[first + id] = none;
		free(used);
		snprintf(s->port[p].name, sizeof s->port[p].name, "%s", r->config->port[p].name);
		snprintf(s->port[p].device, sizeof s->port[p].device, "%s", r->config->port[p].device);
	}
	atomic_store(&s->names_seq, writing + 1);
	atomic_store(&s->revision, r->number);
}

// Counters outlive an engine that died; what its queues held does not.
static void forget_backlogs(struct stats *s)
{
	for (uint32_t i = 0; i < STATS_CLASSES_MAX; i++)
		if (s->class_info[i].name[0]) {
			counter_set(&s->class_stats[i].backlog_packets, 0);
			counter_set(&s->class_stats[i].backlog_bytes, 0);
		}
}

void dataplane_publish(struct dataplane *d)
{
	counter_set(&d->stats->frames_total, d->frames.count - 1);
	counter_set(&d->stats->frames_pool, pool_count(d->pool));
	for (uint32_t p = 0; p < d->ports; p++)
		counter_set(&d->stats->port[p].up, !(atomic_load(&d->port_down) >> p & 1));
}

// ---- building

static struct worker *worker_create(struct dataplane *d, const struct config *c, uint32_t index, const uint64_t seed[2])
{
	struct worker *w = aligned_alloc(CACHE_LINE, (sizeof *w + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);

	if (!w)
		return NULL;
	memset(w, 0, sizeof *w);
	w->index = index;
	w->cpu = c->worker_cpu[index];
	w->frames = d->frames;
	w->seed[0] = seed[0];
	w->seed[1] = seed[1];
	w->workers = c->workers;
	w->stats = &d->stats->worker[index];
	w->publish_trees = &d->trees;
	w->publish_tables = &d->tables;
	w->stop = &d->stop;
	w->port_down = &d->port_down;
	w->pool_low = d->frames.count / 16;
	w->fdb = fdb_new(FDB_ENTRIES);
	frame_cache_init(&w->cache, d->pool, &d->frames);
	return w;
}

static bool add_lane(struct dataplane *d, const struct dataplane_queue *q, bool owner, const struct revision *r)
{
	struct worker *w = d->worker[q->worker];
	uint16_t port = q->queue->port;
	uint32_t first = port * d->ids_per_port, other = first + d->ids_per_port - OTHER_IDS + q->queue->index;
	struct tree_env env = {
		.pkt = d->frames.pkt,
		.packets = d->frames.count,
		.stats = &d->stats->class_stats[owner ? first : other],
		.stats_limit = owner ? d->ids_per_port - OTHER_IDS : 1,
	};
	struct lane *lane = &w->lane[w->lanes];

	*lane = (struct lane){.queue = q->queue, .port = port, .owner = owner};
	lane->tree = tree_new(owner ? r->port[port].plan : d->unshaped[port], &env);
	if (!lane->tree)
		return false;
	q->queue->inflight_cap = r->port[port].inflight_bytes;
	w->lanes++;
	if (!w->egress[port].lane || owner)
		w->egress[port].lane = lane;
	return true;
}

// Hand-offs between all workers, the way to each port, everybody's address tables.
static bool connect_workers(struct dataplane *d, const uint32_t owner[PORTS_MAX])
{
	for (uint32_t a = 0; a < d->workers; a++)
		for (uint32_t b = 0; b < d->workers; b++) {
			struct worker *from = d->worker[a], *to = d->worker[b];

			from->fdb_all[b] = to->fdb;
			if (a == b)
				continue;
			from->to[b] = handoff_new(d->frames.pkt, HANDOFF_RING, HANDOFF_STAGE);
			if (!from->to[b])
				return false;
			to->from[a] = from->to[b];
		}
	for (uint32_t a = 0; a < d->workers; a++)
		for (uint32_t p = 0; p < d->ports; p++)
			if (owner[p] != a) {
				d->worker[a]->egress[p].handoff = d->worker[a]->to[owner[p]];
				d->worker[a]->egress[p].peer = d->worker[owner[p]];
			}
	return true;
}

static bool make_beds(struct dataplane *d)
{
	for (uint32_t a = 0; a < d->workers; a++) {
		struct worker *w = d->worker[a];
		int fd[WORKER_LANES_MAX];

		for (uint32_t l = 0; l < w->lanes; l++)
			fd[l] = w->lane[l].queue->fd;
		w->idle = idle_new(fd, w->lanes);
		if (!w->idle)
			return false;
	}
	return true;
}

static bool build(struct dataplane *d, const struct config *c, const struct dataplane_queue *queue, uint32_t queues)
{
	uint32_t owner[PORTS_MAX] = {0}, count[PORTS_MAX] = {0}, seen[PORTS_MAX] = {0};
	uint64_t seed[2];

	if (getrandom(seed, sizeof seed, 0) != sizeof seed)
		return false;
	for (uint32_t a = 0; a < d->workers; a++)
		if (!(d->worker[a] = worker_create(d, c, a, seed)) || !d->worker[a]->fdb)
			return false;
	for (uint32_t p = 0; p < d->ports; p++)
		if (!(d->unshaped[p] = plan_unshaped(c->port[p].mtu ? c->port[p].mtu : 1500)))
			return false;
	for (uint32_t k = 0; k < queues; k++)
		count[queue[k].queue->port]++;
	for (uint32_t k = 0; k < queues; k++) {
		uint16_t p = queue[k].queue->port;
		bool is_owner = seen[p]++ == p % count[p];

		if (is_owner)
			owner[p] = queue[k].worker;
		if (d->worker[queue[k].worker]->lanes == WORKER_LANES_MAX ||
		    !add_lane(d, &queue[k], is_owner, d->revision))
			return false;
		if (is_owner)
			d->stats->shaper[p].worker = queue[k].worker;
	}
	return connect_workers(d, owner) && make_beds(d);
}

struct dataplane *dataplane_new(struct config *config, const struct frames *frames, const struct dataplane_queue *queue,
				uint32_t queues, struct stats *stats, struct problems *out)
{
	struct dataplane *d = calloc(1, sizeof *d);

	if (!d) {
		config_free(config);
		problem_add(out, PROBLEM_ERROR, "", "out of memory");
		return NULL;
	}
	d->workers = config->workers;
	d->ports = config->ports;
	d->frames = *frames;
	d->stats = stats;
	d->ids_per_port = STATS_CLASSES_MAX / config->ports;
	d->pool = pool_new(frames);
	d->revision = revision_build(config, NULL, d->ids_per_port - OTHER_IDS, out);
	if (!d->revision || !d->pool || !build(d, config, queue, queues)) {
		if (!out->errors)
			problem_add(out, PROBLEM_ERROR, "", "out of memory or descriptors: %s", strerror(errno));
		dataplane_free(d);
		return NULL;
	}
	atomic_store(&d->trees, d->revision);
	atomic_store(&d->tables, d->revision);
	for (uint32_t a = 0; a < d->workers; a++) {
		d->worker[a]->trees = d->worker[a]->tables = d->revision;
		d->worker[a]->trees_seen = d->worker[a]->tables_seen = d->revision->number;
	}
	stats->workers = d->workers;
	stats->ports = d->ports;
	forget_backlogs(stats);
	describe(d, d->revision);
	dataplane_publish(d);
	return d;
}

// ---- changing

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = ADOPT_POLL_NS}, NULL);
}

static bool all_seen(const struct dataplane *d, uint64_t number, bool tables)
{
	for (uint32_t a = 0; a < d->workers; a++) {
		const struct worker *w = d->worker[a];

		if (atomic_load_explicit(tables ? &w->tables_seen : &w->trees_seen, memory_order_acquire) != number)
			return false;
	}
	return true;
}

// Waits until every worker has acknowledged. They do so once a loop, so there is no deadline by which the revision
// could be taken back; the time is bounded by the loops themselves.
static void await(struct dataplane *d, uint64_t number, bool tables)
{
	for (uint32_t a = 0; a < d->workers; a++)
		worker_wake(d->worker[a]);
	while (!all_seen(d, number, tables))
		nap();
}

static uint64_t lost_to_changes(const struct dataplane *d)
{
	uint64_t n = 0;

	for (uint32_t a = 0; a < d->workers; a++)
		n += counter_read(&d->stats->worker[a].drops[DROP_RECONFIGURED]);
	return n;
}

// The three steps of a change; between them every worker must have acknowledged.
static struct revision *publish_trees(struct dataplane *d, struct config *config, struct problems *out)
{
	struct revision *next = revision_build(config, d->revision, d->ids_per_port - OTHER_IDS, out);

	if (!next)
		return NULL;
	for (uint32_t a = 0; a < d->workers; a++)
		atomic_store_explicit(&d->worker[a]->pause_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&d->trees, next, memory_order_release);
	return next;
}

static void publish_tables(struct dataplane *d, struct revision *next)
{
	describe(d, next);
	atomic_store_explicit(&d->tables, next, memory_order_release);
}

static void retire_previous(struct dataplane *d, struct revision *next)
{
	for (uint32_t p = 0; p < d->ports; p++) {
		tree_change_free(next->port[p].change);
		next->port[p].change = NULL;
	}
	revision_free(d->revision);
	d->revision = next;
}

bool dataplane_apply(struct dataplane *d, struct config *config, struct dataplane_change *done, struct problems *out)
{
	nsec_t start = clock_now();
	uint64_t lost = lost_to_changes(d), pause = 0;
	struct revision *next = publish_trees(d, config, out);

	if (!next)
		return false;
	await(d, next->number, false);
	publish_tables(d, next);
	await(d, next->number, true);
	for (uint32_t a = 0; a < d->workers; a++) {
		uint64_t p = atomic_load_explicit(&d->worker[a]->pause_ns, memory_order_relaxed);

		pause = p > pause ? p : pause;
	}
	*done = (struct dataplane_change){
		.revision = next->number,
		.duration_ns = clock_now() - start,
		.pause_ns = pause,
		.lost = lost_to_changes(d) - lost,
		.actions = next->actions,
	};
	retire_previous(d, next);
	counter_set(&d->stats->apply_ns, done->duration_ns);
	counter_set(&d->stats->apply_pause_ns, done->pause_ns);
	counter_set(&d->stats->apply_lost, done->lost);
	counter_add(&d->stats->applied, 1);
	return true;
}

void dataplane_port_state(struct dataplane *d, uint32_t port, bool up)
{
	if (port >= d->ports)
		return;
	if (up)
		atomic_fetch_and(&d->port_down, ~(1ull << port));
	else
		atomic_fetch_or(&d->port_down, 1ull << port);
	for (uint32_t a = 0; a < d->workers; a++)
		worker_wake(d->worker[a]);
	dataplane_publish(d);
}

// ---- threads

static void *thread_main(void *arg)
{
	struct worker *w = arg;
	char name[16];

	snprintf(name, sizeof name, "weir-w%u", w->index);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, 1); // ns: a worker that sleeps until a packet is due must not wake late
	return worker_main(w);
}

bool dataplane_start(struct dataplane *d, struct problems *out)
{
	d->running = true;
	for (uint32_t a = 0; a < d->workers; a++) {
		pthread_attr_t attr;
		cpu_set_t set;
		int e;

		CPU_ZERO(&set);
		CPU_SET(d->worker[a]->cpu, &set);
		pthread_attr_init(&attr);
		pthread_attr_setaffinity_np(&attr, sizeof set, &set);
		e = pthread_create(&d->thread[a], &attr, thread_main, d->worker[a]);
		pthread_attr_destroy(&attr);
		if (e) {
			problem_add(out, PROBLEM_ERROR, "/system/workers", "can't start worker %u on CPU %u: %s", a,
				    d->worker[a]->cpu, strerror(e));
			atomic_store(&d->stop, true);
			for (uint32_t b = 0; b < a; b++) {
				worker_wake(d->worker[b]);
				pthread_join(d->thread[b], NULL);
			}
			d->running = false;
			return false;
		}
	}
	return true;
}

uint32_t dataplane_stop(struct dataplane *d)
{
	uint32_t back = 0;

	atomic_store(&d->stop, true);
	for (uint32_t a = 0; d->running && a < d->workers; a++) {
		worker_wake(d->worker[a]);
		pthread_join(d->thread[a], NULL);
	}
	d->running = false;
	for (uint32_t a = 0; a < d->workers; a++) {
		struct worker *w = d->worker[a];

		worker_drain(w);
		for (uint32_t b = 0; b < d->workers; b++) {
			handoff_free(w->to[b], &w->freed);
			w->to[b] = NULL;
		}
		frame_cache_put_list(&w->cache, &w->freed);
		frame_cache_flush(&w->cache);
	}
	back = pool_count(d->pool);
	dataplane_publish(d);
	return d->frames.count - 1 - back;
}

void dataplane_free(struct dataplane *d)
{
	struct pkt_list freed = {0};

	if (!d)
		return;
	for (uint32_t a = 0; a < d->workers; a++) {
		struct worker *w = d->worker[a];

		if (!w)
			continue;
		for (uint32_t l = 0; l < w->lanes; l++)
			if (w->lane[l].tree)
				tree_free(w->lane[l].tree, &freed);
		for (uint32_t b = 0; b < d->workers; b++)
			handoff_free(w->to[b], &freed);
		idle_free(w->idle);
		fdb_free(w->fdb);
		free(w);
	}
	revision_free(d->revision);
	for (uint32_t p = 0; p < d->ports; p++)
		plan_free(d->unshaped[p]);
	pool_free(d->pool);
	free(d);
}
