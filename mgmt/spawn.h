// SPDX-License-Identifier: GPL-2.0-or-later
// Processes of our own: this program again, in another role.
#ifndef MGMT_SPAWN_H
#define MGMT_SPAWN_H

#include <sys/types.h>

#include "core/units.h"

enum { SPAWN_FDS_MAX = 4 };

// Starts the running binary (even if its file was replaced meanwhile) as `weir ROLE`, with fd[i] as its descriptor i and
// no other one open. The signal mask and handlers are the default. The pid, or -errno.
pid_t spawn_role(const char *role, const int *fd, int fds);
// The same with an argument after the role; NULL: none.
pid_t spawn_role_on(const char *role, const char *argument, const int *fd, int fds);

// Waits up to `patience` ns for the end of a child, then kills it. Its wait status.
int spawn_reap(pid_t pid, nsec_t patience);

// "exit status 1", "signal 9 (Killed)".
const char *spawn_ending(int status, char *buf, size_t size);

#endif
