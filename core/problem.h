// SPDX-License-Identifier: GPL-2.0-or-later
// A list of everything that is wrong with an input, so that all of it can be told at once: the place (a JSON
// pointer), and a sentence with the value found and what is allowed.
#ifndef CORE_PROBLEM_H
#define CORE_PROBLEM_H

#include "core/types.h"

enum { PROBLEM_PATH_MAX = 192, PROBLEM_TEXT_MAX = 320, PROBLEMS_KEPT = 200 };

enum problem_level { PROBLEM_ERROR, PROBLEM_WARNING };

struct problem {
	enum problem_level level;
	char path[PROBLEM_PATH_MAX]; // JSON pointer, "" for the whole document
	char text[PROBLEM_TEXT_MAX];
};

struct problems {
	struct problem *list; // grown by malloc; at most PROBLEMS_KEPT are kept, the rest only counted
	uint32_t kept;
	uint32_t errors, warnings; // all of them
};

// Adds one; path and text are cut at their maximum. Never fails: without memory it still counts.
void problem_add(struct problems *p, enum problem_level level, const char *path, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
void problems_free(struct problems *p);

#endif
