// SPDX-License-Identifier: GPL-2.0-or-later
// CoDel, after the pseudo-code of RFC 8289 section 5, turned inside out: there a loop pulls packets, here each pulled
// packet gets a verdict, which lets one queue discipline count, mark and free in one place. The state after each packet
// is the RFC's. Its loop moves drop_next only after it has seen the packet behind a dropped one; `owed` remembers that.
//
// The square root is taken exactly instead of by the usual Newton step on 16 bits, which needs several drops to follow
// a jump of count; it costs some 30 ns, and only when a packet is dropped.
//
// ECN marks take the place of drops. A sender that ignores marks would thus never be dropped before the class's limit:
// once the delay has stayed above CODEL_FLOOD targets for an interval although packets were marked, drops come back.
#include "sched/codel.h"

#include "core/types.h"

// Newton from above: falls until it stands at floor(sqrt(v)).
static uint64_t square_root(uint64_t v)
{
	uint64_t x, next;

	if (v < 2)
		return v;
	next = 1ull << ((65 - __builtin_clzll(v)) / 2);
	do {
		x = next;
		next = (x + v / x) / 2;
	} while (next < x);
	return x;
}

nsec_t codel_step(nsec_t interval, uint32_t count)
{
	uint32_t shift = 0;

	while (interval >> shift > UINT32_MAX)
		shift++;
	interval >>= shift;
	return square_root(interval * interval / count) << shift;
}

// The RFC's ok_to_drop: above target for a whole interval.
static bool above_long_enough(struct codel *s, const struct codel_conf *conf, nsec_t now, nsec_t sojourn, uint64_t left)
{
	if (sojourn < conf->target || left <= conf->mtu) {
		s->first_above = s->flooded = 0;
		return false;
	}
	if (!s->first_above) {
		s->first_above = now + conf->interval;
		return false;
	}
	return !time_before(now, s->first_above);
}

static bool marking_fails(struct codel *s, const struct codel_conf *conf, nsec_t now, nsec_t sojourn)
{
	if (sojourn < CODEL_FLOOD * conf->target) {
		s->flooded = 0;
		return false;
	}
	if (!s->flooded)
		s->flooded = now;
	return now - s->flooded >= conf->interval;
}

// Dropping begins. If it ended less than 16 intervals ago, it goes on at the rate that was needed then.
static void begin_dropping(struct codel *s, const struct codel_conf *conf, nsec_t now)
{
	uint32_t recent = s->count - s->last_count;

	if (recent > 1 && time_before(now, s->drop_next + CODEL_MEMORY * conf->interval))
		s->count = recent;
	else
		s->count = 1;
	s->last_count = s->count;
	s->dropping = true;
	s->owed = false;
	s->drop_next = now + codel_step(conf->interval, s->count);
}

enum codel_verdict codel_judge(struct codel *s, const struct codel_conf *conf, nsec_t now, nsec_t sojourn,
			       uint64_t left, bool ect)
{
	bool mark = conf->ecn && ect && !marking_fails(s, conf, now, sojourn);
	enum codel_verdict pass = ect && sojourn > conf->ce_threshold ? CODEL_MARK : CODEL_PASS;

	if (!above_long_enough(s, conf, now, sojourn, left)) {
		s->dropping = s->owed = false;
		return pass;
	}
	if (!s->dropping) {
		begin_dropping(s, conf, now);
		return mark ? CODEL_MARK : CODEL_DROP;
	}
	if (s->owed) {
		s->drop_next += codel_step(conf->interval, s->count);
		s->owed = false;
	}
	if (time_before(now, s->drop_next))
		return pass;
	s->count++;
	if (mark) {
		s->drop_next += codel_step(conf->interval, s->count);
		return CODEL_MARK;
	}
	s->owed = true;
	return CODEL_DROP;
}
