// SPDX-License-Identifier: GPL-2.0-or-later
// The parent's end of the manager, against managers that this test plays itself (spawn_role starts the test again): what
// they are handed, how one that stands still or talks nonsense is replaced, and that none is waited for. And the
// dead-man timer, on a clock that is an argument.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/channel.h"
#include "io/clock.h"
#include "io/stats.h"
#include "mgmt/control.h"

// --- managers ----------------------------------------------------------------------------------------------------

enum { CHANNEL = 3 };

static bool expect(struct message *m, uint32_t type)
{
	return channel_wait(CHANNEL, m, clock_now() + 5 * NSEC_PER_SEC) == 1 && m->type == type;
}

// Checks all it is handed, and says what it thinks of it by its exit status.
static int good_manager(void)
{
	char seed[8] = "";
	struct sockaddr_in a;
	socklen_t len = sizeof a;
	struct message m;
	const struct mm_state *state;

	if (fcntl(4, F_GETFD) >= 0 || read(0, seed, 4) != 4 || strcmp(seed, "seed") != 0)
		return 11;
	if (!expect(&m, MM_STATS) || m.fd < 0 || (fcntl(m.fd, F_GETFL) & O_ACCMODE) != O_RDONLY || !stats_view(m.fd))
		return 12;
	if (!expect(&m, MM_LISTEN) || getsockname(m.fd, (struct sockaddr *)&a, &len) || a.sin_family != AF_INET)
		return 13;
	if (!expect(&m, MM_STATE) || !(state = msg_body(&m, MM_STATE, sizeof *state)) || state->revision != 5)
		return 14;
	while (channel_wait(CHANNEL, &m, clock_now() + 5 * NSEC_PER_SEC) == 1 && m.type != MM_STOP)
		if (m.type == MM_PING)
			channel_send(CHANNEL, MM_PONG, NULL, 0, -1, clock_now() + NSEC_PER_SEC);
	return m.type == MM_STOP ? 0 : 15;
}

static int manager(const char *kind)
{
	struct message m;

	if (strstr(kind, "good"))
		return good_manager();
	if (strstr(kind, "dies"))
		return 7;
	while (channel_wait(CHANNEL, &m, clock_now() + 5 * NSEC_PER_SEC) == 1 && m.type != MM_STATE)
		;
	if (strstr(kind, "nonsense"))
		channel_send(CHANNEL, MSG_MAX, NULL, 0, -1, clock_now() + NSEC_PER_SEC);
	sleep(30); // stands still
	return 0;
}

// --- a parent ----------------------------------------------------------------------------------------------------

static char dir[96], stats_path[128], seed_path[128];
static struct manager m;
static struct line line;
static struct control control;

static void open_manager(const char *kind)
{
	struct stats *s;
	int fd;

	snprintf(dir, sizeof dir, "/tmp/weir-manager-%d-%s", (int)getpid(), kind);
	snprintf(stats_path, sizeof stats_path, "%s.stats", dir);
	snprintf(seed_path, sizeof seed_path, "%s.seed", dir);
	fd = stats_create(stats_path, &s);
	assert_true(fd >= 0);
	close(fd);
	stats_unmap(s);
	fd = open(seed_path, O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(fd, "seed", 4), 4);
	close(fd);
	assert_true(manager_open(&m, dir, "127.0.0.1:0", seed_path, stats_path));
	line = (struct line){.engine = {.channel = -1}};
	control_init(&control, &line, &m);
}

static void close_manager(void)
{
	manager_close(&m);
	unlink(stats_path);
	unlink(seed_path);
	rmdir(dir);
}

// One turn of the parent's loop.
static void turn(void)
{
	struct pollfd fd[MANAGER_FDS];

	manager_poll(&m, fd);
	poll(fd, MANAGER_FDS, 5);
	if (fd[0].revents)
		control_serve(&control);
	manager_serve(&m, fd);
	manager_deadlines(&m, clock_now());
}

static bool turn_until(bool (*reached)(void), nsec_t limit)
{
	nsec_t end = clock_now() + limit;

	while (!reached() && time_before(clock_now(), end))
		turn();
	return reached();
}

static bool runs(void)
{
	return m.state == MANAGER_RUNNING;
}

static bool ended(void)
{
	return m.state == MANAGER_NONE;
}

static uint64_t generation_before;

static bool replaced(void)
{
	return m.state == MANAGER_RUNNING && m.generation > generation_before;
}

static void test_handed_over(void **state)
{
	struct stat st;

	open_manager("good");
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_true(geteuid() || st.st_uid); // not root's
	assert_true(turn_until(runs, NSEC_PER_SEC));
	manager_inform(&m, &(struct mm_state){.revision = 5});
	m.ping_at = clock_now(); // not in two seconds
	turn();
	assert_true(m.deadline != TIME_NEVER);
	for (int i = 0; i < 400 && m.deadline != TIME_NEVER; i++)
		turn();
	assert_true(m.deadline == TIME_NEVER); // PONG came
	assert_true(runs());
	manager_stop(&m);
	assert_true(turn_until(ended, 2 * NSEC_PER_SEC));
	assert_int_equal(m.quick_deaths, 0); // it was asked to
	assert_true(m.restart_at == TIME_NEVER);
	close_manager();
}

