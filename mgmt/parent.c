// SPDX-License-Identifier: GPL-2.0-or-later
// Life and death in order: lock, statistics and signals, then the line (mgmt/line: ports, engine) with the configuration of
// a file or of a manager, one loop, and all of it backwards. The loop waits for signals, messages of the engine, link
// events, and a reader or the manager. Nothing in it waits for long, so that a dead engine (its end of the channel
// closes) is seen at once.
//
// Where configurations come from is the difference between the two ways to run:
//
//   file       SIGHUP -> a reader reads -> checked -> line_change
//   managed    mgmt/control: COMMIT -> checked -> line_change -> RESULT, and the timer of a pending revision
#include "mgmt/parent.h"

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "io/clock.h"
#include "mgmt/control.h"
#include "mgmt/line.h"
#include "mgmt/reader.h"
#include "mgmt/say.h"

struct parent {
	struct line line;
	int signals;
	bool stopping;
	int status;
	// a file
	const char *file; // NULL: managed
	struct reader *reader;
	bool reread; // SIGHUP came while another change was on its way
	// managed
	struct manager manager;
	struct control control;
};

static void stop(struct parent *p)
{
	p->stopping = true;
	line_stop(&p->line);
	if (!p->file)
		manager_stop(&p->manager);
}

// --- what the line tells -----------------------------------------------------------------------------------------

static void changed(void *arg, const struct line_result *r)
{
	struct parent *p = arg;

	if (!p->file) {
		control_changed(&p->control, r);
	} else if (r->applied) {
		config_free(r->before);
	} else if (p->line.running) {
		say("%s: revision %llu was not applied: %s; nothing was changed", p->file,
		    (unsigned long long)r->revision, r->why);
	} else {
		say("%s", r->why);
		p->status = EXIT_FAILED;
		p->stopping = true;
	}
}

static void alarmed(void *arg, const char *text)
{
	struct parent *p = arg;

	if (!p->file)
		control_alarm(&p->control, text);
}

static void died(void *arg)
{
	struct parent *p = arg;

	if (!p->file)
		control_died(&p->control);
}

static const struct line_events events = {.changed = changed, .alarm = alarmed, .died = died};

// --- a file ------------------------------------------------------------------------------------------------------

