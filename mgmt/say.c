// SPDX-License-Identifier: GPL-2.0-or-later
// Lines for people and for whoever collects stderr. Each is written with one call, so that lines of several
// processes don't mix.
#include "mgmt/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_MAX_LEN = 8192 }; // all ports in one line fit

void say(const char *fmt, ...)
{
	char line[LINE_MAX_LEN] = "weir: ";
	const size_t start = sizeof "weir: " - 1;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + start, sizeof line - start - 1, fmt, ap);
	va_end(ap);
	strcat(line, "\n");
	fputs(line, stderr);
}

void print_problems(const char *file, const struct problems *p)
{
	for (uint32_t i = 0; i < p->kept; i++) {
		const struct problem *q = &p->list[i];

		say("%s: %s%s%s%s", file, q->level == PROBLEM_WARNING ? "warning: " : "", q->path, *q->path ? ": " : "",
		    q->text);
	}
	if (p->errors + p->warnings > p->kept)
		say("%s: and %u more", file, p->errors + p->warnings - p->kept);
}

const char *harmless(char *text, size_t size)
{
	text[size - 1] = 0;
	for (char *c = text; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
	return text;
}
