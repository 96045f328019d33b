// SPDX-License-Identifier: GPL-2.0-or-later
// Sleeping without losing a wake-up.
//
// Each descriptor has at most one one-shot poll request in the ring, armed just before sleeping. Arming makes the
// kernel look at the descriptor at that moment, so a packet that came a moment earlier completes the request at
// once; there is no gap between "looked" and "asleep". A request that fires while the worker is busy only leaves a
// completion to be collected before the next sleep. The timeout travels with the wait itself: nothing to re-arm.
#include "io/idle.h"

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct idle {
	uint32_t n; // descriptors, the wake-up's own (0) included
	int *fd;
	bool *armed;
	bool uring;
	struct io_uring ring;
	struct pollfd *poll;
};

// A ring that can poll and nothing else: seccomp does not see what a ring executes, so the ring itself must refuse.
static bool open_ring(struct io_uring *ring, unsigned entries)
{
	struct io_uring_restriction only[] = {
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_POLL_ADD},
		{.opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED, .sqe_flags = 0},
	};

	if (io_uring_queue_init(entries, ring, IORING_SETUP_R_DISABLED))
		return false;
	// By number: liburing 2.3 declares functions for these two calls that its library does not export.
	if (ring->features & IORING_FEAT_EXT_ARG &&
	    !io_uring_register((unsigned)ring->ring_fd, IORING_REGISTER_RESTRICTIONS, only, ARRAY_LEN(only)) &&
	    !io_uring_register((unsigned)ring->ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0))
		return true;
	io_uring_queue_exit(ring);
	return false;
}

struct idle *idle_new(const int *fd, uint32_t n)
{
	struct idle *i = calloc(1, sizeof *i);
	unsigned entries = 1;

	assert(n < IDLE_DESCRIPTORS_MAX);
	if (!i)
		return NULL;
	i->fd = calloc(n + 1, sizeof *i->fd);
	i->armed = calloc(n + 1, sizeof *i->armed);
	i->poll = calloc(n + 1, sizeof *i->poll);
	if (!i->fd || !i->armed || !i->poll)
		goto fail;
	i->fd[0] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (i->fd[0] < 0)
		goto fail;
	i->n = 1;
	for (uint32_t k = 0; k < n; k++)
		if (fd[k] >= 0)
			i->fd[i->n++] = fd[k];
	for (uint32_t k = 0; k < i->n; k++)
		i->poll[k] = (struct pollfd){.fd = i->fd[k], .events = POLLIN};
	while (entries < i->n)
		entries *= 2;
	i->uring = open_ring(&i->ring, entries);
	return i;
fail:
	idle_free(i);
	return NULL;
}

void idle_free(struct idle *i)
{
	if (!i)
		return;
	if (i->uring)
		io_uring_queue_exit(&i->ring);
	if (i->n)
		close(i->fd[0]);
	free(i->fd);
	free(i->armed);
	free(i->poll);
	free(i);
}

const char *idle_kind(const struct idle *i)
{
	return i->uring ? "io_uring" : "poll";
}

static void drain_wakes(struct idle *i)
{
	uint64_t count;
	ssize_t got = read(i->fd[0], &count, sizeof count);

	(void)got; // nothing to read is fine: it is non-blocking and only ever reset here
}

static bool wait_poll(struct idle *i, nsec_t timeout)
{
	struct timespec ts = {(time_t)(timeout / NSEC_PER_SEC), (long)(timeout % NSEC_PER_SEC)};
	int n = ppoll(i->poll, i->n, &ts, NULL);

	if (n > 0 && i->poll[0].revents)
		drain_wakes(i);
	return n > 0;
}

// Takes completions. Resets the wake-ups only if `wakes`, that is after a sleep: one that comes before it must end it.
static bool collect(struct idle *i, bool wakes)
{
	struct io_uring_cqe *cqe;
	bool any = false;

	while (io_uring_peek_cqe(&i->ring, &cqe) == 0) {
		uint64_t k = io_uring_cqe_get_data64(cqe);

		io_uring_cqe_seen(&i->ring, cqe);
		if (k >= i->n)
			continue;
		i->armed[k] = false;
		if (k == 0 && wakes)
			drain_wakes(i);
		any = true;
	}
	return any;
}

bool idle_wait(struct idle *i, nsec_t timeout)
{
	if (!i->uring)
		return wait_poll(i, timeout);
	struct __kernel_timespec ts = {(int64_t)(timeout / NSEC_PER_SEC), (long long)(timeout % NSEC_PER_SEC)};
	struct io_uring_cqe *cqe;

	collect(i,
		false); // of requests that fired while the worker was busy: the descriptors are armed and looked at anew
	for (uint32_t k = 0; k < i->n; k++) {
		struct io_uring_sqe *sqe = i->armed[k] ? NULL : io_uring_get_sqe(&i->ring);

		if (!sqe)
			continue;
		io_uring_prep_poll_add(sqe, i->fd[k], POLLIN);
		io_uring_sqe_set_data64(sqe, k);
		i->armed[k] = true;
	}
	io_uring_submit_and_wait_timeout(&i->ring, &cqe, 1, &ts, NULL);
	return collect(i, true);
}

void idle_wake(struct idle *i)
{
	uint64_t one = 1;
	ssize_t done = write(i->fd[0], &one, sizeof one);

	(void)done; // only a counter at its maximum refuses, and then a wake-up is already due
}
