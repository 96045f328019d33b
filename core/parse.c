// SPDX-License-Identifier: GPL-2.0-or-later
// The parser. Everything after it trusts the offsets found here, so each field is read only after the bytes it lies in
// were shown to be there, and each refusal says which rule was broken. Three limits narrow as it goes: the frame, the
// IP packet inside it (Ethernet pads short frames to 60 bytes, so the two differ), and the transport header.
//
// It refuses what no receiver could use and a router must not forward (RFC 1812 5.2.2, RFC 8200 4), and lets pass what
// it merely does not know. Tiny fragments, odd option values or unknown protocols are the receiver's business.
//
// The flow tuple is kept canonical: fixed layout, unused fields zero, so that equal flows are equal bytes.
#include "core/parse.h"

#include <string.h>

#include "core/csum.h"
#include "core/flow.h"

enum {
	TYPE_IPV4 = 0x0800,
	TYPE_ARP = 0x0806,
	TYPE_VLAN = 0x8100, // 802.1Q C-tag
	TYPE_IPV6 = 0x86dd,
	TYPE_SVLAN = 0x88a8, // 802.1ad S-tag
	TYPE_PPPOE = 0x8864, // session stage (RFC 2516); the discovery stage is just another EtherType
	TYPE_MIN = 0x0600,   // below it the field is the length of an 802.3 frame
};

enum {
	IP4_HEADER = 20,
	IP4_ADDRESSES = 12, // offset in the header
	IP6_HEADER = 40,
	IP6_ADDRESSES = 8,
	TCP_HEADER = 20,
	UDP_HEADER = 8,
	ICMP_HEADER = 8,
	ICMP6_HEADER = 4, // RFC 4443 2.1; there are messages of 6 bytes (RPL solicitation, RFC 6550)
	PPPOE_HEADER = 6,
	PPP_IPV4 = 0x0021,
	PPP_IPV6 = 0x0057,
};

enum {
	PROTO_HOP_BY_HOP = 0,
	PROTO_ICMP = 1,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_AH = 51,
	PROTO_ICMP6 = 58,
	PROTO_DEST_OPTIONS = 60,
};

// What the flow hash is taken over. `head` says what kind of tuple it is, `rest` holds the addresses and ports of an IP
// packet, the MAC addresses and EtherType of any other frame, as they are on the wire. Only the used part is hashed.
struct tuple {
	uint64_t head;
	uint8_t rest[36];
};

// Where things are in tuple.head. The session keeps apart PPPoE subscribers who use the same private addresses.
enum { HEAD_KIND = 0, HEAD_PROTO = 8, HEAD_VID = 16, HEAD_INNER_VID = 28, HEAD_SESSION = 40 };

static inline uint16_t be16(const uint8_t *b)
{
	return (uint16_t)(b[0] << 8 | b[1]);
}

// Transport header at `off`; the IP packet ends at `end`.
static enum drop_reason parse_l4(struct packet *p, const uint8_t *data, uint32_t off, uint32_t end)
{
	const uint8_t *h = data + off;
	uint32_t have = end - off, length;

	if (p->ip_proto == PROTO_TCP) {
		if (have < TCP_HEADER)
			return DROP_L4_TRUNCATED;
		length = (h[12] >> 4) * 4u;
		if (length < TCP_HEADER || length > have)
			return DROP_L4_BAD_HEADER;
	} else if (p->ip_proto == PROTO_UDP) {
		if (have < UDP_HEADER)
			return DROP_L4_TRUNCATED;
		// Shorter than the IP packet is legal: the surplus carries UDP options (RFC 9868).
		length = be16(h + 4);
		if (length < UDP_HEADER || length > have)
			return DROP_L4_BAD_HEADER;
	} else if (p->ip_proto == PROTO_ICMP && p->l3_kind == L3_IPV4) {
		if (have < ICMP_HEADER)
			return DROP_L4_TRUNCATED;
	} else if (p->ip_proto == PROTO_ICMP6 && p->l3_kind == L3_IPV6) {
		if (have < ICMP6_HEADER)
			return DROP_L4_TRUNCATED;
	} else {
		return DROP_NONE;
	}
	p->l4 = (uint16_t)off;
	p->flags |= PKT_L4;
	if (p->ip_proto == PROTO_TCP || p->ip_proto == PROTO_UDP) {
		p->sport = be16(h);
		p->dport = be16(h + 2);
	}
	return DROP_NONE;
}

