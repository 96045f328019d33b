// SPDX-License-Identifier: GPL-2.0-or-later
// `show`: a table of what can be shown. Most are a list in the server's answer, printed by a row of columns; the others
// have a function.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mgmt/weirctl_client.h"
#include "mgmt/weirctl_edit.h"
#include "mgmt/weirctl_files.h"

enum { WIDTH = 100, LIMIT_DEFAULT = 20, PATH_ROOM = EDIT_POINTER_MAX + 64 };

struct view {
	const char *name, *path;
	const char *list; // key of the list in the answer; NULL: it has a function
	const struct column *column;
	unsigned columns; // 0: whatever the list's objects have
	const char *empty;
	int (*run)(struct ctl *c, const struct view *v, int words, char **word);
	int max; // words after the name
};

static const struct column port_columns[] = {
	{"PORT", "name", FORM_TEXT},      {"DEVICE", "device", FORM_TEXT},  {"LINK", "up", FORM_UP},
	{"MODE", "mode", FORM_TEXT},      {"RX", "rx_packets", FORM_COUNT}, {"", "rx_bytes", FORM_BYTES},
	{"TX", "tx_packets", FORM_COUNT}, {"", "tx_bytes", FORM_BYTES},     {"LOST", "rx_lost", FORM_COUNT},
	{"DROPS", "drops", FORM_COUNT},
};
static const struct column shaper_columns[] = {
	{"SHAPER", "name", FORM_TEXT},     {"PORT", "port", FORM_TEXT},         {"RATE", "rate_bps", FORM_RATE},
	{"WORKER", "worker", FORM_NUMBER}, {"CLASSES", "classes", FORM_NUMBER},
};
static const struct column class_columns[] = {
	{"CLASS", "label", FORM_TEXT},           {"GUARANTEE", "rt_bps", FORM_RATE},   {"SHARE", "ls_bps", FORM_RATE},
	{"LIMIT", "ul_bps", FORM_RATE},          {"SENT", "sent_packets", FORM_COUNT}, {"", "sent_bytes", FORM_BYTES},
	{"WAIT", "backlog_packets", FORM_COUNT}, {"DROPS", "drops", FORM_COUNT},       {"MARKED", "marked", FORM_COUNT},
	{"P50", "delay_p50_ns", FORM_NSEC},      {"P99", "delay_p99_ns", FORM_NSEC},
};
static const struct column worker_columns[] = {
	{"WORKER", "worker", FORM_NUMBER},        {"BUSY", "busy_ns", FORM_NSEC},
	{"LOOPS", "loops", FORM_COUNT},           {"SLEEPS", "sleeps", FORM_COUNT},
	{"HANDED", "handed_over", FORM_COUNT},    {"TAKEN", "received_over", FORM_COUNT},
	{"FRAMES", "frames_held", FORM_COUNT},    {"ADDRESSES", "fdb_entries", FORM_COUNT},
	{"PAUSE", "longest_pause_ns", FORM_NSEC},
};
static const struct column drop_columns[] = {
	{"PACKETS", "packets", FORM_COUNT}, {"REASON", "reason", FORM_TEXT}, {"", "text", FORM_FIT}};
static const struct column revision_columns[] = {
	{"ID", "id", FORM_NUMBER},        {"STATE", "state", FORM_TEXT},   {"CREATED", "created", FORM_TIME},
	{"AUTHOR", "author", FORM_TEXT},  {"SOURCE", "source", FORM_TEXT}, {"CHANGES", "summary", FORM_TEXT},
	{"COMMENT", "comment", FORM_FIT},
};
static const struct column user_columns[] = {{"USER", "name", FORM_TEXT}, {"ROLE", "role", FORM_TEXT}};

// GET for a view: printed as it is with -j (then NULL with CTL_DONE).
static json_t *fetch(struct ctl *c, const char *path, int *code)
{
	struct answer a;
	json_t *v = client_get(c->client, path, &a, code);

	if (v && c->o.json) {
		answer_print(c, &a);
		json_decref(v);
		v = NULL;
	}
	answer_free(&a);
	return v;
}

