// SPDX-License-Identifier: GPL-2.0-or-later
// "Did you mean ...?": what to say about a name that is none of the known ones.
#ifndef MGMT_GUESS_H
#define MGMT_GUESS_H

#include "core/types.h"

enum { GUESS_LISTED = 16, GUESS_TEXT_MAX = 240 };

struct guess {
	const char *name, *nearest; // nearest: of the names added, one that may have been meant; NULL: none
	unsigned distance, known;
	char list[GUESS_TEXT_MAX - 16]; // the first few names added
};

// Start with the name that was not found, then add the known ones (which must outlive the guess).
struct guess guess_start(const char *name);
void guess_add(struct guess *g, const char *known);
// `; did you mean "rate"?`, or all names if they are few, or nothing. buf has GUESS_TEXT_MAX bytes.
const char *guess_text(const struct guess *g, char *buf);

// Typing errors (insert, delete, replace, swap neighbours) from a to b, or limit + 1 if they are more.
unsigned name_distance(const char *a, const char *b, unsigned limit);

#endif
