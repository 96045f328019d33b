// SPDX-License-Identifier: GPL-2.0-or-later
// Three kinds of secret. Passwords are guessable, so they are stretched (scrypt, RFC 7914, with the parameters that cost
// about a tenth of a second and 32 MB) and guesses are counted. Tokens and session secrets are 256 random bits; nobody
// guesses them, a plain SHA-256 keeps a stolen database from being of use, and a right one is never made to wait for
// somebody else's wrong ones.
//
// A session is bound to the password it was opened with: its CSRF value is a hash over the session and the stored
// password hash, made anew at every request and compared with the one stored. So a new password ends all sessions of its
// user without anybody looking for them.
#include "mgmt/auth.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

enum {
	SALT = 16,
	KEY = 32,
	COST_N = 1 << 15,
	COST_R = 8,
	COST_P = 1,
	USER_TRIES = 5,     // wrong ones in a row of a user from an address, before it must wait
	ADDRESS_TRIES = 20, // of whatever users from an address: or names would be guessed round robin
	WAIT_MAX_S = 60,
	GUESSERS = 512,
	TOUCH_S = 60,
};
#define COST_MEMORY (64u << 20)
#define FORGET_NS (900 * NSEC_PER_SEC)

struct guesser {
	char user[64], from[64]; // user "": all of the address
	unsigned failures;       // in a row; 0: not in use
	nsec_t last, not_before;
};

struct auth {
	struct store *store;
	char nobody[256]; // a hash to compare with when there is no such user: takes as long, and never fits
	pthread_mutex_t lock;
	struct guesser guesser[GUESSERS];
};

// --- secrets -------------------------------------------------------------------------------------------------------

static void base64url(const uint8_t *in, size_t len, char *out)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint32_t bits = 0;
	unsigned n = 0;

	for (size_t i = 0; i < len; i++) {
		bits = bits << 8 | in[i];
		for (n += 8; n >= 6; n -= 6)
			*out++ = digit[bits >> (n - 6) & 63];
	}
	if (n)
		*out++ = digit[bits << (6 - n) & 63];
	*out = '\0';
}

static void sha256(const char *text, uint8_t hash[32])
{
	SHA256((const uint8_t *)text, strlen(text), hash);
}

static bool make_secret(char *text)
{
	uint8_t bytes[32];

	if (RAND_bytes(bytes, sizeof bytes) != 1)
		return false;
	base64url(bytes, sizeof bytes, text);
	OPENSSL_cleanse(bytes, sizeof bytes);
	return true;
}

bool token_make(char *token, uint8_t hash[32])
{
	memcpy(token, "weir_", 5);
	if (!make_secret(token + 5))
		return false;
	sha256(token, hash);
	return true;
}

// --- passwords -----------------------------------------------------------------------------------------------------

static void to_hex(const uint8_t *in, size_t len, char *out)
{
	for (size_t i = 0; i < len; i++)
		sprintf(out + 2 * i, "%02x", in[i]);
}

static bool from_hex(const char *in, size_t len, uint8_t *out)
{
	for (size_t i = 0; i < len; i++)
		if (strspn(in + 2 * i, "0123456789abcdef") < 2 || sscanf(in + 2 * i, "%2hhx", &out[i]) != 1)
			return false;
	return !in[2 * len];
}

static bool stretch(const char *password, const uint8_t *salt, uint64_t n, uint64_t r, uint64_t p, uint8_t *key)
{
	return EVP_PBE_scrypt(password, strlen(password), salt, SALT, n, r, p, COST_MEMORY, key, KEY) == 1;
}

static void hash_text(const uint8_t salt[SALT], const uint8_t key[KEY], char *buf)
{
	char salt_text[2 * SALT + 1], key_text[2 * KEY + 1];

	to_hex(salt, SALT, salt_text);
	to_hex(key, KEY, key_text);
	snprintf(buf, 256, "scrypt$%d$%d$%d$%s$%s", COST_N, COST_R, COST_P, salt_text, key_text);
}

bool password_hash(const char *password, char *buf)
{
	uint8_t salt[SALT], key[KEY];

	if (RAND_bytes(salt, sizeof salt) != 1 || !stretch(password, salt, COST_N, COST_R, COST_P, key))
		return false;
	hash_text(salt, key, buf);
	return true;
}

