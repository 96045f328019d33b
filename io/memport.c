// SPDX-License-Identifier: GPL-2.0-or-later
// A port made of arrays. It keeps the contract of io/port.h to the letter, in-flight cap, completion and conservation
// gauges included, so that what a worker does over it is what it does over a device. A packet counts as in flight
// from tx() to memport_take().
#include "io/memport.h"

#include <stdlib.h>
#include <string.h>

enum { HEADROOM = 256 }; // as the kernel leaves before a received frame

struct fifo {
	uint32_t *slot;
	uint32_t head, count;
};

struct memport {
	struct queue q; // first: a struct queue * is one of us
	uint32_t ring;
	struct fifo rx, tx;
	uint64_t inflight;
	bool blocked;
};

static struct memport *port_of(struct queue *q)
{
	return (struct memport *)q;
}

static void push(struct memport *p, struct fifo *f, uint32_t i)
{
	assert(f->count < p->ring);
	f->slot[(f->head + f->count++) % p->ring] = i;
}

static uint32_t pop(struct memport *p, struct fifo *f)
{
	uint32_t i = f->slot[f->head];

	f->head = (f->head + 1) % p->ring;
	f->count--;
	return i;
}

static uint32_t memport_rx(struct queue *q, uint32_t *out, uint32_t max)
{
	struct memport *p = port_of(q);
	uint64_t bytes = 0;
	uint32_t n = 0;

	while (n < max && p->rx.count) {
		out[n] = pop(p, &p->rx);
		bytes += q->frames->pkt[out[n++]].len;
	}
	counter_add(&q->stats->rx_packets, n);
	counter_add(&q->stats->rx_bytes, bytes);
	return n;
}

static void memport_tx_room(struct queue *q, uint32_t *packets, uint32_t *bytes)
{
	struct memport *p = port_of(q);
	uint32_t cap = queue_inflight_cap(q);

	*packets = p->blocked ? 0 : p->ring - p->tx.count;
	*bytes = p->blocked || p->inflight >= cap ? 0 : cap - (uint32_t)p->inflight;
}

static void memport_tx(struct queue *q, const uint32_t *pkts, uint32_t n)
{
	struct memport *p = port_of(q);
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < n; k++) {
		push(p, &p->tx, pkts[k]);
		bytes += q->frames->pkt[pkts[k]].len;
	}
	p->inflight += bytes;
	counter_add(&q->stats->tx_packets, n);
	counter_add(&q->stats->tx_bytes, bytes);
}

static bool memport_service(struct queue *q, struct frame_cache *cache, nsec_t now)
{
	return false;
}

static bool memport_before_sleep(struct queue *q, struct frame_cache *cache)
{
	return port_of(q)->rx.count > 0;
}

static void memport_read_stats(struct queue *q)
{
	counter_set(&q->stats->frames_fill, 0);
	counter_set(&q->stats->frames_rx, port_of(q)->rx.count);
	counter_set(&q->stats->frames_tx, port_of(q)->tx.count);
}

static void memport_close(struct queue *q, struct frame_cache *cache)
{
	struct memport *p = port_of(q);
	uint32_t i;

	while (p->rx.count) {
		i = pop(p, &p->rx);
		frame_cache_put(cache, &i, 1);
	}
	while (p->tx.count) {
		i = pop(p, &p->tx);
		frame_cache_put(cache, &i, 1);
	}
	p->inflight = 0;
	memport_read_stats(q);
}

static const struct queue_ops memport_ops = {
	.rx = memport_rx,
	.tx_room = memport_tx_room,
	.tx = memport_tx,
	.service = memport_service,
	.before_sleep = memport_before_sleep,
	.read_stats = memport_read_stats,
	.close = memport_close,
};

struct queue *memport_new(const struct frames *f, struct queue_stats *stats, uint16_t port, uint32_t ring)
{
	struct memport *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->q = (struct queue){.ops = &memport_ops, .frames = f, .stats = stats, .port = port, .fd = -1};
	p->ring = ring;
	p->rx.slot = calloc(ring, sizeof *p->rx.slot);
	p->tx.slot = calloc(ring, sizeof *p->tx.slot);
	if (!p->rx.slot || !p->tx.slot) {
		memport_free(&p->q);
		return NULL;
	}
	return &p->q;
}

void memport_free(struct queue *q)
{
	struct memport *p = port_of(q);

	if (!p)
		return;
	free(p->rx.slot);
	free(p->tx.slot);
	free(p);
}

bool memport_feed(struct queue *q, struct frame_cache *cache, const void *frame, uint32_t len)
{
	struct memport *p = port_of(q);
	const struct frames *f = q->frames;
	uint32_t i;

	if (p->rx.count == p->ring || len > (1u << f->chunk_shift) - HEADROOM || !frame_cache_get(cache, &i, 1))
		return false;
	f->pkt[i] = (struct packet){.data = HEADROOM, .len = (uint16_t)len, .in_port = q->port};
	memcpy(frame_data(f, i), frame, len);
	push(p, &p->rx, i);
	return true;
}

uint32_t memport_take(struct queue *q)
{
	struct memport *p = port_of(q);
	uint32_t i;

	if (!p->tx.count)
		return PKT_NONE;
	i = pop(p, &p->tx);
	p->inflight -= q->frames->pkt[i].len;
	counter_add(&q->stats->tx_completed, 1);
	return i;
}

void memport_block(struct queue *q, bool blocked)
{
	port_of(q)->blocked = blocked;
}
