// SPDX-License-Identifier: GPL-2.0-or-later
// What handlers answer with: JSON, or problem details (RFC 9457) with all problems at once.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "mgmt/http.h"

static void respond_clear(struct response *a)
{
	json_decref(a->json);
	free(a->text);
	a->json = NULL;
	a->text = NULL;
	a->type = NULL;
}

void respond_json(struct response *a, int status, json_t *body)
{
	respond_clear(a);
	a->status = status;
	a->json = body;
	a->type = "application/json";
}

static json_t *listed(const struct problems *p, enum problem_level level)
{
	json_t *list = json_array();

	for (uint32_t i = 0; p && i < p->kept; i++)
		if (p->list[i].level == level)
			json_array_append_new(
				list, json_pack("{s:s, s:s}", "pointer", p->list[i].path, "text", p->list[i].text));
	return list;
}

void respond_error(struct response *a, int status, const char *detail, const struct problems *problems)
{
	respond_json(a, status,
		     json_pack("{s:s, s:s, s:i, s:s, s:o, s:o}", "type", "about:blank", "title",
			       MHD_get_reason_phrase_for((unsigned)status), "status", status, "detail", detail,
			       "errors", listed(problems, PROBLEM_ERROR), "warnings",
			       listed(problems, PROBLEM_WARNING)));
	a->type = "application/problem+json";
}
