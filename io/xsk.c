// SPDX-License-Identifier: GPL-2.0-or-later
// The engine's end of an AF_XDP socket: four rings shared with the kernel, and the rules for using them. The process
// has no privilege left here, so everything it may ask of the socket is sendto, recvfrom and getsockopt.
//
//  - A frame is named by its chunk: address >> chunk_shift, whatever offset the kernel put in the low bits. Completions
//    are matched by that name and never by their order, which kernels have got wrong; a bit per frame tells a
//    completion we wait for from a second or foreign one.
//  - Copy mode transmits inside sendto, at most 32 descriptors a call before EAGAIN, and always asks to be kicked.
//  EAGAIN,
//    ENOBUFS and EBUSY mean "later"; ENETDOWN and ENXIO mean that device or queue are gone.
//  - The fill ring is kept at twice the receive ring, so that a full receive ring still leaves as much again. It is
//  also
//    kept full on a port that only sends, because some drivers run dry otherwise.
//  - What stands in rings and driver is a queue that no scheduler orders any more: tx_room caps it in bytes.
//
// Kernel documentation: networking/af_xdp.rst.
#include "io/xsk.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xdp/xsk.h>

#ifndef SOL_XDP
#define SOL_XDP 283
#endif

enum {
	BATCH = 64,      // frames traded with the cache at a time
	REFILL_MIN = 32, // fewer missing frames are not worth a visit
};

enum ring_kind { RING_RX, RING_TX, RING_FILL, RING_COMPLETION, RING_COUNT };

struct xsk_queue {
	struct queue q; // first: a struct queue * is one of us
	struct xsk_ring_cons rx, completion;
	struct xsk_ring_prod tx, fill;
	uint64_t *sent; // a bit per frame: handed to tx, not completed
	uint32_t sent_count;
	uint64_t sent_bytes;       // their length: what tx_room caps
	uint64_t given, taken;     // frames put into the fill ring, frames taken off the receive ring
	uint32_t held_target;      // what given - taken is kept at
	uint64_t bad_rx;           // receive descriptors that describe no frame of ours
	struct pkt_list recovered; // their frames, where they have one
	bool busy_poll;
	bool kick_again; // the kernel left descriptors for a later kick
	struct {
		void *at;
		size_t bytes;
	} map[RING_COUNT];
};

static struct xsk_queue *xsk_of(struct queue *q)
{
	return (struct xsk_queue *)q;
}

// Number of the frame at `addr`; PKT_NONE if it lies outside of the frame memory or in the unused chunk 0.
static uint32_t frame_at(const struct frames *f, uint64_t addr)
{
	uint64_t i = addr >> f->chunk_shift;

	return i < f->count ? (uint32_t)i : PKT_NONE;
}

static uint32_t xsk_rx(struct queue *q, uint32_t *out, uint32_t max)
{
	struct xsk_queue *x = xsk_of(q);
	const struct frames *f = q->frames;
	const uint32_t chunk = 1u << f->chunk_shift;
	uint32_t at = 0, n = 0, entries = xsk_ring_cons__peek(&x->rx, max, &at);
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < entries; k++) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&x->rx, at + k);
		uint32_t i = frame_at(f, d->addr), data = (uint32_t)d->addr & (chunk - 1);

		// A descriptor with options is a piece of a frame larger than a chunk, which nobody asked for.
		if (unlikely(i == PKT_NONE || !d->len || d->len > chunk - data || d->options)) {
			x->bad_rx++;
			if (i != PKT_NONE)
				pkt_list_add(&x->recovered, f->pkt, i);
			continue;
		}
		f->pkt[i] = (struct packet){.data = (uint16_t)data, .len = (uint16_t)d->len, .in_port = q->port};
		bytes += d->len;
		out[n++] = i;
	}
	if (!entries)
		return 0;
	xsk_ring_cons__release(&x->rx, entries);
	x->taken += entries;
	counter_add(&q->stats->rx_packets, n);
	counter_add(&q->stats->rx_bytes, bytes);
	return n;
}

static void xsk_tx_room(struct queue *q, uint32_t *packets, uint32_t *bytes)
{
	struct xsk_queue *x = xsk_of(q);
	uint32_t cap = queue_inflight_cap(q);

	*packets = xsk_prod_nb_free(&x->tx, x->tx.size);
	*bytes = x->sent_bytes >= cap ? 0 : cap - (uint32_t)x->sent_bytes;
}

