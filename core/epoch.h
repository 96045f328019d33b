// SPDX-License-Identifier: GPL-2.0-or-later
// Grace periods: when has every worker let go of what was unpublished? Each worker reports when it holds no pointer
// to published data (once a loop), and whether it sleeps; the control thread waits until all have. C11 atomics only.
#ifndef CORE_EPOCH_H
#define CORE_EPOCH_H

#include <stdatomic.h>

#include "core/forward.h"
#include "core/types.h"

struct epoch {
	struct {
		_Atomic uint64_t seen; // the global epoch this worker saw last; EPOCH_OFFLINE while it sleeps
		char pad[CACHE_LINE - sizeof(uint64_t)];
	} worker[WORKERS_MAX];
	_Atomic uint64_t now;
	uint32_t workers;
};

#define EPOCH_OFFLINE UINT64_MAX

void epoch_init(struct epoch *e, uint32_t workers);
// Worker w holds nothing at this moment and goes on working.
void epoch_quiescent(struct epoch *e, uint32_t w);
// Worker w holds nothing and will not read published data until epoch_online.
void epoch_offline(struct epoch *e, uint32_t w);
void epoch_online(struct epoch *e, uint32_t w);
// Control thread: starts a new epoch after unpublishing something; epoch_passed(ticket) is true once no worker can hold it.
uint64_t epoch_advance(struct epoch *e);
bool epoch_passed(struct epoch *e, uint64_t ticket);

#endif
