// SPDX-License-Identifier: GPL-2.0-or-later
// From a request line's target to a route: percent-decoding, query, matching. Pure; knows neither sockets nor MHD.
#ifndef MGMT_HTTP_ROUTE_H
#define MGMT_HTTP_ROUTE_H

#include "mgmt/http.h"

enum { TARGET_MAX = 2048, TARGET_SEGMENTS = 24, TARGET_PARAMETERS = 16 };

enum target_verdict { TARGET_OK, TARGET_TOO_LONG, TARGET_BAD };

// A decoded target. Every text lies in `text`, so a target can be neither copied nor moved.
struct target {
	unsigned segments, parameters;
	const char *segment[TARGET_SEGMENTS]; // between the slashes of the path; "/" has none
	struct {
		const char *key, *value; // "" if there is no '='
	} parameter[TARGET_PARAMETERS];
	char path[TARGET_MAX + 1]; // the segments again, with slashes
	char text[TARGET_MAX + 2];
};

// Takes "/path?query" apart. TARGET_BAD: *why says what is wrong (static text).
enum target_verdict target_parse(const char *raw, struct target *out, const char **why);
const char *target_query(const struct target *t, const char *key);

struct route_match {
	const struct route *route; // NULL: none with this method
	unsigned allow;            // methods that the path has; 0: there is no such path
	const char *name;          // see struct request
	bool has_pointer;
	char pointer[2 * TARGET_MAX + 1];
};

// The most specific pattern wins, segment by segment from the left: a literal before {name} before **, which takes any
// number of segments, also none. Only its rows are asked for the method. `tables` ends with NULL.
void route_find(const struct route *const *tables, const struct target *t, enum http_method method,
		struct route_match *out);

#endif
