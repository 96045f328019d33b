// SPDX-License-Identifier: GPL-2.0-or-later
// Plans of arbitrary bytes: plan_check must end, and what it lets through must be safe to use: ids carried over, rates
// and delay targets worked out. The first byte is the number of classes; the rest fills the plan's numbers and classes,
// with parents brought into range now and then so that deep trees and cycles come up.
#include <stdlib.h>
#include <string.h>

#include "sched/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *to, size_t n, const uint8_t **data, size_t *size)
{
	size_t have = n < *size ? n : *size;

	memcpy(to, *data, have);
	*data += have;
	*size -= have;
}

static struct plan *made_of(const uint8_t *data, size_t size)
{
	uint8_t head[2] = {0};
	struct plan *p;

	take(head, sizeof head, &data, &size);
	p = plan_new(head[0] % 64);
	if (!p)
		abort();
	take(&p->rate_bps, sizeof p->rate_bps, &data, &size);
	take(&p->burst_ns, sizeof p->burst_ns, &data, &size);
	take(&p->wire, sizeof p->wire, &data, &size);
	take(&p->mtu_wire, sizeof p->mtu_wire, &data, &size);
	take(&p->default_class, sizeof p->default_class, &data, &size);
	take(p->cls, p->classes * sizeof *p->cls, &data, &size);
	for (uint32_t i = 0; i < p->classes && (head[1] & 1); i++)
		p->cls[i].parent %= p->classes;
	for (uint32_t i = 0; i < p->classes && (head[1] & 2); i++)
		p->cls[i].id = i;
	if (p->classes && (head[1] & 4))
		memcpy(p->cls[0].name, "root", 5);
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan *p = made_of(data, size), *q = made_of(data, size / 2);
	struct problems wrong = {0}, ignored = {0};

	plan_check(p, "/shapers/fuzz", &wrong);
	plan_check(q, "/shapers/fuzz", &ignored);
	if (!wrong.errors) {
		uint64_t *rate = malloc(p->classes * sizeof *rate);

		if (!rate || !plan_class_rates(p, rate))
			abort();
		for (uint32_t i = 0; i < p->classes; i++)
			if (rate[i] != plan_class_rate(p, i) || plan_codel_target(p, i) < p->cls[i].leaf.target_ns)
				abort();
		if (!plan_carry_ids(q, p))
			abort();
		for (uint32_t i = 0; i < q->classes; i++)
			if (q->cls[i].id >= q->id_limit)
				abort();
		free(rate);
	}
	problems_free(&wrong);
	problems_free(&ignored);
	plan_free(p);
	plan_free(q);
	return 0;
}