static void test_dead(void **state)
{
	nsec_t start;

	open_manager("good");
	assert_true(turn_until(runs, NSEC_PER_SEC));
	manager_inform(&m, &(struct mm_state){.revision = 5});
	generation_before = m.generation;
	start = clock_now();
	kill(m.pid, SIGKILL);
	assert_true(turn_until(replaced, NSEC_PER_SEC));
	assert_true(clock_now() - start < NSEC_PER_SEC);
	assert_false(m.informed);
	manager_stop(&m);
	assert_true(turn_until(ended, 5 * NSEC_PER_SEC));
	close_manager();
}

static void test_dies_again_and_again(void **state)
{
	nsec_t end = clock_now() + 2 * NSEC_PER_SEC;

	open_manager("dies");
	while (time_before(clock_now(), end))
		turn();
	assert_true(m.generation >= 6 && m.generation <= 10); // 5 at once, then 0.25 s, 0.5 s, 1 s
	m.restart_at = TIME_NEVER;
	assert_true(turn_until(ended, NSEC_PER_SEC));
	close_manager();
}

static void test_stands_still(void **state)
{
	open_manager("still");
	assert_true(turn_until(runs, NSEC_PER_SEC));
	manager_inform(&m, &(struct mm_state){0});
	generation_before = m.generation;
	m.ping_at = clock_now();
	turn();
	assert_true(m.deadline - clock_now() > 9 * NSEC_PER_SEC);
	m.deadline = clock_now(); // the ten seconds are over
	assert_true(turn_until(replaced, NSEC_PER_SEC));
	manager_stop(&m);
	m.deadline = clock_now() + 50 * NSEC_PER_MSEC; // it does not stop either
	assert_true(turn_until(ended, NSEC_PER_SEC));
	close_manager();
}

static void test_nonsense(void **state)
{
	open_manager("nonsense");
	assert_true(turn_until(runs, NSEC_PER_SEC));
	manager_inform(&m, &(struct mm_state){0});
	generation_before = m.generation;
	assert_true(turn_until(replaced, 2 * NSEC_PER_SEC));
	m.restart_at = TIME_NEVER;
	manager_kill(&m, "the test is over");
	m.restart_at = TIME_NEVER;
	for (int i = 0; i < 200 && !ended(); i++)
		turn();
	close_manager();
}

static void test_addresses(void **state)
{
	static const char *const bad[] = {
		"",      "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "localhost:80", ":80",           "1.2.3.4:99999",
		"[::1]", "::1:80",    "fd:",        "fd:0x",       "fd:99",        "127.0.0.1:80 ", "[::1:80"};
	char number[16];
	int fd;

	snprintf(dir, sizeof dir, "/tmp/weir-manager-%d", (int)getpid());
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (manager_open(&m, dir, bad[i], NULL, "x"))
			fail_msg("%s", bad[i]);
		manager_close(&m);
	}
	assert_true(manager_open(&m, dir, "[::1]:0", NULL, "x"));
	fd = fcntl(m.listener, F_DUPFD, 20);
	manager_close(&m);
	snprintf(number, sizeof number, "fd:%d", fd);
	assert_true(manager_open(&m, dir, number, NULL, "x")); // inherited
	assert_int_equal(m.listener, fd);
	manager_close(&m);
	rmdir(dir);
}

// --- the dead-man timer ------------------------------------------------------------------------------------------

static void test_deadman(void **state)
{
	struct deadman d = {0};
	struct config *c = config_new();

	assert_null(deadman_verdict(&d, 0));
	assert_true(deadman_due(&d) == TIME_NEVER);
	deadman_arm(&d, 7, 1000, c);
	assert_int_equal(deadman_due(&d), 1000);
	assert_null(deadman_verdict(&d, 999));
	assert_non_null(deadman_verdict(&d, 1000));
	deadman_death(&d);
	deadman_death(&d);
	assert_null(deadman_verdict(&d, 0));
	deadman_death(&d);
	assert_non_null(deadman_verdict(&d, 0));
	assert_ptr_equal(deadman_release(&d), c);
	assert_null(deadman_verdict(&d, 5000));
	deadman_arm(&d, 8, 1000, c);
	assert_null(deadman_verdict(&d, 0)); // deaths of others are not its own
	deadman_disarm(&d);
	assert_null(deadman_verdict(&d, 5000));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handed_over),
		cmocka_unit_test(test_dead),
		cmocka_unit_test(test_dies_again_and_again),
		cmocka_unit_test(test_stands_still),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_deadman),
	};

	if (argc > 2 && !strcmp(argv[1], "manager"))
		return manager(argv[2]);
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
