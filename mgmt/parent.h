// SPDX-License-Identifier: GPL-2.0-or-later
// The parent: the one process that keeps its privileges, from the first to the last moment of `weir run`.
#ifndef MGMT_PARENT_H
#define MGMT_PARENT_H

#define STATS_PATH_DEFAULT "/run/weir/stats"
#define STATE_DIR_DEFAULT "/var/lib/weir"
#define LISTEN_DEFAULT "127.0.0.1:8443"

enum exit_status { EXIT_FINE, EXIT_FAILED, EXIT_REFUSED }; // refused: usage or configuration, nothing was changed

// Both run until SIGTERM or SIGINT, and return an exit_status. Statistics are at stats_path.

// One configuration, a file; SIGHUP reads it again.
int parent_run_file(const char *config_file, const char *stats_path);
// Configurations come from the manager, whose store is in state_dir and whose API listens at `listen`; seed: a file for
// a store that is empty, or NULL.
int parent_run_managed(const char *state_dir, const char *listen, const char *seed, const char *stats_path);

#endif
