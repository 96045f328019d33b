// SPDX-License-Identifier: GPL-2.0-or-later
// The dead-man timer of a pending revision: what comes back unless somebody says within the time that all is well. Time is an
// argument (clock_boottime()).
#ifndef MGMT_DEADMAN_H
#define MGMT_DEADMAN_H

#include "io/config.h"

enum { DEADMAN_DEATHS = 3 }; // so often may the engine die before a pending revision is blamed

struct deadman {
	uint64_t revision; // pending; 0: none
	nsec_t deadline;
	struct config *previous; // owned; NULL: nothing ran before
	uint32_t deaths;
};

// `previous` is taken over. There may be none armed.
void deadman_arm(struct deadman *d, uint64_t revision, nsec_t deadline, struct config *previous);
// The revision is final.
void deadman_disarm(struct deadman *d);
// It is to be taken back: what to put in force instead, the caller's now.
struct config *deadman_release(struct deadman *d);
// The engine died under it.
void deadman_death(struct deadman *d);
// Why the revision has to be taken back now; NULL: it has not.
const char *deadman_verdict(const struct deadman *d, nsec_t now);
// Until when that is so at the most; TIME_NEVER if none is armed.
nsec_t deadman_due(const struct deadman *d);

#endif
