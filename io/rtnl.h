// SPDX-License-Identifier: GPL-2.0-or-later
// Requests to the kernel's routing netlink, one at a time.
#ifndef IO_RTNL_H
#define IO_RTNL_H

#include "core/types.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

// A message on its way: fixed header of the family, then attributes.
struct rtnl_message {
	struct nlmsghdr header;
	char body[1024];
};

// Starts a message with `fixed` bytes after the header (zeroed), and returns them. `flags` beside NLM_F_REQUEST.
void *rtnl_begin(struct rtnl_message *m, uint16_t type, uint16_t flags, size_t fixed);

// Sends it and hands every message of the answer to `each` (may be NULL), until the kernel has acknowledged it or a dump
// is complete. 0 or -errno, the kernel's own errors included; -ETIMEDOUT after 2 s of silence.
int rtnl_request(struct nlmsghdr *request, void (*each)(const struct nlmsghdr *h, void *arg), void *arg);

#endif
