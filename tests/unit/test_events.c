// SPDX-License-Identifier: GPL-2.0-or-later
// Event streams without sockets: order and ids, sleeping and waking, listeners that do not keep up, the ticker. Run under
// the thread sanitizer, the last ones are the test of the locks.
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mgmt/events.c"

static struct events *events;
static atomic_int samples, woken, asked, allow;

static json_t *sample(void *arg)
{
	return json_pack("{s:i}", "n", atomic_fetch_add(&samples, 1));
}

static bool allowed(void *arg, const struct identity *who)
{
	atomic_fetch_add(&asked, 1);
	return allow;
}

static void wake_one(void *arg, void *listener)
{
	atomic_fetch_add(&woken, 1);
	atomic_store((atomic_bool *)listener, false);
}

static void sleep_one(void *listener)
{
	atomic_store((atomic_bool *)listener, true);
}

static int start_with(nsec_t second_ns)
{
	const struct events_options o = {
		.sample = sample, .allowed = allowed, .wake = wake_one, .second_ns = second_ns};

	samples = woken = asked = 0;
	allow = 1;
	events = events_new(&o);
	assert_non_null(events);
	return 0;
}

static int start_still(void **state)
{
	return start_with(3600 * NSEC_PER_SEC);
}

static int start_fast(void **state)
{
	return start_with(10 * NSEC_PER_MSEC);
}

static int stop(void **state)
{
	events_stop(events);
	events_free(events);
	return 0;
}

static struct event_stream *open_stream(atomic_bool *asleep)
{
	static const struct identity who = {.kind = CREDENTIAL_TOKEN};

	atomic_init(asleep, false);
	return events_open(events, asleep, &who);
}

// Everything there is, terminated. *end: and the stream is over.
static const char *drain(struct event_stream *s, bool *end)
{
	static char buf[1 << 16];
	size_t at = 0;
	ssize_t n;

	while ((n = events_read(s, buf + at, 7, sleep_one)) > 0)
		at += (size_t)n;
	buf[at] = '\0';
	if (end)
		*end = n == EVENTS_END;
	return buf;
}

static void send_number(const char *event, int n)
{
	json_t *j = json_pack("{s:i}", "x", n);

	events_send(events, event, j);
	json_decref(j);
}

static void everybody_hears_everything_in_order(void **state)
{
	atomic_bool asleep[2];
	struct event_stream *a = open_stream(&asleep[0]), *b = open_stream(&asleep[1]);

	assert_string_equal(drain(a, NULL), "retry: 1000\n\n");
	assert_true(asleep[0]);
	send_number("revision", 1);
	assert_false(asleep[0]);
	send_number("alarm", 2);
	assert_int_equal(woken, 1); // b was never asleep
	assert_string_equal(drain(a, NULL),
			    "id: 1\nevent: revision\ndata: {\"x\":1}\n\nid: 2\nevent: alarm\ndata: {\"x\":2}\n\n");
	assert_string_equal(drain(b, NULL), "retry: 1000\n\nid: 1\nevent: revision\ndata: {\"x\":1}\n\n"
					    "id: 2\nevent: alarm\ndata: {\"x\":2}\n\n");
	events_close(a);
	send_number("alarm", 3);
	assert_string_equal(drain(b, NULL), "id: 3\nevent: alarm\ndata: {\"x\":3}\n\n");
	events_close(b);
	send_number("alarm", 4);
}

static void there_are_eight(void **state)
{
	atomic_bool asleep[STREAMS_MAX + 1];
	struct event_stream *s[STREAMS_MAX];

	for (int i = 0; i < STREAMS_MAX; i++) {
		s[i] = open_stream(&asleep[i]);
		assert_non_null(s[i]);
	}
	assert_null(open_stream(&asleep[STREAMS_MAX]));
	events_close(s[3]);
	s[3] = open_stream(&asleep[STREAMS_MAX]);
	assert_non_null(s[3]);
	for (int i = 0; i < STREAMS_MAX; i++)
		events_close(s[i]);
}

static void who_does_not_read_is_cut_off(void **state)
{
	atomic_bool asleep[2];
	struct event_stream *slow = open_stream(&asleep[0]), *quick = open_stream(&asleep[1]);
	char part[8];
	bool end;

	assert_int_equal(events_read(slow, part, 5, sleep_one), 5); // stopped in the middle of a line
	for (int i = 0; i < STREAM_EVENTS + 5; i++) {
		send_number("alarm", i);
		drain(quick, &end);
		assert_false(end);
	}
	assert_string_equal(drain(slow, &end), ": 1000\n\n: too slow, events were lost\n\n");
	assert_true(end);
	events_close(slow);
	events_close(quick);
}

