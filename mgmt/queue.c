// SPDX-License-Identifier: GPL-2.0-or-later
// What takes long must not be done on the thread that serves all connections: checking a password costs a tenth of a
// second on purpose, and a change waits for the disk and for the engine. The queues are short; a full one is an answer
// (503) and no memory, and no wait longer than the queue times its slowest job.
#include "mgmt/queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool stopping;
	unsigned max, first, count;
	struct {
		queue_job *run;
		void *arg;
	} job[QUEUE_MAX];
};

static void *queue_thread(void *arg)
{
	struct queue *q = arg;

	pthread_mutex_lock(&q->lock);
	for (;;) {
		while (!q->count && !q->stopping)
			pthread_cond_wait(&q->changed, &q->lock);
		if (!q->count)
			break;
		queue_job *run = q->job[q->first].run;
		void *of = q->job[q->first].arg;

		q->first = (q->first + 1) % QUEUE_MAX;
		q->count--;
		pthread_mutex_unlock(&q->lock);
		run(of);
		pthread_mutex_lock(&q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

struct queue *queue_start(unsigned max)
{
	struct queue *q = calloc(1, sizeof *q);
	sigset_t all, before;
	int err;

	if (!q)
		return NULL;
	q->max = max < QUEUE_MAX ? max : QUEUE_MAX;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&q->thread, NULL, queue_thread, q);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		return q;
	queue_free(q);
	return NULL;
}

bool queue_add(struct queue *q, queue_job *job, void *arg)
{
	bool fits;

	pthread_mutex_lock(&q->lock);
	fits = !q->stopping && q->count < q->max;
	if (fits) {
		unsigned at = (q->first + q->count++) % QUEUE_MAX;

		q->job[at].run = job;
		q->job[at].arg = arg;
		pthread_cond_signal(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	return fits;
}

void queue_stop(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stopping = true;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
}

void queue_free(struct queue *q)
{
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->changed);
	free(q);
}
