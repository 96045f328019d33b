// SPDX-License-Identifier: GPL-2.0-or-later
// The engine's end of a socket against a kernel made of arrays, which can do what the real one must not: complete frames
// twice or in any order, describe frames that are none. Needs no privilege. The real kernel is in test_xsk.c.
#include "io/xsk.c"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { FRAMES = 1024, SHIFT = 11, RX = 64, TX = 64, FILL = 128, COMPLETION = 64, PORT = 5 };

// A ring as the kernel lays it out.
struct mock_ring {
	uint32_t producer, consumer, flags;
	union {
		struct xdp_desc desc[RX];
		uint64_t addr[FILL];
	} u;
};

static struct frames frames;
static struct pool *pool;
static struct frame_cache cache;
static struct queue_stats stats;
static struct mock_ring rx, tx, fill, completion;
static struct xsk_queue *x;

static int setup(void **state)
{
	frames = (struct frames){.base = calloc(FRAMES, 1u << SHIFT),
				 .pkt = aligned_alloc(CACHE_LINE, FRAMES * sizeof(struct packet)),
				 .count = FRAMES,
				 .chunk_shift = SHIFT};
	memset(frames.pkt, 0xa5, FRAMES * sizeof(struct packet));
	memset(&stats, 0, sizeof stats);
	memset(&rx, 0, sizeof rx);
	memset(&tx, 0, sizeof tx);
	memset(&fill, 0, sizeof fill);
	memset(&completion, 0, sizeof completion);
	pool = pool_new(&frames);
	frame_cache_init(&cache, pool, &frames);
	x = calloc(1, sizeof *x);
	x->q = (struct queue){.ops = &xsk_ops, .frames = &frames, .stats = &stats, .port = PORT, .fd = -1};
	x->sent = calloc(FRAMES / 64 + 1, sizeof *x->sent);
	x->held_target = FILL;
	x->rx = (struct xsk_ring_cons){0, 0, RX - 1, RX, &rx.producer, &rx.consumer, &rx.u, &rx.flags};
	x->completion = (struct xsk_ring_cons){0,
					       0,
					       COMPLETION - 1,
					       COMPLETION,
					       &completion.producer,
					       &completion.consumer,
					       &completion.u,
					       &completion.flags};
	x->tx = (struct xsk_ring_prod){0, TX, TX - 1, TX, &tx.producer, &tx.consumer, &tx.u, &tx.flags};
	x->fill = (struct xsk_ring_prod){0, FILL, FILL - 1, FILL, &fill.producer, &fill.consumer, &fill.u, &fill.flags};
	return 0;
}

static int teardown(void **state)
{
	xsk_queue_free(&x->q);
	pool_free(pool);
	free(frames.pkt);
	free(frames.base);
	return 0;
}

static uint32_t accounted(void)
{
	xsk_read_stats(&x->q);
	return (uint32_t)(pool_count(pool) + cache.count + counter_read(&stats.frames_fill) +
			  counter_read(&stats.frames_rx) + counter_read(&stats.frames_tx));
}

// The kernel receives into the next frame of the fill ring; returns its address.
static uint64_t kernel_receives(uint32_t len)
{
	assert_true(fill.consumer != fill.producer);
	uint64_t addr = fill.u.addr[fill.consumer++ % FILL] + 256;

	rx.u.desc[rx.producer++ % RX] = (struct xdp_desc){.addr = addr, .len = len};
	return addr;
}

static void kernel_completes(uint64_t addr)
{
	completion.u.addr[completion.producer++ % COMPLETION] = addr;
}

static uint32_t send_one(uint16_t len)
{
	uint32_t i;

	assert_int_equal(frame_cache_get(&cache, &i, 1), 1);
	frames.pkt[i] = (struct packet){.data = 256, .len = len};
	xsk_tx(&x->q, &i, 1);
	return i;
}

static void the_kernel_gets_twice_the_receive_ring(void **state)
{
	uint32_t out[RX];

	assert_false(xsk_service(&x->q, &cache, 0));
	assert_int_equal(fill.producer, FILL);
	for (uint32_t k = 0; k < FILL; k++) {
		assert_int_equal(fill.u.addr[k] % (1 << SHIFT), 0);
		assert_true(fill.u.addr[k] > 0 && fill.u.addr[k] < (uint64_t)FRAMES << SHIFT);
	}
	// The kernel has frames on their way, in no ring at all: they count as held.
	fill.consumer += 50;
	xsk_service(&x->q, &cache, 0);
	assert_int_equal(fill.producer, FILL);
	assert_int_equal(accounted(), FRAMES - 1);
	fill.consumer -= 50;
	for (int k = 0; k < RX; k++)
		kernel_receives(60);
	assert_int_equal(accounted(), FRAMES - 1);
	assert_int_equal(counter_read(&stats.frames_rx), RX);
	assert_int_equal(xsk_rx(&x->q, out, RX_BATCH), RX_BATCH);
	xsk_service(&x->q, &cache, 0);
	assert_int_equal(fill.producer, FILL + RX_BATCH);
	frame_cache_put(&cache, out, RX_BATCH);
	assert_int_equal(accounted(), FRAMES - 1);
}

