// SPDX-License-Identifier: GPL-2.0-or-later
// Prefixes and port ranges. A prefix with bits beyond its length is refused instead of cleared: the one who wrote
// 10.1.2.3/8 may have meant 10.1.2.3/32, which is something else than 10.0.0.0/8.
#include "mgmt/match.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY(...) (snprintf(why, QUANTITY_WHY, __VA_ARGS__), false)

// Clears what is beyond the prefix; whether anything was.
static bool clear_beyond(struct prefix *p)
{
	bool found = false;

	for (unsigned bit = p->len; bit < 128; bit++) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		found |= (p->addr[bit / 8] & mask) != 0;
		p->addr[bit / 8] &= (uint8_t)~mask;
	}
	return found;
}

// Decimal digits alone, at most five of them; -1 otherwise.
static long small_number(const char *text, size_t len)
{
	long v = 0;

	if (!len || len > 5)
		return -1;
	for (; len; len--, text++) {
		if (*text < '0' || *text > '9')
			return -1;
		v = v * 10 + (*text - '0');
	}
	return v;
}

bool match_prefix(const char *text, struct prefix *out, char *why)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char addr[INET6_ADDRSTRLEN];
	struct prefix p = {0};
	long bits = 0, most;

	if (!strcmp(text, "any")) {
		*out = p;
		return true;
	}
	if (len >= sizeof addr)
		return WHY("is not an address");
	memcpy(addr, text, len);
	addr[len] = '\0';
	p.family = strchr(addr, ':') ? 6 : 4;
	most = p.family == 6 ? 128 : 32;
	if (inet_pton(p.family == 6 ? AF_INET6 : AF_INET, addr, p.addr) != 1)
		return WHY("is not an address");
	bits = slash ? small_number(slash + 1, strlen(slash + 1)) : most;
	if (bits < 0 || bits > most)
		return WHY("has a length that is not 0 to %ld", most);
	p.len = (uint8_t)bits;
	if (clear_beyond(&p)) {
		inet_ntop(p.family == 6 ? AF_INET6 : AF_INET, p.addr, addr, sizeof addr);
		return WHY("has bits set beyond its length (the network is %s/%ld)", addr, bits);
	}
	*out = p;
	return true;
}

bool match_ports(const char *text, uint16_t *min, uint16_t *max, char *why)
{
	const char *dash = strchr(text, '-');
	long lo, hi;

	if (!strcmp(text, "any")) {
		*min = 0;
		*max = UINT16_MAX;
		return true;
	}
	lo = small_number(text, dash ? (size_t)(dash - text) : strlen(text));
	hi = dash ? small_number(dash + 1, strlen(dash + 1)) : lo;
	if (lo < 0 || hi < 0)
		return WHY("is not a port or a range of ports");
	if (lo < 1 || lo > UINT16_MAX || hi < 1 || hi > UINT16_MAX)
		return WHY("is out of range");
	if (lo > hi)
		return WHY("begins above its end");
	*min = (uint16_t)lo;
	*max = (uint16_t)hi;
	return true;
}
