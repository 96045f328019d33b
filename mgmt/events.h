// SPDX-License-Identifier: GPL-2.0-or-later
// Server-sent events: one text, made once, to all who listen. Knows no sockets: a listener that has nothing to read sleeps
// and is woken through a callback.
#ifndef MGMT_EVENTS_H
#define MGMT_EVENTS_H

#include <jansson.h>
#include <sys/types.h>

#include "core/units.h"
#include "mgmt/auth.h"

struct events;
struct event_stream;

enum { STREAMS_MAX = 8, STREAM_EVENTS = 32, STREAM_BYTES = 8 << 20, EVENTS_COMMENT_S = 15 };
enum { EVENTS_NOTHING = 0, EVENTS_END = -1 };

struct events_options {
	json_t *(*sample)(void *arg); // data of the `stats` event: since the last call, once a second; NULL: none now
	bool (*allowed)(void *arg, const struct identity *who); // asked every 15 s: may the stream go on?
	void (*wake)(void *arg, void *listener);                // events_read will not answer NOTHING any more
	void *arg;
	nsec_t second_ns; // NSEC_PER_SEC; tests are faster
};

// With a thread that ticks while anybody listens. NULL: no memory or thread.
struct events *events_new(const struct events_options *o);
// All streams end, and their listeners are woken; no callback is running or will be.
void events_stop(struct events *e);
// After the last events_close.
void events_free(struct events *e);

// A stream for the listener. NULL: there are STREAMS_MAX, or no memory.
struct event_stream *events_open(struct events *e, void *listener, const struct identity *who);
void events_close(struct event_stream *s);
// Copies up to `max` bytes. EVENTS_NOTHING: `sleep` was called, under the lock that wake is called under; EVENTS_END: the
// stream is over.
ssize_t events_read(struct event_stream *s, char *buf, size_t max, void (*sleep)(void *listener));

// To all streams, from any thread, without waiting for any of them. Who does not keep up is cut off.
void events_send(struct events *e, const char *event, const json_t *data);

#endif
