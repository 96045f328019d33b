// SPDX-License-Identifier: GPL-2.0-or-later
// What must survive a pulled plug. SQLite in WAL mode with synchronous=FULL: a statement that has ended is on disk, one
// that failed (no space, I/O error) has left no trace, and whatever a crash leaves is sorted out by the next open.
// Each call is one statement, so there is no transaction to forget open; one mutex keeps them apart.
//
// Locking is exclusive, taken at open: nobody else has business in this file, a second manager by mistake is kept out, and
// the index of the WAL lives in memory instead of a file. The last point matters on a full disk: reading what to boot
// with then needs not a single new byte.
//
// The database may itself be what is broken. Then it is moved aside, for people to look at, and a new one is made with the
// last confirmed configuration, which is also kept as plain text beside it: written anew, synced, renamed.
// Users, tokens and history are lost with the database; forwarding is not.
//
// See: sqlite.org/wal.html, sqlite.org/atomiccommit.html; what may go wrong with disks: sqlite.org/howtocorrupt.html.
#include "mgmt/store_db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/config.h"

enum { BUSY_MS = 5000 };

#define DATABASE "weir.db"
#define LAST_GOOD "last-good.json"

static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};

// What a connection must be told before anything else.
static const char setup[] = "PRAGMA locking_mode = EXCLUSIVE;"
			    "PRAGMA journal_mode = WAL;"
			    "PRAGMA synchronous = FULL;"
			    "PRAGMA foreign_keys = ON;"
			    "PRAGMA journal_size_limit = 4194304;"
			    "PRAGMA temp_store = MEMORY;"
			    "PRAGMA cell_size_check = ON;"
			    "PRAGMA trusted_schema = OFF;";

// --- statements --------------------------------------------------------------------------------------------------

static void tell(const struct store *s, int rc, struct problems *out)
{
	if (!out)
		return;
	if ((rc & 0xff) == SQLITE_FULL)
		problem_add(out, PROBLEM_ERROR, "", "the disk is full, " DATABASE " can't be written");
	else
		problem_add(out, PROBLEM_ERROR, "", DATABASE ": %s",
			    s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
}

sqlite3_stmt *statement_begin(struct store *s, enum statement which, const char *kinds, ...)
{
	sqlite3_stmt *st = s->statement[which];
	va_list ap;

	pthread_mutex_lock(&s->lock);
	va_start(ap, kinds);
	for (int i = 0; kinds[i]; i++) {
		if (kinds[i] == 'i')
			sqlite3_bind_int64(st, i + 1, va_arg(ap, int64_t));
		else if (kinds[i] == 't')
			sqlite3_bind_text(st, i + 1, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
		else
			sqlite3_bind_blob(st, i + 1, va_arg(ap, const void *), 32, SQLITE_TRANSIENT);
	}
	va_end(ap);
	return st;
}

void statement_end(struct store *s, sqlite3_stmt *st)
{
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	pthread_mutex_unlock(&s->lock);
}

bool statement_finish(struct store *s, sqlite3_stmt *st, struct problems *out)
{
	int rc = sqlite3_step(st);

	if (rc != SQLITE_DONE)
		tell(s, rc, out);
	statement_end(s, st);
	return rc == SQLITE_DONE;
}

void column_text(sqlite3_stmt *st, int at, char *buf, size_t size)
{
	const unsigned char *text = sqlite3_column_text(st, at);

	snprintf(buf, size, "%s", text ? (const char *)text : "");
}

// --- opening -----------------------------------------------------------------------------------------------------

// Whether an error says that the file is not what it should be, and not that it can't be reached.
static bool is_damage(int rc)
{
	return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB || (rc & 0xff) == SQLITE_FORMAT;
}

// The first value of a query as a number; `otherwise` if it has no row.
static int ask(struct store *s, const char *sql, int64_t otherwise, int64_t *value)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc)
		return rc;
	rc = sqlite3_step(st);
	*value = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : otherwise;
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int check(struct store *s)
{
	int64_t sound = 0;
	int rc = ask(s, "SELECT quick_check = 'ok' FROM pragma_quick_check LIMIT 1", 0, &sound);

	return rc || sound ? rc : SQLITE_CORRUPT;
}

static int migrate(struct store *s)
{
	int64_t known = 0, version = 0;
	int rc = sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (!rc)
		rc = sqlite3_exec(s->db,
				  "CREATE TABLE IF NOT EXISTS migration"
				  " (version INTEGER PRIMARY KEY, applied_s INTEGER NOT NULL) STRICT",
				  NULL, NULL, NULL);
	if (!rc)
		rc = ask(s, "SELECT max(version) FROM migration", 0, &version);
	while (store_migrations[known])
		known++;
	if (!rc && version > known)
		rc = SQLITE_MISMATCH; // a newer weir made it
	for (; !rc && version < known; version++) {
		char row[96];

		snprintf(row, sizeof row, "INSERT INTO migration VALUES (%lld, unixepoch())", (long long)version + 1);
		rc = sqlite3_exec(s->db, store_migrations[version], NULL, NULL, NULL);
		if (!rc)
			rc = sqlite3_exec(s->db, row, NULL, NULL, NULL);
	}
	if (!rc)
		rc = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	if (rc)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

// A database that claims to be up to date and lacks a table is as damaged as one with bad pages.
static int prepare(struct store *s)
{
	for (int i = 0; i < STATEMENTS; i++) {
		int rc = sqlite3_prepare_v3(s->db, store_statements[i], -1, SQLITE_PREPARE_PERSISTENT, &s->statement[i],
					    NULL);

		if (rc)
			return (rc & 0xff) == SQLITE_ERROR ? SQLITE_CORRUPT : rc;
	}
	return SQLITE_OK;
}

static int connect_database(struct store *s)
{
	char path[sizeof s->dir + sizeof DATABASE];
	int rc;

	snprintf(path, sizeof path, "%s/" DATABASE, s->dir);
	rc = sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc)
		return rc;
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	rc = sqlite3_exec(s->db, setup, NULL, NULL, NULL);
	if (!rc)
		rc = check(s);
	if (!rc)
		rc = migrate(s);
	return rc ? rc : prepare(s);
}

static void disconnect(struct store *s)
{
	for (int i = 0; i < STATEMENTS; i++) {
		sqlite3_finalize(s->statement[i]);
		s->statement[i] = NULL;
	}
	sqlite3_close(s->db);
	s->db = NULL;
}

// --- the plain copy ----------------------------------------------------------------------------------------------

static bool write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

// Replaces dir/last-good.json as a whole or not at all.
static bool keep_last_good(const struct store *s, const char *document)
{
	char path[sizeof s->dir + sizeof LAST_GOOD], fresh[sizeof path + sizeof ".new"];
	int dir = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	bool good = false;

	snprintf(path, sizeof path, "%s/" LAST_GOOD, s->dir);
	snprintf(fresh, sizeof fresh, "%s.new", path);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0) {
		good = write_all(fd, document, strlen(document)) && !fsync(fd);
		good = !close(fd) && good;
	}
	good = good && dir >= 0 && !rename(fresh, path) && !fsync(dir);
	if (!good)
		unlink(fresh);
	if (dir >= 0)
		close(dir);
	return good;
}

