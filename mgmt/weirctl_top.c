// SPDX-License-Identifier: GPL-2.0-or-later
// `top`: one shaper's classes, once a second, rate against guarantee and limit. What the classes are comes from
// /v1/state and is fetched anew when a revision is told; what they do comes with the events. The two have a client each,
// because an event stream occupies its connection.
//
// A frame is composed in memory and written at once: no flicker, and a slow terminal sees whole frames. It fits into 80x24;
// wider ones get a bar per class.
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mgmt/weirctl_client.h"
#include "mgmt/weirctl_edit.h"
#include "mgmt/weirctl_terminal.h"

enum {
	TICK_MS = 500,
	RETRY_MS = 1000,
	PATIENCE_MS = 3000,
	BAR_MIN = 10,
	BAR_MAX = 60,
	PORTS_SHOWN = 4,
	TABLE_WIDTH = 80,
	END_OF_FILE = 4, // Ctrl-D
};

enum order { ORDER_TREE, ORDER_RATE, ORDER_WAIT, ORDER_DROPS, ORDERS };
static const char *const order_names[] = {"tree", "rate", "waiting", "drops"};

struct row {
	const json_t *class, *now; // what it is; what it does (NULL: unknown)
};

struct top {
	struct ctl quiet; // errors go to `said` while the screen is ours
	struct client *asking, *hearing;
	char *said;
	size_t said_len;

	json_t *shapers; // list of {"name","port","rate_bps","tree"}
	json_t *stats;   // the last event, NULL: none yet
	json_t *revision, *alarm;
	struct row *row; // of the shaper shown, in order
	size_t rows, scroll, chosen;
	enum order order;
	bool quit, lost, stale, dirty; // stale: the classes may have changed; dirty: draw
};

static double number(const json_t *v, const char *key)
{
	return json_number_value(json_object_get(v, key));
}

static const char *text_of(const json_t *v, const char *key)
{
	const char *text = json_string_value(json_object_get(v, key));

	return text ? text : "?";
}

// ---- what there is

static json_t *classes_of(struct client *client, const char *shaper, int *code)
{
	char path[EDIT_POINTER_MAX + 64], escaped[EDIT_POINTER_MAX];
	json_t *all, *tree;

	snprintf(path, sizeof path, "/v1/state/shapers%s/classes", edit_name_url(shaper, escaped) ? escaped : "/");
	all = client_get(client, path, NULL, code);
	if (!all)
		return NULL;
	tree = class_tree(json_object_get(all, "classes"));
	json_decref(all);
	return tree;
}

// The shapers with their classes as trees; NULL: not told.
static json_t *shapers_fetch(struct client *client, int *code)
{
	json_t *all = client_get(client, "/v1/state/shapers", NULL, code), *list, *one;
	size_t i;

	if (!all)
		return NULL;
	list = json_incref(json_object_get(all, "shapers"));
	json_decref(all);
	json_array_foreach(list, i, one)
	{
		json_t *tree = classes_of(client, text_of(one, "name"), code);

		if (!tree) {
			json_decref(list);
			return NULL;
		}
		json_object_set_new(one, "tree", tree);
	}
	return list ? list : json_array();
}

static const json_t *shaper_shown(const struct top *t)
{
	return json_array_get(t->shapers, t->chosen);
}

// The entry of a list with that name.
static json_t *named(const json_t *list, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)list, i, one) if (!strcmp(text_of(one, "name"), name)) return one;
	return NULL;
}

static enum order sorting; // qsort has no argument of its own

static double sort_key(const struct row *r)
{
	return number(r->now, sorting == ORDER_RATE ? "bps" : sorting == ORDER_WAIT ? "backlog_packets" : "drops_ps");
}

static int by_key(const void *a, const void *b)
{
	double x = sort_key(a), y = sort_key(b);

	return x < y ? 1 : x > y ? -1 : 0;
}

// Joins classes and figures by name.
static void rows_make(struct top *t)
{
	const json_t *shaper = shaper_shown(t), *tree = json_object_get(shaper, "tree");
	const json_t *now = shaper ? named(json_object_get(t->stats, "shapers"), text_of(shaper, "name")) : NULL;
	json_t *by_name = json_object(), *one;
	struct row *row;
	size_t i;

	t->rows = 0;
	row = realloc(t->row, (json_array_size(tree) + 1) * sizeof *row);
	if (!row || !by_name) {
		json_decref(by_name);
		return;
	}
	t->row = row;
	json_array_foreach(json_object_get(now, "classes"), i, one) json_object_set(by_name, text_of(one, "name"), one);
	json_array_foreach((json_t *)(uintptr_t)tree, i, one) t->row[t->rows++] =
		(struct row){one, json_object_get(by_name, text_of(one, "name"))};
	json_decref(by_name); // the entries belong to t->stats
	sorting = t->order;
	if (t->order != ORDER_TREE)
		qsort(t->row, t->rows, sizeof *t->row, by_key);
}

