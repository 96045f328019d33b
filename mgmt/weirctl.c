// SPDX-License-Identifier: GPL-2.0-or-later
// weirctl: the command line client of weir's REST API, for people at a terminal and for scripts. It knows nothing that
// curl could not find out, and needs nothing on the box it talks to. One table says what there is.
#include "mgmt/weirctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mgmt/version.h"
#include "mgmt/weirctl_args.h"
#include "mgmt/weirctl_client.h"

static int help_run(struct ctl *c, int words, char **word);
static int version_run(struct ctl *c, int words, char **word);

static const char values_text[] =
	"PATH is a place in the configuration: words, slashes, or both (shapers wan rate; shapers/wan/rate). With a\n"
	"slash in front it is one word, and several values after it make a list (/bridges/br0/ports lan wan).\n"
	"VALUE is JSON, or a word: 20mbit, true, '{\"rt\": \"20mbit\"}'. In lists a step is an index; - is the end.\n";
static const char commit_text[] =
	"Shows what will change and, at a terminal, asks. With --confirm N the change is taken back by itself after\n"
	"N seconds, even if the box can no longer be reached, unless weirctl confirm is called before.\n";
static const char show_text[] =
	"  config [PATH]      the configuration in force, or a part of it\n"
	"  candidate [PATH]   your changed configuration, not committed yet\n"
	"  ports, shapers, workers, drops\n"
	"  classes [SHAPER]   the class tree with guarantees, limits, delays, backlog and drops\n"
	"  revisions          the history, newest first (--limit, --before)\n"
	"  revision ID        one revision and what it changed\n"
	"  pending            the revision that waits for confirmation\n"
	"  schema [PREFIX]    the settings: what they mean and what is allowed\n"
	"  users, tokens, audit   for admins\n";
static const char login_text[] =
	"At the first login the fingerprint of the server's certificate is shown and asked for; from then on no other\n"
	"certificate is accepted. Compare it with what weir printed at its first start. An admin gets a token that\n"
	"lasts until weirctl logout; others a session that ends after 15 minutes without a request.\n";
static const char top_text[] = "Keys: q quit, s order, Tab next shaper, arrows and PgUp, PgDn scroll.\n";

