// SPDX-License-Identifier: GPL-2.0-or-later
// What people see: numbers, tables, changes, errors; and that nothing a server says reaches a terminal as a control character.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdlib.h>
#include <string.h>

#include "mgmt/weirctl_text.c"

// Prints into memory: begin, print, and compare.
static char *printed;
static size_t printed_len;

static struct screen begin(void)
{
	return (struct screen){open_memstream(&printed, &printed_len), false};
}

static void ends_as(struct screen *s, const char *want)
{
	fclose(s->out);
	assert_string_equal(printed, want);
	free(printed);
}

static json_t *json(const char *text)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

	if (!v)
		fail_msg("not JSON: %s", text);
	return v;
}

static void numbers(void **state)
{
	char buf[NUMBER_TEXT];

	assert_string_equal(rate_text(0, buf), "0 bit/s");
	assert_string_equal(rate_text(1000, buf), "1 kbit/s");
	assert_string_equal(rate_text(13107200, buf), "13.11 Mbit/s");
	assert_string_equal(rate_text(500e6, buf), "500 Mbit/s");
	assert_string_equal(rate_text(498.24e6, buf), "498.2 Mbit/s");
	assert_string_equal(rate_text(999.6e6, buf), "1 Gbit/s");
	assert_string_equal(rate_text(400e9, buf), "400 Gbit/s");
	assert_string_equal(rate_text(5e15, buf), "5000 Tbit/s");
	assert_string_equal(short_rate_text(1.5e9, buf), "1.5G");
	assert_string_equal(count_text(9999, buf), "9999");
	assert_string_equal(count_text(12345, buf), "12.3k");
	assert_string_equal(count_text(81500, buf), "81.5k");
	assert_string_equal(count_text(1e6, buf), "1M");
	assert_string_equal(count_text(18446744073709551615.0, buf), "18.4E");
	assert_string_equal(bytes_text(1514, buf), "1.51 kB");
	assert_string_equal(bytes_text(32e6, buf), "32 MB");
	assert_string_equal(nsec_text(3100, buf), "3.1 us");
	assert_string_equal(nsec_text(412000, buf), "412 us");
	assert_string_equal(nsec_text(9996, buf), "10 us");
	assert_string_equal(nsec_text(2.5e9, buf), "2.5 s");
	assert_string_equal(nsec_text(3600e9, buf), "3600 s");
	setenv("TZ", "UTC", 1);
	assert_string_equal(time_text("2030-01-02T03:04:05Z", buf), "2030-01-02 03:04:05");
	assert_string_equal(time_text("2030-01-02T03:04:05.123Z", buf), "2030-01-02 03:04:05");
	assert_string_equal(time_text("yesterday", buf), "yesterday");
}

static void control_characters(void **state)
{
	struct screen s = begin();

	tell(&s, INK_RED,
	     "a\033[2Jb\tc\x7f d\xc2\x9b"
	     "31m \xc3\xa4\n");
	ends_as(&s, "a?[2Jb?c? d??31m \xc3\xa4\n");
}

static void tables(void **state)
{
	static const struct column columns[] = {
		{"NAME", "name", FORM_TEXT}, {"RATE", "rate_bps", FORM_RATE}, {"DROPS", "drops", FORM_COUNT},
		{"LINK", "up", FORM_UP},     {"TEXT", "text", FORM_FIT},
	};
	json_t *list = json(
		"[{\"name\":\"voice\",\"rate_bps\":20000000,\"drops\":{\"a\":1,\"b\":2},\"up\":true,\"text\":\"x\"},"
		"{\"name\":\"f\xc3\xbcr\",\"rate_bps\":0,\"up\":false,\"text\":\"\\u001b[1m\"}]");
	struct screen s = begin();

	table_print(&s, columns, ARRAY_LEN(columns), list, "none");
	ends_as(&s, "NAME        RATE  DROPS  LINK  TEXT\n"
		    "voice  20 Mbit/s      3  up    x\n"
		    "f\xc3\xbcr            -      -  down  ?[1m\n");
	json_decref(list);

	s = begin();
	table_print(&s, columns, ARRAY_LEN(columns), NULL, "none");
	ends_as(&s, "none\n");
}

static void tables_of_anything(void **state)
{
	json_t *list = json("[{\"worker\":1,\"busy_ns\":1500000,\"state\":\"runs\",\"cpus\":[1,2]}]");
	struct screen s = begin();

	table_print_any(&s, list, "none");
	ends_as(&s, "worker  busy_ns  state  cpus\n"
		    "     1   1.5 ms  runs   1,2\n");
	json_decref(list);
}

static void trees(void **state)
{
	json_t *classes = json("[{\"name\":\"a\",\"parent\":\"root\"},{\"name\":\"a2\",\"parent\":\"a\"},"
			       "{\"name\":\"b\",\"parent\":\"root\"},{\"name\":\"a1\",\"parent\":\"a\"},"
			       "{\"name\":\"deep\",\"parent\":\"a2\"},{\"name\":\"x\",\"parent\":\"y\"},"
			       "{\"name\":\"y\",\"parent\":\"x\"}]");
	static const char *const want[] = {"a", "  a2", "    deep", "  a1", "b"};
	json_t *tree = class_tree(classes);

	assert_int_equal(json_array_size(tree), ARRAY_LEN(want)); // x and y, a circle, hang nowhere
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(json_string_value(json_object_get(json_array_get(tree, i), "label")), want[i]);
	json_decref(tree);
	json_decref(classes);
}

