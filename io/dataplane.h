// SPDX-License-Identifier: GPL-2.0-or-later
// All workers of the engine and what they share. Called by the control thread only.
#ifndef IO_DATAPLANE_H
#define IO_DATAPLANE_H

#include "io/port.h"
#include "io/revision.h"
#include "io/stats.h"
#include "io/umem.h"

struct dataplane;

struct dataplane_queue {
	struct queue *queue; // stays the caller's; its owner is `worker` until dataplane_stop returns
	uint32_t worker;
};

// Builds workers, pool and one lane a queue for the first configuration (taken over). NULL with problems.
struct dataplane *dataplane_new(struct config *config, const struct frames *frames, const struct dataplane_queue *queue,
				uint32_t queues, struct stats *stats, struct problems *out);

struct dataplane_change {
	uint64_t revision, duration_ns, pause_ns, lost;
	uint32_t actions;
};

// Puts a configuration (taken over) in force: built aside, published, waited for (the threads must run). Its revision number
// must be new. False with problems, and nothing changed.
bool dataplane_apply(struct dataplane *d, struct config *config, struct dataplane_change *done, struct problems *out);

// Link state of a port: packets to a port that is down are dropped, what is queued for it waits.
void dataplane_port_state(struct dataplane *d, uint32_t port, bool up);

// Starts the threads, one per worker on its CPU. False with problems.
bool dataplane_start(struct dataplane *d, struct problems *out);
// Stops them, takes everything back, and returns the number of frames that did not come back: those that the kernel
// still holds (a zero-copy device may), else a bug.
uint32_t dataplane_stop(struct dataplane *d);
void dataplane_free(struct dataplane *d);

// Writes gauges that belong to no worker.
void dataplane_publish(struct dataplane *d);

#endif
