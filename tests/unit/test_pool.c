// SPDX-License-Identifier: GPL-2.0-or-later
// Frame pool and SPSC ring, alone and with threads: every frame is in exactly one place.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
// cmocka wants the three above first
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "core/pool.h"
#include "core/ring.h"

enum { FRAMES = 10007, THREADS = 4, ROUNDS = 20000, ITEMS = 200000 };

static struct packet pkt[FRAMES];
static struct frames frames = {.pkt = pkt, .count = FRAMES, .chunk_shift = 11};
static _Atomic uint32_t owner[FRAMES]; // 1 while a thread holds the frame

static void every_frame_comes_out_once(void **state)
{
	struct pool *pool = pool_new(&frames);
	struct frame_cache c;
	uint32_t out[100], n, total = 0;
	static bool seen[FRAMES];

	frame_cache_init(&c, pool, &frames);
	assert_int_equal(pool_count(pool), FRAMES - 1);
	while ((n = frame_cache_get(&c, out, ARRAY_LEN(out))))
		for (uint32_t i = 0; i < n; i++, total++) {
			assert_true(out[i] > 0 && out[i] < FRAMES && !seen[out[i]]);
			seen[out[i]] = true;
		}
	assert_int_equal(total, FRAMES - 1);
	for (uint32_t i = 1; i < FRAMES; i++)
		frame_cache_put(&c, &i, 1);
	frame_cache_flush(&c);
	assert_int_equal(pool_count(pool), FRAMES - 1);
	pool_free(pool);
}

static void *trade(void *arg)
{
	struct frame_cache c;
	uint32_t held[600], n = 0, seed = 7 + (uint32_t)(uintptr_t)&c;

	frame_cache_init(&c, arg, &frames);
	for (int r = 0; r < ROUNDS; r++) {
		seed = seed * 1664525 + 1013904223;
		if ((seed >> 16) % 600 > n) {
			uint32_t got = frame_cache_get(&c, held + n, 1 + (seed >> 8) % (600 - n));

			for (uint32_t i = n; i < n + got; i++)
				assert(atomic_exchange(&owner[held[i]], 1) == 0);
			n += got;
		} else if (n) {
			uint32_t k = 1 + (seed >> 8) % n;

			for (uint32_t i = n - k; i < n; i++)
				assert(atomic_exchange(&owner[held[i]], 0) == 1);
			frame_cache_put(&c, held + n - k, k);
			n -= k;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		atomic_store(&owner[held[i]], 0);
	frame_cache_put(&c, held, n);
	frame_cache_flush(&c);
	return NULL;
}

static void threads_trade_frames(void **state)
{
	struct pool *pool = pool_new(&frames);
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, trade, pool), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(pool_count(pool), FRAMES - 1);
	pool_free(pool);
}

static void *produce(void *arg)
{
	uint32_t next = 1;

	while (next <= ITEMS) {
		uint32_t batch[7], n = 0;

		for (; n < 7 && next + n <= ITEMS; n++)
			batch[n] = next + n;
		next += ring_push(arg, batch, n);
	}
	return NULL;
}

static void ring_keeps_order_between_threads(void **state)
{
	struct ring *r = ring_new(64);
	uint32_t next = 1, out[5], n;
	pthread_t t;

	assert_int_equal(ring_room(r), 64);
	pthread_create(&t, NULL, produce, r);
	while (next <= ITEMS) {
		n = ring_pop(r, out, 5);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(out[i], next++);
	}
	pthread_join(t, NULL);
	assert_int_equal(ring_count(r), 0);
	ring_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_comes_out_once),
		cmocka_unit_test(threads_trade_frames),
		cmocka_unit_test(ring_keeps_order_between_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
