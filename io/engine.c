// SPDX-License-Identifier: GPL-2.0-or-later
// The engine's control thread: takes what the parent hands it (memory, sockets, the first configuration), builds the
// data plane, starts the workers, gives up every power it no longer needs, and then serves messages: new
// configurations, link changes, stop. It believes no message: what a body says is checked against what it already has.
//
// When the parent goes away (end of file on the channel) the engine stops too: nobody could restart, reconfigure or
// restore anything any more, and the program in the kernel goes with the parent's descriptors.
#include "io/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/channel.h"
#include "io/clock.h"
#include "io/dataplane.h"
#include "io/message.h"
#include "io/sandbox.h"

#define SEND_NS (2 * NSEC_PER_SEC)
#define START_NS (20 * NSEC_PER_SEC) // from exec to the START message
#define TICK_NS (100 * NSEC_PER_MSEC)

enum { NICE_HIGHEST = -20 };

struct engine {
	int channel;
	struct umem umem;
	struct frames frames;
	struct stats *stats;
	struct dataplane_queue queue[STATS_QUEUES_MAX];
	struct xsk_info info[STATS_QUEUES_MAX];
	uint32_t queues;
	struct config *first; // received, not yet in force
	struct dataplane *dataplane;
};

static bool say(const struct engine *e, uint32_t type, const void *body, uint32_t len)
{
	return channel_send(e->channel, type, body, len, -1, clock_now() + SEND_NS) == 0;
}

static void refuse(const struct engine *e, uint64_t revision, const char *text)
{
	struct msg_refused m = {.revision = revision};

	snprintf(m.text, sizeof m.text, "%.*s", (int)sizeof m.text - 1, text);
	say(e, MSG_REFUSED, &m, sizeof m);
}

static void refuse_problems(const struct engine *e, uint64_t revision, const struct problems *p)
{
	char text[PROBLEM_PATH_MAX + PROBLEM_TEXT_MAX + 4];

	if (p->kept)
		snprintf(text, sizeof text, "%s: %s", p->list[0].path, p->list[0].text);
	else
		snprintf(text, sizeof text, "refused");
	refuse(e, revision, text);
}

// ---- what the parent hands over

static int take_fd(struct message *m)
{
	int fd = m->fd;

	m->fd = -1;
	return fd;
}

static bool take_memory(struct engine *e, struct message *m)
{
	const struct msg_memory *b = msg_body(m, MSG_MEMORY, sizeof *b);

	if (!b || m->fd < 0 || e->frames.base)
		return false;
	return umem_map(&e->umem, take_fd(m), b->frames, b->chunk_size, b->huge) == 0 &&
	       umem_frames(&e->umem, &e->frames) == 0;
}

static bool take_stats(struct engine *e, struct message *m)
{
	if (m->fd < 0 || e->stats)
		return false;
	e->stats = stats_map(take_fd(m));
	return e->stats != NULL;
}

static bool take_queue(struct engine *e, struct message *m)
{
	const struct msg_queue *b = msg_body(m, MSG_QUEUE, sizeof *b);
	struct stats_queue *s;

	if (!b || m->fd < 0 || !e->frames.base || !e->stats || e->queues == STATS_QUEUES_MAX ||
	    b->info.port >= PORTS_MAX || b->info.queue >= QUEUES_MAX || b->worker >= WORKERS_MAX)
		return false;
	s = &e->stats->queue[e->queues];
	memset(s, 0, sizeof *s);
	e->queue[e->queues].queue = xsk_queue_open(take_fd(m), &b->info, &e->frames, &s->counters);
	if (!e->queue[e->queues].queue)
		return false;
	e->queue[e->queues].worker = b->worker;
	e->info[e->queues++] = b->info;
	memcpy(s->device, b->device, sizeof s->device);
	s->device[sizeof s->device - 1] = 0;
	s->port = (uint16_t)b->info.port;
	s->queue = (uint16_t)b->info.queue;
	s->worker = (uint16_t)b->worker;
	s->mode = (uint16_t)b->info.mode;
	s->used = 1;
	e->stats->queues = e->queues;
	return true;
}

