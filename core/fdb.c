// SPDX-License-Identifier: GPL-2.0-or-later
// A hash table of buckets of eight entries. The eight keys of a bucket share one cache line and its eight values the
// next, so that finding an address costs at most two lines a table. There are no chains and no rehash: when a bucket is
// full, its oldest entry gives way; work per call is constant and memory is fixed.
//
// An entry is two words, each read and written whole:
//
//   key    63       16 15    4 3  0        value  63        56 55       40 39                   0
//          +----------+-------+----+              +------------+-----------+---------------------+
//          |   MAC    |  VID  | 0  |              |   bridge   |   port    |  last seen, 2^20 ns |
//          +----------+-------+----+              +------------+-----------+---------------------+
//
// The bridge does not fit beside the address and is the value's: an entry is the right one if key and bridge agree.
// The key 0 marks a free place; the all-zero address is no station's. The time counts in 2^20 ns (about 1 ms), so that
// a busy station's entry is written a thousand times a second at most and the line stays shared among its readers.
// 40 bits wrap after 36 years; ages up to half of that are told from the future.
//
// Readers take no lock. The owner moves a place to another address in three steps: key 0, new value, new key. A reader
// loads key, value, key: if it saw the new value, its second look at the key finds 0 or the new key (release/acquire).
// The one thing it can miss is a place that went from A to B and back to A between its looks: then one packet for A
// leaves by B's port, a member of the same bridge, where flooding might have put it too.
//
// Entries do not expire by themselves: a reader ignores what is too old, and fdb_count counts it until it gives way.
#include "core/fdb.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/counter.h"
#include "core/forward.h"

enum { WAYS = 8, ENTRIES_MIN = 16, ENTRIES_MAX = 1 << 20 };
enum { MAC_SHIFT = 16, VID_SHIFT = 4, VID_BITS = 12 };
enum { BRIDGE_SHIFT = 56, PORT_SHIFT = 40, PORT_BITS = 16, TIME_BITS = 40, TIME_UNIT_SHIFT = 20 };

static_assert(MAC_SHIFT + 48 == 64 && VID_SHIFT + VID_BITS == MAC_SHIFT, "key: MAC, VID, zeros");
static_assert(TIME_BITS == PORT_SHIFT && PORT_SHIFT + PORT_BITS == BRIDGE_SHIFT, "value: bridge, port, time");
static_assert(BRIDGES_MAX <= 1 << (64 - BRIDGE_SHIFT), "the bridge fits");
static_assert(PORTS_MAX <= 1 << PORT_BITS, "the port fits");

#define TIME_MASK ((1ull << TIME_BITS) - 1)

struct bucket {
	_Atomic uint64_t key[WAYS];
	_Atomic uint64_t value[WAYS];
};
static_assert(sizeof(struct bucket) == 2 * CACHE_LINE, "a line of keys, a line of values");

struct fdb {
	uint32_t mask; // buckets - 1
	counter_t used;
	struct bucket *bucket;
};

static inline uint64_t make_key(const uint8_t mac[6], uint16_t vid)
{
	uint64_t m = (uint64_t)mac[0] << 40 | (uint64_t)mac[1] << 32 | (uint64_t)mac[2] << 24 | (uint64_t)mac[3] << 16 |
		     (uint64_t)mac[4] << 8 | mac[5];

	return m << MAC_SHIFT | (uint64_t)(vid & ((1u << VID_BITS) - 1)) << VID_SHIFT;
}

static inline uint64_t make_value(uint16_t bridge, uint16_t port, nsec_t now)
{
	return (uint64_t)bridge << BRIDGE_SHIFT | (uint64_t)port << PORT_SHIFT | (now >> TIME_UNIT_SHIFT & TIME_MASK);
}

static inline uint16_t value_bridge(uint64_t value)
{
	return (uint16_t)(value >> BRIDGE_SHIFT);
}

static inline uint16_t value_port(uint64_t value)
{
	return (uint16_t)(value >> PORT_SHIFT);
}

// Time units from `then` to `now`, both values or coarse times. Negative if `then` is later: another worker's clock
// reading may be ahead of ours.
static inline int64_t age(uint64_t now, uint64_t then)
{
	return (int64_t)((now - then) << (64 - TIME_BITS)) >> (64 - TIME_BITS);
}

