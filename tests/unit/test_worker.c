// SPDX-License-Identifier: GPL-2.0-or-later
// The whole packet line over queues made of arrays, in virtual time: frames in, decisions, scheduler, frames out; and
// after every test each frame is back.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
// cmocka wants the three above first
#include <cmocka.h>

#include "io/dataplane.c" // to drive workers turn by turn
#include "io/memport.h"

#include <unistd.h>

enum { FRAMES = 2048, RING = 256, UDP_LEN = 1000 };

static struct {
	struct frames frames;
	struct stats *stats;
	int stats_fd;
	struct dataplane *d;
	struct dataplane_queue queue[8];
	uint32_t queues;
	struct frame_cache cache; // the outside world's own
	nsec_t now;
} t;

// ---- a configuration in a few lines

static struct config *config(uint32_t workers, uint32_t ports)
{
	struct config *c = config_new();

	assert_non_null(c);
	c->revision = 1;
	c->workers = workers;
	for (uint32_t w = 0; w < workers; w++)
		c->worker_cpu[w] = (uint16_t)w;
	c->frames = FRAMES;
	c->ports = ports;
	c->bridges = 1;
	snprintf(c->bridge[0].name, NAME_MAX_LEN, "br0");
	c->bridge[0].ageing_ns = 300 * NSEC_PER_SEC;
	c->bridge[0].ports = ports;
	for (uint32_t p = 0; p < ports; p++) {
		snprintf(c->port[p].name, NAME_MAX_LEN, "p%u", p);
		snprintf(c->port[p].device, DEVICE_MAX, "d%u", p);
		c->port[p].inflight_us = 1000;
		c->bridge[0].port[p] = (uint16_t)p;
	}
	return c;
}

static void leaf(struct class_conf *c, const char *name, uint64_t ls)
{
	c->ls = (struct curve){.m1_bps = ls, .m2_bps = ls};
	snprintf(c->name, sizeof c->name, "%s", name);
	c->leaf = (struct leaf_conf){.kind = LEAF_PFIFO, .limit_packets = 100, .limit_frames = 100};
}

// Port `port` shaped to 100 Mbit/s: class "a" (UDP destination port 1000) and "b" (the rest), shares as given.
static void shape(struct config *c, uint32_t port, uint64_t a, uint64_t b)
{
	struct shaper_conf *s = &c->shaper[c->shapers++];
	struct plan *p = plan_new(3);

	assert_non_null(p);
	snprintf(s->name, sizeof s->name, "s%u", port);
	s->port = port;
	s->plan = p;
	snprintf(p->cls[0].name, CLASS_NAME_MAX, "root");
	leaf(&p->cls[1], "a", a);
	leaf(&p->cls[2], "b", b);
	p->rate_bps = 100000000;
	p->burst_ns = NSEC_PER_MSEC;
	p->mtu_wire = 1522;
	p->default_class = 2;
	s->rules = 1;
	s->rule = calloc(1, sizeof *s->rule);
	*s->rule = (struct rule){.sport_max = 65535,
				 .dport_min = 1000,
				 .dport_max = 1000,
				 .proto = 17,
				 .dscp = RULE_ANY,
				 .vlan = RULE_ANY,
				 .l3 = RULE_ANY,
				 .class_id = 1};
}

// ---- set-up and tear-down

static void start_line(struct config *c)
{
	struct problems problems = {0};
	uint32_t workers = c->workers, ports = c->ports;
	uint8_t *base = aligned_alloc(4096, FRAMES * 2048);
	struct packet *pkt = aligned_alloc(CACHE_LINE, FRAMES * sizeof *pkt);

	memset(&t, 0, sizeof t);
	memset(base, 0, FRAMES * 2048);
	memset(pkt, 0, FRAMES * sizeof *pkt);
	t.frames = (struct frames){.base = base, .pkt = pkt, .count = FRAMES, .chunk_shift = 11};
	t.stats_fd = stats_create(NULL, &t.stats);
	assert_true(t.stats_fd >= 0);
	for (uint32_t p = 0; p < ports; p++) {
		t.queue[p].queue = memport_new(&t.frames, &t.stats->queue[p].counters, (uint16_t)p, RING);
		t.queue[p].worker = p % workers;
	}
	t.queues = ports;
	t.stats->queues = ports;
	t.d = dataplane_new(c, &t.frames, t.queue, t.queues, t.stats, &problems);
	assert_non_null(t.d);
	frame_cache_init(&t.cache, t.d->pool, &t.frames);
	t.now = 1000 * NSEC_PER_SEC;
}

