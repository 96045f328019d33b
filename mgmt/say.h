// SPDX-License-Identifier: GPL-2.0-or-later
// What a process of weir tells people: lines on stderr.
#ifndef MGMT_SAY_H
#define MGMT_SAY_H

#include "core/problem.h"

// "weir: ...", one line.
void say(const char *fmt, ...) PRINTF_LIKE(1, 2);
// Prints problems, one a line: "weir: FILE: /ports/lan: ...".
void print_problems(const char *file, const struct problems *p);
// A text from a process that may have been taken over, made harmless for a terminal, in place.
const char *harmless(char *text, size_t size);

#endif
