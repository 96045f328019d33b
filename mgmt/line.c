// SPDX-License-Identifier: GPL-2.0-or-later
// One engine, one configuration in force, at most one on its way to it:
//
//   engine   NONE -> STARTING -> RUNNING -> STOPPING; dies at any time -> sockets anew -> STARTING
//   change   WAITING -> SENT -> APPLIED: it is `running` now
//                            -> REFUSED, or the engine dies: forgotten, nothing changed
//            reopen: engine stopped, ports closed and opened, STARTING with it -> READY: it is `running` now
//                            -> anything else: ports closed, and all of it again with what was `running`
//
// The engine sees hostile packets, so what it says is checked like anything from outside; an engine that answers
// nonsense, or nothing in time, is ended and replaced. A configuration on its way to an engine that died is dropped:
// it may be what killed it. Texts it sends are printed without control characters, and not faster than people read.
#include "mgmt/line.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/channel.h"
#include "io/clock.h"
#include "mgmt/link.h"
#include "mgmt/restorer.h"
#include "mgmt/say.h"
#include "mgmt/spawn.h"

#define LOCK_NS (5 * NSEC_PER_SEC)
#define COUNT_NS (1 * NSEC_PER_SEC)    // between two readings of the programs' counters
#define RETRY_NS (200 * NSEC_PER_MSEC) // until sockets are tried again
#define END_NS (500 * NSEC_PER_MSEC)   // from STOPPED to the end of the process
#define HALT_NS (2 * NSEC_PER_SEC)     // for an engine to stop that makes way for another

enum { ALARMS_A_SECOND = 5, MESSAGES_A_ROUND = 64 };

// Said to people, and to whoever listens.
PRINTF_LIKE(2, 3)
static void report(struct line *l, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	say("%s", text);
	l->events->alarm(l->arg, text);
}

static void say_forwarding(const struct line *l)
{
	char ports[PORTS_MAX * 96];
	const struct umem *u = &l->ports->umem;

	ports_describe(l->ports, ports, sizeof ports);
	say("forwarding: %s; %u worker%s, %u frames of %u bytes on %s pages", ports, l->running->workers,
	    l->running->workers == 1 ? "" : "s", u->frames, u->chunk_size, u->huge ? "2 MB" : "4 KB");
}

// --- ports, and whoever restores them ----------------------------------------------------------------------------

static void close_ports(struct line *l)
{
	ports_close(l->ports);
	l->ports = NULL;
	if (l->restorer > 0)
		restorer_dismiss(l->restorer, l->restorer_pipe);
	l->restorer = 0;
}

static bool open_ports(struct line *l, struct config *c, struct problems *out)
{
	l->ports = ports_open(c, out);
	if (!l->ports)
		return false;
	stats_forget(l->stats);
	l->restorer = restorer_start(l->ports, l->lock, &l->restorer_pipe);
	if (l->restorer > 0)
		return true;
	problem_add(out, PROBLEM_ERROR, "", "can't start the restorer: %s", strerror(-l->restorer));
	close_ports(l);
	return false;
}

// --- the end of a change -----------------------------------------------------------------------------------------

static void take_over(struct line *l, struct line_result *r)
{
	r->revision = l->next->revision;
	r->reopened = l->reopened;
	r->applied = true;
	r->before = l->running;
	l->running = l->next;
	l->next = NULL;
	l->step = LINE_SETTLED;
	l->forced = l->reopened = false;
	l->events->changed(l->arg, r);
}

// The change on its way has failed. What must come back is in force nevertheless, and waits for an engine.
static void give_up(struct line *l, const char *why)
{
	struct line_result r = {.why = why, .duration_ns = clock_now() - l->change_at};

	if (l->forced) {
		say("revision %llu: %s; trying again", (unsigned long long)l->next->revision, why);
		take_over(l, &r);
		return;
	}
	r.revision = l->next->revision;
	r.reopened = l->reopened;
	config_free(l->next);
	l->next = NULL;
	l->step = LINE_SETTLED;
	l->reopened = false;
	l->events->changed(l->arg, &r);
}

// --- the engine --------------------------------------------------------------------------------------------------

static bool start(struct line *l, struct config *c, struct problems *out)
{
	int err;

	l->restart_at = TIME_NEVER;
	l->refusal[0] = 0;
	if (!l->ports ? !open_ports(l, c, out) : !ports_bind(l->ports, out))
		return false;
	err = engine_start(&l->engine, l->ports, l->stats_fd, c);
	if (!err)
		return true;
	problem_add(out, PROBLEM_ERROR, "", "the engine could not be started: %s", strerror(-err));
	ports_unbind(l->ports);
	return false;
}

