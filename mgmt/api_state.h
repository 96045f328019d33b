// SPDX-License-Identifier: GPL-2.0-or-later
// The `stats` event of the event stream: what happened since the last one, from differences of the counters in the
// shared statistics. Who streams owns a sampler and calls it about once a second, always on the same thread.
#ifndef MGMT_API_STATE_H
#define MGMT_API_STATE_H

#include <jansson.h>

#include "core/units.h"
#include "io/stats.h"

struct stats_sampler;

enum { EVENT_CLASSES = 200 }; // of a shaper, in an event

// What it saw last. `classes_max` busiest classes of each shaper go into an event, 0: all. NULL without memory.
struct stats_sampler *stats_sampler_new(uint32_t classes_max);
void stats_sampler_free(struct stats_sampler *m);

// The event's data (a new reference) for the time since the call before; the first has rates of 0. NULL if there are no
// statistics (s is NULL), no memory, or the names keep changing.
json_t *state_stats_event(const struct stats *s, struct stats_sampler *m);
// The same with the clocks given: monotonic for rates, Unix time in ns for the field "time".
json_t *state_stats_event_at(const struct stats *s, struct stats_sampler *m, nsec_t now, uint64_t unix_ns);

#endif