static int show_list(struct ctl *c, const struct view *v, int words, char **word)
{
	int code;
	json_t *all = fetch(c, v->path, &code);

	if (all && v->columns)
		table_print(&c->out, v->column, v->columns, json_object_get(all, v->list), v->empty);
	else if (all)
		table_print_any(&c->out, json_object_get(all, v->list), v->empty);
	json_decref(all);
	return code;
}

static int usage(struct ctl *c, const char *why)
{
	tell(&c->err, INK_RED, "weirctl: %s\n", why);
	return CTL_USAGE;
}

static int show_config(struct ctl *c, const struct view *v, int words, char **word)
{
	char path[PATH_ROOM] = "/v1/config", why[EDIT_WHY];
	struct edit_path at;
	json_t *config;
	int code;

	if (!edit_path_read(&at, word, words, why))
		return usage(c, why);
	edit_url(&at, path + strlen(path));
	config = fetch(c, path, &code);
	if (config)
		document_print(&c->out, config, WIDTH);
	json_decref(config);
	return code;
}

static int show_candidate(struct ctl *c, const struct view *v, int words, char **word)
{
	char why[FILES_WHY];
	struct edit_path at;
	struct candidate candidate;
	enum candidate_found found;
	json_t *part;
	int code = CTL_DONE;

	if (!edit_path_read(&at, word, words, why))
		return usage(c, why);
	found = candidate_load(client_url(c->client), &candidate, why);
	if (found == CANDIDATE_BROKEN)
		return usage(c, why);
	part = found == CANDIDATE_THERE ? edit_get(candidate.document, &at) : NULL;
	if (found == CANDIDATE_NONE)
		code = usage(c, "there is no candidate: weirctl set starts one");
	else if (!part)
		code = usage(c, "there is nothing at this path");
	else
		document_print(&c->out, part, WIDTH);
	candidate_close(&candidate);
	return code;
}

// The name of the only shaper, malloc'ed; NULL: said why not.
static char *only_shaper(struct ctl *c, int *code)
{
	json_t *all = client_get(c->client, "/v1/state/shapers", NULL, code);
	const json_t *list = json_object_get(all, "shapers");
	const char *name = json_string_value(json_object_get(json_array_get(list, 0), "name"));
	char *found = NULL;

	if (all && json_array_size(list) == 1 && name)
		found = strdup(name);
	else if (all)
		*code = usage(c, json_array_size(list) ? "which shaper? weirctl show shapers lists them"
						       : "there is no shaper");
	json_decref(all);
	return found;
}

static int show_classes(struct ctl *c, const struct view *v, int words, char **word)
{
	char path[PATH_ROOM], escaped[EDIT_POINTER_MAX], rate[NUMBER_TEXT], *name;
	json_t *all, *tree;
	int code = CTL_DONE;

	name = words ? strdup(word[0]) : only_shaper(c, &code);
	if (!name || !edit_name_url(name, escaped)) {
		free(name);
		return code ? code : usage(c, "that is no name of a shaper");
	}
	snprintf(path, sizeof path, "/v1/state/shapers%s/classes", escaped);
	all = fetch(c, path, &code);
	if (all) {
		tell(&c->out, INK_BOLD, "%s: %s\n", name,
		     rate_text(json_number_value(json_object_get(all, "rate_bps")), rate));
		tree = class_tree(json_object_get(all, "classes"));
		table_print(&c->out, class_columns, ARRAY_LEN(class_columns), tree, "no classes");
		json_decref(tree);
	}
	json_decref(all);
	free(name);
	return code;
}

static int show_workers(struct ctl *c, const struct view *v, int words, char **word)
{
	int code;
	json_t *all = fetch(c, v->path, &code);
	const char *key;
	json_t *n;

	if (all) {
		table_print(&c->out, v->column, v->columns, json_object_get(all, "workers"), "no workers");
		tell(&c->out, INK_NONE, "frames:");
		json_object_foreach(json_object_get(all, "frames"), key, n)
		{
			bool bad = !strcmp(key, "unaccounted") && json_number_value(n) != 0;

			tell(&c->out, bad ? INK_RED : INK_NONE, " %s %" JSON_INTEGER_FORMAT, key,
			     json_integer_value(n));
		}
		fputc('\n', c->out.out);
	}
	json_decref(all);
	return code;
}

