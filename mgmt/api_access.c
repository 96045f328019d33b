// SPDX-License-Identifier: GPL-2.0-or-later
// Who may use the API: sessions, users, tokens, and the log of who did what. All that writes here runs on the queue of
// writes, one at a time, so what is looked at first (is this the last admin?) still holds when it is written.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/clock.h"
#include "mgmt/http_exchange.h"
#include "mgmt/json.h"
#include "mgmt/version.h"

enum { USERS_MAX = 256, TOKENS_MAX = 256, AUDIT_MAX = 1000, SMALL_BODY = 4096 };

static json_t *time_json(int64_t s)
{
	char text[32];
	time_t t = (time_t)s;
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

// The answer to a store that could not be written.
static void respond_stored(struct response *a, const struct problems *found)
{
	respond_error(a, 503, "the store could not be written; nothing was changed", found);
}

// --- the fields of a body ------------------------------------------------------------------------------------------

struct field {
	const char *key;
	const char **value; // NULL stays if it is absent
	bool required;
};

// Reads a body of text fields. False: everything that is wrong with it was answered (422; 400 without a body).
static bool read_fields(const struct request *r, struct response *a, const struct field *field, size_t fields)
{
	struct problems found = {0};
	const char *key;
	json_t *v;

	if (!json_is_object(r->json)) {
		respond_error(a, r->json ? 422 : 400, "the body must be a JSON object", NULL);
		return false;
	}
	for (size_t i = 0; i < fields; i++) {
		char pointer[64];

		v = json_object_get(r->json, field[i].key);
		snprintf(pointer, sizeof pointer, "/%s", field[i].key);
		*field[i].value = json_string_value(v);
		if (v && !json_is_string(v))
			problem_add(&found, PROBLEM_ERROR, pointer, "must be a text");
		else if (!v && field[i].required)
			problem_add(&found, PROBLEM_ERROR, pointer, "is missing");
	}
	json_object_foreach(r->json, key, v)
	{
		struct place at = {0};
		char pointer[PROBLEM_PATH_MAX];
		size_t i = 0;

		while (i < fields && strcmp(field[i].key, key) != 0)
			i++;
		place_key(&at, key);
		if (i == fields)
			problem_add(&found, PROBLEM_ERROR, place_pointer(&at, pointer), "is not known here");
	}
	if (found.errors)
		respond_error(a, 422, "the body does not have the right fields", &found);
	problems_free(&found);
	return !a->status;
}

static void respond_field(struct response *a, const char *pointer, const char *text)
{
	struct problems found = {0};

	problem_add(&found, PROBLEM_ERROR, pointer, "%s", text);
	respond_error(a, 422, text, &found);
	problems_free(&found);
}

static bool read_role(struct response *a, const char *text, enum role *out)
{
	if (role_parse(text, out))
		return true;
	respond_field(a, "/role", "a role is viewer, operator or admin");
	return false;
}

// --- info and session ----------------------------------------------------------------------------------------------

static void get_info(struct request *r, struct response *a)
{
	respond_json(a, 200,
		     json_pack("{s:s, s:s, s:s, s:o, s:I}", "name", "weir", "version", WEIR_VERSION, "api", "v1",
			       "started", time_json(r->api->started_s), "uptime_s",
			       (json_int_t)(time(NULL) - r->api->started_s)));
}

static void respond_session(struct response *a, const struct identity *who)
{
	json_t *body = json_pack("{s:s, s:s}", "user", who->user, "role", role_name(who->role));

	if (who->kind == CREDENTIAL_SESSION)
		json_object_set_new(body, "csrf", json_string(who->csrf));
	respond_json(a, 200, body);
}

static void get_session(struct request *r, struct response *a)
{
	respond_session(a, request_identity(r));
}

void handle_login(struct request *r, struct response *a)
{
	const char *user, *password;
	const struct field fields[] = {{"user", &user, true}, {"password", &password, true}};
	struct identity who;
	char secret[SECRET_TEXT];
	int wait;

	if (!read_fields(r, a, fields, ARRAY_LEN(fields)))
		return;
	r->user = user;
	switch (auth_password(request_auth(r), user, password, r->from, clock_now(), &who, &wait)) {
	case AUTH_WAIT:
		respond_error(a, 429, "too many failed logins", NULL);
		a->retry_after_s = wait;
		return;
	case AUTH_WRONG:
		respond_error(a, 401, "wrong name or password", NULL);
		return;
	case AUTH_FINE:
		break;
	}
	if (!auth_session_open(request_auth(r), &who, time(NULL), secret)) {
		respond_stored(a, NULL);
		return;
	}
	respond_session(a, &who);
	snprintf(a->cookie, sizeof a->cookie, "__Host-weir=%s; Path=/; Secure; HttpOnly; SameSite=Strict", secret);
}

static void delete_session(struct request *r, struct response *a)
{
	auth_session_close(request_auth(r), request_identity(r));
	respond_json(a, 204, NULL);
	snprintf(a->cookie, sizeof a->cookie, "__Host-weir=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict");
}

// --- users ---------------------------------------------------------------------------------------------------------

static void get_users(struct request *r, struct response *a)
{
	struct user_row *u = calloc(USERS_MAX, sizeof *u);
	uint32_t n = u ? store_users(r->api->store, u, USERS_MAX) : 0;
	json_t *list = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", u[i].name, "role", role_name(u[i].role)));
	free(u);
	respond_json(a, 200, json_pack("{s:o}", "users", list));
}

// Whether taking this user's role away would leave nobody who can give roles; and how many users there are.
static bool last_admin(struct store *s, const char *name, uint32_t *users)
{
	struct user_row *u = calloc(USERS_MAX, sizeof *u);
	bool is_admin = false, others = false;

	*users = u ? store_users(s, u, USERS_MAX) : 0;
	for (uint32_t i = 0; i < *users; i++) {
		bool same = !strcmp(u[i].name, name);

		is_admin |= same && u[i].role == ROLE_ADMIN;
		others |= !same && u[i].role == ROLE_ADMIN;
	}
	free(u);
	return is_admin && !others;
}

// The own password: the old one is asked for, because whoever finds an open session must not be able to keep it.
static bool old_password_fits(struct request *r, struct response *a, const char *old)
{
	struct identity who;
	int wait;

	if (!old) {
		respond_field(a, "/old_password", "is missing");
		return false;
	}
	switch (auth_password(request_auth(r), r->user, old, r->from, clock_now(), &who, &wait)) {
	case AUTH_FINE:
		return true;
	case AUTH_WRONG:
		respond_error(a, 403, "the old password is wrong", NULL);
		break;
	case AUTH_WAIT:
		respond_error(a, 429, "too many failed logins", NULL);
		a->retry_after_s = wait;
		break;
	}
	return false;
}

// Fills in what is to be stored. False: answered.
static bool new_user_row(struct response *a, bool known, const char *role, const char *password, struct user_row *u)
{
	enum role given = (enum role)u->role;
	const char *fault;

	if (!known && (!role || !password)) {
		respond_field(a, role ? "/password" : "/role", "is missing; a new user needs role and password");
		return false;
	}
	if (role && !read_role(a, role, &given))
		return false;
	u->role = given;
	fault = password ? password_fault(u->name, password) : NULL;
	if (fault) {
		respond_field(a, "/password", fault);
		return false;
	}
	if (password && !password_hash(password, u->hash)) {
		respond_error(a, 503, "no memory to hash the password", NULL);
		return false;
	}
	return true;
}

static void store_user(struct request *r, struct response *a, const struct user_row *u, bool known)
{
	struct problems found = {0};

	if (store_user_put(r->api->store, u, &found)) {
		respond_json(a, known ? 200 : 201,
			     json_pack("{s:s, s:s}", "name", u->name, "role", role_name(u->role)));
		if (!known)
			snprintf(a->location, sizeof a->location, "/v1/users/%s", u->name);
	} else {
		respond_stored(a, &found);
	}
	problems_free(&found);
}

static void put_user(struct request *r, struct response *a)
{
	const char *role, *password, *old, *fault = name_fault(r->name);
	const struct field fields[] = {
		{"role", &role, false}, {"password", &password, false}, {"old_password", &old, false}};
	bool own = request_identity(r)->kind != CREDENTIAL_TOKEN && !strcmp(r->name, r->user), known;
	struct user_row u = {.role = ROLE_NONE};
	uint32_t users;

	if (r->role < ROLE_ADMIN && !own) {
		respond_error(a, 403, "only an admin may change other users", NULL);
		return;
	}
	if (!read_fields(r, a, fields, ARRAY_LEN(fields)))
		return;
	if (fault) {
		respond_error(a, 422, fault, NULL);
		return;
	}
	known = store_user_get(r->api->store, r->name, &u);
	snprintf(u.name, sizeof u.name, "%s", r->name);
	if (!role && !password) {
		respond_error(a, 422, "there is neither a role nor a password in the body", NULL);
	} else if (role && r->role < ROLE_ADMIN) {
		respond_error(a, 403, "only an admin may change roles", NULL);
	} else if (own && password && (old || !role) && !old_password_fits(r, a, old)) {
		return;
	} else if (role && strcmp(role, "admin") != 0 && last_admin(r->api->store, r->name, &users)) {
		respond_error(a, 409, "this is the last admin", NULL);
	} else if (!known && (last_admin(r->api->store, r->name, &users), users >= USERS_MAX)) {
		respond_error(a, 409, "there are 256 users already", NULL);
	} else if (new_user_row(a, known, role, password, &u)) {
		store_user(r, a, &u, known);
	}
}

static void delete_user(struct request *r, struct response *a)
{
	struct problems found = {0};
	struct user_row u;
	uint32_t users;

	if (!store_user_get(r->api->store, r->name, &u))
		respond_error(a, 404, "there is no such user", NULL);
	else if (last_admin(r->api->store, r->name, &users))
		respond_error(a, 409, "this is the last admin", NULL);
	else if (store_user_delete(r->api->store, r->name, &found))
		respond_json(a, 204, NULL);
	else
		respond_stored(a, &found);
	problems_free(&found);
}

// --- tokens --------------------------------------------------------------------------------------------------------

static void get_tokens(struct request *r, struct response *a)
{
	struct token_row *t = calloc(TOKENS_MAX, sizeof *t);
	uint32_t n = t ? store_tokens(r->api->store, t, TOKENS_MAX) : 0;
	json_t *list = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:I, s:s, s:s, s:o, s:o}", "id", (json_int_t)t[i].id, "name",
						      t[i].name, "role", role_name(t[i].role), "created",
						      time_json(t[i].created_s), "used",
						      t[i].used_s ? time_json(t[i].used_s) : json_null()));
	free(t);
	respond_json(a, 200, json_pack("{s:o}", "tokens", list));
}

