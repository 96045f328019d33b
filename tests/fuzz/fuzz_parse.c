// SPDX-License-Identifier: GPL-2.0-or-later
// One frame through everything in core/ that reads frames. Beside the sanitizers' findings, it fails when an offset
// leaves the frame, when reading changes a byte, when completing a checksum twice differs from once, or when what
// checksum and ECN have written no longer parses to the same flow.
#include <stdlib.h>
#include <string.h>

#include "core/csum.h"
#include "core/forward.h"
#include "core/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static const uint64_t seed[2] = {1, 2};
static struct forward_table table = {.bridges = 1, .bridge[0] = {.ports = 2, .port = {0, 1}, .ageing = NSEC_PER_SEC}};
static struct fdb *fdb;

static void require(bool held)
{
	if (!held)
		abort();
}

static void check_offsets(const struct packet *p)
{
	require(p->flow && p->l3 >= ETH_HEADER && p->l3 + p->l3_len <= p->len);
	require(!(p->flags & PKT_L4) == !p->l4);
	require(!p->l4 || (p->l4 > p->l3 && p->l4 < p->l3 + p->l3_len));
	require(!(p->flags & PKT_FRAGMENT) || (!p->l4 && !p->sport && !p->dport));
}

// Parses the bytes at `data`; an IPv4 header checksum, which no mutation gets right, is mended first.
static enum drop_reason parse_mended(struct packet *p, uint8_t *data)
{
	enum drop_reason reason = parse(p, data, seed);

	if (reason != DROP_IP4_BAD_CHECKSUM)
		return reason;
	uint8_t *h = data + p->l3;

	h[10] = h[11] = 0;
	uint16_t sum = (uint16_t)~csum_add(0, h, (h[0] & 15) * 4u);

	memcpy(h + 10, &sum, sizeof sum);
	reason = parse(p, data, seed);
	require(reason != DROP_IP4_BAD_CHECKSUM);
	return reason;
}

static void run(uint8_t *data, uint8_t *before, uint16_t size)
{
	struct packet p = {.len = size}, again = p;

	if (parse_mended(&p, data) != DROP_NONE)
		return;
	check_offsets(&p);
	memcpy(before, data, size);
	struct verdict v = forward(&table, fdb, &fdb, 1, &p, data, NSEC_PER_SEC);

	require((v.kind == VERDICT_DROP) == (v.reason != DROP_NONE) && (v.kind != VERDICT_SEND || v.port < 2));
	require(!csum_is_partial(&p, data) || p.l4);
	require(memcmp(data, before, size) == 0);
	csum_complete(&p, data);
	memcpy(before, data, size);
	csum_complete(&p, data);
	require(memcmp(data, before, size) == 0);
	bool marked = ecn_mark_ce(&p, data);

	require(marked == ((p.l3_kind == L3_IPV4 || p.l3_kind == L3_IPV6) && p.tos & 3));
	require(parse(&again, data, seed) == DROP_NONE && again.flow == p.flow);
	require(again.tos == (marked ? p.tos | 3 : p.tos));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	if (size == 0 || size > 9000)
		return -1;
	if (!fdb)
		fdb = fdb_new(64);
	uint8_t *data = malloc(size), *before = malloc(size);

	require(fdb && data && before);
	memcpy(data, input, size);
	run(data, before, (uint16_t)size);
	free(before);
	free(data);
	return 0;
}
