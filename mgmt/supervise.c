// SPDX-License-Identifier: GPL-2.0-or-later
// Handing over. The engine is sent descriptors in the order of io/message.h; the configuration travels as a sealed
// memfd, since it can be larger than a message. All sends have a deadline: an engine that does not read is ended.
//
// Queues are dealt to the workers in turn, port after port: so the queues of one port spread over the workers, and
// with as many queues a port as workers, each worker has one of every port.
#include "mgmt/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "io/channel.h"
#include "io/clock.h"
#include "mgmt/sealed.h"
#include "mgmt/spawn.h"

#define SEND_NS (2 * NSEC_PER_SEC)
#define READY_NS (10 * NSEC_PER_SEC)
#define APPLY_NS (10 * NSEC_PER_SEC)
#define STOP_NS (3 * NSEC_PER_SEC)
#define QUICK_NS (10 * NSEC_PER_SEC)
#define DELAY_MIN_NS (250 * NSEC_PER_MSEC)
#define DELAY_MAX_NS (1 * NSEC_PER_SEC) // even with a slow bind (2 s) on top, forwarding is back within 5 s

enum { QUICK_DEATHS = 5 };

static int send_message(const struct engine *e, uint32_t type, const void *body, uint32_t len, int fd)
{
	return channel_send(e->channel, type, body, len, fd, clock_now() + SEND_NS);
}

static int send_config(const struct engine *e, const struct config *c)
{
	struct msg_config body = {.revision = c->revision};
	int fd = sealed_config(c, &body.bytes), err;

	if (fd < 0)
		return fd;
	err = send_message(e, MSG_CONFIG, &body, sizeof body, fd);
	close(fd);
	return err;
}

static int send_queues(const struct engine *e, const struct ports *p, uint32_t workers)
{
	uint32_t dealt = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct port *port = &p->port[i];

		for (uint32_t q = 0; q < port->conf.queues; q++) {
			struct msg_queue body = {.info = port->info[q], .worker = dealt++ % workers};
			int err;

			memcpy(body.device, port->conf.device, sizeof body.device);
			err = send_message(e, MSG_QUEUE, &body, sizeof body, xsk_handle_fd(port->socket[q]));
			if (err)
				return err;
		}
	}
	return 0;
}

static int hand_over(const struct engine *e, const struct ports *p, int stats_fd, const struct config *c)
{
	const struct msg_memory memory = {
		.frames = p->umem.frames, .chunk_size = p->umem.chunk_size, .huge = p->umem.huge};
	int err = send_message(e, MSG_MEMORY, &memory, sizeof memory, p->umem.fd);

	if (!err)
		err = send_message(e, MSG_STATS, NULL, 0, stats_fd);
	if (!err)
		err = send_queues(e, p, c->workers);
	if (!err)
		err = send_config(e, c);
	return err ? err : send_message(e, MSG_START, NULL, 0, -1);
}

int engine_start(struct engine *e, const struct ports *p, int stats_fd, const struct config *c)
{
	int pair[2], null, err = channel_pair(pair);

	if (err)
		return err;
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0) {
		err = -errno;
		close(pair[0]);
		close(pair[1]);
		return err;
	}
	e->pid = spawn_role("engine", (int[]){null, STDERR_FILENO, STDERR_FILENO, pair[1]}, 4);
	close(null);
	close(pair[1]);
	e->channel = pair[0];
	if (e->pid < 0) {
		close(e->channel);
		return (int)e->pid;
	}
	e->state = ENGINE_STARTING;
	e->started = clock_now();
	e->deadline = e->started + READY_NS;
	err = hand_over(e, p, stats_fd, c);
	if (err)
		engine_end(e, 0);
	return err;
}

int engine_configure(struct engine *e, const struct config *c)
{
	int err = send_config(e, c);

	if (!err)
		e->deadline = clock_now() + APPLY_NS;
	return err;
}

int engine_port_state(struct engine *e, uint32_t port, bool up)
{
	const struct msg_port_state body = {.port = port, .up = up};

	return send_message(e, MSG_PORT_STATE, &body, sizeof body, -1);
}

void engine_stop(struct engine *e)
{
	e->state = ENGINE_STOPPING;
	e->deadline = clock_now() + STOP_NS;
	if (send_message(e, MSG_STOP, NULL, 0, -1))
		e->deadline = clock_now();
}

int engine_end(struct engine *e, nsec_t patience)
{
	int status = spawn_reap(e->pid, patience);

	close(e->channel);
	e->channel = -1;
	e->pid = 0;
	e->state = ENGINE_NONE;
	e->deadline = TIME_NEVER;
	return status;
}

nsec_t engine_restart_delay(struct engine *e, nsec_t now)
{
	nsec_t delay;

	if (now - e->started >= QUICK_NS)
		e->quick_deaths = 0;
	if (++e->quick_deaths <= QUICK_DEATHS)
		return 0;
	delay = DELAY_MIN_NS << (e->quick_deaths - QUICK_DEATHS - 1);
	if (delay < DELAY_MAX_NS)
		return delay;
	e->quick_deaths--; // it has no further to go
	return DELAY_MAX_NS;
}
