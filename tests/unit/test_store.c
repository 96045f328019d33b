// SPDX-License-Identifier: GPL-2.0-or-later
// The store on a disk that fails. A VFS below SQLite keeps what was written in memory until it is synced, as a disk's cache
// does, and at the n-th operation reports a full disk, an I/O error, or loses power. For every n in a sequence of
// changes: what was reported as done is there afterwards, what was not is there whole or not at all, and the newest
// confirmed revision has its document.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "mgmt/store_db.h"

// --- a disk ------------------------------------------------------------------------------------------------------

enum fault { FAULT_NONE, FAULT_FULL, FAULT_IO, FAULT_POWER };

static struct {
	enum fault fault;
	int at; // the operation at which it begins; it lasts
	int done;
} disk;

static int operation(int io_error)
{
	if (disk.fault == FAULT_NONE || ++disk.done < disk.at)
		return SQLITE_OK;
	if (disk.fault == FAULT_POWER)
		_exit(0);
	return disk.fault == FAULT_FULL && io_error == SQLITE_IOERR_WRITE ? SQLITE_FULL : io_error;
}

struct file {
	sqlite3_file base;
	sqlite3_file *real;
	uint8_t *image; // as programs see it
	sqlite3_int64 size;
};

static int file_sync(sqlite3_file *f, int flags)
{
	struct file *me = (struct file *)f;
	int rc = operation(SQLITE_IOERR_FSYNC);

	if (!rc)
		rc = me->real->pMethods->xTruncate(me->real, me->size);
	if (!rc && me->size)
		rc = me->real->pMethods->xWrite(me->real, me->image, (int)me->size, 0);
	return rc ? rc : me->real->pMethods->xSync(me->real, flags);
}

static int file_close(sqlite3_file *f)
{
	struct file *me = (struct file *)f;
	int rc = me->real->pMethods->xClose(me->real);

	free(me->image);
	free(me->real);
	return rc;
}

static int file_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	struct file *me = (struct file *)f;
	sqlite3_int64 have = at < me->size ? me->size - at : 0;

	if (have >= n) {
		memcpy(to, me->image + at, (size_t)n);
		return SQLITE_OK;
	}
	memset(to, 0, (size_t)n);
	if (have)
		memcpy(to, me->image + at, (size_t)have);
	return SQLITE_IOERR_SHORT_READ;
}

static void resize(struct file *me, sqlite3_int64 size)
{
	me->image = realloc(me->image, (size_t)size + 1);
	if (size > me->size)
		memset(me->image + me->size, 0, (size_t)(size - me->size));
	me->size = size;
}

static int file_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	struct file *me = (struct file *)f;
	int rc = operation(SQLITE_IOERR_WRITE);

	if (rc)
		return rc;
	if (at + n > me->size)
		resize(me, at + n);
	memcpy(me->image + at, from, (size_t)n);
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = operation(SQLITE_IOERR_TRUNCATE);

	if (!rc)
		resize((struct file *)f, size);
	return rc;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *size)
{
	*size = ((struct file *)f)->size;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *f, int level)
{
	struct file *me = (struct file *)f;

	return me->real->pMethods->xLock(me->real, level);
}

static int file_unlock(sqlite3_file *f, int level)
{
	struct file *me = (struct file *)f;

	return me->real->pMethods->xUnlock(me->real, level);
}

static int file_reserved(sqlite3_file *f, int *out)
{
	struct file *me = (struct file *)f;

	return me->real->pMethods->xCheckReservedLock(me->real, out);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *f)
{
	return 4096;
}

static int file_traits(sqlite3_file *f)
{
	return 0;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_traits,
};

static sqlite3_vfs *real_vfs, bad_vfs;

static int vfs_open(sqlite3_vfs *v, sqlite3_filename name, sqlite3_file *f, int flags, int *out)
{
	struct file *me = (struct file *)f;
	sqlite3_int64 size;
	int rc;

	*me = (struct file){.real = calloc(1, (size_t)real_vfs->szOsFile)};
	rc = real_vfs->xOpen(real_vfs, name, me->real, flags, out);
	if (!rc)
		rc = me->real->pMethods->xFileSize(me->real, &size);
	if (rc) {
		free(me->real);
		return rc;
	}
	resize(me, size);
	if (size)
		rc = me->real->pMethods->xRead(me->real, me->image, (int)size, 0);
	me->base.pMethods = &methods;
	return rc;
}

static int vfs_delete(sqlite3_vfs *v, const char *name, int sync)
{
	int rc = operation(SQLITE_IOERR_DELETE);

	return rc ? rc : real_vfs->xDelete(real_vfs, name, sync);
}

