// SPDX-License-Identifier: GPL-2.0-or-later
// Printing. Tables are described by rows of (title, key, form) and filled from the server's JSON, so a new column is a
// line. Widths count code points; a comment or a name with wide or combining characters may stand a column off.
#include "mgmt/weirctl_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS_MAX = 16, CELL_MAX = 512, TREE_DEPTH_MAX = 32, GAP = 2, POINTER_MAX = 2048 };

struct screen screen_of(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (struct screen){out, isatty(fileno(out)) && !(no && *no) && term && strcmp(term, "dumb") != 0};
}

static const char *ink_code(enum ink ink)
{
	static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m", "\033[36m"};

	return codes[ink];
}

// Replaces control characters in place: ESC starts sequences that move, rename and paste; so does C1's CSI (c2 9b).
static void tame(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p; p++) {
		if ((*p < ' ' && *p != '\n') || *p == 0x7f)
			*p = '?';
		else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			p[0] = p[1] = '?';
	}
}

void tell(const struct screen *s, enum ink ink, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	tame(text);
	if (s->colour && ink != INK_NONE)
		fprintf(s->out, "%s%s\033[0m", ink_code(ink), text);
	else
		fputs(text, s->out);
	free(text);
}

unsigned text_width(const char *utf8)
{
	unsigned n = 0;

	for (; *utf8; utf8++)
		n += ((unsigned char)*utf8 & 0xc0) != 0x80;
	return n;
}

// `v` with `digits` significant digits and the first unit that keeps it below `step`; zeros behind the point are cut.
static const char *scaled(double v, const char *const *units, int digits, char *buf)
{
	char number[NUMBER_TEXT];
	int decimals;

	while (units[1] && fabs(v) >= 999.5) {
		v /= 1000;
		units++;
	}
	decimals = digits - (fabs(v) < 9.995 ? 1 : fabs(v) < 99.95 ? 2 : 3);
	snprintf(number, sizeof number, "%.*f", decimals > 0 ? decimals : 0, v);
	if (strchr(number, '.')) {
		size_t n = strlen(number);

		while (number[n - 1] == '0')
			n--;
		number[number[n - 1] == '.' ? n - 1 : n] = '\0';
	}
	snprintf(buf, NUMBER_TEXT, "%.20s%s", number, *units);
	return buf;
}

const char *rate_text(double bps, char *buf)
{
	static const char *const units[] = {" bit/s", " kbit/s", " Mbit/s", " Gbit/s", " Tbit/s", NULL};

	return scaled(bps, units, 4, buf);
}

const char *short_rate_text(double bps, char *buf)
{
	static const char *const units[] = {"", "k", "M", "G", "T", NULL};

	return scaled(bps, units, 4, buf);
}

const char *count_text(double n, char *buf)
{
	static const char *const units[] = {"", "k", "M", "G", "T", "P", "E", NULL};

	if (fabs(n) < 10000) { // a small count is read as a number, not as a magnitude
		snprintf(buf, NUMBER_TEXT, "%.0f", n);
		return buf;
	}
	return scaled(n, units, 3, buf);
}

const char *bytes_text(double n, char *buf)
{
	static const char *const units[] = {" B", " kB", " MB", " GB", " TB", " PB", " EB", NULL};

	return scaled(n, units, 3, buf);
}

const char *nsec_text(double ns, char *buf)
{
	static const char *const units[] = {" ns", " us", " ms", " s", NULL};

	return scaled(ns, units, 3, buf);
}

const char *time_text(const char *rfc3339, char *buf)
{
	struct tm utc = {0}, local;
	const char *end = strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &utc);
	time_t t;

	snprintf(buf, NUMBER_TEXT, "%.31s", rfc3339);
	if (!end)
		return buf;
	t = timegm(&utc);
	if (localtime_r(&t, &local))
		strftime(buf, NUMBER_TEXT, "%Y-%m-%d %H:%M:%S", &local);
	return buf;
}

