// SPDX-License-Identifier: GPL-2.0-or-later
// Devices get their settings back, whatever ends the parent.
#ifndef MGMT_RESTORER_H
#define MGMT_RESTORER_H

#include <sys/types.h>

#include "mgmt/ports.h"

// Starts a process that waits for the end of this one and then restores the devices of *p, unless it was dismissed
// before. It keeps `lock_fd` open until it has. *pipe_fd is what it waits on; this process keeps it open. Its pid or -errno.
pid_t restorer_start(const struct ports *p, int lock_fd, int *pipe_fd);
// The devices are restored: nothing is left to do for it.
void restorer_dismiss(pid_t pid, int pipe_fd);

#endif
