// SPDX-License-Identifier: GPL-2.0-or-later
// The address table: learning, moving, ageing, giving way; against a plain list; and a writer against a reader.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "core/fdb.h"
#include "tests/unit/frame.h"

#define SEC NSEC_PER_SEC

static const nsec_t ageing = 300 * SEC;

static void make_mac(uint8_t mac[6], uint32_t n)
{
	mac[0] = 0x02;
	mac[1] = 0;
	put32(mac + 2, n);
}

static uint16_t find(struct fdb *fdb, uint16_t bridge, uint16_t vid, uint32_t n, nsec_t now)
{
	uint8_t mac[6];

	make_mac(mac, n);
	return fdb_lookup(&fdb, 1, bridge, vid, mac, now, ageing);
}

static void learn(struct fdb *fdb, uint16_t bridge, uint16_t vid, uint32_t n, uint16_t port, nsec_t now)
{
	uint8_t mac[6];

	make_mac(mac, n);
	fdb_learn(fdb, bridge, vid, mac, port, now);
}

static void learns_and_moves(void **state)
{
	struct fdb *fdb = fdb_new(1000);

	assert_non_null(fdb);
	assert_int_equal(find(fdb, 0, 0, 1, SEC), PORT_NONE);
	learn(fdb, 0, 0, 1, 5, SEC);
	assert_int_equal(find(fdb, 0, 0, 1, SEC), 5);
	assert_int_equal(find(fdb, 1, 0, 1, SEC), PORT_NONE); // another bridge
	assert_int_equal(find(fdb, 0, 1, 1, SEC), PORT_NONE); // another VLAN
	assert_int_equal(find(fdb, 0, 0, 2, SEC), PORT_NONE);
	learn(fdb, 0, 0, 1, 7, SEC); // same instant, another port
	assert_int_equal(find(fdb, 0, 0, 1, SEC), 7);
	assert_int_equal(fdb_count(fdb), 1);
	learn(fdb, 63, 4095, 1, 63, SEC);
	learn(fdb, 0, 4095, 1, 0, SEC);
	assert_int_equal(find(fdb, 63, 4095, 1, SEC), 63);
	assert_int_equal(find(fdb, 0, 4095, 1, SEC), 0);
	assert_int_equal(find(fdb, 0, 0, 1, SEC), 7);
	assert_int_equal(fdb_count(fdb), 3);
	fdb_free(fdb);
}

static void no_group_no_zero(void **state)
{
	static const uint8_t group[6] = {1, 0, 0x5e, 0, 0, 1}, zero[6];
	struct fdb *fdb = fdb_new(16);

	fdb_learn(fdb, 0, 0, group, 1, SEC);
	fdb_learn(fdb, 0, 0, zero, 1, SEC);
	fdb_learn(fdb, 0, 5, zero, 1, SEC);
	assert_int_equal(fdb_count(fdb), 0);
	assert_int_equal(fdb_lookup(&fdb, 1, 0, 0, group, SEC, ageing), PORT_NONE);
	assert_int_equal(fdb_lookup(&fdb, 1, 0, 0, zero, SEC, ageing), PORT_NONE);
	fdb_free(fdb);
}

static void ages(void **state)
{
	static const nsec_t starts[] = {0, SEC, 1ull << 60, UINT64_MAX - 2 * SEC}; // the last: across the wrap
	struct fdb *fdb = fdb_new(16);

	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		nsec_t t = starts[i];

		learn(fdb, 0, 0, 1, 3, t);
		assert_int_equal(find(fdb, 0, 0, 1, t + ageing - SEC / 100), 3);
		assert_int_equal(find(fdb, 0, 0, 1, t + ageing + SEC / 100), PORT_NONE);
		assert_int_equal(find(fdb, 0, 0, 1, t - SEC), 3); // a reader whose clock reading is older
		learn(fdb, 0, 0, 1, 3, t + ageing + SEC);         // heard again
		assert_int_equal(find(fdb, 0, 0, 1, t + 2 * ageing), 3);
	}
	assert_int_equal(fdb_count(fdb), 1);
	fdb_free(fdb);
}

