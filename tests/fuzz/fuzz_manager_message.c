// SPDX-License-Identifier: GPL-2.0-or-later
// Both ends of what parent and manager say to each other, fed with anything. The input is a list of messages: a byte of
// type, two of length (65,535: as long as the type is), the body. The parent's end gets them with a sealed memory file of the same bytes, as dry runs
// (what is done with a good configuration is not its business here); the manager's end gets them raw.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/channel.h"
#include "io/clock.h"
#include "mgmt/commit.h"
#include "mgmt/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t natural_length(uint8_t type)
{
	switch (type) {
	case MM_PROBLEM:
		return sizeof(struct mm_problem);
	case MM_RESULT:
		return sizeof(struct mm_result);
	case MM_REVERTED:
		return sizeof(struct mm_reverted);
	case MM_ALARM:
		return sizeof(struct mm_alarm);
	case MM_COMMIT:
		return sizeof(struct mm_commit);
	case MM_CONFIRM:
	case MM_REVERT:
		return sizeof(struct mm_revision);
	default:
		return 0;
	}
}

// A process for the parent to kill.
static pid_t victim(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

static void to_parent(int end, const struct message *m, const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct message copy = *m;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (size % 2)
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
	if (m->type == MM_COMMIT && m->len == sizeof(struct mm_commit))
		((struct mm_commit *)(void *)copy.body)->flags |= MM_DRY_RUN;
	channel_send(end, copy.type, copy.body, copy.len, fd, clock_now());
	close(fd);
}

static void parent_end(const struct message *list, int n, const uint8_t *data, size_t size)
{
	static struct line line;
	static struct manager manager;
	static struct control control;
	static pid_t pid;
	struct message answer;
	int ends[2];

	if (channel_pair(ends))
		abort();
	line = (struct line){.engine = {.channel = -1}};
	manager = (struct manager){
		.state = MANAGER_RUNNING, .channel = ends[0], .informed = true, .pidfd = -1, .listener = -1};
	manager.pid = pid ? pid : victim();
	control_init(&control, &line, &manager);
	for (int i = 0; i < n && manager.state == MANAGER_RUNNING; i++) {
		to_parent(ends[1], &list[i], data, size);
		control_serve(&control);
		while (channel_receive(ends[1], &answer) == 1)
			if (answer.type < MM_STATS || answer.type > MM_STOP || answer.fd >= 0)
				abort();
	}
	if (control.deadman.revision || line.next || line.running)
		abort(); // nothing was put in force
	pid = manager.pid;
	if (manager.state != MANAGER_RUNNING) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(ends[1]);
	if (manager.channel >= 0)
		close(manager.channel);
	control_free(&control);
}

static void manager_end(const struct message *list, int n)
{
	struct commit *c = commit_new(NULL, -1);
	int64_t revision;

	if (!c)
		abort();
	for (int i = 0; i < n; i++)
		if (commit_message(c, &list[i]) && list[i].type != MM_REVERTED && list[i].type != MM_ALARM)
			abort(); // nothing was asked
	json_decref(commit_running(c, &revision));
	if (revision)
		abort();
	commit_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct message list[8];
	size_t at = 0;
	int n = 0;

	for (; n < (int)ARRAY_LEN(list) && size - at >= 3; n++) {
		uint32_t len = data[at + 1] | (uint32_t)data[at + 2] << 8;

		len = len == UINT16_MAX ? natural_length(data[at]) : len % (MSG_BODY_MAX + 1);
		list[n] = (struct message){.type = data[at], .len = len, .fd = -1};
		if (len > size - at - 3)
			len = (uint32_t)(size - at - 3); // the rest of the body is zero
		memcpy(list[n].body, data + at + 3, len);
		at += 3 + len;
	}
	manager_end(list, n);
	parent_end(list, n, data, size);
	return 0;
}
