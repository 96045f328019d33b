// SPDX-License-Identifier: GPL-2.0-or-later
// What a configuration asks of the machine it is to run on: CPUs, network devices.
#ifndef MGMT_MACHINE_H
#define MGMT_MACHINE_H

#include "io/config.h"

// Adds every problem that only this machine has with *c. A place that has a problem already is left out, so that it
// can be asked about a configuration with errors too.
void machine_check(const struct config *c, struct problems *out);

#endif
