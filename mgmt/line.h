// SPDX-License-Identifier: GPL-2.0-or-later
// The packet line as the parent holds it: open ports, an engine on them, and the configuration in force.
#ifndef MGMT_LINE_H
#define MGMT_LINE_H

#include <poll.h>

#include "io/stats.h"
#include "mgmt/supervise.h"

// How a change ended. `applied`: it is in force now. Otherwise what was before it is, and `why` says why.
struct line_result {
	uint64_t revision;
	bool applied, reopened; // reopened: with new sockets, traffic was interrupted
	const char *why;
	uint32_t actions;
	uint64_t duration_ns, pause_ns, lost;
	struct config *before; // of an applied one: what it replaced, the callee's now; NULL: nothing ran
};

// Called from within line_*: they may not start the next change themselves.
struct line_events {
	void (*changed)(void *arg, const struct line_result *r);
	void (*alarm)(void *arg, const char *text); // something people should know, also said on stderr
	void (*died)(void *arg);                    // the engine, by itself
};

enum line_step {
	LINE_SETTLED,
	LINE_WAITING,  // for an engine that can take `next`
	LINE_SENT,     // it has it
	LINE_STARTING, // an engine is being started with it
};

struct line {
	const struct line_events *events;
	void *arg;
	const char *stats_path;
	struct config *running; // what the engine has, or a new engine will be given; NULL: nothing is to run
	struct config *next;    // on its way; NULL: none
	enum line_step step;
	bool reopened; // ports were closed and opened for `next`
	bool forced;   // `next` becomes `running` whatever happens
	nsec_t change_at;
	struct ports *ports; // NULL: closed
	struct engine engine;
	struct stats *stats;
	int lock, stats_fd, link, restorer_pipe;
	pid_t restorer;
	nsec_t restart_at; // TIME_NEVER: no engine is to be started
	nsec_t died_at;    // when forwarding ended
	nsec_t count_at;
	uint32_t alarms, alarms_hidden; // printed and not printed in this second
	char refusal[512];              // what an engine said that could not start
};

// Opens what every configuration needs: lock, statistics, link events. False if something failed, which was said;
// line_close is due in any case.
bool line_open(struct line *l, const char *stats_path, const struct line_events *events, void *arg);
// Everything back: sockets, programs, devices. No engine may run any more.
void line_close(struct line *l);

// Puts *next (taken over; its revision differs from the one in force) in force, and tells by events->changed how it
// ended. `reopen`: with new sockets and a new engine; always so when nothing runs. False with a problem: it ended already,
// changed is not called, and what ran before runs again. There may be no change on its way (line_busy).
bool line_change(struct line *l, struct config *next, bool reopen, struct problems *out);
// The same for what must come back: if it can't be put in force now, it is tried again until it can. changed says when it is
// what counts. NULL: nothing shall run.
void line_force(struct line *l, struct config *next);
bool line_busy(const struct line *l);
// Whether *c can only be had with new sockets; *out says why.
bool line_needs_reopening(const struct line *l, const struct config *c, struct problems *out);

// Asks the engine to stop for good; line_stopped says when it has.
void line_stop(struct line *l);
bool line_stopped(const struct line *l);

// For the loop: two descriptors to poll, what to do when they are ready, and when to come back at the latest.
enum { LINE_FDS = 2 };
void line_poll(const struct line *l, struct pollfd fd[LINE_FDS]);
void line_serve(struct line *l, const struct pollfd fd[LINE_FDS]);
void line_deadlines(struct line *l, nsec_t now);
nsec_t line_due(const struct line *l);

#endif
