// SPDX-License-Identifier: GPL-2.0-or-later
// Expectations, as a scenario writes them; watch.c judges them.
#include "tests/sim/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t kind;
} expect_names[] = {
	{"rate", EXPECT_RATE},
	{"total", EXPECT_TOTAL},
	{"share", EXPECT_SHARE},
	{"delay", EXPECT_DELAY},
	{"drops", EXPECT_DROPS},
	{"loss", EXPECT_LOSS},
	{"sent", EXPECT_SENT},
	{"gap", EXPECT_GAP},
	{"floor", EXPECT_FLOOR},
	{"ceiling", EXPECT_CEILING},
	{"target", EXPECT_TARGET},
	{"digest", EXPECT_DIGEST},
	{"repeatable", EXPECT_REPEATABLE},
	{"oracle", EXPECT_ORACLE},
};

static double expect_value(struct reader *r, const struct sim_expect *e, const char *w)
{
	switch (e->kind) {
	case EXPECT_RATE:
	case EXPECT_TOTAL:
	case EXPECT_FLOOR:
	case EXPECT_CEILING:
		return (double)read_rate(r, w);
	case EXPECT_DELAY:
	case EXPECT_GAP:
	case EXPECT_TARGET:
		return (double)read_time(r, w);
	case EXPECT_SHARE:
	case EXPECT_LOSS:
		return read_value(r, w, plain_units, 0, 1, "0% to 100%");
	default:
		return read_value(r, w, plain_units, 0, 1e15, "a number");
	}
}

// A class, or "source NAME": that source's packets in its class.
static void expect_class(struct reader *r, struct sim_expect *e)
{
	const char *w;

	if (!accept_word(r, "source")) {
		e->cls = class_named(r, next_word(r, "a class"));
		return;
	}
	w = next_word(r, "a source");
	for (e->source = 0; e->source < r->s->sources; e->source++)
		if (!strcmp(r->s->source[e->source].name, w))
			break;
	if (e->source == r->s->sources)
		wrong(r, "there is no source \"%s\" above this line", w);
	e->cls = r->s->source[e->source].cls;
}

static void expect_class_or_all(struct reader *r, struct sim_expect *e)
{
	e->cls = UINT32_MAX;
	if (!accept_word(r, "all"))
		expect_class(r, e);
}

static void expect_subject(struct reader *r, struct sim_expect *e)
{
	const char *w;

	switch (e->kind) {
	case EXPECT_TOTAL:
	case EXPECT_REPEATABLE:
	case EXPECT_DIGEST:
	case EXPECT_ORACLE:
		if (more_words(r) && r->word[r->next][0] == '@')
			e->tree = tree_by_name(r, next_word(r, "a tree") + 1);
		break;
	case EXPECT_DROPS:
		expect_class_or_all(r, e);
		w = next_word(r, "a drop reason or \"any\"");
		for (e->drop = DROP_NONE + 1; e->drop < DROP_REASON_COUNT; e->drop++)
			if (!strcmp(drop_name(e->drop), w))
				break;
		if (e->drop == DROP_REASON_COUNT && strcmp(w, "any"))
			wrong(r, "\"%s\" is no drop reason, allowed any, queue_full, codel, reconfigured, ...", w);
		if (e->drop == DROP_REASON_COUNT)
			e->drop = DROP_NONE;
		break;
	case EXPECT_DELAY:
		expect_class(r, e);
		w = next_word(r, "a quantile");
		if (!strcmp(w, "max"))
			e->permille = 1000;
		else if (w[0] == 'p')
			e->permille = 10 * read_value(r, w + 1, plain_units, 1, 100, "p1 to p100, p99.9, max");
		else
			wrong(r, "\"%s\" is no quantile, allowed p50, p99, p99.9, max", w);
		break;
	default:
		expect_class_or_all(r, e);
	}
}

static void expect_of(struct reader *r, struct sim_expect *e)
{
	char text[LINE_MAX_LEN], *save, *part;

	snprintf(text, sizeof text, "%s", next_word(r, "classes"));
	for (part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		e->of = grow_array(e->of, e->ofs, sizeof *e->of);
		e->of[e->ofs++] = class_named(r, part);
	}
}

void statement_expect(struct reader *r)
{
	struct scenario *s = r->s;
	struct sim_expect *e;
	const char *w = next_word(r, "what is expected");
	size_t k = 0;

	while (k < ARRAY_LEN(expect_names) && strcmp(expect_names[k].name, w))
		k++;
	if (k == ARRAY_LEN(expect_names))
		wrong(r,
		      "\"%s\" cannot be expected, allowed rate, total, share, delay, drops, loss, sent, gap, floor, "
		      "ceiling, target, digest, repeatable, oracle",
		      w);
	s->expect = grow_array(s->expect, s->expects, sizeof *s->expect);
	e = &s->expect[s->expects++];
	*e = (struct sim_expect){.line = r->line,
				 .kind = expect_names[k].kind,
				 .cls = UINT32_MAX,
				 .source = UINT32_MAX,
				 .to = TIME_NEVER};
	snprintf(e->text, sizeof e->text, "%.*s", (int)sizeof e->text - 1, r->text);
	expect_subject(r, e);
	if (e->kind == EXPECT_DIGEST) {
		e->digest = strtoull(next_word(r, "a digest"), NULL, 16);
		return;
	}
	if (e->kind == EXPECT_ORACLE)
		s->tree[e->tree].oracle = true;
	if (e->kind == EXPECT_REPEATABLE || e->kind == EXPECT_ORACLE)
		return;
	e->compare = accept_word(r, "<=") ? AT_MOST : accept_word(r, ">=") ? AT_LEAST : ABOUT;
	if (e->kind == EXPECT_FLOOR)
		e->compare = AT_LEAST;
	if (e->kind == EXPECT_CEILING)
		e->compare = AT_MOST;
	e->value = expect_value(r, e, next_word(r, "a value"));
	while (more_words(r)) {
		if (accept_word(r, "+-"))
			e->tolerance = read_value(r, next_word(r, "a tolerance"), plain_units, 0, 1, "0% to 100%");
		else if (accept_word(r, "from"))
			e->from = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "to"))
			e->to = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "window"))
			e->window = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "plus"))
			e->burst = read_number(r, "bytes", 0, 1u << 30);
		else if (accept_word(r, "of"))
			expect_of(r, e);
		else
			wrong(r, "\"%s\" is not understood, allowed +-, from, to, window, plus, of", r->word[r->next]);
	}
	if ((e->kind == EXPECT_FLOOR || e->kind == EXPECT_CEILING) && !e->window)
		wrong(r, "floor and ceiling need \"window TIME\"");
	if (e->kind == EXPECT_SHARE && !e->ofs)
		wrong(r, "a share needs \"of CLASS,CLASS\"");
}
