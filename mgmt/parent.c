// SPDX-License-Identifier: GPL-2.0-or-later
// Life and death in order. parent_run: read the configuration, lock, open ports, statistics and signals, start the
// engine, serve, and all of it backwards. In between one loop waits for signals, messages of the engine, link events
// and a reader. Nothing in it waits for long, so that a dead engine (its end of the channel closes) is seen at once:
//
//   engine    NONE -> STARTING -> RUNNING -> STOPPING; dies at any time -> sockets anew -> STARTING
//   change    SIGHUP -> a reader reads -> `next`, checked -> sent when RUNNING -> APPLIED: it is `running` now
//                                                                          -> REFUSED: forgotten, nothing changed
//
// The engine sees hostile packets, so what it says is checked like anything from outside; an engine that answers
// nonsense, or nothing in time, is ended and replaced. A configuration on its way to an engine that died is dropped:
// it may be what killed it. Texts it sends are printed without control characters, and not faster than people read.
#include "mgmt/parent.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/channel.h"
#include "io/clock.h"
#include "io/stats.h"
#include "mgmt/link.h"
#include "mgmt/reader.h"
#include "mgmt/restorer.h"
#include "mgmt/spawn.h"
#include "mgmt/supervise.h"

#define LOCK_NS (5 * NSEC_PER_SEC)
#define COUNT_NS (1 * NSEC_PER_SEC)    // between two readings of the programs' counters
#define RETRY_NS (200 * NSEC_PER_MSEC) // until sockets are tried again
#define END_NS (500 * NSEC_PER_MSEC)   // from STOPPED to the end of the process

enum { ALARMS_A_SECOND = 5, MESSAGES_A_ROUND = 64 };

struct parent {
	const char *file, *stats_path;
	struct config *running; // what the engine has, or a new engine will be given
	struct config *next;    // read and checked; NULL: none
	bool next_sent;
	bool reread; // SIGHUP came while another change was on its way
	struct reader *reader;
	struct ports *ports;
	struct engine engine;
	struct stats *stats;
	int lock, stats_fd, signals, link, restorer_pipe;
	pid_t restorer;
	bool forwarded;    // an engine was READY once
	nsec_t restart_at; // TIME_NEVER: no engine is to be started
	nsec_t died_at;    // when forwarding ended
	nsec_t count_at;
	uint32_t alarms, alarms_hidden; // printed and not printed in this second
	bool stopping;
	int status;
};

// --- what people see ---------------------------------------------------------------------------------------------

