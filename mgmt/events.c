// SPDX-License-Identifier: GPL-2.0-or-later
// The stream of events (the WHATWG's server-sent events). A message is one block of memory with a count of the streams
// that still have it to send, so eight listeners cost one text. A stream's queue is short, in number and in bytes: a
// listener that lets it fill would only ever read the past; it is told so in a comment, and begins anew.
//
// Lock order: `lock`, then whatever sleep and wake take. Sleeping is decided under the lock, so a wake-up cannot come before it.
#include "mgmt/events.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/clock.h"

struct message {
	atomic_uint holders;
	size_t len;
	char text[];
};

struct event_stream {
	struct events *events;
	struct event_stream *next;
	void *listener;
	struct identity who;
	uint64_t serial;
	struct message *queue[STREAM_EVENTS];
	unsigned first, count;
	size_t bytes, sent; // waiting; of the first message
	bool asleep, ending;
};

struct events {
	struct events_options options;
	pthread_mutex_t lock;
	pthread_cond_t changed; // streams opened, or stop
	pthread_t thread;
	bool stop;
	unsigned streams;
	uint64_t next_id, next_serial;
	struct event_stream *stream;
};

static void message_put(struct message *m)
{
	if (atomic_fetch_sub(&m->holders, 1) == 1)
		free(m);
}

static struct message *message_new(size_t len)
{
	struct message *m = malloc(sizeof *m + len + 1);

	if (m) {
		atomic_init(&m->holders, 1);
		m->len = len;
	}
	return m;
}

static struct message *message_text(const char *text)
{
	struct message *m = message_new(strlen(text));

	if (m)
		memcpy(m->text, text, m->len + 1);
	return m;
}

// --- under the lock ------------------------------------------------------------------------------------------------

static void wake(struct event_stream *s)
{
	if (s->asleep)
		s->events->options.wake(s->events->options.arg, s->listener);
	s->asleep = false;
}

static void enqueue(struct event_stream *s, struct message *m)
{
	atomic_fetch_add(&m->holders, 1);
	s->queue[(s->first + s->count++) % STREAM_EVENTS] = m;
	s->bytes += m->len;
	wake(s);
}

// Lets go of all but what has been sent in part.
static void forget(struct event_stream *s)
{
	unsigned keep = s->sent ? 1 : 0;

	while (s->count > keep) {
		struct message *m = s->queue[(s->first + --s->count) % STREAM_EVENTS];

		s->bytes -= m->len;
		message_put(m);
	}
}

// The last a stream gets; `why` is NULL or a comment line.
static void finish(struct event_stream *s, const char *why)
{
	struct message *m = why ? message_text(why) : NULL;

	forget(s);
	if (m) {
		enqueue(s, m);
		message_put(m);
	}
	s->ending = true;
	wake(s);
}

static void broadcast(struct events *e, struct message *m)
{
	for (struct event_stream *s = e->stream; s; s = s->next) {
		if (s->ending)
			continue;
		// One may be larger than the bytes allowed, or it would never arrive anywhere.
		if (s->count == STREAM_EVENTS || (s->count && s->bytes + m->len > STREAM_BYTES))
			finish(s, ": too slow, events were lost\n\n");
		else
			enqueue(s, m);
	}
}

// --- sending and reading -------------------------------------------------------------------------------------------

void events_send(struct events *e, const char *event, const json_t *data)
{
	char head[96];
	size_t body = json_dumpb(data, NULL, 0, JSON_COMPACT), at;
	struct message *m = body ? message_new(sizeof head + body + 2) : NULL;

	if (!m)
		return;
	// The id is put in front when it is known, right-aligned to the data, which is made outside the lock.
	json_dumpb(data, m->text + sizeof head, body, JSON_COMPACT);
	memcpy(m->text + sizeof head + body, "\n\n", 3);
	pthread_mutex_lock(&e->lock);
	at = (size_t)snprintf(head, sizeof head, "id: %llu\nevent: %.40s\ndata: ", (unsigned long long)e->next_id++,
			      event);
	memmove(m->text + at, m->text + sizeof head, body + 2);
	memcpy(m->text, head, at);
	m->len = at + body + 2;
	broadcast(e, m);
	pthread_mutex_unlock(&e->lock);
	message_put(m);
}

static void send_comment(struct events *e)
{
	struct message *m = message_text(": still here\n\n");

	if (!m)
		return;
	pthread_mutex_lock(&e->lock);
	broadcast(e, m);
	pthread_mutex_unlock(&e->lock);
	message_put(m);
}

ssize_t events_read(struct event_stream *s, char *buf, size_t max, void (*sleep)(void *listener))
{
	struct events *e = s->events;
	ssize_t got = EVENTS_NOTHING;

	pthread_mutex_lock(&e->lock);
	if (s->count) {
		struct message *m = s->queue[s->first];
		size_t n = m->len - s->sent < max ? m->len - s->sent : max;

		memcpy(buf, m->text + s->sent, n);
		s->sent += n;
		got = (ssize_t)n;
		if (s->sent == m->len) {
			s->first = (s->first + 1) % STREAM_EVENTS;
			s->count--;
			s->bytes -= m->len;
			s->sent = 0;
			message_put(m);
		}
	} else if (s->ending) {
		got = EVENTS_END;
	} else {
		s->asleep = true;
		sleep(s->listener);
	}
	pthread_mutex_unlock(&e->lock);
	return got;
}