static void post_token(struct request *r, struct response *a)
{
	const char *name, *role, *fault;
	const struct field fields[] = {{"name", &name, true}, {"role", &role, true}};
	struct token_row t = {.created_s = time(NULL)}, *all;
	struct problems found = {0};
	char token[TOKEN_TEXT];
	enum role given;
	uint8_t hash[32];
	uint32_t n;

	if (!read_fields(r, a, fields, ARRAY_LEN(fields)) || !read_role(a, role, &given))
		return;
	fault = name_fault(name);
	if (fault) {
		respond_field(a, "/name", fault);
		return;
	}
	all = calloc(TOKENS_MAX, sizeof *all);
	n = all ? store_tokens(r->api->store, all, TOKENS_MAX) : TOKENS_MAX;
	free(all);
	snprintf(t.name, sizeof t.name, "%s", name);
	t.role = given;
	if (n >= TOKENS_MAX) {
		respond_error(a, 409, "there are 256 tokens already", NULL);
	} else if (!token_make(token, hash) || !store_token_put(r->api->store, &t, hash, &found)) {
		respond_stored(a, &found);
	} else {
		respond_json(a, 201,
			     json_pack("{s:I, s:s, s:s, s:s}", "id", (json_int_t)t.id, "name", t.name, "role",
				       role_name(given), "token", token));
		snprintf(a->location, sizeof a->location, "/v1/tokens/%lld", (long long)t.id);
	}
	problems_free(&found);
}