static void last_seen_wins(void **state)
{
	struct fdb *tables[3] = {fdb_new(16), fdb_new(64), fdb_new(1024)};
	uint8_t mac[6];

	make_mac(mac, 1);
	learn(tables[1], 0, 0, 1, 1, 10 * SEC);
	learn(tables[0], 0, 0, 1, 0, 20 * SEC);
	learn(tables[2], 0, 0, 1, 2, 15 * SEC);
	assert_int_equal(fdb_lookup(tables, 3, 0, 0, mac, 21 * SEC, ageing), 0);
	learn(tables[2], 0, 0, 1, 2, 20 * SEC + 3 * NSEC_PER_MSEC);
	assert_int_equal(fdb_lookup(tables, 3, 0, 0, mac, 21 * SEC, ageing), 2);
	assert_int_equal(fdb_lookup(tables, 2, 0, 0, mac, 21 * SEC, ageing), 0);
	for (uint32_t i = 0; i < 3; i++)
		fdb_free(tables[i]);
}

static void forgets_a_port(void **state)
{
	struct fdb *fdb = fdb_new(1024);
	uint32_t kept = 0;

	for (uint32_t n = 0; n < 300; n++)
		learn(fdb, 0, 0, n, n % 3, SEC);
	for (uint32_t n = 0; n < 300; n++)
		kept += n % 3 != 1 && find(fdb, 0, 0, n, SEC) != PORT_NONE;
	fdb_forget_port(fdb, 1);
	for (uint32_t n = 0; n < 300; n++) {
		if (n % 3 == 1)
			assert_int_equal(find(fdb, 0, 0, n, SEC), PORT_NONE);
		else
			kept -= find(fdb, 0, 0, n, SEC) == n % 3;
	}
	assert_int_equal(kept, 0);
	assert_in_range(fdb_count(fdb), 190, 200);
	fdb_free(fdb);
}

// 16 entries are two buckets: of many addresses the newest eight of each bucket remain, and nothing else is told.
static void oldest_gives_way(void **state)
{
	struct fdb *fdb = fdb_new(1);
	uint32_t known = 0;

	for (uint32_t n = 0; n < 1000; n++)
		learn(fdb, 0, 0, n, n % 50, n * SEC / 100);
	assert_int_equal(fdb_count(fdb), 16);
	for (uint32_t n = 0; n < 1000; n++) {
		uint16_t port = find(fdb, 0, 0, n, 10 * SEC);

		assert_true(port == PORT_NONE || (port == n % 50 && n > 940));
		known += port != PORT_NONE;
	}
	assert_int_equal(known, 16);
	fdb_free(fdb);
}

// Half full, nearly every address must be kept: shows that neighbouring addresses, VLANs and bridges spread.
static void spreads(void **state)
{
	struct fdb *fdb = fdb_new(16384);
	uint32_t known = 0;

	for (uint32_t n = 0; n < 8192; n++)
		learn(fdb, n % 2, n / 2 % 4, n / 8, n % 60, SEC);
	for (uint32_t n = 0; n < 8192; n++)
		known += find(fdb, n % 2, n / 2 % 4, n / 8, SEC) == n % 60;
	assert_in_range(known, 8192 * 96 / 100, 8192); // a Poisson of mean 4 exceeds 8 in 2 % of buckets
	fdb_free(fdb);
}

