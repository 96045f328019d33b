// SPDX-License-Identifier: GPL-2.0-or-later
// Passwords, tokens, sessions and guesses against a real store, with the time given.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/tls_client.h"

#include "mgmt/auth.c"

#define S NSEC_PER_SEC

static struct store *store;
static struct auth *auth;
static struct identity who;
static int wait_s;

static int start(void **state)
{
	struct problems found = {0};
	struct user_row u = {.name = "ann", .role = ROLE_OPERATOR};

	make_state_dir();
	store = store_open(test_dir, &found);
	assert_non_null(store);
	auth = auth_new(store);
	assert_non_null(auth);
	assert_true(password_hash("correct horse", u.hash));
	assert_true(store_user_put(store, &u, &found));
	return 0;
}

static int stop(void **state)
{
	auth_free(auth);
	store_close(store);
	remove_state_dir();
	return 0;
}

static enum auth_verdict try(const char *user, const char *password, const char *from, nsec_t now)
{
	return auth_password(auth, user, password, from, now, &who, &wait_s);
}

static void base64url_vectors(void **state)
{
	static const char *const row[][2] = {
		// RFC 4648, 10, without padding
		{"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
		{"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xff\xfe", "__4"}};
	char out[16];

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		base64url((const uint8_t *)row[i][0], strlen(row[i][0]), out);
		assert_string_equal(out, row[i][1]);
	}
}

// RFC 7914, 12: scrypt("pleaseletmein", "SodiumChloride", 16384, 8, 1); its salt has 14 bytes, ours always 16, so the
// vector checks the library's parameters in our order, and the stored form is checked with our own.
static void hashes(void **state)
{
	static const uint8_t wanted[8] = {0x70, 0x23, 0xbd, 0xcb, 0x3a, 0xfd, 0x73, 0x48};
	uint8_t key[64];
	char a[256], b[256], damaged[256];

	assert_int_equal(EVP_PBE_scrypt("pleaseletmein", 13, (const uint8_t *)"SodiumChloride", 14, 16384, 8, 1,
					COST_MEMORY, key, sizeof key),
			 1);
	assert_memory_equal(key, wanted, sizeof wanted);
	assert_true(password_hash("correct horse", a));
	assert_true(password_hash("correct horse", b));
	assert_string_not_equal(a, b); // salted
	assert_memory_equal(a, "scrypt$32768$8$1$", 17);
	assert_true(password_fits("correct horse", a));
	assert_false(password_fits("correct horsf", a));
	assert_false(password_fits("", a));
	strcpy(damaged, a);
	damaged[strlen(damaged) - 1] ^= 1;
	assert_false(password_fits("correct horse", damaged));
	strcpy(damaged, a);
	damaged[strlen(damaged) - 1] = '\0';
	assert_false(password_fits("correct horse", damaged));
	strcat(strcpy(damaged, a), "0");
	assert_false(password_fits("correct horse", damaged));
	assert_false(password_fits("correct horse",
				   "scrypt$1048576$8$1$00112233445566778899aabbccddeeff$"
				   "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"));
	assert_false(password_fits("", ""));
	assert_false(password_fits("x", "plain$x"));
}

static void rules(void **state)
{
	assert_null(password_fault("ann", "0123456789"));
	assert_null(password_fault("ann",
				   "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4"));
	assert_non_null(password_fault("ann", "012345678"));
	assert_non_null(password_fault("ann", "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6")); // 10 bytes, 5 characters
	assert_non_null(password_fault("annabelle-long", "annabelle-long"));
	assert_non_null(password_fault("ann", "aaaaaaaaaaaaaaaa"));
	assert_null(name_fault("ann"));
	assert_null(name_fault("0.x_y-z"));
	assert_non_null(name_fault(""));
	assert_non_null(name_fault(".ann"));
	assert_non_null(name_fault("token:ann"));
	assert_non_null(name_fault("a name"));
	assert_non_null(name_fault("a23456789012345678901234567890123"));
}

static void the_first_password(void **state)
{
	struct problems found = {0};
	char *password;

	assert_null(auth_first_password(store, &found)); // there is a user
	assert_true(store_user_delete(store, "ann", &found));
	password = auth_first_password(store, &found);
	assert_non_null(password);
	assert_true(strlen(password) >= 20);
	assert_null(password_fault("admin", password));
	assert_int_equal(try("admin", password, "192.0.2.1", S), AUTH_FINE);
	assert_int_equal(who.role, ROLE_ADMIN);
	assert_null(auth_first_password(store, &found));
	assert_int_equal(found.errors, 0);
	free(password);
}