static void xsk_tx(struct queue *q, const uint32_t *pkts, uint32_t n)
{
	struct xsk_queue *x = xsk_of(q);
	const struct frames *f = q->frames;
	uint32_t at = 0, reserved = xsk_ring_prod__reserve(&x->tx, n, &at);
	uint64_t bytes = 0;

	assert(reserved == n);
	for (uint32_t k = 0; k < reserved; k++) {
		uint32_t i = pkts[k];
		const struct packet *p = &f->pkt[i];

		assert(i != PKT_NONE && !(x->sent[i / 64] >> i % 64 & 1));
		*xsk_ring_prod__tx_desc(&x->tx, at + k) =
			(struct xdp_desc){.addr = ((uint64_t)i << f->chunk_shift) + p->data, .len = p->len};
		x->sent[i / 64] |= 1ull << i % 64;
		bytes += p->len;
	}
	xsk_ring_prod__submit(&x->tx, reserved);
	x->sent_count += reserved;
	x->sent_bytes += bytes;
	counter_add(&q->stats->tx_packets, reserved);
	counter_add(&q->stats->tx_bytes, bytes);
}

// Descriptors the kernel has not taken yet. Kernels before 6.17 publish their position only when the ring is looked at
// again, so this can be too high by one batch: one kick too many, never one too few.
static uint32_t unsent(const struct xsk_queue *x)
{
	return x->tx.cached_prod - __atomic_load_n(x->tx.consumer, __ATOMIC_ACQUIRE);
}

