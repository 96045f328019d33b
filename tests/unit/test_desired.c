// SPDX-License-Identifier: GPL-2.0-or-later
// The configuration language as a whole: golden files, every setting at its limits, values arriving where they should.
//   test_desired                 all tests, from the top folder of the source
//   test_desired FILE...         prints the problems of each file as the golden files have them
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "mgmt/desired.h"
#include "mgmt/schema.h"

static char *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *text;

	*len = 0;
	if (!f)
		return NULL;
	assert_int_equal(fstat(fileno(f), &st), 0);
	text = malloc((size_t)st.st_size + 1);
	assert_non_null(text);
	*len = fread(text, 1, (size_t)st.st_size, f);
	text[*len] = '\0';
	fclose(f);
	return text;
}

// The problems of a text, a line each.
static char *problems_of(const char *text, size_t len, bool *ok)
{
	struct problems p = {0};
	struct config *c = desired_parse(text, len, &p);
	char *lines = NULL;
	size_t size;
	FILE *f = open_memstream(&lines, &size);

	assert_non_null(f);
	for (uint32_t i = 0; i < p.kept; i++)
		fprintf(f, "%s: %s: %s\n", p.list[i].level == PROBLEM_ERROR ? "error" : "warning",
			*p.list[i].path ? p.list[i].path : "/", p.list[i].text);
	if (p.errors + p.warnings > p.kept)
		fprintf(f, "and %u more\n", p.errors + p.warnings - p.kept);
	fclose(f);
	assert_true(!!c == !p.errors);
	*ok = c != NULL;
	config_free(c);
	problems_free(&p);
	return lines;
}

static bool ends_in(const char *name, const char *end)
{
	size_t a = strlen(name), b = strlen(end);

	return a > b && !strcmp(name + a - b, end);
}

// N.json with N.err, the exact problems, or N.ok, the exact warnings.
static void goldens(void **state)
{
	DIR *d = opendir("tests/conf");
	unsigned seen = 0, failed = 0;
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d))) {
		char path[512];
		char *text, *want, *got;
		size_t len, n;
		bool ok, want_ok = false;

		if (!ends_in(e->d_name, ".json"))
			continue;
		snprintf(path, sizeof path, "tests/conf/%s", e->d_name);
		text = read_file(path, &len);
		strcpy(path + strlen(path) - 4, "err");
		want = read_file(path, &n);
		if (!want) {
			strcpy(path + strlen(path) - 3, "ok");
			want = read_file(path, &n);
			want_ok = true;
		}
		got = problems_of(text, len, &ok);
		if (!want || ok != want_ok || strcmp(got, want)) {
			print_error("%s: expected%s\n%sgot%s\n%s", path, want_ok ? " (ok)" : "",
				    want ? want : "no golden\n", ok ? " (ok)" : "", got);
			failed++;
		}
		seen++;
		free(text);
		free(want);
		free(got);
	}
	closedir(d);
	assert_int_equal(failed, 0);
	assert_true(seen >= 40);
}

// Whatever stands in configs/ is an example and must be right, without even a warning.
static void examples(void **state)
{
	DIR *d = opendir("configs");
	unsigned seen = 0;
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d))) {
		char path[512];
		char *text, *got;
		size_t len;
		bool ok;

		if (!ends_in(e->d_name, ".json"))
			continue;
		snprintf(path, sizeof path, "configs/%s", e->d_name);
		text = read_file(path, &len);
		got = problems_of(text, len, &ok);
		if (!ok || *got)
			fail_msg("%s:\n%s", path, got);
		seen++;
		free(text);
		free(got);
	}
	closedir(d);
	assert_true(seen >= 4);
}

static struct config *parse_ok(const char *path)
{
	struct problems p = {0};
	size_t len;
	char *text = read_file(path, &len);
	struct config *c = desired_parse(text, len, &p);

	assert_non_null(c);
	assert_int_equal(p.errors, 0);
	problems_free(&p);
	free(text);
	return c;
}