static double number_of(const json_t *v)
{
	const char *key;
	json_t *member;
	double sum = 0;

	if (!json_is_object(v))
		return json_number_value(v);
	json_object_foreach((json_t *)(uintptr_t)v, key, member) sum += json_number_value(member);
	return sum;
}

static void list_text(const json_t *list, char *buf, size_t size)
{
	size_t at = 0, i;
	json_t *v;

	buf[0] = '\0';
	json_array_foreach((json_t *)(uintptr_t)list, i, v)
	{
		char one[CELL_MAX];
		int n = snprintf(buf + at, size - at, "%s%s", i ? "," : "", value_text(v, FORM_TEXT, one, sizeof one));

		if ((size_t)n >= size - at)
			return;
		at += (size_t)n;
	}
}

const char *value_text(const json_t *v, enum form form, char *buf, size_t size)
{
	char number[NUMBER_TEXT];
	const char *text = number;

	if (!v || json_is_null(v))
		return snprintf(buf, size, "-"), buf;
	if (json_is_array(v))
		return list_text(v, buf, size), buf;
	if (json_is_string(v))
		text = form == FORM_TIME ? time_text(json_string_value(v), number) : json_string_value(v);
	else if (json_is_boolean(v))
		text = form == FORM_UP    ? json_is_true(v) ? "up" : "down"
		       : form == FORM_YES ? json_is_true(v) ? "yes" : ""
		       : json_is_true(v)  ? "true"
					  : "false";
	else if ((form == FORM_RATE || form == FORM_NSEC) && number_of(v) == 0)
		text = "-";
	else if (form == FORM_RATE)
		rate_text(number_of(v), number);
	else if (form == FORM_COUNT)
		count_text(number_of(v), number);
	else if (form == FORM_BYTES)
		bytes_text(number_of(v), number);
	else if (form == FORM_NSEC)
		nsec_text(number_of(v), number);
	else if (json_is_integer(v))
		snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_real(v))
		snprintf(number, sizeof number, "%.4g", json_real_value(v));
	else
		text = "{...}";
	snprintf(buf, size, "%s", text);
	return buf;
}

// ---- tables

static bool to_the_left(enum form f)
{
	return f == FORM_TEXT || f == FORM_TIME || f == FORM_FIT || f == FORM_UP || f == FORM_YES;
}

// Columns of the terminal, or no limit for a file or pipe.
static unsigned terminal_width(const struct screen *s)
{
	struct winsize size;

	if (!isatty(fileno(s->out)))
		return UINT32_MAX;
	return ioctl(fileno(s->out), TIOCGWINSZ, &size) || size.ws_col < 20 ? 80 : size.ws_col;
}

// Cuts a text to `width` code points.
static void cut(char *text, unsigned width)
{
	for (char *p = text; *p; p++)
		if (((unsigned char)*p & 0xc0) != 0x80 && !width--) {
			*p = '\0';
			return;
		}
}

static void pad(FILE *out, unsigned n)
{
	fprintf(out, "%*s", (int)n, "");
}

// One line; `row` NULL: the titles.
static void line_print(const struct screen *s, const struct column *column, unsigned columns, const unsigned *width,
		       const json_t *row)
{
	unsigned used = 0, owed = 0; // blanks, which no line ends with
	char cell[CELL_MAX];

	for (unsigned i = 0; i < columns; i++) {
		bool left = to_the_left(column[i].form), last = i + 1 == columns;
		unsigned w;

		if (row)
			value_text(json_object_get(row, column[i].key), column[i].form, cell, sizeof cell);
		else
			snprintf(cell, sizeof cell, "%s", column[i].title);
		if (column[i].form == FORM_FIT && last && terminal_width(s) > used)
			cut(cell, terminal_width(s) - used);
		w = text_width(cell);
		if (w) {
			pad(s->out, owed + (left ? 0 : width[i] - w));
			tell(s, row ? INK_NONE : INK_DIM, "%s", cell);
			owed = 0;
		}
		owed += (w && !left ? 0 : width[i] - w) + GAP;
		used += width[i] + GAP;
	}
	fputc('\n', s->out);
}

