// SPDX-License-Identifier: GPL-2.0-or-later
// The state machine of a change against a parent that this test plays: every answer it may give, what a new manager makes
// of what it finds, and a manager that is killed at random points. Whatever happens, the document in force is the one
// the parent runs, and what boots next is the newest confirmed revision.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/channel.h"
#include "io/clock.h"
#include "mgmt/commit.h"
#include "mgmt/desired.h"
#include "mgmt/sealed.h"
#include "mgmt/store_db.h"

// --- a parent ----------------------------------------------------------------------------------------------------

// What it runs is told by one number: the ageing time of the bridge, in seconds.
struct running {
	uint64_t revision, number;
};

struct parent {
	int channel;
	struct running now, before;
	nsec_t deadline; // 0: final
	uint64_t last_reverted;
	enum mm_verdict refuse; // what COMMITs get; MM_DONE: they are done
	bool refuse_late;       // only when they are no dry run
	bool silent;
	uint32_t commits, dry_runs, confirms, reverts;
	pthread_t thread;
};

static void say_result(struct parent *p, uint64_t revision, enum mm_verdict verdict, nsec_t deadline)
{
	struct mm_result r = {.revision = revision, .verdict = verdict, .duration_ns = 7, .deadline_ns = deadline};
	struct mm_problem why = {.level = PROBLEM_ERROR, .path = "/ports/a", .text = "no"};

	if (verdict == MM_INVALID || verdict == MM_NEEDS_RESTART)
		channel_send(p->channel, MM_PROBLEM, &why, sizeof why, -1, clock_now() + NSEC_PER_SEC);
	channel_send(p->channel, MM_RESULT, &r, sizeof r, -1, clock_now() + NSEC_PER_SEC);
}

static void on_commit(struct parent *p, const struct message *m)
{
	const struct mm_commit *b = msg_body(m, MM_COMMIT, sizeof *b);
	struct problems found = {0};
	struct config *c = sealed_read(m->fd, b->bytes, &found);
	bool dry = b->flags & MM_DRY_RUN;
	nsec_t deadline = b->confirm_s ? clock_boottime() + b->confirm_s * NSEC_PER_SEC : 0;

	if (!c || c->revision != b->revision)
		abort();
	p->commits += !dry;
	p->dry_runs += dry;
	if (p->deadline && !dry) {
		say_result(p, b->revision, MM_BUSY, 0);
	} else if (p->refuse != MM_DONE && !(dry && p->refuse_late)) {
		say_result(p, b->revision, p->refuse, 0);
	} else {
		if (!dry) {
			p->before = p->now;
			p->now = (struct running){c->revision, c->bridge[0].ageing_ns / NSEC_PER_SEC};
			p->deadline = deadline;
		}
		say_result(p, b->revision, MM_DONE, dry ? 0 : deadline);
	}
	config_free(c);
	problems_free(&found);
}

static void take_back(struct parent *p)
{
	p->last_reverted = p->now.revision;
	p->now = p->before;
	p->deadline = 0;
}

static void serve(struct parent *p, const struct message *m)
{
	const struct mm_revision *b = m->type == MM_COMMIT ? NULL : msg_body(m, m->type, sizeof *b);
	bool pending = b && p->deadline && p->now.revision == b->revision;

	if (p->silent)
		return;
	if (m->type == MM_COMMIT) {
		on_commit(p, m);
	} else if (m->type == MM_CONFIRM || m->type == MM_REVERT) {
		p->confirms += m->type == MM_CONFIRM;
		p->reverts += m->type == MM_REVERT;
		if (pending && m->type == MM_REVERT)
			take_back(p);
		else if (pending)
			p->deadline = 0;
		say_result(p, b->revision, pending ? MM_DONE : MM_NOT_PENDING, 0);
	}
}

static void *live(void *arg)
{
	struct parent *p = arg;
	struct message m;

	while (channel_wait(p->channel, &m, clock_now() + 60 * NSEC_PER_SEC) == 1) {
		serve(p, &m);
		if (m.fd >= 0)
			close(m.fd);
	}
	return NULL;
}

