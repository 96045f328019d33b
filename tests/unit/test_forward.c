// SPDX-License-Identifier: GPL-2.0-or-later
// The bridge's decisions, one case of 802.1D after the other.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/forward.h"
#include "core/parse.h"
#include "tests/unit/frame.h"

// Ports 0-2 are bridge 0, 3-4 bridge 1, 5 alone in bridge 2, 6 in none.
static struct forward_table table;
static struct fdb *fdb[2];

static int setup(void **state)
{
	static const uint16_t bridge_of[7] = {0, 0, 0, 1, 1, 2, PORT_NONE};

	memset(&table, 0, sizeof table);
	table.bridges = 3;
	for (uint16_t i = 0; i < PORTS_MAX; i++) {
		uint16_t b = table.bridge_of[i] = i < 7 ? bridge_of[i] : PORT_NONE;

		if (b != PORT_NONE)
			table.bridge[b].port[table.bridge[b].ports++] = i;
	}
	for (uint32_t b = 0; b < 3; b++)
		table.bridge[b].ageing = 300 * NSEC_PER_SEC;
	fdb[0] = fdb_new(64);
	fdb[1] = fdb_new(64);
	return fdb[0] && fdb[1] ? 0 : -1;
}

static int teardown(void **state)
{
	fdb_free(fdb[0]);
	fdb_free(fdb[1]);
	return 0;
}

static struct verdict send_macs(uint16_t in_port, const uint8_t dst[6], const uint8_t src[6], int tci, nsec_t now)
{
	static const uint64_t seed[2] = {1, 2};
	struct frame f;
	struct packet p = {.in_port = in_port};

	frame_start(&f, 0, 0);
	memcpy(f.byte, dst, 6);
	memcpy(f.byte + 6, src, 6);
	if (tci >= 0)
		frame_tag(&f, 0x8100, (uint32_t)tci);
	frame_put16(&f, 0x88b5);
	f.len = 60;
	p.len = 60;
	assert_int_equal(parse(&p, f.byte, seed), DROP_NONE);
	return forward(&table, fdb[0], fdb, 2, &p, f.byte, now);
}

// From station `src` to station `dst`, untagged or with a tag.
static struct verdict send(uint16_t in_port, uint8_t dst, uint8_t src, int tci, nsec_t now)
{
	return send_macs(in_port, (const uint8_t[6]){2, 0, 0, 0, 0, dst}, (const uint8_t[6]){2, 0, 0, 0, 0, src}, tci,
			 now);
}

static void expect_drop(struct verdict v, enum drop_reason reason)
{
	assert_int_equal(v.kind, VERDICT_DROP);
	assert_int_equal(v.reason, reason);
}

static void expect_send(struct verdict v, uint16_t port)
{
	assert_int_equal(v.kind, VERDICT_SEND);
	assert_int_equal(v.port, port);
	assert_int_equal(v.reason, DROP_NONE);
}

static void expect_flood(struct verdict v, uint32_t bridge)
{
	assert_int_equal(v.kind, VERDICT_FLOOD);
	assert_ptr_equal(v.bridge, &table.bridge[bridge]);
	assert_int_equal(v.reason, DROP_NONE);
}

static void learns_then_sends(void **state)
{
	expect_flood(send(0, 2, 1, -1, 1), 0);
	expect_send(send(1, 1, 2, -1, 2), 0);
	expect_send(send(0, 2, 1, -1, 3), 1);
	expect_send(send(2, 2, 9, -1, 3), 1);
}

static void no_reflection(void **state)
{
	send(0, 9, 1, -1, 1);
	expect_drop(send(0, 1, 2, -1, 2), DROP_SAME_PORT);
	expect_drop(send(0, 1, 1, -1, 3), DROP_SAME_PORT); // to itself
}

static void moves(void **state)
{
	send(0, 9, 1, -1, 1);
	send(2, 9, 1, -1, 2);
	expect_send(send(1, 1, 2, -1, 3), 2);
	expect_send(send(0, 1, 3, -1, 3), 2);
}

// What another worker has learned counts; its table is not written.
static void other_workers(void **state)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};

	fdb_learn(fdb[1], 0, 0, mac, 2, 1);
	expect_send(send(0, 1, 2, -1, 2), 2);
	assert_int_equal(fdb_count(fdb[0]), 1);
	assert_int_equal(fdb_count(fdb[1]), 1);
}

static void group_addresses_flood(void **state)
{
	static const uint8_t station[6] = {2, 0, 0, 0, 0, 1}, broadcast[6] = {255, 255, 255, 255, 255, 255};
	static const uint8_t multicast[6] = {1, 0, 0x5e, 0, 0, 0xfb};

	expect_flood(send_macs(0, broadcast, station, -1, 1), 0);
	expect_flood(send_macs(4, multicast, station, -1, 1), 1);
}

