// SPDX-License-Identifier: GPL-2.0-or-later
// A stream of server-sent events (WHATWG HTML, section 9.2), taken apart as its bytes arrive.
#ifndef MGMT_WEIRCTL_EVENTS_H
#define MGMT_WEIRCTL_EVENTS_H

#include "core/types.h"

enum { EVENT_NAME_MAX = 32, EVENT_ID_MAX = 64, EVENT_BYTES_MAX = 16 << 20 };

struct sse {
	void (*event)(void *arg, const char *name, const char *data); // both end with 0 and are valid for the call
	void *arg;
	char name[EVENT_NAME_MAX], id[EVENT_ID_MAX]; // id: of the last event, to resume with
	char *line, *data;
	size_t line_len, data_len, line_room, data_room;
	bool after_cr; // the last byte was a CR: an LF that follows belongs to it
};

// Takes bytes; calls back for each event that is complete. False: a line or event is larger than EVENT_BYTES_MAX.
bool sse_feed(struct sse *e, const char *bytes, size_t len);
// A new connection begins: what is incomplete is dropped, id stays.
void sse_restart(struct sse *e);
void sse_free(struct sse *e);

#endif
