// SPDX-License-Identifier: GPL-2.0-or-later
// What weirctl keeps between two calls, in ${XDG_CONFIG_HOME:-~/.config}/weir: who one is for which server
// (credentials), and the candidate of each server. Readable by its owner alone, replaced atomically.
#ifndef MGMT_WEIRCTL_FILES_H
#define MGMT_WEIRCTL_FILES_H

#include <jansson.h>

#include "core/types.h"

enum { FILES_WHY = 512, BASE_MAX = 64, DOCUMENT_BYTES_MAX = 16 << 20 };

// Everything of a file ("-": standard input) of at most `max` bytes; malloc'ed, with a 0 at its end. NULL: why.
char *file_read(const char *path, size_t max, size_t *len, char *why);

// The saved login of a server: {"fingerprint","user","role","token","token_id","cookie","csrf"}, each if there is one. The
// caller owns it; {} if there is none; NULL: why (unreadable, or others may read it).
json_t *credentials_load(const char *url, char *why);
// NULL: forgets the server. The reference stays the caller's.
bool credentials_save(const char *url, const json_t *login, char *why);

// A changed configuration that no server has seen yet.
struct candidate {
	char base[BASE_MAX]; // ETag of what it was made from
	char started[32];    // when
	json_t *original;    // what it was made from, for rebasing
	json_t *document;
	int lock; // kept from load to close, so that two calls do not lose each other's edits
};

enum candidate_found { CANDIDATE_BROKEN = -1, CANDIDATE_NONE, CANDIDATE_THERE };
// Either way (but for BROKEN: why) the candidate is locked and must be closed.
enum candidate_found candidate_load(const char *url, struct candidate *c, char *why);
bool candidate_save(const char *url, const struct candidate *c, char *why);
bool candidate_drop(const char *url, char *why);
void candidate_close(struct candidate *c);

#endif
