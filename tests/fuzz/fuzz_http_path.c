// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as the target of a request, against the product's routes and some that overlap. What is taken must be clean, must
// fit its limits, and must give the same when it is encoded and parsed again.
#include <stdlib.h>
#include <string.h>

#include "mgmt/http_route.h"
#include "mgmt/pointer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void unused(struct request *r, struct response *a)
{
}

static const struct route overlapping[] = {
	{HTTP_GET, "/{a}/{b}", ROLE_VIEWER, unused, 0, ""},
	{HTTP_PUT, "/a/{b}", ROLE_VIEWER, unused, 0, ""},
	{HTTP_DELETE, "/a/b/**", ROLE_VIEWER, unused, 0, ""},
	{HTTP_PATCH, "/**", ROLE_VIEWER, unused, 0, ""},
	{0},
};

static void check(bool fine)
{
	if (!fine)
		abort();
}

static void encode(const struct target *t, char *out)
{
	for (unsigned i = 0; i < t->segments; i++) {
		*out++ = '/';
		for (const char *c = t->segment[i]; *c; c++, out += 3) {
			static const char hex[] = "0123456789abcdef";

			out[0] = '%';
			out[1] = hex[(unsigned char)*c >> 4];
			out[2] = hex[*c & 15];
		}
	}
	if (!t->segments)
		*out++ = '/';
	*out = '\0';
}

static void check_pointer(const struct route_match *m, const struct target *t)
{
	struct pointer p;
	unsigned first;

	if (!m->has_pointer || !pointer_parse(&p, m->pointer))
		return; // longer than any document is deep
	check(p.steps <= t->segments);
	first = t->segments - p.steps;
	for (unsigned i = 0; i < p.steps; i++)
		check(!strcmp(p.step[i], t->segment[first + i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct route *const tables[] = {api_config_routes, api_revision_routes, api_state_routes,
						     api_access_routes, overlapping,         NULL};
	static struct target t, again;
	static char encoded[4 * TARGET_MAX];
	static struct route_match m;
	char *raw = malloc(size + 1);
	const char *why = NULL;

	memcpy(raw, data, size);
	raw[size] = '\0';
	switch (target_parse(raw, &t, &why)) {
	case TARGET_TOO_LONG:
		check(strlen(raw) > TARGET_MAX);
		break;
	case TARGET_BAD:
		check(why != NULL);
		break;
	case TARGET_OK:
		check(t.segments <= TARGET_SEGMENTS && t.parameters <= TARGET_PARAMETERS);
		check(strlen(t.path) <= strlen(raw));
		for (unsigned i = 0; i < t.parameters; i++)
			check(target_query(&t, t.parameter[i].key) == t.parameter[i].value);
		for (unsigned method = HTTP_GET; method <= HTTP_DELETE; method <<= 1) {
			route_find(tables, &t, method, &m);
			check(m.allow && (!m.route || (m.route->methods & method && m.allow & method)));
			check_pointer(&m, &t);
		}
		encode(&t, encoded);
		if (strlen(encoded) > TARGET_MAX)
			break;
		check(target_parse(encoded, &again, &why) == TARGET_OK && again.segments == t.segments);
		for (unsigned i = 0; i < t.segments; i++)
			check(!strcmp(t.segment[i], again.segment[i]));
		break;
	}
	free(raw);
	return 0;
}
