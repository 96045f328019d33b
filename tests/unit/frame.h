// SPDX-License-Identifier: GPL-2.0-or-later
// Frames for tests: made field by field, or at random from a fixed seed. Nothing of core/ is used to make them (the
// checksums are added up byte by byte), so that core/ cannot agree with its own mistakes.
#ifndef TESTS_UNIT_FRAME_H
#define TESTS_UNIT_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_MAX = 2048 };

static inline uint64_t rng_next(uint64_t *state) // splitmix64
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

// 0 .. n - 1
static inline uint32_t rng_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(rng_next(state) >> 32) % n;
}

static inline void put16(uint8_t *b, uint32_t v)
{
	b[0] = (uint8_t)(v >> 8);
	b[1] = (uint8_t)v;
}

static inline void put32(uint8_t *b, uint32_t v)
{
	put16(b, v >> 16);
	put16(b + 2, v);
}

static inline uint32_t get16(const uint8_t *b)
{
	return (uint32_t)b[0] << 8 | b[1];
}

// RFC 1071 in its plainest form: 16-bit words in network order, an odd byte is the upper half of a word.
static inline uint32_t slow_sum(uint32_t sum, const uint8_t *b, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sum += i & 1 ? b[i] : (uint32_t)b[i] << 8;
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	return sum;
}

struct frame {
	uint8_t byte[FRAME_MAX];
	uint32_t len;
	uint32_t l3, l4; // where the last header of each kind began
	uint8_t version; // 4, 6
};

// Ethernet addresses from the last bytes; the EtherType follows by frame_type or frame_tag.
static inline void frame_start(struct frame *f, uint8_t dst, uint8_t src)
{
	memset(f, 0, sizeof *f);
	f->byte[0] = f->byte[6] = 0x02;
	f->byte[5] = dst;
	f->byte[11] = src;
	f->len = 12;
}

static inline void frame_put16(struct frame *f, uint32_t v)
{
	put16(f->byte + f->len, v);
	f->len += 2;
}

static inline void frame_put(struct frame *f, const void *data, uint32_t len)
{
	memcpy(f->byte + f->len, data, len);
	f->len += len;
}

static inline void frame_tag(struct frame *f, uint32_t tpid, uint32_t tci)
{
	frame_put16(f, tpid);
	frame_put16(f, tci);
}

// EtherType (or PPP protocol) and IPv4 header with `options` bytes of NOP.
static inline void frame_ip4(struct frame *f, uint32_t type, uint32_t src, uint32_t dst, uint8_t proto, uint8_t tos,
			     uint32_t options)
{
	uint8_t *h;

	frame_put16(f, type);
	f->l3 = f->len;
	f->version = 4;
	h = f->byte + f->l3;
	h[0] = (uint8_t)(0x45 + options / 4);
	h[1] = tos;
	h[8] = 64;
	h[9] = proto;
	put32(h + 12, src);
	put32(h + 16, dst);
	memset(h + 20, 1, options);
	f->len += 20 + options;
	f->l4 = f->len;
}

static inline void frame_ip6(struct frame *f, uint32_t type, const uint8_t src[16], const uint8_t dst[16], uint8_t next,
			     uint8_t tos)
{
	uint8_t *h;

	frame_put16(f, type);
	f->l3 = f->len;
	f->version = 6;
	h = f->byte + f->l3;
	h[0] = (uint8_t)(0x60 | tos >> 4);
	h[1] = (uint8_t)(tos << 4);
	h[6] = next;
	h[7] = 64;
	memcpy(h + 8, src, 16);
	memcpy(h + 24, dst, 16);
	f->len += 40;
	f->l4 = f->len;
}

// An extension header of 8 * (units + 1) bytes, announced by the header before it.
static inline void frame_extension(struct frame *f, uint8_t next, uint8_t units)
{
	f->byte[f->len] = next;
	f->byte[f->len + 1] = units;
	f->byte[f->len + 2] = 1; // PadN
	f->byte[f->len + 3] = (uint8_t)(8 * units + 4);
	f->len += 8 * (units + 1u);
	f->l4 = f->len;
}

static inline void frame_udp(struct frame *f, uint32_t sport, uint32_t dport, uint32_t payload)
{
	f->l4 = f->len;
	frame_put16(f, sport);
	frame_put16(f, dport);
	frame_put16(f, 8 + payload);
	frame_put16(f, 0);
	for (uint32_t i = 0; i < payload; i++)
		f->byte[f->len++] = (uint8_t)(i * 7 + payload);
}

static inline void frame_tcp(struct frame *f, uint32_t sport, uint32_t dport, uint32_t payload)
{
	f->l4 = f->len;
	frame_put16(f, sport);
	frame_put16(f, dport);
	f->len += 8;
	frame_put16(f, 0x5010);
	f->len += 6;
	for (uint32_t i = 0; i < payload; i++)
		f->byte[f->len++] = (uint8_t)(i * 5 + payload);
}

// One's complement sum of the pseudo header, for `len` bytes of protocol `proto`.
static inline uint32_t frame_pseudo(const struct frame *f, uint32_t proto, uint32_t len)
{
	uint32_t n = f->version == 4 ? 8 : 32;

	return slow_sum(proto + len, f->byte + f->l3 + (f->version == 4 ? 12 : 8), n);
}

