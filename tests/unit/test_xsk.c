// SPDX-License-Identifier: GPL-2.0-or-later
// AF_XDP on real veth: both ends of io/xsk.h and the kernel program, in a network namespace of this process's own. Every
// frame is counted. One process plays parent and engine, over two mappings of the frame memory, as in life.
#include "io/clock.h"
#include "io/xdp.h"
#include "io/xsk.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { FRAMES = 8192, CHUNK = 2048, RING = 512, QUEUES = 2, PORTS = 2, LEN = 200 };

static const char *const device[PORTS] = {"a0", "b0"}, *const peer[PORTS] = {"a1", "b1"};

struct rig { // both processes' part of a running system
	struct config *config;
	struct umem parent_memory, memory;
	struct xsk_factory *factory;
	struct xdp_port *xdp[PORTS];
	struct xsk_socket_handle *handle[PORTS][QUEUES];
	struct xsk_info info[PORTS][QUEUES];
	struct frames frames;
	struct pool *pool;
	struct frame_cache cache;
	struct queue *queue[PORTS][QUEUES];
	struct queue_stats stats[PORTS][QUEUES];
	int raw[PORTS]; // packet sockets on the peers
	struct problems problems;
};

static struct rig *live[2]; // what a failed test leaves behind

static void run(const char *fmt, ...) PRINTF_LIKE(1, 2);
static void run(const char *fmt, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	if (system(command)) {
		print_error("failed: %s\n", command);
		fail();
	}
}

static int make_devices(void **state)
{
	run("for c in all default; do echo 1 > /proc/sys/net/ipv6/conf/$c/disable_ipv6; done 2>/dev/null || true");
	for (int p = 0; p < PORTS; p++)
		run("ip link add %s numtxqueues 2 numrxqueues 2 type veth peer name %s numtxqueues 2 numrxqueues 2 && "
		    "ip link set %s up && ip link set %s up",
		    device[p], peer[p], device[p], peer[p]);
	return 0;
}

static int packet_socket(const char *name)
{
	const int bytes = 64 << 20, one = 1;
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(name)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes), 0);
	assert_int_equal(setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	return fd;
}

static struct rig *rig_new(enum port_mode mode, uint32_t ring)
{
	struct rig *r = calloc(1, sizeof *r);

	live[live[0] ? 1 : 0] = r;
	r->config = calloc(1, sizeof *r->config);
	r->config->ports = PORTS;
	for (int p = 0; p < PORTS; p++) {
		r->config->port[p] = (struct port_conf){.mode = mode, .rx_ring = ring, .tx_ring = ring};
		snprintf(r->config->port[p].name, NAME_MAX_LEN, "%s", p ? "wan" : "lan");
		snprintf(r->config->port[p].device, DEVICE_MAX, "%s", device[p]);
		r->raw[p] = packet_socket(peer[p]);
	}
	assert_int_equal(umem_create(&r->parent_memory, FRAMES, CHUNK), 0);
	assert_int_equal(umem_map(&r->memory, dup(r->parent_memory.fd), FRAMES, CHUNK, r->parent_memory.huge), 0);
	assert_int_equal(umem_frames(&r->memory, &r->frames), 0);
	r->pool = pool_new(&r->frames);
	frame_cache_init(&r->cache, r->pool, &r->frames);
	r->factory = xsk_factory_new(&r->parent_memory, r->config);
	return r;
}

static void show(const struct problems *p)
{
	for (uint32_t k = 0; k < p->kept; k++)
		print_message("%s: %s %s\n", p->list[k].level == PROBLEM_ERROR ? "error" : "warning", p->list[k].path,
			      p->list[k].text);
}

static void rig_bind(struct rig *r, bool generic, uint32_t queues)
{
	for (uint32_t p = 0; p < PORTS; p++) {
		r->xdp[p] = xdp_attach(device[p], generic, &r->problems);
		for (uint32_t q = 0; r->xdp[p] && q < queues; q++) {
			r->handle[p][q] = xsk_bind(r->factory, &r->config->port[p], "veth", p, q, generic,
						   &r->info[p][q], &r->problems);
			if (!r->handle[p][q])
				break;
			r->queue[p][q] = xsk_queue_open(dup(xsk_handle_fd(r->handle[p][q])), &r->info[p][q], &r->frames,
							&r->stats[p][q]);
			assert_non_null(r->queue[p][q]);
			assert_int_equal(xdp_add_socket(r->xdp[p], q, xsk_handle_fd(r->handle[p][q])), 0);
			r->queue[p][q]->ops->service(r->queue[p][q], &r->cache, clock_now());
		}
		if (r->problems.errors)
			show(&r->problems);
		assert_int_equal(r->problems.errors, 0);
	}
}

