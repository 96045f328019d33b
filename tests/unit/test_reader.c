// SPDX-License-Identifier: GPL-2.0-or-later
// The reader, seen from the parent: files as people write them, files nobody should write, and children that lie.
// spawn_role starts this very test again; the environment says which child it is to be.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "mgmt/reader.c"

static char file[] = "/tmp/weir-test-reader-XXXXXX";

static const char document[] =
	"{\"system\":{\"workers\":[0]},\"ports\":{\"a\":{\"device\":\"x0\"},\"b\":{\"device\":\"x1\"}},"
	"\"bridges\":{\"br\":{\"ports\":[\"a\",\"b\"]}}}";

// --- children that lie -------------------------------------------------------------------------------------------

static void lie_problem(const char *text)
{
	struct problem p = {.level = PROBLEM_ERROR};

	memset(p.path, 'p', sizeof p.path); // without end
	snprintf(p.text, sizeof p.text, "%s", text);
	send_record(RECORD_PROBLEM, &p, sizeof p);
}

static int child(const char *kind)
{
	static const struct done fine;
	struct config *empty;

	if (!strcmp(kind, "honest"))
		return reader_main();
	if (!strcmp(kind, "dies"))
		raise(SIGKILL);
	if (!strcmp(kind, "fails"))
		return 3;
	if (!strcmp(kind, "silent"))
		return 0;
	if (!strcmp(kind, "noise"))
		return !write_all("\1\0\0\0\xff\xff\xff\xff noise", 14);
	if (!strcmp(kind, "garbage"))
		return !send_record(RECORD_CONFIG, "garbage", 7) || !send_record(RECORD_DONE, &fine, sizeof fine);
	if (!strcmp(kind, "nothing")) // neither a configuration nor a problem
		return !send_record(RECORD_DONE, &fine, sizeof fine);
	if (!strcmp(kind, "escape"))
		lie_problem("\033[2Jcleared");
	if (!strcmp(kind, "unchecked")) { // decodes, but is no sound configuration
		empty = config_new();
		bool sent = send_config(empty, &(struct problems){0});

		config_free(empty);
		if (!sent)
			return 1;
	}
	return !send_record(RECORD_DONE, &fine, sizeof fine);
}

// --- the parent's side -------------------------------------------------------------------------------------------

static void write_file(const char *text, size_t len)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
}

static struct config *read_as(const char *kind, struct problems *found)
{
	setenv("WEIR_TEST_CHILD", kind, 1);
	return read_config(file, true, found);
}

static void assert_refused(const char *kind, const char *sentence)
{
	struct problems found = {0};
	bool told = false;

	assert_null(read_as(kind, &found));
	assert_true(found.errors > 0);
	for (uint32_t i = 0; i < found.kept; i++)
		told |= strstr(found.list[i].text, sentence) != NULL;
	if (!told)
		fail_msg("%s: \"%s\" instead of \"%s\"", kind, found.list[0].text, sentence);
	problems_free(&found);
}

static void test_reads(void **state)
{
	struct problems found = {0};
	struct config *c;

	write_file(document, strlen(document));
	c = read_as("honest", &found);
	if (!c)
		fail_msg("%s: %s", found.list[0].path, found.list[0].text);
	assert_int_equal(c->ports, 2);
	assert_string_equal(c->port[1].device, "x1");
	assert_int_equal(c->bridge[0].ports, 2);
	config_free(c);
	problems_free(&found);
}

// Problems of the text, of the plan and of the machine come together.
static void test_all_at_once(void **state)
{
	static const char text[] =
		"{\"system\":{\"workers\":[0,1000]},\"ports\":{\"a\":{\"device\":\"weir-none-0\",\"rx_ring\":7}},"
		"\"what\":1,\"shapers\":{\"s\":{\"port\":\"a\",\"rate\":\"1mbit\",\"default\":\"k\","
		"\"classes\":{\"k\":{\"rt\":\"2mbit\"}}}}}";
	static const char *const places[] = {"/what", "/ports/a/rx_ring", "/ports/a/device", "/system/workers/1",
					     "/shapers/s/classes"};
	struct problems found = {0};

	write_file(text, strlen(text));
	setenv("WEIR_TEST_CHILD", "honest", 1);
	assert_null(read_config(file, false, &found));
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		bool told = false;

		for (uint32_t k = 0; k < found.kept; k++)
			told |= !strncmp(found.list[k].path, places[i], strlen(places[i]));
		if (!told)
			fail_msg("nothing is said about %s", places[i]);
	}
	problems_free(&found);
}

static void test_bad_files(void **state)
{
	write_file("{", 1);
	assert_refused("honest", "");
	write_file("", 0);
	assert_refused("honest", "");
	assert_int_equal(truncate(file, (off_t)CONFIG_FILE_MAX + 1), 0);
	assert_refused("honest", "bytes are too many");
	assert_int_equal(truncate(file, CONFIG_FILE_MAX), 0);
	assert_refused("honest", "");
	unlink(file);
	assert_refused("honest", "can't be opened");
	assert_int_equal(mkdir(file, 0700), 0);
	assert_refused("honest", "is a directory");
	rmdir(file);
}

static void test_lying_children(void **state)
{
	write_file(document, strlen(document));
	assert_refused("dies", "failed: signal");
	assert_refused("fails", "failed: exit status 3");
	assert_refused("silent", "no usable answer");
	assert_refused("noise", "no usable answer");
	assert_refused("garbage", "encoded configuration");
	assert_refused("nothing", "no usable answer");
	assert_refused("unchecked", "there is no port");
	assert_refused("escape", "?[2Jcleared");
}

// A file that never ends is given up after the deadline, not read for ever.
static void test_deadline(void **state)
{
	struct problems found = {0};
	struct reader *r;

	unlink(file);
	assert_int_equal(mkfifo(file, 0600), 0);
	int writer = open(file, O_RDWR | O_CLOEXEC); // keeps it open, writes nothing

	setenv("WEIR_TEST_CHILD", "honest", 1);
	r = reader_start(file, true, &found);
	assert_non_null(r);
	assert_false(reader_read(r));
	r->deadline = clock_now();
	assert_true(reader_read(r));
	pid_t pid = r->pid;

	assert_null(reader_finish(r, &found));
	assert_string_equal(found.list[0].text, "reading it took longer than 10 s");
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); // it was ended, and waited for
	close(writer);
	unlink(file);
	problems_free(&found);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),     cmocka_unit_test(test_all_at_once),
		cmocka_unit_test(test_bad_files), cmocka_unit_test(test_lying_children),
		cmocka_unit_test(test_deadline),
	};
	int fd, failed;

	if (argc > 1 && !strcmp(argv[1], "reader"))
		return child(getenv("WEIR_TEST_CHILD"));
	fd = mkstemp(file);
	if (fd < 0)
		return 1;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return failed;
}
