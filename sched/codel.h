// SPDX-License-Identifier: GPL-2.0-or-later
// CoDel (RFC 8289), one verdict a packet. The caller takes a packet from its queue, asks, and drops, marks or sends.
#ifndef SCHED_CODEL_H
#define SCHED_CODEL_H

#include "core/units.h"

struct codel_conf {
	nsec_t target, interval;
	nsec_t ce_threshold; // TIME_NEVER: off
	uint32_t mtu;        // a queue that holds no more than this is never dropped from
	uint32_t ecn;
};

// All zero: nothing ever happened.
struct codel {
	nsec_t first_above; // when the delay will have been above target for an interval; 0: it is below
	nsec_t drop_next;
	nsec_t flooded; // since when marking has not brought the delay below CODEL_FLOOD targets; 0: it is
	uint32_t count; // drops since dropping began
	uint32_t last_count;
	bool dropping;
	bool owed; // a drop was made and drop_next is not moved yet: that depends on the next packet
};

enum codel_verdict { CODEL_PASS, CODEL_MARK, CODEL_DROP };
enum { CODEL_MEMORY = 16, CODEL_FLOOD = 10 }; // intervals; targets

// Verdict on a packet that waited `sojourn`; the queue holds `left` bytes without it. ect: it is ECN-capable.
enum codel_verdict codel_judge(struct codel *s, const struct codel_conf *conf, nsec_t now, nsec_t sojourn,
			       uint64_t left, bool ect);

// Whether the next packet must be judged even if it waited less than target.
static inline bool codel_alert(const struct codel *s)
{
	return s->first_above || s->dropping;
}

// The queue was found empty.
static inline void codel_emptied(struct codel *s)
{
	s->first_above = s->flooded = 0;
	s->dropping = s->owed = false;
}

// Whether its past may still change a verdict.
static inline bool codel_remembers(const struct codel *s, nsec_t interval, nsec_t now)
{
	return codel_alert(s) ||
	       (s->count && now - s->drop_next + CODEL_MEMORY * interval < 2 * CODEL_MEMORY * interval);
}

// interval / sqrt(count), rounded down.
nsec_t codel_step(nsec_t interval, uint32_t count);

#endif
