// SPDX-License-Identifier: GPL-2.0-or-later
// /v1/state and the stats event over statistics made by hand; also ones that no engine would make.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "api_world.h"
#include "io/clock.h"
#include "mgmt/api_state.h"
#include "stats_world.h"

static const struct fake_request nothing;

static json_t *get(const struct stats *s, const char *path, int want_status)
{
	struct api api = {.stats = s};
	struct response a;
	json_t *out;

	call(&api, api_state_routes, HTTP_GET, path, &nothing, NULL, &a);
	assert_int_equal(a.status, want_status);
	out = a.text ? json_loads(a.text, 0, NULL) : json_incref(a.json);
	response_free(&a);
	assert_non_null(out);
	return out;
}

static json_t *by_name(json_t *list, const char *name)
{
	json_t *v;
	size_t i;

	json_array_foreach(list, i, v) if (!strcmp(json_string_value(json_object_get(v, "name")), name)) return v;
	return NULL;
}

static json_int_t integer(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	if (!json_is_integer(v))
		fail_msg("%s is no integer", key);
	return json_integer_value(v);
}

static const char *string(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	if (!json_is_string(v))
		fail_msg("%s is no string", key);
	return json_string_value(v);
}

static void ports(void **state)
{
	struct stats *s = stats_world(2);
	json_t *body, *wan, *drops;

	counter_set(&s->queue[1].counters.rx_packets, 10);
	counter_set(&s->queue[1].counters.tx_bytes, 1u << 31);
	counter_set(&s->queue[1].counters.rx_dropped, 3);
	counter_set(&s->port[1].program_misses, 4);
	counter_set(&s->port[1].device_dropped, 5);
	counter_set(&s->class_stats[UP_FIRST + 2].drop_codel, 6);
	counter_set(&s->class_stats[UP_FIRST + 3].drop_codel, 1);
	counter_set(&s->port[0].up, 0);
	body = get(s, "/v1/state/ports", 200);
	assert_int_equal(json_array_size(json_object_get(body, "ports")), 2);
	wan = by_name(json_object_get(body, "ports"), "wan");
	drops = json_object_get(wan, "drops");
	assert_string_equal(string(wan, "device"), "eth1");
	assert_string_equal(string(wan, "mode"), "copy");
	assert_true(json_is_true(json_object_get(wan, "up")));
	assert_true(json_is_false(json_object_get(by_name(json_object_get(body, "ports"), "lan"), "up")));
	assert_int_equal(integer(wan, "rx_packets"), 10);
	assert_int_equal(integer(wan, "tx_bytes"), 1u << 31);
	assert_int_equal(integer(wan, "rx_lost"), 12);
	assert_int_equal(integer(drops, "receive_ring"), 3);
	assert_int_equal(integer(drops, "no_socket"), 4);
	assert_int_equal(integer(drops, "device"), 5);
	assert_int_equal(integer(drops, "codel"), 7);
	assert_int_equal(json_array_size(json_object_get(wan, "queues")), 1);
	json_decref(body);
	stats_unmap(s);
}