static void state_of(const struct parent *p, struct mm_state *s)
{
	*s = (struct mm_state){.revision = p->now.revision,
			       .pending = p->deadline ? p->before.revision : 0,
			       .deadline_ns = p->deadline,
			       .last_reverted = p->last_reverted,
			       .engine_up = p->now.revision != 0};
}

// --- a manager ---------------------------------------------------------------------------------------------------

static char dir[64], text[512];

struct manager {
	struct store *store;
	struct commit *commit;
	int channel;
	pthread_t thread;
	pthread_mutex_t lock;
	char events[512]; // under the lock
};

static struct parent parent;
static struct manager manager;

static void *listen_to_parent(void *arg)
{
	struct manager *m = arg;
	struct message message;

	while (channel_wait(m->channel, &message, clock_now() + 60 * NSEC_PER_SEC) == 1)
		if (!commit_message(m->commit, &message))
			abort();
	return NULL;
}

static void on_event(void *arg, const char *event, json_t *data)
{
	struct manager *m = arg;
	const char *state = json_string_value(json_object_get(data, "state"));
	size_t at;

	pthread_mutex_lock(&m->lock);
	at = strlen(m->events);
	snprintf(m->events + at, sizeof m->events - at, "%s%s%s ", event, state ? ":" : "", state ? state : "");
	pthread_mutex_unlock(&m->lock);
}

static bool heard(const char *event)
{
	pthread_mutex_lock(&manager.lock);
	bool yes = strstr(manager.events, event);

	pthread_mutex_unlock(&manager.lock);
	return yes;
}

static void start_manager(const char *seed, struct problems *found)
{
	struct mm_state state;
	int ends[2];

	assert_int_equal(channel_pair(ends), 0);
	parent.channel = ends[0];
	manager = (struct manager){.channel = ends[1], .lock = PTHREAD_MUTEX_INITIALIZER};
	manager.store = store_open(dir, found);
	assert_non_null(manager.store);
	manager.commit = commit_new(manager.store, ends[1]);
	commit_listen(manager.commit, on_event, &manager);
	state_of(&parent, &state);
	assert_int_equal(pthread_create(&parent.thread, NULL, live, &parent), 0);
	assert_int_equal(pthread_create(&manager.thread, NULL, listen_to_parent, &manager), 0);
	commit_start(manager.commit, &state, seed, seed ? strlen(seed) : 0, found);
}

// As if the process had ended; the parent lives on.
static void stop_manager(void)
{
	shutdown(parent.channel, SHUT_RDWR);
	pthread_join(parent.thread, NULL);
	pthread_join(manager.thread, NULL);
	close(parent.channel);
	close(manager.channel);
	commit_free(manager.commit);
	store_close(manager.store);
}

static const char *document_text(int number)
{
	snprintf(
		text, sizeof text,
		"{\"system\":{\"workers\":[0]},\"ports\":{\"a\":{\"device\":\"eth0\",\"queues\":1},\"b\":{\"device\":\"eth1\","
		"\"queues\":1}},\"bridges\":{\"br\":{\"ports\":[\"a\",\"b\"],\"ageing\":\"%ds\"}}}",
		number);
	return text;
}

static enum commit_outcome change(int number, uint32_t confirm_s, int64_t base, struct commit_receipt *out)
{
	json_t *document = json_loads(document_text(number), 0, NULL);
	struct commit_request r = {
		.base = base, .document = document, .author = "ann", .source = "test", .confirm_s = confirm_s};
	struct commit_receipt ignored;
	enum commit_outcome outcome = commit_change(manager.commit, &r, out ? out : &ignored);

	if (!out) {
		json_decref(ignored.changes);
		problems_free(&ignored.problems);
	}
	json_decref(document);
	return outcome;
}

static void forget(struct commit_receipt *r)
{
	json_decref(r->changes);
	problems_free(&r->problems);
}