static void large_events_are_bounded_in_bytes(void **state)
{
	atomic_bool asleep;
	struct event_stream *s = open_stream(&asleep);
	char *text = malloc(STREAM_BYTES / 2 + 1), part[STREAM_EVENTS];
	json_t *j;

	drain(s, NULL);
	memset(text, 'x', STREAM_BYTES / 2);
	text[STREAM_BYTES / 2] = '\0';
	j = json_pack("{s:s}", "x", text);
	events_send(events, "stats", j);
	assert_false(s->ending);
	events_send(events, "stats", j);
	assert_true(s->ending);
	assert_true(s->bytes < 100);
	assert_true(events_read(s, part, sizeof part, sleep_one) > 0);
	events_close(s);
	s = open_stream(&asleep);
	drain(s, NULL);
	events_send(events, "stats", j); // one alone always fits
	assert_false(s->ending);
	events_close(s);
	json_decref(j);
	free(text);
}

static void the_clock_ticks_while_somebody_listens(void **state)
{
	atomic_bool asleep;
	struct event_stream *s;
	int before;

	poll(NULL, 0, 100);
	assert_int_equal(samples, 0);
	s = open_stream(&asleep);
	poll(NULL, 0, 150);
	assert_non_null(
		strstr(drain(s, NULL), "id: 1\nevent: stats\ndata: {\"n\":1}\n\n")); // 0 was where it counts from
	events_close(s);
	poll(NULL, 0, 50);
	before = samples;
	poll(NULL, 0, 100);
	assert_int_equal(samples, before);
}

static void comments_come_and_rights_are_checked(void **state)
{
	atomic_bool asleep;
	struct event_stream *s = open_stream(&asleep);
	char *all = calloc(1, 1 << 16);
	bool end = false;

	for (int i = 0; i < 100 && !strstr(all, ": still here\n\n"); i++) {
		poll(NULL, 0, 10);
		strcat(all, drain(s, &end));
		assert_false(end);
	}
	assert_non_null(strstr(all, ": still here\n\n"));
	assert_true(asked >= 1);
	allow = 0;
	for (int i = 0; i < 100 && !end; i++) {
		poll(NULL, 0, 10);
		strcat(all, drain(s, &end));
	}
	assert_true(end);
	assert_non_null(strstr(all, ": logged out\n\n"));
	events_close(s);
	free(all);
}

static void *listen_and_leave(void *arg)
{
	for (int i = 0; i < 200; i++) {
		atomic_bool asleep;
		struct event_stream *s = open_stream(&asleep);
		char buf[64];

		for (int k = 0; s && k < i % 7; k++)
			events_read(s, buf, sizeof buf, sleep_one);
		if (s)
			events_close(s);
	}
	return NULL;
}

static void *send_many(void *arg)
{
	for (int i = 0; i < 500; i++)
		send_number("alarm", i);
	return NULL;
}

static void threads(void **state)
{
	pthread_t t[6];

	for (int i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, i < 3 ? listen_and_leave : send_many, NULL);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(events->streams, 0);
}

static void a_stop_wakes_and_ends_streams(void **state)
{
	atomic_bool asleep[2];
	struct event_stream *s = open_stream(&asleep[0]);
	bool end;

	drain(s, NULL);
	assert_true(asleep[0]);
	events_stop(events);
	assert_false(asleep[0]);
	drain(s, &end);
	assert_true(end);
	assert_null(open_stream(&asleep[1]));
	events_close(s);
	events_free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(everybody_hears_everything_in_order, start_still, stop),
		cmocka_unit_test_setup_teardown(there_are_eight, start_still, stop),
		cmocka_unit_test_setup_teardown(who_does_not_read_is_cut_off, start_still, stop),
		cmocka_unit_test_setup_teardown(large_events_are_bounded_in_bytes, start_still, stop),
		cmocka_unit_test_setup_teardown(the_clock_ticks_while_somebody_listens, start_fast, stop),
		cmocka_unit_test_setup_teardown(comments_come_and_rights_are_checked, start_fast, stop),
		cmocka_unit_test_setup_teardown(threads, start_fast, stop),
		cmocka_unit_test_setup(a_stop_wakes_and_ends_streams, start_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
