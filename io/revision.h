// SPDX-License-Identifier: GPL-2.0-or-later
// A revision: the immutable bundle of everything workers read that comes from the configuration. Built aside by the
// control thread, published by a pointer, freed when every worker has moved on.
#ifndef IO_REVISION_H
#define IO_REVISION_H

#include "core/classify.h"
#include "core/forward.h"
#include "io/config.h"
#include "sched/sched.h"

struct revision_port {
	bool shaped;                   // one worker owns the port's scheduler; else each queue has its own
	const struct plan *plan;       // of the port's owner queue: the shaper's, or one unshaped leaf
	struct plan *own_plan;         // the same, if it belongs to the revision and not to its configuration
	struct classifier *classifier; // NULL: everything into class 0
	struct tree_change *change;    // from the previous revision's plan; NULL in the first revision
	uint32_t inflight_bytes;       // cap behind the scheduler
};

struct revision {
	uint64_t number;
	struct config *config; // owned
	struct forward_table forward;
	struct revision_port port[PORTS_MAX];
	uint32_t actions; // of all changes
};

enum { INFLIGHT_UNSHAPED = 256 << 10, INFLIGHT_MIN = 4 * 1540 };

// Builds from a checked configuration (taken over, also on failure). prev: the revision in force, or NULL. NULL without
// memory or if a plan has more class ids than `id_limit`, with a problem.
struct revision *revision_build(struct config *config, const struct revision *prev, uint32_t id_limit,
				struct problems *out);
void revision_free(struct revision *r);

// A plan of one unshaped fq_codel leaf, for queues that no shaper governs.
struct plan *plan_unshaped(uint32_t mtu);

#endif
