// SPDX-License-Identifier: GPL-2.0-or-later
// A parent that is killed can't put back promiscuous mode, ARP, IPv6 and offloads. A file of saved settings would wait
// for a next start that may never come, and could be out of date by then. So a second process does nothing but wait: a
// fork that has the list of settings in its memory, and of descriptors only a pipe whose other end closes with the
// parent. It must have no other, nor the rings of a socket in its memory: what it holds would outlive the parent, and
// the queue of a socket can't be bound again while any process has it. Program and sockets are gone by themselves.
//
// The next start must not meet it halfway, reading settings that are just being restored: therefore it keeps the
// parent's lock (see parent.c) until it is done.
#include "mgmt/restorer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "mgmt/spawn.h"

enum { PIPE_FD = 3, LOCK_FD = 4 };

// A mapping holds its file open. The addresses are libxdp's, but the kernel knows which are of sockets.
static bool unmap_sockets(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t room = 0;

	if (!maps)
		return false;
	while (getline(&line, &room, maps) > 0) {
		uintptr_t start, end;

		if (strstr(line, " socket:[") && sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2)
			munmap((void *)start, end - start);
	}
	free(line);
	fclose(maps);
	return true;
}

static void wait_and_restore(const struct ports *p, int lock_fd, int pipe_fd)
{
	sigset_t all;
	char dismissed;
	ssize_t n;
	int lock = fcntl(lock_fd, F_DUPFD, LOCK_FD + 1), pipes = fcntl(pipe_fd, F_DUPFD, LOCK_FD + 1);

	// Signals of a terminal are meant for the parent, which then dismisses us.
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "weir-restorer");
	if (lock < 0 || pipes < 0 || dup2(pipes, PIPE_FD) < 0 || dup2(lock, LOCK_FD) < 0 ||
	    close_range(LOCK_FD + 1, ~0u, 0) || !unmap_sockets())
		_exit(1);
	do
		n = read(PIPE_FD, &dismissed, 1);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		for (uint32_t i = p->count; i--;)
			netdev_restore(p->port[i].saved);
	_exit(0);
}

pid_t restorer_start(const struct ports *p, int lock_fd, int *pipe_fd)
{
	int ends[2], err;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		wait_and_restore(p, lock_fd, ends[0]);
	}
	err = -errno;
	close(ends[0]);
	if (pid > 0) {
		*pipe_fd = ends[1];
		return pid;
	}
	close(ends[1]);
	return err;
}

void restorer_dismiss(pid_t pid, int pipe_fd)
{
	if (write(pipe_fd, "", 1) == 1)
		spawn_reap(pid, NSEC_PER_SEC);
	close(pipe_fd);
}
