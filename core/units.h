// SPDX-License-Identifier: GPL-2.0-or-later
// Units. Time is nanoseconds in 64 bits on a monotonic clock that the caller reads; rates are bit/s as people
// write them. Instants are compared by their difference, so that every comparison survives the wrap at 2^64.
#ifndef CORE_UNITS_H
#define CORE_UNITS_H

#include "core/types.h"

typedef uint64_t nsec_t; // an instant or a duration, in nanoseconds

#define NSEC_PER_USEC 1000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_SEC 1000000000ull
#define TIME_NEVER UINT64_MAX // "no event is due"; never a real instant

// a earlier than b; exact while the two lie within 2^63 ns (292 years) of each other.
static inline bool time_before(nsec_t a, nsec_t b)
{
	return (int64_t)(a - b) < 0;
}

static inline nsec_t time_later(nsec_t a, nsec_t b)
{
	return time_before(a, b) ? b : a;
}

// The same for instants that may be TIME_NEVER.
static inline bool time_is_due(nsec_t instant, nsec_t now)
{
	return instant != TIME_NEVER && !time_before(now, instant);
}

static inline nsec_t time_sooner(nsec_t a, nsec_t b)
{
	return b == TIME_NEVER || (a != TIME_NEVER && time_before(a, b)) ? a : b;
}

// Time that `bytes` take at `rate_bps` (> 0), in ns, rounded up.
static inline nsec_t bytes_to_ns(uint64_t bytes, uint64_t rate_bps)
{
	return (nsec_t)(((u128)bytes * 8 * NSEC_PER_SEC + rate_bps - 1) / rate_bps);
}

// Whole bytes that pass in `ns` at `rate_bps`, rounded down.
static inline uint64_t ns_to_bytes(nsec_t ns, uint64_t rate_bps)
{
	return (uint64_t)((u128)ns * rate_bps / 8 / NSEC_PER_SEC);
}

#endif
