// SPDX-License-Identifier: GPL-2.0-or-later
// HFSC as slow and obvious as it can be written: exact rational numbers, every class looked at for every packet, one
// packet at a time. It runs by itself (oracle_send), as a reference for what a class should have had, and it follows
// a scheduler under test (oracle_follow): it takes each packet the other one sent, and measures by how much that
// choice was wrong. Following keeps both in the same state, so errors do not hide behind earlier ones.
#ifndef TESTS_ORACLE_HFSC_ORACLE_H
#define TESTS_ORACLE_HFSC_ORACLE_H

#include "sched/plan.h"

struct oracle;

struct oracle_sent {
	uint32_t cls, len;
	uint64_t tag;
	bool rt;
	double start_ns, deadline_ns; // deadline: 0 without rt curve
};

// The worst seen since oracle_new; a perfect scheduler has 0 everywhere but in rt_late and ul_excess, which may reach 1.
struct oracle_worst {
	double rt_late;     // finish after the deadline, in times of a largest packet
	double rt_order;    // a deadline passed over for a later one, in bytes by the classes' own curves
	double rt_early;    // sent by rt before it was eligible, likewise
	double rt_missed;   // ls was used although a leaf had been eligible, likewise
	double ls_lead;     // service ahead of the sibling most behind, largest packets (largest of all levels)
	double ul_excess;   // above the upper limit, largest packets
	double link_excess; // start after `now`, ns
	uint64_t packets, rt_packets;
	uint64_t idle;    // calls that ended although something was due
	uint64_t unknown; // packets of an empty class, or by a criterion that the class has no curve for
};

// The plan must have passed plan_check, have a rate, and outlive the oracle. Aborts without memory.
struct oracle *oracle_new(const struct plan *plan);
void oracle_free(struct oracle *o);

void oracle_arrive(struct oracle *o, uint32_t cls, uint32_t len, uint64_t tag, nsec_t now);

// Next packet whose turn has come by `now`; false if there is none.
bool oracle_send(struct oracle *o, nsec_t now, struct oracle_sent *out);

// Start of a dequeue call of the scheduler followed: ends blocks. Then each packet it returned, in order, with the
// criterion by which it was sent. The counters tell that of a call for one packet, or of a class that has one curve.
void oracle_poll(struct oracle *o, nsec_t now);
void oracle_follow(struct oracle *o, uint32_t cls, bool rt, nsec_t now);
// The call returned less than it was asked for: nothing more may be due.
void oracle_rests(struct oracle *o, nsec_t now);
const struct oracle_worst *oracle_worst(const struct oracle *o);

uint64_t oracle_bytes(const struct oracle *o, uint32_t cls); // served, of the class and all below it
uint32_t oracle_backlog(const struct oracle *o);             // packets

#endif
