// SPDX-License-Identifier: GPL-2.0-or-later
// The simulator: the product's scheduler in virtual time, driven by a scenario file (docs/simulator.md). scenario.c
// reads the file into the structures here and never changes them afterwards; run.c plays them; watch.c watches the
// departures and judges; main.c prints.
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include "core/packet.h"
#include "sched/plan.h"
#include "sched/sched.h"

enum { EXIT_EXPECTATION = 1, EXIT_FILE = 2, MIX_MAX = 8 };

// A tree and its plans over time: plan[0] from the start, plan[i] from at[i].
struct sim_tree {
	char name[CLASS_NAME_MAX];
	uint32_t line;
	struct plan **plan;
	nsec_t *at;
	uint32_t **class_of; // [plans][classes of the plan] class index here
	uint32_t plans;
	bool polled;          // false: an ideal worker, called at each arrival and each due time
	nsec_t every, jitter; // polled: time between two calls, and a random addition to it
	uint32_t batch;       // packets a call
	bool oracle;          // an oracle follows this tree
};

// A class by name, over all plans of its tree.
struct sim_class {
	char name[CLASS_NAME_MAX];
	uint32_t tree;
};

enum source_kind { SOURCE_CBR, SOURCE_EVERY, SOURCE_POISSON, SOURCE_ONOFF, SOURCE_GREEDY, SOURCE_RENO };

struct sim_source {
	char name[CLASS_NAME_MAX];
	uint32_t line, cls, kind, flows;
	uint64_t rate_bps; // cbr, poisson, onoff while on: wire bits
	nsec_t interval;   // every
	uint32_t count;    // every: packets each time; greedy: packets kept queued
	nsec_t on, off, rtt;
	nsec_t from, to;
	uint32_t sizes;
	uint16_t size[MIX_MAX]; // frame bytes
	uint32_t weight[MIX_MAX];
	bool ect;
};

enum expect_kind {
	EXPECT_RATE,
	EXPECT_TOTAL,
	EXPECT_SHARE,
	EXPECT_DELAY,
	EXPECT_DROPS,
	EXPECT_LOSS,
	EXPECT_SENT,
	EXPECT_GAP,
	EXPECT_FLOOR,
	EXPECT_CEILING,
	EXPECT_TARGET,
	EXPECT_DIGEST,
	EXPECT_REPEATABLE,
	EXPECT_ORACLE
};

enum compare { ABOUT, AT_LEAST, AT_MOST };

struct sim_expect {
	char text[256];
	uint32_t line, kind, compare;
	uint32_t cls, tree;      // UINT32_MAX: all
	uint32_t source;         // only this one's packets, UINT32_MAX: all
	double value, tolerance; // in the unit of its kind; tolerance relative
	double permille;         // delay
	uint32_t drop;           // enum drop_reason, DROP_NONE: any
	nsec_t from, to, window;
	uint64_t burst; // ceiling: bytes allowed on top
	uint64_t digest;
	uint32_t *of; // share: the classes it is a share of
	uint32_t ofs;
};

struct scenario {
	const char *file;
	uint64_t seed;
	nsec_t duration;
	uint32_t packets; // descriptors
	struct sim_tree *tree;
	struct sim_class *cls;
	struct sim_source *source;
	struct sim_expect *expect;
	uint32_t trees, classes, sources, expects;
};

// Reads the file. On a mistake it prints file:line, the value and what is allowed, and exits with EXIT_FILE.
struct scenario *scenario_read(const char *file);
void scenario_free(struct scenario *s);

struct source_result {
	uint64_t offered, drops[DROP_REASON_COUNT];
};

struct class_result {
	uint64_t packets, bytes, drops[DROP_REASON_COUNT], marks;
	nsec_t p50, p99; // of the scheduler's own histogram
};

struct oracle_result {
	bool ran;
	double rt_late, ls_lead, ul_excess, service_diff; // packets of the largest size; see hfsc_oracle.h
	uint64_t unknown;
};

struct result {
	struct class_result *cls;     // [classes]
	struct source_result *source; // [sources]
	struct oracle_result oracle;
	uint64_t digest, packets;
	char broken[256]; // an invariant that did not hold, "" if all did
};

// What watch.c sees of a run.
struct watch;
struct watch *watch_new(const struct scenario *s);
void watch_free(struct watch *w);
void watch_sent(struct watch *w, uint32_t source, uint32_t bytes, nsec_t arrival, nsec_t now);
// Judges and prints one line per expectation; number of failures.
uint32_t watch_judge(struct watch *w, const struct result *r, const struct result *again);

void run(const struct scenario *s, struct watch *w, struct result *r);
void result_free(struct result *r);

// splitmix64: the one source of randomness.
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

#endif
