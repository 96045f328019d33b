// SPDX-License-Identifier: GPL-2.0-or-later
// Checksums against a sum made byte by byte: every length and alignment, partial and complete fields, ECN marks.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/csum.h"
#include "core/parse.h"
#include "tests/unit/frame.h"

static const uint64_t seed[2] = {1, 2};
static const uint8_t src6[16] = {0x20, 1, 0x0d, 0xb8, [15] = 1}, dst6[16] = {0x20, 1, 0x0d, 0xb8, [15] = 2};

static uint16_t memory_order(uint32_t network)
{
	uint8_t b[2];
	uint16_t v;

	put16(b, network);
	memcpy(&v, b, 2);
	return v;
}

static void every_length(void **state)
{
	uint64_t rng = 7;
	uint8_t b[1600];

	for (uint32_t fill = 0; fill < 3; fill++) {
		for (uint32_t i = 0; i < sizeof b; i++)
			b[i] = fill == 0 ? (uint8_t)rng_next(&rng) : fill == 1 ? 0xff : 0;
		for (uint32_t len = 0; len < 1500; len += len < 100 ? 1 : 37) {
			for (uint32_t at = 0; at < 9; at++) {
				uint32_t start = rng_below(&rng, 65536);
				uint8_t *exact = malloc(at + len);

				assert_non_null(exact);
				memcpy(exact, b, at + len);
				assert_int_equal(csum_add(memory_order(start), exact + at, len),
						 memory_order(slow_sum(start, b + at, len)));
				free(exact);
			}
		}
	}
}

// A frame with a transport checksum in the state a test wants.
enum field { COMPLETE, PARTIAL, NONE };

static uint8_t *field_of(struct frame *f, uint8_t proto)
{
	return f->byte + f->l4 + (proto == 6 ? 16 : 6);
}

static void fill_field(struct frame *f, uint8_t proto, enum field state)
{
	uint32_t len = f->len - f->l4;
	uint32_t pseudo = frame_pseudo(f, proto, len), sum;

	put16(field_of(f, proto), 0);
	if (state == NONE)
		return;
	sum = ~slow_sum(pseudo, f->byte + f->l4, len) & 0xffff;
	if (proto == 17 && sum == 0)
		sum = 0xffff;
	put16(field_of(f, proto), state == PARTIAL ? pseudo : sum);
}

static void make(struct frame *f, uint8_t version, uint8_t proto, uint32_t payload)
{
	frame_start(f, 1, 2);
	if (version == 4)
		frame_ip4(f, 0x0800, 0x0a000001, 0xc0000201, proto, 2, 8);
	else
		frame_ip6(f, 0x86dd, src6, dst6, proto, 2);
	if (proto == 6)
		frame_tcp(f, 443, 50000, payload);
	else
		frame_udp(f, 443, 50000, payload);
	frame_finish(f);
}

static struct packet parsed(const struct frame *f)
{
	struct packet p = {.len = (uint16_t)f->len};

	assert_int_equal(parse(&p, f->byte, seed), DROP_NONE);
	return p;
}

// The frame, completed, is `want`, and no other byte has changed.
static void expect_completed(struct frame *f, const struct frame *want)
{
	struct packet p = parsed(f);
	uint8_t *data = frame_exact(f);

	csum_complete(&p, data);
	assert_memory_equal(data, want->byte, f->len);
	free(data);
}

static void partial_and_complete(void **state)
{
	static const uint32_t payloads[] = {0, 1, 2, 17, 18, 100, 1399, 1400};
	struct frame f, want;

	for (uint32_t i = 0; i < 2 * 2 * 2 * ARRAY_LEN(payloads); i++) {
		uint8_t version = i & 1 ? 4 : 6, proto = i & 2 ? 6 : 17;
		bool padded = i & 4;

		make(&f, version, proto, payloads[i / 8]);
		fill_field(&f, proto, COMPLETE);
		want = f;
		fill_field(&f, proto, PARTIAL);
		if (padded) { // bytes behind the IP packet that are not zero must not count
			memset(f.byte + f.len, 0x5a, 11);
			memset(want.byte + want.len, 0x5a, 11);
			f.len += 11;
			want.len += 11;
		}
		struct packet p = parsed(&f);

		assert_true(csum_is_partial(&p, f.byte));
		expect_completed(&f, &want);
		assert_false(csum_is_partial(&p, want.byte));
		expect_completed(&want, &want); // harmless
	}
}

