// SPDX-License-Identifier: GPL-2.0-or-later
// The table of all settings. Parsing, ranges, defaults, messages and the reference in docs/configuration.md come from
// it: a setting exists if and only if it has a row.
#ifndef MGMT_SCHEMA_H
#define MGMT_SCHEMA_H

#include <stdio.h>

#include "mgmt/json.h"
#include "mgmt/quantity.h"

enum setting_type {
	SETTING_OBJECT, // keys are the rows below it
	SETTING_MAP,    // resources by name; the rows below "*" are their keys; min..max entries
	SETTING_LIST,   // min..max elements
	SETTING_NUMBER, // integer or quantity with a unit, min..max, or one of the words
	SETTING_WORD,   // one of the words
	SETTING_BOOL,
	SETTING_DEVICE,   // name of a network device
	SETTING_PORT,     // name of a port
	SETTING_CLASS,    // name of a class of the shaper
	SETTING_CURVE,    // a rate min..max, or an object with the rows below it
	SETTING_PREFIX,   // IPv4 or IPv6 prefix or address
	SETTING_L4_PORTS, // a port or a range of ports, min..max
};

enum setting_flags {
	SETTING_REQUIRED = 1u << 0,
	SETTING_RESTART = 1u << 1, // a change needs a restart of the engine; without it it is live
	SETTING_POWER_OF_TWO = 1u << 2,
	SETTING_OR_ZERO = 1u << 3,   // 0 is allowed below min
	SETTING_IN_FRAMES = 1u << 4, // written in bytes, kept as the frames that hold them
	SETTING_AQM = 1u << 5,       // of a leaf: means something for fq_codel only
};

struct word {
	const char *name; // NULL ends the list
	int64_t value;
};

struct setting {
	const char *path; // "*" stands for a name or a list index
	const char *help;
	const struct word *words;
	int64_t min, max, def; // in the unit's base; def is the value kept when the key is absent
	uint16_t offset,
		size; // where the value is kept in the C struct of the object; size 0: not by the generic reader
	uint8_t type, unit, flags;
};

// Rows with the same parent, which stand together.
struct settings {
	const struct setting *row;
	unsigned count;
};

// All rows; the rows below one (below its "*" for maps and lists; NULL: the top level); a row by its key or NULL.
struct settings schema_all(void);
struct settings schema_below(const struct setting *parent);
const struct setting *schema_find(struct settings rows, const char *key);
// The row of a path pattern, which must exist.
const struct setting *schema_row(const char *path);
const char *setting_key(const struct setting *s);

enum { ALLOWED_MAX = 200 };
// What may be written, for messages: `1kbit to 400gbit, "unlimited"`. buf has ALLOWED_MAX bytes.
const char *setting_allowed(const struct setting *s, char *buf);

// Reads a NUMBER, WORD, BOOL or the simple form of a CURVE. False: why (QUANTITY_WHY bytes) says what is wrong with v.
bool setting_value(const struct setting *s, const json_t *v, int64_t *value, char *why);

// The reference of all settings as Markdown.
void schema_print(FILE *out);

#endif
