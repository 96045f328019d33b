// SPDX-License-Identifier: GPL-2.0-or-later
// How things look on a terminal: numbers in the units people read, aligned tables, changes as - and + lines,
// configuration that fits a screen. What came from the server never reaches a terminal as control characters.
#ifndef MGMT_WEIRCTL_TEXT_H
#define MGMT_WEIRCTL_TEXT_H

#include <jansson.h>
#include <stdio.h>

#include "core/types.h"

enum ink { INK_NONE, INK_BOLD, INK_DIM, INK_RED, INK_GREEN, INK_YELLOW, INK_CYAN };

struct screen {
	FILE *out;
	bool colour;
};

// Colour only on a terminal that can show it, and not if NO_COLOR says so.
struct screen screen_of(FILE *out);
// Text with an ink; control characters (C0, DEL, C1) become "?".
void tell(const struct screen *s, enum ink ink, const char *fmt, ...) PRINTF_LIKE(3, 4);
// Columns that a text takes: its code points.
unsigned text_width(const char *utf8);

enum { NUMBER_TEXT = 32 };

// All: buf has NUMBER_TEXT bytes and is returned. 498.2 Mbit/s, 12.3k, 1.54 MB, 412 us.
const char *rate_text(double bps, char *buf);
const char *short_rate_text(double bps, char *buf); // 498.2M
const char *count_text(double n, char *buf);
const char *bytes_text(double n, char *buf);
const char *nsec_text(double ns, char *buf);
// RFC 3339 in UTC as local time; what cannot be read is shown as it is.
const char *time_text(const char *rfc3339, char *buf);

enum form {
	FORM_TEXT,   // left; the rest to the right
	FORM_NUMBER, // an integer as it is
	FORM_COUNT,  // an object: the sum of its members
	FORM_BYTES,
	FORM_RATE, // 0: "-"
	FORM_NSEC,
	FORM_UP,   // true: up, false: down
	FORM_YES,  // true: yes, false: nothing
	FORM_TIME, // left
	FORM_FIT,  // left, cut to what the terminal has left: last column only
};

struct column {
	const char *title, *key; // key NULL: filled in by hand
	enum form form;
};

// One value as a cell shows it. buf has `size` bytes.
const char *value_text(const json_t *v, enum form form, char *buf, size_t size);
// A table of a list of objects, a row each; nothing is printed for an empty list but `empty`.
void table_print(const struct screen *s, const struct column *column, unsigned columns, const json_t *list,
		 const char *empty);
// The same for a list of whose keys nothing is known: units are told by their endings (_bps, _ns, _bytes).
void table_print_any(const struct screen *s, const json_t *list, const char *empty);

// Classes in the order of their tree: a new list of shallow copies with a "label", the name indented by its depth. A class whose
// parent is not in the list stands at the top.
json_t *class_tree(const json_t *classes);

// A document as people write it: what fits into `width` columns stands on one line. ASCII only; ends with a newline.
void document_print(const struct screen *s, const json_t *v, unsigned width);

// Changes ({"op","path","from","to"}) as "- PATH VALUE" and "+ PATH VALUE" lines, one for each plain value: what follows a +
// can be given to `weirctl set`. At most `lines` lines (0: all), then how many more there are.
void changes_print(const struct screen *s, const json_t *changes, unsigned lines);
// The errors of a problem+json document, one per line, "PATH: text"; without such a list its detail.
void problem_print(const struct screen *s, const json_t *problem, long status);
// Warnings of a receipt or problem, one per line.
void warnings_print(const struct screen *s, const json_t *warnings);
// The receipt of a write in a sentence or two.
void receipt_print(const struct screen *s, const json_t *receipt);

#endif
