// SPDX-License-Identifier: GPL-2.0-or-later
// What all requests that change the configuration have in common: their query and If-Match, and the receipt.
#ifndef MGMT_API_WRITE_H
#define MGMT_API_WRITE_H

#include "mgmt/http.h"

enum { COMMENT_MAX = 200 }; // bytes

// dry_run, confirm, restart, comment of the query, and the author; base and document are the caller's. False: a 400 was
// answered.
bool write_query(const struct request *r, struct response *a, struct commit_request *out);

// The revision that If-Match names: *any for "*", else whether `revision` is named. False: 428, 412 or 400 was answered.
bool write_match(const struct request *r, struct response *a, int64_t revision, bool *any);

// Answers with the receipt or the error that the outcome means, and frees what the receipt owns.
void write_answer(struct response *a, enum commit_outcome outcome, const struct commit_request *q,
		  struct commit_receipt *receipt);

void write_etag(struct response *a, int64_t revision);

#endif
