// SPDX-License-Identifier: GPL-2.0-or-later
// Link events (RTM_NEWLINK, RTM_DELLINK). They say what a device is like, not what changed, so what was known is
// compared with what is said. An overrun of the socket (ENOBUFS) loses events: then each device is asked.
#include "mgmt/link.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENT_BYTES = 32768, BATCHES_MAX = 64 }; // the kernel's largest message; datagrams taken in one call

int link_open(void)
{
	struct sockaddr_nl me = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE), err;

	if (fd < 0)
		return -errno;
	if (!bind(fd, (const struct sockaddr *)&me, sizeof me))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static void set_state(struct ports *p, uint32_t i, bool up, void (*changed)(uint32_t port, bool up, void *arg),
		      void *arg)
{
	if (p->port[i].up == up)
		return;
	p->port[i].up = up;
	if (changed)
		changed(i, up, arg);
}

static void ask_all(struct ports *p, void (*changed)(uint32_t port, bool up, void *arg), void *arg)
{
	for (uint32_t i = 0; i < p->count; i++) {
		struct netdev device;
		bool up = !netdev_read(p->port[i].conf.device, &device) && device.carrier &&
			  device.ifindex == p->port[i].device.ifindex;

		set_state(p, i, up, changed, arg);
	}
}

void link_refresh(struct ports *p)
{
	ask_all(p, NULL, NULL);
}

static void take_event(const struct nlmsghdr *h, struct ports *p, void (*changed)(uint32_t port, bool up, void *arg),
		       void *arg)
{
	const struct ifinfomsg *link = NLMSG_DATA(h);

	if ((h->nlmsg_type != RTM_NEWLINK && h->nlmsg_type != RTM_DELLINK) ||
	    h->nlmsg_len < NLMSG_LENGTH(sizeof *link) ||
	    link->ifi_family != AF_UNSPEC) // bridges speak of their ports with another family
		return;
	for (uint32_t i = 0; i < p->count; i++)
		if (p->port[i].device.ifindex == (uint32_t)link->ifi_index)
			set_state(p, i, h->nlmsg_type == RTM_NEWLINK && (link->ifi_flags & IFF_RUNNING), changed, arg);
}

void link_read(int fd, struct ports *p, void (*changed)(uint32_t port, bool up, void *arg), void *arg)
{
	static _Alignas(struct nlmsghdr) char bytes[EVENT_BYTES];

	for (int batch = 0; batch < BATCHES_MAX; batch++) {
		ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
		size_t left = n > 0 ? (size_t)n : 0;

		if (n < 0 && errno == ENOBUFS) {
			ask_all(p, changed, arg);
			continue;
		}
		if (n <= 0)
			return;
		for (const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)bytes; NLMSG_OK(h, left);
		     h = NLMSG_NEXT(h, left))
			take_event(h, p, changed, arg);
	}
}
