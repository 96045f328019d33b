// SPDX-License-Identifier: GPL-2.0-or-later
// A scenario file. A line is a statement of words: a keyword, its fixed words, then options in any order. Everything is
// checked while it is read, so that the player needs no error paths: names, ranges, and each plan. Lists only grow; the
// process ends soon, so a mistake in the file simply exits.
#include "tests/sim/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void statement(struct reader *r, const char *line)
{
	char text[LINE_MAX_LEN];

	snprintf(r->text, sizeof r->text, "%s", line);
	r->text[strcspn(r->text, "\r\n")] = 0;
	snprintf(text, sizeof text, "%s", line);
	split_line(r, text);
	if (!r->words)
		return;
	if (accept_word(r, "seed"))
		r->s->seed = read_number(r, "a seed", 0, UINT32_MAX);
	else if (accept_word(r, "time"))
		r->s->duration = read_time(r, next_word(r, "a time"));
	else if (accept_word(r, "packets"))
		r->s->packets = read_number(r, "packets", 16, 1 << 22);
	else if (accept_word(r, "tree"))
		statement_tree(r);
	else if (accept_word(r, "poll"))
		statement_poll(r);
	else if (accept_word(r, "class"))
		statement_class(r);
	else if (accept_word(r, "source"))
		statement_source(r);
	else if (accept_word(r, "at"))
		statement_at(r);
	else if (accept_word(r, "expect"))
		statement_expect(r);
	else
		wrong(r,
		      "\"%s\" is no statement, allowed seed, time, packets, tree, poll, class, source, at, expect, "
		      "repeat",
		      r->word[0]);
	// Statements about trees are read in full when the plans are made.
	if (more_words(r) && strcmp(r->word[0], "tree") && strcmp(r->word[0], "class") && strcmp(r->word[0], "at"))
		wrong(r, "\"%s\" is one word too many", r->word[r->next]);
}

// The line with each %d replaced by i.
static void numbered(struct reader *r, char out[LINE_MAX_LEN], const char *line, uint32_t i)
{
	size_t n = 0;

	while (*line) {
		if (line[0] == '%' && line[1] == 'd') {
			n += (size_t)snprintf(out + n, LINE_MAX_LEN - n, "%u", i);
			line += 2;
		} else {
			out[n++] = *line++;
		}
		if (n >= LINE_MAX_LEN - 12)
			wrong(r, "the line is too long, allowed are %d characters", LINE_MAX_LEN - 12);
	}
	out[n] = 0;
}

// repeat N STATEMENT: N times, with %d as 1 to N.
static void line_or_repeat(struct reader *r, const char *line)
{
	char text[LINE_MAX_LEN], one[LINE_MAX_LEN];
	const char *rest = line + strspn(line, " \t");
	uint32_t n;

	if (strncmp(rest, "repeat", 6) || !strchr(" \t", rest[6])) {
		statement(r, line);
		return;
	}
	snprintf(text, sizeof text, "%s", rest);
	split_line(r, text);
	r->next = 1;
	n = read_number(r, "repeat", 1, REPEAT_MAX);
	if (!more_words(r))
		wrong(r, "the line ends where a statement is expected");
	rest += r->word[2] - text;
	for (uint32_t i = 1; i <= n; i++) {
		numbered(r, one, rest, i);
		statement(r, one);
	}
}

static void finish(struct reader *r)
{
	struct scenario *s = r->s;

	if (!s->trees)
		wrong(r, "the file has no tree");
	if (!s->duration)
		wrong(r, "the file has no \"time\", allowed 1ns to 60min");
	make_plans(r);
	for (uint32_t i = 0; i < s->expects; i++) {
		struct sim_expect *e = &s->expect[i];

		r->line = e->line;
		if (e->to == TIME_NEVER)
			e->to = s->duration;
		if (e->to > s->duration || e->from >= e->to)
			wrong(r, "the expectation's time is empty or ends after the run");
		if (e->cls != UINT32_MAX)
			e->tree = s->cls[e->cls].tree;
	}
	for (uint32_t i = 0; i < s->trees; i++) {
		r->line = s->tree[i].line;
		if (s->tree[i].oracle && s->tree[i].plans > 1)
			wrong(r, "the oracle follows no change of plan");
	}
}

struct scenario *scenario_read(const char *file)
{
	struct reader r = {0};
	char line[LINE_MAX_LEN];
	FILE *f = fopen(file, "r");

	if (!f) {
		fprintf(stderr, "%s: %s\n", file, strerror(errno));
		exit(EXIT_FILE);
	}
	r.s = calloc(1, sizeof *r.s);
	if (!r.s)
		abort();
	r.s->file = file;
	r.s->seed = 1;
	r.s->packets = 1 << 16;
	while (fgets(line, sizeof line, f)) {
		r.line++;
		if (!strchr(line, '\n') && !feof(f))
			wrong(&r, "the line is too long, allowed are %d characters", LINE_MAX_LEN - 2);
		line_or_repeat(&r, line);
	}
	fclose(f);
	finish(&r);
	free(r.hash);
	return r.s;
}

void scenario_free(struct scenario *s)
{
	for (uint32_t i = 0; i < s->trees; i++) {
		for (uint32_t k = 0; k < s->tree[i].plans; k++) {
			plan_free(s->tree[i].plan[k]);
			free(s->tree[i].class_of[k]);
		}
		free(s->tree[i].class_of);
		free(s->tree[i].plan);
		free(s->tree[i].at);
	}
	for (uint32_t i = 0; i < s->expects; i++)
		free(s->expect[i].of);
	free(s->tree);
	free(s->cls);
	free(s->source);
	free(s->expect);
	free(s);
}