// Those that happened; with -j all that can.
static int show_drops(struct ctl *c, const struct view *v, int words, char **word)
{
	json_t *some = json_array(), *one;
	size_t i;
	int code;
	json_t *all = fetch(c, v->path, &code);

	json_array_foreach(json_object_get(all, "drops"), i,
			   one) if (json_number_value(json_object_get(one, "packets")) > 0)
		json_array_append(some, one);
	if (all)
		table_print(&c->out, v->column, v->columns, some, "no packet was dropped");
	json_decref(some);
	json_decref(all);
	return code;
}

static int show_revisions(struct ctl *c, const struct view *v, int words, char **word)
{
	struct view page = *v;
	char path[128], number[32];

	snprintf(number, sizeof number, "%lld", (long long)(c->o.limit ? c->o.limit : LIMIT_DEFAULT));
	snprintf(path, sizeof path, "%s", v->path);
	query_add(path, sizeof path, "limit", number);
	if (c->o.before) {
		snprintf(number, sizeof number, "%lld", (long long)c->o.before);
		query_add(path, sizeof path, "before", number);
	}
	page.path = path;
	return show_list(c, &page, words, word);
}

static void revision_print(struct ctl *c, const json_t *r)
{
	static const char *const keys[] = {"id",     "state",  "seconds_left", "created", "author",
					   "source", "parent", "comment",      "summary"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const json_t *v = json_object_get(r, keys[i]);
		char text[512];

		if (!v || json_is_null(v) || (json_is_string(v) && !*json_string_value(v)))
			continue;
		tell(&c->out, INK_DIM, "%-13s", keys[i]);
		tell(&c->out, INK_NONE, "%s\n",
		     value_text(v, !strcmp(keys[i], "created") ? FORM_TIME : FORM_NUMBER, text, sizeof text));
	}
}

static int show_revision(struct ctl *c, const struct view *v, int words, char **word)
{
	char path[128];
	json_t *one, *diff;
	int code;

	if (!words || word[0][strspn(word[0], "0123456789")] || strlen(word[0]) > 18)
		return usage(c, "which revision? weirctl show revisions lists them");
	snprintf(path, sizeof path, "/v1/revisions/%s", word[0]);
	one = fetch(c, path, &code);
	if (!one)
		return code;
	revision_print(c, one);
	json_decref(one);
	strcat(path, "/diff");
	diff = client_get(c->client, path, NULL, &code);
	changes_print(&c->out, json_object_get(diff, "changes"), 0);
	json_decref(diff);
	return code;
}

static int show_pending(struct ctl *c, const struct view *v, int words, char **word)
{
	struct answer a;
	int code = client_send(c->client, &(struct call){.method = "GET", .path = v->path}, &a);

	if (!code && a.status == 404 && !c->o.json) {
		tell(&c->out, INK_NONE, "no revision is pending\n");
		answer_free(&a);
		return CTL_DONE;
	}
	answer_free(&a);
	if (!code) {
		json_t *one = fetch(c, v->path, &code);

		if (one) {
			revision_print(c, one);
			tell(&c->out, INK_NONE, "weirctl confirm keeps it, weirctl revert takes it back\n");
		}
		json_decref(one);
	}
	return code;
}

// What may be written for a setting, from the keys that its row has.
static void schema_line(struct ctl *c, const json_t *row)
{
	static const char *const keys[] = {"allowed", "range", "unit", "default", "change"};
	const char *path = json_string_value(json_object_get(row, "path"));
	const char *help = json_string_value(json_object_get(row, "help"));

	tell(&c->out, INK_BOLD, "%s", path ? path : "?");
	tell(&c->out, INK_NONE, "  %s\n", help ? help : "");
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const json_t *v = json_object_get(row, keys[i]);
		char text[512];

		if (!v || json_is_null(v) || (json_is_string(v) && !*json_string_value(v)))
			continue;
		tell(&c->out, INK_DIM, "    %-9s", keys[i]);
		tell(&c->out, INK_NONE, "%s\n", value_text(v, FORM_TEXT, text, sizeof text));
	}
}

