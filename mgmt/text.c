// SPDX-License-Identifier: GPL-2.0-or-later
// Appending. The buffer doubles, so a byte is copied twice at most on average.
#include "mgmt/text.h"

void text_add(struct text *t, const char *s, size_t len)
{
	if (t->size - t->len <= len && !t->failed) {
		size_t size = t->size * 2 > t->len + len + 1 ? t->size * 2 : t->len + len + 4096;
		char *more = realloc(t->at, size);

		t->failed = !more;
		if (more) {
			t->at = more;
			t->size = size;
		}
	}
	if (t->failed)
		return;
	memcpy(t->at + t->len, s, len);
	t->len += len;
}

void text_number(struct text *t, uint64_t n)
{
	char digits[20];
	size_t at = sizeof digits;

	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	text_add(t, digits + at, sizeof digits - at);
}

void text_signed(struct text *t, int64_t n)
{
	if (n < 0)
		text_add(t, "-", 1);
	text_number(t, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

char *text_take(struct text *t)
{
	char *out = NULL;

	text_add(t, "", 1);
	if (t->failed)
		free(t->at);
	else
		out = t->at;
	*t = (struct text){0};
	return out;
}

const char *text_name(char *out, const char *field, size_t size)
{
	memcpy(out, field, size);
	out[size - 1] = '\0';
	for (char *c = out; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == '"' || *c == '\\')
			*c = '?';
	return out;
}