void table_print(const struct screen *s, const struct column *column, unsigned columns, const json_t *list,
		 const char *empty)
{
	unsigned width[COLUMNS_MAX];
	json_t *row;
	size_t n;

	if (!json_array_size(list)) {
		tell(s, INK_NONE, "%s\n", empty);
		return;
	}
	for (unsigned i = 0; i < columns; i++) {
		width[i] = text_width(column[i].title);
		json_array_foreach((json_t *)(uintptr_t)list, n, row)
		{
			char cell[CELL_MAX];
			unsigned w = text_width(
				value_text(json_object_get(row, column[i].key), column[i].form, cell, sizeof cell));

			width[i] = w > width[i] ? w : width[i];
		}
	}
	line_print(s, column, columns, width, NULL);
	json_array_foreach((json_t *)(uintptr_t)list, n, row) line_print(s, column, columns, width, row);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static enum form form_of(const char *key, const json_t *v)
{
	const char *text = json_string_value(v);

	if (text && strlen(text) >= 20 && text[10] == 'T' && ends_with(text, "Z"))
		return FORM_TIME;
	if (!json_is_number(v) && !json_is_object(v))
		return FORM_TEXT;
	return ends_with(key, "_bps")     ? FORM_RATE
	       : ends_with(key, "_ns")    ? FORM_NSEC
	       : ends_with(key, "_bytes") ? FORM_BYTES
	       : json_is_real(v)          ? FORM_NUMBER
					  : FORM_COUNT;
}

void table_print_any(const struct screen *s, const json_t *list, const char *empty)
{
	struct column column[COLUMNS_MAX];
	unsigned n = 0;
	const char *key;
	json_t *v;

	json_object_foreach(json_array_get(list, 0), key, v) if (n < COLUMNS_MAX) column[n++] =
		(struct column){key, key, form_of(key, v)};
	table_print(s, column, n, list, empty);
}

// ---- the class tree

struct walk {
	json_t *children; // name -> list of classes
	json_t *out;
};

static void walk_down(struct walk *w, const char *parent, unsigned depth)
{
	json_t *list = json_object_get(w->children, parent), *class;
	size_t i;

	if (depth > TREE_DEPTH_MAX)
		return;
	json_array_foreach(list, i, class)
	{
		const char *name = json_string_value(json_object_get(class, "name"));
		json_t *copy = json_copy(class);

		json_object_set_new(copy, "label", json_sprintf("%*s%s", (int)(2 * depth), "", name ? name : "?"));
		json_array_append_new(w->out, copy);
		if (name)
			walk_down(w, name, depth + 1);
	}
}

json_t *class_tree(const json_t *classes)
{
	struct walk w = {json_object(), json_array()};
	json_t *class, *names = json_object();
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)classes, i, class)
	{
		const char *name = json_string_value(json_object_get(class, "name"));

		if (name)
			json_object_set_new(names, name, json_true());
	}
	json_array_foreach((json_t *)(uintptr_t)classes, i, class)
	{
		const char *parent = json_string_value(json_object_get(class, "parent"));
		json_t *list;

		if (!parent || !json_object_get(names, parent))
			parent = "";
		list = json_object_get(w.children, parent);
		if (!list) {
			list = json_array();
			json_object_set_new(w.children, parent, list);
		}
		json_array_append(list, class);
	}
	walk_down(&w, "", 0);
	json_decref(w.children);
	json_decref(names);
	return w.out;
}

// ---- documents and changes

