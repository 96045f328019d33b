// SPDX-License-Identifier: GPL-2.0-or-later
// Sources of packets, as a scenario describes them.
#include "tests/sim/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void source_sizes(struct reader *r, struct sim_source *q, const char *w)
{
	char text[128], *save, *part;

	snprintf(text, sizeof text, "%s", w);
	q->sizes = 0;
	for (part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		char *weight = strchr(part, ':');

		if (q->sizes == MIX_MAX)
			wrong(r, "\"%s\" has too many sizes, allowed are %d", w, MIX_MAX);
		if (weight)
			*weight++ = 0;
		q->weight[q->sizes] =
			weight ? (uint32_t)read_value(r, weight, plain_units, 1, 1000, "1 to 1000 for a weight") : 1;
		q->size[q->sizes++] =
			(uint16_t)read_value(r, part, plain_units, 14, 9216, "frames of 14 to 9216 bytes");
	}
	if (!q->sizes)
		wrong(r, "\"%s\" is no size", w);
}

static void source_kind(struct reader *r, struct sim_source *q)
{
	const char *w = next_word(r, "the kind of source");

	if (!strcmp(w, "cbr") || !strcmp(w, "poisson") || !strcmp(w, "onoff")) {
		q->kind = w[0] == 'c' ? SOURCE_CBR : w[0] == 'p' ? SOURCE_POISSON : SOURCE_ONOFF;
		q->rate_bps = read_rate(r, next_word(r, "a rate"));
		if (!q->rate_bps)
			wrong(r, "a source of 0 bit/s, allowed 1bit to 400gbit");
	} else if (!strcmp(w, "every")) {
		q->kind = SOURCE_EVERY;
		q->interval = read_time(r, next_word(r, "a time"));
		if (!q->interval)
			wrong(r, "an interval of 0s, allowed 1ns to 60min");
	} else if (!strcmp(w, "greedy")) {
		q->kind = SOURCE_GREEDY;
		q->count = 64;
	} else if (!strcmp(w, "reno")) {
		q->kind = SOURCE_RENO;
		q->rtt = 20 * NSEC_PER_MSEC;
	} else {
		wrong(r, "\"%s\" is no source, allowed cbr, every, poisson, onoff, greedy, reno", w);
	}
}

void statement_source(struct reader *r)
{
	struct scenario *s = r->s;
	struct sim_source *q;

	s->source = grow_array(s->source, s->sources, sizeof *s->source);
	q = &s->source[s->sources++];
	*q = (struct sim_source){.line = r->line,
				 .flows = 1,
				 .count = 1,
				 .to = TIME_NEVER,
				 .sizes = 1,
				 .size = {1514},
				 .weight = {1},
				 .on = 10 * NSEC_PER_MSEC,
				 .off = 10 * NSEC_PER_MSEC};
	read_name(r, q->name, "the source");
	q->cls = class_named(r, next_word(r, "a class"));
	source_kind(r, q);
	while (more_words(r)) {
		if (accept_word(r, "size"))
			source_sizes(r, q, next_word(r, "a size"));
		else if (accept_word(r, "flows"))
			q->flows = read_number(r, "flows", 1, 65536);
		else if (accept_word(r, "from"))
			q->from = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "to"))
			q->to = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "count") || accept_word(r, "keep"))
			q->count = read_number(r, "a number of packets", 1, 65536);
		else if (accept_word(r, "on"))
			q->on = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "off"))
			q->off = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "rtt"))
			q->rtt = read_time(r, next_word(r, "a time"));
		else if (accept_word(r, "ect"))
			q->ect = true;
		else
			wrong(r,
			      "\"%s\" is not understood, allowed size, flows, from, to, count, keep, on, off, rtt, ect",
			      r->word[r->next]);
	}
	if (q->kind == SOURCE_ONOFF && (!q->on || !q->off))
		wrong(r, "on or off of 0s, allowed 1ns to 60min");
	if (q->kind == SOURCE_RENO && !q->rtt)
		wrong(r, "a round trip of 0s, allowed 1ns to 60min");
}
