// SPDX-License-Identifier: GPL-2.0-or-later
// Quantities. A decimal number is kept as its digits (an integer mantissa and a count of decimals) until it has been
// multiplied by its unit, in 128 bits, so that "1.1gbit" is 1,100,000,000 and not what a double makes of 1.1. The
// words that other shapers read differently from one another ("kbps" is kilobytes in tc and kilobits elsewhere, "k"
// is 1000 here and 1024 there) are refused, with the word to write instead.
#include "mgmt/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DIGITS_MAX = 24 }; // 10^24 is 80 bits; the largest multiplier, an hour in ns, 42: together below 128

struct size {
	const char *name;
	int64_t base; // how many of the unit's base it is
};

struct hint {
	const char *word, *meant;
};

// Sizes are in falling order, and those that quantity_format may choose come first, ended by base 1.
static const struct size rates[] = {
	{"gbit", 1000000000},   {"mbit", 1000000},   {"kbit", 1000},   {"bit", 1},   {"tbit", 1000000000000},
	{"gbit/s", 1000000000}, {"mbit/s", 1000000}, {"kbit/s", 1000}, {"bit/s", 1}, {NULL, 0}};
static const struct size nanoseconds[] = {{"s", 1000000000},    {"ms", 1000000},      {"us", 1000},        {"ns", 1},
					  {"min", 60000000000}, {"h", 3600000000000}, {"sec", 1000000000}, {NULL, 0}};
static const struct size microseconds[] = {{"s", 1000000},    {"ms", 1000},     {"us", 1}, {"min", 60000000},
					   {"h", 3600000000}, {"sec", 1000000}, {NULL, 0}};
static const struct size bytes[] = {{"gb", 1000000000}, {"mb", 1000000},  {"kb", 1000},     {"b", 1},
				    {"gib", 1 << 30},   {"mib", 1 << 20}, {"kib", 1 << 10}, {NULL, 0}};
static const struct size counts[] = {{"", 1}, {NULL, 0}};

static const struct hint rate_hints[] = {{"bps", "bit or, for bytes a second, 8 times as many bit"},
					 {"kbps", "kbit or, for kilobytes a second, 8 times as many kbit"},
					 {"mbps", "mbit or, for megabytes a second, 8 times as many mbit"},
					 {"gbps", "gbit or, for gigabytes a second, 8 times as many gbit"},
					 {"k", "kbit"},
					 {"m", "mbit"},
					 {"g", "gbit"},
					 {"b", "bit"},
					 {"kb", "kbit"},
					 {"mb", "mbit"},
					 {"gb", "gbit"},
					 {"kibit", "kbit (1000, not 1024)"},
					 {"mibit", "mbit (1000 kbit, not 1024)"},
					 {"gibit", "gbit (1000 mbit, not 1024)"},
					 {"bits", "bit"},
					 {"kbits", "kbit"},
					 {"mbits", "mbit"},
					 {"gbits", "gbit"},
					 {"%", "the rate itself: a share of another rate cannot be given"},
					 {NULL, NULL}};
static const struct hint time_hints[] = {{"m", "min or ms"}, {"msec", "ms"}, {"msecs", "ms"},  {"usec", "us"},
					 {"usecs", "us"},    {"secs", "s"},  {"seconds", "s"}, {"nsec", "ns"},
					 {"minutes", "min"}, {"hours", "h"}, {NULL, NULL}};
static const struct hint byte_hints[] = {{"k", "kb (1000) or kib (1024)"},
					 {"m", "mb (10^6) or mib (2^20)"},
					 {"g", "gb (10^9) or gib (2^30)"},
					 {"bytes", "b"},
					 {"byte", "b"},
					 {"bit", "bytes"},
					 {"kbit", "kb, in bytes"},
					 {"mbit", "mb, in bytes"},
					 {NULL, NULL}};
static const struct hint no_hints[] = {{NULL, NULL}};

static const struct {
	const struct size *sizes;
	const struct hint *hints;
	const char *names, *base; // for messages: the sizes, and what the base is called
} units[UNITS] = {
	[UNIT_COUNT] = {counts, no_hints, "", "number"},
	[UNIT_BPS] = {rates, rate_hints, "bit, kbit, mbit, gbit, tbit", "number of bit/s"},
	[UNIT_NSEC] = {nanoseconds, time_hints, "ns, us, ms, s, min, h", "number of nanoseconds"},
	[UNIT_USEC] = {microseconds, time_hints, "us, ms, s, min, h", "number of microseconds"},
	[UNIT_BYTES] = {bytes, byte_hints, "b, kb, mb, gb, kib, mib, gib", "number of bytes"},
};

