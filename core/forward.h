// SPDX-License-Identifier: GPL-2.0-or-later
// THE decision: where does a parsed packet go? Today: a learning bridge (802.1D) over ports.
#ifndef CORE_FORWARD_H
#define CORE_FORWARD_H

#include "core/fdb.h"
#include "core/packet.h"

enum { PORTS_MAX = 64, BRIDGES_MAX = 64, WORKERS_MAX = 64 };

struct bridge {
	uint16_t ports;           // members
	uint16_t port[PORTS_MAX]; // their port indices
	nsec_t ageing;
};

// The forwarding part of a revision; read-only once published.
struct forward_table {
	uint16_t bridges;
	uint16_t bridge_of[PORTS_MAX]; // port index -> bridge index, PORT_NONE: no bridge
	struct bridge bridge[BRIDGES_MAX];
};

enum verdict_kind { VERDICT_DROP, VERDICT_SEND, VERDICT_FLOOD };

struct verdict {
	enum verdict_kind kind;
	enum drop_reason reason;     // VERDICT_DROP
	uint16_t port;               // VERDICT_SEND
	const struct bridge *bridge; // VERDICT_FLOOD: to all its ports but p->in_port
};

// Decides for the parsed packet *p whose frame is at `data`, and learns its source address in `own`. `all` are the
// `n` tables of all workers, own included. Writes neither packet nor frame.
struct verdict forward(const struct forward_table *t, struct fdb *own, struct fdb *const *all, uint32_t n,
		       const struct packet *p, const uint8_t *data, nsec_t now);

#endif
