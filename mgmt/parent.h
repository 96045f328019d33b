// SPDX-License-Identifier: GPL-2.0-or-later
// The parent: the one process that keeps its privileges, from the first to the last moment of `weir run`.
#ifndef MGMT_PARENT_H
#define MGMT_PARENT_H

#include "core/problem.h"

#define STATS_PATH_DEFAULT "/run/weir/stats"

enum exit_status { EXIT_FINE, EXIT_FAILED, EXIT_REFUSED }; // refused: usage or configuration, nothing was changed

// Runs until SIGTERM or SIGINT; SIGHUP reads the file again. Statistics are at stats_path. An exit_status.
int parent_run(const char *config_file, const char *stats_path);

// Prints problems to stderr, one a line: "weir: FILE: /ports/lan: ...".
void print_problems(const char *file, const struct problems *p);

#endif
