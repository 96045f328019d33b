// SPDX-License-Identifier: GPL-2.0-or-later
// Why a timer in the parent and not in whoever was asked for the change: the change may have cut off, or killed, just that
// one. An engine that dies again and again is another way of not being well.
#include "mgmt/deadman.h"

void deadman_arm(struct deadman *d, uint64_t revision, nsec_t deadline, struct config *previous)
{
	assert(!d->revision && revision);
	*d = (struct deadman){.revision = revision, .deadline = deadline, .previous = previous};
}

void deadman_disarm(struct deadman *d)
{
	config_free(d->previous);
	*d = (struct deadman){0};
}

struct config *deadman_release(struct deadman *d)
{
	struct config *c = d->previous;

	*d = (struct deadman){0};
	return c;
}

void deadman_death(struct deadman *d)
{
	d->deaths++;
}

const char *deadman_verdict(const struct deadman *d, nsec_t now)
{
	if (!d->revision)
		return NULL;
	if (!time_before(now, d->deadline))
		return "it was not confirmed in time";
	return d->deaths >= DEADMAN_DEATHS ? "the engine died again and again" : NULL;
}

nsec_t deadman_due(const struct deadman *d)
{
	return d->revision ? d->deadline : TIME_NEVER;
}
