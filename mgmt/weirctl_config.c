// SPDX-License-Identifier: GPL-2.0-or-later
// Changing the configuration. Edits collect in a candidate on this side and are judged and taken by the server as a whole:
// `diff` is a dry run of `commit`, and both send the ETag of the configuration that the candidate was started from, so a
// change that somebody else made meanwhile is never overwritten unseen. `rebase` carries the edits over to it.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mgmt/weirctl_client.h"
#include "mgmt/weirctl_edit.h"
#include "mgmt/weirctl_files.h"
#include "mgmt/weirctl_terminal.h"

enum { SUMMARY_LINES = 20, PATH_ROOM = EDIT_POINTER_MAX + 2048 };

static int usage(struct ctl *c, const char *why)
{
	tell(&c->err, INK_RED, "weirctl: %s\n", why);
	return CTL_USAGE;
}

// ---- answers of writes

// What to do about a change that was refused for what it does not say itself.
static void hint(struct ctl *c, long status)
{
	struct answer a;
	bool pending;

	if (status == 412) {
		tell(&c->err, INK_NONE,
		     "Somebody else changed the configuration since the candidate was started; weirctl show revisions tells "
		     "who.\n"
		     "weirctl rebase carries your changes over to what is in force now, weirctl discard drops them.\n");
	} else if (status == 409) {
		pending =
			!client_send(c->client, &(struct call){.method = "GET", .path = "/v1/revisions/pending"}, &a) &&
			a.status == 200;
		answer_free(&a);
		tell(&c->err, INK_NONE,
		     pending ? "weirctl show pending shows it, weirctl confirm keeps it, weirctl revert takes it back.\n"
			     : "weirctl's option for that is --restart.\n");
	}
}

// Sends a write. The receipt, or NULL and it was said why. `etag` (BASE_MAX bytes): what it was or would be based on next;
// NULL: not wanted.
static json_t *write_to(struct ctl *c, const struct call *call, bool print_raw, char *etag, int *code)
{
	struct answer a;
	json_t *receipt = NULL;

	*code = client_call(c->client, call, &a);
	if (!*code && !(receipt = answer_json(c->client, &a)))
		*code = CTL_UNREACHABLE;
	if (receipt && print_raw)
		answer_print(c, &a);
	if (*code == CTL_REFUSED && call->if_match)
		hint(c, a.status);
	if (etag)
		snprintf(etag, BASE_MAX, "%s", a.etag);
	answer_free(&a);
	return receipt;
}

// The query of a write: what its options ask for. `path` has PATH_ROOM bytes.
static bool write_query(const struct options *o, bool dry_run, char *path)
{
	char number[32];
	bool ok = true;

	if (o->given & OPT_RESTART)
		ok = query_add(path, PATH_ROOM, "restart", "1");
	if (dry_run)
		return ok && query_add(path, PATH_ROOM, "dry_run", "1");
	if (o->confirm_s) {
		snprintf(number, sizeof number, "%lld", (long long)o->confirm_s);
		ok = ok && query_add(path, PATH_ROOM, "confirm", number);
	}
	if (o->comment)
		ok = ok && query_add(path, PATH_ROOM, "comment", o->comment);
	return ok;
}

// One write at once, without a candidate. `value` NULL: no body; taken over.
static int write_now(struct ctl *c, const char *method, const struct edit_path *at, json_t *value)
{
	char path[PATH_ROOM] = "/v1/config";
	char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
	json_t *receipt = NULL;
	int code = CTL_USAGE;

	edit_url(at, path + strlen(path));
	json_decref(value);
	if (write_query(&c->o, false, path))
		receipt = write_to(c, &(struct call){method, path, text, text ? strlen(text) : 0, NULL, "*"}, c->o.json,
				   NULL, &code);
	else
		usage(c, "the comment is too long");
	if (receipt && !c->o.json) {
		changes_print(&c->out, json_object_get(receipt, "changes"), SUMMARY_LINES);
		receipt_print(&c->out, receipt);
	}
	json_decref(receipt);
	free(text);
	return code;
}

// ---- the candidate

