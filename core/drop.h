// SPDX-License-Identifier: GPL-2.0-or-later
// Why a packet was not forwarded. Each drop has exactly one of these reasons and is counted once, by the worker
// that returns the frame to the pool. The list is the project's one x-macro: name, then the sentence people see.
#ifndef CORE_DROP_H
#define CORE_DROP_H

#include "core/types.h"

#define DROP_REASONS(X)                                                                                         \
	X(TOO_SHORT, "too_short", "shorter than an Ethernet header")                                            \
	X(TOO_LONG, "too_long", "longer than the port's largest frame")                                         \
	X(BAD_SRC_MAC, "bad_src_mac", "source MAC address is a group address or zero")                          \
	X(VLAN_TRUNCATED, "vlan_truncated", "frame ends inside a VLAN tag")                                     \
	X(VLAN_TOO_MANY, "vlan_too_many", "more than two VLAN tags")                                            \
	X(IP4_TRUNCATED, "ip4_truncated", "frame ends inside the IPv4 header")                                  \
	X(IP4_BAD_HEADER, "ip4_bad_header", "IPv4 version or header length is wrong")                           \
	X(IP4_BAD_LENGTH, "ip4_bad_length", "IPv4 total length exceeds the frame or is below its header")       \
	X(IP4_BAD_CHECKSUM, "ip4_bad_checksum", "IPv4 header checksum is wrong")                                \
	X(IP6_TRUNCATED, "ip6_truncated", "frame ends inside the IPv6 header")                                  \
	X(IP6_BAD_HEADER, "ip6_bad_header", "IPv6 version is wrong")                                            \
	X(IP6_BAD_LENGTH, "ip6_bad_length", "IPv6 payload length exceeds the frame")                            \
	X(IP6_BAD_EXTENSION, "ip6_bad_extension", "IPv6 extension headers are truncated or too many")           \
	X(L4_TRUNCATED, "l4_truncated", "frame ends inside the TCP, UDP or ICMP header")                        \
	X(L4_BAD_HEADER, "l4_bad_header", "TCP data offset or UDP length is wrong")                             \
	X(NO_BRIDGE, "no_bridge", "port belongs to no bridge")                                                  \
	X(SAME_PORT, "same_port", "destination is behind the port it came from")                                \
	X(RESERVED_MAC, "reserved_mac", "link-local group address (802.1D), never forwarded")                   \
	X(PORT_DOWN, "port_down", "egress port has no link or is not attached")                                 \
	X(NO_FRAMES, "no_frames", "no free frame for a copy of a flooded packet")                               \
	X(QUEUE_FULL, "queue_full", "class or pool limit reached, dropped from the fattest queue")              \
	X(CODEL, "codel", "CoDel: delay stayed above target")                                                   \
	X(HANDOFF_FULL, "handoff_full", "hand-off to the shaper's worker full, dropped from the fattest class") \
	X(RECONFIGURED, "reconfigured", "lost because the configuration changed")                               \
	X(TX_ERROR, "tx_error", "frame not accepted by the egress port")                                        \
	X(SHUTDOWN, "shutdown", "still queued when the program stopped")

enum drop_reason {
	DROP_NONE, // not dropped
#define X(id, name, text) DROP_##id,
	DROP_REASONS(X)
#undef X
		DROP_REASON_COUNT
};

// Identifier (for metrics) and sentence (for people) of a reason; never NULL, "unknown" outside the range.
const char *drop_name(enum drop_reason reason);
const char *drop_text(enum drop_reason reason);

#endif
