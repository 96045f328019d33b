// SPDX-License-Identifier: GPL-2.0-or-later
// Frame memory: shared by descriptor, refused in the wrong size, not resizable, not copied by fork, and an error rather
// than a fault when there is too little of it.
#include "io/umem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { FRAMES = 600, CHUNK = 2048 }; // not a whole number of huge pages

static void both_ends_see_the_same_memory(void **state)
{
	struct umem parent, engine;
	struct frames f;

	assert_int_equal(umem_create(&parent, FRAMES, CHUNK), 0);
	assert_int_equal(parent.bytes, FRAMES * CHUNK);
	assert_int_equal((uintptr_t)parent.base % 4096, 0);
	assert_int_equal(umem_map(&engine, dup(parent.fd), FRAMES, CHUNK, parent.huge), 0);
	assert_ptr_not_equal(engine.base, parent.base);
	assert_int_equal(umem_frames(&engine, &f), 0);
	assert_int_equal(f.count, FRAMES);
	assert_int_equal(1u << f.chunk_shift, CHUNK);
	assert_int_equal((uintptr_t)f.pkt % CACHE_LINE, 0);
	f.pkt[FRAMES - 1].data = 256;
	frame_data(&f, FRAMES - 1)[0] = 0x5a;
	assert_int_equal(parent.base[(size_t)(FRAMES - 1) * CHUNK + 256], 0x5a);
	for (uint32_t i = 0; i < FRAMES - 1; i++)
		assert_int_equal(f.pkt[i].len + f.pkt[i].data + f.pkt[i].next, 0);
	umem_frames_close(&f);
	umem_close(&engine);
	assert_int_equal(parent.base[(size_t)(FRAMES - 1) * CHUNK + 256], 0x5a);
	umem_close(&parent);
	umem_close(&parent); // harmless
}

static void every_page_is_there_from_the_start(void **state)
{
	struct umem u;
	unsigned char resident[FRAMES * CHUNK / 4096 + 1];

	assert_int_equal(umem_create(&u, FRAMES, CHUNK), 0);
	assert_int_equal(mincore(u.base, u.bytes, resident), 0);
	for (size_t k = 0; k < u.bytes / 4096; k++)
		assert_true(resident[k] & 1);
	umem_close(&u);
}

static void a_wrong_size_is_refused(void **state)
{
	struct umem u, v;

	assert_int_equal(umem_create(&u, FRAMES, CHUNK), 0);
	assert_int_equal(umem_map(&v, dup(u.fd), 2 * FRAMES + 1024, CHUNK, u.huge), -EINVAL);
	assert_int_equal(umem_map(&v, dup(u.fd), FRAMES, 3000, u.huge), -EINVAL);
	assert_int_equal(umem_map(&v, dup(u.fd), 0, CHUNK, u.huge), -EINVAL);
	assert_int_equal(umem_map(&v, open("/dev/null", O_RDWR), FRAMES, CHUNK, false), -EINVAL);
	assert_int_equal(v.fd, -1);
	umem_close(&u);
	assert_int_equal(umem_create(&u, FRAMES, 1024), -EINVAL);
	assert_int_equal(umem_create(&u, 1, CHUNK), -EINVAL);
}

static void nobody_can_resize_it(void **state)
{
	struct umem u;

	assert_int_equal(umem_create(&u, FRAMES, CHUNK), 0);
	assert_int_equal(ftruncate(u.fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(u.fd, 1 << 30), -1);
	umem_close(&u);
}

static void a_fork_does_not_have_it(void **state)
{
	struct umem u;
	int status;
	pid_t child;

	assert_int_equal(umem_create(&u, FRAMES, CHUNK), 0);
	child = fork();
	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		_exit(msync(u.base, 4096, MS_ASYNC) && errno == ENOMEM ? 7 : 1); // ENOMEM: nothing is mapped there
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	umem_close(&u);
}

static void too_much_is_an_error(void **state)
{
	struct umem u;

	assert_int_equal(umem_create(&u, UINT32_MAX, 4096), -ENOMEM); // 16 TiB
	assert_int_equal(u.fd, -1);
	assert_null(u.base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_see_the_same_memory), cmocka_unit_test(every_page_is_there_from_the_start),
		cmocka_unit_test(a_wrong_size_is_refused),       cmocka_unit_test(nobody_can_resize_it),
		cmocka_unit_test(a_fork_does_not_have_it),       cmocka_unit_test(too_much_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
