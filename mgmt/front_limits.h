// SPDX-License-Identifier: GPL-2.0-or-later
// How long a connection may take for what, and who may have one. Pure: time and addresses are arguments.
#ifndef MGMT_FRONT_LIMITS_H
#define MGMT_FRONT_LIMITS_H

#include <sys/socket.h>

#include "core/units.h"

struct front_limits {
	unsigned total, address, loopback; // connections in all, of one remote address, of the machine itself
	unsigned reserved;                 // of the total, which only the machine itself may use
	nsec_t handshake_ns, headers_ns, body_ns, answer_ns; // absolute, from the phase's beginning
	nsec_t stall_ns;                                     // the client has taken nothing of an answer for that long
	nsec_t kept_ns;                                      // after an answer, until the next request begins
	nsec_t kept_idle_ns, headers_idle_ns; // from then on it counts as idle, and another may get its place
};

extern const struct front_limits front_limits_default;

// One connection, as far as its right to stay is concerned.
struct seat {
	uint8_t address[16]; // IPv4 as ::ffff:a.b.c.d; of IPv6 the first 64 bits, which is what one customer has
	bool loopback;       // 127.0.0.0/8 and ::1, all one address
	nsec_t idle_since;   // TIME_NEVER: busy
};

void seat_address(struct seat *s, const struct sockaddr_storage *peer);

enum admission {
	ADMITTED,
	ADMITTED_INSTEAD, // if *victim, which is idle, is closed
	REFUSED_ADDRESS,  // 429
	REFUSED_FULL,     // 503
};
enum admission front_admit(const struct front_limits *l, const struct seat *seat, unsigned seats,
			   const struct seat *newcomer, unsigned *victim);

#endif
