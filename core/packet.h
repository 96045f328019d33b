// SPDX-License-Identifier: GPL-2.0-or-later
// The packet descriptor. One 64-byte line per UMEM chunk, in an array beside the UMEM; a packet is named by the
// index of its chunk (32 bits), and index 0 means "no packet", so that zeroed memory holds empty lists. A
// descriptor belongs to whoever holds the packet: one worker, or the ring between two.
#ifndef CORE_PACKET_H
#define CORE_PACKET_H

#include "core/drop.h"
#include "core/types.h"
#include "core/units.h"

#define PKT_NONE 0u
#define PORT_NONE 0xffffu

enum l3_kind { L3_OTHER, L3_ARP, L3_IPV4, L3_IPV6 };

enum packet_flags {
	PKT_VLAN = 1u << 0,     // `vlan` holds the outermost tag as it is in the frame
	PKT_FRAGMENT = 1u << 1, // any fragment: ports are not looked at, so that all pieces of a datagram share a flow
	PKT_L4 = 1u << 2,       // l4 is the offset of a complete TCP, UDP or ICMP header
	PKT_MARK_CE = 1u << 3,  // a scheduler asks for ECN CE; written into the frame just before TX
};

struct packet {
	uint32_t next;     // link of the list or queue that holds it; PKT_NONE at the end
	uint32_t class_id; // leaf class of the egress port's plan
	uint64_t flow;     // keyed 64-bit hash of the flow's tuple, 0 never occurs; see flow.h
	nsec_t arrival;    // when the RX ring was read; delay and CoDel's sojourn count from here
	uint16_t len;      // frame bytes from the destination MAC on, without FCS
	uint16_t wire_len; // adjusted length on the egress port: the only length a scheduler looks at
	uint16_t data;     // offset of the frame's first byte in its chunk
	uint16_t l3;       // offset of the network header from the frame's first byte
	uint16_t l4;       // offset of the transport header from the frame's first byte; 0: none
	uint16_t l3_len;   // bytes of the IP packet (IPv4 total length, IPv6 40 + payload length)
	uint16_t vlan;     // outermost TCI, host order, if PKT_VLAN
	uint16_t sport;    // TCP/UDP ports, host order; 0: none
	uint16_t dport;
	uint16_t in_port;  // port index of arrival
	uint16_t out_port; // port index of departure, once forwarded
	uint8_t l3_kind;   // enum l3_kind
	uint8_t ip_proto;  // IPv4 protocol or last IPv6 next header
	uint8_t tos;       // DSCP << 2 | ECN
	uint8_t flags;     // enum packet_flags
	uint8_t drop;      // enum drop_reason, set by whoever puts it on a freed list
	uint8_t spare[9];
};
static_assert(sizeof(struct packet) == CACHE_LINE, "one descriptor, one cache line");

// All frames of the process: chunk i is described by pkt[i]. The memory belongs to io/umem.
struct frames {
	uint8_t *base;        // chunk 0
	struct packet *pkt;   // descriptor 0
	uint32_t count;       // chunks, the unused chunk 0 included
	uint32_t chunk_shift; // log2 of the chunk size
};

static inline uint8_t *frame_data(const struct frames *f, uint32_t i)
{
	return f->base + ((uint64_t)i << f->chunk_shift) + f->pkt[i].data;
}

// A list linked through packet.next: drops on their way back to the pool, or packets on their way somewhere.
struct pkt_list {
	uint32_t head, tail, count;
};

static inline void pkt_list_add(struct pkt_list *l, struct packet *pkt, uint32_t i)
{
	pkt[i].next = PKT_NONE;
	if (l->count++)
		pkt[l->tail].next = i;
	else
		l->head = i;
	l->tail = i;
}

// Takes the first packet off; PKT_NONE if the list is empty.
static inline uint32_t pkt_list_take(struct pkt_list *l, const struct packet *pkt)
{
	uint32_t i = l->head;

	if (!l->count)
		return PKT_NONE;
	l->head = pkt[i].next;
	l->count--;
	return i;
}

// Puts packet i on a freed list with the reason why; the list owns it from here.
static inline void pkt_drop(struct pkt_list *freed, struct packet *pkt, uint32_t i, enum drop_reason reason)
{
	pkt[i].drop = (uint8_t)reason;
	pkt_list_add(freed, pkt, i);
}

#endif
