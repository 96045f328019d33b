// SPDX-License-Identifier: GPL-2.0-or-later
// From JSON to a configuration. The table (mgmt/schema) says which keys an object has, what their values may be and
// where in the C struct they are kept, so most settings are read by read_object alone; the functions below it know
// what the table cannot say: which things refer to which.
//
// All problems of a document are to be told at once, but each once. So a value that was refused is replaced by one
// that the checks of the whole (config_check, plan_check) find nothing wrong with: a bad curve by the smallest rate,
// an unknown parent by the root. None of it is ever used: with an error there is no configuration.
//
// Documents have 10^5 rules and classes: names are found by hash, and a pointer to the place in the document is
// written only for a problem that is kept.
#include "mgmt/desired.h"

#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "mgmt/guess.h"
#include "mgmt/match.h"
#include "mgmt/schema.h"

enum { PFIFO_LIMIT_DEFAULT = 1000 };
#define CLASS_NONE UINT32_MAX

struct walk {
	struct problems *out;
	struct place at;
	struct config *c;
	json_t *ports, *shapers; // of the document; NULL: absent or no object
	const char *port_key[PORTS_MAX];
	json_t *classes; // of the shaper at hand: name -> index; NULL: it could not be read
	bool bad_name;   // a resource of *c has none
};

static uint16_t last_cpu;

static void complain(const struct walk *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void complain(const struct walk *w, const char *fmt, ...)
{
	char pointer[PROBLEM_PATH_MAX] = "", text[PROBLEM_TEXT_MAX] = "";
	va_list ap;

	if (w->out->kept < PROBLEMS_KEPT) {
		place_pointer(&w->at, pointer);
		va_start(ap, fmt);
		vsnprintf(text, sizeof text, fmt, ap);
		va_end(ap);
	}
	problem_add(w->out, PROBLEM_ERROR, pointer, "%s", text);
}

// --- names -------------------------------------------------------------------------------------------------------

// A value that its row does not allow; a mistyped word gets the nearest one.
static void refuse(const struct walk *w, const struct setting *s, const json_t *v, const char *why)
{
	char shown[SHOWN_MAX], allowed[ALLOWED_MAX];
	struct guess g = guess_start(json_is_string(v) ? json_string_value(v) : "");

	for (const struct word *word = s->words; word && word->name; word++)
		guess_add(&g, word->name);
	complain(w, "%s %s%s%s%s; allowed: %s", value_shown(v, shown), why, g.nearest ? " (did you mean \"" : "",
		 g.nearest ? g.nearest : "", g.nearest ? "\"?)" : "", setting_allowed(s, allowed));
}

static void unknown_name(const struct walk *w, const char *name, const char *what, json_t *names)
{
	struct guess g = guess_start(name);
	char shown[SHOWN_MAX], meant[GUESS_TEXT_MAX];
	const char *known;
	json_t *v;

	if (w->out->kept < PROBLEMS_KEPT)
		json_object_foreach(names, known, v) guess_add(&g, known);
	complain(w, "%s %s%s", text_shown(name, shown), what, guess_text(&g, meant));
}

static void unknown_key(const struct walk *w, const char *key, struct settings rows)
{
	struct guess g = guess_start(key);
	char shown[SHOWN_MAX], meant[GUESS_TEXT_MAX];

	for (unsigned i = 0; i < rows.count; i++)
		guess_add(&g, setting_key(&rows.row[i]));
	complain(w, "%s is not a key here%s", text_shown(key, shown), guess_text(&g, meant));
}

// Keeps the name of a resource in out.
static void read_name(struct walk *w, const char *name, char *out, size_t size)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
	size_t len = strlen(name);
	char shown[SHOWN_MAX];

	if (len && len < size && strspn(name, letters) == len) {
		memcpy(out, name, len + 1);
		return;
	}
	w->bad_name = true;
	complain(w, "%s is not a name; allowed: 1 to %zu letters, digits or any of . _ : -", text_shown(name, shown),
		 size - 1);
}

static bool read_port(struct walk *w, const json_t *v, uint32_t *index)
{
	const char *name = json_string_value(v);

	if (!name) {
		refuse(w, schema_row("/shapers/*/port"), v, "is of the wrong type");
		return false;
	}
	for (uint32_t i = 0; i < w->c->ports; i++) {
		if (!strcmp(w->port_key[i], name)) {
			*index = i;
			return true;
		}
	}
	if (!w->ports || !json_object_get(w->ports, name)) // one beyond PORTS_MAX has been told
		unknown_name(w, name, "is not a port", w->ports);
	return false;
}