static void values_arrive(void **state)
{
	struct config *c = parse_ok("tests/conf/ok-units.json");
	const struct plan *p = c->shaper[0].plan;
	const struct class_conf *k;

	assert_int_equal(c->ports, 2);
	assert_string_equal(c->port[1].name, "wan");
	assert_string_equal(c->port[1].device, "eth2");
	assert_int_equal(c->port[1].rx_ring, 2048);
	assert_int_equal(c->port[1].inflight_us, 200);
	assert_int_equal(c->workers, 1);
	assert_int_equal(c->frames, 32768);
	assert_int_equal(c->bridge[0].ageing_ns, 300 * NSEC_PER_SEC);
	assert_int_equal(c->shaper[0].port, 1);
	assert_int_equal(p->rate_bps, 1500000000);
	assert_int_equal(p->burst_ns, 500000);
	assert_int_equal(p->wire.overhead, -4);
	assert_int_equal(p->wire.mpu, 64);
	assert_int_equal(p->wire.layer, LINK_ATM);
	assert_int_equal(p->mtu_wire, (1500 + 22 - 4 + 47) / 48 * 53);
	assert_int_equal(p->classes, 5);
	assert_string_equal(p->cls[p->default_class].name, "rest");
	k = &p->cls[plan_find(p, "a")];
	assert_memory_equal(&k->rt, (&(struct curve){1000000, NSEC_PER_SEC, 1000000}), sizeof k->rt);
	assert_memory_equal(&k->rt, &k->ls, sizeof k->rt);
	assert_int_equal(k->leaf.kind, LEAF_FQ_CODEL);
	assert_int_equal(k->leaf.limit_packets, 10240);
	assert_int_equal(k->leaf.limit_frames, 15625); // 32,000,000 / 2048
	assert_true(k->leaf.ce_threshold_ns == TIME_NEVER);
	assert_true(k->leaf.ecn);
	k = &p->cls[plan_find(p, "b")];
	assert_int_equal(k->ls.m2_bps, 1000000);
	assert_int_equal(k->leaf.limit_frames, 512);
	assert_int_equal(k->leaf.ce_threshold_ns, NSEC_PER_MSEC);
	assert_false(k->leaf.ecn);
	k = &p->cls[plan_find(p, "c")];
	assert_memory_equal(&k->rt, (&(struct curve){0, 10 * NSEC_PER_MSEC, 1000000}), sizeof k->rt);
	assert_int_equal(k->leaf.kind, LEAF_PFIFO);
	assert_int_equal(k->leaf.limit_packets, 1000);
	config_free(c);
}

static void rules_arrive(void **state)
{
	struct config *c = parse_ok("tests/conf/ok-rules.json");
	const struct rule *r = c->shaper[0].rule;
	static const uint8_t doc6[4] = {0x20, 0x01, 0x0d, 0xb8};

	assert_int_equal(c->shaper[0].rules, 4);
	assert_int_equal(r[0].src.family, 4);
	assert_int_equal(r[0].src.len, 8);
	assert_int_equal(r[0].src.addr[0], 10);
	assert_int_equal(r[0].dst.len, 32);
	assert_int_equal(r[0].proto, IPPROTO_TCP);
	assert_int_equal(r[0].sport_min, 1000);
	assert_int_equal(r[0].sport_max, 2000);
	assert_int_equal(r[0].dport_min, 443);
	assert_int_equal(r[0].dport_max, 443);
	assert_int_equal(r[0].dscp, 46);
	assert_int_equal(r[0].vlan, VLAN_NO_TAG);
	assert_int_equal(r[0].l3, L3_IPV4);
	assert_int_equal(r[0].class_id, plan_find(c->shaper[0].plan, "a"));
	assert_int_equal(r[1].src.family, 6);
	assert_memory_equal(r[1].src.addr, doc6, sizeof doc6);
	assert_int_equal(r[1].proto, 47);
	assert_int_equal(r[1].vlan, 100);
	assert_int_equal(r[1].l3, RULE_ANY);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(r[i].sport_min, 0);
		assert_int_equal(r[i].sport_max, 65535);
		assert_int_equal(r[i].dst.family, 0);
	}
	assert_int_equal(r[2].proto, RULE_ANY);
	assert_int_equal(r[2].dscp, RULE_ANY);
	assert_int_equal(r[2].vlan, RULE_ANY);
	assert_int_equal(r[3].dst.family, 4);
	assert_int_equal(r[3].dst.len, 0);
	config_free(c);
}

// --- every number at its limits ----------------------------------------------------------------------------------

// A document in which every setting can take any value of its range without being at odds with another one.
static const char roomy[] =
	"{\"system\": {\"workers\": [0], \"chunk\": 4096},"
	" \"ports\": {\"p\": {\"device\": \"d\", \"queues\": 1, \"rx_ring\": 128, \"tx_ring\": 128}},"
	" \"bridges\": {\"b\": {\"ports\": [\"p\"]}},"
	" \"shapers\": {\"s\": {\"port\": \"p\", \"rate\": \"unlimited\", \"default\": \"c\", \"classes\": {\"c\": {"
	"   \"ls\": {\"m1\": 0, \"d\": \"1s\", \"m2\": 1000}, \"leaf\": {\"interval\": \"60s\", \"target\": \"1us\"}}}}},"
	" \"classifiers\": {\"s\": [{\"class\": \"c\"}]}}";

