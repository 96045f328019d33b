// SPDX-License-Identifier: GPL-2.0-or-later
// The parent's end. The listening socket is bound here once and outlives every manager: connections that arrive while there
// is none wait in its backlog, and the next one takes them. Statistics are passed open for reading only.
//
// A manager that stands still is known by a PING without PONG. It is killed and its end awaited by pidfd, not by
// waitpid(): one that hangs in the kernel on a broken disk must not take the parent with it.
#include "mgmt/manager_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/channel.h"
#include "io/clock.h"
#include "mgmt/say.h"
#include "mgmt/spawn.h"

#define SEND_NS (200 * NSEC_PER_MSEC)
#define PING_NS (2 * NSEC_PER_SEC)
#define PONG_NS (10 * NSEC_PER_SEC)
#define END_NS (1 * NSEC_PER_SEC) // from the end of its channel to its own
#define STOP_NS (4 * NSEC_PER_SEC)
#define QUICK_NS (10 * NSEC_PER_SEC)
#define DELAY_MIN_NS (250 * NSEC_PER_MSEC)
#define DELAY_MAX_NS (30 * NSEC_PER_SEC)

enum { QUICK_DEATHS = 5, NOBODY = 65534, BACKLOG = 512 };

// --- what all managers use ---------------------------------------------------------------------------------------

// The user "weir", if this machine has it, else nobody. Read from the file itself: what else could be asked is a service.
static void find_user(uid_t *uid, gid_t *gid)
{
	FILE *f = fopen("/etc/passwd", "re");

	*uid = *gid = NOBODY;
	for (struct passwd *p; f && (p = fgetpwent(f));)
		if (!strcmp(p->pw_name, "weir") && p->pw_uid) {
			*uid = p->pw_uid;
			*gid = p->pw_gid;
			break;
		}
	if (f)
		fclose(f);
}

// The directory belongs to the manager's user and nobody else.
static bool make_directory(const char *dir)
{
	uid_t uid;
	gid_t gid;
	struct stat st;
	int fd;
	bool good;

	find_user(&uid, &gid);
	if (mkdir(dir, 0700) && errno != EEXIST) {
		say("%s: %s", dir, strerror(errno));
		return false;
	}
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	good = fd >= 0 && !fstat(fd, &st);
	if (good && geteuid() == 0)
		good = (st.st_uid == uid && st.st_gid == gid) || !fchown(fd, uid, gid);
	good = good && !fchmod(fd, 0700);
	if (!good)
		say("%s: %s", dir, strerror(errno));
	if (fd >= 0)
		close(fd);
	return good;
}

struct address {
	socklen_t len;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} u;
};

// Addresses are numbers: a name would ask the network, which may be what we are about to provide.
static bool read_address(const char *text, struct address *a)
{
	const char *colon = strrchr(text, ':');
	char host[64], *end;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
	size_t len = colon ? (size_t)(colon - text) : 0;

	*a = (struct address){0};
	if (!colon || !colon[1] || *end || port > 65535 || len >= sizeof host)
		return false;
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		snprintf(host, sizeof host, "%.*s", (int)len - 2, text + 1);
		a->u.v6.sin6_family = AF_INET6;
		a->u.v6.sin6_port = htons((uint16_t)port);
		a->len = sizeof a->u.v6;
		return inet_pton(AF_INET6, host, &a->u.v6.sin6_addr) == 1;
	}
	snprintf(host, sizeof host, "%.*s", (int)len, text);
	a->u.v4.sin_family = AF_INET;
	a->u.v4.sin_port = htons((uint16_t)port);
	a->len = sizeof a->u.v4;
	return inet_pton(AF_INET, host, &a->u.v4.sin_addr) == 1;
}

static int inherited(const char *number)
{
	char *end;
	unsigned long fd = strtoul(number, &end, 10);
	int listens = 0;
	socklen_t len = sizeof listens;

	if (!*number || *end || fd > 1023 || getsockopt((int)fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) ||
	    !listens || fcntl((int)fd, F_SETFD, FD_CLOEXEC) || fcntl((int)fd, F_SETFL, O_RDWR | O_NONBLOCK)) {
		say("--listen fd:%s: not a listening socket", number);
		return -1;
	}
	return (int)fd;
}

