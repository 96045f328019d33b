// SPDX-License-Identifier: GPL-2.0-or-later
// The only reader of clocks in the program.
#ifndef IO_CLOCK_H
#define IO_CLOCK_H

#include "core/units.h"

// CLOCK_MONOTONIC, ns. Read once a loop, not once a packet.
nsec_t clock_now(void);
// CLOCK_BOOTTIME, ns: goes on while the machine is suspended. For deadlines that people were promised.
nsec_t clock_boottime(void);

#endif
