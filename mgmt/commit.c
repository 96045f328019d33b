// SPDX-License-Identifier: GPL-2.0-or-later
// A change, step by step, each durable before the next:
//
//   parsed and checked here, then by the parent (DRY_RUN)   nothing is left of it if it is wrong
//   stored                                 STORED           a crash from here on: never booted
//   applied by the parent, on probation                     the parent takes it back if it hears no more
//   stored what became of it               CONFIRMED        (final) then the parent is told, and forgets what was before
//                                          PENDING          (confirm=N) the parent's timer runs
//
// A final change is on probation too, for the moment until its state is on disk. So "the disk is full" needs no luck to be
// undone: the parent still has the configuration before, and goes back to it, also if this process dies over it.
//
// Two locks. `change` is held for a whole change, which waits for the disk and for the parent. `lock` guards what
// readers ask for, and is never held while waiting. What is in force changes in one place only, where the parent's
// messages arrive (commit_message), in their order: so it is always what the parent runs, whatever the
// thread that asked is doing.
#include "mgmt/commit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/msg.h"
#include "io/channel.h"
#include "io/clock.h"
#include "mgmt/desired.h"
#include "mgmt/json.h"
#include "mgmt/sealed.h"

#define SEND_NS (5 * NSEC_PER_SEC)
#define ANSWER_NS (60 * NSEC_PER_SEC) // new sockets and a new engine, and the old ones again if those fail

enum { PROBATION_S = 30, LISTENERS = 4 };

// What the parent was asked, and what in force becomes of it when the answer is DONE.
struct question {
	uint32_t type;
	int64_t revision;
	json_t *document; // of a COMMIT that is no dry run
	bool final;
	bool open; // asked, not answered
	struct mm_result result;
	struct problems found;
};

struct commit {
	struct store *store;
	int channel;
	pthread_mutex_t change;

	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct question question;
	json_t *running, *before; // before: what comes back if `pending` is taken back
	int64_t revision, before_revision;
	int64_t pending;    // == revision, or 0
	bool probation;     // `pending` is final as far as people are concerned
	nsec_t deadline;    // of `pending`, clock_boottime()
	int64_t taken_back; // the last one the parent took back by itself
	bool lost;
	int64_t boot; // newest confirmed revision that could not be brought up yet; 0: none
	struct {
		commit_listener *call;
		void *arg;
	} listener[LISTENERS];
};

// --- listeners ---------------------------------------------------------------------------------------------------

void commit_listen(struct commit *c, commit_listener *listener, void *arg)
{
	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < LISTENERS; i++)
		if (!c->listener[i].call) {
			c->listener[i].arg = arg;
			c->listener[i].call = listener;
			break;
		}
	pthread_mutex_unlock(&c->lock);
}

// Takes over `data`.
static void notify(struct commit *c, const char *event, json_t *data)
{
	for (int i = 0; data && i < LISTENERS; i++) {
		pthread_mutex_lock(&c->lock);
		commit_listener *call = c->listener[i].call;
		void *arg = c->listener[i].arg;

		pthread_mutex_unlock(&c->lock);
		if (call)
			call(arg, event, data);
	}
	json_decref(data);
}

static void notify_revision(struct commit *c, int64_t id, const char *state, uint32_t seconds_left)
{
	struct revision_row row = {0};

	store_get(c->store, id, &row);
	notify(c, "revision",
	       json_pack("{s:I, s:s, s:s, s:I}", "id", (json_int_t)id, "state", state, "author", row.author,
			 "seconds_left", (json_int_t)seconds_left));
}

static void notify_alarm(struct commit *c, const char *text)
{
	notify(c, "alarm", json_pack("{s:s}", "text", text));
}

// --- the parent's messages ---------------------------------------------------------------------------------------

static void forget_before(struct commit *c)
{
	json_decref(c->before);
	c->before = NULL;
	c->pending = 0;
	c->probation = false;
}

