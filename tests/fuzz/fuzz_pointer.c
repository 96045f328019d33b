// SPDX-License-Identifier: GPL-2.0-or-later
// Any pointer on any document: pointer, document and value on a line each. What was put is there afterwards, what was
// removed is not, the document itself never changes, and a merge patch means the same the second time.
#include <stdlib.h>
#include <string.h>

#include "mgmt/json.h"
#include "mgmt/pointer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *make(const struct pointer *p, unsigned steps)
{
	return steps % 3 ? json_object() : NULL;
}

static json_t *next_line(const char **at, const char *end)
{
	const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
	struct problems p = {0};
	json_t *v;

	stop = stop ? stop : end;
	*at = stop < end ? stop + 1 : end;
	v = document_parse(line, (size_t)(stop - line), &p);
	problems_free(&p);
	return v;
}

static void expect(bool good)
{
	if (!good)
		abort();
}

static void try_edits(const struct pointer *p, json_t *document, json_t *value)
{
	json_t *before = json_deep_copy(document), *out, *twice, *copy;
	bool append = p->steps && !strcmp(p->step[p->steps - 1], "-");
	enum pointer_fault fault;

	out = pointer_put(document, p, value, make, &fault);
	expect(!out == (fault != POINTER_OK));
	if (out && !append)
		expect(json_equal(pointer_get(out, p), value));
	if (out && p->steps && !append) {
		twice = pointer_remove(out, p, &fault);
		expect(twice != NULL);
		json_decref(twice);
	}
	json_decref(out);
	out = pointer_remove(document, p, &fault);
	expect(!out == (fault != POINTER_OK) && !out == (!p->steps || !pointer_get(document, p)));
	json_decref(out);

	out = merge_patch(document, value);
	twice = merge_patch(out, value);
	copy = json_deep_copy(out);
	expect(json_equal(out, twice) && json_equal(out, copy));
	json_decref(copy);
	json_decref(twice);
	json_decref(out);
	expect(json_equal(document, before));
	json_decref(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[256];
	const char *start = (const char *)data, *end = start + size, *stop = memchr(start, '\n', size);
	size_t len = stop ? (size_t)(stop - start) : size;
	json_t *document, *value;
	struct pointer p;

	if (!stop || len >= sizeof text)
		return 0;
	memcpy(text, start, len);
	text[len] = '\0';
	start = stop + 1;
	document = next_line(&start, end);
	value = next_line(&start, end);
	if (document && value && pointer_parse(&p, text))
		try_edits(&p, document, value);
	json_decref(document);
	json_decref(value);
	return 0;
}
