// SPDX-License-Identifier: GPL-2.0-or-later
// Editing a document in memory: paths and values as they are typed, the changes they make, and carrying changes over to
// a document that somebody else has changed meanwhile. No files, no network.
#ifndef MGMT_WEIRCTL_EDIT_H
#define MGMT_WEIRCTL_EDIT_H

#include <jansson.h>

#include "core/types.h"

enum { EDIT_STEPS_MAX = 16, EDIT_PATH_MAX = 1024, EDIT_WHY = 320 };

// A place in the document. Steps are keys or list indices; "-" is the end of a list.
struct edit_path {
	unsigned depth;
	const char *step[EDIT_STEPS_MAX]; // into text
	char text[EDIT_PATH_MAX];
};

// Words with slashes, or one step each, or mixed: "shapers wan/rate", "/shapers/wan/rate". ~1 and ~0 stand for / and ~
// as in a JSON pointer. False: `why` (EDIT_WHY bytes, everywhere below) says what is wrong.
bool edit_path_read(struct edit_path *p, char **word, int words, char *why);
// As a JSON pointer ("" for the whole document), and as the path of an URL. buf has EDIT_POINTER_MAX bytes.
enum { EDIT_POINTER_MAX = 3 * EDIT_PATH_MAX + EDIT_STEPS_MAX + 1 };
const char *edit_pointer(const struct edit_path *p, char *buf);
const char *edit_url(const struct edit_path *p, char *buf);
// "/NAME" as the path of an URL, whatever is in the name; NULL: it is empty or longer than EDIT_PATH_MAX.
const char *edit_name_url(const char *name, char *buf);

// `text` as JSON if it is JSON, else as a string; what begins like an object, list or quoted string must be one. The
// caller owns the reference; NULL: why.
json_t *edit_value(const char *text, char *why);
// The words of `set`: a first word with a leading slash is the whole path, and several values make a list; otherwise the
// last word is the value.
bool edit_assignment(struct edit_path *p, json_t **value, char **word, int words, char *why);

// What is at the path, borrowed; NULL: nothing.
json_t *edit_get(json_t *document, const struct edit_path *p);
// Puts a value there, and objects on the way that are missing. Into a list: replaces the element, or appends ("-").
// `insert`: a new element before the index. The value is taken over in any case.
bool edit_set(json_t *document, const struct edit_path *p, json_t *value, bool insert, char *why);
bool edit_delete(json_t *document, const struct edit_path *p, char *why);

// RFC 7396. A new document; the arguments are left alone.
json_t *edit_merged(const json_t *target, const json_t *patch);

// Three ways: `mine` and `theirs` both came from `base`. Returns a new document with both's changes. Where both changed the
// same value differently it has `theirs` (or `mine`, if prefer_mine), and the pointer is added to `conflicts`, a list.
// Lists are single values here: whose element is whose after two insertions is not for a program to guess.
json_t *edit_rebased(const json_t *base, const json_t *mine, const json_t *theirs, bool prefer_mine, json_t *conflicts);

#endif