static void take_back(struct commit *c, int64_t in_force)
{
	json_decref(c->running);
	c->running = c->before ? c->before : json_object();
	c->before = NULL;
	c->revision = in_force;
	c->pending = 0;
	c->probation = false;
}

static void put_in_force(struct commit *c, struct question *q)
{
	json_decref(c->before);
	c->before = c->running;
	c->before_revision = c->revision;
	c->running = q->document;
	q->document = NULL;
	c->revision = q->revision;
	c->boot = 0;
	if (!q->result.deadline_ns) {
		forget_before(c);
		return;
	}
	c->pending = q->revision;
	c->probation = q->final;
	c->deadline = q->result.deadline_ns;
}

static bool on_result(struct commit *c, const struct message *m)
{
	const struct mm_result *b = msg_body(m, MM_RESULT, sizeof *b);
	struct question *q = &c->question;

	if (!b || !q->open || b->revision != (uint64_t)q->revision)
		return false;
	q->result = *b;
	q->open = false;
	if (b->verdict == MM_DONE && q->type == MM_COMMIT && q->document)
		put_in_force(c, q);
	else if (b->verdict == MM_DONE && q->type == MM_CONFIRM)
		forget_before(c);
	else if (b->verdict == MM_DONE && q->type == MM_REVERT)
		take_back(c, c->before_revision);
	pthread_cond_broadcast(&c->answered);
	return true;
}

static bool on_problem(struct commit *c, const struct message *m)
{
	const struct mm_problem *b = msg_body(m, MM_PROBLEM, sizeof *b);

	if (!b || !c->question.open || !memchr(b->path, 0, sizeof b->path) || !memchr(b->text, 0, sizeof b->text))
		return false;
	problem_add(&c->question.found, b->level == PROBLEM_WARNING ? PROBLEM_WARNING : PROBLEM_ERROR, b->path, "%s",
		    b->text);
	return true;
}

static bool on_reverted(struct commit *c, const struct message *m)
{
	const struct mm_reverted *b = msg_body(m, MM_REVERTED, sizeof *b);
	char text[256];
	bool ours;

	if (!b || !memchr(b->reason, 0, sizeof b->reason))
		return false;
	pthread_mutex_lock(&c->lock);
	ours = c->pending && b->revision == (uint64_t)c->pending;
	if (ours) {
		c->taken_back = c->pending;
		take_back(c, (int64_t)b->in_force);
	}
	pthread_mutex_unlock(&c->lock);
	if (!ours)
		return true; // it crossed our own REVERT
	// should this fail, the next start finds it pending and reverts it there
	store_set_state(c->store, (int64_t)b->revision, REVISION_REVERTED, NULL);
	snprintf(text, sizeof text, "revision %llu was taken back: %s", (unsigned long long)b->revision, b->reason);
	notify_alarm(c, text);
	notify_revision(c, (int64_t)b->revision, "reverted", 0);
	return true;
}

static bool on_alarm(struct commit *c, const struct message *m)
{
	const struct mm_alarm *b = msg_body(m, MM_ALARM, sizeof *b);

	if (!b || !memchr(b->text, 0, sizeof b->text))
		return false;
	notify_alarm(c, b->text);
	return true;
}

bool commit_message(struct commit *c, const struct message *m)
{
	bool good;

	if (m->type == MM_REVERTED)
		return on_reverted(c, m);
	if (m->type == MM_ALARM)
		return on_alarm(c, m);
	pthread_mutex_lock(&c->lock);
	good = m->type == MM_PROBLEM ? on_problem(c, m) : m->type == MM_RESULT && on_result(c, m);
	pthread_mutex_unlock(&c->lock);
	return good;
}

// --- asking the parent -------------------------------------------------------------------------------------------

static void pose(struct commit *c, uint32_t type, int64_t revision, json_t *document, bool final)
{
	struct question *q = &c->question;

	pthread_mutex_lock(&c->lock);
	json_decref(q->document);
	problems_free(&q->found);
	*q = (struct question){
		.type = type, .revision = revision, .document = json_incref(document), .final = final, .open = true};
	pthread_mutex_unlock(&c->lock);
}