// The document with `v` (stolen) at the place a pattern means, objects made on the way; the place in pointer.
static json_t *with(const struct setting *s, json_t *v, char *pointer, size_t size)
{
	json_t *doc = json_loads(roomy, 0, NULL), *at = doc;
	char path[128];
	char *save = NULL, *step, *next;

	assert_non_null(doc);
	snprintf(path, sizeof path, "%s", s->path + 1);
	pointer[0] = '\0';
	for (step = strtok_r(path, "/", &save); step; step = next) {
		char name[64];
		json_t *child;

		next = strtok_r(NULL, "/", &save);
		if (json_is_array(at)) {
			snprintf(name, sizeof name, "0");
			child = json_array_get(at, 0);
			if (!next)
				json_array_set_new(at, 0, v);
		} else {
			const char *key = strcmp(step, "*") ? step : json_object_iter_key(json_object_iter(at));

			snprintf(name, sizeof name, "%s", key);
			child = json_object_get(at, name);
			if (!strcmp(name, "sc")) // goes without ls
				json_object_del(at, "ls");
			if (next && !json_is_object(child) && !json_is_array(child)) {
				child = json_object();
				json_object_set_new(at, name, child);
			}
			if (!next)
				json_object_set_new(at, name, v);
		}
		snprintf(pointer + strlen(pointer), size - strlen(pointer), "/%s", name);
		at = child;
	}
	return doc;
}

// Whether the value is accepted: no problem is told at its place.
static bool accepts(const struct setting *s, json_t *v)
{
	char pointer[PROBLEM_PATH_MAX];
	json_t *doc = with(s, v, pointer, sizeof pointer);
	char *text = json_dumps(doc, 0);
	struct problems p = {0};
	bool ok = true;

	config_free(desired_parse(text, strlen(text), &p));
	for (uint32_t i = 0; i < p.kept; i++)
		ok &= p.list[i].level != PROBLEM_ERROR || strcmp(p.list[i].path, pointer) != 0;
	problems_free(&p);
	json_decref(doc);
	free(text);
	return ok;
}

static bool accepts_number(const struct setting *s, int64_t v)
{
	char text[QUANTITY_TEXT];
	bool ok = accepts(s, json_string(quantity_format(v, s->unit, text)));

	if (s->unit != UNIT_NSEC && s->unit != UNIT_USEC)
		assert_int_equal(ok, accepts(s, json_integer(v)));
	else if (v)
		assert_false(accepts(s, json_integer(v))); // a duration needs a unit
	return ok;
}

static bool is_word(const struct setting *s, int64_t v)
{
	for (const struct word *w = s->words; w && w->name; w++)
		if (w->value == v)
			return true;
	return false;
}

static void limits(void **state)
{
	struct settings all = schema_all();
	unsigned tested = 0;

	for (unsigned i = 0; i < all.count; i++) {
		const struct setting *s = &all.row[i];
		int64_t odd = s->min + 1;

		if (s->type != SETTING_NUMBER && s->type != SETTING_CURVE)
			continue;
		print_message("%s\n", s->path);
		assert_true(accepts_number(s, s->min));
		assert_true(accepts_number(s, s->max));
		assert_false(accepts_number(s, s->max + 1));
		assert_false(accepts_number(s, s->min - 1));
		if (s->flags & SETTING_OR_ZERO)
			assert_true(accepts_number(s, 0));
		if (s->flags & SETTING_POWER_OF_TWO)
			assert_false(accepts_number(s, odd));
		if (s->type == SETTING_NUMBER && s->size && !is_word(s, s->def))
			assert_true(accepts_number(s, s->def));
		assert_false(accepts(s, json_string("10 bananas")));
		assert_false(accepts(s, json_true()));
		assert_false(accepts(s, json_null()));
		assert_false(accepts(s, json_real(1e30)));
		assert_false(accepts(s, json_real((double)s->min + 0.5)));
		tested++;
	}
	assert_true(tested > 25);
}

static void words(void **state)
{
	struct settings all = schema_all();

	for (unsigned i = 0; i < all.count; i++) {
		const struct setting *s = &all.row[i];

		for (const struct word *w = s->words; w && w->name; w++)
			assert_true(accepts(s, json_string(w->name)));
		if (s->type == SETTING_WORD) {
			assert_true(is_word(s, s->def));
			assert_false(accepts(s, json_string("bananas")));
			assert_false(accepts(s, json_integer(0)));
		}
		if (s->type == SETTING_BOOL) {
			assert_true(accepts(s, json_true()) && accepts(s, json_false()));
			assert_false(accepts(s, json_integer(1)) || accepts(s, json_string("true")));
		}
	}
}