static void shapers_and_classes(void **state)
{
	struct stats *s = stats_world(3);
	json_t *body, *list, *c;

	send_packets(s, UP_FIRST + 2, 100, 1000, 30000);
	send_packets(s, UP_FIRST + 4, 50, 100, 500000);
	counter_set(&s->class_stats[UP_FIRST + 4].drop_full, 9);
	counter_set(&s->class_stats[UP_FIRST + 4].backlog_bytes, 77);
	body = get(s, "/v1/state/shapers", 200);
	list = json_object_get(body, "shapers");
	assert_int_equal(json_array_size(list), 1); // a port without a shaper has none
	c = json_array_get(list, 0);
	assert_string_equal(string(c, "name"), "up");
	assert_string_equal(string(c, "port"), "wan");
	assert_int_equal(integer(c, "rate_bps"), 95000000);
	assert_int_equal(integer(c, "classes"), 4);
	json_decref(body);

	body = get(s, "/v1/state/shapers/up/classes", 200);
	list = json_object_get(body, "classes");
	assert_string_equal(string(body, "shaper"), "up");
	assert_int_equal(json_array_size(list), 4);
	assert_null(by_name(list, "root"));
	c = by_name(list, "c0");
	assert_string_equal(string(c, "parent"), "staff");
	assert_string_equal(string(c, "leaf"), "fq_codel");
	assert_true(json_is_true(json_object_get(c, "default")));
	assert_int_equal(integer(c, "ls_bps"), 1000000);
	assert_int_equal(integer(c, "rt_bps"), 0);
	assert_int_equal(integer(c, "sent_packets"), 100);
	assert_int_equal(integer(c, "enqueued_bytes"), 100000);
	assert_true(integer(c, "delay_p50_ns") >= 30000 && integer(c, "delay_p50_ns") <= 37500);
	c = by_name(list, "staff"); // the sum of its leaves
	assert_string_equal(string(c, "parent"), "root");
	assert_string_equal(string(c, "leaf"), "inner");
	assert_int_equal(integer(c, "sent_packets"), 150);
	assert_int_equal(integer(c, "sent_bytes"), 105000);
	assert_int_equal(integer(c, "backlog_bytes"), 77);
	assert_int_equal(integer(json_object_get(c, "drops"), "queue_full"), 9);
	assert_int_equal(integer(c, "delay_p99_ns"), 0);
	json_decref(body);

	json_decref(get(s, "/v1/state/shapers/lan/classes", 404));
	json_decref(get(s, "/v1/state/shapers/none/classes", 404));
	stats_unmap(s);
}

static void workers_and_drops(void **state)
{
	struct stats *s = stats_world(1);
	json_t *body, *v;
	size_t i;

	counter_set(&s->frames_total, 1000);
	counter_set(&s->frames_pool, 600);
	counter_set(&s->worker[0].frames_held, 300);
	counter_set(&s->queue[0].counters.frames_fill, 99);
	counter_set(&s->worker[0].busy_ns, 42);
	counter_set(&s->worker[0].drops[DROP_CODEL], 8);
	body = get(s, "/v1/state/workers", 200);
	assert_int_equal(integer(json_array_get(json_object_get(body, "workers"), 0), "busy_ns"), 42);
	assert_int_equal(integer(json_object_get(body, "frames"), "total"), 1000);
	assert_int_equal(integer(json_object_get(body, "frames"), "unaccounted"), 1);
	json_decref(body);
	body = get(s, "/v1/state/drops", 200);
	assert_int_equal(json_array_size(json_object_get(body, "drops")), DROP_REASON_COUNT - 1);
	json_array_foreach(json_object_get(body, "drops"), i, v)
		assert_int_equal(integer(v, "packets"), strcmp(string(v, "reason"), "codel") ? 0 : 8);
	json_decref(body);
	stats_unmap(s);
}

static void schema(void **state)
{
	json_t *body = get(NULL, "/v1/schema", 200), *v;
	bool seen = false;
	size_t i;

	json_array_foreach(json_object_get(body, "settings"), i, v)
	{
		string(v, "help");
		string(v, "type");
		if (strcmp(string(v, "path"), "/ports/*/rx_ring") != 0)
			continue;
		seen = true;
		assert_int_equal(integer(v, "min"), 64);
		assert_int_equal(integer(v, "max"), 32768);
		assert_int_equal(integer(v, "default"), 2048);
		assert_string_equal(string(v, "change"), "restart");
	}
	assert_true(seen);
	json_decref(body);
}

static void without_an_engine(void **state)
{
	struct stats_sampler *m = stats_sampler_new(0);

	json_decref(get(NULL, "/v1/state/ports", 503));
	json_decref(get(NULL, "/v1/state/shapers", 503));
	json_decref(get(NULL, "/v1/state/shapers/up/classes", 503));
	json_decref(get(NULL, "/v1/state/workers", 503));
	json_decref(get(NULL, "/v1/state/drops", 503));
	assert_null(state_stats_event(NULL, m));
	stats_sampler_free(m);
}

