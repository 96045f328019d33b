// SPDX-License-Identifier: GPL-2.0-or-later
// One table of options. getopt would take the value in `set shapers wan overhead -4` for an option, and it has no way to say
// that an option belongs to some commands only; so it is not used.
#include "mgmt/weirctl_args.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct option {
	const char *name, *value, *help; // value NULL: it takes none
	uint32_t bit;                    // 0: all commands take it
	char letter;
	uint8_t kind;
	size_t offset;
	int64_t min, max; // of numbers
};

enum { KIND_FLAG, KIND_BOOL, KIND_TEXT, KIND_NUMBER };

#define TEXT(member) .kind = KIND_TEXT, .offset = offsetof(struct options, member)
#define NUMBER(member, lo, hi) .kind = KIND_NUMBER, .offset = offsetof(struct options, member), .min = (lo), .max = (hi)
#define BOOL(member) .kind = KIND_BOOL, .offset = offsetof(struct options, member)

static const struct option options[] = {
	{"url", "URL", "the server; default $WEIR_URL, else https://127.0.0.1:8443", 0, 'u', TEXT(url)},
	{"token", "TOKEN", "authenticate with it; better $WEIR_TOKEN, which no list of processes shows", 0, 0,
	 TEXT(token)},
	{"fingerprint", "AA:BB:..",
	 "the server's certificate must have this SHA-256 fingerprint; default $WEIR_FINGERPRINT", 0, 0,
	 TEXT(fingerprint)},
	{"cacert", "FILE", "the server's certificate must come from a CA in FILE (PEM)", 0, 0, TEXT(cacert)},
	{"json", NULL, "print the server's JSON unchanged", 0, 'j', BOOL(json)},
	{"help", NULL, "explain the command", 0, 'h', BOOL(help)},
	{"confirm", "N", "take the change back by itself after N s (5 to 3600) unless it is confirmed", OPT_CONFIRM,
	 'c', NUMBER(confirm_s, 5, 3600)},
	{"comment", "TEXT", "for the history", OPT_COMMENT, 'm', TEXT(comment)},
	{"restart", NULL, "allow changes that need new sockets: traffic stops for about a second", OPT_RESTART, 0,
	 .kind = KIND_FLAG},
	{"yes", NULL, "do not ask", OPT_YES, 'y', .kind = KIND_FLAG},
	{"now", NULL, "change the server at once instead of the candidate", OPT_NOW, 0, .kind = KIND_FLAG},
	{"user", "NAME", "log in as (default admin)", OPT_USER, 0, TEXT(user)},
	{"password-stdin", NULL, "read the password from standard input, one line", OPT_PASSWORD_STDIN, 0,
	 .kind = KIND_FLAG},
	{"limit", "N", "show at most N (default 20)", OPT_LIMIT, 'n', NUMBER(limit, 1, 1000)},
	{"before", "ID", "show those older than ID", OPT_BEFORE, 0, NUMBER(before, 1, INT64_MAX)},
	{"mine", NULL, "where both sides changed the same value, keep the candidate's", OPT_MINE, 0, .kind = KIND_FLAG},
	{"dry-run", NULL, "only show what would change", OPT_DRY_RUN, 0, .kind = KIND_FLAG},
};

// The option that a word means, and the value after its "=" if there is one.
static const struct option *find(const char *word, const char **value)
{
	*value = NULL;
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const struct option *o = &options[i];
		size_t n = strlen(o->name);

		if (word[1] == '-' && !strncmp(word + 2, o->name, n) && (!word[2 + n] || word[2 + n] == '=')) {
			*value = word[2 + n] ? word + 3 + n : NULL;
			return o;
		}
		if (word[1] == o->letter && o->letter && (!word[2] || o->value)) {
			*value = word[2] ? word + 2 : NULL;
			return o;
		}
	}
	return NULL;
}

