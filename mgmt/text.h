// SPDX-License-Identifier: GPL-2.0-or-later
// A text that grows, for answers of megabytes: thousands of classes as JSON or metrics, without a tree of values and
// without printf for each number.
#ifndef MGMT_TEXT_H
#define MGMT_TEXT_H

#include <stdlib.h>
#include <string.h>

#include "core/types.h"

struct text {
	char *at; // malloc'ed, not terminated; NULL: nothing yet
	size_t len, size;
	bool failed; // no memory: everything since is ignored
};

void text_add(struct text *t, const char *s, size_t len);
void text_number(struct text *t, uint64_t n);
void text_signed(struct text *t, int64_t n);

static inline void text_put(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

// The terminated text, which the caller frees; NULL if memory ran out. *t is empty afterwards.
char *text_take(struct text *t);

// The name in a field of `size` bytes that another process writes: copied first, ended, and with '?' for every byte that is not
// printable ASCII or that JSON and label values would have to escape. `out` has `size` bytes.
const char *text_name(char *out, const char *field, size_t size);

#endif
