// SPDX-License-Identifier: GPL-2.0-or-later
// sim [--oracle] FILE.sim: plays a scenario, prints what each class got and whether the expectations were
// met. Exit status 0: all met; 1: one was not, or an invariant broke; 2: the file is wrong.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

enum { CLASSES_SHOWN = 24 };

static void print_class(const char *name, const struct class_result *c, double seconds)
{
	uint64_t other = 0;

	for (uint32_t d = 0; d < DROP_REASON_COUNT; d++)
		if (d != DROP_QUEUE_FULL && d != DROP_CODEL)
			other += c->drops[d];
	printf("%-20s %12.6f %10" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %9.3f %9.3f\n", name,
	       (double)c->bytes * 8e-6 / seconds, c->packets, c->drops[DROP_QUEUE_FULL], c->drops[DROP_CODEL], other,
	       c->marks, (double)c->p50 / 1e6, (double)c->p99 / 1e6);
}

static void print_table(const struct scenario *s, const struct result *r)
{
	double seconds = (double)s->duration / 1e9;
	struct class_result all = {0};

	printf("%-20s %12s %10s %8s %8s %8s %8s %9s %9s\n", "class", "Mbit/s", "packets", "full", "codel", "other",
	       "marked", "p50 ms", "p99 ms");
	for (uint32_t i = 0; i < s->classes; i++) {
		const struct class_result *c = &r->cls[i];

		all.packets += c->packets;
		all.bytes += c->bytes;
		all.marks += c->marks;
		for (uint32_t d = 0; d < DROP_REASON_COUNT; d++)
			all.drops[d] += c->drops[d];
		if (i < CLASSES_SHOWN)
			print_class(s->cls[i].name, c, seconds);
		else if (i == CLASSES_SHOWN)
			printf("... %u more\n", s->classes - CLASSES_SHOWN);
	}
	print_class("(all)", &all, seconds);
}

static bool wants(const struct scenario *s, uint32_t kind)
{
	for (uint32_t i = 0; i < s->expects; i++)
		if (s->expect[i].kind == kind)
			return true;
	return false;
}

static int play(const struct scenario *s)
{
	struct watch *w = watch_new(s), *w2 = watch_new(s);
	struct result r, again = {0};
	bool twice = wants(s, EXPECT_REPEATABLE);
	uint32_t failed;

	run(s, w, &r);
	if (twice)
		run(s, w2, &again);
	print_table(s, &r);
	failed = watch_judge(w, &r, twice ? &again : NULL);
	if (r.oracle.ran)
		printf("oracle: late %.3f, ahead %.3f, above ul %.3f, service differs by %.3f largest packets\n",
		       r.oracle.rt_late, r.oracle.ls_lead, r.oracle.ul_excess, r.oracle.service_diff);
	if (r.broken[0])
		printf("FAIL %s: invariant: %s\n", s->file, r.broken);
	printf("seed %" PRIu64 ", %" PRIu64 " packets, digest %016" PRIx64 ", %u of %u expectations failed\n", s->seed,
	       r.packets, r.digest, failed, s->expects);
	failed += r.broken[0] != 0;
	result_free(&r);
	result_free(&again);
	watch_free(w);
	watch_free(w2);
	return failed ? EXIT_EXPECTATION : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct scenario *s;
	bool oracle = argc > 2 && !strcmp(argv[1], "--oracle");
	int status;

	if (argc != 2 + oracle || argv[argc - 1][0] == '-') {
		fprintf(stderr, "usage: sim [--oracle] FILE.sim\n");
		return EXIT_FILE;
	}
	s = scenario_read(argv[argc - 1]);
	for (uint32_t i = 0; i < s->trees && oracle; i++)
		s->tree[i].oracle = s->tree[i].plans == 1;
	status = play(s);
	scenario_free(s);
	return status;
}
