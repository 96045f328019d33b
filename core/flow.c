// SPDX-License-Identifier: GPL-2.0-or-later
// SipHash-1-3, after Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012): four 64-bit words of state,
// one round per 8 bytes of input, three to finish. A plain multiplicative hash would be faster, but whoever can
// predict it can aim his flows at somebody else's queue; a keyed one with this few rounds is what hash tables settled
// on, since its output never leaves the process. The last word carries the input's length, so that tuples of
// different kinds cannot be mistaken for each other, and a tuple of 16 to 23 bytes costs the same: six rounds.
#include "core/flow.h"

static inline uint64_t rotl(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

// Compilers make one load of it on little-endian machines; the value is the same on all.
static inline uint64_t load_le64(const uint8_t *b)
{
	return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 |
	       (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

static inline uint32_t load_le32(const uint8_t *b)
{
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] = rotl(v[2], 32);
}

uint64_t flow_hash(const void *tuple, uint32_t len, const uint64_t seed[2])
{
	const uint8_t *in = tuple;
	uint64_t v[4] = {
		seed[0] ^ 0x736f6d6570736575, // "somepseudorandomlygeneratedbytes"
		seed[1] ^ 0x646f72616e646f6d,
		seed[0] ^ 0x6c7967656e657261,
		seed[1] ^ 0x7465646279746573,
	};
	uint64_t last = (uint64_t)len << 56;
	uint32_t rest = len & 7, done = 0;

	for (const uint8_t *end = in + (len - rest); in != end; in += 8) {
		uint64_t word = load_le64(in);

		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	if (rest >= 4) { // the ports, for most tuples
		last |= load_le32(in);
		done = 4;
	}
	for (; done < rest; done++)
		last |= (uint64_t)in[done] << 8 * done;
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;

	v[2] ^= 0xff;
	sip_round(v);
	sip_round(v);
	sip_round(v);
	uint64_t hash = v[0] ^ v[1] ^ v[2] ^ v[3];

	return hash ? hash : 1;
}