static void delete_token(struct request *r, struct response *a)
{
	struct token_row *t = calloc(TOKENS_MAX, sizeof *t);
	uint32_t n = t ? store_tokens(r->api->store, t, TOKENS_MAX) : 0;
	struct problems failed = {0};
	int64_t id = -1;

	for (uint32_t i = 0; i < n; i++) {
		char text[24];

		snprintf(text, sizeof text, "%lld", (long long)t[i].id);
		if (!strcmp(text, r->name))
			id = t[i].id;
	}
	free(t);
	if (id < 0)
		respond_error(a, 404, "there is no such token", NULL);
	else if (store_token_delete(r->api->store, id, &failed))
		respond_json(a, 204, NULL);
	else
		respond_stored(a, &failed);
	problems_free(&failed);
}

static void get_audit(struct request *r, struct response *a)
{
	struct audit_row *row;
	json_t *list;
	int64_t limit;
	uint32_t n;

	if (!request_number(r, a, "limit", 1, AUDIT_MAX, 100, &limit))
		return;
	row = calloc((size_t)limit, sizeof *row);
	n = row ? store_audit_list(r->api->store, row, (uint32_t)limit) : 0;
	list = json_array();
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:I, s:o, s:s, s:s, s:s, s:i}", "id", (json_int_t)row[i].id,
						      "time", time_json(row[i].time_s), "who", row[i].who, "from",
						      row[i].from, "what", row[i].what, "status", (int)row[i].status));
	free(row);
	respond_json(a, 200, json_pack("{s:o}", "audit", list));
}

const struct route api_access_routes[] = {
	{HTTP_GET, "/v1/info", ROLE_NONE, get_info, 0, "what this is, and since when it runs"},
	{HTTP_POST, "/v1/session", ROLE_NONE, handle_login, SMALL_BODY, "log in"},
	{HTTP_GET, "/v1/session", ROLE_VIEWER, get_session, 0, "who one is"},
	{HTTP_DELETE, "/v1/session", ROLE_VIEWER, delete_session, 0, "log out"},
	{HTTP_GET, "/v1/users", ROLE_ADMIN, get_users, 0, "users"},
	{HTTP_PUT, "/v1/users/{name}", ROLE_VIEWER, put_user, SMALL_BODY, "make or change a user; or the own password"},
	{HTTP_DELETE, "/v1/users/{name}", ROLE_ADMIN, delete_user, 0, "remove a user"},
	{HTTP_GET, "/v1/tokens", ROLE_ADMIN, get_tokens, 0, "tokens"},
	{HTTP_POST, "/v1/tokens", ROLE_ADMIN, post_token, SMALL_BODY, "make a token"},
	{HTTP_DELETE, "/v1/tokens/{id}", ROLE_ADMIN, delete_token, 0, "remove a token"},
	{HTTP_GET, "/v1/audit", ROLE_ADMIN, get_audit, 0, "who did what"},
	{0},
};
