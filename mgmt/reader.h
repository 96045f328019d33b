// SPDX-License-Identifier: GPL-2.0-or-later
// Reading a configuration file. The text is parsed by a child of its own that may do nothing but compute; what it says
// is believed as little as the file. Both ends of that are here.
#ifndef MGMT_READER_H
#define MGMT_READER_H

#include "io/config.h"

struct reader;

// Opens the file and starts a child that reads it. NULL with a problem. offline: this machine's devices and CPUs are not
// asked whether they fit.
struct reader *reader_start(const char *file, bool offline, struct problems *out);
// Descriptor to poll for input, and the instant when to give up.
int reader_fd(const struct reader *r);
nsec_t reader_deadline(const struct reader *r);
// Takes what has arrived. True if nothing more will come (end, failure, deadline): call reader_finish.
bool reader_read(struct reader *r);
// Ends the child if it still runs, frees *r, and adds all problems of text, plan, devices and machine to *out. The
// checked configuration, or NULL if any problem was an error.
struct config *reader_finish(struct reader *r, struct problems *out);

// All of the above, waiting.
struct config *read_config(const char *file, bool offline, struct problems *out);

// The child: reads the text on descriptor 0, writes the result to descriptor 1. Returns the exit status.
int reader_main(void);

#endif
