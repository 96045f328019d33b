// SPDX-License-Identifier: GPL-2.0-or-later
// Internet checksums (RFC 1071) for what AF_XDP leaves undone. A peer behind veth or virtio may hand over frames
// whose TCP/UDP checksum field holds only the (folded, not complemented) sum of the pseudo header, because its
// kernel counts on hardware that is not there (CHECKSUM_PARTIAL). Completing is harmless on a valid frame: the
// same value comes out again.
#ifndef CORE_CSUM_H
#define CORE_CSUM_H

#include "core/packet.h"

// One's complement sum of `len` bytes, added to `sum`, folded to 16 bits, in memory byte order.
uint16_t csum_add(uint16_t sum, const void *data, uint32_t len);

// True if *p (parsed, TCP or UDP, not a fragment) carries a partial checksum.
bool csum_is_partial(const struct packet *p, const uint8_t *data);

// Writes the complete TCP/UDP checksum into the frame. Leaves alone what has none: other protocols, fragments, UDP
// whose field is 0; and packets whose pseudo header holds another address than the IP header (source routing).
void csum_complete(const struct packet *p, uint8_t *data);

// Sets ECN CE in the IPv4 (checksum updated, RFC 1624) or IPv6 header of a parsed frame with ECT set; returns
// false, and changes nothing, if the packet is not ECN-capable.
bool ecn_mark_ce(const struct packet *p, uint8_t *data);

#endif
