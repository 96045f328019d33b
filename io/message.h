// SPDX-License-Identifier: GPL-2.0-or-later
// What parent and engine say to each other. Fixed-size bodies; each side checks what it gets before it uses it.
//
//   parent                                    engine
//   MEMORY (memfd) STATS (fd) QUEUE (fd)... ->
//   CONFIG (memfd) START                    -> builds, starts its workers, locks itself in
//                                           <- READY | REFUSED
//   CONFIG (memfd)                          -> builds aside, publishes
//                                           <- APPLIED | REFUSED
//   PORT_STATE, STOP                        ->
//                                           <- ALARM, STOPPED
#ifndef IO_MESSAGE_H
#define IO_MESSAGE_H

#include "io/config.h"
#include "io/xsk.h"

enum message_type {
	MSG_MEMORY = 1, // msg_memory + UMEM memfd
	MSG_STATS,      // no body + descriptor of the stats region
	MSG_QUEUE,      // msg_queue + bound AF_XDP socket
	MSG_CONFIG,     // msg_config + memfd with the encoded configuration, sealed
	MSG_START,      // no body
	MSG_PORT_STATE, // msg_port_state
	MSG_STOP,       // no body
	MSG_READY = 64, // msg_applied
	MSG_APPLIED,    // msg_applied
	MSG_REFUSED,    // msg_refused
	MSG_ALARM,      // msg_alarm
	MSG_STOPPED,    // no body: all frames accounted for, engine exits
};

struct msg_memory {
	uint32_t frames, chunk_size, huge, pad;
};

struct msg_queue {
	struct xsk_info info;
	char device[DEVICE_MAX];
	uint32_t worker; // which worker serves it
	uint32_t pad;
};

struct msg_config {
	uint64_t revision, bytes;
};

struct msg_port_state {
	uint32_t port, up;
};

struct msg_applied {
	uint64_t revision, duration_ns, pause_ns, lost, actions;
};

struct msg_refused {
	uint64_t revision;
	char text[512];
};

struct msg_alarm {
	char text[256];
};

#endif
