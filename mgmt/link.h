// SPDX-License-Identifier: GPL-2.0-or-later
// Carrier of the ports' devices, told by the kernel when it changes.
#ifndef MGMT_LINK_H
#define MGMT_LINK_H

#include "mgmt/ports.h"

// A descriptor to poll, or -errno.
int link_open(void);
// Takes what has arrived and calls `changed` for each port whose state is another one now (port.up is updated before).
// If events were lost, all devices are asked instead.
void link_read(int fd, struct ports *p, void (*changed)(uint32_t port, bool up, void *arg), void *arg);
// Asks all devices now, without telling anybody.
void link_refresh(struct ports *p);

#endif
