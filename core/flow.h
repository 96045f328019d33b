// SPDX-License-Identifier: GPL-2.0-or-later
// The flow hash: 64 bits, keyed with a secret of the process, so that nobody outside can aim two flows at one
// queue; by chance 100,000 simultaneous flows share any queue with probability 3e-10. Not zero, ever.
#ifndef CORE_FLOW_H
#define CORE_FLOW_H

#include "core/types.h"

// Hash of `len` bytes (a flow's tuple) under `seed`; SipHash-1-3 (Aumasson, Bernstein 2012), 0 replaced by 1.
uint64_t flow_hash(const void *tuple, uint32_t len, const uint64_t seed[2]);

#endif
