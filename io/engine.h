// SPDX-License-Identifier: GPL-2.0-or-later
// The engine process: its control thread. Started by the parent with the channel on descriptor 3.
#ifndef IO_ENGINE_H
#define IO_ENGINE_H

// Runs until STOP or until the parent is gone. Returns the exit status.
int engine_main(int channel_fd);

#endif