// "leaf" is the kind of its queue, and "inner" for classes with children.
static bool is_leaf(const json_t *class)
{
	const char *kind = json_string_value(json_object_get(class, "leaf"));

	return kind && strcmp(kind, "inner") != 0;
}

// ---- drawing

// A cell of `width` columns, cut or filled; to the right if width is negative.
static void cell(const struct screen *s, enum ink ink, int width, const char *text)
{
	unsigned room = (unsigned)abs(width), used = text_width(text);
	char part[256];
	unsigned n = 0;

	snprintf(part, sizeof part, "%s", text);
	for (char *p = part; *p; p++)
		if (((unsigned char)*p & 0xc0) != 0x80 && n++ == room) {
			*p = '\0';
			used = room;
			break;
		}
	if (width < 0)
		fprintf(s->out, "%*s", (int)(room - used), "");
	tell(s, ink, "%s", part);
	if (width > 0)
		fprintf(s->out, "%*s", (int)(room - used), "");
}

static void line_end(const struct screen *s, unsigned *lines)
{
	fputs("\033[K\r\n", s->out);
	++*lines;
}

static void head_draw(const struct top *t, const struct screen *s, unsigned *lines)
{
	const char *at = json_string_value(json_object_get(t->stats, "time"));
	char text[NUMBER_TEXT];

	tell(s, INK_BOLD, "weir");
	tell(s, INK_NONE, " %s  %s", client_url(t->hearing), at ? time_text(at, text) : "");
	if (t->lost)
		tell(s, INK_RED, "  connection lost, trying again");
	else if (t->alarm)
		tell(s, INK_RED, "  ALARM %s", text_of(t->alarm, "text"));
	else if (t->revision)
		tell(s, !strcmp(text_of(t->revision, "state"), "pending") ? INK_YELLOW : INK_NONE, "  revision %.0f %s",
		     number(t->revision, "id"), text_of(t->revision, "state"));
	line_end(s, lines);
}

static void ports_draw(const struct top *t, const struct screen *s, unsigned *lines)
{
	const json_t *ports = json_object_get(t->stats, "ports");
	json_t *p;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)ports, i, p)
	{
		char a[NUMBER_TEXT], b[NUMBER_TEXT];
		double lost = number(p, "lost_pps");

		if (i == PORTS_SHOWN) {
			tell(s, INK_DIM, "and %zu ports more", json_array_size(ports) - PORTS_SHOWN);
			line_end(s, lines);
			break;
		}
		cell(s, INK_BOLD, 14, text_of(p, "name"));
		if (json_is_true(json_object_get(p, "up")))
			cell(s, INK_NONE, 9, text_of(p, "mode"));
		else
			cell(s, INK_RED, 9, "down");
		tell(s, INK_NONE, " rx %8s %7sp/s", short_rate_text(number(p, "rx_bps"), a),
		     count_text(number(p, "rx_pps"), b));
		tell(s, INK_NONE, "  tx %8s %7sp/s", short_rate_text(number(p, "tx_bps"), a),
		     count_text(number(p, "tx_pps"), b));
		tell(s, lost > 0 ? INK_RED : INK_NONE, "  lost %s/s", count_text(lost, a));
		line_end(s, lines);
	}
}

static void workers_draw(const struct top *t, const struct screen *s, unsigned *lines)
{
	json_t *w;
	size_t i;

	tell(s, INK_NONE, "workers busy");
	json_array_foreach(json_object_get(t->stats, "workers"), i, w)
		tell(s, INK_NONE, " %.0f%%", number(w, "busy_percent"));
	line_end(s, lines);
}

// Rate as #, the guarantee as | on a scale that ends with the limit, or the shaper's rate.
static void bar_draw(const struct screen *s, const struct row *r, double shaper_bps, unsigned width)
{
	double limit = number(r->class, "ul_bps"), scale = limit > 0 && limit < shaper_bps ? limit : shaper_bps;
	double rate = number(r->now, "bps"), rt = number(r->class, "rt_bps");
	char bar[BAR_MAX + 1];

	if (width > BAR_MAX)
		width = BAR_MAX;
	for (unsigned i = 0; i < width; i++) {
		double upto = scale * (i + 1) / width;

		bar[i] = rt > 0 && rt <= upto && rt > upto - scale / width ? '|'
			 : rate >= upto - scale / width / 2                ? '#'
									   : ' ';
	}
	bar[width] = '\0';
	tell(s, INK_DIM, " [%s]", bar);
}

