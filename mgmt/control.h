// SPDX-License-Identifier: GPL-2.0-or-later
// What the manager may ask of the parent, and what the parent does by itself for it: configurations, checked once more,
// and the dead-man timer of a pending one.
#ifndef MGMT_CONTROL_H
#define MGMT_CONTROL_H

#include "mgmt/deadman.h"
#include "mgmt/line.h"
#include "mgmt/manager_link.h"

// The change on its way, as the manager sees it.
enum control_step {
	CONTROL_IDLE,
	CONTROL_COMMIT, // asked for by COMMIT
	CONTROL_REVERT, // asked for by REVERT
	CONTROL_EXPIRE, // nobody asked: taken back
};

struct control {
	struct line *line;
	struct manager *manager;
	struct deadman deadman;
	enum control_step step;
	uint64_t revision;   // that is put in force, or taken back
	uint32_t confirm_s;  // of a COMMIT
	uint64_t generation; // of the manager that asked
	char reason[128];    // of an EXPIRE
	uint64_t last_reverted;
};

void control_init(struct control *c, struct line *line, struct manager *manager);
void control_free(struct control *c);
// Takes the messages that are there.
void control_serve(struct control *c);
// Takes back what is due to be, and tells a new manager how things are, once they are settled.
void control_deadlines(struct control *c);
nsec_t control_due(const struct control *c); // clock_now()

// For struct line_events.
void control_changed(struct control *c, const struct line_result *r);
void control_alarm(struct control *c, const char *text);
void control_died(struct control *c);

#endif