static int show_schema(struct ctl *c, const struct view *v, int words, char **word)
{
	char why[EDIT_WHY], prefix[EDIT_POINTER_MAX];
	struct edit_path at;
	const json_t *list;
	json_t *all, *row;
	bool any = false;
	size_t i;
	int code;

	if (!edit_path_read(&at, word, words, why))
		return usage(c, why);
	edit_pointer(&at, prefix);
	all = fetch(c, v->path, &code);
	if (!all)
		return code;
	list = json_is_array(all) ? all : json_object_get(all, "settings");
	json_array_foreach((json_t *)(uintptr_t)list, i, row)
	{
		const char *path = json_string_value(json_object_get(row, "path"));

		if (path && !strncmp(path, prefix, strlen(prefix))) {
			schema_line(c, row);
			any = true;
		}
	}
	json_decref(all);
	return any ? CTL_DONE : usage(c, "no setting begins with this path (* stands for a name: /shapers/*/rate)");
}

#define COLUMNS(list) list, ARRAY_LEN(list)
static const struct view views[] = {
	{"config", "/v1/config", NULL, NULL, 0, NULL, show_config, EDIT_STEPS_MAX},
	{"candidate", NULL, NULL, NULL, 0, NULL, show_candidate, EDIT_STEPS_MAX},
	{"ports", "/v1/state/ports", "ports", COLUMNS(port_columns), "no ports", show_list, 0},
	{"shapers", "/v1/state/shapers", "shapers", COLUMNS(shaper_columns), "no shapers", show_list, 0},
	{"classes", NULL, NULL, NULL, 0, NULL, show_classes, 1},
	{"workers", "/v1/state/workers", NULL, COLUMNS(worker_columns), NULL, show_workers, 0},
	{"drops", "/v1/state/drops", NULL, COLUMNS(drop_columns), NULL, show_drops, 0},
	{"revisions", "/v1/revisions", "revisions", COLUMNS(revision_columns), "no revisions", show_revisions, 0},
	{"revision", NULL, NULL, NULL, 0, NULL, show_revision, 1},
	{"pending", "/v1/revisions/pending", NULL, NULL, 0, NULL, show_pending, 0},
	{"schema", "/v1/schema", NULL, NULL, 0, NULL, show_schema, EDIT_STEPS_MAX},
	{"users", "/v1/users", "users", COLUMNS(user_columns), "no users", show_list, 0},
	{"tokens", "/v1/tokens", "tokens", NULL, 0, "no tokens", show_list, 0},
	{"audit", "/v1/audit", "audit", NULL, 0, "nothing yet", show_revisions, 0},
};

int show_run(struct ctl *c, int words, char **word)
{
	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		const struct view *v = &views[i];

		if (strcmp(v->name, word[0]) != 0)
			continue;
		if (words - 1 > v->max)
			return usage(c, "that is too much: weirctl help show");
		return v->run(c, v, words - 1, word + 1);
	}
	tell(&c->err, INK_RED, "weirctl: \"%s\" is nothing that can be shown; these are:", word[0]);
	for (size_t i = 0; i < ARRAY_LEN(views); i++)
		tell(&c->err, INK_NONE, " %s", views[i].name);
	fputc('\n', c->err.out);
	return CTL_USAGE;
}

int info_run(struct ctl *c, int words, char **word)
{
	struct answer a;
	char trip[NUMBER_TEXT], started[NUMBER_TEXT];
	json_t *info;
	int code;

	info = client_get(c->client, "/v1/info", &a, &code);
	if (info && c->o.json)
		answer_print(c, &a);
	else if (info) {
		const char *name = json_string_value(json_object_get(info, "name"));
		const char *version = json_string_value(json_object_get(info, "version"));
		const char *since = json_string_value(json_object_get(info, "started"));

		tell(&c->out, INK_BOLD, "%s %s", name ? name : "?", version ? version : "?");
		tell(&c->out, INK_NONE, " at %s, up since %s, answered in %s\n", client_url(c->client),
		     since ? time_text(since, started) : "?", nsec_text(a.seconds * 1e9, trip));
		tell(&c->out, INK_DIM, "certificate %s\n", client_fingerprint(c->client));
	}
	json_decref(info);
	answer_free(&a);
	return code;
}
