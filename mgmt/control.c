// SPDX-License-Identifier: GPL-2.0-or-later
// The manager talks to the network, so it is the less trusted side: what it sends is decoded with every bound checked,
// checked by the same rules as a file, asked of the kernel, and only then given to the line. It can't ask for anything
// but a configuration, and not for two at once.
//
// A pending revision belongs to this process: whether its manager lives, hangs or is replaced makes no difference to when
// it is taken back. A manager that was started meanwhile is told when the line is settled, so that what it hears first
// is true.
#include "mgmt/control.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/clock.h"
#include "mgmt/machine.h"
#include "mgmt/say.h"
#include "mgmt/sealed.h"

enum { MESSAGES_A_ROUND = 64, CONFIRM_MAX_S = 86400 };

void control_init(struct control *c, struct line *line, struct manager *manager)
{
	*c = (struct control){.line = line, .manager = manager};
}

void control_free(struct control *c)
{
	deadman_disarm(&c->deadman);
}

static uint64_t in_force(const struct control *c)
{
	return c->line->running ? c->line->running->revision : 0;
}

static void answer(struct control *c, const struct mm_result *r, struct problems *found)
{
	if (found)
		manager_send_problems(c->manager, found);
	manager_send(c->manager, MM_RESULT, r, sizeof *r);
}

static void refuse(struct control *c, uint64_t revision, enum mm_verdict verdict, struct problems *found)
{
	answer(c, &(struct mm_result){.revision = revision, .verdict = verdict}, found);
}

// --- COMMIT ------------------------------------------------------------------------------------------------------

// Decodes and checks. `as_is`: for new sockets, so what is left to the devices stays so; else the values in use are
// filled in. NULL with problems.
static struct config *take_config(struct control *c, const struct mm_commit *b, int fd, bool as_is,
				  struct problems *found)
{
	struct config *config = sealed_read(fd, b->bytes, found);

	if (!config)
		return NULL;
	if (!as_is) {
		ports_align(c->line->ports, config);
		ports_resolve(c->line->ports, config);
	}
	if (config->revision != b->revision)
		problem_add(found, PROBLEM_ERROR, "", "the configuration is of another revision than it says");
	config_check(config, found);
	if (!found->errors)
		machine_check(config, found);
	if (!found->errors)
		return config;
	config_free(config);
	return NULL;
}

// What is to be given to the line; *reopen: with new sockets. NULL with *verdict.
static struct config *judge(struct control *c, const struct mm_commit *b, int fd, bool *reopen,
			    enum mm_verdict *verdict, struct problems *found)
{
	bool as_is = !c->line->ports || !c->line->running;
	struct config *config = take_config(c, b, fd, as_is, found);
	struct problems needs = {0};

	*verdict = MM_INVALID;
	if (!config)
		return NULL;
	*reopen = line_needs_reopening(c->line, config, &needs);
	if (!*reopen || !c->line->running) {
		problems_free(&needs);
		return config;
	}
	if (b->flags & MM_RESTART) {
		problems_free(&needs);
		config_free(config);
		return take_config(c, b, fd, true, found);
	}
	for (uint32_t i = 0; i < needs.kept; i++)
		problem_add(found, needs.list[i].level, needs.list[i].path, "%s", needs.list[i].text);
	problems_free(&needs);
	config_free(config);
	*verdict = MM_NEEDS_RESTART;
	return NULL;
}

static bool on_commit(struct control *c, const struct message *m)
{
	const struct mm_commit *b = msg_body(m, MM_COMMIT, sizeof *b);
	bool dry, reopen = false;
	struct problems found = {0};
	enum mm_verdict verdict;
	struct config *config;

	if (!b || !b->revision || b->confirm_s > CONFIRM_MAX_S)
		return false;
	dry = b->flags & MM_DRY_RUN;
	if (c->step != CONTROL_IDLE || line_busy(c->line) || (c->deadman.revision && !dry)) {
		refuse(c, b->revision, MM_BUSY, NULL);
		return true;
	}
	if (b->revision == in_force(c) && !dry) {
		problem_add(&found, PROBLEM_ERROR, "", "this revision is in force already");
		refuse(c, b->revision, MM_INVALID, &found);
		problems_free(&found);
		return true;
	}
	config = judge(c, b, m->fd, &reopen, &verdict, &found);
	if (!config || dry) {
		refuse(c, b->revision, config ? MM_DONE : verdict, &found);
		config_free(config);
	} else {
		c->step = CONTROL_COMMIT;
		c->revision = b->revision;
		c->confirm_s = b->confirm_s;
		c->generation = c->manager->generation;
		if (!line_change(c->line, config, reopen, &found)) {
			c->step = CONTROL_IDLE;
			refuse(c, b->revision, MM_INVALID, &found);
		} else {
			manager_send_problems(c->manager, &found);
		}
	}
	problems_free(&found);
	return true;
}