static void use_bad_disk(enum fault fault, int at)
{
	real_vfs = sqlite3_vfs_find(NULL);
	bad_vfs = *real_vfs;
	bad_vfs.zName = "bad";
	bad_vfs.szOsFile = sizeof(struct file);
	bad_vfs.xOpen = vfs_open;
	bad_vfs.xDelete = vfs_delete;
	sqlite3_vfs_register(&bad_vfs, 1);
	disk.fault = fault;
	disk.at = at;
	disk.done = 0;
}

// --- a place to work in ------------------------------------------------------------------------------------------

static char dir[64];

static int make_dir(void **state)
{
	strcpy(dir, "/tmp/weir-store-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static struct store *open_store(void)
{
	struct problems found = {0};
	struct store *s = store_open(dir, &found);

	if (found.kept)
		print_message("%s\n", found.list[0].text);
	problems_free(&found);
	assert_non_null(s);
	return s;
}

static int64_t add(struct store *s, const char *document, struct problems *out)
{
	return store_add(s, 0, document, "ann", "test", "why", "what", 0, out);
}

// --- revisions ---------------------------------------------------------------------------------------------------

static void test_revisions(void **state)
{
	struct store *s = open_store();
	struct revision_row row, list[4];
	char *document;

	assert_int_equal(store_newest(s, REVISION_CONFIRMED), 0);
	assert_null(store_document(s, 1));
	assert_false(store_get(s, 1, &row));
	assert_int_equal(add(s, "{\"a\":1}", NULL), 1);
	assert_int_equal(store_add(s, 1, "{\"b\":2}", "bob", "api", "", "1 change", 60, NULL), 2);
	assert_true(store_get(s, 2, &row));
	assert_int_equal(row.parent, 1);
	assert_int_equal(row.state, REVISION_STORED);
	assert_int_equal(row.confirm_s, 60);
	assert_true(row.created_s > 1600000000);
	assert_string_equal(row.author, "bob");
	assert_string_equal(row.source, "api");
	assert_string_equal(row.summary, "1 change");
	assert_true(store_set_state(s, 1, REVISION_CONFIRMED, NULL));
	assert_true(store_set_state(s, 2, REVISION_PENDING, NULL));
	assert_int_equal(store_newest(s, REVISION_CONFIRMED), 1);
	assert_int_equal(store_newest(s, REVISION_PENDING), 2);
	assert_false(store_set_state(s, 3, REVISION_CONFIRMED, NULL));
	store_close(s);
	s = open_store();
	document = store_document(s, 2);
	assert_string_equal(document, "{\"b\":2}");
	free(document);
	assert_int_equal(store_list(s, 0, list, 4), 2);
	assert_int_equal(list[0].id, 2);
	assert_int_equal(store_list(s, 2, list, 4), 1);
	assert_int_equal(list[0].id, 1);
	// a parent that isn't there is a mistake of ours, and no row
	assert_int_equal(store_add(s, 99, "{}", "", "", "", "", 0, NULL), -1);
	store_close(s);
}

// Nothing in the program can change what was decided, not even by mistake.
static void test_append_only(void **state)
{
	struct store *s = open_store();

	add(s, "{}", NULL);
	assert_int_not_equal(sqlite3_exec(s->db, "UPDATE revision SET document = '[]'", NULL, NULL, NULL), SQLITE_OK);
	assert_int_not_equal(sqlite3_exec(s->db, "UPDATE revision SET author = 'eve'", NULL, NULL, NULL), SQLITE_OK);
	assert_int_not_equal(sqlite3_exec(s->db, "DELETE FROM revision", NULL, NULL, NULL), SQLITE_OK);
	assert_int_not_equal(sqlite3_exec(s->db, "UPDATE revision SET state = 5", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(s->db, "UPDATE revision SET state = 4", NULL, NULL, NULL), SQLITE_OK);
	store_close(s);
}

static void test_one_at_a_time(void **state)
{
	struct store *s = open_store();
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct problems found = {0};

		_exit(store_open(dir, &found) ? 1 : found.errors ? 0 : 2); // waits busy_timeout for the lock
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	store_close(s);
}

// --- access ------------------------------------------------------------------------------------------------------

static void test_access(void **state)
{
	struct store *s = open_store();
	struct user_row u = {.name = "ann", .hash = "scrypt$1", .role = 3}, users[4];
	struct token_row t = {.name = "script", .role = 2, .created_s = 5, .used_s = 6}, tokens[4];
	struct session_row r = {.user = "ann", .csrf = "c", .created_s = 100, .used_s = 100}, got;
	uint8_t one[32] = {1}, two[32] = {2};

	assert_false(store_user_get(s, "ann", &users[0]));
	assert_true(store_user_put(s, &u, NULL));
	assert_true(store_session_put(s, &r, one));
	strcpy(u.hash, "scrypt$2");
	assert_true(store_user_put(s, &u, NULL));
	assert_int_equal(store_users(s, users, 4), 1);
	assert_string_equal(users[0].hash, "scrypt$2");
	assert_int_equal(users[0].role, 3);
	assert_true(store_session_get(s, one, &got)); // a new password does not end it here
	r.used_s = 200;
	assert_true(store_session_put(s, &r, one));
	assert_true(store_session_get(s, one, &got));
	assert_int_equal(got.used_s, 200);
	assert_int_equal(got.created_s, 100);
	assert_string_equal(got.csrf, "c");
	assert_false(store_session_get(s, two, &got));
	store_sessions_expire(s, 150, 50);
	assert_true(store_session_get(s, one, &got));
	store_sessions_expire(s, 150, 101);
	assert_false(store_session_get(s, one, &got));
	assert_true(store_session_put(s, &r, two));
	assert_true(store_user_delete(s, "ann", NULL));
	assert_false(store_session_get(s, two, &got)); // goes with its user
	assert_false(store_session_put(s, &r, two));

	assert_true(store_token_put(s, &t, one, NULL));
	assert_int_equal(t.id, 1);
	t.used_s = 9;
	assert_true(store_token_put(s, &t, one, NULL));
	assert_int_equal(t.id, 1);
	assert_true(store_token_put(s, &t, two, NULL));
	assert_true(t.id > 1);
	assert_int_equal(store_tokens(s, tokens, 4), 2);
	assert_true(store_token_get(s, one, &t));
	assert_int_equal(t.used_s, 9);
	assert_true(store_token_delete(s, 1, NULL));
	assert_false(store_token_get(s, one, &t));
	store_close(s);
}

static void test_audit(void **state)
{
	struct store *s = open_store();
	struct audit_row r = {.time_s = 7, .who = "ann", .from = "::1", .what = "PUT", .status = 200}, list[3];

	for (int i = 0; i < 5; i++, r.status++)
		store_audit(s, &r);
	assert_int_equal(store_audit_list(s, list, 3), 3);
	assert_int_equal(list[0].id, 5);
	assert_int_equal(list[0].status, 204);
	assert_string_equal(list[2].from, "::1");
	store_close(s);
}

// --- damage ------------------------------------------------------------------------------------------------------

static void path_of(const char *name, char *path)
{
	snprintf(path, 128, "%s/%s", dir, name);
}

static void spoil(const char *name, long at)
{
	static uint8_t noise[1 << 16];
	char path[128];
	int fd;

	path_of(name, path);
	memset(noise, 0xa5, sizeof noise);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, noise, sizeof noise, at), sizeof noise);
	close(fd);
}

static void test_damage(void **state)
{
	static const long places[] = {0, 100, 4096, 8192};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct problems found = {0};
		struct store *s;
		char *document;

		make_dir(NULL);
		s = open_store();
		add(s, "{\"good\":1}", NULL);
		store_set_state(s, 1, REVISION_CONFIRMED, NULL);
		add(s, "{\"newer\":1}", NULL);
		store_close(s);
		spoil("weir.db", places[i]);
		s = store_open(dir, &found);
		assert_non_null(s);
		assert_int_equal(found.warnings, 1);
		assert_int_equal(found.errors, 0);
		print_message("%s\n", found.list[0].text);
		problems_free(&found);
		assert_int_equal(store_newest(s, REVISION_CONFIRMED), 1);
		document = store_document(s, 1);
		assert_string_equal(document, "{\"good\":1}");
		free(document);
		store_close(s);
		s = open_store(); // and stays good
		assert_int_equal(store_newest(s, REVISION_CONFIRMED), 1);
		store_close(s);
		remove_dir(NULL);
	}
	make_dir(NULL);
}

