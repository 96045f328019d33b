// SPDX-License-Identifier: GPL-2.0-or-later
// What must outlive the process, in SQLite (WAL, synchronous=FULL): revisions, users, tokens, sessions, the audit log. A
// call that returns true is on disk. One connection; calls are serialised inside. Texts returned are malloc'ed.
#ifndef MGMT_STORE_H
#define MGMT_STORE_H

#include "core/problem.h"
#include "core/types.h"

struct store;

enum revision_state {
	REVISION_STORED,    // written, not applied: what a crash between the two leaves; never booted
	REVISION_PENDING,   // applied, waiting for confirmation; after a crash or reboot it is reverted
	REVISION_CONFIRMED, // boots
	REVISION_REVERTED,
	REVISION_FAILED, // refused by the engine
	REVISION_STATES
};

struct revision_row {
	int64_t id, parent;
	uint32_t state;
	int64_t created_s; // Unix time
	uint32_t confirm_s;
	char author[64], source[64], comment[256], summary[256];
};

// Opens dir/weir.db, made and migrated as needed. If it is damaged (quick_check, or SQLite says so), it is moved aside, and a
// new one is made from dir/last-good.json, the last confirmed document, which store_set_state keeps; a loud problem
// (warning) says so. NULL with an error if nothing can be opened.
struct store *store_open(const char *dir, struct problems *out);
void store_close(struct store *s);

// Appends a revision in state STORED. Its id, or -1 with a problem (disk full, I/O error): nothing was changed.
int64_t store_add(struct store *s, int64_t parent, const char *document, const char *author, const char *source,
		  const char *comment, const char *summary, uint32_t confirm_s, struct problems *out);
// A step of its state machine, durable when true. CONFIRMED also writes dir/last-good.json (atomically, fsync).
bool store_set_state(struct store *s, int64_t id, enum revision_state state, struct problems *out);
// The newest revision in the state, 0: none.
int64_t store_newest(struct store *s, enum revision_state state);
// A revision's document; NULL: there is none.
char *store_document(struct store *s, int64_t id);
bool store_get(struct store *s, int64_t id, struct revision_row *out);
// Up to `n` rows with ids below `before` (0: from the newest), newest first. How many.
uint32_t store_list(struct store *s, int64_t before, struct revision_row *out, uint32_t n);

struct user_row {
	char name[64];
	char hash[256]; // "scrypt$..." as auth.c writes it
	uint32_t role;  // enum role (http.h)
};
bool store_user_get(struct store *s, const char *name, struct user_row *out);
bool store_user_put(struct store *s, const struct user_row *u, struct problems *out);
bool store_user_delete(struct store *s, const char *name, struct problems *out);
uint32_t store_users(struct store *s, struct user_row *out, uint32_t n);

// Tokens and sessions: `hash` is 32 bytes of SHA-256 over the secret, which is never stored.
struct token_row {
	int64_t id;
	char name[64]; // token's name, or the user of a session
	uint32_t role;
	int64_t created_s, used_s;
};
bool store_token_put(struct store *s, struct token_row *t, const uint8_t hash[32], struct problems *out); // sets t->id
bool store_token_get(struct store *s, const uint8_t hash[32], struct token_row *out);
bool store_token_delete(struct store *s, int64_t id, struct problems *out);
uint32_t store_tokens(struct store *s, struct token_row *out, uint32_t n);
struct session_row {
	char user[64];
	char csrf[64];
	int64_t created_s, used_s;
};
bool store_session_put(struct store *s, const struct session_row *r, const uint8_t hash[32]); // inserts or replaces
bool store_session_get(struct store *s, const uint8_t hash[32], struct session_row *out);
void store_session_delete(struct store *s, const uint8_t hash[32]);
void store_sessions_expire(struct store *s, int64_t idle_before_s, int64_t created_before_s);

struct audit_row {
	int64_t id, time_s;
	char who[64], from[64], what[256];
	int32_t status; // HTTP status of the answer
};
void store_audit(struct store *s, const struct audit_row *r); // best effort: a full disk does not stop an answer
uint32_t store_audit_list(struct store *s, struct audit_row *out, uint32_t n);

#endif