static const struct command commands[] = {
	{"show", "show WHAT", "show configuration and state", show_text, OPT_LIMIT | OPT_BEFORE, 1, -1, show_run},
	{"set", "set PATH... VALUE", "put a value into the candidate", values_text, OPT_NOW | OPT_WRITE, 1, -1,
	 set_run},
	{"insert", "insert PATH.../INDEX VALUE", "put an element into a list of the candidate, before INDEX",
	 values_text, 0, 1, -1, insert_run},
	{"delete", "delete PATH...", "remove a setting or resource from the candidate", values_text,
	 OPT_NOW | OPT_WRITE, 1, -1, delete_run},
	{"merge", "merge FILE|-", "merge a JSON document into the candidate (RFC 7396)", NULL, 0, 1, 1, merge_run},
	{"load", "load FILE|-", "replace the candidate by a whole document", NULL, 0, 1, 1, load_run},
	{"diff", "diff [ID [ID]]", "what the candidate would change; or what a revision changed", NULL, 0, 0, 2,
	 diff_run},
	{"discard", "discard", "drop the candidate", NULL, 0, 0, 0, discard_run},
	{"rebase", "rebase", "carry the candidate's changes over to what is in force now",
	 "Values that both sides changed are told, and the candidate is kept as it was; --mine keeps the candidate's.\n",
	 OPT_MINE, 0, 0, rebase_run},
	{"commit", "commit", "put the candidate in force", commit_text, OPT_WRITE | OPT_YES, 0, 0, commit_run},
	{"confirm", "confirm [ID]", "keep the pending revision", NULL, 0, 0, 1, confirm_run},
	{"revert", "revert [ID]", "take the pending revision back now", NULL, 0, 0, 1, revert_run},
	{"rollback", "rollback ID", "put an older revision in force again, as a new one", commit_text,
	 OPT_WRITE | OPT_YES | OPT_DRY_RUN, 1, 1, rollback_run},
	{"watch", "watch [stats|revision|alarm]...", "print events as they happen", NULL, 0, 0, 8, watch_run},
	{"top", "top [SHAPER]", "watch a shaper's classes: rate, guarantee, limit, delay, drops", top_text, 0, 0, 1,
	 top_run},
	{"info", "info", "is it there, which version, how quickly does it answer", NULL, 0, 0, 0, info_run},
	{"login", "login", "log in and remember the server", login_text, OPT_USER | OPT_PASSWORD_STDIN | OPT_YES, 0, 0,
	 login_run},
	{"logout", "logout", "give the saved login back", NULL, 0, 0, 0, logout_run},
	{"passwd", "passwd", "change a password", "With --password-stdin: the old and the new one, a line each.\n",
	 OPT_USER | OPT_PASSWORD_STDIN, 0, 0, passwd_run},
	{"version", "version", "print the version", NULL, 0, 0, 0, version_run},
	{"help", "help [COMMAND]", "explain", NULL, 0, 0, 1, help_run},
};

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static void help_all(const struct screen *s)
{
	tell(s, INK_NONE, "usage: weirctl [OPTION]... COMMAND [WORD]...\n\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		tell(s, INK_NONE, "  %-34s %s\n", commands[i].usage, commands[i].help);
	tell(s, INK_NONE, "\nall commands take:\n");
	args_print(s, 0);
	tell(s, INK_NONE, "\nexit codes: 0 done, 1 refused, 2 usage, 3 server not reached, 4 login needed\n");
}

static void help_one(const struct screen *s, const struct command *c)
{
	tell(s, INK_BOLD, "weirctl %s", c->usage);
	tell(s, INK_NONE, "\n%s\n", c->help);
	if (c->more)
		tell(s, INK_NONE, "\n%s", c->more);
	if (c->options) {
		tell(s, INK_NONE, "\n");
		args_print(s, c->options);
	}
}

static int unknown(const struct ctl *c, const char *name)
{
	tell(&c->err, INK_RED, "weirctl: \"%s\" is not a command; weirctl help lists them\n", name);
	return CTL_USAGE;
}

static int help_run(struct ctl *c, int words, char **word)
{
	const struct command *one = words ? find(word[0]) : NULL;

	if (words && !one)
		return unknown(c, word[0]);
	if (one)
		help_one(&c->out, one);
	else
		help_all(&c->out);
	return CTL_DONE;
}

static int version_run(struct ctl *c, int words, char **word)
{
	tell(&c->out, INK_NONE, "weirctl " WEIR_VERSION "\n");
	return CTL_DONE;
}

// Commands that concern no server.
static bool is_local(const struct command *c)
{
	return c->run == help_run || c->run == version_run;
}

static int run(struct ctl *c, int words, char **word)
{
	const struct command *command;
	char why[ARGS_WHY];
	int code;

	if (!words) {
		help_all(c->o.help ? &c->out : &c->err);
		return c->o.help ? CTL_DONE : CTL_USAGE;
	}
	command = find(word[0]);
	if (!command)
		return unknown(c, word[0]);
	if (c->o.help) {
		help_one(&c->out, command);
		return CTL_DONE;
	}
	if (!args_fit(command, &c->o, words - 1, why)) {
		tell(&c->err, INK_RED, "weirctl: %s\n", why);
		return CTL_USAGE;
	}
	if (is_local(command))
		return command->run(c, words - 1, word + 1);
	c->client = client_open(c, &code);
	if (!c->client)
		return code;
	code = command->run(c, words - 1, word + 1);
	client_close(c->client);
	return code;
}

int main(int argc, char **argv)
{
	struct ctl c = {.out = screen_of(stdout), .err = screen_of(stderr)};
	char why[ARGS_WHY];
	int words, code;

	words = args_read(&c.o, argc - 1, argv + 1, why);
	if (words < 0) {
		tell(&c.err, INK_RED, "weirctl: %s; weirctl help lists the options\n", why);
		return CTL_USAGE;
	}
	code = run(&c, words, argv + 1);
	if (fflush(stdout) || ferror(stdout)) {
		tell(&c.err, INK_RED, "weirctl: standard output: %s\n", strerror(errno));
		return code ? code : CTL_REFUSED;
	}
	return code;
}
