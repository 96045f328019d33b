// SPDX-License-Identifier: GPL-2.0-or-later
// /metrics against a strict reader of text exposition format 0.0.4: every family is described once and stands in one
// piece, no series is there twice, names and labels are well-formed, histograms are cumulative.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <ctype.h>
#include <jansson.h>
#include <math.h>

#include "io/clock.h"
#include "mgmt/metrics.h"
#include "stats_world.h"

struct reader {
	json_t *families; // name -> type
	json_t *series;   // "name{labels}" -> value
	char family[128], type[16];
	// of the histogram's series at hand
	char labels[512];
	double le, below;
	bool infinite;
};

static size_t name_length(const char *s, bool label)
{
	size_t n = 0;

	while (isalpha((unsigned char)s[n]) || s[n] == '_' || (s[n] == ':' && !label) ||
	       (n && isdigit((unsigned char)s[n])))
		n++;
	return n;
}

static void read_comment(struct reader *r, const char *line)
{
	const char *name = line + 7;
	size_t n = name_length(name, false);
	bool help = !strncmp(line, "# HELP ", 7);

	assert_true(help || !strncmp(line, "# TYPE ", 7));
	assert_true(n && name[n] == ' ' && name[n + 1] && n < sizeof r->family);
	if (help) {
		snprintf(r->family, sizeof r->family, "%.*s", (int)n, name);
		if (json_object_get(r->families, r->family))
			fail_msg("%s is described twice", r->family);
		r->type[0] = '\0';
		assert_null(strchr(name, '\\'));
		return;
	}
	assert_int_equal(n, strlen(r->family)); // HELP, then TYPE of the same
	assert_memory_equal(name, r->family, n);
	assert_string_equal(r->type, "");
	snprintf(r->type, sizeof r->type, "%s", name + n + 1);
	assert_true(!strcmp(r->type, "counter") || !strcmp(r->type, "gauge") || !strcmp(r->type, "histogram"));
	json_object_set_new(r->families, r->family, json_string(r->type));
}

// Labels between the braces; returns the end. Copies all but le.
static const char *read_labels(const char *at, char *rest, double *le)
{
	size_t len = 0;

	while (*at != '}') {
		size_t n = name_length(at, true);
		const char *value = at + n + 2, *stop = value;

		assert_true(n && at[n] == '=' && at[n + 1] == '"');
		for (; *stop != '"'; stop++) {
			assert_true(*stop && *stop != '\n');
			if (*stop == '\\' && !strchr("\\n\"", *++stop))
				fail_msg("bad escape in %s", at);
		}
		if (n == 2 && !strncmp(at, "le", 2))
			*le = strncmp(value, "+Inf", 4) ? strtod(value, NULL) : INFINITY;
		else
			len += (size_t)sprintf(rest + len, "%.*s,", (int)(stop + 1 - at), at);
		at = stop + 1;
		assert_true(*at == ',' || *at == '}');
		at += *at == ',';
	}
	return at + 1;
}

static void read_histogram(struct reader *r, const char *suffix, const char *labels, double le, double value)
{
	if (!strcmp(suffix, "_bucket")) {
		assert_false(isnan(le));
		if (strcmp(labels, r->labels) != 0) {
			assert_true(!r->labels[0] || r->infinite);
			snprintf(r->labels, sizeof r->labels, "%s", labels);
			r->below = 0;
			r->le = -1;
			r->infinite = false;
		}
		assert_true(le > r->le && value >= r->below);
		r->le = le;
		r->below = value;
		r->infinite = isinf(le);
		return;
	}
	assert_string_equal(labels, r->labels);
	assert_true(r->infinite && isnan(le));
	if (!strcmp(suffix, "_count"))
		assert_true(value == r->below);
	else
		assert_string_equal(suffix, "_sum");
}

