// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as an encoded configuration. The header is put right, or the fuzzer would spend its time on it; what
// decodes must survive the check, and encode to what it was decoded from.
#include <stdlib.h>
#include <string.h>

#include "io/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t header[8] = {'w', 'c', 'n', 'f', 1, 0, 0, 0};
	struct problems found = {0};
	struct config *c;
	uint64_t len = size + 16;
	uint8_t *bytes = malloc(len), *again;
	size_t again_len;

	memcpy(bytes, header, sizeof header);
	memcpy(bytes + 8, &len, sizeof len);
	if (size)
		memcpy(bytes + 16, data, size);
	c = config_decode(bytes, len, &found);
	if (!c && !found.errors)
		abort();
	if (c) {
		config_check(c, &found);
		config_check_live(c, c, &found);
		if (!config_encode(c, &again, &again_len) || again_len != len || memcmp(bytes, again, len) != 0)
			abort();
		free(again);
	}
	config_free(c);
	problems_free(&found);
	free(bytes);
	return 0;
}
