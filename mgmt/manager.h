// SPDX-License-Identifier: GPL-2.0-or-later
// The manager process: store, changes, API. Started by the parent with the channel on descriptor 3, and a first
// configuration, or nothing, on descriptor 0.
#ifndef MGMT_MANAGER_H
#define MGMT_MANAGER_H

// Runs until STOP, or until the parent is gone. Returns the exit status.
int manager_main(int channel_fd, const char *state_dir);

#endif