static void read_sample(struct reader *r, const char *line)
{
	size_t n = name_length(line, false), family = strlen(r->family);
	const char *at = line + n;
	char labels[512] = "", key[1024];
	double le = NAN, value;
	char *end;

	assert_true(n >= family && !strncmp(line, r->family, family) && r->type[0]);
	if (*at == '{')
		at = read_labels(at + 1, labels, &le);
	snprintf(key, sizeof key, "%.*s", (int)(at - line), line);
	assert_int_equal(*at, ' ');
	value = strtod(at + 1, &end);
	assert_true(end > at + 1 && !*end);
	if (strcmp(r->type, "histogram"))
		assert_int_equal(n, family);
	else {
		char suffix[64];

		snprintf(suffix, sizeof suffix, "%.*s", (int)(n - family), line + family);
		read_histogram(r, suffix, labels, le, value);
	}
	if (!strcmp(r->type, "counter")) {
		assert_true(value >= 0);
		assert_string_equal(r->family + family - 6, "_total");
	}
	if (json_object_get(r->series, key))
		fail_msg("%s is there twice", key);
	json_object_set_new(r->series, key, json_real(value));
}

static struct reader read_all(const struct stats *s, size_t *bytes)
{
	struct reader r = {.families = json_object(), .series = json_object()};
	char *text = metrics_text(s), *rest = NULL;

	assert_non_null(text);
	*bytes = strlen(text);
	assert_int_equal(text[*bytes - 1], '\n');
	assert_null(strstr(text, "\n\n"));
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (*line == '#')
			read_comment(&r, line);
		else
			read_sample(&r, line);
	}
	free(text);
	return r;
}

static void reader_free(struct reader *r)
{
	json_decref(r->families);
	json_decref(r->series);
}

static void is(struct reader *r, const char *key, double want)
{
	json_t *v = json_object_get(r->series, key);

	if (!v)
		fail_msg("%s is missing", key);
	if (fabs(json_real_value(v) - want) > 1e-12 * fabs(want))
		fail_msg("%s is %.17g, want %.17g", key, json_real_value(v), want);
}

static void values(void **state)
{
	struct stats *s = stats_world(3);
	struct reader r;
	size_t bytes;

	atomic_store(&s->revision, 12);
	counter_set(&s->frames_total, 100);
	counter_set(&s->frames_pool, 101);
	counter_set(&s->queue[1].counters.tx_packets, 7);
	counter_set(&s->queue[0].counters.tx_bytes, 6000);
	counter_set(&s->worker[0].busy_ns, 1500000000);
	counter_set(&s->worker[0].longest_pause_ns, 31001);
	counter_set(&s->worker[0].drops[DROP_CODEL], 8);
	send_packets(s, UP_FIRST + 2, 10, 1000, 500);                // below 1 us
	send_packets(s, UP_FIRST + 2, 20, 1000, 3000);               // 2 to 4 us
	send_packets(s, UP_FIRST + 2, 5, 1000, NSEC_PER_SEC * 1000); // beyond the last bucket
	counter_set(&s->class_stats[UP_FIRST + 3].drop_full, 2);
	counter_set(&s->class_stats[UP_FIRST + 3].drop_codel, 3);
	counter_set(&s->class_stats[UP_FIRST + 3].backlog_packets, 4);
	counter_set(&s->class_stats[UP_FIRST + 3].backlog_bytes, 400);
	r = read_all(s, &bytes);
	is(&r, "weir_up", 1);
	is(&r, "weir_revision", 12);
	is(&r, "weir_frames{place=\"pool\"}", 101);
	is(&r, "weir_frames_unaccounted", -1);
	is(&r, "weir_drops_total{reason=\"codel\"}", 8);
	is(&r, "weir_worker_busy_seconds_total{worker=\"0\"}", 1.5);
	is(&r, "weir_worker_longest_pause_seconds{worker=\"0\"}", 31001e-9);
	is(&r, "weir_port_up{port=\"wan\",device=\"eth1\"}", 1);
	is(&r, "weir_port_transmit_packets_total{port=\"wan\",device=\"eth1\"}", 7);
	is(&r, "weir_queue_transmit_packets_total{port=\"wan\",device=\"eth1\",queue=\"0\"}", 7);
	is(&r, "weir_class_sent_packets_total{shaper=\"up\",class=\"c0\"}", 35);
	is(&r, "weir_class_drops_total{shaper=\"up\",class=\"c1\",reason=\"codel\"}", 3);
	is(&r, "weir_class_curve_bps{shaper=\"up\",class=\"c2\",curve=\"ls\"}", 1000002);
	is(&r, "weir_class_delay_seconds_bucket{shaper=\"up\",class=\"c0\",le=\"0.000001\"}", 10);
	is(&r, "weir_class_delay_seconds_bucket{shaper=\"up\",class=\"c0\",le=\"0.000002\"}", 10);
	is(&r, "weir_class_delay_seconds_bucket{shaper=\"up\",class=\"c0\",le=\"0.000004\"}", 30);
	is(&r, "weir_class_delay_seconds_bucket{shaper=\"up\",class=\"c0\",le=\"8.388608\"}", 30);
	is(&r, "weir_class_delay_seconds_bucket{shaper=\"up\",class=\"c0\",le=\"+Inf\"}", 35);
	is(&r, "weir_class_delay_seconds_count{shaper=\"up\",class=\"c0\"}", 35);
	is(&r, "weir_class_sent_packets_total{shaper=\"lan\",class=\"root\"}", 0); // the unshaped port
	is(&r, "node_qdisc_packets_total{device=\"eth1\",kind=\"hfsc\"}", 35);
	is(&r, "node_qdisc_bytes_total{device=\"eth1\",kind=\"hfsc\"}", 35000);
	is(&r, "node_qdisc_drops_total{device=\"eth1\",kind=\"hfsc\"}", 5);
	is(&r, "node_qdisc_backlog{device=\"eth1\",kind=\"hfsc\"}", 400);
	is(&r, "node_qdisc_current_queue_length{device=\"eth1\",kind=\"hfsc\"}", 4);
	is(&r, "node_qdisc_bytes_total{device=\"eth0\",kind=\"fq_codel\"}", 6000);
	assert_null(json_object_get(r.series, "weir_class_sent_packets_total{shaper=\"up\",class=\"staff\"}"));
	reader_free(&r);
	stats_unmap(s);
}