// Decodes the configuration in the descriptor of a CONFIG message. NULL with problems.
static struct config *read_config(struct message *m, struct problems *out)
{
	const struct msg_config *b = msg_body(m, MSG_CONFIG, sizeof *b);
	struct config *c = NULL;
	struct stat st;
	void *p;

	if (!b || m->fd < 0 || !b->bytes || b->bytes > CONFIG_BYTES_MAX || fstat(m->fd, &st) ||
	    (uint64_t)st.st_size < b->bytes) {
		problem_add(out, PROBLEM_ERROR, "", "malformed configuration message");
		return NULL;
	}
	p = mmap(NULL, b->bytes, PROT_READ, MAP_PRIVATE, m->fd, 0);
	if (p == MAP_FAILED) {
		problem_add(out, PROBLEM_ERROR, "", "can't map the configuration: %s", strerror(errno));
		return NULL;
	}
	c = config_decode(p, b->bytes, out);
	munmap(p, b->bytes);
	if (c)
		config_check(c, out);
	if (c && out->errors) {
		config_free(c);
		c = NULL;
	}
	return c;
}

// Do the sockets we were given serve this configuration?
static void check_queues(const struct engine *e, const struct config *c, struct problems *out)
{
	for (uint32_t q = 0; q < e->queues; q++)
		if (e->info[q].port >= c->ports || e->queue[q].worker >= c->workers)
			problem_add(out, PROBLEM_ERROR, "/ports",
				    "a socket was passed for port %u, worker %u; there are %u and %u", e->info[q].port,
				    e->queue[q].worker, c->ports, c->workers);
	for (uint32_t p = 0; p < c->ports; p++) {
		uint32_t n = 0;

		for (uint32_t q = 0; q < e->queues; q++)
			n += e->info[q].port == p;
		if (!n)
			problem_add(out, PROBLEM_ERROR, "/ports", "port %s has no socket", c->port[p].name);
	}
	if (c->frames != e->frames.count)
		problem_add(out, PROBLEM_ERROR, "/system/frames", "%u frames, but memory for %u was passed", c->frames,
			    e->frames.count);
}

static bool start(struct engine *e)
{
	struct problems problems = {0};
	struct msg_applied ready = {0};

	if (e->first && e->frames.base && e->stats && e->queues) {
		nsec_t before = clock_now();
		uint64_t revision = e->first->revision;

		check_queues(e, e->first, &problems);
		if (!problems.errors) {
			counter_set(&e->stats->started_ns, before);
			counter_set(&e->stats->frames_huge, e->umem.huge);
			e->dataplane = dataplane_new(e->first, &e->frames, e->queue, e->queues, e->stats, &problems);
			e->first = NULL;
		}
		if (e->dataplane && dataplane_start(e->dataplane, &problems)) {
			int err = sandbox_enter(SANDBOX_ENGINE);

			if (err)
				problem_add(&problems, PROBLEM_ERROR, "", "can't enter the sandbox: %s",
					    strerror(-err));
		}
		ready = (struct msg_applied){.revision = revision, .duration_ns = clock_now() - before};
	} else {
		problem_add(&problems, PROBLEM_ERROR, "", "START before memory, statistics, sockets and configuration");
	}
	if (problems.errors)
		refuse_problems(e, ready.revision, &problems);
	else
		say(e, MSG_READY, &ready, sizeof ready);
	bool ok = !problems.errors;

	problems_free(&problems);
	return ok;
}

// ---- serving

static void reconfigure(struct engine *e, struct message *m)
{
	struct problems problems = {0};
	struct config *c = read_config(m, &problems);
	const struct msg_config *b = msg_body(m, MSG_CONFIG, sizeof *b);
	uint64_t revision = b ? b->revision : 0;
	struct dataplane_change done;

	if (c && !e->dataplane) {
		config_free(e->first);
		e->first = c;
	} else if (c) {
		check_queues(e, c, &problems);
		if (problems.errors)
			config_free(c);
		else if (dataplane_apply(e->dataplane, c, &done, &problems))
			say(e, MSG_APPLIED,
			    &(struct msg_applied){done.revision, done.duration_ns, done.pause_ns, done.lost,
						  done.actions},
			    sizeof(struct msg_applied));
	}
	if (problems.errors)
		refuse_problems(e, revision, &problems);
	problems_free(&problems);
}

