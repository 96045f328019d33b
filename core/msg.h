// SPDX-License-Identifier: GPL-2.0-or-later
// The frame of a message between two of weir's processes: magic, type, length, body. Pure: no descriptor is touched here.
#ifndef CORE_MSG_H
#define CORE_MSG_H

#include "core/types.h"

enum { MSG_BODY_MAX = 4096, MSG_HEADER = 12, MSG_MAX = MSG_HEADER + MSG_BODY_MAX };

struct message {
	uint32_t type, len; // of the body
	int fd;             // descriptor that came with it, owned by the receiver; -1: none
	_Alignas(8) uint8_t body[MSG_BODY_MAX];
};

// Writes header and body to `out` (MSG_MAX bytes); returns the total length, 0 if len > MSG_BODY_MAX.
size_t msg_pack(uint8_t *out, uint32_t type, const void *body, uint32_t len);
// Checks a received datagram of `n` bytes and copies it to *m (fd untouched). False if it is not exactly one message.
bool msg_unpack(struct message *m, const uint8_t *in, size_t n);
// The body, if type and length are as expected, else NULL.
const void *msg_body(const struct message *m, uint32_t type, uint32_t len);

#endif