// Payloads tried until the complete checksum comes to 0: UDP then sends 0xffff, TCP sends 0.
static void checksum_of_zero(void **state)
{
	struct frame f, want;

	for (uint32_t proto = 6; proto <= 17; proto += 11) {
		make(&f, 4, (uint8_t)proto, 20);
		put16(field_of(&f, (uint8_t)proto), 0);
		put16(f.byte + f.len - 2, 0);
		uint32_t sum = slow_sum(frame_pseudo(&f, proto, f.len - f.l4), f.byte + f.l4, f.len - f.l4);

		put16(f.byte + f.len - 2, 0xffff - sum);
		want = f;
		put16(field_of(&want, (uint8_t)proto), proto == 17 ? 0xffff : 0);
		fill_field(&f, (uint8_t)proto, PARTIAL);
		expect_completed(&f, &want);
	}
}

static void left_alone(void **state)
{
	struct frame f;
	struct packet p;

	make(&f, 4, 17, 100); // no checksum at all
	fill_field(&f, 17, NONE);
	p = parsed(&f);
	assert_false(csum_is_partial(&p, f.byte));
	expect_completed(&f, &f);

	make(&f, 4, 17, 100); // a first fragment: the rest of what it covers is elsewhere
	fill_field(&f, 17, PARTIAL);
	put16(f.byte + f.l3 + 6, 0x2000);
	frame_finish(&f);
	p = parsed(&f);
	assert_false(csum_is_partial(&p, f.byte));
	expect_completed(&f, &f);

	make(&f, 4, 17, 100); // not TCP or UDP
	f.byte[f.l3 + 9] = 47;
	frame_finish(&f);
	p = parsed(&f);
	assert_false(csum_is_partial(&p, f.byte));
	expect_completed(&f, &f);

	make(&f, 4, 6, 100); // a source route names the last address, which the pseudo header holds
	fill_field(&f, 6, PARTIAL);
	memcpy(f.byte + f.l3 + 20, (const uint8_t[]){131, 7, 4, 10, 0, 0, 9, 0}, 8);
	frame_finish(&f);
	p = parsed(&f);
	assert_false(csum_is_partial(&p, f.byte));
	expect_completed(&f, &f);
}

// Extension headers: whether the checksum is ours to complete.
static void extension_headers(void **state)
{
	static const struct {
		uint8_t type;
		uint8_t bytes[16]; // one header, or two
		bool ours;
	} cases[] = {
		{0, {6, 0, 1, 4}, true},                               // hop-by-hop
		{44, {6, 0xee, 0, 0, 1, 2, 3, 4}, true},               // atomic fragment with reserved bits set
		{51, {6, 0, 0, 0}, true},                              // AH
		{43, {6, 0, 0, 0}, true},                              // routing, no segment left
		{43, {6, 0, 0, 1}, false},                             // routing, the last address is in it
		{60, {6, 0, 0, 0, 0, 1, 1, 0}, true},                  // destination options: Pad1, PadN
		{60, {6, 0, 0, 0xc9, 0}, false},                       // Home Address
		{60, {6, 0, 1, 2, 0, 0xc9, 0, 0}, true},               // 0xc9 inside of another option
		{44, {43, 0xee, 0, 0, 1, 2, 3, 4, 6, 0, 0, 1}, false}, // behind an atomic fragment header
		{51, {60, 0, 0, 0, 1, 2, 3, 4, 6, 0, 0xc9, 0}, false}, // behind AH
	};
	struct frame f, want;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		frame_start(&f, 1, 2);
		frame_ip6(&f, 0x86dd, src6, dst6, 0, 0); // a plain header before the one of interest
		frame_extension(&f, cases[i].type, 1);
		frame_put(&f, cases[i].bytes, cases[i].bytes[0] == 6 ? 8 : 16);
		frame_tcp(&f, 1, 2, 30);
		frame_finish(&f);
		fill_field(&f, 6, COMPLETE);
		want = f;
		fill_field(&f, 6, PARTIAL);
		struct packet p = parsed(&f);

		assert_int_equal(p.l4, f.l4);
		assert_int_equal(csum_is_partial(&p, f.byte), cases[i].ours);
		expect_completed(&f, cases[i].ours ? &want : &f);
	}
}