#define WHY(...) (snprintf(why, QUANTITY_WHY, __VA_ARGS__), false)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const struct size *size_find(const struct size *s, const char *name)
{
	for (; s->name; s++)
		if (!strcasecmp(s->name, name))
			return s;
	return NULL;
}

// Reads digits, with at most one point among them, into mantissa / 10^decimals; the number of bytes read, 0 if they
// are no number, -1 if they are too many. Zeros that say nothing do not count.
static int read_decimal(const char *text, u128 *mantissa, unsigned *decimals)
{
	const char *s = text;
	unsigned digits = 0, zeros = 0;
	bool point = false;

	*mantissa = 0;
	*decimals = 0;
	for (; is_digit(*s) || (*s == '.' && !point && s > text && is_digit(s[1])); s++) {
		if (*s == '.') {
			point = true;
			zeros = 0;
			continue;
		}
		if (point && *s == '0') { // counts only if another digit follows
			zeros++;
			continue;
		}
		for (unsigned n = point ? zeros + 1 : 1; n; n--) {
			digits += digits || n > 1 || *s != '0';
			if (digits > DIGITS_MAX)
				return -1;
			*mantissa = *mantissa * 10 + (n == 1 ? (unsigned)(*s - '0') : 0);
			*decimals += point;
		}
		zeros = 0;
	}
	return (int)(s - text);
}

static bool unknown_unit(const char *name, enum unit unit, char *why)
{
	for (const struct hint *h = units[unit].hints; h->word; h++)
		if (!strcasecmp(h->word, name))
			return WHY("has the unit \"%s\": write %s", h->word, h->meant);
	for (const char *c = name; *c; c++)
		if (*c < ' ' || *c > '~' || c - name > 16)
			return WHY("has an unknown unit (known: %s)", units[unit].names);
	if (unit == UNIT_COUNT)
		return WHY("is not a number");
	if (!*name)
		return WHY("has no unit (%s)", units[unit].names);
	return WHY("has the unknown unit \"%s\" (known: %s)", name, units[unit].names);
}

bool quantity_bare(int64_t number, enum unit unit, char *why)
{
	if (number && (unit == UNIT_NSEC || unit == UNIT_USEC))
		return unknown_unit("", unit, why);
	return true;
}

bool quantity_parse(const char *text, enum unit unit, int64_t *value, char *why)
{
	bool negative = *text == '-';
	const char *s = text + negative;
	const struct size *size;
	unsigned decimals;
	u128 v;
	int n = read_decimal(s, &v, &decimals);

	if (!n)
		return WHY("is not a number%s%s", *units[unit].names ? " with a unit: " : "", units[unit].names);
	if (n < 0)
		return WHY("has too many digits (at most %d)", DIGITS_MAX);
	s += n;
	s += strspn(s, " ");
	if (!*s && (unit == UNIT_COUNT || unit == UNIT_BPS || unit == UNIT_BYTES || !v))
		size = &counts[0];
	else
		size = size_find(units[unit].sizes, s);
	if (!size)
		return unknown_unit(s, unit, why);
	v *= (u128)size->base;
	for (; decimals; decimals--, v /= 10)
		if (v % 10)
			return WHY("is not a whole %s", units[unit].base);
	if (v > INT64_MAX)
		return WHY("is too large");
	*value = negative ? -(int64_t)v : (int64_t)v;
	return true;
}

const char *quantity_format(int64_t value, enum unit unit, char *buf)
{
	uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	const char *sign = value < 0 ? "-" : "";
	const struct size *s = units[unit].sizes;

	// The largest size that it reaches and that needs at most three decimals; of bytes, none.
	while (s->base > 1 && (v < (uint64_t)s->base || v % (uint64_t)(s->base / (unit == UNIT_BYTES ? 1 : 1000))))
		s++;
	if (!v)
		snprintf(buf, QUANTITY_TEXT, "0");
	else if (v % (uint64_t)s->base == 0)
		snprintf(buf, QUANTITY_TEXT, "%s%" PRIu64 "%s", sign, v / (uint64_t)s->base, s->name);
	else {
		unsigned part = (unsigned)(v % (uint64_t)s->base * 1000 / (uint64_t)s->base), width = 3;

		for (; part % 10 == 0; part /= 10)
			width--;
		snprintf(buf, QUANTITY_TEXT, "%s%" PRIu64 ".%0*u%s", sign, v / (uint64_t)s->base, (int)width, part,
			 s->name);
	}
	return buf;
}

const char *quantity_names(enum unit unit)
{
	return units[unit].names;
}
