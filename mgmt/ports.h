// SPDX-License-Identifier: GPL-2.0-or-later
// What the parent opens for the engine, in the order in which the kernel wants it: frame memory, devices, programs,
// sockets. Devices and programs stay from start to end; sockets are made anew for each engine.
#ifndef MGMT_PORTS_H
#define MGMT_PORTS_H

#include "io/netdev.h"
#include "io/umem.h"
#include "io/xdp.h"
#include "io/xsk.h"

struct port {
	struct port_conf conf; // with the device's numbers where the configuration left it to the device
	struct netdev device;
	struct netdev_saved *saved;
	struct xdp_port *program;
	bool generic;
	uint64_t lost_before; // netdev_lost when it was opened
	bool up;              // has carrier, as far as the parent knows
	struct xsk_socket_handle *socket[QUEUES_MAX];
	struct xsk_info info[QUEUES_MAX];
};

struct ports {
	uint32_t count;
	struct port port[PORTS_MAX];
	struct umem umem;
	struct xsk_factory *factory;
};

// Opens all that the checked configuration *c needs, and fills in its port settings that are the device's (queues, mtu;
// see ports_resolve). NULL with a problem, and everything is as it was.
struct ports *ports_open(struct config *c, struct problems *out);
// Everything back, in reverse: sockets, programs, settings, memory. NULL is fine.
void ports_close(struct ports *p);

// Sockets of all queues: closes them, or binds them and puts them into the programs' maps. Packets that arrive
// between the two are dropped by the program and counted. ports_bind: false with a problem, and none is open.
void ports_unbind(struct ports *p);
bool ports_bind(struct ports *p, struct problems *out);

// Settings of *c that are left to the devices get the values in use, and what follows from them is set. *c has the same
// ports in the same order, or it is not touched.
void ports_resolve(const struct ports *p, struct config *c);
// Brings the ports of *c into the order of *p, if they are the same set: the order of keys in a document means nothing.
void ports_align(const struct ports *p, struct config *c);

// One line for people: "lan=eth0 (2 queues, zerocopy), ...".
void ports_describe(const struct ports *p, char *buf, size_t size);

#endif
