// SPDX-License-Identifier: GPL-2.0-or-later
// A worker: one thread that owns a set of lanes and everything that happens to their packets.
#ifndef IO_WORKER_H
#define IO_WORKER_H

#include <stdatomic.h>

#include "core/fdb.h"
#include "io/idle.h"
#include "io/port.h"
#include "io/revision.h"
#include "io/stats.h"
#include "sched/handoff.h"

struct worker;

// One queue of a port, and the scheduler before its transmit side. Belongs to one worker.
struct lane {
	struct queue *queue;
	struct tree *tree;
	uint16_t port;
	bool owner;    // this queue's scheduler is the port's shaper
	bool blocked;  // the last look found packets due but no room to send them
	bool changing; // a change of plan left packets to be freed in slices
};

// How a worker sends to a port: on a lane of its own, or by hand-off to the worker that has the right lane.
struct egress {
	struct lane *lane;       // own lane on the port; NULL: none
	struct handoff *handoff; // to `peer`; NULL: the own lane is the owner, or the only one there is
	struct worker *peer;
	uint32_t count; // packets of the batch in hand that go there
	uint32_t batch[RX_BATCH];
};

enum { WORKER_LANES_MAX = 256 };

struct worker {
	uint32_t index, cpu;
	struct frames frames;
	struct frame_cache cache;
	struct pkt_list freed;
	uint64_t seed[2];              // of the flow hash, the same for all workers
	const struct revision *tables; // classification and forwarding in force here
	const struct revision *trees;  // plans in force here
	struct fdb *fdb;
	struct fdb *fdb_all[WORKERS_MAX];
	uint32_t workers;
	struct handoff *from[WORKERS_MAX]; // NULL where there is none
	struct handoff *to[WORKERS_MAX];
	uint32_t lanes;
	struct lane lane[WORKER_LANES_MAX];
	struct egress egress[PORTS_MAX];
	uint64_t touched;  // egress ports with packets in hand
	uint32_t pool_low; // below so many free frames backlog gives way
	struct stats_worker *stats;
	struct idle *idle;
	nsec_t worked;                     // when something last happened
	const _Atomic uint64_t *port_down; // bit per port
	uint64_t down_seen;                // as it was a turn ago
	// Written here, read by the control thread (acknowledgements), and the other way round (what is published).
	_Atomic(const struct revision *) *publish_trees, *publish_tables;
	_Atomic bool *stop;
	_Alignas(CACHE_LINE) _Atomic uint64_t trees_seen; // number of the revision whose plans are applied and settled
	_Atomic uint64_t tables_seen;
	_Atomic uint64_t pause_ns; // longest application of a plan since the control thread reset it
	_Atomic uint32_t sleeping; // WORKER_AWAKE or WORKER_ASLEEP
};

enum { WORKER_AWAKE, WORKER_ASLEEP };

// One turn at time `now`: adopt what was published, receive, decide, queue, dequeue, send, clean up. Returns whether
// any packet or revision moved. No allocation, no lock; system calls only in queue_ops.service.
bool worker_turn(struct worker *w, nsec_t now);

// The thread: turns until *stop, sleeping when there is nothing to do. arg is the worker.
void *worker_main(void *arg);

// Ends a worker's sleep, if it sleeps. Call after giving it work.
void worker_wake(struct worker *w);

// After the thread has ended: everything it holds goes back to the pool, its queues are closed.
void worker_drain(struct worker *w);

#endif