static int number_of(json_t *document)
{
	json_t *bridge = json_object_get(json_object_get(document, "bridges"), "br");
	const char *ageing = json_string_value(json_object_get(bridge, "ageing"));

	return ageing ? atoi(ageing) : 0;
}

// The invariant: what the manager calls in force is what the parent runs.
static void assert_agreed(int64_t revision, int number)
{
	int64_t id;
	json_t *running = commit_running(manager.commit, &id);

	assert_int_equal(id, revision);
	assert_int_equal(parent.now.revision, revision);
	assert_int_equal(number_of(running), number);
	assert_int_equal(parent.now.number, number);
	json_decref(running);
}

static uint32_t state_in_store(int64_t id)
{
	struct revision_row row;

	assert_true(store_get(manager.store, id, &row));
	return row.state;
}

static int set_up(void **state)
{
	strcpy(dir, "/tmp/weir-commit-XXXXXX");
	parent = (struct parent){.refuse = MM_DONE};
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static void start_with(int number)
{
	struct problems found = {0};

	start_manager(document_text(number), &found);
	for (uint32_t i = 0; i < found.kept; i++)
		print_message("%s %s\n", found.list[i].path, found.list[i].text);
	assert_int_equal(found.errors, 0);
	problems_free(&found);
	assert_agreed(1, number);
}

// --- changes -----------------------------------------------------------------------------------------------------

static void test_seed(void **state)
{
	struct problems found = {0};

	start_with(10);
	assert_int_equal(state_in_store(1), REVISION_CONFIRMED);
	assert_int_equal(parent.deadline, 0);
	stop_manager();
	parent = (struct parent){.refuse = MM_DONE}; // a reboot: the seed is of no interest any more
	start_manager(document_text(99), &found);
	assert_int_equal(found.errors, 0);
	assert_agreed(1, 10);
	stop_manager();
}

static void test_bad_seed(void **state)
{
	struct problems found = {0};

	start_manager("{\"ports\":7}", &found);
	assert_true(found.errors > 0);
	assert_string_equal(found.list[0].path, "/ports");
	problems_free(&found);
	assert_agreed(0, 0);
	assert_int_equal(change(20, 0, 0, NULL), COMMIT_DONE); // and all is possible
	assert_agreed(1, 20);
	stop_manager();
}

static void test_final(void **state)
{
	struct commit_receipt r;
	json_t *entry;

	start_with(10);
	assert_int_equal(change(20, 0, 1, &r), COMMIT_DONE);
	assert_int_equal(r.revision, 2);
	assert_false(r.pending);
	assert_int_equal(r.duration_ns, 7);
	assert_int_equal(json_array_size(r.changes), 1);
	entry = json_array_get(r.changes, 0);
	assert_string_equal(json_string_value(json_object_get(entry, "path")), "/bridges/br/ageing");
	forget(&r);
	assert_agreed(2, 20);
	assert_int_equal(parent.deadline, 0);
	assert_int_equal(state_in_store(2), REVISION_CONFIRMED);
	assert_int_equal(commit_pending(manager.commit, NULL), 0);
	assert_string_equal(manager.events, "revision:confirmed revision:confirmed ");
	assert_int_equal(change(20, 0, -1, &r), COMMIT_UNCHANGED);
	assert_int_equal(r.revision, 2);
	forget(&r);
	assert_int_equal(change(30, 0, 1, &r), COMMIT_STALE);
	assert_int_equal(r.revision, 2);
	forget(&r);
	assert_int_equal(change(-5, 0, 2, &r), COMMIT_INVALID);
	assert_int_equal(r.problems.errors, 1);
	assert_string_equal(r.problems.list[0].path, "/bridges/br/ageing");
	forget(&r);
	assert_agreed(2, 20);
	assert_int_equal(store_newest(manager.store, REVISION_CONFIRMED), 2);
	stop_manager();
}

static void test_dry_run(void **state)
{
	json_t *document = json_loads(document_text(20), 0, NULL);
	struct commit_request r = {.base = 1, .document = document, .dry_run = true};
	struct commit_receipt got;

	start_with(10);
	assert_int_equal(commit_change(manager.commit, &r, &got), COMMIT_DONE);
	assert_int_equal(json_array_size(got.changes), 1);
	forget(&got);
	assert_agreed(1, 10);
	assert_int_equal(parent.commits, 1);
	assert_int_equal(store_newest(manager.store, REVISION_STORED), 0);
	json_decref(document);
	stop_manager();
}

static void test_confirm(void **state)
{
	struct commit_receipt r;
	uint32_t left;

	start_with(10);
	assert_int_equal(change(20, 60, 1, &r), COMMIT_DONE);
	assert_true(r.pending);
	assert_int_equal(r.seconds_left, 60);
	forget(&r);
	assert_agreed(2, 20);
	assert_int_equal(commit_pending(manager.commit, &left), 2);
	assert_true(left > 55 && left <= 60);
	assert_int_equal(state_in_store(2), REVISION_PENDING);
	assert_int_equal(change(30, 0, 2, NULL), COMMIT_BUSY);
	assert_int_equal(commit_confirm(manager.commit, 1, &r), COMMIT_DONE); // as it is already
	assert_int_equal(commit_confirm(manager.commit, 7, &r), COMMIT_NOT_PENDING);
	assert_int_equal(commit_confirm(manager.commit, 2, &r), COMMIT_DONE);
	assert_false(r.pending);
	assert_int_equal(commit_confirm(manager.commit, 2, &r), COMMIT_DONE);
	assert_int_equal(commit_revert(manager.commit, 2, &r), COMMIT_NOT_PENDING);
	assert_int_equal(parent.confirms, 2); // the seed's, and this one: not again for what is known
	assert_int_equal(parent.deadline, 0);
	assert_int_equal(state_in_store(2), REVISION_CONFIRMED);
	stop_manager();
}

static void test_revert(void **state)
{
	struct commit_receipt r;

	start_with(10);
	assert_int_equal(change(20, 60, 1, NULL), COMMIT_DONE);
	assert_int_equal(commit_revert(manager.commit, 2, &r), COMMIT_DONE);
	assert_int_equal(r.revision, 1);
	assert_int_equal(json_array_size(r.changes), 1);
	forget(&r);
	assert_agreed(1, 10);
	assert_int_equal(state_in_store(2), REVISION_REVERTED);
	assert_int_equal(commit_revert(manager.commit, 2, &r), COMMIT_DONE);
	assert_int_equal(commit_confirm(manager.commit, 2, &r), COMMIT_NOT_PENDING);
	assert_int_equal(change(30, 0, 1, NULL), COMMIT_DONE);
	assert_agreed(3, 30);
	stop_manager();
}

static void expire(void)
{
	struct mm_reverted told = {.revision = parent.now.revision,
				   .in_force = parent.before.revision,
				   .reason = "it was not confirmed in time"};

	take_back(&parent);
	channel_send(parent.channel, MM_REVERTED, &told, sizeof told, -1, clock_now() + NSEC_PER_SEC);
}

static void test_expiry(void **state)
{
	struct commit_receipt r;

	start_with(10);
	assert_int_equal(change(20, 60, 1, NULL), COMMIT_DONE);
	expire();
	for (int i = 0; i < 500 && !heard("reverted"); i++)
		usleep(2000);
	assert_agreed(1, 10);
	assert_int_equal(state_in_store(2), REVISION_REVERTED);
	assert_int_equal(commit_pending(manager.commit, NULL), 0);
	assert_string_equal(manager.events, "revision:confirmed revision:pending alarm revision:reverted ");
	assert_int_equal(commit_confirm(manager.commit, 2, &r), COMMIT_NOT_PENDING);
	assert_int_equal(store_newest(manager.store, REVISION_CONFIRMED), 1);
	stop_manager();
}

static void test_refused(void **state)
{
	static const struct {
		enum mm_verdict verdict;
		enum commit_outcome outcome;
	} cases[] = {{MM_INVALID, COMMIT_INVALID},
		     {MM_NEEDS_RESTART, COMMIT_NEEDS_RESTART},
		     {MM_BUSY, COMMIT_BUSY},
		     {MM_NO_ENGINE, COMMIT_NO_ENGINE}};
	struct commit_receipt r;

	start_with(10);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		parent.refuse = cases[i].verdict;
		assert_int_equal(change(20, 0, 1, &r), cases[i].outcome);
		if (i < 2)
			assert_string_equal(r.problems.list[0].path, "/ports/a");
		forget(&r);
		assert_agreed(1, 10);
	}
	assert_int_equal(store_newest(manager.store, REVISION_FAILED), 0); // it was asked before
	parent.refuse = MM_INVALID;
	parent.refuse_late = true;
	assert_int_equal(change(20, 0, 1, NULL), COMMIT_INVALID);
	assert_agreed(1, 10);
	assert_int_equal(state_in_store(2), REVISION_FAILED);
	parent.refuse = MM_DONE;
	assert_int_equal(change(20, 0, 1, NULL), COMMIT_DONE);
	assert_agreed(3, 20);
	stop_manager();
}