// Unkeyed on purpose: who may send from any address he likes can fill the table whatever the hash.
static inline uint32_t hash(uint64_t key, uint16_t bridge)
{
	uint64_t h = (key ^ bridge) * 0x9e3779b97f4a7c15;

	h ^= h >> 32;
	return (uint32_t)(h * 0xd6e8feb86659fd93 >> 32);
}

struct fdb *fdb_new(uint32_t entries)
{
	uint32_t size = ENTRIES_MIN;
	struct fdb *fdb = calloc(1, sizeof *fdb);

	while (size < entries && size < ENTRIES_MAX)
		size *= 2;
	if (!fdb)
		return NULL;
	fdb->mask = size / WAYS - 1;
	fdb->bucket = aligned_alloc(CACHE_LINE, size / WAYS * sizeof *fdb->bucket);
	if (!fdb->bucket) {
		free(fdb);
		return NULL;
	}
	memset(fdb->bucket, 0, size / WAYS * sizeof *fdb->bucket);
	return fdb;
}

void fdb_free(struct fdb *fdb)
{
	if (fdb)
		free(fdb->bucket);
	free(fdb);
}

// The owner's view of its own words; nobody else writes them.
static inline uint64_t own(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

void fdb_learn(struct fdb *fdb, uint16_t bridge, uint16_t vid, const uint8_t mac[6], uint16_t port, nsec_t now)
{
	uint64_t key = make_key(mac, vid), value = make_value(bridge, port, now);
	struct bucket *b = &fdb->bucket[hash(key, bridge) & fdb->mask];
	uint32_t victim = 0;
	int64_t victim_age = INT64_MIN;

	if (mac[0] & 1 || !(key >> MAC_SHIFT))
		return;
	for (uint32_t i = 0; i < WAYS; i++) {
		uint64_t k = own(&b->key[i]), v = own(&b->value[i]);

		if (k == key && value_bridge(v) == bridge) {
			if (v != value)
				atomic_store_explicit(&b->value[i], value, memory_order_release);
			return;
		}
		int64_t a = k ? age(value, v) : INT64_MAX;

		if (a > victim_age) {
			victim = i;
			victim_age = a;
		}
	}
	if (!own(&b->key[victim]))
		counter_add(&fdb->used, 1);
	atomic_store_explicit(&b->key[victim], 0, memory_order_relaxed);
	atomic_store_explicit(&b->value[victim], value, memory_order_release);
	atomic_store_explicit(&b->key[victim], key, memory_order_release);
}

void fdb_forget_port(struct fdb *fdb, uint16_t port)
{
	for (uint32_t n = 0; n <= fdb->mask; n++) {
		struct bucket *b = &fdb->bucket[n];

		for (uint32_t i = 0; i < WAYS; i++) {
			if (!own(&b->key[i]) || value_port(own(&b->value[i])) != port)
				continue;
			atomic_store_explicit(&b->key[i], 0, memory_order_relaxed);
			counter_set(&fdb->used, counter_read(&fdb->used) - 1);
		}
	}
}

// The value of `key` in `bridge`, or false.
static bool find(const struct fdb *fdb, uint32_t h, uint64_t key, uint16_t bridge, uint64_t *value)
{
	const struct bucket *b = &fdb->bucket[h & fdb->mask];

	for (uint32_t i = 0; i < WAYS; i++) {
		if (atomic_load_explicit(&b->key[i], memory_order_acquire) != key)
			continue;
		*value = atomic_load_explicit(&b->value[i], memory_order_acquire);
		if (value_bridge(*value) == bridge && own(&b->key[i]) == key)
			return true;
	}
	return false;
}

uint16_t fdb_lookup(struct fdb *const *tables, uint32_t n, uint16_t bridge, uint16_t vid, const uint8_t mac[6],
		    nsec_t now, nsec_t ageing)
{
	uint64_t key = make_key(mac, vid), coarse = now >> TIME_UNIT_SHIFT, value;
	uint32_t h = hash(key, bridge);
	int64_t youngest = INT64_MAX;
	uint16_t port = PORT_NONE;

	if (!key)
		return PORT_NONE; // it would match free places
	for (uint32_t i = 0; i < n; i++) {
		if (!find(tables[i], h, key, bridge, &value))
			continue;
		int64_t a = age(coarse, value);

		if (a < youngest && (a < 0 || (uint64_t)a <= ageing >> TIME_UNIT_SHIFT)) {
			youngest = a;
			port = value_port(value);
		}
	}
	return port;
}

uint32_t fdb_count(const struct fdb *fdb)
{
	return (uint32_t)counter_read(&fdb->used);
}
