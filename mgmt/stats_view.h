// SPDX-License-Identifier: GPL-2.0-or-later
// Reading the shared statistics without believing them: counts are bounded, sums are made in one place, and names are read
// between two looks at their sequence number.
#ifndef MGMT_STATS_VIEW_H
#define MGMT_STATS_VIEW_H

#include "io/stats.h"

// How many there are, whatever the region says.
uint32_t view_workers(const struct stats *s);
uint32_t view_ports(const struct stats *s);
uint32_t view_shapers(const struct stats *s);

// Every port has a scheduler; it is a shaper if classes were configured. Without, its root is its only class.
bool view_is_shaper(const struct stats *s, uint32_t shaper);
// Class ids of a scheduler: class_info[first] and class_stats[first] on.
uint32_t view_ids(const struct stats *s, uint32_t shaper, uint32_t *first);
// In use, and not the root of a shaper, which stands for the shaper itself.
bool view_is_class(const struct stats_class *c, uint32_t id);

// A port: sums over its queues, and over the classes of its scheduler.
struct view_port {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
	uint64_t lost_ring, lost_socket,
		lost_device; // before weir saw them: no frame or ring full, no socket, in the device
	uint64_t sent_packets, sent_bytes, backlog_packets, backlog_bytes;
	uint64_t drop_full, drop_codel, drop_reconfigured;
	const char *mode; // the slowest in use
	bool up;
};
void view_port(const struct stats *s, uint32_t port, struct view_port *out);
bool view_queue_of(const struct stats *s, uint32_t queue, uint32_t port);

// Packets dropped for the reason; frames that no counter accounts for (a moment's difference while it is busy).
uint64_t view_dropped(const struct stats *s, uint32_t reason);
struct view_frames {
	uint64_t total, pool, cache, held, handoff, fill, rx, tx;
	int64_t unaccounted;
};
void view_frames(const struct stats *s, struct view_frames *out);

const char *view_mode(uint32_t mode);
const char *view_leaf(uint32_t kind);

// Calls build until no name changed meanwhile; what it made in between goes to discard. NULL: names changed all the time, or
// build returned NULL.
typedef void *view_builder(const struct stats *s, void *arg);
void *view_consistent(const struct stats *s, view_builder *build, void *arg, void (*discard)(void *));

#endif
