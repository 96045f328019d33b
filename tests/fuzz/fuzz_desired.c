// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as a desired state: no crash, no leak; what is accepted passes the checks of whoever receives it, and says
// the same after a trip through its encoded form.
#include <stdlib.h>

#include "mgmt/desired.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct problems p = {0}, again = {0};
	struct config *c = desired_parse((const char *)data, size, &p), *copy;
	uint8_t *bytes;
	size_t len;

	if (!c != !!p.errors)
		abort();
	if (c) {
		config_check(c, &again);
		if (again.errors || !config_encode(c, &bytes, &len))
			abort();
		copy = config_decode(bytes, len, &again);
		if (!copy || again.errors)
			abort();
		config_free(copy);
		free(bytes);
	}
	for (uint32_t i = 0; i < p.kept; i++)
		for (const char *s = p.list[i].text; *s; s++)
			if ((unsigned char)*s < ' ' || *s == 0x7f) // nothing a terminal acts on
				abort();
	config_free(c);
	problems_free(&p);
	problems_free(&again);
	return 0;
}
