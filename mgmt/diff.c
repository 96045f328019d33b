// SPDX-License-Identifier: GPL-2.0-or-later
// What differs between two documents, for people: one entry per leaf value that is another, and one for a whole resource
// that is new or gone, not one for each setting in it. Objects are compared by key. Lists are compared as values, since the
// place in a list is its meaning (rules: the first match wins) and an index says nothing about which rule it was;
// only a list of the same length is looked into, so that one changed rule is one entry.
//
// The walk goes no deeper than documents may be (JSON_DEPTH_MAX), so the pointer's buffer and the stack are bounded.
#include "mgmt/commit.h"

#include <stdio.h>
#include <string.h>

#include "mgmt/json.h"

enum { SUMMARY_MAX = 256 };

struct diff {
	json_t *changes;
	struct place at;
};

// The pointer in full: unlike a problem's it is data, and may not be cut.
static json_t *pointer(const struct place *p)
{
	json_t *text = json_string(""), *longer;

	for (unsigned i = 0; text && i < p->depth; i++) {
		char index[24], *step = index;

		if (!p->step[i].key) {
			snprintf(index, sizeof index, "%zu", p->step[i].index);
			longer = json_sprintf("%s/%s", json_string_value(text), index);
		} else {
			char escaped[512];
			size_t n = 0;

			for (const char *c = p->step[i].key; *c && n < sizeof escaped - 3; c++) {
				bool special = *c == '~' || *c == '/';

				escaped[n++] = special ? '~' : *c;
				if (special)
					escaped[n++] = *c == '~' ? '0' : '1';
			}
			escaped[n] = 0;
			step = escaped;
			longer = json_sprintf("%s/%s", json_string_value(text), step);
		}
		json_decref(text);
		text = longer;
	}
	return text;
}

static void add(struct diff *d, const char *op, json_t *from, json_t *to)
{
	json_t *entry = json_object();

	json_object_set_new(entry, "op", json_string(op));
	json_object_set_new(entry, "path", pointer(&d->at));
	if (from)
		json_object_set(entry, "from", from);
	if (to)
		json_object_set(entry, "to", to);
	json_array_append_new(d->changes, entry);
}

static void compare(struct diff *d, json_t *from, json_t *to);

static void compare_objects(struct diff *d, json_t *from, json_t *to)
{
	const char *key;
	json_t *v;

	json_object_foreach(from, key, v)
	{
		json_t *other = json_object_get(to, key);

		place_key(&d->at, key);
		if (other)
			compare(d, v, other);
		else
			add(d, "remove", v, NULL);
		place_up(&d->at);
	}
	json_object_foreach(to, key, v)
	{
		if (json_object_get(from, key))
			continue;
		place_key(&d->at, key);
		add(d, "add", NULL, v);
		place_up(&d->at);
	}
}

static void compare_lists(struct diff *d, json_t *from, json_t *to)
{
	size_t i;
	json_t *v;

	json_array_foreach(from, i, v)
	{
		place_index(&d->at, i);
		compare(d, v, json_array_get(to, i));
		place_up(&d->at);
	}
}

static void compare(struct diff *d, json_t *from, json_t *to)
{
	bool deeper = d->at.depth < JSON_DEPTH_MAX;

	if (deeper && json_is_object(from) && json_is_object(to))
		compare_objects(d, from, to);
	else if (deeper && json_is_array(from) && json_is_array(to) && json_array_size(from) == json_array_size(to))
		compare_lists(d, from, to);
	else if (!json_equal(from, to))
		add(d, "replace", from, to);
}

// jansson wants to count references even of what is only read.
static json_t *unconst(const json_t *v)
{
	union {
		const json_t *in;
		json_t *out;
	} u = {.in = v};

	return u.out;
}

json_t *document_diff(const json_t *from, const json_t *to)
{
	struct diff d = {.changes = json_array()};

	if (d.changes)
		compare(&d, unconst(from), unconst(to));
	return d.changes;
}

const char *diff_summary(const json_t *changes, char *buf)
{
	size_t n = json_array_size(changes), at, i;
	json_t *entry;

	if (!n) {
		snprintf(buf, SUMMARY_MAX, "no change");
		return buf;
	}
	at = (size_t)snprintf(buf, SUMMARY_MAX, "%zu change%s: ", n, n == 1 ? "" : "s");
	json_array_foreach(changes, i, entry)
	{
		const char *path = json_string_value(json_object_get(entry, "path"));

		if (!path || at + strlen(path) + sizeof ", ..." > SUMMARY_MAX) {
			snprintf(buf + at, SUMMARY_MAX - at, "...");
			break;
		}
		at += (size_t)snprintf(buf + at, SUMMARY_MAX - at, "%s%s", *path ? path : "/", i + 1 < n ? ", " : "");
	}
	return buf;
}