// Sends and waits for the answer. Its problems are moved to *found. False: there is none.
static bool ask(struct commit *c, const void *body, uint32_t len, int fd, struct mm_result *answer,
		struct problems *found)
{
	nsec_t deadline = clock_now() + ANSWER_NS;
	struct timespec until = {.tv_sec = (time_t)(deadline / NSEC_PER_SEC),
				 .tv_nsec = (long)(deadline % NSEC_PER_SEC)};
	int err = channel_send(c->channel, c->question.type, body, len, fd, clock_now() + SEND_NS);
	bool good;

	pthread_mutex_lock(&c->lock);
	while (!err && c->question.open && !c->lost)
		if (pthread_cond_timedwait(&c->answered, &c->lock, &until) == ETIMEDOUT)
			break;
	good = !c->question.open;
	c->question.open = false;
	if (!good)
		c->lost = true;
	*answer = c->question.result;
	for (uint32_t i = 0; found && i < c->question.found.kept; i++) {
		const struct problem *p = &c->question.found.list[i];

		problem_add(found, p->level, p->path, "%s", p->text);
	}
	pthread_mutex_unlock(&c->lock);
	if (!good && found)
		problem_add(found, PROBLEM_ERROR, "", "the parent process does not answer");
	return good;
}

static bool ask_commit(struct commit *c, const struct config *config, json_t *document, uint32_t confirm_s, bool final,
		       uint32_t flags, struct mm_result *answer, struct problems *found)
{
	struct mm_commit body = {.revision = config->revision, .confirm_s = confirm_s, .flags = flags};
	int fd = sealed_config(config, &body.bytes);
	bool good;

	if (fd < 0) {
		problem_add(found, PROBLEM_ERROR, "", "the configuration can't be sent: %s", strerror(-fd));
		*answer = (struct mm_result){.verdict = MM_NO_ENGINE};
		return true;
	}
	pose(c, MM_COMMIT, (int64_t)config->revision, flags & MM_DRY_RUN ? NULL : document, final);
	good = ask(c, &body, sizeof body, fd, answer, found);
	close(fd);
	return good;
}

static bool ask_revision(struct commit *c, uint32_t type, int64_t id, struct mm_result *answer, struct problems *found)
{
	const struct mm_revision body = {.revision = (uint64_t)id};

	pose(c, type, id, NULL, false);
	return ask(c, &body, sizeof body, -1, answer, found);
}

static enum commit_outcome outcome_of(const struct mm_result *answer)
{
	static const enum commit_outcome outcomes[] = {
		[MM_DONE] = COMMIT_DONE, [MM_INVALID] = COMMIT_INVALID,     [MM_NEEDS_RESTART] = COMMIT_NEEDS_RESTART,
		[MM_BUSY] = COMMIT_BUSY, [MM_NO_ENGINE] = COMMIT_NO_ENGINE, [MM_NOT_PENDING] = COMMIT_NOT_PENDING,
	};

	return answer->verdict < ARRAY_LEN(outcomes) ? outcomes[answer->verdict] : COMMIT_NO_ENGINE;
}

// --- a change ----------------------------------------------------------------------------------------------------

static uint32_t seconds_left(nsec_t deadline)
{
	nsec_t now = clock_boottime();

	return time_before(now, deadline) ? (uint32_t)((deadline - now + NSEC_PER_SEC - 1) / NSEC_PER_SEC) : 0;
}

static void describe(struct commit *c, struct commit_receipt *out)
{
	pthread_mutex_lock(&c->lock);
	out->revision = c->revision;
	out->pending = c->pending && !c->probation;
	out->seconds_left = out->pending ? seconds_left(c->deadline) : 0;
	pthread_mutex_unlock(&c->lock);
}

static bool was_taken_back(struct commit *c, int64_t id)
{
	pthread_mutex_lock(&c->lock);
	bool yes = c->taken_back == id;

	pthread_mutex_unlock(&c->lock);
	return yes;
}

