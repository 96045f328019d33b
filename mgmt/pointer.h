// SPDX-License-Identifier: GPL-2.0-or-later
// Places in a document (RFC 6901) and what can be done there: look, put, remove, merge (RFC 7396). A document is a value:
// nothing here changes its argument, and what is returned shares with it all that stayed the same, so readers of the old
// document need no lock. Nobody may change a document that went through here in place.
#ifndef MGMT_POINTER_H
#define MGMT_POINTER_H

#include <jansson.h>

#include "core/types.h"

enum { POINTER_STEPS = 16, POINTER_BYTES = 2048 };

enum pointer_fault {
	POINTER_OK,
	POINTER_SYNTAX, // not a JSON pointer, or beyond the limits above
	POINTER_ABSENT, // there is nothing at that place, or nothing could be
	POINTER_MEMORY,
};

// A pointer taken apart; "" has no steps.
struct pointer {
	unsigned steps;
	const char *step[POINTER_STEPS];
	char text[POINTER_BYTES];
};

// False: not a pointer, or too long.
bool pointer_parse(struct pointer *p, const char *text);

// What is there (borrowed), or NULL. List elements go by index without leading zeros.
json_t *pointer_get(json_t *doc, const struct pointer *p);

// Says what may be made where a step on the way is missing: the container for the first `steps` steps of p, as a new
// reference to an empty object or list; NULL: nothing.
typedef json_t *pointer_maker(const struct pointer *p, unsigned steps);

// The document with `value` (borrowed) at the place, in exchange for what was there; "-" as the last step appends to a list.
// NULL with *fault.
json_t *pointer_put(json_t *doc, const struct pointer *p, json_t *value, pointer_maker *make,
		    enum pointer_fault *fault);

// The document without what is there; list elements behind it move up. NULL with *fault. The root cannot be removed (ABSENT).
json_t *pointer_remove(json_t *doc, const struct pointer *p, enum pointer_fault *fault);

// `target` (NULL: nothing) with the merge patch applied: null removes. NULL without memory.
json_t *merge_patch(json_t *target, json_t *patch);

#endif
