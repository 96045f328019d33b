// SPDX-License-Identifier: GPL-2.0-or-later
// Words of the command line -> options and operands.
#ifndef MGMT_WEIRCTL_ARGS_H
#define MGMT_WEIRCTL_ARGS_H

#include "mgmt/weirctl.h"

enum { ARGS_WHY = 200 };

// Takes the options out of argv[0..argc), wherever they stand, and moves the other words to its front; returns how many those
// are. After "--" all are words, and "-" and what begins like a negative number are never options. -1: `why` says what is
// wrong. Whether the command takes the options is args_fit's to say.
int args_read(struct options *o, int argc, char **argv, char *why);
// Whether a command takes what was given: options and number of words after its name.
bool args_fit(const struct command *c, const struct options *o, int words, char *why);
// The options, for help: those that all commands take, or those of a mask.
void args_print(const struct screen *s, uint32_t mask);
// The URL of a server as people name it (box, box:8443, [::1]:8443, https://box/): with scheme, port 8443 if neither is
// given, and no slash at its end. False: why.
bool args_url(const char *text, char *buf, size_t size, char *why);

#endif
