// SPDX-License-Identifier: GPL-2.0-or-later
// Channels: descriptors travel, deadlines hold, and whatever a hostile peer puts into a datagram, no descriptor leaks.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/channel.h"
#include "io/clock.h"

static int end[2];

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int make(void **state)
{
	return channel_pair(end);
}

static int destroy(void **state)
{
	for (int i = 0; i < 2; i++)
		if (end[i] >= 0)
			close(end[i]);
	return 0;
}

static nsec_t soon(void)
{
	return clock_now() + 50 * NSEC_PER_MSEC;
}

// Sends `n` bytes with `fds` descriptors (of /dev/null), as no honest peer would.
static void send_raw(const void *data, size_t n, int fds)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(16 * sizeof(int))] = {0};
	uint8_t bytes[2 * MSG_MAX] = {0};
	struct iovec iov = {bytes, n};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	int fd[16];

	memcpy(bytes, data, n < MSG_MAX ? n : MSG_MAX);
	for (int i = 0; i < fds; i++)
		assert_true((fd[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
	if (fds) {
		h.msg_control = control;
		h.msg_controllen = CMSG_SPACE((size_t)fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&h);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)fds * sizeof(int));
		memcpy(CMSG_DATA(c), fd, (size_t)fds * sizeof(int));
	}
	assert_int_equal(sendmsg(end[0], &h, 0), n);
	for (int i = 0; i < fds; i++)
		close(fd[i]);
}

static void test_message(void **state)
{
	struct message m;

	assert_int_equal(channel_receive(end[1], &m), 0);
	assert_int_equal(channel_send(end[0], 9, "hello", 6, -1, soon()), 0);
	assert_int_equal(channel_send(end[0], 10, NULL, 0, -1, soon()), 0);
	assert_int_equal(channel_receive(end[1], &m), 1);
	assert_int_equal(m.type, 9);
	assert_string_equal((const char *)msg_body(&m, 9, 6), "hello");
	assert_int_equal(m.fd, -1);
	assert_int_equal(channel_wait(end[1], &m, soon()), 1);
	assert_int_equal(m.type, 10);
	assert_int_equal(channel_send(end[0], 1, end, MSG_BODY_MAX + 1, -1, soon()), -EMSGSIZE);
}

static void test_descriptor(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct stat a, b;
	struct message m;

	assert_int_equal(channel_send(end[0], 1, "x", 1, fd, soon()), 0);
	assert_int_equal(fstat(fd, &a), 0);
	close(fd);
	assert_int_equal(channel_receive(end[1], &m), 1);
	assert_true(m.fd >= 0);
	assert_int_equal(fstat(m.fd, &b), 0);
	assert_int_equal(a.st_rdev, b.st_rdev);
	assert_int_equal(fcntl(m.fd, F_GETFD), FD_CLOEXEC);
	close(m.fd);
}

static void test_hostile(void **state)
{
	uint8_t good[MSG_MAX], longest[MSG_MAX], body[MSG_BODY_MAX] = {0};
	size_t n = msg_pack(good, 1, "body", 4);
	int before = open_fds();
	struct message m;

	for (int fds = 0; fds <= 16; fds++) {
		send_raw(good, n, fds);
		int rc = channel_receive(end[1], &m);

		assert_int_equal(rc, fds <= 1 ? 1 : -EBADMSG);
		if (m.fd >= 0)
			close(m.fd);
		send_raw("damaged", 7, fds);
		assert_int_equal(channel_receive(end[1], &m), -EBADMSG);
		assert_int_equal(m.fd, -1);
		msg_pack(longest, 1, body, sizeof body);
		send_raw(longest, MSG_MAX + 1, fds); // truncated on receipt, to what would be a message
		assert_int_equal(channel_receive(end[1], &m), -EBADMSG);
		assert_int_equal(open_fds(), before);
	}
	send_raw(good, n, 0);
	assert_int_equal(channel_receive(end[1], &m), 1); // and the channel lives on
}

static void test_gone(void **state)
{
	struct message m;

	assert_int_equal(channel_send(end[0], 1, NULL, 0, -1, soon()), 0);
	close(end[0]);
	end[0] = -1;
	assert_int_equal(channel_receive(end[1], &m), 1); // what was sent before is still delivered
	assert_int_equal(channel_receive(end[1], &m), -EPIPE);
	assert_int_equal(channel_wait(end[1], &m, soon()), -EPIPE);
	assert_int_equal(channel_send(end[1], 1, NULL, 0, -1, soon()), -EPIPE);
}

static void test_deadlines(void **state)
{
	uint8_t body[MSG_BODY_MAX] = {0};
	struct message m;
	nsec_t start = clock_now();
	int rc, sent = 0;

	assert_int_equal(channel_wait(end[1], &m, soon()), -ETIMEDOUT);
	assert_true(clock_now() - start >= 50 * NSEC_PER_MSEC);
	while (!(rc = channel_send(end[0], 2, body, sizeof body, -1, soon())))
		assert_true(++sent < 100000);
	assert_int_equal(rc, -ETIMEDOUT);
	for (int i = 0; i < sent; i++) {
		assert_int_equal(channel_receive(end[1], &m), 1);
		assert_int_equal(m.len, sizeof body);
	}
	assert_int_equal(channel_receive(end[1], &m), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_message, make, destroy),
		cmocka_unit_test_setup_teardown(test_descriptor, make, destroy),
		cmocka_unit_test_setup_teardown(test_hostile, make, destroy),
		cmocka_unit_test_setup_teardown(test_gone, make, destroy),
		cmocka_unit_test_setup_teardown(test_deadlines, make, destroy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
