// SPDX-License-Identifier: GPL-2.0-or-later
// JSON pointers (RFC 6901) and merge patches (RFC 7396) by copying the path: from the root down to the place every
// container is copied shallowly, everything beside it is shared. A change of one class among thousands copies
// one table of references, and whoever holds the old document keeps it unchanged. It is also what makes sharing between threads
// safe, as jansson's reference counts are atomic and nothing else is ever written.
//
// Depth is bounded by POINTER_STEPS for pointers and by the parser's limit for patches, so recursion is too.
#include "mgmt/pointer.h"

#include <string.h>

// Keys are UTF-8, as all of JSON.
static bool is_utf8(const char *text)
{
	json_t *s = json_string(text);

	json_decref(s);
	return s != NULL;
}

bool pointer_parse(struct pointer *p, const char *text)
{
	char *out = p->text;

	p->steps = 0;
	if (strlen(text) >= sizeof p->text || (text[0] && text[0] != '/') || !is_utf8(text))
		return false;
	while (*text) {
		if (p->steps == POINTER_STEPS)
			return false;
		p->step[p->steps++] = out;
		for (text++; *text && *text != '/'; text++) {
			if (*text != '~') {
				*out++ = *text;
				continue;
			}
			text++;
			if (*text != '0' && *text != '1')
				return false;
			*out++ = *text == '0' ? '~' : '/';
		}
		*out++ = '\0';
	}
	return true;
}

// An index of a list with `size` elements as RFC 6901 writes it; false: it is none, or beyond the end.
static bool list_index(const char *step, size_t size, size_t *index)
{
	size_t n = 0;

	if (!*step || (step[0] == '0' && step[1]))
		return false;
	for (const char *c = step; *c; c++) {
		if (*c < '0' || *c > '9' || n > size)
			return false;
		n = n * 10 + (size_t)(*c - '0');
	}
	*index = n;
	return n < size;
}

static json_t *child(const json_t *in, const char *step)
{
	size_t i;

	if (json_is_object(in))
		return json_object_get(in, step);
	return json_is_array(in) && list_index(step, json_array_size(in), &i) ? json_array_get(in, i) : NULL;
}

json_t *pointer_get(json_t *doc, const struct pointer *p)
{
	for (unsigned i = 0; doc && i < p->steps; i++)
		doc = child(doc, p->step[i]);
	return doc;
}

// What a put or a removal knows at every depth.
struct edit {
	const struct pointer *p;
	json_t *value;       // NULL: remove
	pointer_maker *make; // NULL: nothing may be made
	enum pointer_fault fault;
};

static json_t *fail(struct edit *e, enum pointer_fault fault)
{
	e->fault = fault;
	return NULL;
}

// json_array_set_new, _append_new and json_object_set_new free the value if they fail.
static json_t *done(struct edit *e, json_t *copy, int err)
{
	if (!err)
		return copy;
	json_decref(copy);
	return fail(e, POINTER_MEMORY);
}

static json_t *edit_at(struct edit *e, json_t *in, unsigned depth);

// What is to stand at step `depth` of `in`, where `now` stands (NULL: nothing): the value itself if it is the last step, else
// the edited container. A new reference.
static json_t *edit_child(struct edit *e, json_t *now, unsigned depth)
{
	json_t *made, *out;

	if (depth + 1 == e->p->steps)
		return json_incref(e->value);
	if (now)
		return edit_at(e, now, depth + 1);
	made = e->make ? e->make(e->p, depth + 1) : NULL;
	if (!made)
		return fail(e, POINTER_ABSENT);
	out = edit_at(e, made, depth + 1);
	json_decref(made);
	return out;
}

static json_t *edit_list(struct edit *e, json_t *in, unsigned depth)
{
	const char *step = e->p->step[depth];
	bool last = depth + 1 == e->p->steps, append = last && e->value && !strcmp(step, "-");
	size_t size = json_array_size(in), i = size;
	json_t *copy, *to = NULL;

	if (!append && !list_index(step, size, &i))
		return fail(e, POINTER_ABSENT);
	if ((e->value || !last) && !(to = edit_child(e, append ? NULL : json_array_get(in, i), depth)))
		return NULL;
	copy = json_copy(in);
	if (!copy) {
		json_decref(to);
		return fail(e, POINTER_MEMORY);
	}
	if (append)
		return done(e, copy, json_array_append_new(copy, to));
	return done(e, copy, to ? json_array_set_new(copy, i, to) : json_array_remove(copy, i));
}

static json_t *edit_object(struct edit *e, json_t *in, unsigned depth)
{
	const char *step = e->p->step[depth];
	json_t *now = json_object_get(in, step), *copy, *to = NULL;
	bool last = depth + 1 == e->p->steps;

	if (!e->value && !now)
		return fail(e, POINTER_ABSENT);
	if ((e->value || !last) && !(to = edit_child(e, now, depth)))
		return NULL;
	copy = json_copy(in);
	if (!copy) {
		json_decref(to);
		return fail(e, POINTER_MEMORY);
	}
	return done(e, copy, to ? json_object_set_new(copy, step, to) : json_object_del(copy, step));
}

static json_t *edit_at(struct edit *e, json_t *in, unsigned depth)
{
	if (json_is_object(in))
		return edit_object(e, in, depth);
	return json_is_array(in) ? edit_list(e, in, depth) : fail(e, POINTER_ABSENT);
}

json_t *pointer_put(json_t *doc, const struct pointer *p, json_t *value, pointer_maker *make, enum pointer_fault *fault)
{
	struct edit e = {.p = p, .value = value, .make = make};
	json_t *out = p->steps ? edit_at(&e, doc, 0) : json_incref(value);

	*fault = e.fault;
	return out;
}

json_t *pointer_remove(json_t *doc, const struct pointer *p, enum pointer_fault *fault)
{
	struct edit e = {.p = p};
	json_t *out = p->steps ? edit_at(&e, doc, 0) : fail(&e, POINTER_ABSENT);

	*fault = e.fault;
	return out;
}

json_t *merge_patch(json_t *target, json_t *patch)
{
	json_t *out, *v;
	const char *key;

	if (!json_is_object(patch))
		return json_incref(patch);
	out = json_is_object(target) ? json_copy(target) : json_object();
	if (!out)
		return NULL;
	json_object_foreach(patch, key, v)
	{
		if (json_is_null(v)) {
			json_object_del(out, key);
			continue;
		}
		if (json_object_set_new(out, key, merge_patch(json_object_get(out, key), v))) {
			json_decref(out);
			return NULL;
		}
	}
	return out;
}
