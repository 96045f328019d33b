// SPDX-License-Identifier: GPL-2.0-or-later
// The plan of a shaper: an immutable description of its class tree. It is checked whole, shared and read-only; what
// runs is the tree (tree.h). Classes are an array; class 0 is the root, which stands for the port itself.
#ifndef SCHED_PLAN_H
#define SCHED_PLAN_H

#include "core/problem.h"
#include "core/types.h"
#include "core/units.h"

enum { CLASS_NAME_MAX = 48, CLASSES_MAX = 1 << 18, CLASS_DEPTH_MAX = 8 };

#define RATE_MIN_BPS 1000ull         // 1 kbit/s
#define RATE_MAX_BPS 400000000000ull // 400 Gbit/s
#define CURVE_D_MAX_NS (60 * NSEC_PER_SEC)

// A service curve: slope m1 for the first d ns of a backlogged period, m2 after it. Absent if both slopes are 0.
struct curve {
	uint64_t m1_bps;
	nsec_t d_ns;
	uint64_t m2_bps;
};

static inline bool curve_present(const struct curve *c)
{
	return c->m1_bps || c->m2_bps;
}

enum leaf_kind { LEAF_NONE, LEAF_PFIFO, LEAF_FQ_CODEL, LEAF_KINDS };

// What queues in a leaf class. Zero in a knob of the configuration was replaced by its default before it gets here.
struct leaf_conf {
	uint32_t kind;          // enum leaf_kind; LEAF_NONE: an inner class
	uint32_t limit_packets; // pfifo, fq_codel: packets in the class
	uint32_t limit_frames;  // fq_codel memory limit, in UMEM frames
	uint32_t quantum;       // fq_codel: bytes a flow sends a round
	nsec_t target_ns;       // CoDel target as configured; the running target may be larger (see plan_codel_target)
	nsec_t interval_ns;
	nsec_t ce_threshold_ns; // TIME_NEVER: off
	bool ecn;
};

struct class_conf {
	char name[CLASS_NAME_MAX]; // unique in the shaper; "root" is class 0
	uint32_t parent;           // index of the parent class; the root's is 0 (itself)
	uint32_t id;               // stable over revisions: same name, same id (plan_carry_ids)
	struct curve rt, ls, ul;
	struct leaf_conf leaf;
};

// Length on the wire as the scheduler sees it, tc-stab's words: frame + overhead, at least mpu, in cells if ATM.
enum link_layer { LINK_ETHERNET, LINK_PTM, LINK_ATM };

struct wire {
	int32_t overhead; // bytes, -64 .. 256
	uint32_t mpu;     // bytes, 0 .. 256
	uint32_t layer;   // enum link_layer
};

// The one adjusted length of a frame of `len` bytes (without FCS): ATM ceil(x/48)*53, PTM ceil(x*65/64).
uint32_t wire_length(const struct wire *w, uint32_t len);

struct plan {
	uint64_t rate_bps; // the port's rate; 0: unshaped, as fast as the port takes packets
	nsec_t burst_ns;   // how far the shaper may catch up after it was polled late
	struct wire wire;
	uint32_t mtu_wire; // wire length of the port's largest frame
	uint32_t classes;
	uint32_t default_class; // index of the leaf for everything unclassified
	uint32_t id_limit;      // all ids are below it
	uint64_t id_stamp;      // counts revisions of this shaper; see plan_carry_ids
	struct class_conf *cls; // owned by the plan, as everything behind it
	uint64_t *id_free_at; // [id_limit] id_stamp from which a retired id may be used again, 0: in use or never used
};

// A plan with room for `classes`, zeroed; ids are 0..classes-1. NULL without memory. plan_free frees it (NULL is fine).
struct plan *plan_new(uint32_t classes);
void plan_free(struct plan *p);

// Everything that is wrong with *p, one problem each, with JSON pointers below `path` ("/shapers/wan"). Errors: a
// cycle or a parent out of range, depth over CLASS_DEPTH_MAX, a name twice, no default leaf, rt on an inner class,
// ul without ls, no curve at all, inner class without children or with a leaf discipline, sum of rt above the rate
// (on both segments), rates, delays and limits out of range. Warnings: sum of rt above an ancestor's ul; rt above
// the class's fair ls share. Uses nothing but *p, so that sender and receiver of a plan can both run it.
void plan_check(const struct plan *p, const char *path, struct problems *out);

// Gives each class of `next` the id of the class of the same name in `prev`; new names get fresh ids, and an id is
// reused only after two further revisions, so that a packet on its way to the shaper never meets a stranger's class.
// False without memory. prev may be NULL.
bool plan_carry_ids(struct plan *next, const struct plan *prev);

// Index of the class with this name, or UINT32_MAX. Linear: for tests, tools and control, not for packets.
uint32_t plan_find(const struct plan *p, const char *name);

// The rate a class can count on (its rt m2, or its ls share of what its parent can count on), and the CoDel target
// that follows: max(configured, 1.5 x the time of the largest frame at that rate) (pitfall 2.33).
// One class costs O(classes); plan_class_rates does all of them in O(classes): rate[p->classes]. False without memory.
uint64_t plan_class_rate(const struct plan *p, uint32_t cls);
bool plan_class_rates(const struct plan *p, uint64_t *rate);
nsec_t plan_codel_target(const struct plan *p, uint32_t cls);
nsec_t plan_codel_target_at(const struct plan *p, uint32_t cls, uint64_t rate_bps); // rate: plan_class_rate's answer

#endif
