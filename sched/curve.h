// SPDX-License-Identifier: GPL-2.0-or-later
// Service curves in motion. A runtime curve is kept as the place where it stands: the instant at which it reaches the
// service received so far, and how much of its first piece is left. What lies behind cannot matter any more.
#ifndef SCHED_CURVE_H
#define SCHED_CURVE_H

#include "sched/plan.h"

#define SLOPE_SHIFT 32
#define SLOPE_NEVER (1ull << 62) // of a piece with rate 0: 8 bit/s, so that no product overflows
#define PART_SHIFT 16            // bytes of a first piece have this many bits of fraction
#define FIRST_IS_FLAT UINT64_MAX // first piece with rate 0: it lasts dx and carries nothing

// A curve as the scheduler computes with it. All zero: absent. Slopes are inverse, in 2^-32 ns per byte, rounded: the
// relative error is below 1e-8 from 1 kbit/s to 400 Gbit/s, and the forward direction divides by the same number.
struct service {
	uint64_t ns1, ns2; // slope of the first and of the second piece
	uint64_t first;    // length of the first piece, in 2^-16 bytes; 0: linear
	nsec_t dx;         // duration of the first piece
};

// Where a runtime curve stands.
struct cursor {
	nsec_t x;      // when it reaches the service received so far
	uint64_t left; // of the first piece, in 2^-16 bytes, or FIRST_IS_FLAT
	uint32_t frac; // of x, in 2^-32 ns, so that rounding never accumulates
};

uint64_t slope_ns(uint64_t rate_bps);
void service_make(struct service *s, const struct curve *c);

static inline bool service_present(const struct service *s)
{
	return s->ns2 != 0;
}

static inline bool service_convex(const struct service *s)
{
	return s->first && s->ns1 > s->ns2;
}

// x += bytes * slope.
static inline void time_run(nsec_t *x, uint32_t *frac, uint64_t bytes, uint64_t slope)
{
	u128 sum = (u128)bytes * slope + *frac;

	*x += (nsec_t)(sum >> SLOPE_SHIFT);
	*frac = (uint32_t)sum;
}

// Moves through the first piece; returns the whole bytes that go beyond it.
uint64_t cursor_run_first(struct cursor *c, const struct service *s, uint64_t bytes);

// The class received `bytes` more.
static inline void cursor_run(struct cursor *c, const struct service *s, uint64_t bytes)
{
	if (unlikely(c->left))
		bytes = cursor_run_first(c, s, bytes);
	time_run(&c->x, &c->frac, bytes, s->ns2);
}

// When the curve will have reached `bytes` more.
static inline nsec_t cursor_after(const struct cursor *c, const struct service *s, uint64_t bytes)
{
	struct cursor ahead = *c;

	cursor_run(&ahead, s, bytes);
	return ahead.x;
}

static inline void cursor_start(struct cursor *c, const struct service *s, nsec_t at)
{
	*c = (struct cursor){.x = at, .left = s->first};
}

// A backlogged period starts at `at`: the runtime curve becomes the minimum of itself and the curve drawn from there.
// The minimum is exact for linear and concave curves; a convex one is replaced if it lies above at `at` (the paper's
// rule: the minimum of two convex curves has three pieces). True if the curve drawn from `at` replaced the old one.
bool cursor_restart(struct cursor *c, const struct service *s, nsec_t at);

// Whether a restart at `at` would leave nothing of the past.
bool cursor_overtaken(const struct cursor *c, const struct service *s, nsec_t at);

#endif