static void stop_line(void)
{
	uint32_t i;

	for (uint32_t q = 0; q < t.queues; q++)
		while ((i = memport_take(t.queue[q].queue)) != PKT_NONE)
			frame_cache_put(&t.cache, &i, 1);
	frame_cache_flush(&t.cache);
	assert_int_equal(dataplane_stop(t.d), 0);
	dataplane_free(t.d);
	for (uint32_t q = 0; q < t.queues; q++)
		memport_free(t.queue[q].queue);
	free(t.frames.base);
	free(t.frames.pkt);
	stats_unmap(t.stats);
	close(t.stats_fd);
}

static void turn(nsec_t step)
{
	t.now += step;
	for (uint32_t w = 0; w < t.d->workers; w++)
		worker_turn(t.d->worker[w], t.now);
}

// A UDP frame from host `from` to host `to` (both small numbers), to destination port `dport`.
static bool udp(uint32_t port, uint8_t from, uint8_t to, uint16_t dport)
{
	uint8_t f[UDP_LEN] = {2,
			      0,
			      0,
			      0,
			      0,
			      to,
			      2,
			      0,
			      0,
			      0,
			      0,
			      from,
			      8,
			      0,
			      0x45,
			      0,
			      (UDP_LEN - 14) >> 8,
			      (UDP_LEN - 14) & 255,
			      0,
			      0,
			      0,
			      0,
			      64,
			      17,
			      0,
			      0,
			      10,
			      0,
			      0,
			      from,
			      10,
			      0,
			      0,
			      to,
			      4,
			      1,
			      dport >> 8,
			      dport & 255,
			      (UDP_LEN - 34) >> 8,
			      (UDP_LEN - 34) & 255};
	uint32_t sum = 0;

	for (int i = 14; i < 34; i += 2)
		sum += (uint32_t)f[i] << 8 | f[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	f[24] = (uint8_t)(sum >> 8);
	f[25] = (uint8_t)sum;
	return memport_feed(t.queue[port].queue, &t.cache, f, sizeof f);
}

// Frames that left on `port` since the last call, of them to destination port 1000 in *a.
static uint32_t left_on(uint32_t port, uint32_t *a)
{
	uint32_t n = 0, i;

	for (*a = 0; (i = memport_take(t.queue[port].queue)) != PKT_NONE; n++) {
		const uint8_t *f = frame_data(&t.frames, i);

		*a += f[36] << 8 == (1000 & 0xff00) && f[37] == (1000 & 255);
		frame_cache_put(&t.cache, &i, 1);
	}
	return n;
}

// A change as the control thread makes it, with turns where it would wait for the threads.
static void change(struct config *c)
{
	struct problems problems = {0};
	struct revision *next = publish_trees(t.d, c, &problems);

	assert_non_null(next);
	for (int i = 0; i < 100 && !all_seen(t.d, next->number, false); i++)
		turn(1000);
	assert_true(all_seen(t.d, next->number, false));
	publish_tables(t.d, next);
	turn(1000);
	assert_true(all_seen(t.d, next->number, true));
	retire_previous(t.d, next);
}

static uint64_t drops(enum drop_reason reason)
{
	uint64_t n = 0;

	for (uint32_t w = 0; w < t.d->workers; w++)
		n += counter_read(&t.stats->worker[w].drops[reason]);
	return n;
}

// ---- tests

static void a_bridge_learns_and_floods(void **state)
{
	uint32_t a;

	start_line(config(1, 3));
	assert_true(udp(0, 1, 2, 9)); // 2 is unknown: everywhere but back
	turn(1000);
	turn(1000);
	assert_int_equal(left_on(0, &a), 0);
	assert_int_equal(left_on(1, &a), 1);
	assert_int_equal(left_on(2, &a), 1);
	assert_true(udp(2, 2, 1, 9)); // 1 is known behind port 0
	turn(1000);
	turn(1000);
	assert_int_equal(left_on(0, &a), 1);
	assert_int_equal(left_on(1, &a), 0);
	assert_true(udp(0, 1, 2, 9)); // and now 2 behind port 2
	turn(1000);
	turn(1000);
	assert_int_equal(left_on(2, &a), 1);
	assert_int_equal(left_on(1, &a), 0);
	assert_true(udp(2, 3, 2, 9)); // same side
	turn(1000);
	assert_int_equal(drops(DROP_SAME_PORT), 1);
	stop_line();
}

// Both classes overload port 1 for `ms` milliseconds; what left of each.
static void overload(uint32_t ms, uint32_t *a, uint32_t *all)
{
	*a = *all = 0;
	for (uint32_t i = 0; i < ms * 20; i++) {
		uint32_t k;

		for (int n = 0; n < 2; n++) {
			assert_true(udp(0, 1, 2, 1000));
			assert_true(udp(0, 1, 2, 2000));
		}
		turn(50 * NSEC_PER_USEC);
		*all += left_on(1, &k);
		*a += k;
	}
}

static void learn_two(void)
{
	uint32_t a;

	assert_true(udp(1, 2, 1, 9));
	turn(1000);
	turn(1000);
	left_on(0, &a);
}

static void the_shaper_shares_and_holds_its_rate(void **state)
{
	struct config *c = config(1, 2);
	uint32_t a, all;

	shape(c, 1, 75000000, 25000000);
	start_line(c);
	learn_two();
	overload(200, &a, &all);
	overload(1000, &a, &all); // 100 Mbit/s are 12,500 frames of 1,000 bytes
	assert_in_range(all, 12450, 12550);
	assert_in_range(a * 10000ull / all, 7450, 7550);
	stop_line();
}

static void another_worker_owns_the_shaper(void **state)
{
	struct config *c = config(2, 2);
	uint32_t a, all;

	shape(c, 1, 75000000, 25000000);
	start_line(c);
	learn_two();
	overload(200, &a, &all);
	overload(1000, &a, &all);
	assert_in_range(all, 12450, 12550);
	assert_in_range(a * 10000ull / all, 7450, 7550);
	assert_true(counter_read(&t.stats->worker[0].handed_over) > 10000);
	stop_line();
}

static void a_change_takes_effect_and_loses_nothing(void **state)
{
	struct config *c = config(2, 2);
	uint32_t a, all;

	shape(c, 1, 75000000, 25000000);
	start_line(c);
	learn_two();
	overload(500, &a, &all);
	for (uint32_t r = 2; r < 12; r++) {
		uint64_t share = r % 2 ? 75000000 : 20000000;

		c = config(2, 2);
		c->revision = r;
		shape(c, 1, share, 100000000 - share);
		change(c);
		overload(20, &a, &all);
		overload(400, &a, &all);
		assert_in_range(a * 10000ull / all, share / 10000 - 80, share / 10000 + 80);
	}
	assert_int_equal(drops(DROP_RECONFIGURED), 0);
	stop_line();
}

static void a_shaper_comes_and_goes(void **state)
{
	struct config *c;
	uint32_t a, all;

	start_line(config(1, 2));
	learn_two();
	overload(50, &a, &all);
	assert_int_equal(all, 50 * 20 * 4);
	c = config(1, 2);
	c->revision = 2;
	shape(c, 1, 50000000, 50000000);
	change(c);
	overload(400, &a, &all);
	assert_in_range(all, 4900, 5200);
	c = config(1, 2);
	c->revision = 3;
	change(c);
	for (int i = 0; i < 100; i++)
		turn(50 * NSEC_PER_USEC);
	left_on(1, &a);
	overload(50, &a, &all);
	assert_int_equal(all, 50 * 20 * 4);
	stop_line();
}

static void a_port_without_link_gets_nothing(void **state)
{
	uint32_t a;

	start_line(config(1, 2));
	learn_two();
	dataplane_port_state(t.d, 1, false);
	assert_true(udp(0, 1, 2, 9));
	turn(1000);
	assert_int_equal(left_on(1, &a), 0);
	assert_int_equal(drops(DROP_PORT_DOWN), 1);
	dataplane_port_state(t.d, 1, true);
	assert_true(udp(0, 1, 2, 9));
	turn(1000);
	turn(1000);
	assert_int_equal(left_on(1, &a), 1);
	stop_line();
}

static void no_room_means_no_loss(void **state)
{
	uint32_t a;

	start_line(config(1, 2));
	learn_two();
	memport_block(t.queue[1].queue, true);
	for (int i = 0; i < 100; i++) {
		assert_true(udp(0, 1, 2, 9));
		turn(1000);
	}
	assert_int_equal(left_on(1, &a), 0);
	memport_block(t.queue[1].queue, false);
	for (int i = 0; i < 10; i++)
		turn(1000);
	assert_int_equal(left_on(1, &a), 100);
	stop_line();
}

// Senders that fill the frame memory: backlog gives way, and a new packet still finds a frame.
static void a_full_pool_sheds_the_fattest(void **state)
{
	struct config *c = config(1, 2);

	shape(c, 1, 50000000, 50000000);
	for (int k = 1; k < 3; k++)
		c->shaper[0].plan->cls[k].leaf.limit_packets = c->shaper[0].plan->cls[k].leaf.limit_frames = 100000;
	start_line(c);
	learn_two();
	for (int i = 0; i < 3000; i++) {
		assert_true(udp(0, 1, 2, i % 100 ? 1000 : 2000));
		turn(1000);
	}
	assert_true(drops(DROP_QUEUE_FULL) > 500);
	assert_int_equal(counter_read(&t.stats->class_stats[t.d->ids_per_port + 2].drop_full), 0);
	stop_line();
}

// Frames that no sender would build: random bytes, and real frames with bytes changed or cut. What goes in comes out, or is
// counted under one reason.
static void random_frames_do_no_harm(void **state)
{
	static const uint8_t seeds[][78] = {
		// UDP over IPv4, TCP over IPv6 behind a tag, ARP, IPv6 with a fragment header
		{2, 0, 0,  0,  0,    2,    2,  0, 0, 0, 0,  1, 8, 0, 0x45, 0, 0, 40,  0, 0,
		 0, 0, 64, 17, 0x66, 0xc3, 10, 0, 0, 1, 10, 0, 0, 2, 4,    1, 3, 232, 0, 20},
		{2,    0,    0, 0, 0, 2, 2,  0, 0,  0,           0,           1,        0x81, 0, 0,   7,          0x86,
		 0xdd, 0x60, 0, 0, 0, 0, 20, 6, 64, [26] = 0xfd, [42] = 0xfd, [58] = 4, 1,    3, 232, [70] = 0x50},
		{255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1},
		{2,    0, 0, 0, 0, 2,  2,  0,  0,           0,           0,         1, 0x86, 0xdd,
		 0x60, 0, 0, 0, 0, 24, 44, 64, [22] = 0xfd, [38] = 0xfd, [54] = 17, 0, 0,    8},
	};
	enum { ROUNDS = 100000 };
	uint64_t in = 0, out = 0, dropped = 0;
	struct config *c = config(1, 2);
	uint32_t a;

	shape(c, 1, 50000000, 50000000);
	start_line(c);
	t.queue[0].queue->fix_checksums = true;
	srand(20081001);
	for (int r = 0; r < ROUNDS; r++) {
		uint8_t f[1800];
		uint32_t len = (uint32_t)rand() % 200;

		if (r % 3 == 0) {
			for (uint32_t i = 0; i < len; i++)
				f[i] = (uint8_t)rand();
		} else {
			memcpy(f, seeds[r % ARRAY_LEN(seeds)], sizeof seeds[0]);
			memset(f + sizeof seeds[0], r, sizeof f - sizeof seeds[0]);
			len = r % 7 ? 14 + len : (uint32_t)rand() % sizeof f;
			for (int k = rand() % 4; k; k--)
				f[rand() % 78] = (uint8_t)rand();
		}
		if (len && memport_feed(t.queue[0].queue, &t.cache, f, len))
			in++;
		turn(NSEC_PER_MSEC);
		out += left_on(1, &a) + left_on(0, &a);
	}
	for (int i = 0; i < 1000; i++)
		turn(NSEC_PER_MSEC);
	out += left_on(1, &a) + left_on(0, &a);
	for (uint32_t r = 1; r < DROP_REASON_COUNT; r++)
		dropped += drops(r);
	assert_true(in > ROUNDS * 9 / 10);
	assert_int_equal(in, out + dropped);
	assert_true(out > 1000 && dropped > 1000);
	stop_line();
}

// With real threads: they sleep, are woken for each revision, acknowledge, and stop.
static void threads_adopt_revisions(void **state)
{
	struct problems problems = {0};
	struct dataplane_change done;

	start_line(config(2, 2));
	assert_true(dataplane_start(t.d, &problems));
	for (uint32_t r = 2; r < 50; r++) {
		struct config *c = config(2, 2);

		c->revision = r;
		if (r % 3)
			shape(c, 1, r * 1000000, 50000000);
		assert_true(dataplane_apply(t.d, c, &done, &problems));
		assert_int_equal(done.revision, r);
		assert_int_equal(done.lost, 0);
	}
	stop_line();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bridge_learns_and_floods),
		cmocka_unit_test(the_shaper_shares_and_holds_its_rate),
		cmocka_unit_test(another_worker_owns_the_shaper),
		cmocka_unit_test(a_change_takes_effect_and_loses_nothing),
		cmocka_unit_test(a_shaper_comes_and_goes),
		cmocka_unit_test(a_port_without_link_gets_nothing),
		cmocka_unit_test(no_room_means_no_loss),
		cmocka_unit_test(a_full_pool_sheds_the_fattest),
		cmocka_unit_test(random_frames_do_no_harm),
		cmocka_unit_test(threads_adopt_revisions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
