// SPDX-License-Identifier: GPL-2.0-or-later
// Logging in: the certificate is looked at before anything secret is sent, then a session is made with the password, and from it,
// for an admin, a token that lasts. The API gives tokens to admins alone; others keep the session itself, which ends
// after 15 minutes without a request. The password is never written anywhere.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mgmt/weirctl_client.h"
#include "mgmt/weirctl_edit.h"
#include "mgmt/weirctl_files.h"
#include "mgmt/weirctl_terminal.h"

enum { PASSWORD_MAX = 512 };

// Makes sure a certificate is pinned, or that a CA answers for it.
static int settle_trust(struct ctl *c)
{
	struct answer a;
	int code;

	if (client_pinned(c->client) || c->o.cacert)
		return CTL_DONE;
	client_trust_any(c->client);
	code = client_send(c->client, &(struct call){.method = "GET", .path = "/v1/info"}, &a);
	answer_free(&a);
	if (code)
		return code;
	tell(&c->err, INK_NONE, "The certificate of %s has the SHA-256 fingerprint\n  %s\n", client_url(c->client),
	     client_fingerprint(c->client));
	if (!(c->o.given & OPT_YES)) {
		if (!isatty(STDIN_FILENO)) {
			tell(&c->err, INK_RED,
			     "weirctl: nobody is there to compare it: give --fingerprint, or --yes to trust it\n");
			return CTL_USAGE;
		}
		if (!ask_yes(&c->err, "Is that what the server printed at its first start?"))
			return CTL_REFUSED;
	}
	client_pin(c->client, client_fingerprint(c->client));
	return CTL_DONE;
}

static bool password_get(struct ctl *c, const char *whose, char *buf)
{
	char prompt[160];

	if (c->o.given & OPT_PASSWORD_STDIN)
		return password_from_stdin(buf, PASSWORD_MAX);
	snprintf(prompt, sizeof prompt, "%.100s: ", whose);
	return password_ask(prompt, buf, PASSWORD_MAX);
}

// Sends a JSON body that holds a secret, which is wiped.
static int call_with(struct ctl *c, const char *method, const char *path, json_t *body, struct answer *a)
{
	char *text = json_dumps(body, 0);
	int code;

	json_decref(body);
	if (!text) {
		memset(a, 0, sizeof *a);
		tell(&c->err, INK_RED, "weirctl: that is not UTF-8\n");
		return CTL_USAGE;
	}
	code = client_call(c->client, &(struct call){method, path, text, strlen(text), NULL, NULL}, a);
	explicit_bzero(text, strlen(text));
	free(text);
	return code;
}

// Appends -TEXT to the name of a token, with nothing in it but what such a name may have.
static void name_add(char *name, size_t size, const char *text)
{
	size_t at = strlen(name);

	for (name[at++] = '-'; *text && at + 1 < size; text++)
		name[at++] = isalnum((unsigned char)*text) || strchr("._-", *text) ? *text : '_';
	name[at] = '\0';
}

// Turns the session of an admin into a token, saved in `login`.
static int make_token(struct ctl *c, const char *user, const char *role, json_t *login)
{
	char name[64] = "weirctl", host[32] = "";
	const char *login_name = getenv("USER");
	struct answer a;
	json_t *token;
	int code;

	gethostname(host, sizeof host - 1);
	if (login_name && *login_name)
		name_add(name, sizeof name, login_name);
	name_add(name, sizeof name, host);
	code = call_with(c, "POST", "/v1/tokens", json_pack("{s:s, s:s}", "name", name, "role", role), &a);
	if (!code && (token = answer_json(c->client, &a))) {
		json_object_set(login, "token", json_object_get(token, "token"));
		json_object_set(login, "token_id", json_object_get(token, "id"));
		json_decref(token);
	}
	answer_free(&a);
	if (!code && !json_is_string(json_object_get(login, "token"))) {
		tell(&c->err, INK_RED, "weirctl: the server gave no token\n");
		code = CTL_REFUSED;
	}
	return code;
}

// With the session that is open now: what to save.
static int keep(struct ctl *c, const char *user, const json_t *session, const char *cookie)
{
	const char *role = json_string_value(json_object_get(session, "role"));
	const char *csrf = json_string_value(json_object_get(session, "csrf"));
	bool admin = role && !strcmp(role, "admin");
	json_t *login = json_pack("{s:s, s:s}", "user", user, "role", role ? role : "");
	char why[FILES_WHY];
	struct answer a;
	int code = CTL_DONE;

	if (!c->o.cacert)
		json_object_set_new(login, "fingerprint", json_string(client_fingerprint(c->client)));
	if (admin) {
		code = make_token(c, user, role, login);
		client_send(c->client, &(struct call){.method = "DELETE", .path = "/v1/session"}, &a);
		answer_free(&a);
	} else {
		json_object_set_new(login, "cookie", json_string(cookie));
		json_object_set_new(login, "csrf", json_string(csrf ? csrf : ""));
	}
	if (!code && !credentials_save(client_url(c->client), login, why)) {
		tell(&c->err, INK_RED, "weirctl: %s\n", why);
		code = CTL_REFUSED;
	}
	json_decref(login);
	if (!code)
		tell(&c->out, INK_GREEN, "logged in to %s as %s (%s)%s\n", client_url(c->client), user,
		     role ? role : "?", admin ? "" : ", until 15 minutes pass without a request");
	return code;
}

