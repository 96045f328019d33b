// SPDX-License-Identifier: GPL-2.0-or-later
// Inside the store: the connection, its statements and its schema. For mgmt/store*.c alone.
#ifndef MGMT_STORE_DB_H
#define MGMT_STORE_DB_H

#include <pthread.h>
#include <sqlite3.h>

#include "mgmt/store.h"

enum statement {
	REVISION_ADD,
	REVISION_SET_STATE,
	REVISION_NEWEST,
	REVISION_DOCUMENT,
	REVISION_GET,
	REVISION_LIST,
	USER_GET,
	USER_PUT,
	USER_DELETE,
	USER_LIST,
	TOKEN_PUT,
	TOKEN_GET,
	TOKEN_DELETE,
	TOKEN_LIST,
	SESSION_PUT,
	SESSION_GET,
	SESSION_DELETE,
	SESSION_EXPIRE,
	AUDIT_ADD,
	AUDIT_TRIM,
	AUDIT_LIST,
	STATEMENTS
};

extern const char *const store_statements[STATEMENTS];

// Migration N brings a database of version N to N + 1; the last is NULL.
extern const char *const store_migrations[];

struct store {
	sqlite3 *db;
	pthread_mutex_t lock; // held from statement_begin to statement_end
	sqlite3_stmt *statement[STATEMENTS];
	char dir[256];
};

// Takes the lock and binds: one letter of `kinds` for each parameter, in order: i int64_t, t text (const char *; NULL is
// NULL), h a hash of 32 bytes. After it sqlite3_step, then statement_end.
sqlite3_stmt *statement_begin(struct store *s, enum statement which, const char *kinds, ...);
// Resets the statement and lets go of the lock.
void statement_end(struct store *s, sqlite3_stmt *st);
// Runs a statement that writes, to its end: only then is it on disk. Then as statement_end. False with a problem (if out is
// not NULL), and nothing was written.
bool statement_finish(struct store *s, sqlite3_stmt *st, struct problems *out);

// Column `at` as text of a row's field, cut to its size.
void column_text(sqlite3_stmt *st, int at, char *buf, size_t size);

#endif
