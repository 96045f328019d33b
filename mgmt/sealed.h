// SPDX-License-Identifier: GPL-2.0-or-later
// A configuration on its way between processes: encoded, in a memory file that nobody can change any more.
#ifndef MGMT_SEALED_H
#define MGMT_SEALED_H

#include "io/config.h"

// The descriptor, which the caller closes, or -errno; *bytes is the length.
int sealed_config(const struct config *c, uint64_t *bytes);
// Decodes `bytes` of what a peer has sent (fd stays the caller's). NULL with a problem, also if it is not sealed.
struct config *sealed_read(int fd, uint64_t bytes, struct problems *out);

#endif
