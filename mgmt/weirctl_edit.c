// SPDX-License-Identifier: GPL-2.0-or-later
// Documents are changed in place but shared never: whatever enters one is a copy of its own. Validity is the server's to judge;
// only what has no meaning at all (a key in a list, an index past its end, a step into a number) is refused here.
#include "mgmt/weirctl_edit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MERGE_DEPTH_MAX = 64 };

// ---- paths and values

// Undoes ~0 and ~1 in place. False: another ~.
static bool unescape(char *step)
{
	char *to = step;

	for (const char *p = step; *p; p++) {
		if (*p == '~' && p[1] != '0' && p[1] != '1')
			return false;
		*to++ = *p != '~' ? *p : *++p == '0' ? '~' : '/';
	}
	*to = '\0';
	return true;
}

bool edit_path_read(struct edit_path *p, char **word, int words, char *why)
{
	size_t at = 0;
	char *save, *step;

	p->depth = 0;
	for (int i = 0; i < words; i++) {
		int n = snprintf(p->text + at, sizeof p->text - at, "%s/", word[i]);

		if ((size_t)n >= sizeof p->text - at)
			return snprintf(why, EDIT_WHY, "the path is longer than %d bytes", EDIT_PATH_MAX - 1), false;
		at += (size_t)n;
	}
	p->text[at] = '\0';
	for (step = strtok_r(p->text, "/", &save); step; step = strtok_r(NULL, "/", &save)) {
		if (p->depth == EDIT_STEPS_MAX)
			return snprintf(why, EDIT_WHY, "the path has more than %d steps", EDIT_STEPS_MAX), false;
		if (!unescape(step))
			return snprintf(why, EDIT_WHY, "\"%.64s\": write ~ as ~0", step), false;
		p->step[p->depth++] = step;
	}
	return true;
}

const char *edit_pointer(const struct edit_path *p, char *buf)
{
	size_t at = 0;

	for (unsigned i = 0; i < p->depth; i++) {
		buf[at++] = '/';
		for (const char *c = p->step[i]; *c; c++) {
			bool special = *c == '~' || *c == '/';

			buf[at++] = special ? '~' : *c;
			if (special)
				buf[at++] = *c == '~' ? '0' : '1';
		}
	}
	buf[at] = '\0';
	return buf;
}

const char *edit_url(const struct edit_path *p, char *buf)
{
	size_t at = 0;

	for (unsigned i = 0; i < p->depth; i++) {
		buf[at++] = '/';
		for (const char *c = p->step[i]; *c; c++) {
			if (isalnum((unsigned char)*c) || strchr("-._", *c) || (*c == '~'))
				buf[at++] = *c;
			else
				at += (size_t)sprintf(buf + at, "%%%02X", (unsigned char)*c);
		}
	}
	buf[at] = '\0';
	return buf;
}

const char *edit_name_url(const char *name, char *buf)
{
	struct edit_path p = {.depth = 1, .step = {name}};

	return *name && strlen(name) < EDIT_PATH_MAX ? edit_url(&p, buf) : NULL;
}

json_t *edit_value(const char *text, char *why)
{
	json_error_t error;
	json_t *v = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
	char first = text[strspn(text, " \t\r\n")];

	if (v)
		return v;
	if (first == '{' || first == '[' || first == '"') {
		snprintf(why, EDIT_WHY, "the value is not JSON: %s (column %d)", error.text, error.column);
		return NULL;
	}
	v = json_string(text);
	if (!v)
		snprintf(why, EDIT_WHY, "the value is not UTF-8");
	return v;
}

bool edit_assignment(struct edit_path *p, json_t **value, char **word, int words, char *why)
{
	int path_words = word[0][0] == '/' ? 1 : words - 1;

	if (words < 2)
		return snprintf(why, EDIT_WHY, "the value is missing"), false;
	if (!edit_path_read(p, word, path_words, why))
		return false;
	if (words - path_words == 1)
		return (*value = edit_value(word[path_words], why)) != NULL;
	*value = json_array();
	for (int i = path_words; i < words; i++) {
		json_t *v = edit_value(word[i], why);

		if (!v) {
			json_decref(*value);
			return false;
		}
		json_array_append_new(*value, v);
	}
	return true;
}

// ---- one change

// The index that a step means in a list of n elements: n for "-", -1 for no index.
static ssize_t index_of(const char *step, size_t n)
{
	char *end;
	unsigned long i;

	if (!strcmp(step, "-"))
		return (ssize_t)n;
	if (!isdigit((unsigned char)step[0]) || (step[0] == '0' && step[1]))
		return -1;
	i = strtoul(step, &end, 10);
	return *end || i > n ? -1 : (ssize_t)i;
}

static json_t *step_down(json_t *v, const char *step)
{
	if (json_is_object(v))
		return json_object_get(v, step);
	if (json_is_array(v)) {
		ssize_t i = index_of(step, json_array_size(v));

		return i < 0 ? NULL : json_array_get(v, (size_t)i);
	}
	return NULL;
}

json_t *edit_get(json_t *document, const struct edit_path *p)
{
	for (unsigned i = 0; document && i < p->depth; i++)
		document = step_down(document, p->step[i]);
	return document;
}

// The pointer of the first `steps` steps, for messages.
static const char *upto(const struct edit_path *p, unsigned steps, char *buf)
{
	struct edit_path head = *p;

	head.depth = steps;
	edit_pointer(&head, buf);
	if (!*buf)
		strcpy(buf, "the document");
	return buf;
}