static char *dump(const json_t *v)
{
	return json_dumps(v, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
}

static void document_at(const struct screen *s, const json_t *v, unsigned width, unsigned indent, size_t used)
{
	bool object = json_is_object(v);
	char *line = dump(v);
	const char *key;
	json_t *member;
	size_t i;

	if (!line || (!json_is_array(v) && !object) || indent + used + strlen(line) <= width) {
		fputs(line ? line : "", s->out);
		free(line);
		return;
	}
	free(line);
	fputs(object ? "{\n" : "[\n", s->out);
	if (object) {
		i = 0;
		json_object_foreach((json_t *)(uintptr_t)v, key, member)
		{
			json_t *text = json_string(key);
			char *quoted = dump(text);

			fprintf(s->out, "%*s%s: ", (int)indent + 2, "", quoted ? quoted : "");
			document_at(s, member, width, indent + 2, quoted ? strlen(quoted) + 3 : 0);
			fputs(++i < json_object_size(v) ? ",\n" : "\n", s->out);
			free(quoted);
			json_decref(text);
		}
	} else {
		json_array_foreach((json_t *)(uintptr_t)v, i, member)
		{
			fprintf(s->out, "%*s", (int)indent + 2, "");
			document_at(s, member, width, indent + 2, 1);
			fputs(i + 1 < json_array_size(v) ? ",\n" : "\n", s->out);
		}
	}
	fprintf(s->out, "%*s%c", (int)indent, "", object ? '}' : ']');
}

void document_print(const struct screen *s, const json_t *v, unsigned width)
{
	document_at(s, v, width, 0, 0);
	fputc('\n', s->out);
}

// A text that `weirctl set` reads back as the same text needs no quotes.
static bool is_bare(const char *text)
{
	static const char *const other[] = {"true", "false", "null"};

	for (size_t i = 0; i < ARRAY_LEN(other); i++)
		if (!strcmp(text, other[i]))
			return false;
	if (!*text || *text == '-')
		return false;
	if (text[strspn(text, "0123456789.eE+-")] == '\0')
		return false;
	return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/-")] == '\0';
}

// Lines printed so far, of those that may be; the rest is counted.
struct lines {
	const struct screen *screen;
	unsigned allowed, count; // allowed 0: all
};

static void line(struct lines *l, char sign, const char *path, const json_t *v)
{
	char *text;

	if (l->count++ >= l->allowed && l->allowed)
		return;
	text = json_is_string(v) && is_bare(json_string_value(v)) ? strdup(json_string_value(v)) : dump(v);
	tell(l->screen, sign == '-' ? INK_RED : INK_GREEN, "%c %s %s\n", sign, *path ? path : "/", text ? text : "");
	free(text);
}

// A key as a step of a JSON pointer, appended at `at`. False: no room.
static bool pointer_step(char *path, size_t at, const char *key)
{
	if (at + 1 >= POINTER_MAX)
		return false;
	path[at++] = '/';
	for (; *key; key++) {
		bool special = *key == '~' || *key == '/';

		if (at + 3 >= POINTER_MAX)
			return false;
		path[at++] = special ? '~' : *key;
		if (special)
			path[at++] = *key == '~' ? '0' : '1';
	}
	path[at] = '\0';
	return true;
}

// A line for each plain value and list in `v`. `path` has POINTER_MAX bytes and is afterwards as it was.
static void lines_of(struct lines *l, char sign, char *path, const json_t *v)
{
	size_t at = strlen(path), i;
	const char *key;
	json_t *member;

	if (json_is_object(json_array_get(v, 0))) { // of rules: a line each
		json_array_foreach((json_t *)(uintptr_t)v, i, member)
		{
			snprintf(path + at, POINTER_MAX - at, "/%zu", i);
			line(l, sign, path, member);
			path[at] = '\0';
		}
		return;
	}
	if (!json_is_object(v) || !json_object_size(v)) {
		line(l, sign, path, v);
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)v, key, member)
	{
		if (pointer_step(path, at, key))
			lines_of(l, sign, path, member);
		path[at] = '\0';
	}
}

// Two lists: what both begin and end with is left out, so one rule among thousands is one line.
static void lists_differ(struct lines *l, const char *path, const json_t *from, const json_t *to)
{
	size_t n = json_array_size(from), m = json_array_size(to), head = 0, tail = 0;
	char at[POINTER_MAX + 24];

	while (head < n && head < m && json_equal(json_array_get(from, head), json_array_get(to, head)))
		head++;
	while (tail < n - head && tail < m - head &&
	       json_equal(json_array_get(from, n - 1 - tail), json_array_get(to, m - 1 - tail)))
		tail++;
	for (size_t i = head; i < n - tail; i++) {
		snprintf(at, sizeof at, "%s/%zu", path, i);
		line(l, '-', at, json_array_get(from, i));
	}
	for (size_t i = head; i < m - tail; i++) {
		snprintf(at, sizeof at, "%s/%zu", path, i);
		line(l, '+', at, json_array_get(to, i));
	}
}