// The parent took it back by itself while its state was being written.
static enum commit_outcome too_late(struct commit *c, int64_t id, struct problems *found)
{
	store_set_state(c->store, id, REVISION_REVERTED, NULL);
	problem_add(found, PROBLEM_ERROR, "", "revision %lld was applied, and taken back at once", (long long)id);
	return COMMIT_NO_ENGINE;
}

// It is applied and on probation: writes down what is to become of it, and only then lets it be that.
static enum commit_outcome settle(struct commit *c, int64_t id, uint32_t confirm_s, struct problems *found)
{
	struct mm_result answer;

	if (!store_set_state(c->store, id, confirm_s ? REVISION_PENDING : REVISION_CONFIRMED, found)) {
		ask_revision(c, MM_REVERT, id, &answer, NULL);
		store_set_state(c->store, id, REVISION_FAILED, NULL);
		return COMMIT_STORE_FAILED;
	}
	if (was_taken_back(c, id))
		return too_late(c, id, found);
	if (confirm_s)
		return COMMIT_DONE;
	if (!ask_revision(c, MM_CONFIRM, id, &answer, found))
		return COMMIT_NO_ENGINE;
	return answer.verdict == MM_DONE ? COMMIT_DONE : too_late(c, id, found);
}

// Has revision `id`, which is stored, applied.
static enum commit_outcome apply(struct commit *c, int64_t id, struct config *config, json_t *document,
				 uint32_t confirm_s, uint32_t flags, struct commit_receipt *out)
{
	struct mm_result answer;
	enum commit_outcome outcome;

	config->revision = (uint64_t)id;
	if (!ask_commit(c, config, document, confirm_s ? confirm_s : PROBATION_S, !confirm_s, flags, &answer,
			&out->problems))
		return COMMIT_NO_ENGINE;
	out->duration_ns = answer.duration_ns;
	out->pause_ns = answer.pause_ns;
	out->lost = answer.lost;
	if (answer.verdict != MM_DONE) {
		store_set_state(c->store, id, REVISION_FAILED, NULL);
		return outcome_of(&answer);
	}
	outcome = settle(c, id, confirm_s, &out->problems);
	if (outcome == COMMIT_DONE)
		notify_revision(c, id, confirm_s ? "pending" : "confirmed", confirm_s);
	return outcome;
}

static char *text_of(json_t *document, struct problems *found)
{
	char *text = json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY);

	if (!text)
		problem_add(found, PROBLEM_ERROR, "", "out of memory");
	return text;
}

// Everything that can be known without storing or changing anything.
static enum commit_outcome examine(struct commit *c, const struct commit_request *r, struct config *config,
				   struct commit_receipt *out)
{
	struct mm_result answer;

	config->revision = (uint64_t)out->revision + 1; // any number that is not in force
	if (!ask_commit(c, config, NULL, 0, false, MM_DRY_RUN | (r->restart ? MM_RESTART : 0), &answer, &out->problems))
		return COMMIT_NO_ENGINE;
	return outcome_of(&answer);
}

// Adds what is not in the list yet: the parent says the same of a configuration each time it is asked.
static void merge(struct problems *to, struct problems *from)
{
	for (uint32_t i = 0; i < from->kept; i++) {
		const struct problem *p = &from->list[i];
		bool known = false;

		for (uint32_t k = 0; k < to->kept && !known; k++)
			known = !strcmp(to->list[k].path, p->path) && !strcmp(to->list[k].text, p->text);
		if (!known)
			problem_add(to, p->level, p->path, "%s", p->text);
	}
	problems_free(from);
}

static enum commit_outcome store_and_apply(struct commit *c, const struct commit_request *r, const char *text,
					   struct config *config, struct commit_receipt *out)
{
	char summary[256];
	int64_t id = store_add(c->store, out->revision, text, r->author ? r->author : "", r->source ? r->source : "",
			       r->comment ? r->comment : "", diff_summary(out->changes, summary), r->confirm_s,
			       &out->problems);
	struct problems examined = out->problems;
	enum commit_outcome outcome;

