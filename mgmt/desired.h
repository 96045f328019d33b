// SPDX-License-Identifier: GPL-2.0-or-later
// The desired state: the JSON text people write, as one checked configuration.
#ifndef MGMT_DESIRED_H
#define MGMT_DESIRED_H

#include "io/config.h"

// Parses the JSON text of a desired state into a checked configuration (config_check is run inside, so problems of
// both are in the list). All problems at once in *out; NULL if any of them was an error. The caller frees the result.
struct config *desired_parse(const char *text, size_t len, struct problems *out);

// The same, but what could be read is returned in spite of errors (NULL if that is nothing): its ports are good enough to
// ask the kernel about their devices, so that those problems can be told along with the others. Not for use.
struct config *desired_read(const char *text, size_t len, struct problems *out);

// What the parser needs from the machine: random bits for hash tables, and the last CPU this process may run on (for a
// document that names no worker CPU; 0 without this call). Once, before sandbox_enter(SANDBOX_READER): it opens files.
void desired_prepare(void);

#endif
