// SPDX-License-Identifier: GPL-2.0-or-later
// The engine process as its parent sees it: started, given what it needs, told what changes, ended.
#ifndef MGMT_SUPERVISE_H
#define MGMT_SUPERVISE_H

#include <sys/types.h>

#include "io/message.h"
#include "mgmt/ports.h"

enum engine_state {
	ENGINE_NONE,     // no process
	ENGINE_STARTING, // until READY
	ENGINE_RUNNING,
	ENGINE_STOPPING, // STOP was sent
};

struct engine {
	enum engine_state state;
	pid_t pid;
	int channel;
	nsec_t deadline; // of STARTING, STOPPING and of a configuration on its way; TIME_NEVER: none
	nsec_t started;
	uint32_t quick_deaths; // in a row, see engine_restart_delay
};

// Starts one with the sockets of *p and this configuration. 0, or -errno and no process is left.
int engine_start(struct engine *e, const struct ports *p, int stats_fd, const struct config *c);
// Sends another configuration; the answer is APPLIED or REFUSED, before e->deadline. 0 or -errno.
int engine_configure(struct engine *e, const struct config *c);
int engine_port_state(struct engine *e, uint32_t port, bool up);
// Asks it to stop: STOPPED and its end should follow before e->deadline.
void engine_stop(struct engine *e);
// Ends the process within `patience` and forgets it. Its wait status.
int engine_end(struct engine *e, nsec_t patience);

// An engine died at `now`: how long to wait before the next one is started. 0, unless it is at least the sixth in a row
// that did not live for 10 s: then up to 1 s.
nsec_t engine_restart_delay(struct engine *e, nsec_t now);

#endif