static void committed(struct control *c, const struct line_result *r)
{
	struct mm_result body = {.revision = r->revision,
				 .verdict = r->applied ? MM_DONE : MM_INVALID,
				 .actions = r->actions,
				 .duration_ns = r->duration_ns,
				 .pause_ns = r->pause_ns,
				 .lost = r->lost};
	struct problems found = {0};

	if (!r->applied) {
		problem_add(&found, PROBLEM_ERROR, "", "%s", r->why);
		say("revision %llu was not applied: %s; nothing was changed", (unsigned long long)r->revision, r->why);
	} else if (r->pause_ns && r->reopened) {
		problem_add(&found, PROBLEM_WARNING, "",
			    "sockets were opened anew: packets that came meanwhile were lost and not counted");
	}
	if (r->applied && c->confirm_s) {
		body.deadline_ns = clock_boottime() + c->confirm_s * NSEC_PER_SEC;
		deadman_arm(&c->deadman, r->revision, body.deadline_ns, r->before);
	} else if (r->applied) {
		config_free(r->before);
	}
	if (c->generation == c->manager->generation)
		answer(c, &body, &found);
	problems_free(&found);
}

// --- CONFIRM, REVERT, and time ------------------------------------------------------------------------------------

static bool on_confirm(struct control *c, const struct message *m)
{
	const struct mm_revision *b = msg_body(m, MM_CONFIRM, sizeof *b);

	if (!b)
		return false;
	if (b->revision != c->deadman.revision || !b->revision) {
		refuse(c, b->revision, MM_NOT_PENDING, NULL);
		return true;
	}
	deadman_disarm(&c->deadman);
	refuse(c, b->revision, MM_DONE, NULL);
	return true;
}

static void take_back(struct control *c, enum control_step step, const char *reason)
{
	c->step = step;
	c->revision = c->last_reverted = c->deadman.revision;
	c->generation = c->manager->generation;
	snprintf(c->reason, sizeof c->reason, "%s", reason);
	say("revision %llu is taken back: %s", (unsigned long long)c->revision, reason);
	line_force(c->line, deadman_release(&c->deadman));
}

static bool on_revert(struct control *c, const struct message *m)
{
	const struct mm_revision *b = msg_body(m, MM_REVERT, sizeof *b);

	if (!b)
		return false;
	if (b->revision != c->deadman.revision || !b->revision)
		refuse(c, b->revision, MM_NOT_PENDING, NULL);
	else
		take_back(c, CONTROL_REVERT, "as asked for");
	return true;
}

static void taken_back(struct control *c, const struct line_result *r)
{
	struct mm_reverted told = {.revision = c->revision, .in_force = in_force(c)};

	config_free(r->before);
	memcpy(told.reason, c->reason, sizeof told.reason);
	if (c->generation != c->manager->generation)
		return; // a new one learns it from STATE
	if (c->step == CONTROL_EXPIRE)
		manager_send(c->manager, MM_REVERTED, &told, sizeof told);
	else
		answer(c,
		       &(struct mm_result){.revision = c->revision,
					   .verdict = MM_DONE,
					   .actions = r->actions,
					   .duration_ns = r->duration_ns,
					   .pause_ns = r->pause_ns,
					   .lost = r->lost},
		       NULL);
}

void control_changed(struct control *c, const struct line_result *r)
{
	if (c->step == CONTROL_COMMIT)
		committed(c, r);
	else
		taken_back(c, r);
	c->step = CONTROL_IDLE;
}

void control_alarm(struct control *c, const char *text)
{
	struct mm_alarm body = {0};

	snprintf(body.text, sizeof body.text, "%s", text);
	manager_send(c->manager, MM_ALARM, &body, sizeof body);
}

void control_died(struct control *c)
{
	deadman_death(&c->deadman);
}

// --- the loop ----------------------------------------------------------------------------------------------------

static bool on_message(struct control *c, const struct message *m)
{
	if (!c->manager->informed)
		return false;
	switch (m->type) {
	case MM_COMMIT:
		return on_commit(c, m);
	case MM_CONFIRM:
		return on_confirm(c, m);
	case MM_REVERT:
		return on_revert(c, m);
	default:
		return false;
	}
}

void control_serve(struct control *c)
{
	struct message m;

	for (int i = 0; i < MESSAGES_A_ROUND && manager_receive(c->manager, &m) == 1; i++) {
		bool good = on_message(c, &m);

		if (m.fd >= 0)
			close(m.fd);
		if (!good)
			manager_kill(c->manager, "its message makes no sense");
	}
}

static void inform(struct control *c)
{
	struct mm_state state = {.revision = in_force(c),
				 .pending = c->deadman.previous ? c->deadman.previous->revision : 0,
				 .deadline_ns = c->deadman.deadline,
				 .last_reverted = c->last_reverted,
				 .engine_up = c->line->engine.state == ENGINE_RUNNING};

	manager_inform(c->manager, &state);
}

void control_deadlines(struct control *c)
{
	const char *verdict = deadman_verdict(&c->deadman, clock_boottime());

	if (verdict && c->step == CONTROL_IDLE && !line_busy(c->line))
		take_back(c, CONTROL_EXPIRE, verdict);
	if (c->manager->state == MANAGER_RUNNING && !c->manager->informed && !line_busy(c->line))
		inform(c);
}

nsec_t control_due(const struct control *c)
{
	nsec_t due = deadman_due(&c->deadman), boot = clock_boottime(), now = clock_now();

	if (due == TIME_NEVER)
		return TIME_NEVER;
	return time_before(boot, due) ? now + (due - boot) : now;
}