// An engine that was killed while it wrote names leaves them marked as moving.
static void names_left_odd(void **state)
{
	struct stats *s = stats_world(1);

	atomic_fetch_add(&s->names_seq, 1);
	json_decref(get(s, "/v1/state/shapers", 200));
	stats_unmap(s);
}

// The region as an attacker in the engine's place might fill it: nothing is read beyond it, everything is valid JSON.
static void nonsense(void **state)
{
	struct stats *s = stats_world(3);
	struct stats_sampler *m = stats_sampler_new(2);
	json_t *event;

	s->ports = s->shapers = s->queues = s->workers = UINT32_MAX;
	memset(&s->port[1], 0xff, sizeof s->port[1]);
	memset(&s->queue[1], 0xff, sizeof s->queue[1]);
	memset(&s->worker[1], 0xff, sizeof s->worker[1]);
	memset(s->class_info[UP_FIRST + 2].name, '"', CLASS_NAME_MAX);
	memcpy(s->class_info[UP_FIRST + 3].name, "\xc3\n\\\x1b[", 6);
	s->class_info[UP_FIRST + 4].parent_id = UP_FIRST;
	s->class_info[UP_FIRST + 3].parent_id = 3; // a circle
	s->class_info[UP_FIRST + 2].leaf_kind = 1u << 31;
	s->shaper[2] = (struct stats_shaper){.port = UINT32_MAX, .first_class = UINT32_MAX, .id_limit = UINT32_MAX};
	s->shaper[3] = (struct stats_shaper){.first_class = STATS_CLASSES_MAX - 1, .id_limit = UINT32_MAX};
	put_class(s, STATS_CLASSES_MAX - 1, 3, "x", 5, LEAF_NONE);
	for (int i = 0; i < 3; i++) {
		json_decref(get(s, "/v1/state/ports", 200));
		json_decref(get(s, "/v1/state/shapers", 200));
		json_decref(get(s, "/v1/state/shapers/up/classes", 200));
		json_decref(get(s, "/v1/state/workers", 200));
		event = state_stats_event_at(s, m, NSEC_PER_SEC * (unsigned)i, 0);
		assert_non_null(event);
		json_decref(event);
		send_packets(s, UP_FIRST + 2, UINT64_MAX / 3000, 1500, 1);
		send_packets(s, UP_FIRST + 3, UINT64_MAX / 3000, 1500, TIME_NEVER);
	}
	stats_sampler_free(m);
	stats_unmap(s);
}

// ---- the event

static json_t *class_of(json_t *event, const char *name)
{
	return by_name(json_object_get(json_array_get(json_object_get(event, "shapers"), 0), "classes"), name);
}