static struct rig *rig_up(enum port_mode mode, uint32_t ring, uint32_t queues)
{
	struct rig *r = rig_new(mode, ring);

	rig_bind(r, mode == MODE_GENERIC, queues);
	return r;
}

// Frames by place; they must always be all there are.
static uint32_t accounted(struct rig *r)
{
	uint64_t n = pool_count(r->pool) + r->cache.count;

	for (int k = 0; k < PORTS * QUEUES; k++) {
		struct queue *q = r->queue[k / QUEUES][k % QUEUES];
		const struct queue_stats *s = &r->stats[k / QUEUES][k % QUEUES];

		if (q)
			q->ops->read_stats(q);
		n += counter_read(&s->frames_fill) + counter_read(&s->frames_rx) + counter_read(&s->frames_tx);
	}
	return (uint32_t)n;
}

static void rig_unbind(struct rig *r)
{
	for (int k = 0; k < PORTS * QUEUES; k++) {
		int p = k / QUEUES, q = k % QUEUES;

		if (r->handle[p][q])
			xdp_remove_socket(r->xdp[p], (uint32_t)q);
		if (r->queue[p][q]) {
			r->queue[p][q]->ops->close(r->queue[p][q], &r->cache);
			xsk_queue_free(r->queue[p][q]);
		}
		xsk_handle_close(r->handle[p][q]);
		r->queue[p][q] = NULL;
		r->handle[p][q] = NULL;
	}
	for (int p = 0; p < PORTS; p++) {
		xdp_detach(r->xdp[p]);
		r->xdp[p] = NULL;
	}
}

static void rig_free(struct rig *r)
{
	rig_unbind(r);
	frame_cache_flush(&r->cache);
	xsk_factory_free(r->factory);
	pool_free(r->pool);
	umem_frames_close(&r->frames);
	umem_close(&r->memory);
	umem_close(&r->parent_memory);
	problems_free(&r->problems);
	for (int p = 0; p < PORTS; p++)
		close(r->raw[p]);
	free(r->config);
	for (size_t k = 0; k < ARRAY_LEN(live); k++)
		if (live[k] == r)
			live[k] = NULL;
	free(r);
}

static int clean(void **state)
{
	for (size_t k = 0; k < ARRAY_LEN(live); k++)
		if (live[k])
			rig_free(live[k]);
	return 0;
}

// A UDP frame with a number in it; the number picks the flow, and so the queue.
static void make_frame(uint8_t f[LEN], uint32_t number)
{
	static const uint8_t head[42] = {2,    0, 0,  0,        0, 1, 2, 0, 0,    0,    0, 2,        8,  0,
					 0x45, 0, 0,  LEN - 14, 0, 0, 0, 0, 64,   17,   0, 0,        10, 0,
					 0,    1, 10, 0,        0, 2, 0, 0, 0x23, 0x28, 0, LEN - 34, 0,  0};

	memset(f, (int)(number % 251), LEN);
	memcpy(f, head, sizeof head);
	f[34] = (uint8_t)(number % 61 + 4);
	f[35] = (uint8_t)(number % 67);
	memcpy(f + 42, &number, sizeof number);
}

static void inject(struct rig *r, int port, uint32_t number)
{
	uint8_t f[LEN];

	make_frame(f, number);
	assert_int_equal(send(r->raw[port], f, LEN, 0), LEN);
}

static void check_frame(const uint8_t *f, size_t len, uint8_t *seen, uint32_t count)
{
	uint8_t want[LEN];
	uint32_t number;

	assert_int_equal(len, LEN);
	memcpy(&number, f + 42, sizeof number);
	assert_true(number < count);
	assert_false(seen[number]++);
	make_frame(want, number);
	assert_memory_equal(f, want, LEN);
}

static uint32_t collect(struct rig *r, int port, uint8_t *seen, uint32_t count)
{
	uint8_t f[2048];
	uint32_t n = 0;
	ssize_t len;

	while ((len = recv(r->raw[port], f, sizeof f, 0)) > 0) {
		if (f[12] != 8 || f[13] || f[0] != 2) // not one of ours
			continue;
		check_frame(f, (size_t)len, seen, count);
		n++;
	}
	return n;
}

