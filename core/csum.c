// SPDX-License-Identifier: GPL-2.0-or-later
// Internet checksums. The one's complement sum does not depend on byte order or on the width of the words added (RFC
// 1071 2(B), 2(C)), so all arithmetic here is on words as they lie in memory: 64 bits at a time, carries counted
// aside, folded at the end. Four independent sums keep an addition from waiting for the one before it.
//
// A partial checksum is recognised by its value. A complete one equals it by chance once in 65,536 frames, and
// completing that frame writes the same value again, provided the pseudo header we form is the sender's. It is not
// where a header names another first or last address than the one in front (source routes, Home Address option); those
// frames are left alone.
#include "core/csum.h"

#include <string.h>

enum { PROTO_TCP = 6, PROTO_UDP = 17 };

enum { IP4_SOURCE_ADDRESS = 12, IP4_HEADER = 20, IP4_CHECKSUM = 10, IP6_SOURCE_ADDRESS = 8, IP6_HEADER = 40 };
enum { TCP_CHECKSUM = 16, UDP_LENGTH = 4, UDP_CHECKSUM = 6, ECN_MASK = 3 };
enum { OPTION_END = 0, OPTION_NOP = 1, OPTION_LSRR = 131, OPTION_SSRR = 137 };
enum {
	NEXT_ROUTING = 43,
	NEXT_FRAGMENT = 44,
	NEXT_AH = 51,
	NEXT_DEST_OPTIONS = 60,
	OPTION_PAD1 = 0,
	OPTION_HOME_ADDRESS = 0xc9
};

// Adds *b to *sum and counts the carry.
static inline void add_carry(uint64_t *sum, uint64_t *carry, const uint8_t *b)
{
	uint64_t word;

	memcpy(&word, b, sizeof word);
	*carry += __builtin_add_overflow(*sum, word, sum);
}

static inline uint16_t fold(u128 sum)
{
	uint64_t s = (uint64_t)(sum >> 64) + (uint32_t)(sum >> 32) + (uint32_t)sum;

	s = (s >> 32) + (uint32_t)s;
	s = (s >> 16) + (s & 0xffff);
	s = (s >> 16) + (s & 0xffff);
	return (uint16_t)((s >> 16) + (s & 0xffff));
}

uint16_t csum_add(uint16_t sum, const void *data, uint32_t len)
{
	const uint8_t *b = data;
	uint64_t s[4] = {sum}, carry[4] = {0};
	uint32_t four = 0;
	uint16_t two = 0, one = 0;

	for (; len >= 32; len -= 32, b += 32) {
		add_carry(&s[0], &carry[0], b);
		add_carry(&s[1], &carry[1], b + 8);
		add_carry(&s[2], &carry[2], b + 16);
		add_carry(&s[3], &carry[3], b + 24);
	}
	for (; len >= 8; len -= 8, b += 8)
		add_carry(&s[0], &carry[0], b);
	if (len & 4) {
		memcpy(&four, b, 4);
		b += 4;
	}
	if (len & 2) {
		memcpy(&two, b, 2);
		b += 2;
	}
	if (len & 1)
		memcpy(&one, b, 1); // the byte after the last is zero, as RFC 1071 pads
	return fold((u128)s[0] + s[1] + s[2] + s[3] + carry[0] + carry[1] + carry[2] + carry[3] + four + two + one);
}

static bool has_checksum(const struct packet *p)
{
	return p->flags & PKT_L4 && !(p->flags & PKT_FRAGMENT) &&
	       (p->ip_proto == PROTO_TCP || p->ip_proto == PROTO_UDP);
}

static uint32_t checksum_offset(const struct packet *p)
{
	return p->l4 + (p->ip_proto == PROTO_TCP ? (uint32_t)TCP_CHECKSUM : (uint32_t)UDP_CHECKSUM);
}

// Bytes the checksum covers. UDP says so itself (less than the IP packet holds if UDP options follow, RFC 9868);
// TCP ends with the IP packet, which may end before the frame.
static uint32_t covered(const struct packet *p, const uint8_t *data)
{
	const uint8_t *h = data + p->l4;

	if (p->ip_proto == PROTO_UDP)
		return (uint32_t)h[UDP_LENGTH] << 8 | h[UDP_LENGTH + 1];
	return p->l3_len - (uint32_t)(p->l4 - p->l3);
}

static inline uint32_t load32(const uint8_t *b)
{
	uint32_t word;

	memcpy(&word, b, sizeof word);
	return word;
}

