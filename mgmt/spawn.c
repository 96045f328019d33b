// SPDX-License-Identifier: GPL-2.0-or-later
// Roles are started by fork and exec of /proc/self/exe: a fresh address space, so that a role holds nothing of the
// parent's memory, other addresses after each restart, and the very binary that the parent is, also in the middle of
// an upgrade. Between fork and exec only calls that are safe there.
#include "mgmt/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/clock.h"

enum { EXEC_FAILED = 127 };

// The child's half. Sources are first moved above all targets, so that no dup2 overwrites one still needed.
static void become(const char *role, const char *argument, const int *fd, int fds)
{
	char self[] = "weir", name[32], text[512];
	char *const argv[] = {self, name, argument ? text : NULL, NULL};
	int high[SPAWN_FDS_MAX];
	sigset_t none;

	snprintf(name, sizeof name, "%s", role);
	snprintf(text, sizeof text, "%s", argument ? argument : "");
	for (int i = 0; i < fds; i++) {
		high[i] = fcntl(fd[i], F_DUPFD, SPAWN_FDS_MAX);
		if (high[i] < 0)
			_exit(EXEC_FAILED);
	}
	for (int i = 0; i < fds; i++)
		if (dup2(high[i], i) < 0)
			_exit(EXEC_FAILED);
	if (close_range((unsigned)fds, ~0u, 0))
		_exit(EXEC_FAILED);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv("/proc/self/exe", argv);
	_exit(EXEC_FAILED);
}

pid_t spawn_role(const char *role, const int *fd, int fds)
{
	return spawn_role_on(role, NULL, fd, fds);
}

pid_t spawn_role_on(const char *role, const char *argument, const int *fd, int fds)
{
	assert(fds <= SPAWN_FDS_MAX);
	signal(SIGCHLD, SIG_DFL); // ignored, as some starters leave it, it would lose how a child ended
	pid_t pid = fork();

	if (!pid)
		become(role, argument, fd, fds);
	return pid < 0 ? -errno : pid;
}

int spawn_reap(pid_t pid, nsec_t patience)
{
	const struct timespec slice = {.tv_nsec = 2 * (long)NSEC_PER_MSEC};
	nsec_t deadline = clock_now() + patience;
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (!time_before(clock_now(), deadline)) {
			kill(pid, SIGKILL);
			while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
				;
			break;
		}
		nanosleep(&slice, NULL);
	}
	return status;
}

const char *spawn_ending(int status, char *buf, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(buf, size, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == EXEC_FAILED)
		snprintf(buf, size, "it could not be started");
	else
		snprintf(buf, size, "exit status %d", WEXITSTATUS(status));
	return buf;
}
