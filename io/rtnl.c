// SPDX-License-Identifier: GPL-2.0-or-later
// A socket a request: the few requests there are come at start and stop, and a fresh socket has no stale answers.
#include "io/rtnl.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_BYTES = 32768 }; // as large as the kernel makes a part of a dump

void *rtnl_begin(struct rtnl_message *m, uint16_t type, uint16_t flags, size_t fixed)
{
	memset(m, 0, sizeof *m);
	m->header.nlmsg_len = (uint32_t)NLMSG_LENGTH(fixed);
	m->header.nlmsg_type = type;
	m->header.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	return NLMSG_DATA(&m->header);
}

// 1: the answer goes on; 0 or -errno: it is over.
static int read_part(const struct nlmsghdr *h, int left, void (*each)(const struct nlmsghdr *h, void *arg), void *arg)
{
	for (; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return h->nlmsg_len < NLMSG_LENGTH(sizeof(struct nlmsgerr))
				       ? -EBADMSG
				       : ((const struct nlmsgerr *)NLMSG_DATA(h))->error;
		if (each)
			each(h, arg);
	}
	return 1;
}

int rtnl_request(struct nlmsghdr *request, void (*each)(const struct nlmsghdr *h, void *arg), void *arg)
{
	static _Alignas(struct nlmsghdr) _Thread_local char answer[ANSWER_BYTES];
	const struct timeval patience = {.tv_sec = 2};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), err = 1;

	if (fd < 0)
		return -errno;
	if (!(request->nlmsg_flags & NLM_F_DUMP))
		request->nlmsg_flags |= NLM_F_ACK;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
	    send(fd, request, request->nlmsg_len, 0) < 0)
		err = -errno;
	while (err > 0) {
		ssize_t n = recv(fd, answer, sizeof answer, 0);

		if (n < 0)
			err = errno == EAGAIN ? -ETIMEDOUT : errno == EINTR ? 1 : -errno;
		else
			err = read_part((const struct nlmsghdr *)answer, (int)n, each, arg);
	}
	close(fd);
	return err;
}
