// SPDX-License-Identifier: GPL-2.0-or-later
// Messages between processes. SOCK_SEQPACKET: a message arrives whole, in order, and the death of the peer is seen.
//
// Whoever sits at the other end may have been taken over, so a received message is refused as a whole if anything
// about it is unusual: truncated data, truncated control data, more than one descriptor, control data of another kind.
// Descriptors of a refused message are closed; the room offered for control data is exactly one descriptor
// (CMSG_LEN, not CMSG_SPACE, whose padding would let in a second one), so the kernel never installs more than that.
#include "io/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/clock.h"

enum { POLL_SLICE_MS = 1000 }; // longest single poll(), so that the timeout always fits an int

int channel_pair(int fd[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) ? -errno : 0;
}

// Waits for `events`. 0, -ETIMEDOUT or -errno; a hang-up counts as ready, the next call on the socket tells it.
static int wait_ready(int fd, short events, nsec_t deadline)
{
	struct pollfd p = {.fd = fd, .events = events};

	for (;;) {
		nsec_t now = clock_now();

		if (!time_before(now, deadline))
			return -ETIMEDOUT;
		nsec_t ms = (deadline - now) / NSEC_PER_MSEC + 1;
		int n = poll(&p, 1, ms < POLL_SLICE_MS ? (int)ms : POLL_SLICE_MS);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

// Lays out one descriptor as control data. `control` has room for CMSG_SPACE(sizeof(int)).
static void attach_fd(struct msghdr *h, void *control, int fd)
{
	h->msg_control = control;
	h->msg_controllen = CMSG_SPACE(sizeof fd);
	memset(control, 0, CMSG_SPACE(sizeof fd));
	struct cmsghdr *c = CMSG_FIRSTHDR(h);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
}

int channel_send(int fd, uint32_t type, const void *body, uint32_t len, int pass_fd, nsec_t deadline)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int))];
	uint8_t data[MSG_MAX];
	struct iovec iov = {data, msg_pack(data, type, body, len)};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};

	if (!iov.iov_len)
		return -EMSGSIZE;
	if (pass_fd >= 0)
		attach_fd(&h, control, pass_fd);
	for (;;) {
		if (sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno == ECONNRESET)
			return -EPIPE;
		if (errno != EAGAIN)
			return -errno;
		int rc = wait_ready(fd, POLLOUT, deadline);

		if (rc)
			return rc;
	}
}

// Takes the descriptor out of the control data: true if there was none (*fd -1) or exactly one. Anything else is
// closed, whatever it was.
static bool take_fd(struct msghdr *h, int *fd)
{
	bool good = !(h->msg_flags & MSG_CTRUNC);

	*fd = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			good = false;
			continue;
		}
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
			int got;

			memcpy(&got, (const uint8_t *)c + at, sizeof got);
			if (*fd < 0) {
				*fd = got;
			} else {
				close(got);
				good = false;
			}
		}
	}
	if (!good && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	return good;
}

int channel_receive(int fd, struct message *m)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int))];
	uint8_t data[MSG_MAX];
	struct iovec iov = {data, sizeof data};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control};
	ssize_t n;

	m->fd = -1;
	do {
		h.msg_controllen = CMSG_LEN(sizeof(int));
		n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		if (errno == EAGAIN)
			return 0;
		return errno == ECONNRESET ? -EPIPE : -errno;
	}
	bool good = take_fd(&h, &m->fd);

	if (n == 0 && good && m->fd < 0)
		return -EPIPE; // end of file; an empty datagram would look the same, and nobody sends one
	if (good && !(h.msg_flags & MSG_TRUNC) && msg_unpack(m, data, (size_t)n))
		return 1;
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	return -EBADMSG;
}

int channel_wait(int fd, struct message *m, nsec_t deadline)
{
	for (;;) {
		int rc = channel_receive(fd, m);

		if (rc)
			return rc;
		rc = wait_ready(fd, POLLIN, deadline);
		if (rc)
			return rc;
	}
}