	if (id < 0)
		return COMMIT_STORE_FAILED;
	out->problems = (struct problems){0};
	outcome = apply(c, id, config, r->document, r->confirm_s, r->restart ? MM_RESTART : 0, out);
	merge(&out->problems, &examined);
	return outcome;
}

static enum commit_outcome change(struct commit *c, const struct commit_request *r, const char *text,
				  struct commit_receipt *out)
{
	json_t *running = commit_running(c, NULL);
	struct config *config = desired_parse(text, strlen(text), &out->problems);
	enum commit_outcome outcome = COMMIT_INVALID;

	if (config) {
		out->changes = document_diff(running, r->document);
		outcome = json_array_size(out->changes) ? examine(c, r, config, out) : COMMIT_UNCHANGED;
	}
	if (outcome == COMMIT_DONE && !r->dry_run)
		outcome = store_and_apply(c, r, text, config, out);
	json_decref(running);
	config_free(config);
	return outcome;
}

enum commit_outcome commit_change(struct commit *c, const struct commit_request *r, struct commit_receipt *out)
{
	enum commit_outcome outcome = COMMIT_STORE_FAILED;
	char *text;

	*out = (struct commit_receipt){0};
	pthread_mutex_lock(&c->change);
	describe(c, out);
	if (r->base >= 0 && r->base != out->revision) {
		outcome = COMMIT_STALE;
	} else if (out->pending && !r->dry_run) {
		outcome = COMMIT_BUSY;
	} else if ((text = text_of(r->document, &out->problems))) {
		outcome = change(c, r, text, out);
		free(text);
	}
	describe(c, out);
	pthread_mutex_unlock(&c->change);
	return outcome;
}

static bool is_in_state(struct commit *c, int64_t id, enum revision_state state)
{
	struct revision_row row;

	return store_get(c->store, id, &row) && row.state == state;
}

static enum commit_outcome confirm(struct commit *c, int64_t id, struct commit_receipt *out)
{
	struct mm_result answer;

	if (!store_set_state(c->store, id, REVISION_CONFIRMED, &out->problems))
		return COMMIT_STORE_FAILED; // it stays pending
	if (was_taken_back(c, id) ||
	    (ask_revision(c, MM_CONFIRM, id, &answer, &out->problems) && answer.verdict != MM_DONE)) {
		store_set_state(c->store, id, REVISION_REVERTED, NULL);
		return COMMIT_NOT_PENDING;
	}
	notify_revision(c, id, "confirmed", 0);
	return COMMIT_DONE;
}

static enum commit_outcome revert(struct commit *c, int64_t id, struct commit_receipt *out)
{
	struct mm_result answer;
	json_t *from = commit_running(c, NULL), *to;

	if (!ask_revision(c, MM_REVERT, id, &answer, &out->problems)) {
		json_decref(from);
		return COMMIT_NO_ENGINE;
	}
	out->duration_ns = answer.duration_ns;
	out->pause_ns = answer.pause_ns;
	out->lost = answer.lost;
	if (answer.verdict == MM_DONE) {
		to = commit_running(c, NULL);
		out->changes = document_diff(from, to);
		json_decref(to);
		if (!store_set_state(c->store, id, REVISION_REVERTED, NULL))
			problem_add(&out->problems, PROBLEM_WARNING, "",
				    "it is taken back, but the store can't be written");
		notify_revision(c, id, "reverted", 0);
	}
	json_decref(from);
	return outcome_of(&answer);
}

enum commit_outcome commit_confirm(struct commit *c, int64_t id, struct commit_receipt *out)
{
	enum commit_outcome outcome;

	*out = (struct commit_receipt){0};
	pthread_mutex_lock(&c->change);
	if (id == commit_pending(c, NULL) && id)
		outcome = confirm(c, id, out);
	else
		outcome = is_in_state(c, id, REVISION_CONFIRMED) ? COMMIT_DONE : COMMIT_NOT_PENDING;
	describe(c, out);
	pthread_mutex_unlock(&c->change);
	return outcome;
}

