// SPDX-License-Identifier: GPL-2.0-or-later
// THE state machine of a change: validated -> stored -> applied -> confirmed | reverted. Every step is durable before the
// next begins, so that wherever the process dies, the box boots the newest confirmed revision, or finds a pending
// one and takes it back. Called by any thread; one change at a time.
#ifndef MGMT_COMMIT_H
#define MGMT_COMMIT_H

#include <jansson.h>

#include "core/problem.h"
#include "mgmt/manager_message.h"
#include "mgmt/store.h"

struct commit; // the manager's one
struct message;

enum commit_outcome {
	COMMIT_DONE,
	COMMIT_UNCHANGED, // the document is the one in force
	COMMIT_INVALID,   // problems say what
	COMMIT_STALE,     // based on another revision than the one in force
	COMMIT_BUSY,      // another revision is pending
	COMMIT_NEEDS_RESTART,
	COMMIT_NO_ENGINE,
	COMMIT_STORE_FAILED,
	COMMIT_NOT_PENDING, // nothing to confirm or revert
};

struct commit_request {
	int64_t base;     // the revision it was made from (ETag); -1: whatever is in force
	json_t *document; // the whole new document; borrowed
	const char *author, *source, *comment;
	uint32_t confirm_s; // 0: final
	bool dry_run, restart;
};

struct commit_receipt {
	int64_t revision; // in force afterwards
	bool pending;
	uint32_t seconds_left;
	uint64_t duration_ns, pause_ns, lost;
	json_t *changes;          // list of {op, path, from, to}; the caller owns it; NULL: none
	struct problems problems; // errors or warnings; problems_free
};

enum commit_outcome commit_change(struct commit *c, const struct commit_request *r, struct commit_receipt *out);
// Both idempotent: confirming what is confirmed already is DONE.
enum commit_outcome commit_confirm(struct commit *c, int64_t id, struct commit_receipt *out);
enum commit_outcome commit_revert(struct commit *c, int64_t id, struct commit_receipt *out);

// The document in force and its revision (a new reference; also while it is pending). {} and 0 if there is none.
json_t *commit_running(struct commit *c, int64_t *revision);
// The pending revision and the seconds it has left; 0: none.
int64_t commit_pending(struct commit *c, uint32_t *seconds_left);

// What differs, as a list of {"op":"add|remove|replace","path","from","to"}: one entry per leaf value or whole added or removed
// resource, in document order. Pure. The caller owns it.
json_t *document_diff(const json_t *from, const json_t *to);
// A sentence for the history: "3 changes: /shapers/wan/classes/a/ls, ...". buf has 256 bytes.
const char *diff_summary(const json_t *changes, char *buf);

// Whoever must hear of revisions and alarms (server-sent events): called on the thread where it happens, must not block.
typedef void commit_listener(void *arg, const char *event, json_t *data); // data borrowed
void commit_listen(struct commit *c, commit_listener *listener, void *arg);

// --- for the manager ---

// `channel` leads to the parent, and is read by somebody who calls commit_message (another thread than those that commit).
struct commit *commit_new(struct store *s, int channel);
void commit_free(struct commit *c);
// Makes the store agree with what the parent runs. If that is nothing: boots the newest confirmed revision; a store without
// one gets `seed` (a text of `len` bytes, NULL: none) as its first. Problems say what did not go well; the manager
// serves all the same.
void commit_start(struct commit *c, const struct mm_state *state, const char *seed, size_t len, struct problems *out);
// Tries again to boot, if nothing runs because the parent could not bring it up (a device that is not there yet).
void commit_retry(struct commit *c);
// One of the parent's messages. False: it makes no sense.
bool commit_message(struct commit *c, const struct message *m);
// The parent did not answer in time: what runs is not known. Only a new manager can find out.
bool commit_is_lost(struct commit *c);

#endif
