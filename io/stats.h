// SPDX-License-Identifier: GPL-2.0-or-later
// Everything countable, in one region of shared memory that the engine writes and anybody with the descriptor reads
// without a lock: workers, queues, drops by reason, classes with their delay histograms, and the names to read them by.
#ifndef IO_STATS_H
#define IO_STATS_H

#include "core/counter.h"
#include "core/drop.h"
#include "io/config.h"
#include "io/port.h"
#include "sched/sched.h"

enum { STATS_MAGIC = 0x72696577, STATS_VERSION = 1, STATS_CLASSES_MAX = 1 << 18, STATS_QUEUES_MAX = 1024 };

struct stats_worker {
	counter_t loops, busy_ns, sleeps, wakeups, timeouts; // a sleep ends by a wake-up or by its timeout
	counter_t drops[DROP_REASON_COUNT];
	counter_t flooded, handed_over, received_over;
	counter_t frames_cache, frames_held, frames_handoff; // gauges (conservation law)
	counter_t longest_pause_ns;                          // longest gap between two loops of a busy worker
	counter_t fdb_entries;
} CACHE_ALIGNED;

struct stats_queue {
	char device[DEVICE_MAX];
	uint16_t port, queue, worker, mode; // enum port_mode in use
	uint32_t used;
	struct queue_stats counters;
} CACHE_ALIGNED;

struct stats_port {
	char name[NAME_MAX_LEN];
	char device[DEVICE_MAX];
	counter_t up;             // 1: carrier
	counter_t program_misses; // frames that met no socket in the kernel program
	counter_t device_dropped; // rx_dropped + rx_missed of the device since start
};

struct stats_shaper {
	char name[NAME_MAX_LEN];
	uint32_t port, worker;
	uint32_t first_class; // its classes are class[first_class + id]
	uint32_t id_limit;
	counter_t rate_bps;
	counter_t backlog_packets;
};

struct stats_class {
	char name[CLASS_NAME_MAX]; // "" : id not in use
	uint32_t shaper, parent_id, leaf_kind, is_default;
	uint64_t rt_bps, ls_bps, ul_bps; // m2 of each curve as configured, 0: absent
};

// The region. Names are written by the control thread before `revision` changes.
struct stats {
	uint32_t magic, version;
	uint64_t bytes;             // of the whole region
	_Atomic uint64_t revision;  // in force
	_Atomic uint64_t names_seq; // odd while names are being rewritten
	counter_t started_ns;
	counter_t frames_total, frames_pool, frames_huge;
	counter_t apply_ns, apply_pause_ns, apply_lost, applied; // of the last change; how many changes there were
	uint32_t workers, ports, queues, shapers;
	struct stats_worker worker[WORKERS_MAX];
	struct stats_port port[PORTS_MAX];
	struct stats_queue queue[STATS_QUEUES_MAX];
	struct stats_shaper shaper[PORTS_MAX];
	struct stats_class class_info[STATS_CLASSES_MAX];
	_Alignas(CACHE_LINE) struct class_stats
		class_stats[STATS_CLASSES_MAX]; // sparse: pages appear when a class is used
};

// Creates the region in a file at `path` (mode 0644, replaced if it exists), or a memfd if path is NULL. -errno or the fd.
int stats_create(const char *path, struct stats **out);
// Maps one for reading (path) or writing (fd, owned). Refuses a wrong magic, version or size. NULL with errno.
const struct stats *stats_open(const char *path);
struct stats *stats_map(int fd);
// Maps one for reading (fd, owned), like stats_open.
const struct stats *stats_view(int fd);
void stats_unmap(const struct stats *s);
// Forgets ports and classes with their counters: the next engine has others. Nobody may write at the time.
void stats_forget(struct stats *s);

// Prints it: the tables of `weir status` (people) or one JSON object (machines).
void stats_print(const struct stats *s, bool json);

#endif