// Takes as long to compare with as any other, and no password is known that fits.
static bool nobodys_hash(char *buf)
{
	uint8_t salt[SALT], key[KEY];

	if (RAND_bytes(salt, sizeof salt) != 1 || RAND_bytes(key, sizeof key) != 1)
		return false;
	hash_text(salt, key, buf);
	return true;
}

// What is stored may have other parameters than new ones get; what scrypt does not accept does not fit.
static bool password_fits(const char *password, const char *stored)
{
	unsigned n, r, p;
	char salt_text[2 * SALT + 1], key_text[2 * KEY + 1], rest;
	uint8_t salt[SALT], key[KEY], wanted[KEY];

	static_assert(SALT == 16 && KEY == 32, "the lengths in the format below");
	return sscanf(stored, "scrypt$%7u$%3u$%3u$%32[^$]$%64[^$]%c", &n, &r, &p, salt_text, key_text, &rest) == 5 &&
	       from_hex(salt_text, SALT, salt) && from_hex(key_text, KEY, wanted) &&
	       stretch(password, salt, n, r, p, key) && !CRYPTO_memcmp(key, wanted, KEY);
}

static size_t characters(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

const char *password_fault(const char *user, const char *password)
{
	if (characters(password) < PASSWORD_MIN)
		return "too short; a password has at least 10 characters";
	if (strlen(password) > PASSWORD_MAX)
		return "too long; a password has at most 256 bytes";
	if (!strcmp(user, password))
		return "the password is the name";
	return strspn(password, (char[]){password[0], '\0'}) == strlen(password) ? "the same character throughout"
										 : NULL;
}

const char *name_fault(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t len = strlen(name);

	if (!len || len > 32)
		return "a name has 1 to 32 characters";
	if (!strchr(letters, name[0]) ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != len)
		return "a name has letters, digits, \".\", \"_\" and \"-\", and begins with a letter or digit";
	return NULL;
}

static const char *const role_names[] = {
	[ROLE_NONE] = "none",
	[ROLE_VIEWER] = "viewer",
	[ROLE_OPERATOR] = "operator",
	[ROLE_ADMIN] = "admin",
};

bool role_parse(const char *text, enum role *out)
{
	for (unsigned r = ROLE_VIEWER; r < ARRAY_LEN(role_names); r++)
		if (!strcmp(text, role_names[r])) {
			*out = (enum role)r;
			return true;
		}
	return false;
}

const char *role_name(enum role r)
{
	return role_names[r < ARRAY_LEN(role_names) ? r : ROLE_NONE];
}

// Twenty characters of 32, without those that look alike: 100 bits, read aloud in four groups.
char *auth_first_password(struct store *s, struct problems *out)
{
	static const char letter[] = "abcdefghijkmnpqrstuvwxyz23456789";
	struct user_row u = {.name = "admin", .role = ROLE_ADMIN};
	uint8_t random[20];
	char text[24], *at = text;

	static_assert(sizeof letter == 33, "a letter is five bits");
	if (store_users(s, &(struct user_row){0}, 1))
		return NULL;
	if (RAND_bytes(random, sizeof random) != 1) {
		problem_add(out, PROBLEM_ERROR, "", "no random numbers for the first password");
		return NULL;
	}
	for (unsigned i = 0; i < sizeof random; i++) {
		if (i && i % 5 == 0)
			*at++ = '-';
		*at++ = letter[random[i] & 31];
	}
	*at = '\0';
	if (!password_hash(text, u.hash)) {
		problem_add(out, PROBLEM_ERROR, "", "no memory to hash the first password");
		return NULL;
	}
	return store_user_put(s, &u, out) ? strdup(text) : NULL;
}

// --- guesses -------------------------------------------------------------------------------------------------------

// Addresses as they are counted: of IPv6 the first 64 bits, which is what one customer has.
static void counted_address(const char *from, char *buf)
{
	struct in6_addr a;

	snprintf(buf, 64, "%s", from);
	if (inet_pton(AF_INET6, from, &a) == 1) {
		memset(a.s6_addr + 8, 0, 8);
		inet_ntop(AF_INET6, &a, buf, 64);
	}
}

static struct guesser *find_guesser(struct auth *a, const char *user, const char *from, nsec_t now)
{
	for (unsigned i = 0; i < GUESSERS; i++) {
		struct guesser *g = &a->guesser[i];

		if (g->failures && time_before(g->last + FORGET_NS, now))
			g->failures = 0;
		if (g->failures && !strcmp(g->user, user) && !strcmp(g->from, from))
			return g;
	}
	return NULL;
}

static int seconds_to(const struct guesser *g, nsec_t now)
{
	return g && time_before(now, g->not_before) ? (int)((g->not_before - now + NSEC_PER_SEC - 1) / NSEC_PER_SEC)
						    : 0;
}

int auth_wait(struct auth *a, const char *user, const char *from, nsec_t now)
{
	char name[64], address[64];
	int wait, wait_address;

	snprintf(name, sizeof name, "%s", user);
	counted_address(from, address);
	pthread_mutex_lock(&a->lock);
	wait = seconds_to(find_guesser(a, name, address, now), now);
	wait_address = seconds_to(find_guesser(a, "", address, now), now);
	pthread_mutex_unlock(&a->lock);
	return wait > wait_address ? wait : wait_address;
}

// A place in the table: a free one, or that of who has failed least, and longest ago.
static struct guesser *new_guesser(struct auth *a, const char *user, const char *from)
{
	struct guesser *g = &a->guesser[0];

	for (unsigned i = 1; i < GUESSERS && g->failures; i++) {
		struct guesser *o = &a->guesser[i];

		if (o->failures < g->failures || (o->failures == g->failures && time_before(o->last, g->last)))
			g = o;
	}
	memset(g, 0, sizeof *g);
	snprintf(g->user, sizeof g->user, "%s", user);
	snprintf(g->from, sizeof g->from, "%s", from);
	return g;
}

static void count(struct auth *a, const char *user, const char *from, unsigned tries, bool fine, nsec_t now)
{
	struct guesser *g = find_guesser(a, user, from, now);
	unsigned over;

	if (fine) {
		if (g)
			g->failures = 0;
		return;
	}
	if (!g)
		g = new_guesser(a, user, from);
	g->last = now;
	if (++g->failures < tries)
		return;
	over = g->failures - tries;
	g->not_before = now + (over < 6 ? 1u << over : WAIT_MAX_S) * NSEC_PER_SEC;
}

static void count_both(struct auth *a, const char *user, const char *from, bool fine, nsec_t now)
{
	char name[64], address[64];

	snprintf(name, sizeof name, "%s", user);
	counted_address(from, address);
	pthread_mutex_lock(&a->lock);
	count(a, name, address, USER_TRIES, fine, now);
	count(a, "", address, ADDRESS_TRIES, fine, now);
	pthread_mutex_unlock(&a->lock);
}

enum auth_verdict auth_password(struct auth *a, const char *user, const char *password, const char *from, nsec_t now,
				struct identity *out, int *wait_s)
{
	struct user_row u;
	bool known, fine;

	*wait_s = auth_wait(a, user, from, now);
	if (*wait_s)
		return AUTH_WAIT;
	known = *user && store_user_get(a->store, user, &u);
	fine = password_fits(password, known ? u.hash : a->nobody) && known;
	count_both(a, user, from, fine, now);
	if (!fine)
		return AUTH_WRONG;
	memset(out, 0, sizeof *out);
	out->kind = CREDENTIAL_PASSWORD;
	out->role = (enum role)u.role;
	snprintf(out->user, sizeof out->user, "%s", u.name);
	sha256(u.hash, out->hash);
	return AUTH_FINE;
}

// --- tokens and sessions -------------------------------------------------------------------------------------------

static bool read_token(struct auth *a, const uint8_t hash[32], struct identity *out)
{
	struct token_row t;

	if (!store_token_get(a->store, hash, &t))
		return false;
	memset(out, 0, sizeof *out);
	out->kind = CREDENTIAL_TOKEN;
	out->role = (enum role)t.role;
	out->used_s = t.used_s;
	snprintf(out->user, sizeof out->user, "token:%s", t.name);
	memcpy(out->hash, hash, 32);
	return true;
}

bool auth_token(struct auth *a, const char *token, struct identity *out)
{
	uint8_t hash[32];

	sha256(token, hash);
	return read_token(a, hash, out);
}

static void session_csrf(const uint8_t session[32], const char *password_hashed, char *text)
{
	uint8_t both[32 + sizeof((struct user_row *)0)->hash] = {0}, hash[32];

	memcpy(both, session, 32);
	snprintf((char *)both + 32, sizeof both - 32, "%s", password_hashed);
	SHA256(both, sizeof both, hash);
	base64url(hash, sizeof hash, text);
}

static bool read_session(struct auth *a, const uint8_t hash[32], int64_t now_s, struct identity *out)
{
	char csrf[SECRET_TEXT];
	struct session_row r;
	struct user_row u;

	if (!store_session_get(a->store, hash, &r) || now_s - r.used_s > SESSION_IDLE_S ||
	    now_s - r.created_s > SESSION_MAX_S || !store_user_get(a->store, r.user, &u))
		return false;
	session_csrf(hash, u.hash, csrf);
	if (strcmp(csrf, r.csrf) != 0) // of the database's own two values: no secret of the client's is in it
		return false;
	memset(out, 0, sizeof *out);
	out->kind = CREDENTIAL_SESSION;
	out->role = (enum role)u.role;
	out->used_s = r.used_s;
	snprintf(out->user, sizeof out->user, "%s", u.name);
	snprintf(out->csrf, sizeof out->csrf, "%s", csrf);
	memcpy(out->hash, hash, 32);
	return true;
}

bool auth_session(struct auth *a, const char *secret, int64_t now_s, struct identity *out)
{
	uint8_t hash[32];

	sha256(secret, hash);
	return read_session(a, hash, now_s, out);
}

bool auth_session_open(struct auth *a, struct identity *who, int64_t now_s, char *secret)
{
	struct session_row r = {.created_s = now_s, .used_s = now_s};
	struct user_row u;

	store_sessions_expire(a->store, now_s - SESSION_IDLE_S, now_s - SESSION_MAX_S);
	if (!store_user_get(a->store, who->user, &u) || !make_secret(secret))
		return false;
	sha256(secret, who->hash);
	session_csrf(who->hash, u.hash, who->csrf);
	who->kind = CREDENTIAL_SESSION;
	snprintf(r.user, sizeof r.user, "%s", u.name);
	snprintf(r.csrf, sizeof r.csrf, "%s", who->csrf);
	return store_session_put(a->store, &r, who->hash);
}

void auth_session_close(struct auth *a, const struct identity *who)
{
	if (who->kind == CREDENTIAL_SESSION)
		store_session_delete(a->store, who->hash);
}

bool auth_touch_due(const struct identity *who, int64_t now_s)
{
	return (who->kind == CREDENTIAL_SESSION || who->kind == CREDENTIAL_TOKEN) && now_s - who->used_s >= TOUCH_S;
}

void auth_touch(struct auth *a, const struct identity *who, int64_t now_s)
{
	struct problems ignored = {0};
	struct session_row r;
	struct token_row t;

	if (who->kind == CREDENTIAL_SESSION && store_session_get(a->store, who->hash, &r)) {
		r.used_s = now_s;
		store_session_put(a->store, &r, who->hash);
	} else if (who->kind == CREDENTIAL_TOKEN && store_token_get(a->store, who->hash, &t)) {
		t.used_s = now_s;
		store_token_put(a->store, &t, who->hash, &ignored);
	}
	problems_free(&ignored);
}

bool auth_still(struct auth *a, const struct identity *who, enum role least, int64_t now_s)
{
	struct identity now;
	struct user_row u;
	uint8_t hash[32];

	switch (who->kind) {
	case CREDENTIAL_SESSION:
		return read_session(a, who->hash, now_s, &now) && now.role >= least;
	case CREDENTIAL_TOKEN:
		return read_token(a, who->hash, &now) && now.role >= least;
	case CREDENTIAL_PASSWORD:
		if (!store_user_get(a->store, who->user, &u))
			return false;
		sha256(u.hash, hash);
		return u.role >= least && !memcmp(hash, who->hash, sizeof hash);
	case CREDENTIAL_NONE:
		break;
	}
	return least == ROLE_NONE;
}

struct auth *auth_new(struct store *s)
{
	struct auth *a = calloc(1, sizeof *a);

	if (!a)
		return NULL;
	a->store = s;
	pthread_mutex_init(&a->lock, NULL);
	if (nobodys_hash(a->nobody))
		return a;
	auth_free(a);
	return NULL;
}

void auth_free(struct auth *a)
{
	if (a)
		pthread_mutex_destroy(&a->lock);
	free(a);
}
