// SPDX-License-Identifier: GPL-2.0-or-later
// JSON texts from outside: read within limits, pointed into by place, shown in messages without doing harm there.
#ifndef MGMT_JSON_H
#define MGMT_JSON_H

#include <jansson.h>

#include "core/problem.h"

enum { JSON_DEPTH_MAX = 16, JSON_VALUES_MAX = 4000000, SHOWN_MAX = 64 };

// Parses `len` bytes at `text` (UTF-8, no terminating 0 needed). NULL if they are not JSON or beyond the limits above;
// what is wrong is added with line and column. A key that an object has twice is such a problem too, but the
// document (with the last of the values) is returned nevertheless, so that the rest of it can be checked; the caller
// looks at out->errors. The caller owns the reference.
json_t *document_parse(const char *text, size_t len, struct problems *out);
// The same for a part of a document, which may be a single string, number, true, false or null.
json_t *value_parse(const char *text, size_t len, struct problems *out);

// Where in a document a walk stands. Steps cost nothing; the JSON pointer (RFC 6901) is made when it is asked for.
struct place {
	unsigned depth;
	struct {
		const char *key; // NULL: a list element
		size_t index;
	} step[JSON_DEPTH_MAX + 1];
};

static inline void place_key(struct place *p, const char *key)
{
	assert(p->depth < ARRAY_LEN(p->step));
	p->step[p->depth++].key = key;
}

static inline void place_index(struct place *p, size_t index)
{
	assert(p->depth < ARRAY_LEN(p->step));
	p->step[p->depth].key = NULL;
	p->step[p->depth++].index = index;
}

static inline void place_up(struct place *p)
{
	p->depth--;
}

// buf has PROBLEM_PATH_MAX bytes; a longer pointer is cut.
const char *place_pointer(const struct place *p, char *buf);

// `v` as a message names it: a scalar as JSON, cut if long; "an object", "a list". `text` as a quoted JSON string,
// harmless on a terminal. buf has SHOWN_MAX bytes.
const char *value_shown(const json_t *v, char *buf);
const char *text_shown(const char *text, char *buf);

#endif