static void start_reading(struct parent *p)
{
	struct problems found = {0};

	if (p->reader || line_busy(&p->line)) {
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
	if (c && p->line.ports) {
		ports_align(p->line.ports, c);
		ports_resolve(p->line.ports, c);
	}
	if (c) {
		c->revision = p->line.running->revision + 1;
		config_check(c, &found);
		config_check_live(p->line.running, c, &found);
	}
	print_problems(p->file, &found);
	if (c && !found.errors) {
		line_change(&p->line, c, false, &found);
	} else {
		config_free(c);
		say("%s: nothing was changed", p->file);
	}
	problems_free(&found);
}

static void serve_reader(struct parent *p, short revents)
{
	if (p->reader && (revents || time_is_due(reader_deadline(p->reader), clock_now())) && reader_read(p->reader))
		finish_reading(p);
	if (p->reread && !p->reader && !line_busy(&p->line)) {
		p->reread = false;
		start_reading(p);
	}
}

// --- the loop ----------------------------------------------------------------------------------------------------

enum { FD_SIGNALS, FD_READER, FD_LINE, FD_MANAGER = FD_LINE + LINE_FDS, FDS = FD_MANAGER + MANAGER_FDS };

static void serve_signals(struct parent *p)
{
	struct signalfd_siginfo s;

	while (read(p->signals, &s, sizeof s) == sizeof s) {
		if (s.ssi_signo != SIGHUP)
			stop(p);
		else if (p->file)
			start_reading(p);
		else
			say("SIGHUP is of no use: configurations come by the API");
	}
}

static nsec_t next_event(const struct parent *p)
{
	nsec_t due = line_due(&p->line);

	if (p->reader)
		due = time_sooner(due, reader_deadline(p->reader));
	if (!p->file)
		due = time_sooner(due, time_sooner(manager_due(&p->manager), control_due(&p->control)));
	return due;
}

static void wait_for_events(struct parent *p, struct pollfd fd[FDS])
{
	nsec_t due = next_event(p), now = clock_now();
	int timeout = time_before(now, due) ? (int)((due - now) / NSEC_PER_MSEC) + 1 : 0;

	fd[FD_SIGNALS] = (struct pollfd){.fd = p->signals, .events = POLLIN};
	fd[FD_READER] = (struct pollfd){.fd = p->reader && !p->stopping ? reader_fd(p->reader) : -1, .events = POLLIN};
	line_poll(&p->line, fd + FD_LINE);
	fd[FD_MANAGER] = fd[FD_MANAGER + 1] = (struct pollfd){.fd = -1};
	if (!p->file)
		manager_poll(&p->manager, fd + FD_MANAGER);
	if (poll(fd, FDS, timeout) < 0)
		memset(fd, 0, FDS * sizeof *fd);
}

static void serve_manager(struct parent *p, const struct pollfd fd[MANAGER_FDS])
{
	if (fd[0].revents)
		control_serve(&p->control);
	manager_serve(&p->manager, fd);
	manager_deadlines(&p->manager, clock_now());
	if (!p->stopping)
		control_deadlines(&p->control);
}

static bool ended(const struct parent *p)
{
	return p->stopping && line_stopped(&p->line) && (p->file || manager_stopped(&p->manager));
}

static void serve(struct parent *p)
{
	while (!ended(p)) {
		struct pollfd fd[FDS];

		wait_for_events(p, fd);
		line_serve(&p->line, fd + FD_LINE);
		if (fd[FD_SIGNALS].revents)
			serve_signals(p);
		if (p->file && !p->stopping)
			serve_reader(p, fd[FD_READER].revents);
		if (!p->file)
			serve_manager(p, fd + FD_MANAGER);
		line_deadlines(&p->line, clock_now());
	}
}

// --- birth and death ---------------------------------------------------------------------------------------------

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

static int finish(struct parent *p)
{
	struct problems ignored = {0};

	if (p->reader)
		config_free(reader_finish(p->reader, &ignored));
	problems_free(&ignored);
	line_close(&p->line);
	if (p->signals >= 0)
		close(p->signals);
	if (p->status == EXIT_FINE)
		say("stopped, devices are as they were");
	return p->status;
}

int parent_run_file(const char *config_file, const char *stats_path)
{
	struct parent p = {.file = config_file};
	struct problems found = {0};
	struct config *first;

	p.signals = open_signals();
	first = read_config(config_file, false, &found);
	print_problems(config_file, &found);
	problems_free(&found);
	if (!first) {
		close(p.signals);
		return EXIT_REFUSED;
	}
	first->revision = 1;
	if (!line_open(&p.line, stats_path, &events, &p)) {
		config_free(first);
		p.status = EXIT_FAILED;
		return finish(&p);
	}
	p.status = line_change(&p.line, first, true, &found) ? EXIT_FINE : EXIT_FAILED;
	print_problems(config_file, &found);
	problems_free(&found);
	if (p.status == EXIT_FINE)
		serve(&p);
	return finish(&p);
}

int parent_run_managed(const char *state_dir, const char *listen, const char *seed, const char *stats_path)
{
	struct parent p = {.manager = {.listener = -1}};

	p.signals = open_signals();
	if (line_open(&p.line, stats_path, &events, &p) &&
	    manager_open(&p.manager, state_dir, listen, seed, stats_path)) {
		control_init(&p.control, &p.line, &p.manager);
		serve(&p);
		control_free(&p.control);
	} else {
		p.status = EXIT_FAILED;
	}
	manager_close(&p.manager);
	return finish(&p);
}
