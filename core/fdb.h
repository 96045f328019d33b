// SPDX-License-Identifier: GPL-2.0-or-later
// MAC addresses seen by one worker. Each worker writes only its own table and reads everybody's, so learning needs no
// lock.
#ifndef CORE_FDB_H
#define CORE_FDB_H

#include "core/packet.h"

struct fdb;

// A table for about `entries` addresses (rounded up to a power of two, 16 to 2^20). NULL without memory.
struct fdb *fdb_new(uint32_t entries);
void fdb_free(struct fdb *fdb);

// Owner only: `mac` was seen as source on `port` of `bridge` with VLAN `vid` (0: untagged). When the bucket is full the
// oldest entry of it gives way. Group addresses are not learned.
void fdb_learn(struct fdb *fdb, uint16_t bridge, uint16_t vid, const uint8_t mac[6], uint16_t port, nsec_t now);

// Owner only: forgets what was learned on `port` (link down, port removed).
void fdb_forget_port(struct fdb *fdb, uint16_t port);

// Any worker: the port where `mac` was seen last within `ageing` ns in any of the `n` tables; PORT_NONE if nowhere.
uint16_t fdb_lookup(struct fdb *const *tables, uint32_t n, uint16_t bridge, uint16_t vid, const uint8_t mac[6],
		    nsec_t now, nsec_t ageing);

// Entries in use (for status; approximate while the owner works).
uint32_t fdb_count(const struct fdb *fdb);

#endif
