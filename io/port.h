// SPDX-License-Identifier: GPL-2.0-or-later
// One receive and transmit queue of a port, as a worker sees it. An AF_XDP socket (xsk.c) and a pair of arrays
// (memport.c, for tests) implement it. A queue belongs to one worker; nobody else calls it.
#ifndef IO_PORT_H
#define IO_PORT_H

#include "core/counter.h"
#include "core/packet.h"
#include "core/pool.h"
#include "core/units.h"

struct queue;

struct queue_stats { // one writer: the owning worker; in shared memory
	counter_t rx_packets, rx_bytes, tx_packets, tx_bytes;
	counter_t rx_dropped; // lost before the classifier: no frame, ring full, bad descriptor (XDP_STATISTICS)
	counter_t tx_completed;
	counter_t rx_wakeups, tx_kicks, tx_busy, tx_errors; // system calls and how they ended
	counter_t fill_empty;                               // the kernel found the fill ring empty
	counter_t bad_completions;                          // addresses that came back without having been sent
	counter_t frames_fill, frames_rx, frames_tx; // gauges: frames the kernel holds, by place (conservation law)
};

struct queue_ops {
	// Takes up to max packets off the receive ring. The caller owns each returned index; its descriptor has data, len
	// and in_port set and everything else zero. No system call.
	uint32_t (*rx)(struct queue *q, uint32_t *out, uint32_t max);
	// How much may be handed to tx() now: free descriptors, and bytes up to the in-flight cap. No system call.
	void (*tx_room)(struct queue *q, uint32_t *packets, uint32_t *bytes);
	// Sends n packets, n <= the room just asked for. The queue owns them until they are completed. No system call.
	void (*tx)(struct queue *q, const uint32_t *pkts, uint32_t n);
	// Once a loop: tells the kernel about new descriptors (at most TX_KICKS_MAX calls), takes completed frames back to
	// `cache`, refills the fill ring from it, runs the device's receive work when busy polling. Every system call is
	// here and non-blocking. True if anything moved.
	bool (*service)(struct queue *q, struct frame_cache *cache, nsec_t now);
	// About to sleep on q->fd: last refill; true if packets are waiting after all.
	bool (*before_sleep)(struct queue *q, struct frame_cache *cache);
	// Copies slow counters (XDP_STATISTICS) and gauges into q->stats; every few ms and on shutdown.
	void (*read_stats)(struct queue *q);
	// Gives back what it can (receive ring, completions, never-sent descriptors) and forgets the rest: frames that the
	// kernel keeps are gone with the socket. Called once, by the owning worker, when it stops.
	void (*close)(struct queue *q, struct frame_cache *cache);
};

enum { RX_BATCH = 32, TX_KICKS_MAX = 4 };

struct queue {
	const struct queue_ops *ops;
	const struct frames *frames;
	struct queue_stats *stats;
	uint16_t port, index;  // port index; queue number on the device
	int fd;                // to poll for input; -1: none
	uint32_t inflight_cap; // frame bytes; 0: as many as the ring holds. Set by the worker when a plan changes
	bool fix_checksums;    // the peer may hand over partial checksums
};

// The cap that tx_room honours: never below two full frames, or one that is larger than the cap would never leave.
static inline uint32_t queue_inflight_cap(const struct queue *q)
{
	uint32_t least = 2u << q->frames->chunk_shift;

	return !q->inflight_cap ? UINT32_MAX : q->inflight_cap < least ? least : q->inflight_cap;
}

#endif