static void row_draw(const struct screen *s, const struct row *r, enum order order, double shaper_bps, unsigned columns)
{
	double bps = number(r->now, "bps"), rt = number(r->class, "rt_bps"), ul = number(r->class, "ul_bps");
	double wait = number(r->now, "backlog_packets"), drops = number(r->now, "drops_ps");
	double p50 = number(r->now, "delay_p50_ns"), p99 = number(r->now, "delay_p99_ns");
	bool short_of = rt > 0 && wait > 0 && bps < 0.97 * rt;
	char text[NUMBER_TEXT];

	cell(s, INK_NONE, 21, text_of(r->class, order == ORDER_TREE ? "label" : "name"));
	cell(s, short_of ? INK_RED : bps > 0 ? INK_GREEN : INK_DIM, -9, r->now ? short_rate_text(bps, text) : "-");
	cell(s, INK_NONE, -10, rt > 0 ? short_rate_text(rt, text) : "-");
	cell(s, INK_NONE, -8, ul > 0 ? short_rate_text(ul, text) : "-");
	cell(s, INK_NONE, -8, p50 > 0 ? nsec_text(p50, text) : "-");
	cell(s, INK_NONE, -8, p99 > 0 ? nsec_text(p99, text) : "-");
	cell(s, INK_NONE, -8, count_text(wait, text));
	cell(s, drops > 0 ? INK_YELLOW : INK_NONE, -8, count_text(drops, text));
	if (columns >= TABLE_WIDTH + BAR_MIN + 3)
		bar_draw(s, r, shaper_bps, columns - TABLE_WIDTH - 3);
}

static void shaper_draw(struct top *t, const struct screen *s, unsigned *lines, unsigned columns, unsigned height)
{
	const json_t *shaper = shaper_shown(t);
	double rate = number(shaper, "rate_bps"), used = 0;
	char a[NUMBER_TEXT], b[NUMBER_TEXT];
	size_t room;

	line_end(s, lines);
	if (!shaper) {
		tell(s, INK_NONE, "there is no shaper");
		line_end(s, lines);
		return;
	}
	for (size_t i = 0; i < t->rows; i++)
		if (is_leaf(t->row[i].class))
			used += number(t->row[i].now, "bps");
	tell(s, INK_BOLD, "shaper %s", text_of(shaper, "name"));
	tell(s, INK_NONE, " on %s: %s", text_of(shaper, "port"), rate_text(used, a));
	if (rate > 0)
		tell(s, INK_NONE, " of %s (%.0f%%)", rate_text(rate, b), 100 * used / rate);
	tell(s, INK_NONE, ", %zu classes", t->rows);
	line_end(s, lines);
	tell(s, INK_DIM, "%-21s%9s%10s%8s%8s%8s%8s%8s", "CLASS", "RATE", "GUARANTEE", "LIMIT", "P50", "P99", "WAITING",
	     "DROPS/s");
	line_end(s, lines);

	room = height > *lines + 1 ? height - *lines - 1 : 0; // one line for the keys
	if (t->scroll + room > t->rows)
		t->scroll = t->rows > room ? t->rows - room : 0;
	for (size_t i = t->scroll; i < t->rows && i < t->scroll + room; i++) {
		row_draw(s, &t->row[i], t->order, rate, columns);
		line_end(s, lines);
	}
}

static void draw(struct top *t)
{
	unsigned columns, height, lines = 0;
	struct screen s = {NULL, t->quiet.out.colour};
	char *frame = NULL;
	size_t len = 0;

	t->dirty = false;
	fullscreen_size(&columns, &height);
	s.out = open_memstream(&frame, &len);
	if (!s.out)
		return;
	fputs("\033[H", s.out);
	rows_make(t);
	head_draw(t, &s, &lines);
	ports_draw(t, &s, &lines);
	workers_draw(t, &s, &lines);
	shaper_draw(t, &s, &lines, columns, height);
	for (; lines + 1 < height; lines++)
		fputs("\033[K\r\n", s.out);
	tell(&s, INK_DIM, "q quit  s order: %s  Tab next shaper  arrows, PgUp, PgDn scroll", order_names[t->order]);
	fputs("\033[K", s.out);
	fclose(s.out);
	fwrite(frame, 1, len, stdout);
	fflush(stdout);
	free(frame);
}

// ---- what happens

static void replace(json_t **old, json_t *new)
{
	json_decref(*old);
	*old = new;
}

static void on_event(void *arg, const char *name, const char *data)
{
	struct top *t = arg;
	json_t *v = json_loads(data, 0, NULL);

	if (!v)
		return;
	t->lost = false;
	t->dirty = true;
	if (!strcmp(name, "stats")) {
		t->rows = 0; // they point into the old one
		replace(&t->stats, v);
	} else if (!strcmp(name, "revision")) {
		replace(&t->revision, v);
		t->stale = true;
	} else if (!strcmp(name, "alarm")) {
		replace(&t->alarm, v);
	} else {
		json_decref(v);
	}
}

