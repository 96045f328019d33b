// SPDX-License-Identifier: GPL-2.0-or-later
// Each role in a child of its own: what it needs works, what it must never do kills it.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/channel.h"
#include "io/clock.h"
#include "io/sandbox.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static int pair[2]; // a channel made before the sandbox

// Runs `work` in a child that entered `role`; returns its wait status.
static int in_role(enum sandbox_role role, int (*work)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (sandbox_limit(4ull << 30, 60) || sandbox_drop_privileges() || sandbox_enter(role))
			_exit(99);
		_exit(work());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_works(enum sandbox_role role, int (*work)(void))
{
	int status = in_role(role, work);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void assert_killed(enum sandbox_role role, int (*work)(void))
{
	int status = in_role(role, work);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int memory_works(void)
{
	static int numbers[10000];
	struct stat st;

	for (size_t n = 16; n <= 64 << 20; n *= 4) {
		uint8_t *p = malloc(n);

		if (!p)
			return 1;
		memset(p, 1, n);
		p = realloc(p, 2 * n);
		if (!p || p[n - 1] != 1)
			return 2;
		free(p);
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		numbers[i] = (int)(i * 7919 % ARRAY_LEN(numbers));
	qsort(numbers, ARRAY_LEN(numbers), sizeof numbers[0],
	      by_value); // the C library sorts large arrays in memory of its own
	return fstat(2, &st) || numbers[9999] != 9999 ? 3 : 0;
}

static int messages_work(void)
{
	struct message m;
	struct pollfd p = {.fd = pair[1], .events = POLLIN};

	if (channel_send(pair[0], 7, "x", 1, -1, clock_now() + NSEC_PER_SEC))
		return 1;
	if (poll(&p, 1, 1000) != 1 || channel_receive(pair[1], &m) != 1 || m.type != 7)
		return 2;
	prctl(PR_SET_NAME, "worker", 0, 0, 0);
	return usleep(1000) ? 3 : 0;
}

static int no_power_left(void)
{
	cap_t have = cap_get_proc(), none = cap_init();
	uid_t r, e, s;
	int differs = cap_compare(have, none);

	cap_free(have);
	cap_free(none);
	if (differs || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 1;
	if (cap_get_bound(CAP_SYS_ADMIN) > 0)
		return 2;
	if (getresuid(&r, &e, &s) || !r || !e || !s)
		return 3;
	return setuid(0) == 0 || open("/etc/shadow", O_RDONLY) >= 0 ? 4 : 0;
}

static int opens(void)
{
	open("/dev/null", O_RDONLY);
	return 0;
}

static int opens_socket(void)
{
	socket(AF_INET, SOCK_DGRAM, 0);
	return 0;
}

static int executes(void)
{
	execl("/bin/true", "true", (char *)NULL);
	return 0;
}

static int traces(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	return 0;
}

static int maps_code(void)
{
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return 0;
}

static int signals_others(void)
{
	kill(getppid(), 0);
	return 0;
}

static int forks(void)
{
	return fork() < 0;
}

static int aborts(void)
{
	abort();
}

static void *nothing(void *arg)
{
	return arg;
}

// What the manager lives on, after it gave up what it had.
static int manager_works(void)
{
	int ends[2], fd = open("file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	pthread_t t;

	if (fd < 0 || fcntl(fd, F_SETLK, &lock) || pwrite(fd, "x", 1, 0) != 1 || fsync(fd) || ftruncate(fd, 0))
		return 1;
	if (rename("file", "other") || unlink("other"))
		return 2;
	if (pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL))
		return 3;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || shutdown(ends[0], SHUT_WR))
		return 4;
	return messages_work();
}

static void *thread_opens(void *gate)
{
	char c;

	if (read(*(int *)gate, &c, 1) == 1)
		opens_socket();
	return NULL;
}

static void test_allowed(void **state)
{
	assert_works(SANDBOX_READER, memory_works);
	assert_works(SANDBOX_ENGINE, memory_works);
	assert_works(SANDBOX_ENGINE, messages_work);
	assert_works(SANDBOX_MANAGER, memory_works);
}

static void test_manager(void **state)
{
	char dir[] = "/tmp/weir-sandbox-XXXXXX";

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(chdir(dir), 0);
	assert_works(SANDBOX_MANAGER, manager_works);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_killed(SANDBOX_MANAGER, opens_socket);
	assert_killed(SANDBOX_MANAGER, executes);
	if (SANITIZED)
		return;
	assert_killed(SANDBOX_MANAGER, traces);
	assert_killed(SANDBOX_MANAGER, maps_code);
	assert_killed(SANDBOX_MANAGER, signals_others);
	assert_killed(SANDBOX_MANAGER, forks);
}

// Of all files it sees those of its directory, and it is the directory's owner.
static void test_confined(void **state)
{
	char dir[] = "/tmp/weir-sandbox-XXXXXX";
	const char *root;
	pid_t pid;
	int status;

	if (geteuid())
		skip();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(sandbox_confine(dir, &root), -EPERM); // it is root's
	assert_int_equal(chown(dir, 12345, 54321), 0);
	pid = fork();
	if (!pid) {
		if (sandbox_confine(dir, &root) || strcmp(root, "/") != 0)
			_exit(1);
		if (geteuid() != 12345 || getegid() != 54321 || access("/etc/passwd", F_OK) == 0)
			_exit(2);
		if (open("/file", O_WRONLY | O_CREAT, 0600) < 0 || unlink("/../file"))
			_exit(3);
		_exit(no_power_left());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void test_forbidden_always(void **state)
{
	static int (*const work[])(void) = {opens_socket, executes};

	for (size_t i = 0; i < ARRAY_LEN(work); i++) {
		assert_killed(SANDBOX_READER, work[i]);
		assert_killed(SANDBOX_ENGINE, work[i]);
	}
}

static void test_forbidden(void **state)
{
	static int (*const work[])(void) = {opens, traces, maps_code, signals_others, forks};

	if (SANITIZED)
		skip(); // the sanitizer's own runtime does these
	for (size_t i = 0; i < ARRAY_LEN(work); i++) {
		assert_killed(SANDBOX_READER, work[i]);
		assert_killed(SANDBOX_ENGINE, work[i]);
	}
	assert_killed(SANDBOX_READER, messages_work);
}

static void test_abort_is_seen(void **state)
{
	int status = in_role(SANDBOX_ENGINE, aborts);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void test_privileges(void **state)
{
	pid_t pid;
	int status;

	if (geteuid())
		skip();
	pid = fork();
	if (!pid)
		_exit(sandbox_drop_privileges() ? 99 : no_power_left());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_limits(void **state)
{
	pid_t pid;
	int status;

	if (SANITIZED)
		skip(); // address space is not bounded there
	pid = fork();
	if (!pid) {
		struct rlimit core;

		if (sandbox_limit(256 << 20, 5) || getrlimit(RLIMIT_CORE, &core) || core.rlim_max)
			_exit(1);
		_exit(malloc(512u << 20) ? 2 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

// The filter reaches threads that exist already.
static void test_threads(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int gate[2];
		pthread_t t;

		if (pipe(gate) || pthread_create(&t, NULL, thread_opens, &gate[0]))
			_exit(97);
		if (sandbox_drop_privileges() || sandbox_enter(SANDBOX_ENGINE))
			_exit(98);
		if (write(gate[1], "", 1) != 1)
			_exit(99);
		pthread_join(t, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allowed),    cmocka_unit_test(test_forbidden_always),
		cmocka_unit_test(test_forbidden),  cmocka_unit_test(test_abort_is_seen),
		cmocka_unit_test(test_privileges), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_threads),    cmocka_unit_test(test_manager),
		cmocka_unit_test(test_confined),
	};

	if (channel_pair(pair))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
