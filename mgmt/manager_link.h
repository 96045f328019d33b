// SPDX-License-Identifier: GPL-2.0-or-later
// The manager process as its parent sees it: started, asked whether it is alive, replaced, ended. It is never waited for:
// whatever it does, the line goes on.
#ifndef MGMT_MANAGER_LINK_H
#define MGMT_MANAGER_LINK_H

#include <poll.h>
#include <sys/types.h>

#include "core/msg.h"
#include "core/units.h"
#include "mgmt/manager_message.h"

enum manager_state {
	MANAGER_NONE,
	MANAGER_RUNNING,
	MANAGER_STOPPING, // was asked to end
	MANAGER_DYING,    // was killed; its end has not been seen yet
};

struct manager {
	const char *dir, *listen, *seed, *stats_path;
	enum manager_state state;
	pid_t pid;
	int channel, pidfd, listener;
	uint64_t generation;                           // how many were started
	bool informed;                                 // STATE was sent
	nsec_t started, restart_at, ping_at, deadline; // deadline: of PONG, or of its end
	uint32_t quick_deaths;
};

// Makes the state directory, binds the address ("ADDRESS:PORT", "[ADDRESS]:PORT", or "fd:N" for a listening socket that was
// inherited) and says when the first one is to start: now. seed: a file with a first configuration, or NULL. False if
// something failed, which was said; manager_close is due in any case.
bool manager_open(struct manager *m, const char *dir, const char *listen, const char *seed, const char *stats_path);
void manager_close(struct manager *m);

// Sends it what it needs to serve, with *state at the end. Once for each that was started.
void manager_inform(struct manager *m, const struct mm_state *state);
// Sends a message, if there is one that was informed. One that takes no messages is killed.
void manager_send(struct manager *m, uint32_t type, const void *body, uint32_t len);
void manager_send_problems(struct manager *m, const struct problems *p);
// It is not to be trusted any longer, or does not answer.
void manager_kill(struct manager *m, const char *why);

// Takes one message: 1 and *out filled, 0 if there is none. PONG is taken care of.
int manager_receive(struct manager *m, struct message *out);

void manager_stop(struct manager *m);
bool manager_stopped(const struct manager *m);

enum { MANAGER_FDS = 2 };
void manager_poll(const struct manager *m, struct pollfd fd[MANAGER_FDS]);
// Its end, if that is what the descriptors say.
void manager_serve(struct manager *m, const struct pollfd fd[MANAGER_FDS]);
void manager_deadlines(struct manager *m, nsec_t now);
nsec_t manager_due(const struct manager *m);

#endif