// One turn of a minimal worker: every queue's packets go out of the same queue of the other port.
static uint32_t turn(struct rig *r)
{
	uint32_t moved = 0;

	for (int k = 0; k < PORTS * QUEUES; k++) {
		struct queue *in = r->queue[k / QUEUES][k % QUEUES], *to = r->queue[!(k / QUEUES)][k % QUEUES];
		uint32_t pkt[RX_BATCH], packets, bytes, n;

		if (!in)
			continue;
		to->ops->tx_room(to, &packets, &bytes);
		n = in->ops->rx(in, pkt, packets < RX_BATCH ? packets : RX_BATCH);
		for (uint32_t j = 0; j < n; j++)
			assert_int_equal(r->frames.pkt[pkt[j]].in_port, k / QUEUES);
		to->ops->tx(to, pkt, n);
		to->ops->service(to, &r->cache, clock_now());
		in->ops->service(in, &r->cache, clock_now());
		moved += n;
	}
	return moved;
}

static uint64_t sum(struct rig *r, int port, size_t offset)
{
	uint64_t n = 0;

	for (int q = 0; q < QUEUES; q++)
		n += counter_read((const counter_t *)((const char *)&r->stats[port][q] + offset));
	return n;
}
#define SUM(r, port, field) sum(r, port, offsetof(struct queue_stats, field))

// Sends `count` frames each way and expects each, whole and once, at the other side.
static void exchange(struct rig *r, uint32_t count)
{
	uint8_t *seen[PORTS] = {calloc(count, 1), calloc(count, 1)};
	uint32_t arrived[PORTS] = {0};
	nsec_t deadline;

	for (uint32_t n = 0; n < count; n++) {
		inject(r, 0, n);
		inject(r, 1, n);
		if (n % 16 == 15)
			turn(r);
	}
	deadline = clock_now() + 5 * NSEC_PER_SEC;
	do {
		turn(r);
		for (int p = 0; p < PORTS; p++)
			arrived[p] += collect(r, p, seen[p], count);
	} while ((arrived[0] < count || arrived[1] < count) && time_before(clock_now(), deadline));
	for (int p = 0; p < PORTS; p++) {
		assert_int_equal(arrived[p], count);
		free(seen[p]);
	}
}

static void forward_counts_and_conserves(struct rig *r, enum port_mode mode)
{
	const uint32_t count = 3000;

	for (int p = 0; p < PORTS; p++)
		for (int q = 0; q < QUEUES; q++) {
			assert_int_equal(r->info[p][q].mode, mode);
			assert_int_equal(r->info[p][q].busy_poll, 0);
			assert_true(r->queue[p][q]->fix_checksums);
		}
	exchange(r, count);
	assert_int_equal(accounted(r), FRAMES - 1);
	for (int p = 0; p < PORTS; p++) {
		assert_int_equal(SUM(r, p, rx_packets), count);
		assert_int_equal(SUM(r, p, rx_bytes), count * LEN);
		assert_int_equal(SUM(r, p, tx_packets), count);
		assert_int_equal(SUM(r, p, tx_bytes), count * LEN);
		assert_int_equal(SUM(r, p, tx_completed), count);
		assert_int_equal(SUM(r, p, rx_dropped) + SUM(r, p, bad_completions) + SUM(r, p, tx_errors), 0);
		assert_int_equal(SUM(r, p, frames_tx) + SUM(r, p, frames_rx), 0);
		assert_int_equal(xdp_misses(r->xdp[p]), 0);
		// Both queues took part. In generic mode veth says queue 0 of every frame.
		for (int q = 0; mode != MODE_GENERIC && q < QUEUES; q++)
			assert_true(counter_read(&r->stats[p][q].rx_packets) > count / 10);
	}
	rig_unbind(r);
	frame_cache_flush(&r->cache);
	assert_int_equal(pool_count(r->pool), FRAMES - 1);
}

static void copy_mode_forwards_every_frame(void **state)
{
	struct rig *r = rig_up(MODE_COPY, RING, QUEUES);

	assert_int_equal(r->problems.warnings, 0);
	forward_counts_and_conserves(r, MODE_COPY);
	rig_free(r);
}

static void auto_mode_falls_back_and_says_so_once_a_device(void **state)
{
	struct rig *r = rig_up(MODE_AUTO, RING, QUEUES);

	assert_int_equal(r->problems.warnings, PORTS);
	assert_string_equal(r->problems.list[0].path, "/ports/lan");
	assert_non_null(strstr(r->problems.list[0].text, "a0 does not do zero copy"));
	forward_counts_and_conserves(r, MODE_COPY);
	rig_free(r);
}