// What the table calls live or restart is what config_check_live thinks of it.
static void effects(void **state)
{
	struct settings all = schema_all();

	for (unsigned i = 0; i < all.count; i++) {
		const struct setting *s = &all.row[i];
		char pointer[PROBLEM_PATH_MAX], value[QUANTITY_TEXT];
		const char *word = s->words ? s->words[1].name ? s->words[1].name : s->words[0].name : NULL;
		struct problems p = {0};
		struct config *prev, *next;
		json_t *doc;
		char *text;

		if ((s->type != SETTING_NUMBER && s->type != SETTING_WORD) ||
		    !strncmp(s->path, "/shapers/*/classes", 18))
			continue;
		if (s->type == SETTING_NUMBER) // not what the roomy document has
			word = quantity_format(s->flags & SETTING_POWER_OF_TWO ? s->min : s->max, s->unit, value);
		doc = with(s, json_string(word), pointer, sizeof pointer);
		if (!strcmp(s->path, "/ports/*/mtu")) // the largest is for large chunks
			json_object_set_new(json_object_get(json_object_get(doc, "ports"), "p"), "mtu",
					    json_integer(1500));
		text = json_dumps(doc, 0);
		prev = desired_parse(roomy, strlen(roomy), &p);
		next = desired_parse(text, strlen(text), &p);
		if (!prev || !next)
			fail_msg("%s: %s", s->path, p.list[0].text);
		problems_free(&p);
		config_check_live(prev, next, &p);
		if (!!p.errors != !!(s->flags & SETTING_RESTART))
			fail_msg("%s: %s in the table, %u problems with a live change", s->path,
				 s->flags & SETTING_RESTART ? "restart" : "live", p.errors);
		problems_free(&p);
		config_free(prev);
		config_free(next);
		json_decref(doc);
		free(text);
	}
}

// --- size --------------------------------------------------------------------------------------------------------

static void too_long(void **state)
{
	struct problems p = {0};

	assert_null(desired_parse("", (size_t)CONFIG_FILE_MAX + 1, &p));
	assert_int_equal(p.errors, 1);
	assert_string_equal(p.list[0].text, "67108865 bytes are too many; allowed: up to 67108864");
	problems_free(&p);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static char *big(unsigned classes, unsigned rules, const char *class_of_rule, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	fputs("{\"ports\": {\"p\": {\"device\": \"d\"}}, \"shapers\": {\"s\": {\"port\": \"p\", \"rate\": \"100gbit\", "
	      "\"default\": \"c0\", \"classes\": {",
	      f);
	for (unsigned i = 0; i < classes; i++)
		fprintf(f, "%s\"c%u\": {\"ls\": 13107200, \"ul\": \"13107.2kbit\"}", i ? ", " : "", i);
	fputs("}}}, \"classifiers\": {\"s\": [", f);
	for (unsigned i = 0; i < rules; i++) {
		fprintf(f, "%s{\"dst\": \"10.%u.%u.%u\", \"dst_port\": \"80-443\", \"class\": \"", i ? ", " : "",
			i >> 16, i >> 8 & 255, i & 255);
		fprintf(f, class_of_rule, i % classes);
		fputs("\"}", f);
	}
	fputs("]}}", f);
	fclose(f);
	return text;
}

// No search in it is quadratic: with that, either would take minutes.
static void large(void **state)
{
	static const char *const class_of_rule[] = {"c%u", "d%05u"}; // all there, none there
	struct problems p = {0};

	for (int i = 0; i < 2; i++) {
		size_t len;
		char *text = big(13706, RULES_MAX, class_of_rule[i], &len);
		double start = seconds();
		struct config *c = desired_parse(text, len, &p);

		print_message("13,706 classes, 200,000 rules, %zu bytes: %.2f s\n", len, seconds() - start);
		assert_true(seconds() - start < 20); // generous: sanitizers, busy machines
		assert_int_equal(p.errors, i ? RULES_MAX : 0);
		assert_true(i ? c == NULL : c->shaper[0].rules == RULES_MAX && c->shaper[0].plan->classes == 13707);
		config_free(c);
		problems_free(&p);
		free(text);
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(goldens),      cmocka_unit_test(examples), cmocka_unit_test(values_arrive),
		cmocka_unit_test(rules_arrive), cmocka_unit_test(limits),   cmocka_unit_test(words),
		cmocka_unit_test(effects),      cmocka_unit_test(too_long), cmocka_unit_test(large),
	};

	for (int i = 1; i < argc; i++) {
		size_t len;
		bool ok;
		char *text = read_file(argv[i], &len), *lines = problems_of(text, len, &ok);

		fputs(lines, stdout);
		free(lines);
		free(text);
	}
	return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
