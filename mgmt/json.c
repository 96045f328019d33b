// SPDX-License-Identifier: GPL-2.0-or-later
// Reading JSON from people and programs one need not trust. jansson parses; it recurses with the depth of the
// document and allocates about a hundred bytes for each value, so both are counted in one pass over the text before
// it is let loose. Text that goes back out in messages ends up in terminals and logs: all but printable
// ASCII is shown as escapes.
#include "mgmt/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Copies text (UTF-8) as ASCII, NUL-terminated, with escapes as in a JSON string (`quotes`: of quotes too); false if
// not all of it fitted.
static bool escape(const char *text, size_t len, bool quotes, char *buf, size_t size)
{
	size_t at = 0, n;

	for (size_t i = 0; i < len; i += n) {
		unsigned char c = (unsigned char)text[i];
		uint32_t code;
		char esc[12];

		n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
		if (n > len - i)
			n = 1;
		code = n == 1 ? c : c & (0xffu >> (n + 1));
		for (size_t k = 1; k < n; k++)
			code = code << 6 | ((unsigned char)text[i + k] & 0x3f);
		if (quotes && (c == '"' || c == '\\'))
			snprintf(esc, sizeof esc, "\\%c", c);
		else if (c < ' ' || c > '~')
			snprintf(esc, sizeof esc, "\\u%04x", code);
		else
			snprintf(esc, sizeof esc, "%c", c);
		if (at + strlen(esc) >= size) {
			buf[at] = '\0';
			return false;
		}
		memcpy(buf + at, esc, strlen(esc) + 1);
		at += strlen(esc);
	}
	buf[at] = '\0';
	return true;
}

const char *text_shown(const char *text, char *buf)
{
	char inside[SHOWN_MAX - 6]; // room for two quotes, three dots and the end

	bool whole = escape(text, strlen(text), true, inside, sizeof inside);
	snprintf(buf, SHOWN_MAX, "\"%s%s\"", inside, whole ? "" : "...");
	return buf;
}

// The shortest decimal that reads back as the same double.
static void real_shown(double d, char *buf)
{
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(buf, SHOWN_MAX, "%.*g", digits, d);
		if (strtod(buf, NULL) == d)
			break;
	}
}

const char *value_shown(const json_t *v, char *buf)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return text_shown(json_string_value(v), buf);
	case JSON_INTEGER:
		snprintf(buf, SHOWN_MAX, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		return buf;
	case JSON_REAL:
		real_shown(json_real_value(v), buf);
		return buf;
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	case JSON_NULL:
		break;
	}
	return "null";
}

// A key as a step of a pointer: "~" and "/" have meanings of their own there.
static void step_text(const char *key, char *buf, size_t size)
{
	char step[PROBLEM_PATH_MAX];
	size_t n = 0;

	for (; *key && n < sizeof step - 2; key++) {
		bool special = *key == '~' || *key == '/';

		step[n++] = special ? '~' : *key;
		if (special)
			step[n++] = *key == '~' ? '0' : '1';
	}
	escape(step, n, false, buf, size);
}

const char *place_pointer(const struct place *p, char *buf)
{
	char step[PROBLEM_PATH_MAX];
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < p->depth; i++) {
		if (p->step[i].key)
			step_text(p->step[i].key, step, sizeof step);
		else
			snprintf(step, sizeof step, "%zu", p->step[i].index);
		if (at + 1 + strlen(step) >= PROBLEM_PATH_MAX)
			break;
		at += (size_t)sprintf(buf + at, "/%s", step);
	}
	return buf;
}

// Finds what jansson should not be given: too deep a nesting, too many values. Knows of JSON only where strings begin
// and end; what else is wrong is jansson's to say.
static bool within_limits(const char *text, size_t len, struct problems *out)
{
	unsigned depth = 0, line = 1;
	size_t values = 0, line_start = 0;
	bool in_string = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '\n') {
			line++;
			line_start = i + 1;
		}
		if (in_string) {
			if (c == '\\')
				i++;
			in_string = c != '"';
			continue;
		}
		in_string = c == '"';
		values += c == ',' || c == '[' || c == '{';
		depth += c == '[' || c == '{';
		depth -= (c == ']' || c == '}') && depth;
		if (depth > JSON_DEPTH_MAX || values > JSON_VALUES_MAX) {
			problem_add(out, PROBLEM_ERROR, "", "line %u, column %zu: %s; allowed: up to %d", line,
				    i - line_start + 1, depth > JSON_DEPTH_MAX ? "nested too deep" : "too many values",
				    depth > JSON_DEPTH_MAX ? JSON_DEPTH_MAX : JSON_VALUES_MAX);
			return false;
		}
	}
	return true;
}

static json_t *load(const char *text, size_t len, size_t flags, json_error_t *e, struct problems *out)
{
	json_t *doc = json_loadb(text, len, flags, e);
	char why[256];

	if (doc)
		return doc;
	if (json_error_code(e) == json_error_null_character || json_error_code(e) == json_error_null_byte_in_key)
		snprintf(why, sizeof why, "a string with \\u0000 in it");
	else
		escape(e->text, strlen(e->text), false, why, sizeof why);
	problem_add(out, PROBLEM_ERROR, "", "line %d, column %d: %s", e->line, e->column, why);
	return NULL;
}

static json_t *parse(const char *text, size_t len, size_t flags, struct problems *out)
{
	json_error_t e;
	json_t *doc;

	if (!within_limits(text, len, out))
		return NULL;
	doc = load(text, len, flags | JSON_REJECT_DUPLICATES, &e, out);
	if (doc || json_error_code(&e) != json_error_duplicate_key)
		return doc;
	return load(text, len, flags, &e, out);
}

json_t *document_parse(const char *text, size_t len, struct problems *out)
{
	return parse(text, len, 0, out);
}

json_t *value_parse(const char *text, size_t len, struct problems *out)
{
	return parse(text, len, JSON_DECODE_ANY, out);
}