static uint32_t read_class_name(struct walk *w, const struct setting *s, const json_t *v)
{
	const char *name = json_string_value(v);
	json_t *index;

	if (!name) {
		refuse(w, s, v, "is of the wrong type");
		return CLASS_NONE;
	}
	if (!w->classes)
		return CLASS_NONE;
	index = json_object_get(w->classes, name);
	if (!index) {
		unknown_name(w, name, "is not a class of the shaper", w->classes);
		return CLASS_NONE;
	}
	return (uint32_t)json_integer_value(index);
}

// --- what the table says -----------------------------------------------------------------------------------------

static void store(const struct walk *w, const struct setting *s, void *dst, int64_t value)
{
	void *to = (char *)dst + s->offset;

	if (s->flags & SETTING_IN_FRAMES)
		value = (value + w->c->chunk_size - 1) / w->c->chunk_size;
	switch (s->size) {
	case 1:
		memcpy(to, &(uint8_t){(uint8_t)value}, 1);
		break;
	case 2:
		memcpy(to, &(uint16_t){(uint16_t)value}, 2);
		break;
	case 4:
		memcpy(to, &(uint32_t){(uint32_t)value}, 4);
		break;
	case 8:
		memcpy(to, &value, 8);
		break;
	}
}

static bool has_scalar(const struct setting *s)
{
	return s->type == SETTING_NUMBER || s->type == SETTING_WORD || s->type == SETTING_BOOL ||
	       s->type == SETTING_CLASS;
}

static void store_defaults(const struct walk *w, struct settings rows, void *dst)
{
	for (unsigned i = 0; i < rows.count; i++) {
		const struct setting *s = &rows.row[i];

		if (has_scalar(s))
			store(w, s, dst, s->def);
		else if (s->type == SETTING_L4_PORTS)
			memcpy((char *)dst + s->offset, (uint16_t[]){0, UINT16_MAX}, 2 * sizeof(uint16_t));
	}
}

static void read_object(struct walk *w, json_t *v, struct settings rows, void *dst);

// Linux allows more in a device's name; it would end up in messages, logs and commands.
static bool device_ok(const char *name)
{
	size_t len = strlen(name);

	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == '/' || *c == ':')
			return false;
	return len && len < DEVICE_MAX && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static void read_device(struct walk *w, const struct setting *s, const json_t *v, char *out)
{
	const char *name = json_string_value(v);

	if (!name)
		refuse(w, s, v, "is of the wrong type");
	else if (!device_ok(name))
		refuse(w, s, v, "is not the name of a device");
	else
		memcpy(out, name, strlen(name) + 1);
}

static void read_curve(struct walk *w, const struct setting *s, json_t *v, struct curve *out)
{
	uint32_t errors = w->out->errors;
	char why[QUANTITY_WHY];
	int64_t rate;

	*out = (struct curve){0};
	if (json_is_object(v))
		read_object(w, v, schema_below(s), out);
	else if (setting_value(s, v, &rate, why))
		out->m2_bps = (uint64_t)rate;
	else
		refuse(w, s, v, why);
	if (w->out->errors != errors)
		*out = (struct curve){.m2_bps = RATE_MIN_BPS};
}

static void read_match(struct walk *w, const struct setting *s, const json_t *v, void *to)
{
	char number[24], why[QUANTITY_WHY] = "is of the wrong type";
	const char *text = json_string_value(v);
	bool ok;

	if (s->type == SETTING_PREFIX) {
		ok = text && match_prefix(text, to, why);
	} else {
		uint16_t range[2];

		if (json_is_integer(v)) {
			snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
			text = number;
		}
		ok = text && match_ports(text, &range[0], &range[1], why);
		if (ok)
			memcpy(to, range, sizeof range);
	}
	if (!ok)
		refuse(w, s, v, why);
}

// An object within an object. If something in it is wrong, its AQM settings are replaced together: one that is right
// by itself may not go with the default of one that is not.
static void read_inner(struct walk *w, json_t *v, struct settings rows, void *dst)
{
	uint32_t errors = w->out->errors;

	read_object(w, v, rows, dst);
	for (unsigned i = 0; i < rows.count && w->out->errors != errors; i++)
		if (rows.row[i].flags & SETTING_AQM)
			store(w, &rows.row[i], dst, rows.row[i].def);
}