// Lengths and the header checksum, once everything is in the frame.
static inline void frame_finish(struct frame *f)
{
	uint8_t *h = f->byte + f->l3;

	if (f->version == 6)
		put16(h + 4, f->len - f->l3 - 40);
	if (f->version != 4)
		return;
	put16(h + 2, f->len - f->l3);
	put16(h + 10, 0);
	put16(h + 10, ~slow_sum(0, h, (h[0] & 15) * 4u));
}

// A frame of any kind the parser knows, with few addresses and ports, so that flows and rules meet often.
static inline void frame_random(struct frame *f, uint64_t *rng)
{
	static const uint8_t protos[] = {6, 6, 17, 17, 17, 1, 58, 47, 50, 0};
	static const uint32_t ports[] = {0, 22, 53, 443, 1024, 5060, 8080, 49152, 65535};
	uint8_t proto = protos[rng_below(rng, sizeof protos)];
	uint8_t tos = (uint8_t)(rng_below(rng, 4) ? 0 : rng_next(rng));
	uint32_t kind = rng_below(rng, 20), payload = rng_below(rng, rng_below(rng, 8) ? 64 : 1400);
	uint32_t sport = ports[rng_below(rng, 9)], dport = ports[rng_below(rng, 9)];
	uint8_t src[16] = {0x20, 1, 0x0d, 0xb8}, dst[16] = {0x20, 1, 0x0d, 0xb8};
	bool pppoe = rng_below(rng, 10) == 0;
	uint32_t pppoe_at = 0;

	frame_start(f, (uint8_t)rng_below(rng, 8), (uint8_t)(1 + rng_below(rng, 8)));
	if (rng_below(rng, 16) == 0)
		f->byte[rng_below(rng, 2) * 6] |= 1; // a group address, sometimes where none may be
	for (uint32_t n = rng_below(rng, 50) ? rng_below(rng, 4) : 4; n > 1; n--)
		frame_tag(f, rng_below(rng, 2) ? 0x8100 : 0x88a8, rng_below(rng, 3) + (rng_below(rng, 8) << 13));
	if (kind == 0) {
		frame_put16(f, 0x0806);
		f->len += 28;
		return;
	}
	if (kind == 1) {
		frame_put16(f, rng_below(rng, 65536));
		f->len += payload;
		return;
	}
	if (pppoe) {
		frame_put16(f, 0x8864);
		pppoe_at = f->len;
		f->byte[f->len] = 0x11;
		f->byte[f->len + 3] = (uint8_t)rng_below(rng, 3);
		f->len += 6;
	}
	if (kind < 12) {
		frame_ip4(f, pppoe ? 0x0021 : 0x0800, 0x0a000000 + rng_below(rng, 4) * 0x10001 + rng_below(rng, 4),
			  0xc0a80000 + rng_below(rng, 4) * 0x101, proto, tos, rng_below(rng, 8) ? 0 : 8);
		if (rng_below(rng, 16) == 0)
			put16(f->byte + f->l3 + 6, rng_next(rng) & 0x3fff);
	} else {
		src[5] = (uint8_t)rng_below(rng, 3);
		src[15] = (uint8_t)rng_below(rng, 4);
		dst[6] = (uint8_t)(rng_below(rng, 3) << 6);
		bool extended = rng_below(rng, 4) == 0;
		static const uint8_t kinds[] = {0, 43, 60, 44};
		uint8_t first = kinds[rng_below(rng, 4)];

		frame_ip6(f, pppoe ? 0x0057 : 0x86dd, src, dst, extended ? first : proto, tos);
		if (extended) {
			uint32_t at = f->len;

			frame_extension(f, proto, first == 44 ? 0 : (uint8_t)rng_below(rng, 3));
			if (first == 44)
				put16(f->byte + at + 2, rng_below(rng, 2) ? rng_below(rng, 65536) : 0);
		}
	}
	if (proto == 6)
		frame_tcp(f, sport, dport, payload);
	else if (proto == 17)
		frame_udp(f, sport, dport, payload);
	else
		f->len += 8 + payload;
	frame_finish(f);
	if (pppoe)
		put16(f->byte + pppoe_at + 4, f->len - pppoe_at - 6);
	if (f->len < 60)
		f->len = 60;
}

// Harm: bits, bytes, lengths, ends. `f->len` may shrink, even to nothing.
static inline void frame_mutate(struct frame *f, uint64_t *rng)
{
	for (uint32_t n = 1 + rng_below(rng, 4); n && f->len; n--) {
		uint32_t at = rng_below(rng, rng_below(rng, 2) && f->len > 64 ? 64 : f->len);

		switch (rng_below(rng, 5)) {
		case 0:
			f->byte[at] ^= (uint8_t)(1u << rng_below(rng, 8));
			break;
		case 1:
			f->byte[at] = (uint8_t)rng_next(rng);
			break;
		case 2:
			f->byte[at] = rng_below(rng, 2) ? 0xff : 0;
			break;
		case 3:
			f->len = at;
			break;
		default: // repair the header checksum, so that what was harmed is reached behind it
			if (f->version == 4 && f->l3 + 60 < FRAME_MAX) {
				uint8_t *h = f->byte + f->l3;

				put16(h + 10, 0);
				put16(h + 10, ~slow_sum(0, h, (h[0] & 15) * 4u));
			}
		}
	}
}

// A copy in a heap block of exactly its size, so that the address sanitizer sees a read of one byte too many.
static inline uint8_t *frame_exact(const struct frame *f)
{
	uint8_t *copy = malloc(f->len);

	if (copy && f->len)
		memcpy(copy, f->byte, f->len);
	return copy;
}

#endif