// IPv4 packet at p->l3; the bytes it may use end at `end`.
static enum drop_reason parse_ip4(struct packet *p, const uint8_t *data, uint32_t end)
{
	const uint8_t *h = data + p->l3;
	uint32_t have = end - p->l3;

	if (have < IP4_HEADER)
		return DROP_IP4_TRUNCATED;
	uint32_t header = (h[0] & 15) * 4u;

	if (h[0] >> 4 != 4 || header < IP4_HEADER)
		return DROP_IP4_BAD_HEADER;
	if (header > have)
		return DROP_IP4_TRUNCATED;
	uint32_t total = be16(h + 2);

	if (total < header || total > have)
		return DROP_IP4_BAD_LENGTH;
	if (csum_add(0, h, header) != 0xffff)
		return DROP_IP4_BAD_CHECKSUM;
	p->l3_kind = L3_IPV4;
	p->l3_len = (uint16_t)total;
	p->tos = h[1];
	p->ip_proto = h[9];
	if (be16(h + 6) & 0x3fff) { // "more fragments" or an offset
		p->flags |= PKT_FRAGMENT;
		return DROP_NONE;
	}
	return parse_l4(p, data, p->l3 + header, p->l3 + total);
}

// Walks the extension headers from *off on, `next` being the type of the first; the packet ends at `end`. Leaves the
// protocol behind them in p->ip_proto and where it starts in *off.
static enum drop_reason parse_ip6_extensions(struct packet *p, const uint8_t *data, uint8_t next, uint32_t *off,
					     uint32_t end)
{
	for (uint32_t n = 0;; n++) {
		const uint8_t *h = data + *off;
		uint32_t have = end - *off, length;

		p->ip_proto = next;
		if (next != PROTO_HOP_BY_HOP && next != PROTO_ROUTING && next != PROTO_DEST_OPTIONS &&
		    next != PROTO_FRAGMENT && next != PROTO_AH)
			return DROP_NONE;
		if (n == PARSE_IP6_EXTENSIONS_MAX || have < 8)
			return DROP_IP6_BAD_EXTENSION;
		if (next == PROTO_FRAGMENT)
			length = 8;
		else if (next == PROTO_AH)
			length = (h[1] + 2) * 4u; // in 32-bit words, less two (RFC 4302)
		else
			length = (h[1] + 1) * 8u;
		if (length > have)
			return DROP_IP6_BAD_EXTENSION;
		// An "atomic" fragment, offset 0 and nothing to follow, is a whole packet (RFC 6946). Of a real one,
		// the pieces after the first show no header but the one named here, so no piece is looked into.
		if (next == PROTO_FRAGMENT && be16(h + 2) & 0xfff9) {
			p->flags |= PKT_FRAGMENT;
			p->ip_proto = h[0];
			return DROP_NONE;
		}
		next = h[0];
		*off += length;
	}
}

// IPv6 packet at p->l3; the bytes it may use end at `end`. A jumbogram (RFC 2675) cannot fit a frame and is refused
// for the extension header that its payload length of 0 leaves no room for.
static enum drop_reason parse_ip6(struct packet *p, const uint8_t *data, uint32_t end)
{
	const uint8_t *h = data + p->l3;
	uint32_t have = end - p->l3;

	if (have < IP6_HEADER)
		return DROP_IP6_TRUNCATED;
	if (h[0] >> 4 != 6)
		return DROP_IP6_BAD_HEADER;
	uint32_t total = IP6_HEADER + (uint32_t)be16(h + 4), off = p->l3 + IP6_HEADER;

	if (total > have)
		return DROP_IP6_BAD_LENGTH;
	p->l3_kind = L3_IPV6;
	p->l3_len = (uint16_t)total;
	p->tos = (uint8_t)(h[0] << 4 | h[1] >> 4);
	enum drop_reason reason = parse_ip6_extensions(p, data, h[6], &off, p->l3 + total);

	if (reason != DROP_NONE || p->flags & PKT_FRAGMENT)
		return reason;
	return parse_l4(p, data, off, p->l3 + total);
}