// Loads the candidate, or starts one from the configuration in force. Must be closed when CTL_DONE.
static int candidate_open(struct ctl *c, struct candidate *candidate)
{
	char why[FILES_WHY];
	enum candidate_found found = candidate_load(client_url(c->client), candidate, why);
	struct answer a;
	time_t now = time(NULL);
	struct tm utc;
	int code;

	if (found == CANDIDATE_BROKEN)
		return usage(c, why);
	if (found == CANDIDATE_THERE)
		return CTL_DONE;
	candidate->original = client_get(c->client, "/v1/config", &a, &code);
	if (!code && (!json_is_object(candidate->original) || !a.etag[0])) {
		tell(&c->err, INK_RED, "weirctl: the server's answer is no configuration\n");
		code = CTL_UNREACHABLE;
	}
	if (!code) {
		candidate->document = json_deep_copy(candidate->original);
		snprintf(candidate->base, sizeof candidate->base, "%s", a.etag);
		strftime(candidate->started, sizeof candidate->started, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	} else {
		candidate_close(candidate);
	}
	answer_free(&a);
	return code;
}

// Loads the candidate if there is one; otherwise says so.
static int candidate_existing(struct ctl *c, struct candidate *candidate)
{
	char why[FILES_WHY];
	enum candidate_found found = candidate_load(client_url(c->client), candidate, why);

	if (found == CANDIDATE_THERE)
		return CTL_DONE;
	if (found == CANDIDATE_NONE) {
		candidate_close(candidate);
		return usage(c, "there is no candidate: weirctl set, delete, merge or load start one");
	}
	return usage(c, why);
}

// Writes the candidate and closes it; one that changes nothing is dropped.
static int candidate_keep(struct ctl *c, struct candidate *candidate)
{
	char why[FILES_WHY];
	bool nothing = json_equal(candidate->original, candidate->document);
	bool ok = nothing ? candidate_drop(client_url(c->client), why)
			  : candidate_save(client_url(c->client), candidate, why);

	candidate_close(candidate);
	if (!ok)
		return usage(c, why);
	if (nothing && !c->o.json)
		tell(&c->out, INK_NONE, "the candidate is what is in force: it is dropped\n");
	return CTL_DONE;
}

// The options of a write belong to --now; a candidate gets them when it is committed.
static bool needs_now(struct ctl *c)
{
	if ((c->o.given & OPT_NOW) || !(c->o.given & OPT_WRITE))
		return true;
	usage(c, "--confirm, --comment and --restart go with --now, or with commit");
	return false;
}

static int assign(struct ctl *c, int words, char **word, bool insert)
{
	char why[FILES_WHY];
	struct candidate candidate;
	struct edit_path at;
	json_t *value;
	int code;

	if (!needs_now(c))
		return CTL_USAGE;
	if (!edit_assignment(&at, &value, word, words, why))
		return usage(c, why);
	if (json_is_null(value)) {
		json_decref(value);
		return usage(c, "null is no value; delete removes a setting");
	}
	if (c->o.given & OPT_NOW)
		return write_now(c, "PUT", &at, value);
	code = candidate_open(c, &candidate);
	if (code) {
		json_decref(value);
		return code;
	}
	if (!edit_set(candidate.document, &at, value, insert, why)) {
		candidate_close(&candidate);
		return usage(c, why);
	}
	return candidate_keep(c, &candidate);
}

int set_run(struct ctl *c, int words, char **word)
{
	return assign(c, words, word, false);
}

int insert_run(struct ctl *c, int words, char **word)
{
	return assign(c, words, word, true);
}

int delete_run(struct ctl *c, int words, char **word)
{
	char why[FILES_WHY];
	struct candidate candidate;
	struct edit_path at;
	int code;

	if (!needs_now(c))
		return CTL_USAGE;
	if (!edit_path_read(&at, word, words, why))
		return usage(c, why);
	if (c->o.given & OPT_NOW)
		return at.depth ? write_now(c, "DELETE", &at, NULL) : usage(c, "a path is missing");
	code = candidate_open(c, &candidate);
	if (code)
		return code;
	if (!edit_delete(candidate.document, &at, why)) {
		candidate_close(&candidate);
		return usage(c, why);
	}
	return candidate_keep(c, &candidate);
}

// A JSON object from a file; NULL: said why.
static json_t *object_read(struct ctl *c, const char *path)
{
	char why[FILES_WHY];
	json_error_t error;
	size_t len;
	char *text = file_read(path, DOCUMENT_BYTES_MAX, &len, why);
	json_t *v = text ? json_loadb(text, len, JSON_REJECT_DUPLICATES, &error) : NULL;

	if (!text)
		usage(c, why);
	else if (!v)
		tell(&c->err, INK_RED, "weirctl: %s: line %d, column %d: %s\n", path, error.line, error.column,
		     error.text);
	else if (!json_is_object(v)) {
		usage(c, "the document must be an object");
		json_decref(v);
		v = NULL;
	}
	free(text);
	return v;
}

static int take_document(struct ctl *c, const char *path, bool merge)
{
	struct candidate candidate;
	json_t *v = object_read(c, path), *whole;
	int code;

	if (!v)
		return CTL_USAGE;
	code = candidate_open(c, &candidate);
	if (code) {
		json_decref(v);
		return code;
	}
	whole = merge ? edit_merged(candidate.document, v) : json_incref(v);
	json_decref(candidate.document);
	candidate.document = whole;
	json_decref(v);
	return candidate_keep(c, &candidate);
}

int merge_run(struct ctl *c, int words, char **word)
{
	return take_document(c, word[0], true);
}

int load_run(struct ctl *c, int words, char **word)
{
	return take_document(c, word[0], false);
}

int discard_run(struct ctl *c, int words, char **word)
{
	char why[FILES_WHY];
	struct candidate candidate;
	int code = candidate_existing(c, &candidate);

	if (code)
		return code;
	if (!candidate_drop(client_url(c->client), why))
		code = usage(c, why);
	candidate_close(&candidate);
	return code;
}

int rebase_run(struct ctl *c, int words, char **word)
{
	struct candidate candidate, fresh;
	bool mine = c->o.given & OPT_MINE;
	json_t *conflicts = json_array(), *document, *theirs, *pointer;
	struct answer a;
	size_t i;
	int code = candidate_existing(c, &candidate);

	if (code)
		goto out;
	theirs = client_get(c->client, "/v1/config", &a, &code);
	fresh = candidate;
	if (!code) {
		document = edit_rebased(candidate.original, candidate.document, theirs, mine, conflicts);
		json_array_foreach(conflicts, i, pointer)
			tell(&c->err, INK_YELLOW, "%s: both sides changed it\n", json_string_value(pointer));
		if (json_array_size(conflicts) && !mine) {
			tell(&c->err, INK_NONE,
			     "The candidate is as it was. weirctl rebase --mine keeps its values there; or set or delete them anew.\n");
			json_decref(document);
			json_decref(theirs);
			candidate_close(&candidate);
			code = CTL_REFUSED;
		} else {
			json_decref(candidate.original);
			json_decref(candidate.document);
			fresh.original = theirs;
			fresh.document = document;
			snprintf(fresh.base, sizeof fresh.base, "%s", a.etag);
			code = candidate_keep(c, &fresh);
		}
	} else {
		candidate_close(&candidate);
	}
	answer_free(&a);
out:
	json_decref(conflicts);
	return code;
}

// ---- what would change, and doing it

// Sends the candidate whole.
static json_t *put_candidate(struct ctl *c, const struct candidate *candidate, bool dry_run, bool print_raw, int *code)
{
	char path[PATH_ROOM] = "/v1/config";
	char *text = json_dumps(candidate->document, JSON_COMPACT);
	json_t *receipt = NULL;

	*code = CTL_USAGE;
	if (!text)
		usage(c, "out of memory");
	else if (!write_query(&c->o, dry_run, path))
		usage(c, "the comment is too long");
	else
		receipt = write_to(c, &(struct call){"PUT", path, text, strlen(text), NULL, candidate->base}, print_raw,
				   NULL, code);
	free(text);
	return receipt;
}

static int diff_revisions(struct ctl *c, int words, char **word)
{
	char path[256] = "/v1/revisions/";
	struct answer a;
	json_t *diff;
	int code;

	for (int i = 0; i < words; i++)
		if (!*word[i] || word[i][strspn(word[i], "0123456789")] || strlen(word[i]) > 18)
			return usage(c, "a revision is a number: weirctl show revisions lists them");
	strcat(strcat(path, word[0]), "/diff");
	if (words > 1)
		query_add(path, sizeof path, "to", word[1]);
	diff = client_get(c->client, path, &a, &code);
	if (diff && c->o.json)
		answer_print(c, &a);
	else
		changes_print(&c->out, json_object_get(diff, "changes"), 0);
	json_decref(diff);
	answer_free(&a);
	return code;
}

int diff_run(struct ctl *c, int words, char **word)
{
	struct candidate candidate;
	json_t *receipt;
	int code;

	if (words)
		return diff_revisions(c, words, word);
	code = candidate_existing(c, &candidate);
	if (code)
		return code;
	c->o.given |= OPT_RESTART; // what would change, whatever it takes
	receipt = put_candidate(c, &candidate, true, c->o.json, &code);
	if (receipt && !c->o.json) {
		changes_print(&c->out, json_object_get(receipt, "changes"), 0);
		warnings_print(&c->err, json_object_get(receipt, "warnings"));
	}
	json_decref(receipt);
	candidate_close(&candidate);
	return code;
}

// Shows what will be done and asks, if somebody is there to ask. True: do it.
static bool agreed(struct ctl *c, const json_t *dry, const char *question)
{
	if (!c->o.json) {
		changes_print(&c->out, json_object_get(dry, "changes"), SUMMARY_LINES);
		warnings_print(&c->err, json_object_get(dry, "warnings"));
	}
	return (c->o.given & OPT_YES) || c->o.json || !somebody_there() || ask_yes(&c->out, question);
}

// The receipt, its warnings having been told already.
static void committed(struct ctl *c, json_t *receipt)
{
	if (c->o.json)
		return;
	json_object_del(receipt, "warnings");
	receipt_print(&c->out, receipt);
}

int commit_run(struct ctl *c, int words, char **word)
{
	char why[FILES_WHY];
	struct candidate candidate;
	json_t *dry, *receipt = NULL;
	int code = candidate_existing(c, &candidate);

	if (code)
		return code;
	dry = put_candidate(c, &candidate, true, false, &code);
	if (dry && !agreed(c, dry, "Commit?")) {
		tell(&c->out, INK_NONE, "nothing was changed; the candidate is kept\n");
		code = CTL_REFUSED;
	} else if (dry) {
		receipt = put_candidate(c, &candidate, false, c->o.json, &code);
	}
	if (receipt) {
		committed(c, receipt);
		if (!candidate_drop(client_url(c->client), why))
			code = usage(c, why);
	}
	json_decref(receipt);
	json_decref(dry);
	candidate_close(&candidate);
	return code;
}

// The pending revision's number as text; false: there is none, and it was said.
static bool pending_id(struct ctl *c, char *buf, size_t size, int *code)
{
	struct answer a;
	json_t *pending = NULL;

	*code = client_send(c->client, &(struct call){.method = "GET", .path = "/v1/revisions/pending"}, &a);
	if (!*code && a.status == 404) {
		*code = CTL_REFUSED;
		tell(&c->err, INK_RED, "weirctl: no revision is pending\n");
		tell(&c->err, INK_NONE,
		     "If it was not confirmed in time, it was taken back; weirctl show revisions tells.\n");
	} else if (!*code) {
		answer_free(&a);
		pending = client_get(c->client, "/v1/revisions/pending", &a, code);
	}
	answer_free(&a);
	if (!pending)
		return false;
	snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(pending, "id")));
	json_decref(pending);
	return true;
}