static void generic_mode_forwards_every_frame(void **state)
{
	struct rig *r = rig_up(MODE_GENERIC, RING, QUEUES);

	forward_counts_and_conserves(r, MODE_GENERIC);
	rig_free(r);
}

static void busy_polling_forwards_every_frame(void **state)
{
	struct rig *r = rig_new(MODE_COPY, RING);

	r->config->port[0].busy_poll = r->config->port[1].busy_poll = BUSY_POLL_ON;
	rig_bind(r, false, QUEUES);
	assert_int_equal(r->info[0][0].busy_poll, 1);
	exchange(r, 1000);
	assert_true(SUM(r, 0, rx_wakeups) > 0);
	assert_int_equal(accounted(r), FRAMES - 1);
	rig_free(r);
}

// Nobody reads: the receive ring fills, the rest is lost before the classifier and counted, and then it goes on.
static void what_a_full_receive_ring_loses_is_counted_exactly(void **state)
{
	struct rig *r = rig_up(MODE_COPY, 64, QUEUES);
	uint32_t out[RX_BATCH];
	uint64_t received = 0;

	for (uint32_t n = 0; n < 1000; n++)
		inject(r, 0, n);
	usleep(20000);
	assert_int_equal(accounted(r), FRAMES - 1);
	assert_int_equal(SUM(r, 0, frames_rx), 2 * 64);
	assert_int_equal(SUM(r, 0, rx_dropped), 1000 - 2 * 64);
	for (int q = 0; q < QUEUES; q++) {
		struct queue *u = r->queue[0][q];
		uint32_t n;

		assert_true(u->ops->before_sleep(u, &r->cache));
		while ((n = u->ops->rx(u, out, RX_BATCH))) {
			frame_cache_put(&r->cache, out, n);
			received += n;
		}
	}
	assert_int_equal(received, 2 * 64);
	assert_int_equal(accounted(r), FRAMES - 1);
	exchange(r, 300);
	assert_int_equal(SUM(r, 0, rx_dropped), 1000 - 2 * 64);
	assert_int_equal(accounted(r), FRAMES - 1);
	rig_free(r);
}

// All frames are elsewhere (a backlog): the kernel runs out of them. Given back, receiving resumes at once.
static void receiving_resumes_after_the_frames_ran_out(void **state)
{
	struct rig *r = rig_up(MODE_COPY, 64, QUEUES);
	uint32_t *backlog = calloc(FRAMES, sizeof *backlog), held = 0, n;

	while ((n = frame_cache_get(&r->cache, backlog + held, 64)))
		held += n;
	for (uint32_t k = 0; k < 1000; k++) {
		inject(r, 0, k);
		for (int q = 0; q < QUEUES; q++) {
			struct queue *u = r->queue[0][q];

			held += u->ops->rx(u, backlog + held, RX_BATCH);
			u->ops->service(u, &r->cache, clock_now());
		}
	}
	assert_int_equal(accounted(r) + held, FRAMES - 1);
	assert_int_equal(SUM(r, 0, rx_packets), 2 * 128); // what the kernel had been given
	assert_int_equal(SUM(r, 0, rx_dropped), 1000 - 2 * 128);
	assert_true(SUM(r, 0, fill_empty) >= 1000 - 2 * 128);
	frame_cache_put(&r->cache, backlog, held);
	for (int q = 0; q < QUEUES; q++)
		r->queue[0][q]->ops->service(r->queue[0][q], &r->cache, clock_now());
	exchange(r, 300);
	assert_int_equal(accounted(r), FRAMES - 1);
	free(backlog);
	rig_free(r);
}