// Reads the value of one key. What has no place in dst (maps, lists, ports) is only looked at for its type: the caller
// of read_object reads it.
static void read_value(struct walk *w, const struct setting *s, json_t *v, void *dst)
{
	char why[QUANTITY_WHY];
	int64_t value;

	switch (s->type) {
	case SETTING_OBJECT:
		read_inner(w, v, schema_below(s), (char *)dst + s->offset);
		break;
	case SETTING_NUMBER:
	case SETTING_WORD:
	case SETTING_BOOL:
		if (setting_value(s, v, &value, why))
			store(w, s, dst, value);
		else
			refuse(w, s, v, why);
		break;
	case SETTING_DEVICE:
		read_device(w, s, v, (char *)dst + s->offset);
		break;
	case SETTING_CLASS:
		store(w, s, dst, read_class_name(w, s, v));
		break;
	case SETTING_CURVE:
		read_curve(w, s, v, (struct curve *)(void *)((char *)dst + s->offset));
		break;
	case SETTING_PREFIX:
	case SETTING_L4_PORTS:
		read_match(w, s, v, (char *)dst + s->offset);
		break;
	case SETTING_MAP:
		if (!json_is_object(v))
			refuse(w, s, v, "is of the wrong type");
		else if (json_object_size(v) < (size_t)s->min || json_object_size(v) > (size_t)s->max)
			complain(w, "%zu entries; allowed: %d to %d", json_object_size(v), (int)s->min, (int)s->max);
		break;
	case SETTING_LIST:
		if (!json_is_array(v))
			refuse(w, s, v, "is of the wrong type");
		else if (json_array_size(v) < (size_t)s->min || json_array_size(v) > (size_t)s->max)
			complain(w, "%zu elements; allowed: %d to %d", json_array_size(v), (int)s->min, (int)s->max);
		break;
	default:
		break;
	}
}

// Reads an object whose keys are `rows` into *dst, defaults first.
static void read_object(struct walk *w, json_t *v, struct settings rows, void *dst)
{
	const char *key;
	json_t *value;

	store_defaults(w, rows, dst);
	if (!json_is_object(v)) {
		char shown[SHOWN_MAX];

		complain(w, "%s is of the wrong type; allowed: an object", value_shown(v, shown));
		return;
	}
	json_object_foreach(v, key, value)
	{
		const struct setting *row = schema_find(rows, key);

		place_key(&w->at, key);
		if (row)
			read_value(w, row, value, dst);
		else
			unknown_key(w, key, rows);
		place_up(&w->at);
	}
	for (unsigned i = 0; i < rows.count; i++) {
		const struct setting *row = &rows.row[i];

		if (!(row->flags & SETTING_REQUIRED) || json_object_get(v, setting_key(row)))
			continue;
		place_key(&w->at, setting_key(row));
		complain(w, "is required: %s", row->help);
		place_up(&w->at);
	}
}

static json_t *get_object(json_t *parent, const char *key)
{
	json_t *v = json_object_get(parent, key);

	return json_is_object(v) ? v : NULL;
}

static json_t *get_list(json_t *parent, const char *key)
{
	json_t *v = json_object_get(parent, key);

	return json_is_array(v) ? v : NULL;
}

// --- system, ports, bridges --------------------------------------------------------------------------------------

static void read_workers(struct walk *w, json_t *system)
{
	const struct setting *s = schema_row("/system/workers/*");
	json_t *list = get_list(system, "workers"), *v;
	struct config *c = w->c;
	size_t i;

	c->workers = 0;
	place_key(&w->at, "system");
	place_key(&w->at, "workers");
	json_array_foreach(list, i, v)
	{
		char why[QUANTITY_WHY];
		int64_t cpu;

		if (c->workers == WORKERS_MAX)
			break;
		place_index(&w->at, i);
		if (setting_value(s, v, &cpu, why))
			c->worker_cpu[c->workers++] = (uint16_t)cpu;
		else
			refuse(w, s, v, why);
		place_up(&w->at);
	}
	place_up(&w->at);
	place_up(&w->at);
	if (!c->workers)
		c->worker_cpu[c->workers++] = last_cpu;
}

// In place of a device that was not named: one the check of the whole accepts, and different for each port.
static void no_device(char out[DEVICE_MAX], uint32_t port)
{
	snprintf(out, DEVICE_MAX, "?%u", port);
}