static void test_newer_version(void **state)
{
	struct problems found = {0};
	struct store *s = open_store();

	assert_int_equal(sqlite3_exec(s->db, "INSERT INTO migration VALUES (99, 0)", NULL, NULL, NULL), SQLITE_OK);
	store_close(s);
	assert_null(store_open(dir, &found));
	assert_int_equal(found.errors, 1);
	assert_non_null(strstr(found.list[0].text, "newer"));
	problems_free(&found);
}

static void test_no_directory(void **state)
{
	struct problems found = {0};

	assert_null(store_open("/nonexistent/weir", &found));
	assert_int_equal(found.errors, 1);
	problems_free(&found);
}

// --- a disk that fails -------------------------------------------------------------------------------------------

enum { STEPS = 6 };

// The sequence, in a process of its own that just ends. Each step that was reported as done is a byte in the pipe.
static void change_things(int report)
{
	struct store *s = store_open(dir, NULL);

	if (!s)
		_exit(0);
	for (int step = 0; step < STEPS; step++) {
		struct problems found = {0};
		bool good = false;

		switch (step) {
		case 0: // a final change
			good = store_add(s, 1, "{\"n\":2}", "", "", "", "", 0, &found) == 2;
			break;
		case 1:
			good = store_set_state(s, 2, REVISION_CONFIRMED, &found);
			break;
		case 2: // one that is taken back
			good = store_add(s, 2, "{\"n\":3}", "", "", "", "", 60, &found) == 3;
			break;
		case 3:
			good = store_set_state(s, 3, REVISION_PENDING, &found);
			break;
		case 4:
			good = store_set_state(s, 3, REVISION_REVERTED, &found);
			break;
		case 5:
			good = store_user_put(s, &(struct user_row){.name = "u", .hash = "h"}, &found);
			break;
		}
		if (!good && !found.errors)
			_exit(3); // a failure says why
		problems_free(&found);
		if (!good)
			_exit(0); // a later step builds on this one
		if (write(report, "", 1) != 1)
			_exit(4);
	}
	_exit(7); // the fault came too late to be felt
}