enum commit_outcome commit_revert(struct commit *c, int64_t id, struct commit_receipt *out)
{
	enum commit_outcome outcome;

	*out = (struct commit_receipt){0};
	pthread_mutex_lock(&c->change);
	if (id == commit_pending(c, NULL) && id)
		outcome = revert(c, id, out);
	else
		outcome = is_in_state(c, id, REVISION_REVERTED) ? COMMIT_DONE : COMMIT_NOT_PENDING;
	describe(c, out);
	pthread_mutex_unlock(&c->change);
	return outcome;
}

json_t *commit_running(struct commit *c, int64_t *revision)
{
	json_t *document;

	pthread_mutex_lock(&c->lock);
	document = json_incref(c->running);
	if (revision)
		*revision = c->revision;
	pthread_mutex_unlock(&c->lock);
	return document;
}

int64_t commit_pending(struct commit *c, uint32_t *left)
{
	int64_t id;

	pthread_mutex_lock(&c->lock);
	id = c->probation ? 0 : c->pending;
	if (left)
		*left = id ? seconds_left(c->deadline) : 0;
	pthread_mutex_unlock(&c->lock);
	return id;
}

bool commit_is_lost(struct commit *c)
{
	pthread_mutex_lock(&c->lock);
	bool lost = c->lost;

	pthread_mutex_unlock(&c->lock);
	return lost;
}

// --- start -------------------------------------------------------------------------------------------------------

struct commit *commit_new(struct store *s, int channel)
{
	struct commit *c = calloc(1, sizeof *c);
	pthread_condattr_t attr;

	if (!c || !(c->running = json_object())) {
		free(c);
		return NULL;
	}
	c->store = s;
	c->channel = channel;
	pthread_mutex_init(&c->change, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->answered, &attr);
	pthread_condattr_destroy(&attr);
	return c;
}

void commit_free(struct commit *c)
{
	if (!c)
		return;
	pthread_mutex_destroy(&c->change);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->answered);
	json_decref(c->question.document);
	problems_free(&c->question.found);
	json_decref(c->running);
	json_decref(c->before);
	free(c);
}

static json_t *load(struct commit *c, int64_t id)
{
	struct problems ignored = {0};
	char *text = store_document(c->store, id);
	json_t *document = text ? document_parse(text, strlen(text), &ignored) : NULL;

	problems_free(&ignored);
	free(text);
	return document;
}

// What was on its way when the process ended is at its end: nothing but `except` is pending or about to be applied.
static void close_open(struct commit *c, int64_t except)
{
	static const struct {
		enum revision_state from, to;
	} steps[] = {{REVISION_PENDING, REVISION_REVERTED}, {REVISION_STORED, REVISION_FAILED}};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		for (int64_t id; (id = store_newest(c->store, steps[i].from)) && id != except;)
			if (!store_set_state(c->store, id, steps[i].to, NULL))
				break; // a full disk: they are not booted all the same
}

// Brings up revision `id`, which is confirmed.
static void boot(struct commit *c, int64_t id, struct problems *out)
{
	struct problems found = {0};
	struct mm_result answer = {.verdict = MM_INVALID};
	char *text = store_document(c->store, id);
	json_t *document = load(c, id);
	struct config *config = document ? desired_parse(text, strlen(text), &found) : NULL;

	if (config) {
		config->revision = (uint64_t)id;
		if (ask_commit(c, config, document, 0, true, MM_RESTART, &answer, &found) && answer.verdict == MM_DONE)
			notify_revision(c, id, "confirmed", 0);
		pthread_mutex_lock(&c->lock);
		c->boot = answer.verdict == MM_DONE ? 0 : id;
		pthread_mutex_unlock(&c->lock);
	}
	if (!config || answer.verdict != MM_DONE) {
		char message[256];

		snprintf(message, sizeof message, "revision %lld can't be put in force", (long long)id);
		problem_add(out, PROBLEM_ERROR, "", "%s", message);
		notify_alarm(c, message);
	}
	merge(out, &found);
	config_free(config);
	json_decref(document);
	free(text);
}

