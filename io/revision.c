// SPDX-License-Identifier: GPL-2.0-or-later
// Building a revision: tables compiled, plans joined to the previous ones by class name, changes computed. All of
// it happens on the control thread, so a worker only follows pointers.
#include "io/revision.h"

#include <stdlib.h>
#include <string.h>

struct plan *plan_unshaped(uint32_t mtu)
{
	struct plan *p = plan_new(1);

	if (!p)
		return NULL;
	memcpy(p->cls[0].name, "root", sizeof "root");
	p->cls[0].leaf = (struct leaf_conf){
		.kind = LEAF_FQ_CODEL,
		.limit_packets = 4096,
		.limit_frames = 4096,
		.quantum = 1514,
		.target_ns = 5 * NSEC_PER_MSEC,
		.interval_ns = 100 * NSEC_PER_MSEC,
		.ce_threshold_ns = TIME_NEVER,
		.ecn = true,
	};
	p->burst_ns = NSEC_PER_MSEC;
	p->mtu_wire = mtu + 22; // Ethernet header and two tags
	return p;
}

static uint32_t inflight_bytes(const struct port_conf *port, const struct plan *plan)
{
	if (!plan->rate_bps)
		return INFLIGHT_UNSHAPED;
	uint64_t bytes = ns_to_bytes(port->inflight_us * NSEC_PER_USEC, plan->rate_bps);

	return bytes < INFLIGHT_MIN ? INFLIGHT_MIN : bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

// Rules name classes by their index in the plan; packets carry ids.
static struct classifier *compile(const struct shaper_conf *s)
{
	struct rule *rule = calloc(s->rules ? s->rules : 1, sizeof *rule);
	struct classifier *c;

	if (!rule)
		return NULL;
	for (uint32_t i = 0; i < s->rules; i++) {
		rule[i] = s->rule[i];
		rule[i].class_id = s->plan->cls[s->rule[i].class_id].id;
	}
	c = classifier_new(rule, s->rules, s->plan->cls[s->plan->default_class].id);
	free(rule);
	return c;
}

static bool build_port(struct revision *r, uint32_t p, const struct shaper_conf *s, const struct plan *prev)
{
	struct revision_port *rp = &r->port[p];
	const struct port_conf *conf = &r->config->port[p];
	struct plan *plan = s ? s->plan : plan_unshaped(conf->mtu ? conf->mtu : 1500);

	if (!plan)
		return false;
	if (!s)
		rp->own_plan = plan;
	rp->shaped = s != NULL;
	rp->plan = plan;
	rp->inflight_bytes = inflight_bytes(conf, plan);
	if (!plan_carry_ids(plan, prev))
		return false;
	if (s && !(rp->classifier = compile(s)))
		return false;
	if (prev && !(rp->change = tree_change_new(prev, plan)))
		return false;
	r->actions += rp->change ? tree_change_actions(rp->change) : 0;
	return true;
}

static void build_forward(struct forward_table *t, const struct config *c)
{
	for (uint32_t p = 0; p < PORTS_MAX; p++)
		t->bridge_of[p] = PORT_NONE;
	t->bridges = (uint16_t)c->bridges;
	for (uint32_t b = 0; b < c->bridges; b++) {
		t->bridge[b].ports = (uint16_t)c->bridge[b].ports;
		t->bridge[b].ageing = c->bridge[b].ageing_ns;
		for (uint32_t k = 0; k < c->bridge[b].ports; k++) {
			t->bridge[b].port[k] = c->bridge[b].port[k];
			t->bridge_of[c->bridge[b].port[k]] = (uint16_t)b;
		}
	}
}

struct revision *revision_build(struct config *config, const struct revision *prev, uint32_t id_limit,
				struct problems *out)
{
	struct revision *r = calloc(1, sizeof *r);

	if (!r) {
		config_free(config);
		problem_add(out, PROBLEM_ERROR, "", "out of memory");
		return NULL;
	}
	r->config = config;
	r->number = config->revision;
	build_forward(&r->forward, config);
	for (uint32_t p = 0; p < config->ports; p++) {
		const struct shaper_conf *s = NULL;

		for (uint32_t k = 0; k < config->shapers; k++)
			if (config->shaper[k].port == p)
				s = &config->shaper[k];
		if (!build_port(r, p, s, prev ? prev->port[p].plan : NULL)) {
			problem_add(out, PROBLEM_ERROR, "", "out of memory while building port %s",
				    config->port[p].name);
			revision_free(r);
			return NULL;
		}
		if (r->port[p].plan->id_limit > id_limit) {
			problem_add(out, PROBLEM_ERROR, "/shapers",
				    "port %s needs %u class ids; at most %u are there for each of %u ports",
				    config->port[p].name, r->port[p].plan->id_limit, id_limit, config->ports);
			revision_free(r);
			return NULL;
		}
	}
	return r;
}

void revision_free(struct revision *r)
{
	if (!r)
		return;
	for (uint32_t p = 0; p < PORTS_MAX; p++) {
		classifier_free(r->port[p].classifier);
		tree_change_free(r->port[p].change);
		plan_free(r->port[p].own_plan);
	}
	config_free(r->config);
	free(r);
}