struct event_stream *events_open(struct events *e, void *listener, const struct identity *who)
{
	struct event_stream *s = calloc(1, sizeof *s);
	struct message *hello = message_text("retry: 1000\n\n");
	bool fits;

	pthread_mutex_lock(&e->lock);
	fits = s && hello && !e->stop && e->streams < STREAMS_MAX;
	if (fits) {
		s->events = e;
		s->listener = listener;
		s->who = *who;
		s->serial = e->next_serial++;
		s->next = e->stream;
		e->stream = s;
		e->streams++;
		enqueue(s, hello);
		pthread_cond_signal(&e->changed);
	}
	pthread_mutex_unlock(&e->lock);
	if (hello)
		message_put(hello);
	if (fits)
		return s;
	free(s);
	return NULL;
}

void events_close(struct event_stream *s)
{
	struct events *e = s->events;
	struct event_stream **at = &e->stream;

	pthread_mutex_lock(&e->lock);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	e->streams--;
	s->sent = 0;
	forget(s);
	pthread_mutex_unlock(&e->lock);
	free(s);
}

// --- the clock -----------------------------------------------------------------------------------------------------

// Streams whose user may not have them any more end. The store is asked without the lock: it may have to wait for a disk.
static void check_allowed(struct events *e)
{
	struct {
		uint64_t serial;
		struct identity who;
	} asked[STREAMS_MAX];
	unsigned n = 0;

	pthread_mutex_lock(&e->lock);
	for (struct event_stream *s = e->stream; s; s = s->next, n++) {
		asked[n].serial = s->serial;
		asked[n].who = s->who;
	}
	pthread_mutex_unlock(&e->lock);
	for (unsigned i = 0; i < n; i++) {
		if (e->options.allowed(e->options.arg, &asked[i].who))
			continue;
		pthread_mutex_lock(&e->lock);
		for (struct event_stream *s = e->stream; s; s = s->next)
			if (s->serial == asked[i].serial && !s->ending)
				finish(s, ": logged out\n\n");
		pthread_mutex_unlock(&e->lock);
	}
}

// Waits until anybody listens; *idle: it had to. False: stop.
static bool wait_listener(struct events *e, bool *idle)
{
	bool stop;

	pthread_mutex_lock(&e->lock);
	*idle = !e->streams;
	while (!e->streams && !e->stop)
		pthread_cond_wait(&e->changed, &e->lock);
	stop = e->stop;
	pthread_mutex_unlock(&e->lock);
	return !stop;
}

static bool wait_until(struct events *e, nsec_t until)
{
	struct timespec t = {(time_t)(until / NSEC_PER_SEC), (long)(until % NSEC_PER_SEC)};
	bool stop;

	pthread_mutex_lock(&e->lock);
	while (!e->stop && time_before(clock_now(), until))
		pthread_cond_timedwait(&e->changed, &e->lock, &t);
	stop = e->stop;
	pthread_mutex_unlock(&e->lock);
	return !stop;
}

static void *ticker(void *arg)
{
	struct events *e = arg;
	nsec_t next = 0;
	unsigned tick = 0;
	bool idle, first = true;

	while (wait_listener(e, &idle)) {
		json_t *data;

		if (idle || first) { // the first second begins now, not when somebody last listened
			json_decref(e->options.sample(e->options.arg));
			next = clock_now();
			first = false;
		}
		next += e->options.second_ns;
		if (time_before(next, clock_now())) // a second was missed: it is not made up for
			next = clock_now();
		if (!wait_until(e, next))
			break;
		data = e->options.sample(e->options.arg);
		if (data)
			events_send(e, "stats", data);
		json_decref(data);
		if (++tick % EVENTS_COMMENT_S == 0) {
			check_allowed(e);
			send_comment(e);
		}
	}
	return NULL;
}

struct events *events_new(const struct events_options *o)
{
	struct events *e = calloc(1, sizeof *e);
	pthread_condattr_t attr;
	sigset_t all, before;
	int err;

	if (!e)
		return NULL;
	e->options = *o;
	e->next_id = 1;
	pthread_mutex_init(&e->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&e->changed, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&e->thread, NULL, ticker, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		return e;
	events_free(e);
	return NULL;
}

void events_stop(struct events *e)
{
	pthread_mutex_lock(&e->lock);
	e->stop = true;
	pthread_cond_signal(&e->changed);
	pthread_mutex_unlock(&e->lock);
	pthread_join(e->thread, NULL);
	pthread_mutex_lock(&e->lock);
	for (struct event_stream *s = e->stream; s; s = s->next)
		finish(s, NULL);
	pthread_mutex_unlock(&e->lock);
}

void events_free(struct events *e)
{
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->changed);
	free(e);
}