static void right_and_wrong(void **state)
{
	assert_int_equal(try("ann", "correct horse", "192.0.2.1", S), AUTH_FINE);
	assert_string_equal(who.user, "ann");
	assert_int_equal(who.role, ROLE_OPERATOR);
	assert_int_equal(who.kind, CREDENTIAL_PASSWORD);
	assert_int_equal(try("ann", "wrong", "192.0.2.1", S), AUTH_WRONG);
	assert_int_equal(try("nobody", "correct horse", "192.0.2.1", S), AUTH_WRONG);
	assert_int_equal(try("", "", "192.0.2.1", S), AUTH_WRONG);
}

// The time for a user that is not there is that for one who is; measured, with room for a busy machine.
static void unknown_users_take_as_long(void **state)
{
	nsec_t t, known = TIME_NEVER, unknown = TIME_NEVER;

	for (int i = 0; i < 3; i++) {
		t = clock_now();
		try("ann", "wrong", "192.0.2.1", S);
		t = clock_now() - t;
		known = t < known ? t : known;
		t = clock_now();
		try("nobody", "wrong", "192.0.2.1", S);
		t = clock_now() - t;
		unknown = t < unknown ? t : unknown;
	}
	print_message("a password takes %.0f ms, of an unknown user %.0f ms\n", (double)known / 1e6,
		      (double)unknown / 1e6);
	assert_true(unknown > known / 2 && unknown < known * 2);
}

static void fail_often(const char *user, const char *from, int n, nsec_t now)
{
	pthread_mutex_lock(&auth->lock); // as auth_password counts, without the hashing
	for (int i = 0; i < n; i++) {
		count(auth, user, from, USER_TRIES, false, now);
		count(auth, "", from, ADDRESS_TRIES, false, now);
	}
	pthread_mutex_unlock(&auth->lock);
}

static void waits_double_up_to_a_minute(void **state)
{
	static const int waits[] = {0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60};
	nsec_t now = 100 * S;

	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		assert_int_equal(auth_wait(auth, "ann", "192.0.2.1", now), 0);
		fail_often("ann", "192.0.2.1", 1, now);
		assert_int_equal(auth_wait(auth, "ann", "192.0.2.1", now), waits[i]);
		assert_int_equal(auth_wait(auth, "bob", "192.0.2.1", now), 0);
		assert_int_equal(auth_wait(auth, "ann", "192.0.2.2", now), 0);
		if (waits[i]) {
			now += (nsec_t)waits[i] * S - 1;
			assert_int_equal(auth_wait(auth, "ann", "192.0.2.1", now), 1);
			assert_int_equal(try("ann", "correct horse", "192.0.2.1", now), AUTH_WAIT);
			assert_int_equal(wait_s, 1);
			now++;
		}
	}
	assert_int_equal(try("ann", "correct horse", "192.0.2.1", now), AUTH_FINE);
	fail_often("ann", "192.0.2.1", 4, now);
	assert_int_equal(auth_wait(auth, "ann", "192.0.2.1", now), 0); // begins anew
	fail_often("ann", "192.0.2.1", 1, now);
	assert_int_equal(auth_wait(auth, "ann", "192.0.2.1", now), 1);
	assert_int_equal(auth_wait(auth, "ann", "192.0.2.1", now + FORGET_NS + 1), 0);
}

static void an_address_is_counted_over_all_users(void **state)
{
	char name[16];

	for (int i = 0; i < 20; i++) {
		assert_int_equal(auth_wait(auth, "ann", "2001:db8::1", S), 0);
		snprintf(name, sizeof name, "user%d", i);
		pthread_mutex_lock(&auth->lock);
		count(auth, name, "2001:db8::", USER_TRIES, false, S);
		count(auth, "", "2001:db8::", ADDRESS_TRIES, false, S);
		pthread_mutex_unlock(&auth->lock);
	}
	assert_int_equal(auth_wait(auth, "ann", "2001:db8::1", S), 1);
	assert_int_equal(auth_wait(auth, "ann", "2001:db8::ffff:2", S), 1); // the same customer
	assert_int_equal(auth_wait(auth, "ann", "2001:db8:0:1::1", S), 0);
}

static void many_guessers_do_not_push_out_the_worst(void **state)
{
	char name[32];

	fail_often("ann", "192.0.2.1", 7, S);
	for (int i = 0; i < 2 * GUESSERS; i++) {
		snprintf(name, sizeof name, "10.0.%d.%d", i / 250, i % 250);
		fail_often("x", name, 1, S + 1);
	}
	assert_int_equal(auth_wait(auth, "ann", "192.0.2.1", S), 4);
}