// Starts an engine with a change that waits for one, or with what is in force.
static void start_engine(struct line *l)
{
	struct problems found = {0};
	bool waiting = l->step == LINE_WAITING;

	if (waiting)
		l->step = LINE_STARTING;
	if (!start(l, waiting ? l->next : l->running, &found)) {
		print_problems("sockets", &found);
		l->restart_at = clock_now() + RETRY_NS;
		if (waiting)
			give_up(l, found.kept ? found.list[0].text : "its sockets can't be opened");
	} else if (found.kept) {
		print_problems("sockets", &found);
	}
	problems_free(&found);
}

// The engine is gone, or is sent away: its sockets are closed, another one follows, at once if it can.
static void lose_engine(struct line *l, const char *why, nsec_t patience)
{
	bool ready = l->engine.state == ENGINE_RUNNING, asked = l->engine.state == ENGINE_STOPPING;
	nsec_t now = clock_now(), wait;
	char ending[80], text[sizeof l->refusal + 200];
	int status = engine_end(&l->engine, patience);

	spawn_ending(status, ending, sizeof ending);
	if (asked) {
		if (status)
			say("the engine did not stop in order: %s%s%s", why, *why ? ", " : "", ending);
		return;
	}
	ports_unbind(l->ports);
	if (l->step == LINE_STARTING) {
		snprintf(text, sizeof text, "the engine could not start: %s%s%s%s%s", l->refusal,
			 *l->refusal ? ", " : "", why, *why ? ", " : "", ending);
		if (l->reopened)
			close_ports(l);
		l->restart_at = l->running || l->forced ? now : TIME_NEVER;
		give_up(l, text);
		return;
	}
	if (ready)
		l->died_at = now;
	wait = engine_restart_delay(&l->engine, now);
	l->restart_at = now + wait;
	report(l, "the engine is gone (%s%s%s), a new one is started %s", why, *why ? ", " : "", ending,
	       wait ? "after a pause, because it dies again and again" : "now");
	if (l->step == LINE_SENT)
		give_up(l, "the engine died over it");
	l->events->died(l->arg);
}

// Ends the engine for another one with other sockets.
static void halt(struct line *l)
{
	if (l->engine.state == ENGINE_RUNNING) {
		l->died_at = clock_now();
		engine_stop(&l->engine);
		engine_end(&l->engine, HALT_NS);
	} else if (l->engine.state != ENGINE_NONE) {
		engine_end(&l->engine, 0);
	}
	l->restart_at = TIME_NEVER;
}

static void send_next(struct line *l)
{
	if (l->step != LINE_WAITING || l->engine.state != ENGINE_RUNNING)
		return;
	l->step = LINE_SENT;
	if (engine_configure(&l->engine, l->next))
		lose_engine(l, "it takes no messages", 0);
}

static void port_changed(uint32_t port, bool up, void *arg)
{
	struct line *l = arg;

	report(l, "port %s: %s", l->ports->port[port].conf.name, up ? "carrier" : "no carrier");
	if (l->engine.state == ENGINE_RUNNING && engine_port_state(&l->engine, port, up))
		lose_engine(l, "it takes no messages", 0);
}

// --- what the engine says ----------------------------------------------------------------------------------------

static bool on_ready(struct line *l, const struct message *m)
{
	const struct msg_applied *b = msg_body(m, MSG_READY, sizeof *b);
	const struct config *c = l->step == LINE_STARTING ? l->next : l->running;
	nsec_t now = clock_now();
	bool again = l->running;

	if (!b || l->engine.state != ENGINE_STARTING || b->revision != c->revision)
		return false;
	l->engine.state = ENGINE_RUNNING;
	l->engine.deadline = TIME_NEVER;
	link_refresh(l->ports);
	for (uint32_t i = 0; i < l->ports->count; i++)
		if (engine_port_state(&l->engine, i, l->ports->port[i].up))
			return false;
	if (l->step == LINE_STARTING) {
		struct line_result r = {.duration_ns = now - l->change_at, .pause_ns = again ? now - l->died_at : 0};

		take_over(l, &r);
	}
	if (again)
		report(l, "forwarding again after %.2f s, revision %llu", (double)(now - l->died_at) / NSEC_PER_SEC,
		       (unsigned long long)l->running->revision);
	else
		say_forwarding(l);
	send_next(l);
	return true;
}

static bool on_applied(struct line *l, const struct message *m)
{
	const struct msg_applied *b = msg_body(m, MSG_APPLIED, sizeof *b);
	struct line_result r;

	if (!b || l->step != LINE_SENT || b->revision != l->next->revision)
		return false;
	say("revision %llu applied in %.1f ms, longest pause %.0f us, %llu packets lost",
	    (unsigned long long)b->revision, (double)b->duration_ns / NSEC_PER_MSEC,
	    (double)b->pause_ns / NSEC_PER_USEC, (unsigned long long)b->lost);
	l->engine.deadline = TIME_NEVER;
	r = (struct line_result){.actions = (uint32_t)b->actions,
				 .duration_ns = b->duration_ns,
				 .pause_ns = b->pause_ns,
				 .lost = b->lost};
	take_over(l, &r);
	return true;
}