static void check_document(struct store *s, int64_t id)
{
	char expected[32], *document = store_document(s, id);

	snprintf(expected, sizeof expected, "{\"n\":%d}", (int)id);
	assert_non_null(document);
	assert_string_equal(document, expected);
	free(document);
}

static void check_last_good(int64_t newest)
{
	char path[128], text[64] = "", expected[32];
	FILE *f;

	path_of("last-good.json", path);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof text - 1, f) > 0);
	fclose(f);
	// it may be one behind: it is written after the database
	snprintf(expected, sizeof expected, "{\"n\":%d}", (int)newest);
	if (strcmp(text, expected) != 0)
		assert_string_equal(text, "{\"n\":1}");
}

static void check_result(int steps)
{
	struct store *s = open_store();
	struct revision_row row;
	struct user_row u;
	int64_t newest = store_newest(s, REVISION_CONFIRMED);

	assert_true(newest == 1 || newest == 2);
	if (steps >= 2)
		assert_int_equal(newest, 2); // what was reported is there
	if (steps < 1)
		assert_int_equal(newest, 1); // what was not even stored can't be in force
	check_document(s, newest);
	check_last_good(newest);
	for (int64_t id = 2; id <= 3; id++)
		if (store_get(s, id, &row))
			check_document(s, id);
	if (steps >= 3)
		assert_true(store_get(s, 3, &row));
	if (steps >= 4)
		assert_true(store_get(s, 3, &row) && (row.state == REVISION_PENDING || row.state == REVISION_REVERTED));
	if (steps >= 5)
		assert_true(store_get(s, 3, &row) && row.state == REVISION_REVERTED);
	if (steps >= 6)
		assert_true(store_user_get(s, "u", &u));
	assert_true(add(s, "{}", NULL) > 0); // and it works on
	store_close(s);
}

static int try_fault(enum fault fault, int at)
{
	int ends[2], status, steps = 0;
	struct store *s;
	pid_t pid;
	char c;

	make_dir(NULL);
	s = open_store();
	add(s, "{\"n\":1}", NULL);
	store_set_state(s, 1, REVISION_CONFIRMED, NULL);
	store_close(s);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		close(ends[0]);
		use_bad_disk(fault, at);
		change_things(ends[1]);
	}
	close(ends[1]);
	while (read(ends[0], &c, 1) == 1)
		steps++;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 7);
	check_result(steps);
	remove_dir(NULL);
	return WEXITSTATUS(status);
}

static void test_faults(void **state)
{
	static const char *const names[] = {"", "disk full", "I/O error", "power loss"};

	for (enum fault fault = FAULT_FULL; fault <= FAULT_POWER; fault++) {
		int at = 1;

		while (try_fault(fault, at) != 7)
			at++;
		print_message("%s: at each of %d operations\n", names[fault], at - 1);
		assert_true(at > 10);
	}
	make_dir(NULL);
}

// A full disk at the very first start says so, and leaves nothing that would be in the way later.
static void test_first_open(void **state)
{
	for (int at = 1; at < 12; at++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			struct problems found = {0};

			use_bad_disk(FAULT_FULL, at);
			_exit(store_open(dir, &found) || found.errors ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		store_close(open_store());
		remove_dir(NULL);
		make_dir(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_revisions, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_append_only, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_one_at_a_time, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_access, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_audit, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_damage, NULL, remove_dir),
		cmocka_unit_test_setup_teardown(test_newer_version, make_dir, remove_dir),
		cmocka_unit_test(test_no_directory),
		cmocka_unit_test_setup_teardown(test_faults, NULL, remove_dir),
		cmocka_unit_test_setup_teardown(test_first_open, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