// What parse() fills beside the VLAN tag, as it is for a frame of an unknown protocol.
static void clear_l3(struct packet *p, uint32_t l3)
{
	p->l3 = (uint16_t)l3;
	p->l4 = p->l3_len = 0;
	p->sport = p->dport = 0;
	p->l3_kind = L3_OTHER;
	p->ip_proto = p->tos = 0;
	p->flags &= PKT_VLAN;
}

// PPPoE session frame whose header is at p->l3. The session's ends are elsewhere, so nothing in it is a reason to
// refuse the frame: what does not hold together stays L3_OTHER.
static void parse_pppoe(struct packet *p, const uint8_t *data, uint64_t *head)
{
	const uint8_t *h = data + p->l3;
	uint32_t have = p->len - p->l3, outer = p->l3;

	if (have < PPPOE_HEADER + 2 || h[0] != 0x11 || h[1] != 0)
		return;
	uint32_t length = be16(h + 4), protocol = be16(h + PPPOE_HEADER);
	uint32_t end = outer + PPPOE_HEADER + length;

	if (length < 2 || end > p->len || (protocol != PPP_IPV4 && protocol != PPP_IPV6))
		return;
	p->l3 = (uint16_t)(outer + PPPOE_HEADER + 2);
	if ((protocol == PPP_IPV4 ? parse_ip4(p, data, end) : parse_ip6(p, data, end)) != DROP_NONE)
		clear_l3(p, outer);
	else
		*head |= (uint64_t)be16(h + 2) << HEAD_SESSION;
}

// Hashes the flow's tuple; `head` already has tags and session.
static uint64_t hash_tuple(const struct packet *p, const uint8_t *data, uint16_t type, uint64_t head,
			   const uint64_t seed[2])
{
	struct tuple t = {.head = head | (uint64_t)p->l3_kind << HEAD_KIND | (uint64_t)p->ip_proto << HEAD_PROTO};
	uint32_t n = 12;

	if (p->l3_kind == L3_IPV4 || p->l3_kind == L3_IPV6) {
		n = p->l3_kind == L3_IPV4 ? 8 : 32;
		memcpy(t.rest, data + p->l3 + (p->l3_kind == L3_IPV4 ? IP4_ADDRESSES : IP6_ADDRESSES), n);
		if (p->flags & PKT_L4 && (p->ip_proto == PROTO_TCP || p->ip_proto == PROTO_UDP))
			memcpy(t.rest + n, data + p->l4, 4);
		n += 4;
	} else {
		memcpy(t.rest, data, n);
		if (type >= TYPE_MIN) { // 802.3 frames of different lengths are one flow
			t.rest[n] = (uint8_t)(type >> 8);
			t.rest[n + 1] = (uint8_t)type;
		}
		n += 2;
	}
	return flow_hash(&t, offsetof(struct tuple, rest) + n, seed);
}

enum drop_reason parse(struct packet *p, const uint8_t *data, const uint64_t seed[2])
{
	enum drop_reason reason = DROP_NONE;
	uint64_t head = 0;
	uint32_t off = ETH_HEADER, tags = 0;

	p->flags = 0;
	p->vlan = 0;
	p->flow = 0;
	clear_l3(p, 0);
	if (p->len < ETH_HEADER)
		return DROP_TOO_SHORT;
	uint16_t type = be16(data + 12);

	while (type == TYPE_VLAN || type == TYPE_SVLAN) {
		if (tags == PARSE_TAGS_MAX)
			return DROP_VLAN_TOO_MANY;
		if (off + VLAN_TAG > p->len)
			return DROP_VLAN_TRUNCATED;
		uint16_t tci = be16(data + off);

		if (tags == 0) {
			p->vlan = tci;
			p->flags = PKT_VLAN;
		}
		head |= (uint64_t)(tci & 0xfff) << (tags == 0 ? HEAD_VID : HEAD_INNER_VID);
		tags++;
		type = be16(data + off + 2);
		off += VLAN_TAG;
	}
	p->l3 = (uint16_t)off;
	if (type == TYPE_IPV4)
		reason = parse_ip4(p, data, p->len);
	else if (type == TYPE_IPV6)
		reason = parse_ip6(p, data, p->len);
	else if (type == TYPE_PPPOE)
		parse_pppoe(p, data, &head);
	else if (type == TYPE_ARP)
		p->l3_kind = L3_ARP;
	if (reason == DROP_NONE)
		p->flow = hash_tuple(p, data, type, head, seed);
	return reason;
}