static void reserved_addresses(void **state)
{
	uint8_t station[6] = {2, 0, 0, 0, 0, 1}, dst[6] = {1, 0x80, 0xc2, 0, 0, 0};

	for (uint8_t last = 0; last < 0x10; last++) {
		dst[5] = last;
		expect_drop(send_macs(0, dst, station, -1, 1), DROP_RESERVED_MAC);
		expect_drop(send_macs(0, dst, station, 5, 1), DROP_RESERVED_MAC);
	}
	expect_send(send(1, 1, 2, -1, 2), 0); // its sender is learned all the same
	dst[5] = 0x10;
	expect_flood(send_macs(0, dst, station, -1, 1), 0);
	dst[4] = 1;
	dst[5] = 0;
	expect_flood(send_macs(0, dst, station, -1, 1), 0);
}

static void bad_sources(void **state)
{
	static const uint8_t dst[6] = {2, 0, 0, 0, 0, 1}, zero[6], group[6] = {3, 0, 0, 0, 0, 1};
	static const uint8_t broadcast[6] = {255, 255, 255, 255, 255, 255};

	expect_drop(send_macs(0, dst, zero, -1, 1), DROP_BAD_SRC_MAC);
	expect_drop(send_macs(0, dst, group, -1, 1), DROP_BAD_SRC_MAC);
	expect_drop(send_macs(0, dst, broadcast, -1, 1), DROP_BAD_SRC_MAC);
	assert_int_equal(fdb_count(fdb[0]), 0);
}

static void vlans_learn_apart(void **state)
{
	send(0, 9, 1, 10, 1);
	send(1, 9, 1, 20, 1);
	expect_send(send(2, 1, 2, 10, 2), 0);
	expect_send(send(2, 1, 2, 20, 2), 1);
	expect_send(send(2, 1, 2, 0xe000 | 20, 2), 1); // the priority is no part of the VLAN
	expect_flood(send(2, 1, 2, 30, 2), 0);
	expect_flood(send(2, 1, 2, -1, 2), 0);
	send(1, 9, 3, 0x6000, 3); // a priority tag is no VLAN
	expect_send(send(2, 3, 2, -1, 4), 1);
}

static void bridges_are_apart(void **state)
{
	send(0, 9, 1, -1, 1);
	expect_flood(send(3, 1, 2, -1, 2), 1);
	send(4, 9, 1, -1, 3); // the same address on both
	expect_send(send(1, 1, 2, -1, 4), 0);
	expect_send(send(3, 1, 2, -1, 4), 4);
}

static void ages(void **state)
{
	nsec_t s = NSEC_PER_SEC;

	send(0, 9, 1, -1, s);
	expect_send(send(1, 1, 2, -1, 300 * s), 0);
	expect_flood(send(1, 1, 2, -1, 302 * s), 0);
	send(0, 9, 1, -1, 303 * s);
	expect_send(send(1, 1, 2, -1, 304 * s), 0);
	table.bridge[0].ageing = s; // a new revision with another ageing time
	expect_flood(send(1, 1, 2, -1, 305 * s), 0);
}

static void nowhere_to_go(void **state)
{
	expect_drop(send(6, 1, 2, -1, 1), DROP_NO_BRIDGE);
	expect_drop(send(PORTS_MAX - 1, 1, 2, -1, 1), DROP_NO_BRIDGE);
	expect_drop(send(PORTS_MAX, 1, 2, -1, 1), DROP_NO_BRIDGE);
	expect_drop(send(PORT_NONE, 1, 2, -1, 1), DROP_NO_BRIDGE);
	assert_int_equal(fdb_count(fdb[0]), 0);
	expect_drop(send(5, 1, 2, -1, 1), DROP_SAME_PORT); // the only port of its bridge
}

// A revision moves port 1 to the other bridge; what was learned on it is no longer a way for bridge 0.
static void port_changes_bridge(void **state)
{
	send(1, 9, 1, -1, 1);
	expect_send(send(0, 1, 2, -1, 2), 1);
	table.bridge_of[1] = 1;
	table.bridge[0] = (struct bridge){.ports = 2, .port = {0, 2}, .ageing = NSEC_PER_SEC};
	expect_flood(send(0, 1, 2, -1, 3), 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(learns_then_sends),
		CASE(no_reflection),
		CASE(moves),
		CASE(other_workers),
		CASE(group_addresses_flood),
		CASE(reserved_addresses),
		CASE(bad_sources),
		CASE(vlans_learn_apart),
		CASE(bridges_are_apart),
		CASE(ages),
		CASE(nowhere_to_go),
		CASE(port_changes_bridge),
	};
#undef CASE

	return cmocka_run_group_tests_name("forward", tests, NULL, NULL);
}