static void event_rates(void **state)
{
	struct stats *s = stats_world(3);
	struct stats_sampler *m = stats_sampler_new(EVENT_CLASSES);
	json_t *e, *c, *p;

	send_packets(s, UP_FIRST + 2, 1000, 1000, 4000000);
	counter_set(&s->queue[1].counters.rx_bytes, 5000);
	e = state_stats_event_at(s, m, 10 * NSEC_PER_SEC, 1767323045678000000);
	assert_string_equal(string(e, "time"), "2026-01-02T03:04:05.678Z");
	assert_int_equal(integer(class_of(e, "c0"), "bps"), 0); // nothing to compare with
	assert_int_equal(integer(class_of(e, "c0"), "delay_p50_ns"), 0);
	json_decref(e);

	send_packets(s, UP_FIRST + 2, 100, 1000, 20000); // in half a second
	send_packets(s, UP_FIRST + 3, 10, 500, 70000);
	counter_add(&s->class_stats[UP_FIRST + 3].drop_full, 4);
	counter_set(&s->class_stats[UP_FIRST + 3].backlog_packets, 2);
	counter_add(&s->queue[1].counters.rx_bytes, 1000);
	counter_add(&s->queue[1].counters.rx_packets, 1);
	counter_add(&s->port[1].program_misses, 2);
	counter_add(&s->worker[0].busy_ns, 125000000);
	e = state_stats_event_at(s, m, 10 * NSEC_PER_SEC + NSEC_PER_SEC / 2, 0);
	c = class_of(e, "c0");
	assert_int_equal(integer(c, "bps"), 1600000);
	assert_int_equal(integer(c, "pps"), 200);
	assert_true(integer(c, "delay_p99_ns") >= 20000 && integer(c, "delay_p99_ns") <= 25000); // not 4 ms
	c = class_of(e, "c1");
	assert_int_equal(integer(c, "drops_ps"), 8);
	assert_int_equal(integer(c, "backlog_packets"), 2);
	c = class_of(e, "staff");
	assert_int_equal(integer(c, "bps"), 1600000 + 80000);
	assert_int_equal(integer(c, "drops_ps"), 8);
	assert_int_equal(integer(c, "backlog_packets"), 2);
	assert_int_equal(integer(class_of(e, "c2"), "bps"), 0);
	p = by_name(json_object_get(e, "ports"), "wan");
	assert_int_equal(integer(p, "rx_bps"), 16000);
	assert_int_equal(integer(p, "rx_pps"), 2);
	assert_int_equal(integer(p, "lost_pps"), 4);
	assert_string_equal(string(p, "mode"), "copy");
	c = json_array_get(json_object_get(e, "workers"), 0);
	assert_true(json_real_value(json_object_get(c, "busy_percent")) == 25.0);
	json_decref(e);

	e = state_stats_event_at(s, m, 11 * NSEC_PER_SEC, 0); // at rest
	assert_int_equal(integer(class_of(e, "c0"), "bps"), 0);
	assert_int_equal(integer(class_of(e, "c0"), "delay_p99_ns"), 0);
	json_decref(e);
	stats_sampler_free(m);
	stats_unmap(s);
}

static void event_after_a_restart(void **state)
{
	struct stats *s = stats_world(2);
	struct stats_sampler *m = stats_sampler_new(EVENT_CLASSES);
	json_t *e;

	send_packets(s, UP_FIRST + 2, 1000, 1000, 5000);
	counter_set(&s->queue[0].counters.tx_bytes, 1000000);
	json_decref(state_stats_event_at(s, m, NSEC_PER_SEC, 0));
	memset(&s->class_stats[UP_FIRST + 2], 0, sizeof s->class_stats[0]);
	memset(&s->queue[0].counters, 0, sizeof s->queue[0].counters);
	send_packets(s, UP_FIRST + 2, 10, 1000, 5000);
	e = state_stats_event_at(s, m, 2 * NSEC_PER_SEC, 0);
	assert_int_equal(integer(class_of(e, "c0"), "bps"), 0);
	assert_int_equal(integer(by_name(json_object_get(e, "ports"), "lan"), "tx_bps"), 0);
	json_decref(e);
	send_packets(s, UP_FIRST + 2, 10, 1000, 5000);
	e = state_stats_event_at(s, m, 3 * NSEC_PER_SEC, 0);
	assert_int_equal(integer(class_of(e, "c0"), "bps"), 80000);
	assert_int_not_equal(integer(class_of(e, "c0"), "delay_p50_ns"), 0);
	json_decref(e);

	memset(&s->class_stats[UP_FIRST + 2], 0, sizeof s->class_stats[0]); // the id is another class now
	put_class(s, UP_FIRST + 2, 1, "other", 1, LEAF_FQ_CODEL);
	send_packets(s, UP_FIRST + 2, 30, 1000, 5000);
	e = state_stats_event_at(s, m, 4 * NSEC_PER_SEC, 0);
	assert_int_equal(integer(class_of(e, "other"), "bps"), 240000);
	assert_int_not_equal(integer(class_of(e, "other"), "delay_p50_ns"), 0);
	json_decref(e);
	e = state_stats_event_at(s, m, 4 * NSEC_PER_SEC, 0); // no time has passed
	assert_int_equal(integer(class_of(e, "other"), "bps"), 0);
	json_decref(e);
	stats_sampler_free(m);
	stats_unmap(s);
}