// UDP options (RFC 9868) lie behind the UDP length and are not covered.
static void udp_surplus(void **state)
{
	struct frame f, want;

	make(&f, 4, 17, 40);
	fill_field(&f, 17, COMPLETE);
	frame_put(&f, "options!", 8);
	frame_finish(&f);
	want = f;
	put16(field_of(&f, 17), frame_pseudo(&f, 17, 48));
	struct packet p = parsed(&f);

	assert_true(csum_is_partial(&p, f.byte));
	expect_completed(&f, &want);
}

static void inside_pppoe(void **state)
{
	struct frame f, want;

	frame_start(&f, 1, 2);
	frame_put16(&f, 0x8864);
	frame_put(&f, (const uint8_t[]){0x11, 0, 0, 1, 0, 62}, 6);
	frame_ip4(&f, 0x0021, 0x0a000001, 0xc0000201, 6, 1, 0);
	frame_tcp(&f, 1, 2, 20);
	frame_finish(&f);
	fill_field(&f, 6, COMPLETE);
	want = f;
	fill_field(&f, 6, PARTIAL);
	struct packet p = parsed(&f);

	assert_true(csum_is_partial(&p, f.byte));
	expect_completed(&f, &want);
}

static void ecn(void **state)
{
	struct frame f, want;
	uint64_t rng = 11;

	for (uint32_t tos = 0; tos < 256; tos++) {
		for (uint32_t i = 0; i < 20; i++) {
			frame_start(&f, 1, 2);
			if (i == 0)
				frame_ip6(&f, 0x86dd, src6, dst6, 59, (uint8_t)tos);
			else
				frame_ip4(&f, 0x0800, (uint32_t)rng_next(&rng), (uint32_t)rng_next(&rng), 50,
					  (uint8_t)tos, i & 1 ? 4 : 0);
			frame_finish(&f);
			want = f;
			if (tos & 3) {
				if (i == 0)
					want.byte[want.l3 + 1] |= 0x30;
				else
					want.byte[want.l3 + 1] |= 3;
				frame_finish(&want);
			}
			struct packet p = parsed(&f);

			assert_int_equal(ecn_mark_ce(&p, f.byte), (tos & 3) != 0);
			assert_memory_equal(f.byte, want.byte, f.len);
			assert_int_equal(parsed(&f).tos, tos & 3 ? tos | 3 : tos);
		}
	}
	frame_start(&f, 1, 2); // ARP has no such bits
	frame_put16(&f, 0x0806);
	memset(f.byte + f.len, 0xff, 28);
	f.len += 28;
	want = f;
	struct packet p = parsed(&f);

	assert_false(ecn_mark_ce(&p, f.byte));
	assert_memory_equal(f.byte, want.byte, f.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length),      cmocka_unit_test(partial_and_complete),
		cmocka_unit_test(checksum_of_zero),  cmocka_unit_test(left_alone),
		cmocka_unit_test(extension_headers), cmocka_unit_test(udp_surplus),
		cmocka_unit_test(inside_pppoe),      cmocka_unit_test(ecn),
	};

	return cmocka_run_group_tests_name("csum", tests, NULL, NULL);
}
