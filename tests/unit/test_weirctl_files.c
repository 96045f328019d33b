// SPDX-License-Identifier: GPL-2.0-or-later
// What weirctl keeps: logins and candidates by server, unreadable for others, refused when they are not what they should be.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "mgmt/weirctl_files.c"

static char folder[] = "/tmp/test_weirctl_files.XXXXXX";
static const char one[] = "https://one:8443", two[] = "https://[::1]:8443";

static int setup(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	return setenv("XDG_CONFIG_HOME", folder, 1);
}

static int teardown(void **state)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "%s/weir", folder);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && unlinkat(dirfd(d), e->d_name, 0))
			return -1;
	if (d)
		closedir(d);
	return rmdir(path) || rmdir(folder);
}

static void in_folder(const char *name, char *buf)
{
	snprintf(buf, PATH_MAX, "%s/weir/%s", folder, name);
}

static unsigned files(void)
{
	char path[PATH_MAX];
	struct dirent *e;
	unsigned n = 0;
	DIR *d;

	in_folder("", path);
	d = opendir(path);
	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void logins(void **state)
{
	char why[FILES_WHY], path[PATH_MAX];
	json_t *none = credentials_load(one, why), *a = json_pack("{s:s}", "token", "A"),
	       *b = json_pack("{s:s}", "token", "B");
	json_t *got;
	struct stat st;

	assert_int_equal(json_object_size(none), 0);
	assert_true(credentials_save(one, a, why));
	assert_true(credentials_save(two, b, why));
	got = credentials_load(one, why);
	assert_true(json_equal(got, a));
	json_decref(got);
	assert_true(credentials_save(one, NULL, why));
	got = credentials_load(one, why);
	assert_int_equal(json_object_size(got), 0);
	json_decref(got);
	got = credentials_load(two, why);
	assert_true(json_equal(got, b));
	json_decref(got);

	in_folder("credentials", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	in_folder("", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	json_decref(none);
	json_decref(a);
	json_decref(b);
}

static void readable_logins_are_refused(void **state)
{
	char why[FILES_WHY], path[PATH_MAX];
	json_t *login;

	in_folder("credentials", path);
	assert_int_equal(chmod(path, 0640), 0);
	assert_null(credentials_load(two, why));
	assert_non_null(strstr(why, "others may read it"));
	assert_int_equal(chmod(path, 0600), 0);
	login = credentials_load(two, why);
	assert_non_null(login);
	json_decref(login);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void broken_files_are_refused(void **state)
{
	static const char *const all[] = {"",
					  "[]",
					  "{",
					  "{\"base\":\"1\"}",
					  "{\"base\":1,\"document\":{},\"original\":{}}",
					  "{\"base\":\"1\",\"document\":[],\"original\":{}}"};
	char why[FILES_WHY], path[PATH_MAX];
	struct candidate c;

	in_folder("candidate-one:8443", path);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		write_file(path, all[i]);
		why[0] = '\0';
		assert_int_equal(candidate_load(one, &c, why), CANDIDATE_BROKEN);
		assert_non_null(strstr(why, path));
	}
	assert_true(candidate_drop(one, why));
}

static void candidates(void **state)
{
	char why[FILES_WHY];
	struct candidate c, again;
	unsigned before = files();

	assert_int_equal(candidate_load(one, &c, why), CANDIDATE_NONE);
	strcpy(c.base, "rev-7");
	strcpy(c.started, "2030-01-01T00:00:00Z");
	c.original = json_pack("{s:i}", "a", 1);
	c.document = json_pack("{s:i}", "a", 2);
	assert_true(candidate_save(one, &c, why));
	candidate_close(&c);

	assert_int_equal(candidate_load(two, &c, why), CANDIDATE_NONE);
	candidate_close(&c);
	assert_int_equal(candidate_load(one, &again, why), CANDIDATE_THERE);
	assert_string_equal(again.base, "rev-7");
	assert_string_equal(again.started, "2030-01-01T00:00:00Z");
	assert_int_equal(json_integer_value(json_object_get(again.document, "a")), 2);
	assert_int_equal(json_integer_value(json_object_get(again.original, "a")), 1);
	candidate_close(&again);
	assert_true(candidate_drop(one, why));
	assert_true(candidate_drop(one, why)); // again: it is gone, which is what was wanted
	assert_int_equal(candidate_load(one, &c, why), CANDIDATE_NONE);
	candidate_close(&c);
	assert_int_equal(files(), before); // no temporary file is left
}

static void reading(void **state)
{
	char why[FILES_WHY], path[PATH_MAX], *text;
	size_t len;

	in_folder("some", path);
	write_file(path, "12345");
	text = file_read(path, 5, &len, why);
	assert_string_equal(text, "12345");
	assert_int_equal(len, 5);
	free(text);
	assert_null(file_read(path, 4, &len, why));
	assert_null(file_read("/nonexistent/x", 4, &len, why));
	assert_string_equal(why, "/nonexistent/x: No such file or directory");
	assert_null(file_read(folder, 4, &len, why));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logins),     cmocka_unit_test(readable_logins_are_refused),
		cmocka_unit_test(candidates), cmocka_unit_test(broken_files_are_refused),
		cmocka_unit_test(reading),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
