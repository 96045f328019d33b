// SPDX-License-Identifier: GPL-2.0-or-later
// The learning bridge of IEEE 802.1D (now 802.1Q clause 8): the learning process first, for every frame that a station
// may have sent, then the filtering decision. VLANs learn independently (the VID is part of the address), a
// priority tag with VID 0 being no VLAN. Frames are not changed.
#include "core/forward.h"

#include <string.h>

enum { VID_MASK = 0xfff };

static struct verdict drop(enum drop_reason reason)
{
	return (struct verdict){.kind = VERDICT_DROP, .reason = reason, .port = PORT_NONE};
}

// No station sends from a group address or from none.
static bool station_address(const uint8_t mac[6])
{
	static const uint8_t none[6];

	return !(mac[0] & 1) && memcmp(mac, none, 6) != 0;
}

// 01-80-C2-00-00-00 to -0F: spanning tree, pause, LACP, 802.1X, LLDP; they end at the next bridge (802.1Q 8.6.3).
static bool reserved_address(const uint8_t mac[6])
{
	static const uint8_t prefix[5] = {0x01, 0x80, 0xc2, 0x00, 0x00};

	return memcmp(mac, prefix, 5) == 0 && mac[5] <= 0x0f;
}

struct verdict forward(const struct forward_table *t, struct fdb *own, struct fdb *const *all, uint32_t n,
		       const struct packet *p, const uint8_t *data, nsec_t now)
{
	const uint8_t *dst = data, *src = data + 6;
	uint16_t in = p->in_port, vid = p->flags & PKT_VLAN ? p->vlan & VID_MASK : 0;
	uint16_t bridge = in < PORTS_MAX ? t->bridge_of[in] : PORT_NONE;

	if (bridge >= t->bridges)
		return drop(DROP_NO_BRIDGE);
	if (!station_address(src))
		return drop(DROP_BAD_SRC_MAC);
	fdb_learn(own, bridge, vid, src, in, now);
	if (reserved_address(dst))
		return drop(DROP_RESERVED_MAC);

	const struct bridge *b = &t->bridge[bridge];
	uint16_t out = PORT_NONE;

	if (!(dst[0] & 1))
		out = fdb_lookup(all, n, bridge, vid, dst, now, b->ageing);
	if (out == in)
		return drop(DROP_SAME_PORT);
	// What was learned may be older than the table: a port that has left the bridge is no way to the station.
	if (out < PORTS_MAX && t->bridge_of[out] == bridge)
		return (struct verdict){.kind = VERDICT_SEND, .port = out};
	if (b->ports < 2)
		return drop(DROP_SAME_PORT); // whoever is meant can only be behind the port it came from
	return (struct verdict){.kind = VERDICT_FLOOD, .port = PORT_NONE, .bridge = b};
}