static void scroll(struct top *t, long by)
{
	if (by < 0)
		t->scroll = t->scroll > (size_t)-by ? t->scroll - (size_t)-by : 0;
	else
		t->scroll += (size_t)by; // draw stops it at the end
}

static void key(struct top *t, const char *k)
{
	if (*k == 'q' || *k == 'Q' || *k == END_OF_FILE) {
		t->quit = true;
	} else if (*k == 's') {
		t->order = (t->order + 1) % ORDERS;
		t->scroll = 0;
	} else if (*k == '\t' && json_array_size(t->shapers)) {
		t->chosen = (t->chosen + 1) % json_array_size(t->shapers);
		t->scroll = 0;
	} else if (!strcmp(k, "\033[A") || *k == 'k') {
		scroll(t, -1);
	} else if (!strcmp(k, "\033[B") || *k == 'j') {
		scroll(t, 1);
	} else if (!strcmp(k, "\033[5~")) {
		scroll(t, -10);
	} else if (!strcmp(k, "\033[6~") || *k == ' ') {
		scroll(t, 10);
	}
	t->dirty = true;
}

static void keys_read(struct top *t)
{
	char k[16];
	ssize_t n = read(STDIN_FILENO, k, sizeof k - 1);

	if (n <= 0) {
		t->quit = n == 0; // the terminal is gone
		return;
	}
	k[n] = '\0';
	key(t, k);
}

static void refresh(struct top *t)
{
	int code;
	json_t *fresh = shapers_fetch(t->asking, &code);

	t->stale = false;
	if (!fresh)
		return; // the next revision, or the next connection, tries again
	t->rows = 0;
	replace(&t->shapers, fresh);
	if (t->chosen >= json_array_size(fresh))
		t->chosen = 0;
	t->dirty = true;
}

static void on_ready(void *arg, bool readable)
{
	struct top *t = arg;

	if (readable)
		keys_read(t);
	if (t->stale && !t->quit)
		refresh(t);
	if (fullscreen_changed() || t->dirty)
		draw(t);
}

static bool on_stop(void *arg)
{
	struct top *t = arg;

	return fullscreen_ended() || t->quit;
}

// Waits before the next try, with the keys working.
static void pause_(struct top *t)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	on_ready(t, poll(&in, 1, RETRY_MS) > 0);
}

static int run(struct top *t)
{
	struct live live = {.events = {.event = on_event, .arg = t},
			    .fd = STDIN_FILENO,
			    .tick_ms = TICK_MS,
			    .ready = on_ready,
			    .stop = on_stop,
			    .arg = t};
	int code = CTL_DONE;

	draw(t);
	while (!on_stop(t)) {
		code = client_events(t->hearing, &live);
		if (code != CTL_UNREACHABLE || (!live.connected && !live.quiet))
			break;
		live.quiet = true;
		t->lost = t->dirty = t->stale = true;
		pause_(t);
		code = CTL_DONE;
	}
	sse_free(&live.events);
	return code;
}

int top_run(struct ctl *c, int words, char **word)
{
	struct top t = {.quiet = *c};
	int code;

	if (!somebody_there()) {
		tell(&c->err, INK_RED, "weirctl: top needs a terminal; weirctl watch does not\n");
		return CTL_USAGE;
	}
	t.shapers = shapers_fetch(c->client, &code);
	if (!t.shapers)
		return code;
	for (size_t i = 0; words && i < json_array_size(t.shapers); i++)
		if (!strcmp(text_of(json_array_get(t.shapers, i), "name"), word[0]))
			t.chosen = i;
	t.quiet.err = (struct screen){open_memstream(&t.said, &t.said_len), c->err.colour};
	t.asking = t.quiet.err.out ? client_open(&t.quiet, &code) : NULL;
	t.hearing = t.asking ? client_open(&t.quiet, &code) : NULL;
	if (t.hearing && fullscreen_enter()) {
		client_patience(t.asking, PATIENCE_MS);
		code = run(&t);
		fullscreen_leave();
	}
	if (t.quiet.err.out)
		fclose(t.quiet.err.out);
	if (code && t.said)
		fputs(t.said, c->err.out);
	if (t.hearing)
		client_close(t.hearing);
	if (t.asking)
		client_close(t.asking);
	free(t.said);
	free(t.row);
	json_decref(t.shapers);
	json_decref(t.stats);
	json_decref(t.revision);
	json_decref(t.alarm);
	return code;
}
