// SPDX-License-Identifier: GPL-2.0-or-later
// The configuration as one checked value, in the form that crosses process borders: made from JSON by mgmt/desired,
// encoded as records (type, length, body), decoded with every bound checked again by whoever receives it.
#ifndef IO_CONFIG_H
#define IO_CONFIG_H

#include "core/classify.h"
#include "core/forward.h"
#include "core/problem.h"
#include "sched/plan.h"

enum {
	NAME_MAX_LEN = 32, // resource names, with the terminating 0
	DEVICE_MAX = 16,   // IFNAMSIZ
	QUEUES_MAX = 64,   // per port
	CONFIG_BYTES_MAX = 256 << 20,
	CONFIG_FILE_MAX = 64 << 20, // a configuration file; 13,706 classes are about 3 MB
	FRAMES_MAX = 1 << 22,
	RING_MIN = 64, // descriptors
	RING_MAX = 1 << 15,
	FRAMES_BACKLOG = 1024, // frames beyond what rings and workers hold, so that there is something to queue with
};

enum port_mode { MODE_AUTO, MODE_ZEROCOPY, MODE_COPY, MODE_GENERIC };
enum busy_poll { BUSY_POLL_AUTO, BUSY_POLL_ON, BUSY_POLL_OFF };

struct port_conf {
	char name[NAME_MAX_LEN];
	char device[DEVICE_MAX];
	uint32_t mode;             // enum port_mode
	uint32_t queues;           // receive queues to serve; 0: all the device has
	uint32_t rx_ring, tx_ring; // descriptors, powers of two
	uint32_t mtu;              // largest IP packet to expect; 0: the device's at start
	uint32_t busy_poll;        // enum busy_poll
	uint32_t inflight_us;      // bytes in flight after the shaper, as time at the shaper's rate
	uint32_t pad;
};

struct bridge_conf {
	char name[NAME_MAX_LEN];
	uint32_t ports;
	uint16_t port[PORTS_MAX]; // port indices
	nsec_t ageing_ns;
};

struct shaper_conf {
	char name[NAME_MAX_LEN];
	uint32_t port;     // port index, egress
	struct plan *plan; // owned
	uint32_t rules;
	struct rule *rule; // owned; rule.class_id is a class INDEX of the plan here, made an id by the revision
};

struct config {
	uint64_t revision;
	uint32_t workers; // packet threads
	uint16_t worker_cpu[WORKERS_MAX];
	uint32_t frames;     // UMEM chunks
	uint32_t chunk_size; // 2048 or 4096
	uint32_t ports, bridges, shapers;
	struct port_conf port[PORTS_MAX];
	struct bridge_conf bridge[BRIDGES_MAX];
	struct shaper_conf shaper[PORTS_MAX]; // at most one a port
};

// A new empty configuration with every default set; config_free frees it and all it owns (NULL is fine).
struct config *config_new(void);
void config_free(struct config *c);

// Frames that rings and workers can hold at once, with FRAMES_BACKLOG on top; `frames` may not be below. A port with
// queues 0 counts as one queue: ask again when the number is known.
uint64_t config_frames_needed(const struct config *c);

// Encodes *c into malloc'ed bytes (*out, *len). False without memory, or if it takes more than CONFIG_BYTES_MAX.
bool config_encode(const struct config *c, uint8_t **out, size_t *len);
// Decodes; NULL, with a problem added, if anything is out of bounds. Trusts nothing in `data`.
struct config *config_decode(const uint8_t *data, size_t len, struct problems *out);
// Every rule that needs no device, no file and no system call: ranges, references, duplicates, plan_check of all
// shapers. For configurations that config_decode or mgmt/desired made: texts end, counts and indices are within bounds.
void config_check(const struct config *c, struct problems *out);
// What cannot change while it runs: a problem each (path, and "needs a restart") where *next differs from *prev in it.
void config_check_live(const struct config *prev, const struct config *next, struct problems *out);

#endif