// Random operations beside an array that remembers everything: what the table tells must be right; silence is
// allowed only for what may have given way.
static void against_a_list(void **state)
{
	enum { STATIONS = 64 };
	struct {
		uint16_t port;
		nsec_t seen;
	} list[2][3][STATIONS];
	struct fdb *fdb = fdb_new(4096);
	uint64_t rng = 5;
	nsec_t now = SEC;

	print_message("seed %llu\n", (unsigned long long)rng);
	for (uint32_t i = 0; i < 2 * 3 * STATIONS; i++)
		list[i / STATIONS / 3][i / STATIONS % 3][i % STATIONS].port = PORT_NONE;
	for (uint32_t step = 0; step < 200000; step++) {
		uint32_t b = rng_below(&rng, 2), v = rng_below(&rng, 3), n = rng_below(&rng, STATIONS);
		uint16_t port = (uint16_t)rng_below(&rng, 8);

		now += rng_below(&rng, 1000) ? rng_below(&rng, 1000000) : rng_next(&rng) % (400 * SEC);
		if (rng_below(&rng, 2)) {
			learn(fdb, b, v, n, port, now);
			list[b][v][n].port = port;
			list[b][v][n].seen = now;
		} else if (rng_below(&rng, 500) == 0) {
			fdb_forget_port(fdb, port);
			for (uint32_t i = 0; i < 2 * 3 * STATIONS; i++)
				if (list[i / STATIONS / 3][i / STATIONS % 3][i % STATIONS].port == port)
					list[i / STATIONS / 3][i / STATIONS % 3][i % STATIONS].port = PORT_NONE;
		} else {
			nsec_t old = now - list[b][v][n].seen;
			uint16_t got = find(fdb, b, v, n, now), want = list[b][v][n].port;

			if (want == PORT_NONE || old > ageing + (2u << 20))
				assert_int_equal(got, PORT_NONE);
			else if (old < ageing - (2u << 20))
				assert_int_equal(got, want); // 384 stations in 512 buckets: none gives way
		}
	}
	fdb_free(fdb);
}

// One thread learns 32 addresses that fight for 16 places, the port of each being a function of address, VLAN and
// bridge; another looks them up and must not be told a port that belongs to another.
struct race {
	struct fdb *fdb;
	atomic_uint learned;
	atomic_bool stop;
};

enum { RACE_LOOKUPS = 1000000, RACE_LEARNED = 1000000, RACE_LOOKUPS_MAX = 100000000 };

static uint16_t random_station(uint64_t *rng, uint16_t *bridge, uint16_t *vid, uint32_t *n)
{
	*bridge = (uint16_t)rng_below(rng, 2);
	*vid = (uint16_t)rng_below(rng, 2);
	*n = rng_below(rng, 8);
	return (uint16_t)(*bridge * 100 + *vid * 10 + *n);
}

static void *race_writer(void *arg)
{
	struct race *r = arg;
	uint64_t rng = 99;
	nsec_t now = SEC;
	uint16_t bridge, vid;
	uint32_t n;

	while (!atomic_load(&r->stop)) {
		uint16_t port = random_station(&rng, &bridge, &vid, &n);

		learn(r->fdb, bridge, vid, n, port, now += NSEC_PER_MSEC);
		atomic_fetch_add(&r->learned, 1);
	}
	return NULL;
}

static void lookups_while_learning(void **state)
{
	struct race r = {.fdb = fdb_new(16)};
	uint64_t rng = 3;
	uint32_t lookups = 0, hits = 0, wrong = 0, n;
	uint16_t bridge, vid;
	pthread_t writer;

	assert_int_equal(pthread_create(&writer, NULL, race_writer, &r), 0);
	for (; lookups < RACE_LOOKUPS || (atomic_load(&r.learned) < RACE_LEARNED && lookups < RACE_LOOKUPS_MAX);
	     lookups++) {
		uint16_t port = random_station(&rng, &bridge, &vid, &n), got = find(r.fdb, bridge, vid, n, SEC);

		hits += got != PORT_NONE;
		wrong += got != PORT_NONE && got != port;
	}
	atomic_store(&r.stop, true);
	pthread_join(writer, NULL);
	print_message("%u lookups found %u, wrong %u\n", lookups, hits, wrong);
	assert_true(hits > RACE_LOOKUPS / 10);
	assert_true(fdb_count(r.fdb) <= 16);
	// Allowed is what the essay in fdb.c allows: a reader put to sleep between its looks at a place that went to
	// another address and back.
	assert_in_range(wrong, 0, 3);
	fdb_free(r.fdb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learns_and_moves),
		cmocka_unit_test(no_group_no_zero),
		cmocka_unit_test(ages),
		cmocka_unit_test(last_seen_wins),
		cmocka_unit_test(forgets_a_port),
		cmocka_unit_test(oldest_gives_way),
		cmocka_unit_test(spreads),
		cmocka_unit_test(against_a_list),
		cmocka_unit_test(lookups_while_learning),
	};

	return cmocka_run_group_tests_name("fdb", tests, NULL, NULL);
}