// Opens a session, which authenticates from then on: what the server said about it, or NULL. `a` must be freed.
static json_t *session_open(struct ctl *c, const char *user, const char *password, struct answer *a, int *code)
{
	json_t *session = NULL;

	client_session(c->client, NULL, NULL);
	*code = call_with(c, "POST", "/v1/session", json_pack("{s:s, s:s}", "user", user, "password", password), a);
	if (*code)
		return NULL;
	session = answer_json(c->client, a);
	if (!session || !a->cookie[0]) {
		tell(&c->err, INK_RED, "weirctl: the server opened no session\n");
		json_decref(session);
		*code = CTL_REFUSED;
		return NULL;
	}
	client_session(c->client, a->cookie, json_string_value(json_object_get(session, "csrf")));
	return session;
}

static int no_password(struct ctl *c)
{
	tell(&c->err, INK_RED, "weirctl: there is no password%s\n",
	     c->o.given & OPT_PASSWORD_STDIN ? " on standard input" : "; without a terminal use --password-stdin");
	return CTL_USAGE;
}

int login_run(struct ctl *c, int words, char **word)
{
	const char *user = c->o.user ? c->o.user : "admin";
	char password[PASSWORD_MAX], prompt[96];
	json_t *session;
	struct answer a;
	int code = settle_trust(c);

	if (code)
		return code;
	snprintf(prompt, sizeof prompt, "Password of %.60s", user);
	if (!password_get(c, prompt, password))
		return no_password(c);
	session = session_open(c, user, password, &a, &code);
	explicit_bzero(password, sizeof password);
	if (session)
		code = keep(c, user, session, a.cookie);
	json_decref(session);
	answer_free(&a);
	return code;
}

int logout_run(struct ctl *c, int words, char **word)
{
	json_t *login = client_login(c->client), *pin = json_object_get(login, "fingerprint"), *rest;
	json_int_t id = json_integer_value(json_object_get(login, "token_id"));
	char path[64] = "/v1/session", why[FILES_WHY];
	struct answer a;
	int code;

	if (!json_object_get(login, "user")) {
		tell(&c->err, INK_NONE, "weirctl: not logged in to %s\n", client_url(c->client));
		return CTL_DONE;
	}
	if (json_object_get(login, "token"))
		snprintf(path, sizeof path, "/v1/tokens/%" JSON_INTEGER_FORMAT, id);
	code = client_call(c->client, &(struct call){.method = "DELETE", .path = path}, &a);
	if (code)
		tell(&c->err, INK_YELLOW, "weirctl: the login is forgotten here, but the server may still accept it\n");
	answer_free(&a);
	rest = pin ? json_pack("{s:O}", "fingerprint", pin) : NULL; // the server stays known
	if (!credentials_save(client_url(c->client), rest, why)) {
		tell(&c->err, INK_RED, "weirctl: %s\n", why);
		code = CTL_REFUSED;
	}
	json_decref(rest);
	return code;
}

struct passwords {
	char old[PASSWORD_MAX], new[PASSWORD_MAX], again[PASSWORD_MAX];
};

// In a session of its own, made with the old password: a saved token must not be enough to change it.
static int password_change(struct ctl *c, const char *user, const struct passwords *p)
{
	char path[EDIT_POINTER_MAX + 16], name[EDIT_POINTER_MAX];
	struct answer a, rest;
	json_t *session;
	int code;

	if (!edit_name_url(user, name)) {
		tell(&c->err, INK_RED, "weirctl: that is no name of a user\n");
		return CTL_USAGE;
	}
	snprintf(path, sizeof path, "/v1/users%s", name);
	session = session_open(c, user, p->old, &a, &code);
	if (session) {
		code = call_with(c, "PUT", path, json_pack("{s:s, s:s}", "password", p->new, "old_password", p->old),
				 &rest);
		answer_free(&rest);
		client_send(c->client, &(struct call){.method = "DELETE", .path = "/v1/session"}, &rest);
		answer_free(&rest);
	}
	json_decref(session);
	answer_free(&a);
	return code;
}

int passwd_run(struct ctl *c, int words, char **word)
{
	const char *own = json_string_value(json_object_get(client_login(c->client), "user"));
	const char *user = c->o.user ? c->o.user : own ? own : "admin";
	bool typed = !(c->o.given & OPT_PASSWORD_STDIN);
	struct passwords p;
	int code;

	if (!password_get(c, "Old password", p.old) || !password_get(c, "New password", p.new) ||
	    (typed && !password_get(c, "New password again", p.again))) {
		code = no_password(c);
	} else if (typed && strcmp(p.new, p.again) != 0) {
		tell(&c->err, INK_RED, "weirctl: the two new passwords differ\n");
		code = CTL_USAGE;
	} else {
		code = password_change(c, user, &p);
	}
	explicit_bzero(&p, sizeof p);
	if (!code)
		tell(&c->out, INK_GREEN, "the password of %s is changed\n", user);
	return code;
}
