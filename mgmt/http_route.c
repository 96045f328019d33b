// SPDX-License-Identifier: GPL-2.0-or-later
// The path is cut at its slashes before it is decoded (RFC 3986, 2.2), so "%2F" in a segment is a character of a name
// and never a border. What decodes to something that names do not have is refused here once, for all handlers: control
// characters, bytes that are not UTF-8, and the segments "", "." and "..", which mean different things to different
// programs between client and server.
#include "mgmt/http_route.h"

#include <string.h>

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, up to U+10FFFF) without control characters.
static bool clean_text(const char *s)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

	while (*s) {
		unsigned char c = (unsigned char)*s++;
		unsigned n = c < 0x80                ? 1
			     : c >= 0xc2 && c < 0xe0 ? 2
			     : (c & 0xf0) == 0xe0    ? 3
			     : c >= 0xf0 && c < 0xf5 ? 4
						     : 0;
		uint32_t code = n == 1 ? c : c & (0xffu >> (n + 1));

		if (!n)
			return false;
		for (unsigned i = 1; i < n; i++, s++) {
			if (((unsigned char)*s & 0xc0) != 0x80)
				return false;
			code = code << 6 | ((unsigned char)*s & 0x3f);
		}
		if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || code < ' ' ||
		    (code >= 0x7f && code < 0xa0))
			return false;
	}
	return true;
}

// Decodes text in place.
static bool decode(char *text, bool plus_is_space)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from == '%') {
			int high = hex(from[1]), low = high < 0 ? -1 : hex(from[2]);

			if (low < 0 || !(high << 4 | low))
				return false;
			*to++ = (char)(high << 4 | low);
			from += 2;
		} else {
			*to++ = *from == '+' && plus_is_space ? ' ' : *from;
		}
	}
	*to = '\0';
	return clean_text(text);
}

static enum target_verdict bad(const char **why, const char *text)
{
	*why = text;
	return TARGET_BAD;
}

static enum target_verdict parse_path(char *path, struct target *out, const char **why)
{
	size_t at = 0;

	if (*path != '/')
		return bad(why, "the path does not begin with \"/\"");
	if (!path[1])
		strcpy(out->path, "/");
	for (char *next = path; next && path[1];) {
		char *segment = next + 1;

		next = strchr(segment, '/');
		if (next)
			*next = '\0';
		if (!decode(segment, false))
			return bad(why, "the path is not percent-encoded UTF-8 without control characters");
		if (!*segment || !strcmp(segment, ".") || !strcmp(segment, ".."))
			return bad(why, "the path has an empty segment, \".\" or \"..\"");
		if (out->segments == TARGET_SEGMENTS)
			return bad(why, "the path has too many segments");
		out->segment[out->segments++] = segment;
		out->path[at++] = '/';
		strcpy(out->path + at, segment);
		at += strlen(segment);
	}
	return TARGET_OK;
}

static enum target_verdict parse_query(char *query, struct target *out, const char **why)
{
	char *rest = NULL;

	for (char *p = strtok_r(query, "&", &rest); p; p = strtok_r(NULL, "&", &rest)) {
		char *value = strchr(p, '=');

		if (value)
			*value++ = '\0';
		else
			value = p + strlen(p);
		if (!decode(p, true) || !decode(value, true))
			return bad(why, "the query is not percent-encoded UTF-8 without control characters");
		if (target_query(out, p))
			return bad(why, "the query has a key twice");
		if (out->parameters == TARGET_PARAMETERS)
			return bad(why, "the query has too many keys");
		out->parameter[out->parameters].key = p;
		out->parameter[out->parameters++].value = value;
	}
	return TARGET_OK;
}

enum target_verdict target_parse(const char *raw, struct target *out, const char **why)
{
	size_t len = strlen(raw);
	enum target_verdict verdict;
	char *query;

	out->segments = out->parameters = 0;
	out->path[0] = '\0';
	if (len > TARGET_MAX)
		return TARGET_TOO_LONG;
	memcpy(out->text, raw, len + 1);
	query = strchr(out->text, '?');
	if (query)
		*query++ = '\0';
	verdict = parse_path(out->text, out, why);
	return verdict == TARGET_OK && query ? parse_query(query, out, why) : verdict;
}

const char *target_query(const struct target *t, const char *key)
{
	for (unsigned i = 0; i < t->parameters; i++)
		if (!strcmp(t->parameter[i].key, key))
			return t->parameter[i].value;
	return NULL;
}

// How specific the pattern is if it matches: two bits a segment from the left, 3 for a literal, 2 for {name} and for the end,
// 1 for **; 0: no match.
static uint64_t match(const char *pattern, const struct target *t, const char **name, unsigned *rest)
{
	uint64_t score = 0;
	unsigned shift = 62, i = 0;

	static_assert(2 * (TARGET_SEGMENTS + 2) <= 62, "a segment has two bits of the score");
	*name = NULL;
	*rest = TARGET_SEGMENTS + 1;
	while (*pattern == '/' && pattern[1]) {
		size_t n = strcspn(++pattern, "/");

		shift -= 2;
		if (n == 2 && !strncmp(pattern, "**", 2)) {
			*rest = i;
			return score | 1ull << shift;
		}
		if (i == t->segments)
			return 0;
		if (*pattern == '{')
			*name = t->segment[i];
		else if (strlen(t->segment[i]) != n || memcmp(t->segment[i], pattern, n) != 0)
			return 0;
		score |= (*pattern == '{' ? 2ull : 3ull) << shift;
		pattern += n;
		i++;
	}
	return i == t->segments ? score | 2ull << (shift - 2) : 0;
}

static void make_pointer(const struct target *t, unsigned first, char *to)
{
	for (unsigned i = first; i < t->segments; i++) {
		*to++ = '/';
		for (const char *c = t->segment[i]; *c; c++) {
			bool special = *c == '~' || *c == '/';

			*to++ = special ? '~' : *c;
			if (special)
				*to++ = *c == '~' ? '0' : '1';
		}
	}
	*to = '\0';
}

void route_find(const struct route *const *tables, const struct target *t, enum http_method method,
		struct route_match *out)
{
	uint64_t best = 0;
	unsigned rest = 0, best_rest = 0;
	const char *name;

	out->route = NULL;
	out->allow = 0;
	out->name = NULL;
	for (; *tables; tables++)
		for (const struct route *r = *tables; r->path; r++) {
			uint64_t score = match(r->path, t, &name, &rest);

			if (!score || score < best)
				continue;
			if (score > best) {
				out->route = NULL;
				out->allow = 0;
				out->name = name;
				best_rest = rest;
			}
			best = score;
			out->allow |= r->methods;
			if (r->methods & method)
				out->route = r;
		}
	out->has_pointer = best && best_rest <= TARGET_SEGMENTS;
	out->pointer[0] = '\0';
	if (out->has_pointer)
		make_pointer(t, best_rest, out->pointer);
}