static void an_empty_pool_fills_what_it_can(void **state)
{
	uint32_t all[FRAMES], n = 0, got;

	while ((got = frame_cache_get(&cache, all + n, 1)))
		n += got;
	frame_cache_put(&cache, all, 40);
	xsk_service(&x->q, &cache, 0);
	assert_int_equal(fill.producer, 40);
	frame_cache_put(&cache, all + 40, n - 40);
	xsk_service(&x->q, &cache, 0);
	assert_int_equal(fill.producer, FILL);
}

static void received_packets_are_clean(void **state)
{
	uint32_t out[4];

	xsk_service(&x->q, &cache, 0);
	uint64_t addr = kernel_receives(1514);

	kernel_receives(60);
	assert_true(xsk_before_sleep(&x->q, &cache));
	assert_int_equal(xsk_rx(&x->q, out, 4), 2);
	const struct packet want = {.data = 256, .len = 1514, .in_port = PORT};

	assert_int_equal(out[0], addr >> SHIFT);
	assert_memory_equal(&frames.pkt[out[0]], &want, sizeof want);
	assert_int_equal(counter_read(&stats.rx_packets), 2);
	assert_int_equal(counter_read(&stats.rx_bytes), 1574);
	assert_int_equal(rx.consumer, 2);
	assert_false(xsk_before_sleep(&x->q, &cache));
	assert_int_equal(xsk_rx(&x->q, out, 4), 0);
	frame_cache_put(&cache, out, 2);
}

static void bad_receive_descriptors_are_counted_and_their_frames_kept(void **state)
{
	static const struct {
		uint64_t offset; // to a good address
		uint32_t len, options;
		bool frame; // it names one
	} bad[] = {
		{0, 0, 0, true},  {0, (1 << SHIFT) - 255, 0, true},          {0, UINT32_MAX, 0, true},
		{0, 60, 1, true}, {(uint64_t)FRAMES << SHIFT, 60, 0, false}, {UINT64_MAX / 2, 60, 0, false},
	};
	uint32_t out[RX], lost = 0;

	xsk_service(&x->q, &cache, 0);
	for (size_t k = 0; k < ARRAY_LEN(bad); k++) {
		kernel_receives(60);
		struct xdp_desc *d = &rx.u.desc[(rx.producer - 1) % RX];

		*d = (struct xdp_desc){d->addr + bad[k].offset, bad[k].len, bad[k].options};
		lost += !bad[k].frame;
	}
	kernel_receives((1 << SHIFT) - 256); // the longest that fits
	assert_int_equal(xsk_rx(&x->q, out, RX), 1);
	assert_int_equal(frames.pkt[out[0]].len, (1 << SHIFT) - 256);
	frame_cache_put(&cache, out, 1);
	assert_int_equal(x->bad_rx, ARRAY_LEN(bad));
	assert_int_equal(accounted(), FRAMES - 1 - lost);
	xsk_service(&x->q, &cache, 0);
	assert_int_equal(x->recovered.count, 0);
	assert_int_equal(accounted(), FRAMES - 1 - lost);
}

static void completions_are_matched_by_address(void **state)
{
	uint32_t a = send_one(1000), b = send_one(500), c = send_one(60), packets, bytes;
	const struct xdp_desc *d = &tx.u.desc[1];

	assert_int_equal(d->addr, ((uint64_t)b << SHIFT) + 256);
	assert_int_equal(d->len, 500);
	assert_int_equal(tx.producer, 3);
	x->q.inflight_cap = 10000;
	xsk_tx_room(&x->q, &packets, &bytes);
	assert_int_equal(packets, TX - 3);
	assert_int_equal(bytes, 10000 - 1560);
	tx.consumer = 3;
	kernel_completes(((uint64_t)c << SHIFT) + 256);
	kernel_completes((uint64_t)a << SHIFT); // some kernels give the chunk's address back
	assert_true(xsk_service(&x->q, &cache, 0));
	xsk_tx_room(&x->q, &packets, &bytes);
	assert_int_equal(packets, TX);
	assert_int_equal(bytes, 10000 - 500);
	assert_int_equal(counter_read(&stats.tx_completed), 2);
	assert_int_equal(accounted(), FRAMES - 1);
	assert_int_equal(counter_read(&stats.frames_tx), 1);
	kernel_completes((uint64_t)b << SHIFT);
	xsk_service(&x->q, &cache, 0);
	assert_int_equal(x->sent_bytes, 0);
}

