// SPDX-License-Identifier: GPL-2.0-or-later
// What the commands of weirctl share: their exit codes, their options, the row that describes one.
#ifndef MGMT_WEIRCTL_H
#define MGMT_WEIRCTL_H

#include "core/types.h"
#include "mgmt/weirctl_text.h"

enum ctl_exit {
	CTL_DONE,
	CTL_REFUSED,     // by the server, or the answer was no
	CTL_USAGE,       // what was typed makes no sense
	CTL_UNREACHABLE, // no server, or not the one that is trusted
	CTL_LOGIN,       // it wants to know who asks
};

// Options that only some commands take; a command's row has those that it takes.
enum option_bit {
	OPT_CONFIRM = 1u << 0,
	OPT_COMMENT = 1u << 1,
	OPT_RESTART = 1u << 2,
	OPT_YES = 1u << 3,
	OPT_NOW = 1u << 4,
	OPT_USER = 1u << 5,
	OPT_PASSWORD_STDIN = 1u << 6,
	OPT_LIMIT = 1u << 7,
	OPT_BEFORE = 1u << 8,
	OPT_MINE = 1u << 9,
	OPT_DRY_RUN = 1u << 10,
	OPT_WRITE = OPT_CONFIRM | OPT_COMMENT | OPT_RESTART, // what any write to the server takes
};

struct options {
	uint32_t given;                                 // enum option_bit
	const char *url, *token, *cacert, *fingerprint; // NULL: not given
	const char *comment, *user;
	int64_t confirm_s, limit, before;
	bool json, help;
};

struct client;
struct ctl {
	struct options o;
	struct client *client;
	struct screen out, err;
};

struct command {
	const char *name, *usage, *help;
	const char *more; // what `help NAME` adds; NULL: nothing
	uint32_t options; // enum option_bit
	int min, max;     // words after the name; max -1: any number
	int (*run)(struct ctl *c, int words, char **word);
};

int show_run(struct ctl *c, int words, char **word);
int info_run(struct ctl *c, int words, char **word);
int login_run(struct ctl *c, int words, char **word);
int logout_run(struct ctl *c, int words, char **word);
int passwd_run(struct ctl *c, int words, char **word);
int set_run(struct ctl *c, int words, char **word);
int insert_run(struct ctl *c, int words, char **word);
int delete_run(struct ctl *c, int words, char **word);
int merge_run(struct ctl *c, int words, char **word);
int load_run(struct ctl *c, int words, char **word);
int diff_run(struct ctl *c, int words, char **word);
int discard_run(struct ctl *c, int words, char **word);
int rebase_run(struct ctl *c, int words, char **word);
int commit_run(struct ctl *c, int words, char **word);
int confirm_run(struct ctl *c, int words, char **word);
int revert_run(struct ctl *c, int words, char **word);
int rollback_run(struct ctl *c, int words, char **word);
int watch_run(struct ctl *c, int words, char **word);
int top_run(struct ctl *c, int words, char **word);

#endif