PRINTF_LIKE(1, 2)
static void say(const char *fmt, ...)
{
	va_list ap;

	fputs("weir: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void print_problems(const char *file, const struct problems *p)
{
	for (uint32_t i = 0; i < p->kept; i++) {
		const struct problem *q = &p->list[i];

		say("%s: %s%s%s%s", file, q->level == PROBLEM_WARNING ? "warning: " : "", q->path, *q->path ? ": " : "",
		    q->text);
	}
	if (p->errors + p->warnings > p->kept)
		say("%s: and %u more", file, p->errors + p->warnings - p->kept);
}

// A text from the engine, made harmless for a terminal, in place.
static const char *harmless(char *text, size_t size)
{
	text[size - 1] = 0;
	for (char *c = text; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
	return text;
}

static void say_forwarding(const struct parent *p)
{
	char ports[PORTS_MAX * 96];
	const struct umem *u = &p->ports->umem;

	ports_describe(p->ports, ports, sizeof ports);
	say("forwarding: %s; %u worker%s, %u frames of %u bytes on %s pages", ports, p->running->workers,
	    p->running->workers == 1 ? "" : "s", u->frames, u->chunk_size, u->huge ? "2 MB" : "4 KB");
}

// --- the engine --------------------------------------------------------------------------------------------------

static void start_engine(struct parent *p)
{
	struct problems found = {0};
	int err = 0;

	p->restart_at = TIME_NEVER;
	if (ports_bind(p->ports, &found))
		err = engine_start(&p->engine, p->ports, p->stats_fd, p->running);
	if (found.errors || err) {
		print_problems("sockets", &found);
		if (err)
			say("the engine could not be started: %s", strerror(-err));
		ports_unbind(p->ports);
		p->restart_at = clock_now() + RETRY_NS;
	}
	problems_free(&found);
}

static void drop_next(struct parent *p, const char *why)
{
	say("%s: revision %llu was not applied: %s; nothing was changed", p->file,
	    (unsigned long long)p->next->revision, why);
	config_free(p->next);
	p->next = NULL;
	p->next_sent = false;
}

// The engine is gone, or is sent away: its sockets are closed, another one follows, at once if it can.
static void lose_engine(struct parent *p, const char *why, nsec_t patience)
{
	bool ready = p->engine.state == ENGINE_RUNNING, asked = p->engine.state == ENGINE_STOPPING;
	nsec_t now = clock_now(), wait;
	char ending[80];
	int status = engine_end(&p->engine, patience);

	spawn_ending(status, ending, sizeof ending);
	if (asked) {
		if (status)
			say("the engine did not stop in order: %s%s%s", why, *why ? ", " : "", ending);
		return;
	}
	if (p->next_sent)
		drop_next(p, "the engine died over it");
	ports_unbind(p->ports);
	if (!p->forwarded) {
		say("the engine could not start: %s%s%s", why, *why ? ", " : "", ending);
		p->status = EXIT_FAILED;
		p->stopping = true;
		return;
	}
	if (ready)
		p->died_at = now;
	wait = engine_restart_delay(&p->engine, now);
	p->restart_at = now + wait;
	say("the engine is gone (%s%s%s), a new one is started %s", why, *why ? ", " : "", ending,
	    wait ? "after a pause, because it dies again and again" : "now");
}

static void send_next(struct parent *p)
{
	int err;

	if (!p->next || p->next_sent || p->engine.state != ENGINE_RUNNING)
		return;
	err = engine_configure(&p->engine, p->next);
	p->next_sent = !err;
	if (err)
		lose_engine(p, "it takes no messages", 0);
}

static void port_changed(uint32_t port, bool up, void *arg)
{
	struct parent *p = arg;

	say("port %s: %s", p->ports->port[port].conf.name, up ? "carrier" : "no carrier");
	if (p->engine.state == ENGINE_RUNNING && engine_port_state(&p->engine, port, up))
		lose_engine(p, "it takes no messages", 0);
}

static bool on_ready(struct parent *p, const struct message *m)
{
	const struct msg_applied *b = msg_body(m, MSG_READY, sizeof *b);

	if (!b || p->engine.state != ENGINE_STARTING || b->revision != p->running->revision)
		return false;
	p->engine.state = ENGINE_RUNNING;
	p->engine.deadline = TIME_NEVER;
	link_refresh(p->ports);
	for (uint32_t i = 0; i < p->ports->count; i++)
		if (engine_port_state(&p->engine, i, p->ports->port[i].up))
			return false;
	if (p->forwarded)
		say("forwarding again after %.2f s, revision %llu", (double)(clock_now() - p->died_at) / NSEC_PER_SEC,
		    (unsigned long long)p->running->revision);
	else
		say_forwarding(p);
	p->forwarded = true;
	send_next(p);
	return true;
}

static bool on_applied(struct parent *p, const struct message *m)
{
	const struct msg_applied *b = msg_body(m, MSG_APPLIED, sizeof *b);

	if (!b || !p->next_sent || b->revision != p->next->revision)
		return false;
	say("revision %llu applied in %.1f ms, longest pause %.0f us, %llu packets lost",
	    (unsigned long long)b->revision, (double)b->duration_ns / NSEC_PER_MSEC,
	    (double)b->pause_ns / NSEC_PER_USEC, (unsigned long long)b->lost);
	config_free(p->running);
	p->running = p->next;
	p->next = NULL;
	p->next_sent = false;
	p->engine.deadline = TIME_NEVER;
	return true;
}

static bool on_refused(struct parent *p, const struct message *m)
{
	const struct msg_refused *b = msg_body(m, MSG_REFUSED, sizeof *b);
	struct msg_refused copy;

	if (!b)
		return false;
	copy = *b;
	harmless(copy.text, sizeof copy.text);
	if (p->next_sent && copy.revision == p->next->revision) {
		drop_next(p, copy.text);
		p->engine.deadline = TIME_NEVER;
		return true;
	}
	say("the engine refuses: %s", copy.text);
	return p->engine.state == ENGINE_STARTING; // its end follows
}

static bool on_alarm(struct parent *p, const struct message *m)
{
	const struct msg_alarm *b = msg_body(m, MSG_ALARM, sizeof *b);
	struct msg_alarm copy;

	if (!b)
		return false;
	copy = *b;
	if (p->alarms++ < ALARMS_A_SECOND)
		say("%s", harmless(copy.text, sizeof copy.text));
	else
		p->alarms_hidden++;
	return true;
}

// Takes one message. False: the engine is not to be trusted any longer.
static bool on_message(struct parent *p, const struct message *m)
{
	switch (m->type) {
	case MSG_READY:
		return on_ready(p, m);
	case MSG_APPLIED:
		return on_applied(p, m);
	case MSG_REFUSED:
		return on_refused(p, m);
	case MSG_ALARM:
		return on_alarm(p, m);
	case MSG_STOPPED:
		if (p->engine.state == ENGINE_STOPPING)
			p->engine.deadline = clock_now() + END_NS;
		return p->engine.state == ENGINE_STOPPING || p->engine.state == ENGINE_STARTING;
	default:
		return false;
	}
}

static void serve_engine(struct parent *p)
{
	for (int i = 0; i < MESSAGES_A_ROUND && p->engine.state != ENGINE_NONE; i++) {
		struct message m;
		int rc = channel_receive(p->engine.channel, &m);

		if (rc == 0)
			return;
		if (rc < 0) {
			lose_engine(p, rc == -EPIPE ? "" : "its message is malformed", NSEC_PER_SEC);
			return;
		}
		if (m.fd >= 0)
			close(m.fd); // it has none to give
		pid_t before = p->engine.pid;
		bool good = on_message(p, &m);

		if (!good && p->engine.state != ENGINE_NONE && p->engine.pid == before)
			lose_engine(p, "its message makes no sense", 0);
	}
}

// --- changes -----------------------------------------------------------------------------------------------------

static void start_reading(struct parent *p)
{
	struct problems found = {0};

	if (p->reader || p->next) {
		p->reread = true;
		return;
	}
	p->reader = reader_start(p->file, false, &found);
	print_problems(p->file, &found);
	if (!p->reader)
		say("%s: nothing was changed", p->file);
	problems_free(&found);
}

static void finish_reading(struct parent *p)
{
	struct problems found = {0};
	struct config *c = reader_finish(p->reader, &found);

	p->reader = NULL;
	if (c) {
		ports_align(p->ports, c);
		ports_resolve(p->ports, c);
		c->revision = p->running->revision + 1;
		config_check(c, &found);
		config_check_live(p->running, c, &found);
	}
	print_problems(p->file, &found);
	if (c && !found.errors) {
		p->next = c;
		send_next(p);
	} else {
		config_free(c);
		say("%s: nothing was changed", p->file);
	}
	problems_free(&found);
}

// --- the loop ----------------------------------------------------------------------------------------------------

static void stop(struct parent *p)
{
	if (p->stopping && p->engine.state == ENGINE_STOPPING)
		p->engine.deadline = clock_now(); // the second time means it
	p->stopping = true;
	p->restart_at = TIME_NEVER;
	if (p->engine.state == ENGINE_RUNNING)
		engine_stop(&p->engine);
	else if (p->engine.state == ENGINE_STARTING)
		engine_end(&p->engine, 0);
}

static void serve_signals(struct parent *p)
{
	struct signalfd_siginfo s;

	while (read(p->signals, &s, sizeof s) == sizeof s) {
		if (s.ssi_signo == SIGHUP)
			start_reading(p);
		else
			stop(p);
	}
}

static void count(struct parent *p)
{
	for (uint32_t i = 0; i < p->ports->count; i++) {
		const struct port *port = &p->ports->port[i];
		uint64_t lost;

		counter_set(&p->stats->port[i].program_misses, xdp_misses(port->program));
		if (!netdev_lost(port->device.ifindex, &lost) && lost >= port->lost_before)
			counter_set(&p->stats->port[i].device_dropped, lost - port->lost_before);
	}
	if (p->alarms_hidden)
		say("and %u more messages of the engine", p->alarms_hidden);
	p->alarms = p->alarms_hidden = 0;
}

// TIME_NEVER is not an instant: time_before() may not see it.
static bool is_due(nsec_t instant, nsec_t now)
{
	return instant != TIME_NEVER && !time_before(now, instant);
}

static void serve_deadlines(struct parent *p, nsec_t now)
{
	if (p->engine.state != ENGINE_NONE && is_due(p->engine.deadline, now))
		lose_engine(p, "it did not answer in time", 0);
	if (!p->stopping && p->engine.state == ENGINE_NONE && is_due(p->restart_at, now))
		start_engine(p);
	if (is_due(p->count_at, now)) {
		count(p);
		p->count_at = now + COUNT_NS;
	}
	if (p->reread && !p->reader && !p->next) {
		p->reread = false;
		start_reading(p);
	}
}

static nsec_t sooner(nsec_t a, nsec_t b)
{
	return b == TIME_NEVER || (a != TIME_NEVER && time_before(a, b)) ? a : b;
}

static void wait_for_events(struct parent *p, struct pollfd fd[4])
{
	nsec_t due = p->count_at, now = clock_now();
	int timeout = 0;

	due = sooner(due, p->restart_at);
	if (p->engine.state != ENGINE_NONE)
		due = sooner(due, p->engine.deadline);
	if (p->reader)
		due = sooner(due, reader_deadline(p->reader));
	if (time_before(now, due))
		timeout = (int)((due - now) / NSEC_PER_MSEC) + 1;
	fd[0] = (struct pollfd){.fd = p->signals, .events = POLLIN};
	fd[1] = (struct pollfd){.fd = p->engine.state == ENGINE_NONE ? -1 : p->engine.channel, .events = POLLIN};
	fd[2] = (struct pollfd){.fd = p->link, .events = POLLIN};
	fd[3] = (struct pollfd){.fd = p->reader ? reader_fd(p->reader) : -1, .events = POLLIN};
	if (poll(fd, 4, timeout) < 0)
		memset(fd, 0, 4 * sizeof *fd);
}

static void serve(struct parent *p)
{
	while (!p->stopping || p->engine.state != ENGINE_NONE) {
		struct pollfd fd[4];

		wait_for_events(p, fd);
		if (fd[1].revents)
			serve_engine(p);
		if (fd[0].revents)
			serve_signals(p);
		if (fd[2].revents)
			link_read(p->link, p->ports, port_changed, p);
		if (p->reader && (fd[3].revents || is_due(reader_deadline(p->reader), clock_now())) &&
		    reader_read(p->reader))
			finish_reading(p);
		serve_deadlines(p, clock_now());
	}
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

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void make_directory(const char *stats_path)
{
	char path[512];

	snprintf(path, sizeof path, "%s", stats_path);
	mkdir(dirname(path), 0755); // if that fails, opening a file in it tells why
}

// Opens everything the loop needs. False if something failed, which was said.
static bool open_all(struct parent *p)
{
	struct problems found = {0};

	make_directory(p->stats_path);
	p->lock = take_lock(p->stats_path);
	if (p->lock < 0)
		return false;
	p->ports = ports_open(p->running, &found);
	print_problems(p->file, &found);
	problems_free(&found);
	if (!p->ports)
		return false;
	p->restorer = restorer_start(p->ports, p->lock, &p->restorer_pipe);
	if (p->restorer < 0) {
		say("can't start the restorer: %s", strerror(-p->restorer));
		return false;
	}
	p->stats_fd = stats_create(p->stats_path, &p->stats);
	if (p->stats_fd < 0) {
		say("%s: %s", p->stats_path, strerror(-p->stats_fd));
		return false;
	}
	p->link = link_open();
	if (p->link < 0)
		say("can't watch links: %s", strerror(-p->link));
	return p->link >= 0;
}

static void close_all(struct parent *p)
{
	if (p->reader) {
		struct problems ignored = {0};

		config_free(reader_finish(p->reader, &ignored));
		problems_free(&ignored);
	}
	ports_close(p->ports);
	if (p->restorer > 0)
		restorer_dismiss(p->restorer, p->restorer_pipe);
	if (p->stats_fd >= 0) {
		stats_unmap(p->stats);
		close(p->stats_fd);
		unlink(p->stats_path); // ours: nobody else makes it while we have the lock
	}
	if (p->link >= 0)
		close(p->link);
	if (p->signals >= 0)
		close(p->signals);
	if (p->lock >= 0)
		close(p->lock);
	config_free(p->next);
	config_free(p->running);
}

int parent_run(const char *config_file, const char *stats_path)
{
	struct parent p = {.file = config_file,
			   .stats_path = stats_path,
			   .engine = {.channel = -1, .deadline = TIME_NEVER},
			   .lock = -1,
			   .stats_fd = -1,
			   .link = -1,
			   .restart_at = TIME_NEVER};
	struct problems found = {0};

	p.signals = open_signals();
	p.running = read_config(config_file, false, &found);
	print_problems(config_file, &found);
	problems_free(&found);
	if (!p.running) {
		p.status = EXIT_REFUSED;
	} else if (p.running->revision = 1, !open_all(&p)) {
		p.status = EXIT_FAILED;
	} else {
		int err = engine_start(&p.engine, p.ports, p.stats_fd, p.running);

		if (err) {
			say("the engine could not be started: %s", strerror(-err));
			p.status = EXIT_FAILED;
		} else {
			p.count_at = clock_now();
			serve(&p);
		}
	}
	close_all(&p);
	if (p.status == EXIT_FINE)
		say("stopped, devices are as they were");
	return p.status;
}