static int decide(struct ctl *c, int words, char **word, const char *what, const char *done)
{
	char path[128], id[32];
	json_t *receipt;
	int code;

	if (words && (word[0][strspn(word[0], "0123456789")] || strlen(word[0]) > 18))
		return usage(c, "a revision is a number");
	if (words)
		snprintf(id, sizeof id, "%s", word[0]);
	else if (!pending_id(c, id, sizeof id, &code))
		return code;
	snprintf(path, sizeof path, "/v1/revisions/%s/%s", id, what);
	receipt = write_to(c, &(struct call){.method = "POST", .path = path}, c->o.json, NULL, &code);
	if (receipt && !c->o.json)
		tell(&c->out, INK_GREEN, "revision %s is %s; in force is %" JSON_INTEGER_FORMAT "\n", id, done,
		     json_integer_value(json_object_get(receipt, "revision")));
	json_decref(receipt);
	return code;
}

int confirm_run(struct ctl *c, int words, char **word)
{
	return decide(c, words, word, "confirm", "kept");
}

int revert_run(struct ctl *c, int words, char **word)
{
	return decide(c, words, word, "revert", "taken back");
}

int rollback_run(struct ctl *c, int words, char **word)
{
	char path[PATH_ROOM], base[BASE_MAX];
	bool only_look = c->o.given & OPT_DRY_RUN;
	struct call call = {.method = "POST", .path = path, .if_match = "*"};
	json_t *dry, *receipt = NULL;
	int code;

	if (!*word[0] || word[0][strspn(word[0], "0123456789")] || strlen(word[0]) > 18)
		return usage(c, "a revision is a number: weirctl show revisions lists them");
	snprintf(path, sizeof path, "/v1/revisions/%s/rollback", word[0]);
	write_query(&c->o, true, path);
	dry = write_to(c, &call, only_look && c->o.json, base, &code);
	if (!dry)
		return code;
	if (only_look) {
		if (!c->o.json)
			changes_print(&c->out, json_object_get(dry, "changes"), 0);
	} else if (!agreed(c, dry, "Roll back?")) {
		tell(&c->out, INK_NONE, "nothing was changed\n");
		code = CTL_REFUSED;
	} else {
		snprintf(path, sizeof path, "/v1/revisions/%s/rollback", word[0]);
		call.if_match = base[0] ? base : "*"; // what was shown is what is done
		if (!write_query(&c->o, false, path))
			code = usage(c, "the comment is too long");
		else
			receipt = write_to(c, &call, c->o.json, NULL, &code);
	}
	if (receipt)
		committed(c, receipt);
	json_decref(receipt);
	json_decref(dry);
	return code;
}
