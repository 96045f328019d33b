// SPDX-License-Identifier: GPL-2.0-or-later
// Commands. One table says what there is: name, arguments, what it does. Two of the rows are roles that weir starts
// itself in (mgmt/spawn); they are not for people and not shown.
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/engine.h"
#include "io/sandbox.h"
#include "io/stats.h"
#include "mgmt/manager.h"
#include "mgmt/parent.h"
#include "mgmt/reader.h"
#include "mgmt/say.h"
#include "mgmt/schema.h"
#include "mgmt/version.h"

enum { CHANNEL_FD = 3, WATCH_SECONDS = 1 };

struct options {
	const char *config, *stats, *state, *listen;
	bool json, watch, offline;
};

struct command {
	const char *name, *usage, *help; // help NULL: a role, not shown
	const char *options;             // letters of those that it takes
	int arguments;                   // how many follow the options
	int (*run)(const struct options *o, char **argument);
};

static int run(const struct options *o, char **argument)
{
	if (o->state || o->listen)
		return parent_run_managed(o->state ? o->state : STATE_DIR_DEFAULT,
					  o->listen ? o->listen : LISTEN_DEFAULT, o->config, o->stats);
	if (!o->config) {
		fputs("weir: run needs --config FILE or --state DIR\n", stderr);
		return EXIT_REFUSED;
	}
	return parent_run_file(o->config, o->stats);
}

static int check(const struct options *o, char **argument)
{
	struct problems found = {0};
	struct config *c = read_config(argument[0], o->offline, &found);
	uint32_t classes = 0;

	print_problems(argument[0], &found);
	problems_free(&found);
	if (!c)
		return EXIT_REFUSED;
	for (uint32_t i = 0; i < c->shapers; i++)
		classes += c->shaper[i].plan->classes;
	printf("%s: ok, %u ports, %u shapers, %u classes\n", argument[0], c->ports, c->shapers, classes);
	config_free(c);
	return EXIT_FINE;
}

static int status(const struct options *o, char **argument)
{
	do {
		const struct stats *s = stats_open(o->stats);

		if (!s) {
			fprintf(stderr, "weir: %s: %s\n", o->stats,
				errno == ENOENT   ? "there is no such file: no weir runs with these statistics"
				: errno == EPROTO ? "not the statistics of this version of weir"
						  : strerror(errno));
			return EXIT_FAILED;
		}
		if (o->watch && !o->json)
			fputs("\033[H\033[2J", stdout);
		stats_print(s, o->json);
		fflush(stdout);
		stats_unmap(s);
	} while (o->watch && !ferror(stdout) && !sleep(WATCH_SECONDS));
	return EXIT_FINE;
}

static int schema(const struct options *o, char **argument)
{
	schema_print(stdout);
	return EXIT_FINE;
}

static int version(const struct options *o, char **argument)
{
	puts("weir " WEIR_VERSION);
	return EXIT_FINE;
}

static int reader(const struct options *o, char **argument)
{
	return reader_main();
}

static int engine(const struct options *o, char **argument)
{
	if (sandbox_limit(0, 0)) {
		perror("weir: engine");
		return EXIT_FAILED;
	}
	return engine_main(CHANNEL_FD);
}

static int manager(const struct options *o, char **argument)
{
	if (sandbox_limit(0, 0)) {
		perror("weir: manager");
		return EXIT_FAILED;
	}
	return manager_main(CHANNEL_FD, argument[0]);
}

static int help(const struct options *o, char **argument);

static const struct command commands[] = {
	{"run", "run --config FILE [--stats PATH]", "forward packets; SIGHUP reads the file again, SIGTERM stops",
	 "csdl", 0, run},
	{"run", "run --state DIR [--listen ADDR:PORT|fd:N] [--config FILE]",
	 "the same, configured by its API; FILE is for an empty DIR", "csdl", 0, run},
	{"check", "check [--offline] FILE", "say all that is wrong with a file (offline: not asking this machine)", "o",
	 1, check},
	{"status", "status [--stats PATH] [-j|--json] [--watch]", "show the counters of a running weir", "sjw", 0,
	 status},
	{"schema", "schema", "print the reference of all settings (Markdown)", "", 0, schema},
	{"version", "version", "print the version", "", 0, version},
	{"help", "help", "print this", "", 0, help},
	{"reader", "", NULL, "", 0, reader},
	{"engine", "", NULL, "", 0, engine},
	{"manager", "", NULL, "", 1, manager},
};

static void print_usage(FILE *out)
{
	fputs("usage:\n", out);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (commands[i].help)
			fprintf(out, "  weir %-46s %s\n", commands[i].usage, commands[i].help);
}

static int help(const struct options *o, char **argument)
{
	print_usage(stdout);
	printf("statistics are at %s unless told otherwise; the API listens at https://" LISTEN_DEFAULT "\n",
	       STATS_PATH_DEFAULT);
	return EXIT_FINE;
}

PRINTF_LIKE(1, 2)
static int usage_error(const char *fmt, ...)
{
	va_list ap;

	fputs("weir: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	print_usage(stderr);
	return EXIT_REFUSED;
}

// Reads the options of a command. 0 or an exit status.
static int read_options(const struct command *c, int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
		{"config", required_argument, NULL, 'c'}, {"stats", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},         {"watch", no_argument, NULL, 'w'},
		{"offline", no_argument, NULL, 'o'},      {"state", required_argument, NULL, 'd'},
		{"listen", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0},
	};
	int letter;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, "+:c:s:jwod:l:", table, NULL)) != -1) {
		if (letter == ':')
			return usage_error("%s needs a value", argv[optind - 1]);
		if (letter == '?' || !strchr(c->options, letter))
			return usage_error("%s does not take the option %s", c->name, argv[optind - 1]);
		if (letter == 'c')
			o->config = optarg;
		else if (letter == 's')
			o->stats = optarg;
		else if (letter == 'd')
			o->state = optarg;
		else if (letter == 'l')
			o->listen = optarg;
		else if (letter == 'j')
			o->json = true;
		else if (letter == 'w')
			o->watch = true;
		else
			o->offline = true;
	}
	if (argc - optind < c->arguments)
		return usage_error("%s needs an argument: weir %s", c->name, c->usage);
	if (argc - optind > c->arguments)
		return usage_error("%s does not take the argument \"%s\"", c->name, argv[optind + c->arguments]);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = {.stats = STATS_PATH_DEFAULT};
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name)
		return usage_error("a command is missing");
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	else if (!strcmp(name, "--version"))
		name = "version";
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		const struct command *c = &commands[i];
		int bad;

		if (strcmp(c->name, name) != 0)
			continue;
		bad = read_options(c, argc - 1, argv + 1, &o);
		return bad ? bad : c->run(&o, argv + 1 + optind);
	}
	return usage_error("\"%s\" is not a command", name);
}
