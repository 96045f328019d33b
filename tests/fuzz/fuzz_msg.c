// SPDX-License-Identifier: GPL-2.0-or-later
// Datagrams of any content: unpacked or refused, and what was unpacked packs to the same bytes. The second half sends
// the bytes through a real channel.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void through_channel(const uint8_t *data, size_t size, bool expect)
{
	static int end[2] = {-1, -1};
	struct message m;

	if (end[0] < 0 && channel_pair(end))
		abort();
	if (!size || size > 2 * MSG_MAX || send(end[0], data, size, MSG_DONTWAIT) != (ssize_t)size)
		return;
	if ((channel_receive(end[1], &m) == 1) != expect || m.fd != -1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[MSG_MAX];
	struct message m;
	bool good = msg_unpack(&m, data, size);

	if (good && (msg_pack(again, m.type, m.body, m.len) != size || memcmp(again, data, size) != 0))
		abort();
	if (good && m.len && !msg_body(&m, m.type, m.len))
		abort();
	through_channel(data, size, good);
	return 0;
}
