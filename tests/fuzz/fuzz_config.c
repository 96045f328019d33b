// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as an encoded configuration, in one of two ways that the first byte chooses: records as they come (the
// header is put right, or the fuzzer would spend its time on it), or a sound configuration with bytes exchanged. What
// decodes must survive the check, and encode to what it was decoded from.
#include <stdlib.h>
#include <string.h>

#include "io/config.h"

enum { HEADER = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *records(const uint8_t *data, size_t size, uint64_t *len)
{
	static const uint8_t mark[8] = {'w', 'c', 'n', 'f', 1, 0, 0, 0};
	uint8_t *bytes = malloc(size + HEADER);

	*len = size + HEADER;
	memcpy(bytes, mark, sizeof mark);
	memcpy(bytes + sizeof mark, len, sizeof *len);
	memcpy(bytes + HEADER, data, size);
	return bytes;
}

// Two ports, a bridge, and a shaper of four classes and two rules, changed at (offset, value) triples.
static uint8_t *changed(const uint8_t *data, size_t size, uint64_t *len)
{
	struct config *c = config_new();
	struct shaper_conf *s = &c->shaper[0];
	uint8_t *bytes;
	size_t n;

	c->ports = 2;
	c->bridges = c->shapers = 1;
	c->bridge[0].ports = 2;
	c->bridge[0].port[1] = 1;
	s->plan = plan_new(4);
	s->rules = 2;
	s->rule = calloc(2, sizeof *s->rule);
	for (uint32_t i = 0; i < 4; i++)
		s->plan->cls[i].name[0] = (char)('a' + i);
	if (!config_encode(c, &bytes, &n))
		abort();
	config_free(c);
	for (; size >= 3; data += 3, size -= 3)
		bytes[(data[0] | data[1] << 8) % n] = data[2];
	*len = n;
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct problems found = {0};
	struct config *c;
	uint8_t *bytes, *again;
	size_t again_len;
	uint64_t len;

	if (!size)
		return 0;
	bytes = data[0] & 1 ? changed(data + 1, size - 1, &len) : records(data + 1, size - 1, &len);
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
