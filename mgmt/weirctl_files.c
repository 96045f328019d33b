// SPDX-License-Identifier: GPL-2.0-or-later
// Files are written beside and renamed, so a reader finds the old or the new one. The lock is a file of its own,
// because the file that it guards is replaced.
#include "mgmt/weirctl_files.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CREDENTIALS_BYTES_MAX = 1 << 20, CANDIDATE_BYTES_MAX = 4 * DOCUMENT_BYTES_MAX };

static bool failed(char *why, const char *path)
{
	snprintf(why, FILES_WHY, "%.300s: %s", path, strerror(errno));
	return false;
}

// Makes the folder if it is missing. `name` in it, into buf (PATH_MAX bytes).
static bool path_of(const char *name, char *buf, char *why)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n;

	if (config && *config == '/')
		n = snprintf(buf, PATH_MAX, "%s/weir/%s", config, name);
	else if (home && *home == '/')
		n = snprintf(buf, PATH_MAX, "%s/.config/weir/%s", home, name);
	else
		return snprintf(why, FILES_WHY, "neither XDG_CONFIG_HOME nor HOME says where files are kept"), false;
	if (n >= PATH_MAX - 8)
		return snprintf(why, FILES_WHY, "the path of the home directory is too long"), false;
	for (char *p = strchr(buf + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(buf, 0700) && errno != EEXIST)
			return failed(why, buf);
		*p = '/';
	}
	return true;
}

static char *read_fd(int fd, const char *path, size_t max, size_t *len, char *why)
{
	size_t room = 1 << 16, at = 0;
	char *text = malloc(room);
	ssize_t n;

	while (text && (n = read(fd, text + at, room - at - 1)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			failed(why, path);
			break;
		}
		at += (size_t)n;
		if (at > max) {
			snprintf(why, FILES_WHY, "%.300s: larger than %zu bytes", path, max);
			n = -1;
			break;
		}
		if (at + 1 == room) {
			char *grown = realloc(text, room *= 2);

			if (!grown)
				free(text);
			text = grown;
		}
	}
	if (!text) {
		snprintf(why, FILES_WHY, "out of memory");
		return NULL;
	}
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[at] = '\0';
	*len = at;
	return text;
}

char *file_read(const char *path, size_t max, size_t *len, char *why)
{
	bool input = !strcmp(path, "-");
	int fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	char *text;

	if (fd < 0)
		return failed(why, path), NULL;
	text = read_fd(fd, input ? "standard input" : path, max, len, why);
	if (!input)
		close(fd);
	return text;
}

// A JSON object of our own; an empty one if the file is not there.
static json_t *load(const char *path, size_t max, bool secret, char *why)
{
	json_error_t error;
	struct stat st;
	json_t *v;
	char *text;
	size_t len;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return errno == ENOENT ? json_object() : (failed(why, path), NULL);
	if (fstat(fd, &st) || (secret && (st.st_mode & 077 || st.st_uid != geteuid()))) {
		snprintf(why, FILES_WHY, "%.300s: others may read it, so it is not used: chmod 600 it", path);
		close(fd);
		return NULL;
	}
	text = read_fd(fd, path, max, &len, why);
	close(fd);
	if (!text)
		return NULL;
	v = json_loadb(text, len, 0, &error);
	explicit_bzero(text, len);
	free(text);
	if (!json_is_object(v)) {
		snprintf(why, FILES_WHY, "%.300s: not a file of weirctl (%s); remove it", path,
			 v ? "no object" : error.text);
		json_decref(v);
		return NULL;
	}
	return v;
}

static bool save(const char *path, const json_t *v, char *why)
{
	char temporary[PATH_MAX];
	char *text = json_dumps(v, JSON_INDENT(1));
	size_t len = text ? strlen(text) : 0, at = 0;
	bool ok = text != NULL;
	ssize_t n;
	int fd;

	if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= PATH_MAX || !ok) {
		free(text);
		return snprintf(why, FILES_WHY, "out of memory"), false;
	}
	fd = mkostemp(temporary, O_CLOEXEC); // 0600
	for (ok = fd >= 0; ok && at < len; at += (size_t)n) {
		n = write(fd, text + at, len - at);
		ok = n > 0;
	}
	ok = ok && !fsync(fd) && !rename(temporary, path);
	if (!ok) {
		failed(why, temporary);
		if (fd >= 0)
			unlink(temporary);
	}
	if (fd >= 0)
		close(fd);
	explicit_bzero(text, len);
	free(text);
	return ok;
}

