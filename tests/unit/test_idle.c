// SPDX-License-Identifier: GPL-2.0-or-later
// Sleeping: nothing that happened before, while or after falling asleep is missed, and the ring can only poll.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
// cmocka wants the three above first
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/idle.c" // to submit to its ring

#define SECOND NSEC_PER_SEC

static void a_timeout_ends_a_sleep(void **state)
{
	struct idle *i = idle_new(NULL, 0);
	nsec_t before = clock_now();

	assert_non_null(i);
	print_message("sleeping in %s\n", idle_kind(i));
	assert_false(idle_wait(i, 20 * NSEC_PER_MSEC));
	assert_true(clock_now() - before >= 19 * NSEC_PER_MSEC);
	idle_free(i);
}

static void what_came_before_is_seen(void **state)
{
	int pipes[2];
	char c;
	struct idle *i;

	assert_int_equal(pipe(pipes), 0);
	i = idle_new(&pipes[0], 1);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	assert_true(idle_wait(i, SECOND)); // there already
	assert_true(idle_wait(i, SECOND)); // and still there
	assert_int_equal(read(pipes[0], &c, 1), 1);
	idle_wait(i, 0); // an old completion may still be waiting
	assert_false(idle_wait(i, 10 * NSEC_PER_MSEC));
	idle_wake(i);
	assert_true(idle_wait(i, SECOND));
	assert_false(idle_wait(i, 10 * NSEC_PER_MSEC));
	idle_free(i);
	close(pipes[0]);
	close(pipes[1]);
}

static void *wake_many(void *arg)
{
	for (int k = 0; k < 2000; k++)
		idle_wake(arg);
	return NULL;
}

static void wakes_from_another_thread(void **state)
{
	struct idle *i = idle_new(NULL, 0);
	pthread_t t;

	for (int round = 0; round < 20; round++) {
		pthread_create(&t, NULL, wake_many, i);
		assert_true(idle_wait(i, 5 * SECOND));
		pthread_join(t, NULL);
		idle_wait(i, 0);
	}
	idle_free(i);
}

static void the_ring_refuses_all_but_polling(void **state)
{
	struct idle *i = idle_new(NULL, 0);
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;

	if (!i->uring) {
		idle_free(i);
		skip();
	}
	sqe = io_uring_get_sqe(&i->ring);
	io_uring_prep_openat(sqe, AT_FDCWD, "/", O_RDONLY, 0);
	io_uring_submit(&i->ring);
	assert_int_equal(io_uring_wait_cqe(&i->ring, &cqe), 0);
	assert_int_equal(cqe->res, -EACCES);
	idle_free(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timeout_ends_a_sleep),
		cmocka_unit_test(what_came_before_is_seen),
		cmocka_unit_test(wakes_from_another_thread),
		cmocka_unit_test(the_ring_refuses_all_but_polling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
