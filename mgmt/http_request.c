// SPDX-License-Identifier: GPL-2.0-or-later
// What handlers ask of a request.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mgmt/http_exchange.h"

const char *header_of(struct MHD_Connection *c, const char *key)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, key);
}

const char *request_query(const struct request *r, const char *key)
{
	const struct exchange *e = r->connection;

	return e ? target_query(&e->target, key) : NULL;
}

const char *request_header(const struct request *r, const char *key)
{
	const struct exchange *e = r->connection;

	return e ? header_of(e->mhd, key) : NULL;
}

const struct identity *request_identity(const struct request *r)
{
	const struct exchange *e = r->connection;

	return &e->identity;
}

struct auth *request_auth(const struct request *r)
{
	const struct exchange *e = r->connection;

	return e->http->auth;
}

bool request_number(const struct request *r, struct response *a, const char *key, int64_t min, int64_t max, int64_t def,
		    int64_t *out)
{
	const char *text = request_query(r, key);
	char detail[128];
	long long value;

	*out = def;
	if (!text)
		return true;
	errno = 0;
	value = strtoll(text, NULL, 10);
	if (*text && strspn(text, "0123456789") == strlen(text) && !errno && value >= min && value <= max) {
		*out = value;
		return true;
	}
	snprintf(detail, sizeof detail, "the query's \"%s\" is not a number from %lld to %lld", key, (long long)min,
		 (long long)max);
	respond_error(a, 400, detail, NULL);
	return false;
}