static void kick_tx(struct xsk_queue *x)
{
	struct queue_stats *s = x->q.stats;
	bool later = true;

	for (int k = 0; k < TX_KICKS_MAX && unsent(x) && xsk_ring_prod__needs_wakeup(&x->tx); k++) {
		counter_add(&s->tx_kicks, 1);
		if (sendto(x->q.fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
			break;
		// EAGAIN: its quota of descriptors a call. EBUSY: one packet was refused, and completed. Both go on at
		// once. Without buffers, or without device, the next call would end the same way.
		later = errno == EAGAIN || errno == EBUSY || errno == ENOBUFS;
		counter_add(later ? &s->tx_busy : &s->tx_errors, 1);
		if (errno != EAGAIN && errno != EBUSY)
			break;
	}
	x->kick_again = later && unsent(x) && xsk_ring_prod__needs_wakeup(&x->tx);
}

static uint32_t reap(struct xsk_queue *x, struct frame_cache *cache)
{
	const struct frames *f = x->q.frames;
	uint32_t total = 0, bad = 0;

	for (uint32_t left = x->completion.size; left;) {
		uint32_t at = 0, done[BATCH], m = 0;
		uint32_t n = xsk_ring_cons__peek(&x->completion, left < BATCH ? left : BATCH, &at);

		if (!n)
			break;
		for (uint32_t k = 0; k < n; k++) {
			uint32_t i = frame_at(f, *xsk_ring_cons__comp_addr(&x->completion, at + k));

			if (unlikely(i == PKT_NONE || !(x->sent[i / 64] >> i % 64 & 1))) {
				bad++;
				continue;
			}
			x->sent[i / 64] &= ~(1ull << i % 64);
			x->sent_bytes -= f->pkt[i].len;
			done[m++] = i;
		}
		xsk_ring_cons__release(&x->completion, n);
		frame_cache_put(cache, done, m);
		total += m;
		left -= n;
	}
	x->sent_count -= total;
	if (total)
		counter_add(&x->q.stats->tx_completed, total);
	if (unlikely(bad))
		counter_add(&x->q.stats->bad_completions, bad);
	return total;
}

static void refill(struct xsk_queue *x, struct frame_cache *cache)
{
	const struct frames *f = x->q.frames;
	uint32_t room = xsk_prod_nb_free(&x->fill, x->fill.size);
	uint64_t held = x->given - x->taken;
	uint32_t missing = held < x->held_target ? (uint32_t)(x->held_target - held) : 0;

	if (missing > room)
		missing = room;
	if (x->recovered.count)
		frame_cache_put_list(cache, &x->recovered);
	if (missing < REFILL_MIN)
		return;
	while (missing) {
		uint32_t frame[BATCH], at = 0;
		uint32_t n = frame_cache_get(cache, frame, missing < BATCH ? missing : BATCH);

		if (!n)
			break;
		xsk_ring_prod__reserve(&x->fill, n, &at);
		for (uint32_t k = 0; k < n; k++)
			*xsk_ring_prod__fill_addr(&x->fill, at + k) = (uint64_t)frame[k] << f->chunk_shift;
		xsk_ring_prod__submit(&x->fill, n);
		x->given += n;
		missing -= n;
	}
}

// Runs the device's receive work in this thread (busy polling), or tells a driver that stopped for want of frames that
// there are some again.
static void kick_rx(struct xsk_queue *x)
{
	if (!x->busy_poll && !xsk_ring_prod__needs_wakeup(&x->fill))
		return;
	counter_add(&x->q.stats->rx_wakeups, 1);
	(void)recvfrom(x->q.fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

static bool xsk_service(struct queue *q, struct frame_cache *cache, nsec_t now)
{
	struct xsk_queue *x = xsk_of(q);

	kick_tx(x);
	uint32_t completed = reap(x, cache);

	refill(x, cache);
	kick_rx(x);
	return completed || x->kick_again;
}

static bool xsk_before_sleep(struct queue *q, struct frame_cache *cache)
{
	struct xsk_queue *x = xsk_of(q);

	refill(x, cache);
	kick_rx(x);
	return x->kick_again || xsk_cons_nb_avail(&x->rx, 1);
}

// XDP_STATISTICS, by what it means for a packet: rx_dropped (copy mode: no frame in the fill ring, or larger than one)
// and rx_ring_full exclude each other, and both are packets lost before the classifier. rx_fill_ring_empty_descs counts
// attempts, not packets: in copy mode each is in rx_dropped already; with zero copy the device counts what it then
// misses. A transmit descriptor the kernel calls invalid is skipped and never completed.
static void xsk_read_stats(struct queue *q)
{
	struct xsk_queue *x = xsk_of(q);
	struct queue_stats *s = q->stats;
	struct xdp_statistics st = {0};
	socklen_t len = sizeof st;

	if (q->fd >= 0 && !getsockopt(q->fd, SOL_XDP, XDP_STATISTICS, &st, &len)) {
		counter_set(&s->rx_dropped, st.rx_dropped + st.rx_ring_full + x->bad_rx);
		counter_set(&s->fill_empty, st.rx_fill_ring_empty_descs);
	}
	// The kernel takes frames off the fill ring before it puts them on the receive ring, and keeps some in between:
	// what it holds is known only by what went in and what came out.
	uint64_t held = x->given - x->taken;
	uint32_t ready = __atomic_load_n(x->rx.producer, __ATOMIC_ACQUIRE) - x->rx.cached_cons;

	counter_set(&s->frames_rx, ready);
	counter_set(&s->frames_fill, held - ready + x->recovered.count);
	counter_set(&s->frames_tx, x->sent_count);
}

// The fill ring and the transmit ring are read from the kernel's position on. That is exact once the socket is out of
// the program's map and nobody kicks any more; before, a frame given back here can still be written to by the kernel,
// which is why a queue is closed when its process stops, and not to be opened again.
static void xsk_close(struct queue *q, struct frame_cache *cache)
{
	struct xsk_queue *x = xsk_of(q);
	const struct frames *f = q->frames;
	uint32_t i;

	reap(x, cache);
	for (; xsk_cons_nb_avail(&x->rx, 1); x->rx.cached_cons++) {
		i = frame_at(f, xsk_ring_cons__rx_desc(&x->rx, x->rx.cached_cons)->addr);
		x->taken++;
		if (i != PKT_NONE)
			frame_cache_put(cache, &i, 1);
	}
	for (uint32_t k = x->tx.cached_prod - unsent(x); k != x->tx.cached_prod; k++) {
		i = frame_at(f, xsk_ring_prod__tx_desc(&x->tx, k)->addr);
		if (i == PKT_NONE || !(x->sent[i / 64] >> i % 64 & 1))
			continue;
		x->sent[i / 64] &= ~(1ull << i % 64);
		x->sent_bytes -= f->pkt[i].len;
		x->sent_count--;
		frame_cache_put(cache, &i, 1);
	}
	for (uint32_t k = __atomic_load_n(x->fill.consumer, __ATOMIC_ACQUIRE); k != x->fill.cached_prod; k++) {
		i = frame_at(f, *xsk_ring_prod__fill_addr(&x->fill, k));
		x->given--;
		frame_cache_put(cache, &i, 1);
	}
	frame_cache_put_list(cache, &x->recovered);
	xsk_read_stats(q);
	close(q->fd);
	q->fd = -1;
}

static const struct queue_ops xsk_ops = {
	.rx = xsk_rx,
	.tx_room = xsk_tx_room,
	.tx = xsk_tx,
	.service = xsk_service,
	.before_sleep = xsk_before_sleep,
	.read_stats = xsk_read_stats,
	.close = xsk_close,
};

static uint8_t *map_ring(struct xsk_queue *x, enum ring_kind r, size_t bytes, uint64_t offset)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, x->q.fd, (off_t)offset);

	if (p == MAP_FAILED)
		return NULL;
	x->map[r].at = p;
	x->map[r].bytes = bytes;
	return p;
}

// The rings are found where the kernel has them, cursors included; libxdp's struct keeps a producer's view of the
// consumer one ring ahead.
static bool map_producer(struct xsk_queue *x, struct xsk_ring_prod *ring, enum ring_kind r, uint32_t size, size_t entry,
			 const struct xdp_ring_offset *o, uint64_t offset)
{
	uint8_t *p = map_ring(x, r, o->desc + size * entry, offset);

	if (!p)
		return false;
	*ring = (struct xsk_ring_prod){.mask = size - 1,
				       .size = size,
				       .producer = (void *)(p + o->producer),
				       .consumer = (void *)(p + o->consumer),
				       .flags = (void *)(p + o->flags),
				       .ring = p + o->desc};
	ring->cached_prod = *ring->producer;
	ring->cached_cons = *ring->consumer + size;
	return true;
}

static bool map_consumer(struct xsk_queue *x, struct xsk_ring_cons *ring, enum ring_kind r, uint32_t size, size_t entry,
			 const struct xdp_ring_offset *o, uint64_t offset)
{
	uint8_t *p = map_ring(x, r, o->desc + size * entry, offset);

	if (!p)
		return false;
	*ring = (struct xsk_ring_cons){.mask = size - 1,
				       .size = size,
				       .producer = (void *)(p + o->producer),
				       .consumer = (void *)(p + o->consumer),
				       .flags = (void *)(p + o->flags),
				       .ring = p + o->desc};
	ring->cached_prod = *ring->producer;
	ring->cached_cons = *ring->consumer;
	return true;
}

static bool map_rings(struct xsk_queue *x, const struct xsk_info *info)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof off;

	if (getsockopt(x->q.fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len))
		return false;
	if (len != sizeof off) {
		errno = EPROTO;
		return false;
	}
	return map_consumer(x, &x->rx, RING_RX, info->rx_ring, sizeof(struct xdp_desc), &off.rx, XDP_PGOFF_RX_RING) &&
	       map_producer(x, &x->tx, RING_TX, info->tx_ring, sizeof(struct xdp_desc), &off.tx, XDP_PGOFF_TX_RING) &&
	       map_producer(x, &x->fill, RING_FILL, info->fill_ring, sizeof(uint64_t), &off.fr,
			    XDP_UMEM_PGOFF_FILL_RING) &&
	       map_consumer(x, &x->completion, RING_COMPLETION, info->completion_ring, sizeof(uint64_t), &off.cr,
			    XDP_UMEM_PGOFF_COMPLETION_RING);
}

static bool ring_ok(uint32_t size)
{
	return size && size <= 2 * RING_MAX && !(size & (size - 1));
}

struct queue *xsk_queue_open(int fd, const struct xsk_info *info, const struct frames *f, struct queue_stats *stats)
{
	struct xsk_queue *x = NULL;
	int err = EINVAL;

	if (!ring_ok(info->rx_ring) || !ring_ok(info->tx_ring) || !ring_ok(info->fill_ring) ||
	    !ring_ok(info->completion_ring))
		goto fail;
	err = ENOMEM;
	x = calloc(1, sizeof *x);
	if (!x)
		goto fail;
	x->q = (struct queue){.ops = &xsk_ops,
			      .frames = f,
			      .stats = stats,
			      .port = (uint16_t)info->port,
			      .index = (uint16_t)info->queue,
			      .fd = fd,
			      .fix_checksums = info->fix_checksums};
	x->busy_poll = info->busy_poll;
	x->held_target = 2 * info->rx_ring < info->fill_ring ? 2 * info->rx_ring : info->fill_ring;
	x->sent = calloc(f->count / 64 + 1, sizeof *x->sent);
	if (!x->sent)
		goto fail;
	if (map_rings(x, info))
		return &x->q;
	err = errno;
fail:
	if (x)
		xsk_queue_free(&x->q);
	else
		close(fd);
	errno = err;
	return NULL;
}

void xsk_queue_free(struct queue *q)
{
	struct xsk_queue *x = xsk_of(q);

	if (!x)
		return;
	for (int r = 0; r < RING_COUNT; r++)
		if (x->map[r].at)
			munmap(x->map[r].at, x->map[r].bytes);
	if (q->fd >= 0)
		close(q->fd);
	free(x->sent);
	free(x);
}
