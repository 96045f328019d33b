// SPDX-License-Identifier: GPL-2.0-or-later
// `watch`: the event stream as lines, for a terminal beside one's work and for pipes. It outlives the server: a lost
// connection is told once and tried again until it works.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mgmt/weirctl_client.h"

enum { TICK_MS = 1000, RETRY_MAX_S = 8 };

struct watch {
	struct ctl *c;
	char **only; // names of events; none: all
	int onlys;
};

static void stamp(const struct screen *s, const json_t *data)
{
	const char *given = json_string_value(json_object_get(data, "time"));
	char text[NUMBER_TEXT];
	time_t now = time(NULL);
	struct tm local;

	if (given)
		time_text(given, text);
	else
		strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &local));
	tell(s, INK_DIM, "%s ", text);
}

static double number(const json_t *v, const char *key)
{
	return json_number_value(json_object_get(v, key));
}

static const char *text_of(const json_t *v, const char *key)
{
	const char *text = json_string_value(json_object_get(v, key));

	return text ? text : "?";
}

static void stats_line(const struct screen *s, const json_t *data)
{
	char a[NUMBER_TEXT], b[NUMBER_TEXT];
	json_t *one, *class;
	size_t i, k;

	tell(s, INK_NONE, "stats");
	json_array_foreach(json_object_get(data, "ports"), i, one)
	{
		double lost = number(one, "lost_pps");

		tell(s, INK_NONE, "  %s rx %s tx %s", text_of(one, "name"), rate_text(number(one, "rx_bps"), a),
		     rate_text(number(one, "tx_bps"), b));
		if (!json_is_true(json_object_get(one, "up")))
			tell(s, INK_RED, " down");
		if (lost > 0)
			tell(s, INK_RED, " lost %s/s", count_text(lost, a));
	}
	json_array_foreach(json_object_get(data, "shapers"), i, one)
	{
		double wait = 0, drops = 0;

		json_array_foreach(json_object_get(one, "classes"), k, class)
		{
			wait += number(class, "backlog_packets");
			drops += number(class, "drops_ps");
		}
		tell(s, INK_NONE, "  %s waiting %s drops %s/s", text_of(one, "name"), count_text(wait, a),
		     count_text(drops, b));
	}
	json_array_foreach(json_object_get(data, "workers"), i, one)
		tell(s, INK_NONE, "%s%.0f%%", i ? " " : "  busy ", number(one, "busy_percent"));
	fputc('\n', s->out);
}

static void revision_line(const struct screen *s, const json_t *data)
{
	const char *state = text_of(data, "state");
	bool pending = !strcmp(state, "pending"), bad = !strcmp(state, "reverted") || !strcmp(state, "failed");

	tell(s, pending ? INK_YELLOW : bad ? INK_RED : INK_GREEN, "revision %.0f %s", number(data, "id"), state);
	if (json_is_string(json_object_get(data, "author")))
		tell(s, INK_NONE, " by %s", text_of(data, "author"));
	if (pending)
		tell(s, INK_NONE, ", %.0f s left", number(data, "seconds_left"));
	fputc('\n', s->out);
}

static bool wanted(const struct watch *w, const char *name)
{
	for (int i = 0; i < w->onlys; i++)
		if (!strcmp(w->only[i], name))
			return true;
	return !w->onlys;
}

static void on_event(void *arg, const char *name, const char *data)
{
	struct watch *w = arg;
	const struct screen *s = &w->c->out;
	json_t *v;

	if (!wanted(w, name))
		return;
	if (w->c->o.json) {
		fprintf(s->out, "{\"event\":\"%s\",\"data\":%s}\n", name, data);
		fflush(s->out);
		return;
	}
	v = json_loads(data, JSON_DECODE_ANY, NULL);
	stamp(s, v);
	if (!strcmp(name, "stats"))
		stats_line(s, v);
	else if (!strcmp(name, "revision"))
		revision_line(s, v);
	else if (!strcmp(name, "alarm"))
		tell(s, INK_RED, "ALARM %s\n", text_of(v, "text"));
	else
		tell(s, INK_NONE, "%s %s\n", name, data);
	json_decref(v);
	fflush(s->out);
}

static bool never(void *arg)
{
	struct watch *w = arg;

	return ferror(w->c->out.out);
}

int watch_run(struct ctl *c, int words, char **word)
{
	struct watch w = {c, word, words};
	struct live live = {
		.events = {.event = on_event, .arg = &w}, .fd = -1, .tick_ms = TICK_MS, .stop = never, .arg = &w};
	unsigned wait = 1;
	int code;

	for (;;) {
		code = client_events(c->client, &live);
		if (code != CTL_UNREACHABLE || (!live.connected && !live.quiet))
			break;
		if (live.connected) {
			tell(&c->err, INK_YELLOW, "weirctl: the connection is lost; trying again\n");
			wait = 1;
		}
		live.quiet = true;
		sleep(wait);
		wait = wait < RETRY_MAX_S ? 2 * wait : RETRY_MAX_S;
	}
	sse_free(&live.events);
	return code;
}