static void room_is_ring_and_cap_until_frames_complete(void **state)
{
	struct rig *r = rig_up(MODE_COPY, 64, 1);
	struct queue *q = r->queue[0][0];
	uint32_t pkt[64], packets, bytes;
	uint8_t seen[64] = {0};

	q->inflight_cap = 6000;
	q->ops->tx_room(q, &packets, &bytes);
	assert_int_equal(packets, 64);
	assert_int_equal(bytes, 6000);
	assert_int_equal(frame_cache_get(&r->cache, pkt, 64), 64);
	for (uint32_t k = 0; k < 64; k++) {
		r->frames.pkt[pkt[k]] = (struct packet){.data = (uint16_t)(k + 256), .len = LEN};
		make_frame(frame_data(&r->frames, pkt[k]), k);
	}
	q->ops->tx(q, pkt, 20);
	q->ops->tx_room(q, &packets, &bytes);
	assert_int_equal(packets, 44);
	assert_int_equal(bytes, 6000 - 20 * LEN);
	q->ops->tx(q, pkt + 20, 44);
	q->ops->tx_room(q, &packets, &bytes);
	assert_int_equal(packets, 0);
	assert_int_equal(bytes, 0);
	assert_int_equal(accounted(r), FRAMES - 1);
	assert_int_equal(SUM(r, 0, frames_tx), 64);
	for (int k = 0; k < 1000 && SUM(r, 0, tx_completed) < 64; k++)
		q->ops->service(q, &r->cache, clock_now());
	q->ops->tx_room(q, &packets, &bytes);
	assert_int_equal(packets, 64);
	assert_int_equal(bytes, 6000);
	assert_int_equal(collect(r, 0, seen, 64), 64);
	assert_int_equal(accounted(r), FRAMES - 1);
	rig_free(r);
}

// A link that is down refuses what is sent: no wait, no loop, no frame lost.
static void a_link_that_goes_down_keeps_no_frames(void **state)
{
	struct rig *r = rig_up(MODE_COPY, 64, 1);
	struct queue *q = r->queue[0][0];
	uint32_t pkt[64];
	nsec_t start;

	run("ip link set %s down", device[0]);
	assert_int_equal(frame_cache_get(&r->cache, pkt, 64), 64);
	for (uint32_t k = 0; k < 64; k++)
		r->frames.pkt[pkt[k]] = (struct packet){.data = 256, .len = LEN};
	q->ops->tx(q, pkt, 64);
	start = clock_now();
	for (int k = 0; k < 100; k++)
		q->ops->service(q, &r->cache, clock_now());
	assert_true(clock_now() - start < NSEC_PER_SEC);
	assert_int_equal(accounted(r), FRAMES - 1);
	assert_true(SUM(r, 0, tx_errors) + SUM(r, 0, tx_busy) > 0);
	rig_unbind(r);
	frame_cache_flush(&r->cache);
	assert_int_equal(pool_count(r->pool), FRAMES - 1);
	run("ip link set %s up", device[0]);
	rig_free(r);
}

static void packets_on_a_queue_without_a_socket_are_counted(void **state)
{
	struct rig *r = rig_up(MODE_COPY, RING, 1);
	uint32_t out[RX_BATCH], n;
	uint64_t received = 0;
	uint8_t seen[400] = {0};

	close(r->raw[1]);
	r->raw[1] = packet_socket(device[0]); // the kernel's own stack
	for (uint32_t k = 0; k < 400; k++)
		inject(r, 0, k);
	usleep(20000);
	while ((n = r->queue[0][0]->ops->rx(r->queue[0][0], out, RX_BATCH))) {
		frame_cache_put(&r->cache, out, n);
		received += n;
	}
	assert_true(received > 40 && received < 360);
	assert_int_equal(xdp_misses(r->xdp[0]), 400 - received);
	xdp_remove_socket(r->xdp[0], 0);
	for (uint32_t k = 0; k < 100; k++)
		inject(r, 0, k);
	usleep(20000);
	assert_int_equal(xdp_misses(r->xdp[0]), 500 - received);
	assert_int_equal(collect(r, 1, seen, 400), 0);
	rig_free(r);
}

static void a_closed_queue_can_be_bound_again_at_once(void **state)
{
	struct rig *r = rig_up(MODE_COPY, RING, QUEUES);

	for (int k = 0; k < 5; k++) {
		rig_unbind(r);
		rig_bind(r, false, QUEUES);
		exchange(r, 50);
	}
	assert_int_equal(accounted(r), FRAMES - 1);
	rig_free(r);
}

// The owner is killed: its program, its sockets and its memory go with it, and the next one starts.
static void a_killed_owner_is_in_nobodys_way(void **state)
{
	for (int k = 0; k < 5; k++) {
		int ready[2], status, got;

		assert_int_equal(pipe(ready), 0);
		pid_t child = fork();

		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			rig_up(MODE_COPY, RING, QUEUES);
			(void)!write(ready[1], "x", 1);
			pause();
		}
		got = poll(&(struct pollfd){.fd = ready[0], .events = POLLIN}, 1, 10000);
		close(ready[0]);
		close(ready[1]);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(got, 1);
		struct rig *r = rig_up(MODE_COPY, RING, QUEUES);

		exchange(r, 50);
		rig_free(r);
	}
}

