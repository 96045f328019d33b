// SPDX-License-Identifier: GPL-2.0-or-later
// Arithmetic of two-piece service curves (Stoica, Zhang, Ng: "A Hierarchical Fair Service Curve Algorithm", SIGCOMM
// 1997, section V). The usual form keeps the curve's origin and both pieces, and evaluates it afresh from totals that
// grow for days. Here a curve is a cursor that moves with each packet: three words, the same for deadlines, virtual
// times and upper limits, and the one inexact step, the slope's rounding, is 1e-8 relative.
#include "sched/curve.h"

uint64_t slope_ns(uint64_t rate_bps)
{
	if (!rate_bps)
		return SLOPE_NEVER;
	return (uint64_t)((((u128)8 * NSEC_PER_SEC << SLOPE_SHIFT) + rate_bps / 2) / rate_bps);
}

void service_make(struct service *s, const struct curve *c)
{
	*s = (struct service){0};
	if (!curve_present(c))
		return;
	s->ns2 = slope_ns(c->m2_bps);
	if (!c->d_ns || c->m1_bps == c->m2_bps)
		return;
	s->first = (uint64_t)(((u128)c->d_ns * c->m1_bps << PART_SHIFT) / (8 * NSEC_PER_SEC));
	// A first piece of next to nothing: no gain if it is the steep one, a plain delay if it is not.
	if (!s->first && c->m1_bps > c->m2_bps)
		return;
	if (!s->first)
		s->first = FIRST_IS_FLAT;
	s->ns1 = slope_ns(c->m1_bps);
	s->dx = c->d_ns;
}

static void time_run_part(struct cursor *c, uint64_t part, uint64_t slope)
{
	u128 sum = ((u128)part * slope >> PART_SHIFT) + c->frac;

	c->x += (nsec_t)(sum >> SLOPE_SHIFT);
	c->frac = (uint32_t)sum;
}

uint64_t cursor_run_first(struct cursor *c, const struct service *s, uint64_t bytes)
{
	uint64_t parts = bytes << PART_SHIFT, beyond;

	if (!bytes)
		return 0;
	if (c->left == FIRST_IS_FLAT) {
		c->x += s->dx;
		c->left = 0;
		return bytes;
	}
	if (parts <= c->left) {
		time_run_part(c, parts, s->ns1);
		c->left -= parts;
		return 0;
	}
	beyond = parts - c->left;
	time_run_part(c, c->left, s->ns1);
	time_run_part(c, beyond & ((1u << PART_SHIFT) - 1), s->ns2);
	c->left = 0;
	return beyond >> PART_SHIFT;
}

// Length of the first piece of the curve drawn from `at`, until it meets the old curve (concave, the old one behind).
static uint64_t first_until_meeting(const struct cursor *c, const struct service *s, nsec_t at)
{
	nsec_t behind = at - c->x;
	nsec_t bend = (nsec_t)(((u128)c->left * s->ns1) >> (SLOPE_SHIFT + PART_SHIFT));
	u128 above, old_left; // how far the old curve is above at `at`; what is left of its first piece there

	if (behind < bend) {
		above = ((u128)behind << (SLOPE_SHIFT + PART_SHIFT)) / s->ns1;
		old_left = c->left - above;
	} else {
		above = c->left + ((u128)(behind - bend) << (SLOPE_SHIFT + PART_SHIFT)) / s->ns2;
		old_left = 0;
	}
	if (above >= s->first)
		return s->first;
	// Both rise in parallel until the old one bends; from there the distance closes at the difference of slopes.
	above = old_left + above * s->ns2 / (s->ns2 - s->ns1);
	return above < s->first ? (uint64_t)above : s->first;
}

bool cursor_restart(struct cursor *c, const struct service *s, nsec_t at)
{
	if (time_before(at, c->x))
		return false;
	if (!s->first || service_convex(s)) {
		cursor_start(c, s, at);
		return true;
	}
	c->left = first_until_meeting(c, s, at);
	c->x = at;
	c->frac = 0;
	return c->left == s->first;
}

bool cursor_overtaken(const struct cursor *c, const struct service *s, nsec_t at)
{
	struct cursor copy = *c;

	return cursor_restart(&copy, s, at);
}
