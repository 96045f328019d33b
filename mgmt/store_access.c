// SPDX-License-Identifier: GPL-2.0-or-later
// Who may do what, and who did: users, tokens, sessions, the audit log. Rows in and out of C, nothing more: what a hash
// is made of and when a session ends is decided elsewhere (mgmt/auth).
#include "mgmt/store_db.h"

#include <stdio.h>

enum { AUDIT_KEPT = 10000 }; // about 3 MB

// --- users -------------------------------------------------------------------------------------------------------

static void read_user(sqlite3_stmt *st, struct user_row *out)
{
	column_text(st, 0, out->name, sizeof out->name);
	column_text(st, 1, out->hash, sizeof out->hash);
	out->role = (uint32_t)sqlite3_column_int(st, 2);
}

bool store_user_get(struct store *s, const char *name, struct user_row *out)
{
	sqlite3_stmt *st = statement_begin(s, USER_GET, "t", name);
	bool found = sqlite3_step(st) == SQLITE_ROW;

	if (found)
		read_user(st, out);
	statement_end(s, st);
	return found;
}

bool store_user_put(struct store *s, const struct user_row *u, struct problems *out)
{
	sqlite3_stmt *st = statement_begin(s, USER_PUT, "tti", u->name, u->hash, (int64_t)u->role);

	return statement_finish(s, st, out);
}

bool store_user_delete(struct store *s, const char *name, struct problems *out)
{
	sqlite3_stmt *st = statement_begin(s, USER_DELETE, "t", name);

	return statement_finish(s, st, out);
}

uint32_t store_users(struct store *s, struct user_row *out, uint32_t n)
{
	sqlite3_stmt *st = statement_begin(s, USER_LIST, "i", (int64_t)n);
	uint32_t got = 0;

	while (got < n && sqlite3_step(st) == SQLITE_ROW)
		read_user(st, &out[got++]);
	statement_end(s, st);
	return got;
}

// --- tokens ------------------------------------------------------------------------------------------------------

static void read_token(sqlite3_stmt *st, struct token_row *out)
{
	out->id = sqlite3_column_int64(st, 0);
	column_text(st, 1, out->name, sizeof out->name);
	out->role = (uint32_t)sqlite3_column_int(st, 2);
	out->created_s = sqlite3_column_int64(st, 3);
	out->used_s = sqlite3_column_int64(st, 4);
}

bool store_token_put(struct store *s, struct token_row *t, const uint8_t hash[32], struct problems *out)
{
	sqlite3_stmt *st =
		statement_begin(s, TOKEN_PUT, "htiii", hash, t->name, (int64_t)t->role, t->created_s, t->used_s);
	struct token_row written;

	if (!statement_finish(s, st, out) || !store_token_get(s, hash, &written))
		return false;
	t->id = written.id;
	return true;
}

bool store_token_get(struct store *s, const uint8_t hash[32], struct token_row *out)
{
	sqlite3_stmt *st = statement_begin(s, TOKEN_GET, "h", hash);
	bool found = sqlite3_step(st) == SQLITE_ROW;

	if (found)
		read_token(st, out);
	statement_end(s, st);
	return found;
}

bool store_token_delete(struct store *s, int64_t id, struct problems *out)
{
	sqlite3_stmt *st = statement_begin(s, TOKEN_DELETE, "i", id);

	return statement_finish(s, st, out);
}

uint32_t store_tokens(struct store *s, struct token_row *out, uint32_t n)
{
	sqlite3_stmt *st = statement_begin(s, TOKEN_LIST, "i", (int64_t)n);
	uint32_t got = 0;

	while (got < n && sqlite3_step(st) == SQLITE_ROW)
		read_token(st, &out[got++]);
	statement_end(s, st);
	return got;
}

// --- sessions ----------------------------------------------------------------------------------------------------

bool store_session_put(struct store *s, const struct session_row *r, const uint8_t hash[32])
{
	sqlite3_stmt *st = statement_begin(s, SESSION_PUT, "httii", hash, r->user, r->csrf, r->created_s, r->used_s);

	return statement_finish(s, st, NULL);
}

bool store_session_get(struct store *s, const uint8_t hash[32], struct session_row *out)
{
	sqlite3_stmt *st = statement_begin(s, SESSION_GET, "h", hash);
	bool found = sqlite3_step(st) == SQLITE_ROW;

	if (found) {
		column_text(st, 0, out->user, sizeof out->user);
		column_text(st, 1, out->csrf, sizeof out->csrf);
		out->created_s = sqlite3_column_int64(st, 2);
		out->used_s = sqlite3_column_int64(st, 3);
	}
	statement_end(s, st);
	return found;
}

void store_session_delete(struct store *s, const uint8_t hash[32])
{
	statement_finish(s, statement_begin(s, SESSION_DELETE, "h", hash), NULL);
}

void store_sessions_expire(struct store *s, int64_t idle_before_s, int64_t created_before_s)
{
	statement_finish(s, statement_begin(s, SESSION_EXPIRE, "ii", idle_before_s, created_before_s), NULL);
}

// --- audit -------------------------------------------------------------------------------------------------------

void store_audit(struct store *s, const struct audit_row *r)
{
	sqlite3_stmt *st =
		statement_begin(s, AUDIT_ADD, "ittti", r->time_s, r->who, r->from, r->what, (int64_t)r->status);

	if (statement_finish(s, st, NULL))
		statement_finish(s, statement_begin(s, AUDIT_TRIM, "i", (int64_t)AUDIT_KEPT), NULL);
}

uint32_t store_audit_list(struct store *s, struct audit_row *out, uint32_t n)
{
	sqlite3_stmt *st = statement_begin(s, AUDIT_LIST, "i", (int64_t)n);
	uint32_t got = 0;

	while (got < n && sqlite3_step(st) == SQLITE_ROW) {
		struct audit_row *r = &out[got++];

		r->id = sqlite3_column_int64(st, 0);
		r->time_s = sqlite3_column_int64(st, 1);
		column_text(st, 2, r->who, sizeof r->who);
		column_text(st, 3, r->from, sizeof r->from);
		column_text(st, 4, r->what, sizeof r->what);
		r->status = sqlite3_column_int(st, 5);
	}
	statement_end(s, st);
	return got;
}
