// SPDX-License-Identifier: GPL-2.0-or-later
// Where a worker sleeps: until a descriptor is readable, somebody wakes it, or a time has passed.
#ifndef IO_IDLE_H
#define IO_IDLE_H

#include "core/units.h"

struct idle;

enum { IDLE_DESCRIPTORS_MAX = 512 };

// For `n` descriptors (they stay the caller's; -1 entries are skipped). io_uring if the system allows it, else poll. NULL with errno.
struct idle *idle_new(const int *fd, uint32_t n);
void idle_free(struct idle *i);
// "io_uring" or "poll", for status.
const char *idle_kind(const struct idle *i);

// Owner: sleeps at most `timeout` ns. True if a descriptor or idle_wake() ended it.
bool idle_wait(struct idle *i, nsec_t timeout);
// Any thread: ends the current or the next idle_wait.
void idle_wake(struct idle *i);

#endif
