// SPDX-License-Identifier: GPL-2.0-or-later
// Collecting problems. A document of nonsense can have a million of them: a bounded number is kept, all are counted.
#include "core/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void problem_add(struct problems *p, enum problem_level level, const char *path, const char *fmt, ...)
{
	va_list ap;

	if (level == PROBLEM_ERROR)
		p->errors++;
	else
		p->warnings++;
	if (p->kept == PROBLEMS_KEPT)
		return;
	if (!p->list)
		p->list = calloc(PROBLEMS_KEPT, sizeof *p->list);
	if (!p->list)
		return;
	struct problem *q = &p->list[p->kept++];

	q->level = level;
	snprintf(q->path, sizeof q->path, "%s", path);
	va_start(ap, fmt);
	vsnprintf(q->text, sizeof q->text, fmt, ap);
	va_end(ap);
}

void problems_free(struct problems *p)
{
	free(p->list);
	*p = (struct problems){0};
}