static bool on_refused(struct line *l, const struct message *m)
{
	const struct msg_refused *b = msg_body(m, MSG_REFUSED, sizeof *b);
	struct msg_refused copy;

	if (!b)
		return false;
	copy = *b;
	harmless(copy.text, sizeof copy.text);
	if (l->step == LINE_SENT && copy.revision == l->next->revision) {
		bool forced = l->forced;

		l->engine.deadline = TIME_NEVER;
		give_up(l, copy.text);
		return !forced; // it still runs what shall not run
	}
	say("the engine refuses: %s", copy.text);
	memcpy(l->refusal, copy.text, sizeof l->refusal);
	return l->engine.state == ENGINE_STARTING; // its end follows
}

static bool on_alarm(struct line *l, const struct message *m)
{
	const struct msg_alarm *b = msg_body(m, MSG_ALARM, sizeof *b);
	struct msg_alarm copy;

	if (!b)
		return false;
	copy = *b;
	if (l->alarms++ < ALARMS_A_SECOND)
		report(l, "%s", harmless(copy.text, sizeof copy.text));
	else
		l->alarms_hidden++;
	return true;
}

// Takes one message. False: the engine is not to be trusted any longer.
static bool on_message(struct line *l, const struct message *m)
{
	switch (m->type) {
	case MSG_READY:
		return on_ready(l, m);
	case MSG_APPLIED:
		return on_applied(l, m);
	case MSG_REFUSED:
		return on_refused(l, m);
	case MSG_ALARM:
		return on_alarm(l, m);
	case MSG_STOPPED:
		if (l->engine.state == ENGINE_STOPPING)
			l->engine.deadline = clock_now() + END_NS;
		return l->engine.state == ENGINE_STOPPING || l->engine.state == ENGINE_STARTING;
	default:
		return false;
	}
}

static void serve_engine(struct line *l)
{
	for (int i = 0; i < MESSAGES_A_ROUND && l->engine.state != ENGINE_NONE; i++) {
		struct message m;
		int rc = channel_receive(l->engine.channel, &m);

		if (rc == 0)
			return;
		if (rc < 0) {
			lose_engine(l, rc == -EPIPE ? "" : "its message is malformed", NSEC_PER_SEC);
			return;
		}
		if (m.fd >= 0)
			close(m.fd); // it has none to give
		pid_t before = l->engine.pid;
		bool good = on_message(l, &m);

		if (!good && l->engine.state != ENGINE_NONE && l->engine.pid == before)
			lose_engine(l, "its message makes no sense", 0);
	}
}

// --- changes -----------------------------------------------------------------------------------------------------

bool line_busy(const struct line *l)
{
	return l->next;
}

bool line_needs_reopening(const struct line *l, const struct config *c, struct problems *out)
{
	struct problems found = {0};
	bool needed;

	if (!l->running)
		return true;
	config_check_live(l->running, c, &found);
	needed = found.errors;
	for (uint32_t i = 0; out && i < found.kept; i++)
		problem_add(out, found.list[i].level, found.list[i].path, "%s", found.list[i].text);
	problems_free(&found);
	return needed;
}

bool line_change(struct line *l, struct config *next, bool reopen, struct problems *out)
{
	assert(!l->next);
	l->next = next;
	l->change_at = clock_now();
	if (l->running && !reopen) {
		l->step = LINE_WAITING;
		send_next(l);
		return true;
	}
	halt(l);
	close_ports(l);
	l->step = LINE_STARTING;
	l->reopened = true;
	if (start(l, next, out))
		return true;
	close_ports(l);
	config_free(next);
	l->next = NULL;
	l->step = LINE_SETTLED;
	l->reopened = false;
	if (l->running)
		l->restart_at = clock_now();
	return false;
}

void line_force(struct line *l, struct config *next)
{
	struct line_result r = {0};
	bool reopen;

	assert(!l->next);
	l->change_at = clock_now();
	if (!next) {
		r.before = l->running;
		r.applied = true;
		halt(l);
		close_ports(l);
		l->running = NULL;
		l->events->changed(l->arg, &r);
		return;
	}
	reopen = line_needs_reopening(l, next, NULL);
	l->next = next;
	l->forced = true;
	l->step = LINE_WAITING;
	if (!reopen && l->engine.state == ENGINE_RUNNING) {
		send_next(l);
		return;
	}
	halt(l);
	if (reopen)
		close_ports(l);
	else if (l->ports)
		ports_unbind(l->ports);
	l->reopened = reopen;
	start_engine(l);
}

