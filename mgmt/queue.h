// SPDX-License-Identifier: GPL-2.0-or-later
// A thread that does one thing after another for others, who do not wait for it.
#ifndef MGMT_QUEUE_H
#define MGMT_QUEUE_H

#include "core/types.h"

struct queue;

enum { QUEUE_MAX = 64 };

typedef void queue_job(void *arg);

// A queue of at most `max` waiting jobs, with its thread; NULL: no memory or no thread.
struct queue *queue_start(unsigned max);
// False: it is full, or stopping. Any thread; never blocks.
bool queue_add(struct queue *q, queue_job *job, void *arg);
// Does what is waiting, and ends the thread.
void queue_stop(struct queue *q);
void queue_free(struct queue *q);

#endif