// Its content, malloc'ed; NULL if there is none.
static char *read_last_good(const struct store *s)
{
	char path[sizeof s->dir + sizeof LAST_GOOD], *text = NULL;
	struct stat st;
	FILE *f;

	snprintf(path, sizeof path, "%s/" LAST_GOOD, s->dir);
	f = fopen(path, "re");
	if (f && !fstat(fileno(f), &st) && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= CONFIG_FILE_MAX)
		text = calloc(1, (size_t)st.st_size + 1);
	if (text && fread(text, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

// Puts a damaged database out of the way. False: it can't be.
static bool move_aside(const struct store *s, char *name, size_t size)
{
	bool moved = false;

	snprintf(name, size, DATABASE ".damaged-%lld", (long long)time(NULL));
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		char from[512], to[512];

		snprintf(from, sizeof from, "%s/" DATABASE "%s", s->dir, suffixes[i]);
		snprintf(to, sizeof to, "%s/%s%s", s->dir, name, suffixes[i]);
		if (!rename(from, to))
			moved = true;
		else if (errno != ENOENT)
			return false;
	}
	return moved;
}

static int make_anew(struct store *s, struct problems *out)
{
	char why[160], aside[64], *document;
	int64_t id;
	int rc;

	snprintf(why, sizeof why, "%s",
		 s->db && sqlite3_errcode(s->db) ? sqlite3_errmsg(s->db) : "its pages do not fit together");
	disconnect(s);
	if (!move_aside(s, aside, sizeof aside))
		return SQLITE_CANTOPEN;
	rc = connect_database(s);
	if (rc)
		return rc;
	document = read_last_good(s);
	problem_add(out, PROBLEM_WARNING, "",
		    "THE DATABASE WAS DAMAGED (%s): it was moved aside as %s; users, tokens and history are lost, %s",
		    why, aside,
		    document ? "the last confirmed configuration is kept" : "and there is no copy of a configuration");
	if (!document)
		return SQLITE_OK;
	id = store_add(s, 0, document, "store", "recovery", "from " LAST_GOOD, "", 0, out);
	free(document);
	return id < 0 || !store_set_state(s, id, REVISION_CONFIRMED, out) ? SQLITE_IOERR : SQLITE_OK;
}

struct store *store_open(const char *dir, struct problems *out)
{
	struct store *s = calloc(1, sizeof *s);
	int rc;

	if (!s || strlen(dir) >= sizeof s->dir) {
		problem_add(out, PROBLEM_ERROR, "", "%s", s ? "the directory's name is too long" : "out of memory");
		free(s);
		return NULL;
	}
	snprintf(s->dir, sizeof s->dir, "%s", dir);
	pthread_mutex_init(&s->lock, NULL);
	rc = connect_database(s);
	if (is_damage(rc))
		rc = make_anew(s, out);
	if (!rc)
		return s;
	if (rc == SQLITE_MISMATCH)
		problem_add(out, PROBLEM_ERROR, "", DATABASE " was made by a newer version of weir");
	else
		tell(s, rc, out);
	store_close(s);
	return NULL;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	disconnect(s);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

// --- revisions ---------------------------------------------------------------------------------------------------

int64_t store_add(struct store *s, int64_t parent, const char *document, const char *author, const char *source,
		  const char *comment, const char *summary, uint32_t confirm_s, struct problems *out)
{
	sqlite3_stmt *st = statement_begin(s, REVISION_ADD, "iiittttt", parent, (int64_t)time(NULL), (int64_t)confirm_s,
					   author, source, comment, summary, document);
	int rc = sqlite3_step(st);
	int64_t id = rc == SQLITE_DONE ? sqlite3_last_insert_rowid(s->db) : -1;

	if (id < 0)
		tell(s, rc, out);
	statement_end(s, st);
	return id;
}

bool store_set_state(struct store *s, int64_t id, enum revision_state state, struct problems *out)
{
	sqlite3_stmt *st = statement_begin(s, REVISION_SET_STATE, "ii", (int64_t)state, id);
	int rc = sqlite3_step(st);
	bool known = rc == SQLITE_DONE && sqlite3_changes(s->db) == 1;
	char *document;

	if (rc != SQLITE_DONE)
		tell(s, rc, out);
	else if (!known && out)
		problem_add(out, PROBLEM_ERROR, "", "there is no revision %lld", (long long)id);
	statement_end(s, st);
	if (!known || (state != REVISION_CONFIRMED && state != REVISION_REVERTED))
		return known;
	document = store_document(s, store_newest(s, REVISION_CONFIRMED));
	if (document && !keep_last_good(s, document) && out)
		problem_add(out, PROBLEM_WARNING, "", LAST_GOOD " can't be written: %s", strerror(errno));
	free(document);
	return true;
}

int64_t store_newest(struct store *s, enum revision_state state)
{
	sqlite3_stmt *st = statement_begin(s, REVISION_NEWEST, "i", (int64_t)state);
	int64_t id = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;

	statement_end(s, st);
	return id;
}

char *store_document(struct store *s, int64_t id)
{
	sqlite3_stmt *st = statement_begin(s, REVISION_DOCUMENT, "i", id);
	const unsigned char *text = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_text(st, 0) : NULL;
	char *copy = text ? strdup((const char *)text) : NULL;

	statement_end(s, st);
	return copy;
}

static void read_revision(sqlite3_stmt *st, struct revision_row *out)
{
	out->id = sqlite3_column_int64(st, 0);
	out->parent = sqlite3_column_int64(st, 1);
	out->state = (uint32_t)sqlite3_column_int(st, 2);
	out->created_s = sqlite3_column_int64(st, 3);
	out->confirm_s = (uint32_t)sqlite3_column_int(st, 4);
	column_text(st, 5, out->author, sizeof out->author);
	column_text(st, 6, out->source, sizeof out->source);
	column_text(st, 7, out->comment, sizeof out->comment);
	column_text(st, 8, out->summary, sizeof out->summary);
}

bool store_get(struct store *s, int64_t id, struct revision_row *out)
{
	sqlite3_stmt *st = statement_begin(s, REVISION_GET, "i", id);
	bool found = sqlite3_step(st) == SQLITE_ROW;

	if (found)
		read_revision(st, out);
	statement_end(s, st);
	return found;
}

uint32_t store_list(struct store *s, int64_t before, struct revision_row *out, uint32_t n)
{
	sqlite3_stmt *st = statement_begin(s, REVISION_LIST, "ii", before > 0 ? before : INT64_MAX, (int64_t)n);
	uint32_t got = 0;

	while (got < n && sqlite3_step(st) == SQLITE_ROW)
		read_revision(st, &out[got++]);
	statement_end(s, st);
	return got;
}