static void without_an_engine(void **state)
{
	size_t bytes;
	struct reader r = read_all(NULL, &bytes);

	is(&r, "weir_up", 0);
	assert_int_equal(json_object_size(r.series), 1);
	reader_free(&r);
}

static void nonsense(void **state)
{
	struct stats *s = stats_world(3);
	size_t bytes;
	struct reader r;

	s->ports = 3;
	s->shapers = 2;
	s->queues = s->workers = UINT32_MAX;
	memset(&s->port[2], 0xff, sizeof s->port[2]);
	memcpy(s->class_info[UP_FIRST + 2].name, "\"\n\\\xff,}", 7);
	memset(s->class_info[UP_FIRST + 3].name, 'x', CLASS_NAME_MAX);
	s->shaper[1].id_limit = UINT32_MAX;
	send_packets(s, UP_FIRST + 2, 1, 1, 1);
	r = read_all(s, &bytes);
	is(&r, "weir_class_sent_packets_total{shaper=\"up\",class=\"????,}\"}", 1);
	reader_free(&r);
	stats_unmap(s);
}

static void many_classes(void **state)
{
	struct stats *s = stats_world(13705);
	nsec_t start;
	struct reader r;
	size_t bytes;
	char *text;

	for (uint32_t i = 0; i < 13705; i += 500)
		send_packets(s, UP_FIRST + 2 + i, i + 1, 1000, 1000 * i);
	r = read_all(s, &bytes); // only those that had packets
	assert_true(bytes < 300000);
	is(&r, "weir_class_sent_packets_total{shaper=\"up\",class=\"c500\"}", 501);
	assert_null(json_object_get(r.series, "weir_class_sent_packets_total{shaper=\"up\",class=\"c1\"}"));
	reader_free(&r);
	start = clock_now();
	text = metrics_text(s);
	printf("13,706 classes, 28 with traffic: %.1f ms, %zu bytes\n", (double)(clock_now() - start) / 1e6, bytes);
	free(text);
	for (uint32_t i = 0; i < 13705; i++)
		send_packets(s, UP_FIRST + 2 + i, i + 1, 1000, 1000 * i);
	start = clock_now();
	text = metrics_text(s);
	printf("13,706 classes, all with traffic: %.1f ms, %zu bytes\n", (double)(clock_now() - start) / 1e6,
	       strlen(text));
	assert_true(clock_now() - start < 5 * NSEC_PER_SEC);
	free(text);
	stats_unmap(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(without_an_engine),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(many_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