// --- the loop ----------------------------------------------------------------------------------------------------

void line_stop(struct line *l)
{
	if (l->engine.state == ENGINE_STOPPING)
		l->engine.deadline = clock_now(); // the second time means it
	l->restart_at = TIME_NEVER;
	if (l->engine.state == ENGINE_RUNNING)
		engine_stop(&l->engine);
	else if (l->engine.state == ENGINE_STARTING)
		engine_end(&l->engine, 0);
}

bool line_stopped(const struct line *l)
{
	return l->engine.state == ENGINE_NONE;
}

static void count(struct line *l)
{
	for (uint32_t i = 0; l->ports && i < l->ports->count; i++) {
		const struct port *port = &l->ports->port[i];
		uint64_t lost;

		counter_set(&l->stats->port[i].program_misses, xdp_misses(port->program));
		if (!netdev_lost(port->device.ifindex, &lost) && lost >= port->lost_before)
			counter_set(&l->stats->port[i].device_dropped, lost - port->lost_before);
	}
	if (l->alarms_hidden)
		say("and %u more messages of the engine", l->alarms_hidden);
	l->alarms = l->alarms_hidden = 0;
}

void line_poll(const struct line *l, struct pollfd fd[LINE_FDS])
{
	fd[0] = (struct pollfd){.fd = l->engine.state == ENGINE_NONE ? -1 : l->engine.channel, .events = POLLIN};
	fd[1] = (struct pollfd){.fd = l->ports ? l->link : -1, .events = POLLIN};
}

void line_serve(struct line *l, const struct pollfd fd[LINE_FDS])
{
	if (fd[0].revents)
		serve_engine(l);
	if (fd[1].revents && l->ports)
		link_read(l->link, l->ports, port_changed, l);
}

void line_deadlines(struct line *l, nsec_t now)
{
	if (l->engine.state != ENGINE_NONE && time_is_due(l->engine.deadline, now))
		lose_engine(l, "it did not answer in time", 0);
	if (l->engine.state == ENGINE_NONE && time_is_due(l->restart_at, now))
		start_engine(l);
	if (time_is_due(l->count_at, now)) {
		count(l);
		l->count_at = now + COUNT_NS;
	}
}

nsec_t line_due(const struct line *l)
{
	nsec_t due = time_sooner(l->count_at, l->restart_at);

	return l->engine.state == ENGINE_NONE ? due : time_sooner(due, l->engine.deadline);
}

// --- birth and death ---------------------------------------------------------------------------------------------

// One parent at a time for one set of statistics, and none before the restorer of its predecessor is done.
static int take_lock(const char *stats_path)
{
	nsec_t deadline = clock_now() + LOCK_NS;
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s.lock", stats_path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		say("%s: %s", path, strerror(errno));
		return -1;
	}
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (!time_before(clock_now(), deadline)) {
			say("%s is held by another weir; give this one another --stats path", path);
			close(fd);
			return -1;
		}
		nanosleep(&(struct timespec){.tv_nsec = 20 * (long)NSEC_PER_MSEC}, NULL);
	}
	return fd;
}

static void make_directory(const char *stats_path)
{
	char path[512];

	snprintf(path, sizeof path, "%s", stats_path);
	mkdir(dirname(path), 0755); // if that fails, opening a file in it tells why
}

bool line_open(struct line *l, const char *stats_path, const struct line_events *events, void *arg)
{
	*l = (struct line){.events = events,
			   .arg = arg,
			   .stats_path = stats_path,
			   .engine = {.channel = -1, .deadline = TIME_NEVER},
			   .lock = -1,
			   .stats_fd = -1,
			   .link = -1,
			   .restart_at = TIME_NEVER,
			   .count_at = clock_now()};
	make_directory(stats_path);
	l->lock = take_lock(stats_path);
	if (l->lock < 0)
		return false;
	l->stats_fd = stats_create(stats_path, &l->stats);
	if (l->stats_fd < 0) {
		say("%s: %s", stats_path, strerror(-l->stats_fd));
		return false;
	}
	l->link = link_open();
	if (l->link < 0)
		say("can't watch links: %s", strerror(-l->link));
	return l->link >= 0;
}

void line_close(struct line *l)
{
	close_ports(l);
	if (l->stats_fd >= 0) {
		stats_unmap(l->stats);
		close(l->stats_fd);
		unlink(l->stats_path); // ours: nobody else makes it while we have the lock
	}
	if (l->link >= 0)
		close(l->link);
	if (l->lock >= 0)
		close(l->lock);
	config_free(l->next);
	config_free(l->running);
}
