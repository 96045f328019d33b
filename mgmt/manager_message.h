// SPDX-License-Identifier: GPL-2.0-or-later
// What parent and manager say to each other. Fixed-size bodies (core/msg.h); each side checks what it gets. The manager
// is the less trusted side: the parent decodes and checks every configuration it is given, and the dead-man timer of a pending
// revision runs in the parent, so that it works when the manager is dead.
//
//   parent                                          manager
//   STATS (fd) LISTEN (listening socket)... STATE -> opens its store, serves
//                                                <- COMMIT (memfd with the encoded configuration, sealed)
//   PROBLEM... RESULT                            ->
//                                                <- CONFIRM, REVERT
//   RESULT                                       ->
//   REVERTED, ALARM, PING, STOP                  -> PONG
#ifndef MGMT_MANAGER_MESSAGE_H
#define MGMT_MANAGER_MESSAGE_H

#include "core/problem.h"
#include "core/types.h"

enum manager_message_type {
	MM_STATS = 128,  // no body + the statistics, to read
	MM_LISTEN,       // no body + a listening TCP socket
	MM_STATE,        // mm_state: sent last at start, and the manager may serve
	MM_PROBLEM,      // mm_problem: belongs to the RESULT that follows
	MM_RESULT,       // mm_result: the answer to COMMIT, CONFIRM, REVERT
	MM_REVERTED,     // mm_reverted: not asked for
	MM_ALARM,        // mm_alarm
	MM_PING,         // no body; unanswered for 10 s the manager is replaced
	MM_STOP,         // no body
	MM_COMMIT = 192, // mm_commit + configuration
	MM_CONFIRM,      // mm_revision
	MM_REVERT,       // mm_revision
	MM_PONG,         // no body
};

enum mm_flags {
	MM_RESTART = 1u << 0, // new sockets are allowed (changes of ports, workers, memory)
	MM_DRY_RUN = 1u << 1, // only say whether it would be taken
};

// What is in force. revision 0: nothing yet, no engine runs; the manager then commits the revision to boot with.
struct mm_state {
	uint64_t revision;
	uint64_t pending;       // what comes back if `revision` is pending and time is up; 0: nothing ran before
	uint64_t deadline_ns;   // CLOCK_BOOTTIME of that; 0: `revision` is final
	uint64_t last_reverted; // the last revision that was taken back, 0: none since the parent started
	uint32_t engine_up, pad;
};

struct mm_commit {
	uint64_t revision, bytes; // its number in the store; length of the encoded configuration
	uint32_t confirm_s;       // 0: final at once; else pending for that long
	uint32_t flags;           // enum mm_flags
};

struct mm_revision {
	uint64_t revision;
};

enum mm_verdict { MM_DONE, MM_INVALID, MM_NEEDS_RESTART, MM_BUSY, MM_NO_ENGINE, MM_NOT_PENDING };

struct mm_result {
	uint64_t revision;
	uint32_t verdict; // enum mm_verdict
	uint32_t actions;
	uint64_t duration_ns, pause_ns, lost;
	uint64_t deadline_ns; // of a pending one, CLOCK_BOOTTIME
};

struct mm_reverted {
	uint64_t revision, in_force; // taken back, and what runs again
	char reason[128];            // "not confirmed in time", "engine died", ...
};

struct mm_problem {
	uint32_t level; // enum problem_level
	char path[PROBLEM_PATH_MAX];
	char text[PROBLEM_TEXT_MAX];
};

struct mm_alarm {
	char text[256];
};

#endif
