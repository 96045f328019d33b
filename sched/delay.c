// SPDX-License-Identifier: GPL-2.0-or-later
// The delay histogram's scale: four buckets an octave from 1 us on, so a quantile is known to a quarter at worst, and a
// bucket is found with one multiplication and a count of leading zeros. The last one is open at its upper end.
#include "sched/sched.h"

enum { QUARTER_NS = 250 }; // a quarter of the first octave's start

nsec_t delay_bucket_floor(uint32_t bucket)
{
	return bucket ? (uint64_t)(4 + (bucket - 1) % 4) * QUARTER_NS << (bucket - 1) / 4 : 0;
}

nsec_t delay_quantile(const counter_t delay[DELAY_BUCKETS], uint32_t permille)
{
	uint64_t count[DELAY_BUCKETS], total = 0, below = 0;

	for (uint32_t b = 0; b < DELAY_BUCKETS; b++)
		total += count[b] = counter_read(&delay[b]);
	if (!total)
		return 0;
	for (uint32_t b = 0; b < DELAY_BUCKETS; b++) {
		below += count[b];
		if ((u128)below * 1000 >= (u128)total * permille && below)
			return delay_bucket_floor(b + 1);
	}
	return delay_bucket_floor(DELAY_BUCKETS);
}