// The first configuration of an empty store.
static void plant(struct commit *c, const char *seed, size_t len, struct problems *out)
{
	struct commit_receipt receipt = {0};
	struct config *config = desired_parse(seed, len, &receipt.problems);
	json_t *document = config ? document_parse(seed, len, &receipt.problems) : NULL;
	char *text = document ? text_of(document, &receipt.problems) : NULL;
	int64_t id =
		text ? store_add(c->store, 0, text, "boot", "file", "", "first configuration", 0, &receipt.problems)
		     : -1;

	if (id > 0)
		apply(c, id, config, document, 0, MM_RESTART, &receipt);
	merge(out, &receipt.problems);
	config_free(config);
	json_decref(document);
	free(text);
}

// The parent runs `id` already. What the store should say of it follows from what was written last, since a state is on
// disk before the parent hears of it: a final one that was applied is finished, a pending one stays pending.
static void agree(struct commit *c, int64_t id, bool on_probation, struct problems *out)
{
	struct revision_row row = {0};
	struct mm_result answer;

	store_get(c->store, id, &row);
	if (on_probation && row.confirm_s && row.state != REVISION_CONFIRMED) {
		if (row.state == REVISION_STORED)
			store_set_state(c->store, id, REVISION_PENDING, out);
		return;
	}
	if (row.state != REVISION_CONFIRMED && !store_set_state(c->store, id, REVISION_CONFIRMED, out)) {
		if (on_probation)
			ask_revision(c, MM_REVERT, id, &answer, out);
		return;
	}
	if (on_probation)
		ask_revision(c, MM_CONFIRM, id, &answer, out);
	if (was_taken_back(c, id))
		store_set_state(c->store, id, REVISION_REVERTED, out);
}

static void take_up(struct commit *c, const struct mm_state *state, json_t *document, struct problems *out)
{
	int64_t id = (int64_t)state->revision, newest;
	bool on_probation = state->deadline_ns;
	json_t *before = on_probation && state->pending ? load(c, (int64_t)state->pending) : NULL;
	struct revision_row row = {0};

	store_get(c->store, id, &row);
	pthread_mutex_lock(&c->lock);
	json_decref(c->running);
	c->running = document;
	c->revision = id;
	if (on_probation) {
		c->pending = id;
		c->probation = !row.confirm_s;
		c->before = before;
		c->before_revision = (int64_t)state->pending;
		c->deadline = state->deadline_ns;
	}
	pthread_mutex_unlock(&c->lock);
	close_open(c, id);
	// confirmed here, taken back there before it heard of it
	while ((newest = store_newest(c->store, REVISION_CONFIRMED)) > id)
		if (!store_set_state(c->store, newest, REVISION_REVERTED, out))
			break;
	agree(c, id, on_probation, out);
}

void commit_start(struct commit *c, const struct mm_state *state, const char *seed, size_t len, struct problems *out)
{
	json_t *document = state->revision ? load(c, (int64_t)state->revision) : NULL;
	struct mm_result answer;
	int64_t newest;

	pthread_mutex_lock(&c->change);
	if (document) {
		take_up(c, state, document, out);
	} else {
		if (state->deadline_ns) // of a store that is lost
			ask_revision(c, MM_REVERT, (int64_t)state->revision, &answer, out);
		close_open(c, 0);
		newest = store_newest(c->store, REVISION_CONFIRMED);
		if (newest)
			boot(c, newest, out);
		else if (seed)
			plant(c, seed, len, out);
	}
	pthread_mutex_unlock(&c->change);
}

void commit_retry(struct commit *c)
{
	struct problems found = {0};
	int64_t id;

	if (pthread_mutex_trylock(&c->change))
		return;
	pthread_mutex_lock(&c->lock);
	id = c->revision ? 0 : c->boot;
	pthread_mutex_unlock(&c->lock);
	if (id)
		boot(c, id, &found);
	problems_free(&found);
	pthread_mutex_unlock(&c->change);
}
