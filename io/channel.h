// SPDX-License-Identifier: GPL-2.0-or-later
// Messages (core/msg.h) with at most one descriptor each over a SOCK_SEQPACKET pair.
#ifndef IO_CHANNEL_H
#define IO_CHANNEL_H

#include "core/msg.h"
#include "core/units.h"

// Makes a pair, both ends non-blocking and close-on-exec. 0 or -errno.
int channel_pair(int fd[2]);
// Sends one message, waiting for room until `deadline` (clock_now()). pass_fd -1: none; it stays the caller's. 0 or -errno.
int channel_send(int fd, uint32_t type, const void *body, uint32_t len, int pass_fd, nsec_t deadline);
// Receives one: 1 and *m filled (a descriptor in m->fd is the caller's), 0 if none is waiting, -EPIPE if the peer is
// gone, -EBADMSG if it was malformed (a descriptor in it is closed).
int channel_receive(int fd, struct message *m);
// The same, waiting until `deadline`; -ETIMEDOUT.
int channel_wait(int fd, struct message *m, nsec_t deadline);

#endif
