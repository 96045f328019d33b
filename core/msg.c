// SPDX-License-Identifier: GPL-2.0-or-later
// Framing of messages, in the manner of OpenBGPD's imsg but over datagrams: the kernel keeps the borders (a
// SOCK_SEQPACKET is read whole or not at all), so the length in the header is a check and never a promise to wait for
// more. Sender and receiver are the same binary on the same machine; numbers are in its byte order.
#include "core/msg.h"

#include <string.h>

#define MSG_MAGIC 0x52494557u // "WEIR"

struct header {
	uint32_t magic, type, len;
};
static_assert(sizeof(struct header) == MSG_HEADER, "the header is what MSG_HEADER says");

size_t msg_pack(uint8_t *out, uint32_t type, const void *body, uint32_t len)
{
	struct header h = {MSG_MAGIC, type, len};

	if (len > MSG_BODY_MAX)
		return 0;
	memcpy(out, &h, sizeof h);
	if (len)
		memcpy(out + sizeof h, body, len);
	return sizeof h + len;
}

bool msg_unpack(struct message *m, const uint8_t *in, size_t n)
{
	struct header h;

	if (n < sizeof h || n > MSG_MAX)
		return false;
	memcpy(&h, in, sizeof h);
	if (h.magic != MSG_MAGIC || h.len != n - sizeof h)
		return false;
	m->type = h.type;
	m->len = h.len;
	memcpy(m->body, in + sizeof h, h.len);
	return true;
}

const void *msg_body(const struct message *m, uint32_t type, uint32_t len)
{
	return m->type == type && m->len == len ? m->body : NULL;
}