static struct port_conf *add_port(struct walk *w, const char *key)
{
	struct port_conf *p = &w->c->port[w->c->ports];

	no_device(p->device, w->c->ports);
	w->port_key[w->c->ports++] = key;
	return p;
}

static void read_ports(struct walk *w)
{
	struct settings rows = schema_below(schema_row("/ports"));
	const char *key;
	json_t *v;

	place_key(&w->at, "ports");
	json_object_foreach(w->ports, key, v)
	{
		struct port_conf *p;

		if (w->c->ports == PORTS_MAX)
			break;
		p = add_port(w, key);
		place_key(&w->at, key);
		read_name(w, key, p->name, sizeof p->name);
		read_object(w, v, rows, p);
		place_up(&w->at);
	}
	place_up(&w->at);
}

static void read_bridges(struct walk *w, json_t *bridges)
{
	struct settings rows = schema_below(schema_row("/bridges"));
	struct config *c = w->c;
	const char *key;
	json_t *v, *port;
	size_t i;

	place_key(&w->at, "bridges");
	json_object_foreach(bridges, key, v)
	{
		struct bridge_conf *b = &c->bridge[c->bridges];

		if (c->bridges == BRIDGES_MAX)
			break;
		place_key(&w->at, key);
		c->bridges++;
		read_name(w, key, b->name, sizeof b->name);
		read_object(w, v, rows, b);
		place_key(&w->at, "ports");
		json_array_foreach(get_list(v, "ports"), i, port)
		{
			uint32_t index;

			place_index(&w->at, i);
			if (read_port(w, port, &index) && b->ports < PORTS_MAX)
				b->port[b->ports++] = (uint16_t)index;
			place_up(&w->at);
		}
		place_up(&w->at);
		place_up(&w->at);
	}
	place_up(&w->at);
}

// --- shapers -----------------------------------------------------------------------------------------------------

// The queue of a class: as written, the default for a class without children, none for one with children.
static void read_leaf(struct walk *w, json_t *class, struct class_conf *k, bool inner)
{
	const struct setting *s = schema_row("/shapers/*/classes/*/leaf");
	struct settings rows = schema_below(s);
	json_t *leaf = get_object(class, "leaf");
	const char *key;
	json_t *v;

	if (!leaf && !inner)
		store_defaults(w, rows, &k->leaf);
	if (!leaf || k->leaf.kind != LEAF_PFIFO)
		return;
	if (!json_object_get(leaf, "limit"))
		k->leaf.limit_packets = PFIFO_LIMIT_DEFAULT;
	place_key(&w->at, "leaf");
	json_object_foreach(leaf, key, v)
	{
		const struct setting *row = schema_find(rows, key);

		if (!row || !(row->flags & SETTING_AQM))
			continue;
		place_key(&w->at, key);
		complain(w, "means nothing for a pfifo, which has a limit only");
		place_up(&w->at);
	}
	place_up(&w->at);
}

static void read_class(struct walk *w, json_t *v, struct settings rows, struct class_conf *k)
{
	read_object(w, v, rows, k);
	if (k->parent == CLASS_NONE)
		k->parent = 0;
	if (!json_is_object(v))
		k->ls.m2_bps = RATE_MIN_BPS;
	if (!json_object_get(v, "sc"))
		return;
	if (json_object_get(v, "rt") || json_object_get(v, "ls")) {
		place_key(&w->at, "sc");
		complain(w, "is rt and ls at once; allowed: sc alone, or rt and ls");
		place_up(&w->at);
	}
	k->rt = k->ls;
}

// name -> index, the root's included.
static json_t *index_classes(const struct walk *w, json_t *classes)
{
	json_t *index = json_object();
	bool ok = index && !json_object_set_new_nocheck(index, "root", json_integer(0));
	json_int_t n = 1;
	const char *key;
	json_t *v;

	json_object_foreach(classes, key, v)
	{
		if (!strcmp(key, "root"))
			continue;
		ok = ok && !json_object_set_new_nocheck(index, key, json_integer(n++));
	}
	if (!ok) {
		complain(w, "out of memory");
		json_decref(index);
		return NULL;
	}
	return index;
}