static int bind_listener(const char *text)
{
	struct address a;
	int fd, one = 1;

	if (!strncmp(text, "fd:", 3))
		return inherited(text + 3);
	if (!read_address(text, &a)) {
		say("--listen %s: not ADDRESS:PORT", text);
		return -1;
	}
	fd = socket(a.u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) && !bind(fd, &a.u.any, a.len) &&
	    !listen(fd, BACKLOG))
		return fd;
	say("--listen %s: %s", text, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

bool manager_open(struct manager *m, const char *dir, const char *listen, const char *seed, const char *stats_path)
{
	*m = (struct manager){.dir = dir,
			      .listen = listen,
			      .seed = seed,
			      .stats_path = stats_path,
			      .channel = -1,
			      .pidfd = -1,
			      .listener = -1,
			      .restart_at = clock_now(),
			      .ping_at = TIME_NEVER,
			      .deadline = TIME_NEVER};
	if (!make_directory(dir))
		return false;
	m->listener = bind_listener(listen);
	return m->listener >= 0;
}

void manager_close(struct manager *m)
{
	if (m->listener >= 0)
		close(m->listener);
	m->listener = -1;
}

// --- one manager -------------------------------------------------------------------------------------------------

// The first configuration, or /dev/null: what the manager finds on descriptor 0.
static int open_seed(const struct manager *m)
{
	int fd = m->seed ? open(m->seed, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
		errno = EINVAL;
	}
	if (m->seed && fd < 0)
		say("%s: can't be opened: %s", m->seed, strerror(errno));
	return fd >= 0 ? fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int start(struct manager *m)
{
	int pair[2], seed, err = channel_pair(pair);

	if (err)
		return err;
	seed = open_seed(m);
	m->pid = seed < 0 ? -errno
			  : spawn_role_on("manager", m->dir, (int[]){seed, STDOUT_FILENO, STDERR_FILENO, pair[1]}, 4);
	if (seed >= 0)
		close(seed);
	close(pair[1]);
	m->channel = pair[0];
	if (m->pid > 0)
		m->pidfd = (int)syscall(SYS_pidfd_open, m->pid, 0);
	if (m->pid < 0 || m->pidfd < 0) {
		err = m->pid < 0 ? (int)m->pid : -errno;
		if (m->pid > 0)
			spawn_reap(m->pid, 0);
		close(m->channel);
		m->channel = -1;
		return err;
	}
	fcntl(m->pidfd, F_SETFD, FD_CLOEXEC);
	m->state = MANAGER_RUNNING;
	m->generation++;
	m->informed = false;
	m->started = clock_now();
	m->ping_at = m->started + PING_NS;
	return 0;
}

static void start_or_wait(struct manager *m)
{
	int err = start(m);

	m->restart_at = TIME_NEVER;
	if (!err)
		return;
	say("the manager could not be started: %s", strerror(-err));
	m->restart_at = clock_now() + DELAY_MIN_NS;
}

static nsec_t restart_delay(struct manager *m, nsec_t now)
{
	nsec_t delay;

	if (now - m->started >= QUICK_NS)
		m->quick_deaths = 0;
	if (++m->quick_deaths <= QUICK_DEATHS)
		return 0;
	delay = DELAY_MIN_NS << (m->quick_deaths - QUICK_DEATHS - 1);
	if (delay < DELAY_MAX_NS)
		return delay;
	m->quick_deaths--; // it has no further to go
	return DELAY_MAX_NS;
}

static void bury(struct manager *m)
{
	bool asked = m->state == MANAGER_STOPPING;
	nsec_t now = clock_now(), wait;
	int status = 0;
	char ending[80];

	if (waitpid(m->pid, &status, WNOHANG) == 0)
		return;
	if (m->channel >= 0)
		close(m->channel);
	close(m->pidfd);
	m->channel = m->pidfd = -1;
	m->pid = 0;
	m->state = MANAGER_NONE;
	m->deadline = m->ping_at = TIME_NEVER;
	spawn_ending(status, ending, sizeof ending);
	if (asked) {
		if (status)
			say("the manager did not stop in order: %s", ending);
		return;
	}
	wait = restart_delay(m, now);
	m->restart_at = now + wait;
	say("the manager is gone (%s), a new one is started %s", ending,
	    wait ? "after a pause, because it dies again and again" : "now");
}

static void hang_up(struct manager *m, enum manager_state state, nsec_t deadline)
{
	if (m->channel >= 0)
		close(m->channel);
	m->channel = -1;
	m->state = state;
	m->ping_at = TIME_NEVER;
	m->deadline = deadline;
}

void manager_kill(struct manager *m, const char *why)
{
	if (m->state != MANAGER_RUNNING && m->state != MANAGER_STOPPING)
		return;
	say("the manager is ended: %s", why);
	kill(m->pid, SIGKILL);
	hang_up(m, m->state == MANAGER_RUNNING ? MANAGER_DYING : m->state, TIME_NEVER);
}

static void post(struct manager *m, uint32_t type, const void *body, uint32_t len, int fd)
{
	if (m->state == MANAGER_RUNNING && channel_send(m->channel, type, body, len, fd, clock_now() + SEND_NS))
		manager_kill(m, "it takes no messages");
}

void manager_send(struct manager *m, uint32_t type, const void *body, uint32_t len)
{
	if (m->informed)
		post(m, type, body, len, -1);
}

void manager_send_problems(struct manager *m, const struct problems *p)
{
	for (uint32_t i = 0; i < p->kept; i++) {
		struct mm_problem body = {.level = p->list[i].level};

		memcpy(body.path, p->list[i].path, sizeof body.path);
		memcpy(body.text, p->list[i].text, sizeof body.text);
		manager_send(m, MM_PROBLEM, &body, sizeof body);
	}
}

void manager_inform(struct manager *m, const struct mm_state *state)
{
	int stats = open(m->stats_path, O_RDONLY | O_CLOEXEC);

	if (stats >= 0) {
		post(m, MM_STATS, NULL, 0, stats);
		close(stats);
	}
	post(m, MM_LISTEN, NULL, 0, m->listener);
	post(m, MM_STATE, state, sizeof *state, -1);
	m->informed = true;
}

int manager_receive(struct manager *m, struct message *out)
{
	while (m->state == MANAGER_RUNNING) {
		int rc = channel_receive(m->channel, out);

		if (rc == 1 && out->type == MM_PONG && out->fd < 0) {
			m->deadline = TIME_NEVER;
			continue;
		}
		if (rc >= 0)
			return rc;
		if (rc == -EPIPE)
			hang_up(m, MANAGER_DYING, clock_now() + END_NS);
		else
			manager_kill(m, "its message is malformed");
	}
	return 0;
}

// --- the loop ----------------------------------------------------------------------------------------------------

void manager_stop(struct manager *m)
{
	m->restart_at = TIME_NEVER;
	if (m->state == MANAGER_STOPPING)
		m->deadline = clock_now();
	if (m->state != MANAGER_RUNNING)
		return;
	post(m, MM_STOP, NULL, 0, -1);
	if (m->state != MANAGER_RUNNING)
		return;
	m->state = MANAGER_STOPPING;
	m->ping_at = TIME_NEVER;
	m->deadline = clock_now() + STOP_NS;
}

bool manager_stopped(const struct manager *m)
{
	return m->state == MANAGER_NONE;
}

void manager_poll(const struct manager *m, struct pollfd fd[MANAGER_FDS])
{
	fd[0] = (struct pollfd){.fd = m->state == MANAGER_RUNNING ? m->channel : -1, .events = POLLIN};
	fd[1] = (struct pollfd){.fd = m->state == MANAGER_NONE ? -1 : m->pidfd, .events = POLLIN};
}

void manager_serve(struct manager *m, const struct pollfd fd[MANAGER_FDS])
{
	if (fd[1].revents && m->state != MANAGER_NONE && m->state != MANAGER_RUNNING)
		bury(m);
}

void manager_deadlines(struct manager *m, nsec_t now)
{
	if (time_is_due(m->deadline, now) && m->state == MANAGER_DYING) {
		kill(m->pid, SIGKILL);
		m->deadline = TIME_NEVER;
	} else if (time_is_due(m->deadline, now)) {
		manager_kill(m, m->state == MANAGER_STOPPING ? "it does not stop" : "it does not answer");
	}
	if (time_is_due(m->restart_at, now) && m->state == MANAGER_NONE)
		start_or_wait(m);
	if (time_is_due(m->ping_at, now)) {
		m->ping_at = now + PING_NS;
		if (m->deadline == TIME_NEVER)
			m->deadline = now + PONG_NS;
		post(m, MM_PING, NULL, 0, -1);
	}
}

nsec_t manager_due(const struct manager *m)
{
	nsec_t due = time_sooner(m->restart_at, m->ping_at);

	return time_sooner(due, m->deadline);
}
