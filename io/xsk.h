// SPDX-License-Identifier: GPL-2.0-or-later
// AF_XDP sockets. The parent (privileged) creates and binds them on one UMEM registration per mode; the engine maps the
// rings of the descriptors it is passed, and moves packets.
#ifndef IO_XSK_H
#define IO_XSK_H

#include "io/config.h"
#include "io/port.h"
#include "io/umem.h"

// What the engine must know of a socket; crosses the process border by message, beside the descriptor.
struct xsk_info {
	uint32_t port, queue; // port index, queue number
	uint32_t rx_ring, tx_ring, fill_ring, completion_ring;
	uint32_t mode;          // enum port_mode really in use (zerocopy, copy, generic), read back from the kernel
	uint32_t busy_poll;     // 1: SO_PREFER_BUSY_POLL is set
	uint32_t fix_checksums; // 1: the driver hands over partial checksums (veth, virtio, tun)
};

// Parent: the registrations of one UMEM (one for zero-copy sockets, one for copy sockets).
struct xsk_factory;
// `u` must outlive it. Fill and completion rings have one size per registration: as the largest port of *c needs.
struct xsk_factory *xsk_factory_new(const struct umem *u, const struct config *c);
void xsk_factory_free(struct xsk_factory *f); // after all its sockets

struct xsk_socket_handle; // a bound socket in the parent
// Binds (device, queue) as `conf` asks; EBUSY is retried up to 2 s (the kernel frees a closed socket's queue late). The
// program must be attached already. *info tells what came of it; a fallback from auto is a warning. NULL and a problem on failure.
struct xsk_socket_handle *xsk_bind(struct xsk_factory *f, const struct port_conf *conf, const char *driver,
				   uint32_t port, uint32_t queue, bool generic, struct xsk_info *info,
				   struct problems *out);
int xsk_handle_fd(const struct xsk_socket_handle *h);
// Closes the parent's end. All sockets of a registration are closed together: until the last one is, and until no other
// process holds one, the kernel may keep their queues.
void xsk_handle_close(struct xsk_socket_handle *h);

// Engine: a queue on a passed descriptor (owned by the queue from here). NULL, with errno, if the rings can't be mapped.
struct queue *xsk_queue_open(int fd, const struct xsk_info *info, const struct frames *f, struct queue_stats *stats);
// Frees it after ops->close.
void xsk_queue_free(struct queue *q);

#endif
