// SPDX-License-Identifier: GPL-2.0-or-later
// CLOCK_MONOTONIC through the vDSO: no system call, and not steered by whoever sets the time of day. It stands still
// while the machine is suspended, which is what a queue wants: its packets did not move either.
#include "io/clock.h"

#include <time.h>

static nsec_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (nsec_t)t.tv_sec * NSEC_PER_SEC + (nsec_t)t.tv_nsec;
}

nsec_t clock_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

nsec_t clock_boottime(void)
{
	return read_clock(CLOCK_BOOTTIME);
}