static void documents(void **state)
{
	json_t *v =
		json("{\"ports\":{\"lan\":{\"device\":\"eth1\"},\"wan\":{\"device\":\"eth2\"}},\"list\":[],\"n\":1}");
	struct screen s = begin();

	document_print(&s, v, 200);
	ends_as(&s,
		"{\"ports\": {\"lan\": {\"device\": \"eth1\"}, \"wan\": {\"device\": \"eth2\"}}, \"list\": [], \"n\": 1}\n");
	s = begin();
	document_print(&s, v, 40);
	ends_as(&s, "{\n"
		    "  \"ports\": {\n"
		    "    \"lan\": {\"device\": \"eth1\"},\n"
		    "    \"wan\": {\"device\": \"eth2\"}\n"
		    "  },\n"
		    "  \"list\": [],\n"
		    "  \"n\": 1\n"
		    "}\n");
	json_decref(v);
}

static const char changes_json[] =
	"[{\"op\":\"replace\",\"path\":\"/shapers/wan/classes/a/ls\",\"from\":\"500mbit\",\"to\":\"300mbit\"},"
	"{\"op\":\"add\",\"path\":\"/shapers/wan/classes/b\",\"to\":{\"rt\":\"1mbit\",\"leaf\":{\"limit\":5},\"x/y\":\"5\"}},"
	"{\"op\":\"remove\",\"path\":\"/bridges/b\",\"from\":{}},"
	"{\"op\":\"replace\",\"path\":\"/l\",\"from\":[1,2,3,4],\"to\":[1,9,3,4]},"
	"{\"op\":\"replace\",\"path\":\"/m\",\"from\":[1,2],\"to\":[0,1,2]},"
	"{\"op\":\"replace\",\"path\":\"/o\",\"from\":[1,1],\"to\":[1]}]";

static void changes(void **state)
{
	json_t *v = json(changes_json);
	struct screen s = begin();

	changes_print(&s, v, 0);
	ends_as(&s, "- /shapers/wan/classes/a/ls 500mbit\n"
		    "+ /shapers/wan/classes/a/ls 300mbit\n"
		    "+ /shapers/wan/classes/b/rt 1mbit\n"
		    "+ /shapers/wan/classes/b/leaf/limit 5\n"
		    "+ /shapers/wan/classes/b/x~1y \"5\"\n"
		    "- /bridges/b {}\n"
		    "- /l/1 2\n"
		    "+ /l/1 9\n"
		    "+ /m/0 0\n"
		    "- /o/1 1\n");
	s = begin();
	changes_print(&s, v, 3);
	ends_as(&s, "- /shapers/wan/classes/a/ls 500mbit\n"
		    "+ /shapers/wan/classes/a/ls 300mbit\n"
		    "+ /shapers/wan/classes/b/rt 1mbit\n"
		    "... and 7 more lines (weirctl diff shows all)\n");
	json_decref(v);
}

static void coloured(void **state)
{
	json_t *v = json("[{\"op\":\"replace\",\"path\":\"/a\",\"from\":1,\"to\":2}]");
	struct screen s = begin();

	s.colour = true;
	changes_print(&s, v, 0);
	ends_as(&s, "\033[31m- /a 1\n\033[0m\033[32m+ /a 2\n\033[0m");
	json_decref(v);
}

static void problems(void **state)
{
	json_t *v = json(
		"{\"title\":\"Unprocessable\",\"status\":422,\"detail\":\"not valid\",\"errors\":["
		"{\"pointer\":\"/shapers/wan/rate\",\"text\":\"5: too low\"},{\"pointer\":\"\",\"text\":\"no ports\"}],"
		"\"warnings\":[{\"path\":\"/a\",\"text\":\"odd\"}]}");
	struct screen s = begin();

	problem_print(&s, v, 422);
	ends_as(&s, "/shapers/wan/rate: 5: too low\nno ports\nwarning: /a: odd\n");
	json_decref(v);
	v = json("{\"title\":\"Conflict\",\"detail\":\"revision 3 is pending\"}");
	s = begin();
	problem_print(&s, v, 409);
	ends_as(&s, "weirctl: revision 3 is pending\n");
	json_decref(v);
	s = begin();
	problem_print(&s, NULL, 500);
	ends_as(&s, "weirctl: the server refused: 500\n");
}

static void receipts(void **state)
{
	json_t *v = json(
		"{\"revision\":12,\"state\":\"pending\",\"seconds_left\":60,\"applied\":true,\"duration_ns\":412000,"
		"\"longest_pause_ns\":3100,\"packets_lost\":0,\"changes\":[{}],\"warnings\":[]}");
	struct screen s = begin();

	receipt_print(&s, v);
	ends_as(&s, "revision 12 is pending: 1 change in 412 us, longest pause 3.1 us, 0 packets lost\n"
		    "it is taken back by itself in 60 s unless you keep it: weirctl confirm\n");
	json_decref(v);
	v = json("{\"revision\":12,\"state\":\"confirmed\",\"changes\":[]}");
	s = begin();
	receipt_print(&s, v);
	ends_as(&s, "revision 12 is in force\n");
	json_decref(v);
}

static void bare_words_read_back(void **state)
{
	assert_true(is_bare("20mbit"));
	assert_true(is_bare("fq_codel"));
	assert_true(is_bare("10.0.0.0/8"));
	assert_false(is_bare("true"));
	assert_false(is_bare("5"));
	assert_false(is_bare("-5"));
	assert_false(is_bare("1e3"));
	assert_false(is_bare(""));
	assert_false(is_bare("a b"));
	assert_false(is_bare("{"));
	assert_false(is_bare("\033"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(control_characters),
		cmocka_unit_test(tables),
		cmocka_unit_test(tables_of_anything),
		cmocka_unit_test(trees),
		cmocka_unit_test(documents),
		cmocka_unit_test(changes),
		cmocka_unit_test(coloured),
		cmocka_unit_test(problems),
		cmocka_unit_test(receipts),
		cmocka_unit_test(bare_words_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
