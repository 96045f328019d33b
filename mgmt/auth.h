// SPDX-License-Identifier: GPL-2.0-or-later
// Who is it? Passwords, tokens and sessions against the store, and how often one may guess. Any thread, unless said
// otherwise. Times: now_s is Unix time, now monotonic.
#ifndef MGMT_AUTH_H
#define MGMT_AUTH_H

#include "core/problem.h"
#include "core/units.h"
#include "mgmt/http.h"

enum {
	SESSION_IDLE_S = 15 * 60,
	SESSION_MAX_S = 12 * 3600,
	PASSWORD_MIN = 10,  // characters
	PASSWORD_MAX = 256, // bytes
	SECRET_TEXT = 44,   // 32 bytes in base64url, and the end
	TOKEN_TEXT = 5 + SECRET_TEXT,
};

enum credential { CREDENTIAL_NONE, CREDENTIAL_SESSION, CREDENTIAL_TOKEN, CREDENTIAL_PASSWORD };

struct identity {
	enum credential kind;
	enum role role;
	char user[80];          // a token's is "token:NAME", which no user can be called
	uint8_t hash[32];       // of the token, of the session's secret, or of the stored password hash
	char csrf[SECRET_TEXT]; // of a session
	int64_t used_s;         // when token or session was noted as used
};

struct auth *auth_new(struct store *s);
void auth_free(struct auth *a);

// False: there is no such token, or session (any more).
bool auth_token(struct auth *a, const char *token, struct identity *out);
bool auth_session(struct auth *a, const char *secret, int64_t now_s, struct identity *out);

enum auth_verdict { AUTH_FINE, AUTH_WRONG, AUTH_WAIT };
// Seconds until this user may try again from there; 0: now.
int auth_wait(struct auth *a, const char *user, const char *from, nsec_t now);
// Takes about a tenth of a second and 32 MB whatever comes out, but for AUTH_WAIT (*wait_s says how long), which
// looks at nothing.
enum auth_verdict auth_password(struct auth *a, const char *user, const char *password, const char *from, nsec_t now,
				struct identity *out, int *wait_s);

// Makes a session for who proved the password. `secret` (SECRET_TEXT bytes) is for the cookie; who->csrf is set. False: the
// store could not be written.
bool auth_session_open(struct auth *a, struct identity *who, int64_t now_s, char *secret);
void auth_session_close(struct auth *a, const struct identity *who);
// Notes that token or session is in use, at most once a minute: a write. Not concurrently with removing them, or it would
// bring them back.
bool auth_touch_due(const struct identity *who, int64_t now_s);
void auth_touch(struct auth *a, const struct identity *who, int64_t now_s);
// Whether the identity would still be let in, with at least this role.
bool auth_still(struct auth *a, const struct identity *who, enum role least, int64_t now_s);

// NULL, or what is wrong with a new password or a name (static text).
const char *password_fault(const char *user, const char *password);
const char *name_fault(const char *name);
// "scrypt$N$r$p$salt$hash" into buf (256 bytes); as slow as auth_password. False: no memory.
bool password_hash(const char *password, char *buf);
// A new token (TOKEN_TEXT bytes) and its hash.
bool token_make(char *token, uint8_t hash[32]);

bool role_parse(const char *text, enum role *out);
const char *role_name(enum role r);

#endif