static void read_classes(struct walk *w, json_t *classes, struct plan *plan)
{
	struct settings rows = schema_below(schema_row("/shapers/*/classes"));
	uint8_t *inner = calloc(plan->classes, 1);
	const char *key;
	uint32_t i = 1;
	json_t *v;

	if (!inner) {
		complain(w, "out of memory");
		return;
	}
	memcpy(plan->cls[0].name, "root", sizeof "root");
	place_key(&w->at, "classes");
	json_object_foreach(classes, key, v)
	{
		place_key(&w->at, key);
		if (!strcmp(key, "root")) {
			complain(w, "the root is there by itself; allowed: any other name");
		} else {
			read_name(w, key, plan->cls[i].name, CLASS_NAME_MAX);
			read_class(w, v, rows, &plan->cls[i]);
			inner[plan->cls[i++].parent] = 1;
		}
		place_up(&w->at);
	}
	i = 1;
	json_object_foreach(classes, key, v)
	{
		if (!strcmp(key, "root"))
			continue;
		place_key(&w->at, key);
		read_leaf(w, v, &plan->cls[i], inner[i]);
		i++;
		place_up(&w->at);
	}
	place_up(&w->at);
	// What stands for a class that was named wrongly: any leaf will do.
	for (i = 1; i < plan->classes && plan->default_class == CLASS_NONE; i++)
		if (!inner[i])
			plan->default_class = i;
	free(inner);
}

static uint32_t largest_frame(const struct port_conf *p)
{
	return (p->mtu ? p->mtu : 1500) + ETH_HEADER + PARSE_TAGS_MAX * VLAN_TAG;
}

// Reads a shaper into *s; false if there is too little of it for a plan.
static bool read_shaper(struct walk *w, json_t *v, struct shaper_conf *s)
{
	json_t *classes = get_object(v, "classes"), *port = json_object_get(v, "port");
	size_t n = json_object_size(classes) - (json_object_get(classes, "root") != NULL);
	struct plan none = {0};
	bool known = false;

	if (port) {
		place_key(&w->at, "port");
		known = read_port(w, port, &s->port);
		place_up(&w->at);
	}
	if (!classes || n < 1 || n >= CLASSES_MAX) {
		read_object(w, v, schema_below(schema_row("/shapers")), &none);
		return false;
	}
	w->classes = index_classes(w, classes);
	s->plan = plan_new((uint32_t)n + 1);
	if (!w->classes || !s->plan) {
		complain(w, "out of memory");
		return false;
	}
	read_object(w, v, schema_below(schema_row("/shapers")), s->plan);
	read_classes(w, classes, s->plan);
	s->plan->mtu_wire = wire_length(&s->plan->wire, largest_frame(&w->c->port[known ? s->port : 0]));
	return true;
}

// --- classifiers -------------------------------------------------------------------------------------------------

// Marks in a rule what cannot go together, so that it could never match.
static void check_rule(struct walk *w, const struct rule *rule, const struct plan *plan)
{
	uint8_t family = rule->src.family ? rule->src.family : rule->dst.family;
	bool ports = rule->sport_min || rule->dport_min;

	if (rule->src.family && rule->dst.family && rule->src.family != rule->dst.family)
		complain(w, "src is of IPv%u and dst of IPv%u: no packet can match", rule->src.family,
			 rule->dst.family);
	else if (family && rule->l3 != RULE_ANY && rule->l3 != (family == 4 ? L3_IPV4 : L3_IPV6))
		complain(w, "an IPv%u address and another kind of frame in \"ether\": no packet can match", family);
	if (ports && rule->proto != RULE_ANY && rule->proto != IPPROTO_TCP && rule->proto != IPPROTO_UDP)
		complain(w, "ports are those of TCP and UDP: with protocol %d no packet can match", rule->proto);
	if (plan && rule->class_id != CLASS_NONE && plan->cls[rule->class_id].leaf.kind == LEAF_NONE) {
		place_key(&w->at, "class");
		complain(w, "\"%s\" has children, packets cannot queue in it; allowed: a leaf",
			 plan->cls[rule->class_id].name);
		place_up(&w->at);
	}
}

// Rules of shaper s, whose classes w->classes knows. Its plan is NULL if it could not be read; the rules are then
// looked at for their own mistakes only.
static void read_rules(struct walk *w, json_t *list, struct shaper_conf *s)
{
	struct settings rows = schema_below(schema_row("/classifiers/*"));
	size_t n = json_array_size(list), i;
	uint32_t errors = w->out->errors;
	json_t *v;

	read_value(w, schema_row("/classifiers/*"), list, NULL);
	if (w->out->errors != errors || !n)
		return;
	s->rule = calloc(n, sizeof *s->rule);
	if (!s->rule) {
		complain(w, "out of memory");
		return;
	}
	json_array_foreach(list, i, v)
	{
		struct rule *rule = &s->rule[i];

		errors = w->out->errors;
		place_index(&w->at, i);
		read_object(w, v, rows, rule);
		if (w->out->errors == errors)
			check_rule(w, rule, s->plan);
		place_up(&w->at);
	}
	// With an error among them nobody may use them, and the check of the whole would tell it again.
	s->rules = w->out->errors == 0 ? (uint32_t)n : 0;
}

