// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel program of a port: redirects each receive queue to its socket, counts and drops what has none. Held by a
// bpf_link, so that it detaches when the parent dies, however it dies.
#ifndef IO_XDP_H
#define IO_XDP_H

#include "io/config.h"

struct xdp_port; // program, maps and link of one device

// Attaches our program to the device natively (generic == false) or generically. Fails with a problem if another
// program is there. NULL on failure.
struct xdp_port *xdp_attach(const char *device, bool generic, struct problems *out);
// Puts a bound socket into the map: its queue's packets go there from now on. 0 or -errno.
int xdp_add_socket(struct xdp_port *x, uint32_t queue, int xsk_fd);
void xdp_remove_socket(struct xdp_port *x, uint32_t queue);
// Packets dropped by the program because their queue had no socket.
uint64_t xdp_misses(const struct xdp_port *x);
void xdp_detach(struct xdp_port *x);

#endif
