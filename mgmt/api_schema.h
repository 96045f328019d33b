// SPDX-License-Identifier: GPL-2.0-or-later
// GET /v1/schema. Its route is in api_state_routes.
#ifndef MGMT_API_SCHEMA_H
#define MGMT_API_SCHEMA_H

#include "mgmt/http.h"

void api_schema_get(struct request *r, struct response *a);

#endif
