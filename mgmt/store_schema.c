// SPDX-License-Identifier: GPL-2.0-or-later
// The database's schema as numbered migrations, and every statement that is run on it. A migration that was released is
// never edited: the next one changes what it made. What SQL can promise is promised here rather than in C: a
// revision's content can't be changed or deleted by any code, only its state moves.
#include "mgmt/store_db.h"

const char *const store_migrations[] = {
	"CREATE TABLE revision ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" parent INTEGER REFERENCES revision (id),"
	" state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),"
	" created_s INTEGER NOT NULL,"
	" confirm_s INTEGER NOT NULL,"
	" author TEXT NOT NULL,"
	" source TEXT NOT NULL,"
	" comment TEXT NOT NULL,"
	" summary TEXT NOT NULL,"
	" document TEXT NOT NULL" // last: the columns before it are read without it
	") STRICT;"
	"CREATE INDEX revision_by_state ON revision (state, id);"
	"CREATE TRIGGER revision_is_fixed BEFORE UPDATE OF id, parent, created_s, confirm_s, author, source, comment,"
	" summary, document ON revision BEGIN SELECT RAISE(ABORT, 'a revision is never changed'); END;"
	"CREATE TRIGGER revision_stays BEFORE DELETE ON revision"
	" BEGIN SELECT RAISE(ABORT, 'a revision is never deleted'); END;"

	"CREATE TABLE user (name TEXT PRIMARY KEY, hash TEXT NOT NULL, role INTEGER NOT NULL) STRICT;"

	"CREATE TABLE token ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),"
	" name TEXT NOT NULL,"
	" role INTEGER NOT NULL,"
	" created_s INTEGER NOT NULL,"
	" used_s INTEGER NOT NULL"
	") STRICT;"

	"CREATE TABLE session ("
	" hash BLOB PRIMARY KEY CHECK (length(hash) = 32),"
	" user TEXT NOT NULL REFERENCES user (name) ON DELETE CASCADE,"
	" csrf TEXT NOT NULL,"
	" created_s INTEGER NOT NULL,"
	" used_s INTEGER NOT NULL"
	") STRICT;"

	"CREATE TABLE audit ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" time_s INTEGER NOT NULL,"
	" who TEXT NOT NULL,"
	" peer TEXT NOT NULL,"
	" what TEXT NOT NULL,"
	" status INTEGER NOT NULL"
	") STRICT;",
	NULL,
};

#define REVISION_COLUMNS "id, parent, state, created_s, confirm_s, author, source, comment, summary"

const char *const store_statements[STATEMENTS] = {
	[REVISION_ADD] = "INSERT INTO revision (parent, state, created_s, confirm_s, author, source, comment, summary,"
			 " document) VALUES (nullif(?, 0), 0, ?, ?, ?, ?, ?, ?, ?)",
	[REVISION_SET_STATE] = "UPDATE revision SET state = ? WHERE id = ?",
	[REVISION_NEWEST] = "SELECT id FROM revision WHERE state = ? ORDER BY id DESC LIMIT 1",
	[REVISION_DOCUMENT] = "SELECT document FROM revision WHERE id = ?",
	[REVISION_GET] = "SELECT " REVISION_COLUMNS " FROM revision WHERE id = ?",
	[REVISION_LIST] = "SELECT " REVISION_COLUMNS " FROM revision WHERE id < ? ORDER BY id DESC LIMIT ?",
	[USER_GET] = "SELECT name, hash, role FROM user WHERE name = ?",
	// not REPLACE, which deletes first and takes the user's sessions with it
	[USER_PUT] = "INSERT INTO user (name, hash, role) VALUES (?, ?, ?)"
		     " ON CONFLICT (name) DO UPDATE SET hash = excluded.hash, role = excluded.role",
	[USER_DELETE] = "DELETE FROM user WHERE name = ?",
	[USER_LIST] = "SELECT name, hash, role FROM user ORDER BY name LIMIT ?",
	[TOKEN_PUT] = "INSERT INTO token (hash, name, role, created_s, used_s) VALUES (?, ?, ?, ?, ?)"
		      " ON CONFLICT (hash) DO UPDATE SET name = excluded.name, role = excluded.role,"
		      " used_s = excluded.used_s",
	[TOKEN_GET] = "SELECT id, name, role, created_s, used_s FROM token WHERE hash = ?",
	[TOKEN_DELETE] = "DELETE FROM token WHERE id = ?",
	[TOKEN_LIST] = "SELECT id, name, role, created_s, used_s FROM token ORDER BY id LIMIT ?",
	[SESSION_PUT] = "INSERT INTO session (hash, user, csrf, created_s, used_s) VALUES (?, ?, ?, ?, ?)"
			" ON CONFLICT (hash) DO UPDATE SET user = excluded.user, csrf = excluded.csrf,"
			" used_s = excluded.used_s",
	[SESSION_GET] = "SELECT user, csrf, created_s, used_s FROM session WHERE hash = ?",
	[SESSION_DELETE] = "DELETE FROM session WHERE hash = ?",
	[SESSION_EXPIRE] = "DELETE FROM session WHERE used_s < ? OR created_s < ?",
	[AUDIT_ADD] = "INSERT INTO audit (time_s, who, peer, what, status) VALUES (?, ?, ?, ?, ?)",
	[AUDIT_TRIM] = "DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?",
	[AUDIT_LIST] = "SELECT id, time_s, who, peer, what, status FROM audit ORDER BY id DESC LIMIT ?",
};
