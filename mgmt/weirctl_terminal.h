// SPDX-License-Identifier: GPL-2.0-or-later
// The terminal as an input: passwords without echo, yes or no, single keys. Whatever ends the program, the terminal is
// left as it was found.
#ifndef MGMT_WEIRCTL_TERMINAL_H
#define MGMT_WEIRCTL_TERMINAL_H

#include "mgmt/weirctl_text.h"

// A line from the terminal without echo, or from standard input. False: there is none, or it was interrupted.
bool password_ask(const char *prompt, char *buf, size_t size);
bool password_from_stdin(char *buf, size_t size);

// Both ends are a terminal, so there is somebody to ask.
bool somebody_there(void);
// Yes only if the answer begins with y.
bool ask_yes(const struct screen *s, const char *question);

// The alternate screen, keys one by one, no cursor. False: standard input or output is no terminal.
bool fullscreen_enter(void);
void fullscreen_leave(void);
// SIGINT, SIGTERM or SIGHUP came; or SIGWINCH or a return from SIGTSTP since the last call: draw anew.
bool fullscreen_ended(void);
bool fullscreen_changed(void);
void fullscreen_size(unsigned *columns, unsigned *rows);

#endif