static bool no_place(const struct edit_path *p, unsigned steps, const json_t *at, char *why)
{
	char where[EDIT_POINTER_MAX];

	upto(p, steps, where);
	if (json_is_array(at))
		snprintf(why, EDIT_WHY, "%.150s is a list of %zu: \"%.64s\" is no index of it", where,
			 json_array_size(at), p->step[steps]);
	else
		snprintf(why, EDIT_WHY, "%.150s is a plain value: there is no \"%.64s\" in it", where, p->step[steps]);
	return false;
}

static bool put(json_t *at, const char *step, json_t *value, bool insert)
{
	size_t n = json_array_size(at);
	ssize_t i;

	if (json_is_object(at))
		return !insert && !json_object_set(at, step, value);
	i = json_is_array(at) ? index_of(step, n) : -1;
	if (i < 0)
		return false;
	if (insert)
		return !json_array_insert(at, (size_t)i, value);
	if ((size_t)i < n)
		return !json_array_set(at, (size_t)i, value);
	return !strcmp(step, "-") && !json_array_append(at, value);
}

static bool set(json_t *at, const struct edit_path *p, json_t *value, bool insert, char *why)
{
	for (unsigned i = 0; i + 1 < p->depth; i++) {
		json_t *next = step_down(at, p->step[i]);

		if (!next) {
			json_t *missing = json_object();
			bool ok = put(at, p->step[i], missing, false);

			next = missing; // the document holds it
			json_decref(missing);
			if (!ok)
				return no_place(p, i, at, why);
		}
		at = next;
	}
	if (put(at, p->step[p->depth - 1], value, insert))
		return true;
	if (insert && json_is_object(at))
		return snprintf(why, EDIT_WHY, "insert is for lists; use set"), false;
	return no_place(p, p->depth - 1, at, why);
}

bool edit_set(json_t *document, const struct edit_path *p, json_t *value, bool insert, char *why)
{
	bool ok;

	if (!p->depth) {
		ok = json_is_object(value) && !insert;
		if (ok) {
			json_object_clear(document);
			json_object_update(document, value);
		} else {
			snprintf(why, EDIT_WHY, "the whole document must be an object");
		}
	} else {
		ok = set(document, p, value, insert, why);
	}
	json_decref(value);
	return ok;
}

bool edit_delete(json_t *document, const struct edit_path *p, char *why)
{
	char where[EDIT_POINTER_MAX];
	const char *last = p->depth ? p->step[p->depth - 1] : NULL;
	struct edit_path above = *p;
	json_t *at;

	if (!last)
		return snprintf(why, EDIT_WHY, "a path is missing: the whole document can't be deleted"), false;
	above.depth--;
	at = edit_get(document, &above);
	if (!at || !step_down(at, last))
		return snprintf(why, EDIT_WHY, "there is no %.200s", edit_pointer(p, where)), false;
	if (json_is_object(at))
		return !json_object_del(at, last);
	return !json_array_remove(at, (size_t)index_of(last, json_array_size(at)));
}

// ---- whole documents

static json_t *merged(const json_t *target, const json_t *patch, int depth)
{
	json_t *out, *v;
	const char *key;

	if (!json_is_object(patch) || depth > MERGE_DEPTH_MAX)
		return json_deep_copy(patch);
	out = json_is_object(target) ? json_copy((json_t *)(uintptr_t)target) : json_object();
	json_object_foreach((json_t *)(uintptr_t)patch, key, v)
	{
		if (json_is_null(v))
			json_object_del(out, key);
		else
			json_object_set_new(out, key, merged(json_object_get(out, key), v, depth + 1));
	}
	return out;
}

json_t *edit_merged(const json_t *target, const json_t *patch)
{
	json_t *shared = merged(target, patch, 0), *own = json_deep_copy(shared);

	json_decref(shared);
	return own;
}

struct rebase {
	bool prefer_mine;
	json_t *conflicts;
	struct edit_path place;
};

static bool same(const json_t *a, const json_t *b)
{
	return a == b || (a && b && json_equal(a, b));
}

static json_t *three(struct rebase *r, const json_t *base, const json_t *mine, const json_t *theirs);

static void three_key(struct rebase *r, json_t *out, const char *key, const json_t *base, const json_t *mine,
		      const json_t *theirs)
{
	json_t *v;

	r->place.step[r->place.depth++] = key;
	v = three(r, json_object_get(base, key), json_object_get(mine, key), json_object_get(theirs, key));
	r->place.depth--;
	if (v)
		json_object_set_new(out, key, v);
}

// NULL in and out: nothing there.
static json_t *three(struct rebase *r, const json_t *base, const json_t *mine, const json_t *theirs)
{
	char where[EDIT_POINTER_MAX];
	const char *key;
	json_t *v, *out;

	if (same(mine, base) || same(mine, theirs))
		return json_deep_copy(theirs);
	if (same(theirs, base))
		return json_deep_copy(mine);
	if (json_is_object(mine) && json_is_object(theirs) && r->place.depth < EDIT_STEPS_MAX) {
		out = json_object();
		json_object_foreach((json_t *)(uintptr_t)theirs, key, v) three_key(r, out, key, base, mine, theirs);
		json_object_foreach((json_t *)(uintptr_t)mine, key, v) if (!json_object_get(theirs, key))
			three_key(r, out, key, base, mine, theirs);
		return out;
	}
	json_array_append_new(r->conflicts, json_string(edit_pointer(&r->place, where)));
	return json_deep_copy(r->prefer_mine ? mine : theirs);
}

json_t *edit_rebased(const json_t *base, const json_t *mine, const json_t *theirs, bool prefer_mine, json_t *conflicts)
{
	struct rebase r = {.prefer_mine = prefer_mine, .conflicts = conflicts};

	return three(&r, base, mine, theirs);
}
