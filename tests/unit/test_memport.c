// SPDX-License-Identifier: GPL-2.0-or-later
// The array port keeps the promises a device's queue makes: order, room, in-flight cap, conservation.
#include "io/memport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FRAMES = 512, CHUNK_SHIFT = 11, RING = 64, PORT = 3 };

static struct frames frames;
static struct pool *pool;
static struct frame_cache cache;
static struct queue_stats stats;
static struct queue *q;

static int setup(void **state)
{
	frames = (struct frames){.base = calloc(FRAMES, 1u << CHUNK_SHIFT),
				 .pkt = aligned_alloc(CACHE_LINE, FRAMES * sizeof(struct packet)),
				 .count = FRAMES,
				 .chunk_shift = CHUNK_SHIFT};
	memset(frames.pkt, 0xa5, FRAMES * sizeof(struct packet));
	memset(&stats, 0, sizeof stats);
	pool = pool_new(&frames);
	frame_cache_init(&cache, pool, &frames);
	q = memport_new(&frames, &stats, PORT, RING);
	return q ? 0 : -1;
}

static int teardown(void **state)
{
	memport_free(q);
	pool_free(pool);
	free(frames.pkt);
	free(frames.base);
	return 0;
}

static uint32_t accounted(void)
{
	q->ops->read_stats(q);
	return (uint32_t)(pool_count(pool) + cache.count + counter_read(&stats.frames_fill) +
			  counter_read(&stats.frames_rx) + counter_read(&stats.frames_tx));
}

static void received_packets_are_clean_and_in_order(void **state)
{
	uint32_t out[RING];
	char text[100];

	for (int k = 0; k < 10; k++) {
		memset(text, 'a' + k, sizeof text);
		assert_true(memport_feed(q, &cache, text, 60 + (uint32_t)k));
	}
	assert_int_equal(counter_read(&stats.rx_packets), 0);
	assert_true(q->ops->before_sleep(q, &cache));
	assert_int_equal(q->ops->rx(q, out, 4), 4);
	assert_int_equal(q->ops->rx(q, out + 4, RING), 6);
	assert_false(q->ops->before_sleep(q, &cache));
	for (int k = 0; k < 10; k++) {
		const struct packet want = {
			.data = frames.pkt[out[k]].data, .len = (uint16_t)(60 + k), .in_port = PORT};

		assert_memory_equal(&frames.pkt[out[k]], &want, sizeof want);
		assert_int_equal(frame_data(&frames, out[k])[59 + k], 'a' + k);
	}
	frame_cache_put(&cache, out, 10);
	assert_int_equal(counter_read(&stats.rx_packets), 10);
	assert_int_equal(counter_read(&stats.rx_bytes), 645);
	assert_int_equal(accounted(), FRAMES - 1);
}

static void feeding_stops_at_the_ring_and_at_the_chunk(void **state)
{
	static char big[1 << CHUNK_SHIFT];

	assert_false(memport_feed(q, &cache, big, sizeof big - 255));
	for (int k = 0; k < RING; k++)
		assert_true(memport_feed(q, &cache, big, sizeof big - 256));
	assert_false(memport_feed(q, &cache, big, 60));
	assert_int_equal(accounted(), FRAMES - 1);
	assert_int_equal(counter_read(&stats.frames_rx), RING);
	q->ops->close(q, &cache);
	assert_int_equal(counter_read(&stats.frames_rx), 0);
	assert_int_equal(accounted(), FRAMES - 1);
}

static void send(uint16_t len)
{
	uint32_t i;

	assert_int_equal(frame_cache_get(&cache, &i, 1), 1);
	frames.pkt[i] = (struct packet){.len = len};
	q->ops->tx(q, &i, 1);
}

static void room_is_the_ring_and_the_cap(void **state)
{
	uint32_t packets, bytes, i;

	q->ops->tx_room(q, &packets, &bytes);
	assert_int_equal(packets, RING);
	assert_true(bytes > 1 << 30); // no cap
	q->inflight_cap = 10000;
	send(1500);
	send(60);
	q->ops->tx_room(q, &packets, &bytes);
	assert_int_equal(packets, RING - 2);
	assert_int_equal(bytes, 10000 - 1560);
	q->inflight_cap = 1; // never below two full frames
	q->ops->tx_room(q, &packets, &bytes);
	assert_int_equal(bytes, (2 << CHUNK_SHIFT) - 1560);
	send(1500);
	send(1500);
	q->ops->tx_room(q, &packets, &bytes);
	assert_int_equal(bytes, 0);
	i = memport_take(q);
	assert_int_equal(frames.pkt[i].len, 1500);
	frame_cache_put(&cache, &i, 1);
	q->ops->tx_room(q, &packets, &bytes);
	assert_int_equal(bytes, (2 << CHUNK_SHIFT) - 3060);
	memport_block(q, true);
	q->ops->tx_room(q, &packets, &bytes);
	assert_int_equal(packets + bytes, 0);
	memport_block(q, false);
	assert_int_equal(counter_read(&stats.tx_completed), 1);
	assert_int_equal(accounted(), FRAMES - 1);
	assert_int_equal(counter_read(&stats.frames_tx), 3);
	q->ops->close(q, &cache);
	assert_int_equal(pool_count(pool) + cache.count, FRAMES - 1);
	assert_int_equal(memport_take(q), PKT_NONE);
}

static void feeding_fails_without_frames(void **state)
{
	uint32_t all[FRAMES], n = 0, got;

	while ((got = frame_cache_get(&cache, all + n, 32)))
		n += got;
	assert_int_equal(n, FRAMES - 1);
	assert_false(memport_feed(q, &cache, "x", 1));
	frame_cache_put(&cache, all, n);
	assert_true(memport_feed(q, &cache, "x", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(received_packets_are_clean_and_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(feeding_stops_at_the_ring_and_at_the_chunk, setup, teardown),
		cmocka_unit_test_setup_teardown(room_is_the_ring_and_the_cap, setup, teardown),
		cmocka_unit_test_setup_teardown(feeding_fails_without_frames, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
