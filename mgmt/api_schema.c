// SPDX-License-Identifier: GPL-2.0-or-later
// The table of settings for programs: what the dashboard's forms and weirctl's completion are made of. Numbers are in
// the unit's base, as the API writes them; `allowed` is the sentence of the error messages.
#include "mgmt/api_schema.h"

#include "mgmt/schema.h"

static const char *type_name(const struct setting *s)
{
	static const char *const name[] = {
		[SETTING_OBJECT] = "object", [SETTING_MAP] = "map",       [SETTING_LIST] = "list",
		[SETTING_NUMBER] = "number", [SETTING_WORD] = "word",     [SETTING_BOOL] = "boolean",
		[SETTING_DEVICE] = "device", [SETTING_PORT] = "port",     [SETTING_CLASS] = "class",
		[SETTING_CURVE] = "curve",   [SETTING_PREFIX] = "prefix", [SETTING_L4_PORTS] = "l4_ports",
	};

	return name[s->type];
}

static const char *unit_name(const struct setting *s)
{
	static const char *const name[UNITS] = {[UNIT_COUNT] = "",
						[UNIT_BPS] = "bit/s",
						[UNIT_NSEC] = "ns",
						[UNIT_USEC] = "us",
						[UNIT_BYTES] = "bytes"};

	return name[s->unit];
}

static bool has_range(const struct setting *s)
{
	return s->type == SETTING_NUMBER ? s->min != s->max
					 : s->type == SETTING_CURVE || s->type == SETTING_MAP ||
						   s->type == SETTING_LIST || s->type == SETTING_L4_PORTS;
}

// The value that an absent key stands for, as it would be written; null: there is none.
static json_t *default_value(const struct setting *s)
{
	if (s->flags & SETTING_REQUIRED)
		return json_null();
	for (const struct word *w = s->words; w && w->name; w++)
		if (w->value == s->def && (s->type == SETTING_WORD || s->type == SETTING_NUMBER))
			return json_string(w->name);
	switch (s->type) {
	case SETTING_NUMBER:
		return s->size ? json_integer(s->def) : json_null();
	case SETTING_BOOL:
		return json_boolean(s->def);
	case SETTING_PREFIX:
	case SETTING_L4_PORTS:
		return json_string("any");
	case SETTING_CLASS:
		return json_string("root");
	default:
		return json_null();
	}
}

static json_t *words(const struct setting *s)
{
	json_t *list = json_array();

	for (const struct word *w = s->words; w && w->name; w++)
		json_array_append_new(list, json_string(w->name));
	return list;
}

static json_t *row(const struct setting *s)
{
	char allowed[ALLOWED_MAX];
	json_t *o = json_pack("{s:s, s:s, s:s, s:s}", "path", s->path, "type", type_name(s), "unit", unit_name(s),
			      "help", s->help);

	json_object_set_new(o, "allowed", json_string(setting_allowed(s, allowed)));
	if (has_range(s)) {
		json_object_set_new(o, "min", json_integer(s->min));
		json_object_set_new(o, "max", json_integer(s->max));
	}
	if (s->words)
		json_object_set_new(o, "words", words(s));
	if (s->flags & SETTING_POWER_OF_TWO)
		json_object_set_new(o, "power_of_two", json_true());
	if (s->flags & SETTING_OR_ZERO)
		json_object_set_new(o, "or_zero", json_true());
	json_object_set_new(o, "required", json_boolean(s->flags & SETTING_REQUIRED));
	json_object_set_new(o, "default", default_value(s));
	json_object_set_new(o, "change", json_string(s->flags & SETTING_RESTART ? "restart" : "live"));
	return o;
}

void api_schema_get(struct request *r, struct response *a)
{
	struct settings all = schema_all();
	json_t *list = json_array();

	for (unsigned i = 0; i < all.count; i++)
		json_array_append_new(list, row(&all.row[i]));
	respond_json(a, 200, json_pack("{s:o}", "settings", list));
}