static uint16_t pseudo_header(const struct packet *p, const uint8_t *data, uint32_t len)
{
	const uint8_t rest[4] = {0, p->ip_proto, (uint8_t)(len >> 8), (uint8_t)len};
	const uint8_t *h = data + p->l3;
	uint64_t sum = load32(rest);

	if (p->l3_kind == L3_IPV4)
		return fold(sum + load32(h + IP4_SOURCE_ADDRESS) + load32(h + IP4_SOURCE_ADDRESS + 4));
	for (uint32_t i = 0; i < 8; i++)
		sum += load32(h + IP6_SOURCE_ADDRESS + 4 * i);
	return fold(sum);
}

// Whether the option list [b, end) of a parsed header has option `a` or `c`; an option list cut short has not.
static bool has_option(const uint8_t *b, const uint8_t *end, bool ip4, uint8_t a, uint8_t c)
{
	while (b < end) {
		if (*b == a || *b == c)
			return true;
		if (ip4 && *b == OPTION_END)
			return false;
		if (*b == (ip4 ? OPTION_NOP : OPTION_PAD1)) {
			b++;
			continue;
		}
		if (end - b < 2 || (ip4 && b[1] < 2))
			return false;
		b += ip4 ? b[1] : b[1] + 2;
	}
	return false;
}

// Whether the pseudo header of a parsed packet holds other addresses than the IP header. parse() has checked that the
// extension headers lie one behind the other between IPv6 header and l4.
static bool readdressed(const struct packet *p, const uint8_t *data)
{
	const uint8_t *h = data + p->l3, *l4 = data + p->l4;

	if (p->l3_kind == L3_IPV4)
		return has_option(h + IP4_HEADER, l4, true, OPTION_LSRR, OPTION_SSRR);
	uint8_t next = h[6];

	for (h += IP6_HEADER; h < l4;) {
		uint32_t length = (h[1] + 1) * 8u;

		if (next == NEXT_FRAGMENT)
			length = 8;
		else if (next == NEXT_AH)
			length = (h[1] + 2) * 4u;
		else if (next == NEXT_ROUTING && h[3] != 0) // segments left
			return true;
		else if (next == NEXT_DEST_OPTIONS &&
			 has_option(h + 2, h + length, false, OPTION_HOME_ADDRESS, OPTION_HOME_ADDRESS))
			return true;
		next = h[0];
		h += length;
	}
	return false;
}

bool csum_is_partial(const struct packet *p, const uint8_t *data)
{
	if (!has_checksum(p))
		return false;
	uint16_t sum = pseudo_header(p, data, covered(p, data));

	// The sum is never 0, so a UDP checksum of 0 ("none") cannot be taken for it.
	return memcmp(data + checksum_offset(p), &sum, sizeof sum) == 0 && !readdressed(p, data);
}

void csum_complete(const struct packet *p, uint8_t *data)
{
	if (!has_checksum(p) || readdressed(p, data))
		return;
	uint8_t *field = data + checksum_offset(p);
	uint32_t len = covered(p, data);
	bool udp = p->ip_proto == PROTO_UDP;

	if (udp && !field[0] && !field[1])
		return; // the sender computes none
	field[0] = field[1] = 0;
	uint16_t sum = (uint16_t)~csum_add(pseudo_header(p, data, len), data + p->l4, len);

	if (udp && sum == 0)
		sum = 0xffff;
	memcpy(field, &sum, sizeof sum);
}

bool ecn_mark_ce(const struct packet *p, uint8_t *data)
{
	uint8_t *h = data + p->l3;

	if (p->l3_kind == L3_IPV6) {
		if (!(h[1] >> 4 & ECN_MASK))
			return false;
		h[1] |= ECN_MASK << 4;
		return true;
	}
	if (p->l3_kind != L3_IPV4 || !(h[1] & ECN_MASK))
		return false;
	uint16_t before, after, sum;

	memcpy(&before, h, sizeof before);
	h[1] |= ECN_MASK;
	memcpy(&after, h, sizeof after);
	memcpy(&sum, h + IP4_CHECKSUM, sizeof sum);
	// RFC 1624 (3): ~(~HC + ~m + m'); the older formula could leave a field that no receiver accepts
	uint32_t s = (uint16_t)~sum + (uint32_t)(uint16_t)~before + after;

	s = (s >> 16) + (s & 0xffff);
	sum = (uint16_t) ~((s >> 16) + (s & 0xffff));
	memcpy(h + IP4_CHECKSUM, &sum, sizeof sum);
	return true;
}
