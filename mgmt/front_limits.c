// SPDX-License-Identifier: GPL-2.0-or-later
// Admission. Somebody who holds connections open must not keep others out: an address that has its share can only
// replace its own, when all is full the longest idle gives way, and remote clients together never get the last
// places, so that whoever sits at the machine can always speak to it.
#include "mgmt/front_limits.h"

#include <netinet/in.h>
#include <string.h>

const struct front_limits front_limits_default = {
	.total = 64,
	.address = 16,
	.loopback = 48,
	.reserved = 4,
	.handshake_ns = 5 * NSEC_PER_SEC,
	.headers_ns = 10 * NSEC_PER_SEC,
	.body_ns = 30 * NSEC_PER_SEC,
	.answer_ns = 120 * NSEC_PER_SEC,
	.stall_ns = 30 * NSEC_PER_SEC,
	.kept_ns = 60 * NSEC_PER_SEC,
	.kept_idle_ns = 15 * NSEC_PER_SEC,
	.headers_idle_ns = 2 * NSEC_PER_SEC,
};

void seat_address(struct seat *s, const struct sockaddr_storage *peer)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	memset(s, 0, sizeof *s);
	s->idle_since = TIME_NEVER;
	if (peer->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)peer;

		memcpy(s->address, mapped, sizeof mapped);
		memcpy(s->address + sizeof mapped, &in->sin_addr, 4);
	} else if (peer->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;

		memcpy(s->address, &in6->sin6_addr, sizeof s->address);
		s->loopback = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	}
	if (memcmp(s->address, mapped, sizeof mapped) != 0)
		memset(s->address + 8, 0, 8);
	else
		s->loopback = s->address[12] == 127;
	if (s->loopback)
		memset(s->address, 0, sizeof s->address);
}

static bool same_address(const struct seat *a, const struct seat *b)
{
	return a->loopback == b->loopback && !memcmp(a->address, b->address, sizeof a->address);
}

enum admission front_admit(const struct front_limits *l, const struct seat *seat, unsigned seats,
			   const struct seat *newcomer, unsigned *victim)
{
	unsigned same = 0, remote = 0;
	nsec_t oldest = TIME_NEVER;
	bool share_used, remote_full;

	for (unsigned i = 0; i < seats; i++) {
		same += same_address(&seat[i], newcomer);
		remote += !seat[i].loopback;
	}
	share_used = same >= (newcomer->loopback ? l->loopback : l->address);
	remote_full = !newcomer->loopback && remote >= l->total - l->reserved;
	if (!share_used && !remote_full && seats < l->total)
		return ADMITTED;
	for (unsigned i = 0; i < seats; i++) {
		if (seat[i].idle_since == TIME_NEVER || (share_used && !same_address(&seat[i], newcomer)) ||
		    (remote_full && seat[i].loopback))
			continue;
		if (oldest == TIME_NEVER || time_before(seat[i].idle_since, oldest)) {
			oldest = seat[i].idle_since;
			*victim = i;
		}
	}
	if (oldest != TIME_NEVER)
		return ADMITTED_INSTEAD;
	return share_used ? REFUSED_ADDRESS : REFUSED_FULL;
}
