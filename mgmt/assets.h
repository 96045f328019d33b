// SPDX-License-Identifier: GPL-2.0-or-later
// The dashboard's files, which are part of the program.
#ifndef MGMT_ASSETS_H
#define MGMT_ASSETS_H

#include "core/types.h"

struct asset_file {
	const char *type, *etag; // etag without quotes; changes with the content
	const void *data;
	size_t len;
};

// False: there is no such file. "/" is one.
bool asset_find(const char *path, struct asset_file *out);

#endif