static void tokens(void **state)
{
	struct problems found = {0};
	struct token_row t = {.name = "ci", .role = ROLE_VIEWER, .created_s = 5, .used_s = 5};
	char token[TOKEN_TEXT], other[TOKEN_TEXT];
	uint8_t hash[32];

	assert_true(token_make(token, hash));
	assert_int_equal(strlen(token), 5 + 43);
	assert_memory_equal(token, "weir_", 5);
	assert_false(auth_token(auth, token, &who));
	assert_true(store_token_put(store, &t, hash, &found));
	assert_true(auth_token(auth, token, &who));
	assert_string_equal(who.user, "token:ci");
	assert_int_equal(who.role, ROLE_VIEWER);
	assert_true(token_make(other, hash));
	assert_string_not_equal(token, other);
	assert_false(auth_token(auth, other, &who));
	assert_true(auth_token(auth, token, &who));
	assert_false(auth_touch_due(&who, 64));
	assert_true(auth_touch_due(&who, 65));
	auth_touch(auth, &who, 65);
	assert_true(auth_token(auth, token, &who));
	assert_int_equal(who.used_s, 65);
	assert_true(auth_still(auth, &who, ROLE_VIEWER, 65));
	assert_false(auth_still(auth, &who, ROLE_OPERATOR, 65));
	assert_true(store_token_delete(store, t.id, &found));
	assert_false(auth_still(auth, &who, ROLE_VIEWER, 65));
	auth_touch(auth, &who, 200); // does not bring it back
	assert_false(auth_token(auth, token, &who));
}

static void open_session(int64_t now_s, char *secret)
{
	assert_int_equal(try("ann", "correct horse", "192.0.2.1", S), AUTH_FINE);
	assert_true(auth_session_open(auth, &who, now_s, secret));
}

static void sessions_end_by_time(void **state)
{
	char secret[SECRET_TEXT];
	int64_t now = 1000;

	open_session(now, secret);
	assert_true(auth_session(auth, secret, now + SESSION_IDLE_S, &who));
	assert_int_equal(strlen(who.csrf), 43);
	assert_false(auth_session(auth, secret, now + SESSION_IDLE_S + 1, &who));
	for (; now <= 1000 + SESSION_MAX_S; now += 600) { // in use all the time
		assert_true(auth_session(auth, secret, now, &who));
		if (auth_touch_due(&who, now))
			auth_touch(auth, &who, now);
	}
	assert_false(auth_session(auth, secret, 1000 + SESSION_MAX_S + 1, &who));
	assert_false(auth_session(auth, "something else", 1000, &who));
}

static void sessions_end_with_what_they_rest_on(void **state)
{
	struct problems found = {0};
	char secret[SECRET_TEXT], second[SECRET_TEXT];
	struct identity stream;
	struct user_row u;

	open_session(1000, secret);
	open_session(1000, second);
	assert_string_not_equal(secret, second);
	assert_true(auth_session(auth, secret, 1000, &who));
	auth_session_close(auth, &who);
	assert_false(auth_session(auth, secret, 1000, &who));
	assert_true(auth_session(auth, second, 1000, &stream));
	assert_true(store_user_get(store, "ann", &u));
	u.role = ROLE_VIEWER; // a new role counts at once
	assert_true(store_user_put(store, &u, &found));
	assert_true(auth_session(auth, second, 1000, &who));
	assert_int_equal(who.role, ROLE_VIEWER);
	assert_false(auth_still(auth, &stream, ROLE_OPERATOR, 1000));
	assert_true(auth_still(auth, &stream, ROLE_VIEWER, 1000));
	assert_true(password_hash("correct horse", u.hash)); // the same password, set anew
	assert_true(store_user_put(store, &u, &found));
	assert_false(auth_session(auth, second, 1000, &who));
	assert_false(auth_still(auth, &stream, ROLE_VIEWER, 1000));
	open_session(1000, secret);
	assert_true(store_user_delete(store, "ann", &found));
	assert_false(auth_session(auth, secret, 1000, &who));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64url_vectors),
		cmocka_unit_test(hashes),
		cmocka_unit_test(rules),
		cmocka_unit_test_setup_teardown(the_first_password, start, stop),
		cmocka_unit_test_setup_teardown(right_and_wrong, start, stop),
		cmocka_unit_test_setup_teardown(unknown_users_take_as_long, start, stop),
		cmocka_unit_test_setup_teardown(waits_double_up_to_a_minute, start, stop),
		cmocka_unit_test_setup_teardown(an_address_is_counted_over_all_users, start, stop),
		cmocka_unit_test_setup_teardown(many_guessers_do_not_push_out_the_worst, start, stop),
		cmocka_unit_test_setup_teardown(tokens, start, stop),
		cmocka_unit_test_setup_teardown(sessions_end_by_time, start, stop),
		cmocka_unit_test_setup_teardown(sessions_end_with_what_they_rest_on, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