static bool store(const struct option *o, struct options *to, const char *value, char *why)
{
	char *at = (char *)to + o->offset, *end;
	long long n;

	to->given |= o->bit;
	switch (o->kind) {
	case KIND_BOOL:
		*(bool *)(void *)at = true;
		return true;
	case KIND_TEXT:
		*(const char **)(void *)at = value;
		return true;
	case KIND_NUMBER:
		n = strtoll(value, &end, 10);
		if (!isdigit((unsigned char)*value) || *end || n < o->min || n > o->max) {
			if (o->max == INT64_MAX)
				snprintf(why, ARGS_WHY, "--%s \"%.40s\": a number is wanted", o->name, value);
			else
				snprintf(why, ARGS_WHY, "--%s \"%.40s\": a number from %lld to %lld is wanted", o->name,
					 value, (long long)o->min, (long long)o->max);
			return false;
		}
		*(int64_t *)(void *)at = n;
		return true;
	}
	return true;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

int args_read(struct options *o, int argc, char **argv, char *why)
{
	int words = 0;

	for (int i = 0; i < argc; i++) {
		const struct option *option;
		const char *value;

		if (!strcmp(argv[i], "--")) {
			while (++i < argc)
				argv[words++] = argv[i];
			break;
		}
		if (!is_option(argv[i])) {
			argv[words++] = argv[i];
			continue;
		}
		option = find(argv[i], &value);
		if (!option) {
			snprintf(why, ARGS_WHY, "there is no option %.60s", argv[i]);
			return -1;
		}
		if (!option->value && value) {
			snprintf(why, ARGS_WHY, "--%s takes no value", option->name);
			return -1;
		}
		if (option->value && !value && !(value = argv[++i])) {
			snprintf(why, ARGS_WHY, "--%s needs a value: --%s %s", option->name, option->name,
				 option->value);
			return -1;
		}
		if (!store(option, o, value, why))
			return -1;
	}
	return words;
}

bool args_fit(const struct command *c, const struct options *o, int words, char *why)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (options[i].bit & o->given & ~c->options) {
			snprintf(why, ARGS_WHY, "%s does not take --%s", c->name, options[i].name);
			return false;
		}
	if (words < c->min)
		snprintf(why, ARGS_WHY, "%s needs more: weirctl %s", c->name, c->usage);
	else if (c->max >= 0 && words > c->max)
		snprintf(why, ARGS_WHY, "that is too much: weirctl %s", c->usage);
	else
		return true;
	return false;
}

void args_print(const struct screen *s, uint32_t mask)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const struct option *o = &options[i];
		char left[48];

		if (mask ? !(o->bit & mask) : o->bit != 0)
			continue;
		snprintf(left, sizeof left, "%c%c%s --%s %s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
			 o->letter ? "," : " ", o->name, o->value ? o->value : "");
		tell(s, INK_NONE, "  %-26s %s\n", left, o->help);
	}
}

bool args_url(const char *text, char *buf, size_t size, char *why)
{
	static const char scheme[] = "https://";
	bool named = !strncmp(text, scheme, sizeof scheme - 1);
	const char *host = named ? text + sizeof scheme - 1 : text, *port = strrchr(host, ':');
	size_t n = strlen(host);
	int wrote;

	while (n && host[n - 1] == '/')
		n--;
	if (strstr(host, "://")) {
		snprintf(why, ARGS_WHY, "the URL \"%.60s\" is not https://", text);
		return false;
	}
	if (!n || strcspn(host, "/?#@ \t\r\n\\") < n) {
		snprintf(why, ARGS_WHY, "\"%.60s\" is not the URL of a server: https://HOST:PORT is wanted", text);
		return false;
	}
	if (port && strchr(port, ']'))
		port = NULL; // the last colon of [::1]
	wrote = snprintf(buf, size, "%s%.*s%s", scheme, (int)n, host, named || port ? "" : ":8443");
	if (wrote < 0 || (size_t)wrote >= size) {
		snprintf(why, ARGS_WHY, "the URL is too long");
		return false;
	}
	return true;
}