static void assert_problem(struct rig *r, const char *words)
{
	show(&r->problems);
	assert_int_equal(r->problems.errors, 1);
	assert_non_null(strstr(r->problems.list[0].text, words));
	problems_free(&r->problems);
}

static void what_can_not_be_bound_is_told(void **state)
{
	struct rig *r = rig_new(MODE_ZEROCOPY, RING), *other = rig_up(MODE_COPY, RING, 1);
	struct port_conf *conf = &r->config->port[0];
	struct xsk_info info;

	assert_null(xsk_bind(r->factory, conf, "veth", 0, 1, false, &info, &r->problems));
	assert_problem(r, "a0 does not do zero copy");
	conf->mode = MODE_COPY;
	assert_null(xsk_bind(r->factory, conf, "veth", 0, 2, false, &info, &r->problems));
	assert_problem(r, "a0 has no queue 2");
	nsec_t start = clock_now();

	assert_null(xsk_bind(r->factory, conf, "veth", 0, 0, false, &info, &r->problems));
	assert_true(clock_now() - start > NSEC_PER_SEC && clock_now() - start < 4 * NSEC_PER_SEC);
	assert_problem(r, "queue 0 of a0 is held by another AF_XDP socket");
	assert_null(xdp_attach("a0", false, &r->problems));
	assert_problem(r, "a0 already runs an XDP program, weir (id");
	assert_null(xdp_attach("a0", true, &r->problems));
	assert_problem(r, "a0 already runs an XDP program, weir (id");
	assert_null(xdp_attach("nothere", false, &r->problems));
	assert_problem(r, "there is no device nothere");
	assert_null(xdp_attach("lo", false, &r->problems));
	assert_problem(r, "the driver of lo has no native XDP");
	snprintf(conf->device, sizeof conf->device, "nothere");
	assert_null(xsk_bind(r->factory, conf, "veth", 0, 0, false, &info, &r->problems));
	assert_problem(r, "there is no device nothere");
	rig_free(other);
	rig_free(r);
}

static void a_large_mtu_is_told_at_attach(void **state)
{
	struct problems p = {0};

	run("ip link set %s mtu 9000", peer[0]);
	assert_null(xdp_attach(device[0], false, &p));
	assert_non_null(strstr(p.list[0].text, "MTU"));
	problems_free(&p);
	run("ip link set %s mtu 1500", peer[0]);
}

static void rings_that_are_not_there_are_refused(void **state)
{
	struct rig *r = rig_up(MODE_COPY, RING, 1);
	struct xsk_info info = r->info[0][0];
	struct queue_stats stats;
	int fd = xsk_handle_fd(r->handle[0][0]);

	info.rx_ring = 500;
	errno = 0;
	assert_null(xsk_queue_open(dup(fd), &info, &r->frames, &stats));
	assert_int_equal(errno, EINVAL);
	info.rx_ring = 4 * RING;
	assert_null(xsk_queue_open(dup(fd), &info, &r->frames, &stats));
	assert_int_equal(errno, EINVAL);
	info.rx_ring = RING;
	assert_null(xsk_queue_open(dup(r->raw[0]), &info, &r->frames, &stats));
	rig_free(r);
}

static int skipped(const char *reason)
{
	printf("%s\n", reason);
	return 77;
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, clean)
	const struct CMUnitTest tests[] = {
		T(copy_mode_forwards_every_frame),
		T(auto_mode_falls_back_and_says_so_once_a_device),
		T(generic_mode_forwards_every_frame),
		T(busy_polling_forwards_every_frame),
		T(what_a_full_receive_ring_loses_is_counted_exactly),
		T(receiving_resumes_after_the_frames_ran_out),
		T(room_is_ring_and_cap_until_frames_complete),
		T(a_link_that_goes_down_keeps_no_frames),
		T(packets_on_a_queue_without_a_socket_are_counted),
		T(a_closed_queue_can_be_bound_again_at_once),
		T(a_killed_owner_is_in_nobodys_way),
		T(what_can_not_be_bound_is_told),
		T(a_large_mtu_is_told_at_attach),
		T(rings_that_are_not_there_are_refused),
	};

	if (geteuid())
		return skipped("needs root, for a network namespace and AF_XDP");
	if (unshare(CLONE_NEWNET))
		return skipped("a network namespace can't be made here");
	if (socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0) < 0)
		return skipped("this kernel has no AF_XDP");
	return cmocka_run_group_tests(tests, make_devices, NULL);
}
