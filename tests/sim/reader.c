// SPDX-License-Identifier: GPL-2.0-or-later
// Words, values with units, and classes by name. Trees may have 200,000 classes, so names are found through a hash.
#include "tests/sim/reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wrong(const struct reader *r, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%u: ", r->s->file, r->line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_FILE);
}

void *grow_array(void *array, uint32_t n, size_t size)
{
	void *p = array;

	if ((n & (n - 1)) == 0) {
		p = realloc(array, (n ? 2 * (size_t)n : 1) * size);
		if (!p)
			abort();
	}
	memset((char *)p + n * size, 0, size);
	return p;
}

void split_line(struct reader *r, char *text)
{
	char *save, *w;

	r->words = r->next = 0;
	for (w = strtok_r(text, " \t\r\n", &save); w && *w != '#'; w = strtok_r(NULL, " \t\r\n", &save)) {
		if (r->words == WORDS_MAX)
			wrong(r, "more than %d words in a line", WORDS_MAX);
		r->word[r->words++] = w;
	}
}

const char *next_word(struct reader *r, const char *what)
{
	if (r->next == r->words)
		wrong(r, "the line ends where %s is expected", what);
	return r->word[r->next++];
}

bool more_words(const struct reader *r)
{
	return r->next < r->words;
}

bool accept_word(struct reader *r, const char *keyword)
{
	if (!more_words(r) || strcmp(r->word[r->next], keyword))
		return false;
	r->next++;
	return true;
}

static const struct unit rate_units[] = {{"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {"", 1}, {NULL, 0}};
static const struct unit time_units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}, {NULL, 0}};
const struct unit plain_units[] = {{"", 1}, {"%", 0.01}, {NULL, 0}};

double read_value(struct reader *r, const char *text, const struct unit *units, double min, double max,
		  const char *allowed)
{
	char *end;
	double v;

	v = strtod(text, &end);
	for (const struct unit *u = units; end != text && u->name; u++)
		if (!strcmp(end, u->name)) {
			v *= u->factor;
			if (!isfinite(v) || v < min || v > max)
				wrong(r, "\"%s\" is out of range, allowed %s", text, allowed);
			return v;
		}
	wrong(r, "\"%s\" is not understood, allowed %s", text, allowed);
}

uint64_t read_rate(struct reader *r, const char *text)
{
	return (uint64_t)llround(
		read_value(r, text, rate_units, 0, 4e11, "0 to 400gbit, as 500mbit, 64kbit or 1000bit"));
}

nsec_t read_time(struct reader *r, const char *text)
{
	return (nsec_t)llround(read_value(r, text, time_units, 0, 3.6e12, "0s to 60min, as 10ms or 5us"));
}

uint32_t read_number(struct reader *r, const char *what, uint32_t min, uint32_t max)
{
	char allowed[64];

	snprintf(allowed, sizeof allowed, "%u to %u for %s", min, max, what);
	return (uint32_t)read_value(r, next_word(r, what), plain_units, min, max, allowed);
}

int32_t read_integer(struct reader *r, const char *what, int32_t min, int32_t max)
{
	char allowed[64];

	snprintf(allowed, sizeof allowed, "%d to %d for %s", min, max, what);
	return (int32_t)read_value(r, next_word(r, what), plain_units, min, max, allowed);
}

// RATE, or M1/D/M2
struct curve read_curve(struct reader *r)
{
	char text[64], *d, *m2;
	const char *w = next_word(r, "a curve");

	snprintf(text, sizeof text, "%s", w);
	if (!(d = strchr(text, '/')))
		return (struct curve){.m2_bps = read_rate(r, text)};
	*d++ = 0;
	if (!(m2 = strchr(d, '/')))
		wrong(r, "\"%s\" is not a curve, allowed RATE or M1/D/M2, as 400mbit/10ms/100mbit", w);
	*m2++ = 0;
	return (struct curve){read_rate(r, text), read_time(r, d), read_rate(r, m2)};
}

void read_name(struct reader *r, char out[CLASS_NAME_MAX], const char *what)
{
	const char *w = next_word(r, what);

	if (strlen(w) >= CLASS_NAME_MAX || strchr(w, '/'))
		wrong(r, "\"%s\" is no name for %s, allowed are up to %d letters, digits and _-.:", w, what,
		      CLASS_NAME_MAX - 1);
	snprintf(out, CLASS_NAME_MAX, "%s", w);
}

uint32_t text_hash(uint32_t tree, const char *text)
{
	uint32_t h = 2166136261u ^ tree;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h;
}

uint32_t *class_slot(struct reader *r, uint32_t tree, const char *text)
{
	uint32_t i = text_hash(tree, text) & (r->hash_size - 1);

	for (; r->hash[i]; i = (i + 1) & (r->hash_size - 1)) {
		const struct sim_class *c = &r->s->cls[r->hash[i] - 1];

		if (c->tree == tree && !strcmp(c->name, text))
			break;
	}
	return &r->hash[i];
}

void class_known(struct reader *r, uint32_t tree, const char *text)
{
	struct scenario *s = r->s;
	uint32_t *slot;

	if (4 * (s->classes + 1) > r->hash_size) {
		free(r->hash);
		r->hash_size = r->hash_size ? 4 * r->hash_size : 1024;
		r->hash = calloc(r->hash_size, sizeof *r->hash);
		if (!r->hash)
			abort();
		for (uint32_t i = 0; i < s->classes; i++)
			*class_slot(r, s->cls[i].tree, s->cls[i].name) = i + 1;
	}
	slot = class_slot(r, tree, text);
	if (*slot)
		return;
	s->cls = grow_array(s->cls, s->classes, sizeof *s->cls);
	snprintf(s->cls[s->classes].name, CLASS_NAME_MAX, "%s", text);
	s->cls[s->classes].tree = tree;
	*slot = ++s->classes;
}

uint32_t tree_by_name(struct reader *r, const char *text)
{
	for (uint32_t i = 0; i < r->s->trees; i++)
		if (!strcmp(r->s->tree[i].name, text))
			return i;
	wrong(r, "there is no tree \"%s\" above this line", text);
}

uint32_t class_named(struct reader *r, const char *w)
{
	char text[2 * CLASS_NAME_MAX];
	char *slash;
	uint32_t tree = 0, found;

	if (!r->s->trees)
		wrong(r, "\"%s\": there is no tree above this line", w);
	snprintf(text, sizeof text, "%s", w);
	slash = strchr(text, '/');
	if (slash) {
		*slash = 0;
		tree = tree_by_name(r, text);
	}
	found = r->hash ? *class_slot(r, tree, slash ? slash + 1 : text) : 0;
	if (!found)
		wrong(r, "there is no class \"%s\" above this line", w);
	return found - 1;
}
