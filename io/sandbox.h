// SPDX-License-Identifier: GPL-2.0-or-later
// Giving up power. Called once by each role when it has what it needs; nothing of it can be undone.
#ifndef IO_SANDBOX_H
#define IO_SANDBOX_H

#include "core/types.h"

enum sandbox_role {
	SANDBOX_READER,  // parses a configuration file: memory, read, write, exit
	SANDBOX_ENGINE,  // moves packets: AF_XDP kicks, io_uring_enter, futex, memory, messages
	SANDBOX_MANAGER, // store, API: files, threads, sockets that it is given; no program, no new socket but pairs
};

// Drops to uid/gid nobody (if root), all capabilities, sets no_new_privs. 0 or -errno; -EPERM if another thread of the
// process still has capabilities (a process that is not root must call it before it starts threads).
int sandbox_drop_privileges(void);
// The same, but becomes the owner of directory `dir` instead of nobody, and makes it the root of all it can see: *root is
// the name of the directory from then on ("/", or `dir` itself where the right to do so is missing). -EPERM if that is root.
int sandbox_confine(const char *dir, const char **root);
// Installs the seccomp filter of the role for all threads of the process; a forbidden call kills the process. 0 or
// -errno.
int sandbox_enter(enum sandbox_role role);
// Bounds of this process before it reads anything hostile: address space, CPU seconds (0: no such bound), no core file.
// Call it before threads are started: it also keeps malloc from doing what the sandbox forbids. 0 or -errno.
int sandbox_limit(uint64_t memory_bytes, uint32_t cpu_seconds);

#endif