static void double_and_foreign_completions_change_nothing(void **state)
{
	uint32_t a = send_one(1000), b = send_one(500);

	kernel_completes((uint64_t)a << SHIFT);
	kernel_completes((uint64_t)a << SHIFT);
	kernel_completes((uint64_t)(a + b + 1) << SHIFT);
	kernel_completes(0);
	kernel_completes((uint64_t)FRAMES << SHIFT);
	kernel_completes(UINT64_MAX);
	tx.consumer = 2;
	assert_true(xsk_service(&x->q, &cache, 0));
	assert_int_equal(counter_read(&stats.tx_completed), 1);
	assert_int_equal(counter_read(&stats.bad_completions), 5);
	assert_int_equal(x->sent_bytes, 500);
	assert_int_equal(accounted(), FRAMES - 1);
	kernel_completes((uint64_t)a << SHIFT);
	xsk_service(&x->q, &cache, 0);
	assert_int_equal(counter_read(&stats.bad_completions), 6);
	assert_int_equal(accounted(), FRAMES - 1);
}

// fd -1: every kick fails with EBADF, which is not worth repeating.
static void a_kick_is_made_only_when_asked_for(void **state)
{
	send_one(60);
	xsk_service(&x->q, &cache, 0);
	assert_int_equal(counter_read(&stats.tx_kicks), 0);
	tx.flags = XDP_RING_NEED_WAKEUP;
	xsk_service(&x->q, &cache, 0);
	assert_int_equal(counter_read(&stats.tx_kicks), 1);
	assert_int_equal(counter_read(&stats.tx_errors), 1);
	tx.consumer = tx.producer;
	xsk_service(&x->q, &cache, 0);
	assert_int_equal(counter_read(&stats.tx_kicks), 1);
	assert_int_equal(counter_read(&stats.rx_wakeups), 0);
	fill.flags = XDP_RING_NEED_WAKEUP;
	xsk_service(&x->q, &cache, 0);
	assert_int_equal(counter_read(&stats.rx_wakeups), 1);
}

static void closing_gives_back_all_that_is_in_rings(void **state)
{
	uint32_t first;

	xsk_service(&x->q, &cache, 0);
	for (int k = 0; k < 10; k++)
		kernel_receives(60);
	fill.consumer += 5; // with the kernel, in no ring
	first = send_one(60);
	for (int k = 0; k < 20; k++)
		send_one(60);
	tx.consumer = 7; // taken by the kernel; one of them completed
	kernel_completes((uint64_t)first << SHIFT);
	xsk_close(&x->q, &cache);
	assert_int_equal(pool_count(pool) + cache.count, FRAMES - 1 - 5 - 6);
	assert_int_equal(accounted(), FRAMES - 1);
	assert_int_equal(counter_read(&stats.frames_fill), 5);
	assert_int_equal(counter_read(&stats.frames_rx), 0);
	assert_int_equal(counter_read(&stats.frames_tx), 6);
	assert_int_equal(counter_read(&stats.rx_packets), 0);
}

static void positions_wrap(void **state)
{
	uint32_t start = UINT32_MAX - 20, out[RX];

	rx.producer = rx.consumer = x->rx.cached_prod = x->rx.cached_cons = start;
	tx.producer = tx.consumer = x->tx.cached_prod = start;
	x->tx.cached_cons = start + TX;
	fill.producer = fill.consumer = x->fill.cached_prod = start;
	x->fill.cached_cons = start + FILL;
	completion.producer = completion.consumer = x->completion.cached_prod = x->completion.cached_cons = start;
	for (int round = 0; round < 10; round++) {
		xsk_service(&x->q, &cache, 0);
		for (int k = 0; k < 16; k++)
			kernel_receives(60);
		assert_int_equal(xsk_rx(&x->q, out, RX), 16);
		xsk_tx(&x->q, out, 16);
		tx.consumer = tx.producer;
		for (int k = 0; k < 16; k++)
			kernel_completes((uint64_t)out[15 - k] << SHIFT);
		xsk_service(&x->q, &cache, 0);
		assert_int_equal(accounted(), FRAMES - 1);
		assert_int_equal(x->sent_count, 0);
	}
	assert_int_equal(counter_read(&stats.tx_completed), 160);
	assert_int_equal(counter_read(&stats.bad_completions), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(the_kernel_gets_twice_the_receive_ring),
		T(an_empty_pool_fills_what_it_can),
		T(received_packets_are_clean),
		T(bad_receive_descriptors_are_counted_and_their_frames_kept),
		T(completions_are_matched_by_address),
		T(double_and_foreign_completions_change_nothing),
		T(a_kick_is_made_only_when_asked_for),
		T(closing_gives_back_all_that_is_in_rings),
		T(positions_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