// The store fails at the worst moment: the new configuration runs already.
static void test_store_fails(void **state)
{
	static const char fail_insert[] = "CREATE TEMP TRIGGER no BEFORE INSERT ON main.revision BEGIN SELECT "
					  "RAISE(ABORT, 'no'); END";
	static const char fail_update[] = "CREATE TEMP TRIGGER no BEFORE UPDATE ON main.revision WHEN new.state < 3 "
					  "BEGIN SELECT RAISE(ABORT, 'no'); END";
	struct commit_receipt r;

	start_with(10);
	assert_int_equal(sqlite3_exec(manager.store->db, fail_insert, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(change(20, 0, 1, &r), COMMIT_STORE_FAILED);
	assert_int_equal(r.problems.errors, 1);
	forget(&r);
	assert_agreed(1, 10);
	assert_int_equal(parent.commits, 1);
	sqlite3_exec(manager.store->db, "DROP TRIGGER no", NULL, NULL, NULL);
	assert_int_equal(sqlite3_exec(manager.store->db, fail_update, NULL, NULL, NULL), SQLITE_OK);
	for (uint32_t confirm_s = 0; confirm_s <= 60; confirm_s += 60) {
		assert_int_equal(change(20, confirm_s, 1, &r), COMMIT_STORE_FAILED);
		assert_int_equal(r.revision, 1);
		forget(&r);
		assert_agreed(1, 10);
	}
	assert_int_equal(parent.reverts, 2);
	sqlite3_exec(manager.store->db, "DROP TRIGGER no", NULL, NULL, NULL);
	assert_int_equal(change(20, 60, 1, NULL), COMMIT_DONE);
	sqlite3_exec(manager.store->db, fail_update, NULL, NULL, NULL);
	assert_int_equal(commit_confirm(manager.commit, 4, &r), COMMIT_STORE_FAILED);
	assert_true(r.pending); // it can be tried again
	forget(&r);
	stop_manager();
}

// --- a new manager -----------------------------------------------------------------------------------------------

// Leaves revision 2 in `state` and the parent with 2 over 1 as given, and starts a new manager.
static void restart(enum revision_state state, uint32_t confirm_s, bool pending, bool reverted)
{
	struct problems found = {0};

	start_with(10);
	assert_int_equal(store_add(manager.store, 1, document_text(20), "", "", "", "", confirm_s, NULL), 2);
	if (state != REVISION_STORED)
		assert_true(store_set_state(manager.store, 2, state, NULL));
	stop_manager();
	if (!reverted) {
		parent.before = parent.now;
		parent.now = (struct running){2, 20};
		parent.deadline = pending ? clock_boottime() + 60 * NSEC_PER_SEC : 0;
	} else {
		parent.last_reverted = 2;
	}
	start_manager(NULL, &found);
	assert_int_equal(found.errors, 0);
	problems_free(&found);
}

static void test_new_manager(void **state)
{
	static const struct {
		enum revision_state found;
		uint32_t confirm_s;
		bool pending, reverted; // by the parent
		enum revision_state after;
		bool stays_pending;
		const char *what;
	} cases[] = {
		{REVISION_STORED, 0, true, false, REVISION_CONFIRMED, false, "a final one was applied: it is finished"},
		{REVISION_CONFIRMED, 0, true, false, REVISION_CONFIRMED, false, "the parent had not heard of it yet"},
		{REVISION_CONFIRMED, 60, true, false, REVISION_CONFIRMED, false, "a confirmation likewise"},
		{REVISION_STORED, 60, true, false, REVISION_PENDING, true, "a pending one was applied"},
		{REVISION_PENDING, 60, true, false, REVISION_PENDING, true, "pending before and after"},
		{REVISION_PENDING, 60, false, true, REVISION_REVERTED, false, "taken back meanwhile"},
		{REVISION_STORED, 60, false, true, REVISION_FAILED, false, "taken back before it was noted"},
		{REVISION_STORED, 0, false, true, REVISION_FAILED, false, "stored, and never applied"},
		{REVISION_CONFIRMED, 60, false, true, REVISION_REVERTED, false,
		 "confirmed, but too late for the parent"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		set_up(NULL);
		print_message("%s\n", cases[i].what);
		restart(cases[i].found, cases[i].confirm_s, cases[i].pending, cases[i].reverted);
		assert_int_equal(state_in_store(2), cases[i].after);
		assert_int_equal(commit_pending(manager.commit, NULL), cases[i].stays_pending ? 2 : 0);
		assert_int_equal(parent.deadline != 0, cases[i].stays_pending);
		assert_agreed(cases[i].reverted ? 1 : 2, cases[i].reverted ? 10 : 20);
		if (cases[i].stays_pending) {
			struct commit_receipt r;

			assert_int_equal(commit_revert(manager.commit, 2, &r), COMMIT_DONE);
			forget(&r);
			assert_agreed(1, 10);
		}
		stop_manager();
		tear_down(NULL);
	}
	set_up(NULL);
}

// The box itself starts again.
static void test_reboot(void **state)
{
	static const enum revision_state found[] = {REVISION_STORED, REVISION_PENDING, REVISION_CONFIRMED};

	for (size_t i = 0; i < ARRAY_LEN(found); i++) {
		struct problems none = {0};
		bool good = found[i] == REVISION_CONFIRMED;

		set_up(NULL);
		start_with(10);
		assert_int_equal(store_add(manager.store, 1, document_text(20), "", "", "", "", 60, NULL), 2);
		if (found[i] != REVISION_STORED)
			assert_true(store_set_state(manager.store, 2, found[i], NULL));
		stop_manager();
		parent = (struct parent){.refuse = MM_DONE};
		start_manager(NULL, &none);
		assert_agreed(good ? 2 : 1, good ? 20 : 10);
		assert_int_equal(store_newest(manager.store, REVISION_PENDING), 0);
		assert_int_equal(store_newest(manager.store, REVISION_STORED), 0);
		assert_int_equal(parent.deadline, 0);
		stop_manager();
		tear_down(NULL);
	}
	set_up(NULL);
}

// A device is not there yet when the box starts.
static void test_boot_later(void **state)
{
	struct problems found = {0};

	start_with(10);
	stop_manager();
	parent = (struct parent){.refuse = MM_INVALID};
	start_manager(NULL, &found);
	assert_true(found.errors > 0);
	problems_free(&found);
	assert_agreed(0, 0);
	commit_retry(manager.commit);
	assert_agreed(0, 0);
	parent.refuse = MM_DONE;
	commit_retry(manager.commit);
	assert_agreed(1, 10);
	assert_int_equal(parent.commits, 3);
	commit_retry(manager.commit); // nothing to do any more
	assert_int_equal(parent.commits, 3);
	stop_manager();
}

// --- kill -9 -----------------------------------------------------------------------------------------------------

// In a process of its own: changes without end, some of them to be confirmed, some reverted.
static void change_without_end(int channel, struct mm_state state, unsigned seed)
{
	struct commit_receipt r;

	manager =
		(struct manager){.channel = channel, .lock = PTHREAD_MUTEX_INITIALIZER, .store = store_open(dir, NULL)};
	manager.commit = commit_new(manager.store, channel);
	pthread_create(&manager.thread, NULL, listen_to_parent, &manager);
	commit_start(manager.commit, &state, NULL, 0, &(struct problems){0});
	for (;;) {
		int64_t pending = commit_pending(manager.commit, NULL);

		if (!pending)
			change(10 + rand_r(&seed) % 1000, rand_r(&seed) % 2 ? 60 : 0, -1, NULL);
		else if (rand_r(&seed) % 2)
			commit_confirm(manager.commit, pending, &r);
		else
			commit_revert(manager.commit, pending, &r);
	}
}

static void run_and_kill(unsigned seed)
{
	struct mm_state now;
	struct message m;
	int ends[2], status;
	nsec_t end;
	pid_t pid;

	assert_int_equal(channel_pair(ends), 0);
	state_of(&parent, &now);
	pid = fork();
	if (!pid) {
		close(ends[0]);
		change_without_end(ends[1], now, seed);
	}
	close(ends[1]);
	parent.channel = ends[0];
	end = clock_now() + (20 + (nsec_t)rand_r(&seed) % 200) * NSEC_PER_MSEC + (nsec_t)rand_r(&seed) % NSEC_PER_MSEC;
	while (time_before(clock_now(), end))
		if (channel_wait(ends[0], &m, end) == 1) {
			serve(&parent, &m);
			if (m.fd >= 0)
				close(m.fd);
		}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	while (channel_receive(ends[0], &m) == 1) { // what it had sent still counts
		serve(&parent, &m);
		if (m.fd >= 0)
			close(m.fd);
	}
	close(ends[0]);
}

static void test_kill(void **state)
{
	int rounds = getenv("WEIR_LONG") ? 200 : 25;
	uint32_t commits;

	print_message("seed 1\n");
	start_with(10);
	stop_manager();
	for (int i = 0; i < rounds; i++) {
		struct problems found = {0};
		struct running pending_over;
		bool pending, box = i % 3 == 2;
		int64_t id;

		run_and_kill((unsigned)i + 1);
		pending = parent.deadline;
		pending_over = parent.before;
		if (box)
			parent = (struct parent){.refuse = MM_DONE, .commits = parent.commits};
		start_manager(NULL, &found);
		assert_int_equal(found.errors, 0);
		json_decref(commit_running(manager.commit, &id));
		assert_agreed(id, (int)parent.now.number);
		if (box) {
			assert_int_equal(id, store_newest(manager.store, REVISION_CONFIRMED));
			assert_int_equal(store_newest(manager.store, REVISION_PENDING), 0);
		} else if (pending && parent.deadline) {
			assert_int_equal(store_newest(manager.store, REVISION_PENDING), id);
			assert_int_equal(store_newest(manager.store, REVISION_CONFIRMED), pending_over.revision);
		} else {
			assert_int_equal(id, store_newest(manager.store, REVISION_CONFIRMED));
		}
		assert_int_equal(store_newest(manager.store, REVISION_STORED), 0);
		stop_manager();
	}
	commits = parent.commits;
	print_message("%d kills, %u changes\n", rounds, commits);
	assert_true(commits > (uint32_t)rounds / 2); // a disk that syncs slowly makes few
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_seed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bad_seed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_final, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_dry_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_confirm, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_revert, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_expiry, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_store_fails, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_new_manager, NULL, tear_down),
		cmocka_unit_test_setup_teardown(test_reboot, NULL, tear_down),
		cmocka_unit_test_setup_teardown(test_boot_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kill, set_up, tear_down),
	};

	desired_prepare();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
