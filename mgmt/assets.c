// SPDX-License-Identifier: GPL-2.0-or-later
// web/ is bundled and turned into a table when the program is built (Makefile): nothing is read from the disk, and no path of
// a request can name anything but a row of it.
#include "mgmt/assets.h"

#include <string.h>

#include <web_assets.h>

bool asset_find(const char *path, struct asset_file *out)
{
	for (size_t i = 0; i < ARRAY_LEN(assets) && assets[i].path; i++)
		if (!strcmp(assets[i].path, path)) {
			out->type = assets[i].type;
			out->etag = assets[i].etag;
			out->data = assets[i].data;
			out->len = assets[i].len;
			return true;
		}
	return false;
}