static void port_state(struct engine *e, struct message *m)
{
	const struct msg_port_state *b = msg_body(m, MSG_PORT_STATE, sizeof *b);

	if (b && e->dataplane)
		dataplane_port_state(e->dataplane, b->port, b->up);
}

// One message. False: stop, with *status as exit status.
static bool serve(struct engine *e, struct message *m, int *status)
{
	bool ok = true;

	switch (m->type) {
	case MSG_MEMORY:
		ok = take_memory(e, m);
		break;
	case MSG_STATS:
		ok = take_stats(e, m);
		break;
	case MSG_QUEUE:
		ok = take_queue(e, m);
		break;
	case MSG_CONFIG:
		reconfigure(e, m);
		break;
	case MSG_START:
		ok = !e->dataplane && start(e);
		if (!ok)
			*status = 1;
		break;
	case MSG_PORT_STATE:
		port_state(e, m);
		break;
	case MSG_STOP:
		*status = 0;
		ok = false;
		break;
	default:
		refuse(e, 0, "unknown message");
		break;
	}
	if (m->fd >= 0)
		close(m->fd);
	if (!ok && m->type != MSG_STOP && m->type != MSG_START) {
		refuse(e, 0, "malformed or untimely message from the parent");
		*status = 1;
	}
	return ok;
}

static void shut_down(struct engine *e)
{
	uint32_t missing = e->dataplane ? dataplane_stop(e->dataplane) : 0;

	if (missing) {
		struct msg_alarm alarm;

		snprintf(alarm.text, sizeof alarm.text, "%u frames did not come back from the kernel", missing);
		say(e, MSG_ALARM, &alarm, sizeof alarm);
	}
	dataplane_free(e->dataplane);
	for (uint32_t q = 0; q < e->queues; q++)
		xsk_queue_free(e->queue[q].queue);
	config_free(e->first);
	say(e, MSG_STOPPED, NULL, 0);
	umem_frames_close(&e->frames);
	umem_close(&e->umem);
	stats_unmap(e->stats);
}

// A worker that waits for its CPU while its receive ring fills loses packets before any class is known. A kernel that
// groups tasks by session (sched_autogroup) weighs niceness only within the group, so the engine gets one of its own. Without
// the right to ask (in a container, say) it works like everybody else.
static void ask_for_cpu(void)
{
	int fd;

	setpriority(PRIO_PROCESS, 0, NICE_HIGHEST);
	if (setsid() < 0)
		return;
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	dprintf(fd, "%d", NICE_HIGHEST);
	close(fd);
}

int engine_main(int channel_fd)
{
	struct engine *e = calloc(1, sizeof *e);
	struct message *m = calloc(1, sizeof *m);
	int status = 1, err;
	nsec_t deadline = clock_now() + START_NS;

	ask_for_cpu();
	err = sandbox_drop_privileges();
	if (!e || !m || err) {
		fprintf(stderr, "weir: engine: %s\n", err ? strerror(-err) : "out of memory");
		free(e);
		free(m);
		return 1;
	}
	e->channel = channel_fd;
	e->umem.fd = -1;
	prctl(PR_SET_NAME, "weir-engine");
	for (;;) {
		int got = channel_wait(e->channel, m, clock_now() + TICK_NS);

		if (got == -ETIMEDOUT) {
			if (e->dataplane)
				dataplane_publish(e->dataplane);
			else if (time_before(deadline, clock_now()))
				break;
			continue;
		}
		if (got < 0 || !serve(e, m, &status))
			break;
	}
	shut_down(e);
	free(e);
	free(m);
	return status;
}
