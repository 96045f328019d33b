// SPDX-License-Identifier: GPL-2.0-or-later
// From bytes to a descriptor: Ethernet, 802.1Q/802.1ad, PPPoE, ARP, IPv4, IPv6 with extension headers, TCP/UDP/ICMP.
#ifndef CORE_PARSE_H
#define CORE_PARSE_H

#include "core/packet.h"

enum { ETH_HEADER = 14, VLAN_TAG = 4, PARSE_TAGS_MAX = 2, PARSE_IP6_EXTENSIONS_MAX = 8 };

// Fills l3, l4, l3_len, l3_kind, vlan, ip_proto, tos, sport, dport, flags and flow of *p from the p->len bytes at
// `data`; reads no byte outside them and writes none. `seed` keys the flow hash. Returns DROP_NONE, or the reason
// why the frame must not be forwarded. Frames of protocols it does not know are fine (L3_OTHER), with a flow hash
// over the MAC addresses and the EtherType. l3_len is 0 unless IP. Of a PPPoE session frame, l3 is the IP packet
// inside, so that queues and classes are the subscriber's flows; it is L3_OTHER if there is none, or a bad one.
enum drop_reason parse(struct packet *p, const uint8_t *data, const uint64_t seed[2]);

#endif