void changes_print(const struct screen *s, const json_t *changes, unsigned lines)
{
	struct lines l = {s, lines, 0};
	json_t *change;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)changes, i, change)
	{
		const char *where = json_string_value(json_object_get(change, "path"));
		const json_t *from = json_object_get(change, "from"), *to = json_object_get(change, "to");
		char path[POINTER_MAX];

		snprintf(path, sizeof path, "%s", where ? where : "");
		if (json_is_array(from) && json_is_array(to)) {
			lists_differ(&l, path, from, to);
			continue;
		}
		if (from)
			lines_of(&l, '-', path, from);
		if (to)
			lines_of(&l, '+', path, to);
	}
	if (lines && l.count > lines)
		tell(s, INK_DIM, "... and %u more lines (weirctl diff shows all)\n", l.count - lines);
}

static void list_print(const struct screen *s, enum ink ink, const char *kind, const json_t *list, const char *place)
{
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)list, i, one)
	{
		const char *path = json_string_value(json_object_get(one, place));
		const char *text = json_string_value(json_object_get(one, "text"));

		if (path && *path)
			tell(s, ink, "%s%s: %s\n", kind, path, text ? text : "");
		else
			tell(s, ink, "%s%s\n", kind, text ? text : "");
	}
}

void warnings_print(const struct screen *s, const json_t *warnings)
{
	const json_t *first = json_array_get(warnings, 0);

	list_print(s, INK_YELLOW, "warning: ", warnings, json_object_get(first, "pointer") ? "pointer" : "path");
}

void problem_print(const struct screen *s, const json_t *problem, long status)
{
	const json_t *errors = json_object_get(problem, "errors");
	const char *title = json_string_value(json_object_get(problem, "title"));
	const char *detail = json_string_value(json_object_get(problem, "detail"));

	if (json_array_size(errors))
		list_print(s, INK_RED, "", errors, "pointer");
	else if (detail && *detail)
		tell(s, INK_RED, "weirctl: %s\n", detail);
	else
		tell(s, INK_RED, "weirctl: the server refused: %ld%s%s\n", status, title ? " " : "",
		     title ? title : "");
	warnings_print(s, json_object_get(problem, "warnings"));
}

void receipt_print(const struct screen *s, const json_t *receipt)
{
	char took[NUMBER_TEXT], pause[NUMBER_TEXT];
	json_int_t id = json_integer_value(json_object_get(receipt, "revision"));
	json_int_t left = json_integer_value(json_object_get(receipt, "seconds_left"));
	json_int_t lost = json_integer_value(json_object_get(receipt, "packets_lost"));
	const char *state = json_string_value(json_object_get(receipt, "state"));
	size_t n = json_array_size(json_object_get(receipt, "changes"));
	bool pending = state && !strcmp(state, "pending");

	warnings_print(s, json_object_get(receipt, "warnings"));
	if (!n && !pending) {
		tell(s, INK_NONE, "revision %" JSON_INTEGER_FORMAT " is in force\n", id);
		return;
	}
	tell(s, pending ? INK_YELLOW : INK_GREEN, "revision %" JSON_INTEGER_FORMAT " is %s", id,
	     pending ? "pending" : "in force");
	tell(s, INK_NONE, ": %zu change%s in %s, longest pause %s, ", n, n == 1 ? "" : "s",
	     nsec_text(json_number_value(json_object_get(receipt, "duration_ns")), took),
	     nsec_text(json_number_value(json_object_get(receipt, "longest_pause_ns")), pause));
	tell(s, lost ? INK_RED : INK_NONE, "%" JSON_INTEGER_FORMAT " packets lost\n", lost);
	if (pending)
		tell(s, INK_NONE,
		     "it is taken back by itself in %" JSON_INTEGER_FORMAT " s unless you keep it: weirctl confirm\n",
		     left);
}