static void read_classifier(struct walk *w, json_t *classifiers, const char *key, struct shaper_conf *s)
{
	json_t *list = json_object_get(classifiers, key);
	struct place at = w->at;

	if (!list)
		return;
	w->at.depth = 0;
	place_key(&w->at, "classifiers");
	place_key(&w->at, key);
	read_rules(w, list, s);
	w->at = at;
}

static void read_shapers(struct walk *w, json_t *classifiers)
{
	struct config *c = w->c;
	const char *key;
	json_t *v;

	place_key(&w->at, "shapers");
	json_object_foreach(w->shapers, key, v)
	{
		struct shaper_conf *s = &c->shaper[c->shapers];
		bool whole;

		if (c->shapers == PORTS_MAX)
			break;
		place_key(&w->at, key);
		read_name(w, key, s->name, sizeof s->name);
		whole = read_shaper(w, v, s);
		read_classifier(w, classifiers, key, s);
		json_decref(w->classes);
		w->classes = NULL;
		if (whole) {
			c->shapers++;
		} else {
			plan_free(s->plan);
			free(s->rule);
			*s = (struct shaper_conf){0};
		}
		place_up(&w->at);
	}
	place_up(&w->at);
	place_key(&w->at, "classifiers");
	json_object_foreach(classifiers, key, v)
	{
		place_key(&w->at, key);
		if (!json_object_get(w->shapers, key))
			unknown_name(w, key, "is not a shaper", w->shapers);
		place_up(&w->at);
	}
	place_up(&w->at);
}

// --- the whole ---------------------------------------------------------------------------------------------------

static void read_document(struct walk *w, json_t *doc)
{
	store_defaults(w, schema_below(schema_row("/system")), w->c);
	read_object(w, doc, schema_below(NULL), w->c);
	if (!json_is_object(doc))
		return;
	w->ports = get_object(doc, "ports");
	w->shapers = get_object(doc, "shapers");
	read_workers(w, get_object(doc, "system"));
	if (!w->ports && json_object_get(doc, "ports")) // told already: not that there is no port as well
		memcpy(add_port(w, "")->name, "-", sizeof "-");
	read_ports(w);
	read_bridges(w, get_object(doc, "bridges"));
	read_shapers(w, get_object(doc, "classifiers"));
	if (!w->bad_name) // or the pointers in what it tells would lead nowhere
		config_check(w->c, w->out);
}

// Of a configuration with errors: ports without a name or a device are nothing to ask the kernel about.
static void drop_unnamed_ports(struct config *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->ports; i++) {
		char none[DEVICE_MAX];

		no_device(none, i);
		if (c->port[i].name[0] && strcmp(c->port[i].device, none) != 0)
			c->port[kept++] = c->port[i];
	}
	c->ports = kept;
}

struct config *desired_read(const char *text, size_t len, struct problems *out)
{
	struct walk w = {.out = out};
	json_t *doc;

	if (len > CONFIG_FILE_MAX) {
		problem_add(out, PROBLEM_ERROR, "", "%zu bytes are too many; allowed: up to %d", len, CONFIG_FILE_MAX);
		return NULL;
	}
	doc = document_parse(text, len, out);
	if (!doc)
		return NULL;
	w.c = config_new();
	if (w.c)
		read_document(&w, doc);
	else
		problem_add(out, PROBLEM_ERROR, "", "out of memory");
	json_decref(doc);
	if (w.c && out->errors)
		drop_unnamed_ports(w.c);
	return w.c;
}

struct config *desired_parse(const char *text, size_t len, struct problems *out)
{
	struct config *c = desired_read(text, len, out);

	if (!out->errors)
		return c;
	config_free(c);
	return NULL;
}

void desired_prepare(void)
{
	cpu_set_t set;

	json_object_seed(0);
	if (sched_getaffinity(0, sizeof set, &set))
		return;
	for (uint16_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			last_cpu = cpu;
}