static void event_shows_the_busiest(void **state)
{
	struct stats *s = stats_world(500);
	struct stats_sampler *m = stats_sampler_new(EVENT_CLASSES), *all = stats_sampler_new(0);
	json_t *e, *shaper;

	json_decref(state_stats_event_at(s, m, NSEC_PER_SEC, 0));
	for (uint32_t i = 0; i < 500; i++)
		send_packets(s, UP_FIRST + 2 + i, i + 1, 100, 1000);
	e = state_stats_event_at(s, m, 2 * NSEC_PER_SEC, 0);
	shaper = json_array_get(json_object_get(e, "shapers"), 0);
	assert_true(json_is_true(json_object_get(shaper, "truncated")));
	assert_int_equal(json_array_size(json_object_get(shaper, "classes")), EVENT_CLASSES);
	assert_non_null(class_of(e, "staff"));
	assert_non_null(class_of(e, "c499"));
	assert_non_null(class_of(e, "c301"));
	assert_null(class_of(e, "c300"));
	json_decref(e);
	e = state_stats_event_at(s, all, NSEC_PER_SEC, 0);
	shaper = json_array_get(json_object_get(e, "shapers"), 0);
	assert_null(json_object_get(shaper, "truncated"));
	assert_int_equal(json_array_size(json_object_get(shaper, "classes")), 501);
	json_decref(e);
	stats_sampler_free(m);
	stats_sampler_free(all);
	stats_unmap(s);
}

// 13,706 classes, all of them busy: figures to read, and a bound that only a mistake in the order of things exceeds.
static void many_classes(void **state)
{
	struct stats *s = stats_world(13705);
	struct stats_sampler *m = stats_sampler_new(EVENT_CLASSES);
	nsec_t start, list, first, second;

	for (uint32_t i = 0; i < 13705; i++)
		send_packets(s, UP_FIRST + 2 + i, i + 1, 1000, 1000 * i);
	start = clock_now();
	json_decref(get(s, "/v1/state/shapers/up/classes", 200));
	list = clock_now() - start;

	struct api api = {.stats = s};
	struct response a;

	start = clock_now();
	call(&api, api_state_routes, HTTP_GET, "/v1/state/shapers/up/classes", &nothing, NULL, &a);
	printf("13,706 classes: %.1f ms to answer %zu bytes (%.1f ms with parsing them)\n",
	       (double)(clock_now() - start) / 1e6, strlen(a.text), (double)list / 1e6);
	assert_true(clock_now() - start < NSEC_PER_SEC);
	response_free(&a);

	start = clock_now();
	json_decref(state_stats_event_at(s, m, NSEC_PER_SEC, 0));
	first = clock_now() - start;
	for (uint32_t i = 0; i < 13705; i++)
		send_packets(s, UP_FIRST + 2 + i, i + 1, 1000, 1000 * i);
	start = clock_now();
	json_decref(state_stats_event_at(s, m, 2 * NSEC_PER_SEC, 0));
	second = clock_now() - start;
	printf("13,706 classes: events of %.1f ms, then %.1f ms\n", (double)first / 1e6, (double)second / 1e6);
	assert_true(second < NSEC_PER_SEC);
	stats_sampler_free(m);
	stats_unmap(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports),
		cmocka_unit_test(shapers_and_classes),
		cmocka_unit_test(workers_and_drops),
		cmocka_unit_test(schema),
		cmocka_unit_test(without_an_engine),
		cmocka_unit_test(names_left_odd),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(event_rates),
		cmocka_unit_test(event_after_a_restart),
		cmocka_unit_test(event_shows_the_busiest),
		cmocka_unit_test(many_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