static int lock_open(char *why)
{
	char path[PATH_MAX];
	int fd;

	if (!path_of("lock", path, why))
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX)) {
		failed(why, path);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

// ---- credentials

json_t *credentials_load(const char *url, char *why)
{
	char path[PATH_MAX];
	json_t *all = path_of("credentials", path, why) ? load(path, CREDENTIALS_BYTES_MAX, true, why) : NULL;
	json_t *mine;

	if (!all)
		return NULL;
	mine = json_incref(json_object_get(json_object_get(all, "servers"), url));
	json_decref(all);
	return mine ? mine : json_object();
}

bool credentials_save(const char *url, const json_t *login, char *why)
{
	char path[PATH_MAX];
	int lock = lock_open(why);
	json_t *all =
		lock >= 0 && path_of("credentials", path, why) ? load(path, CREDENTIALS_BYTES_MAX, true, why) : NULL;
	bool ok = false;

	if (all) {
		json_t *servers = json_object_get(all, "servers");

		if (!json_is_object(servers)) {
			servers = json_object();
			json_object_set_new(all, "servers", servers);
		}
		if (login)
			json_object_set_new(servers, url, json_deep_copy(login));
		else
			json_object_del(servers, url);
		ok = save(path, all, why);
		json_decref(all);
	}
	if (lock >= 0)
		close(lock);
	return ok;
}

// ---- candidates

// candidate-HOST:PORT, with nothing in it that means something in a path.
static bool candidate_path(const char *url, char *buf, char *why)
{
	char name[256];
	const char *host = strstr(url, "://");

	snprintf(name, sizeof name, "candidate-%s", host ? host + 3 : url);
	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("-.:[]", *p))
			*p = '_';
	return path_of(name, buf, why);
}

enum candidate_found candidate_load(const char *url, struct candidate *c, char *why)
{
	char path[PATH_MAX];
	json_t *v = NULL, *document, *original;
	const char *base, *started;

	memset(c, 0, sizeof *c);
	c->lock = lock_open(why);
	if (c->lock < 0)
		return CANDIDATE_BROKEN;
	if (!candidate_path(url, path, why) || !(v = load(path, CANDIDATE_BYTES_MAX, false, why))) {
		candidate_close(c);
		return CANDIDATE_BROKEN;
	}
	if (!json_object_size(v)) {
		json_decref(v);
		return CANDIDATE_NONE;
	}
	base = json_string_value(json_object_get(v, "base"));
	started = json_string_value(json_object_get(v, "started"));
	document = json_object_get(v, "document");
	original = json_object_get(v, "original");
	if (!base || strlen(base) >= sizeof c->base || !json_is_object(document) || !json_is_object(original)) {
		snprintf(why, FILES_WHY, "%.300s: not a candidate of weirctl; remove it", path);
		json_decref(v);
		candidate_close(c);
		return CANDIDATE_BROKEN;
	}
	snprintf(c->base, sizeof c->base, "%s", base);
	snprintf(c->started, sizeof c->started, "%s", started ? started : "");
	c->document = json_incref(document);
	c->original = json_incref(original);
	json_decref(v);
	return CANDIDATE_THERE;
}

bool candidate_save(const char *url, const struct candidate *c, char *why)
{
	char path[PATH_MAX];
	json_t *v = json_pack("{s:s, s:s, s:s, s:O, s:O}", "server", url, "base", c->base, "started", c->started,
			      "original", c->original, "document", c->document);
	bool ok = v && candidate_path(url, path, why) && save(path, v, why);

	if (!v)
		snprintf(why, FILES_WHY, "out of memory");
	json_decref(v);
	return ok;
}

bool candidate_drop(const char *url, char *why)
{
	char path[PATH_MAX];

	if (!candidate_path(url, path, why))
		return false;
	return !unlink(path) || errno == ENOENT || failed(why, path);
}

void candidate_close(struct candidate *c)
{
	json_decref(c->original);
	json_decref(c->document);
	c->original = c->document = NULL;
	if (c->lock >= 0)
		close(c->lock);
	c->lock = -1;
}
