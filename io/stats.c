// SPDX-License-Identifier: GPL-2.0-or-later
// The shared statistics region: a sparse file, so that only counters in use take memory. Readers map it read-only and
// check its head before they believe anything in it.
#include "io/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct stats *map(int fd, int prot)
{
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	if (st.st_size != (off_t)sizeof(struct stats)) {
		errno = EPROTO;
		return NULL;
	}
	void *p = mmap(NULL, sizeof(struct stats), prot, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

int stats_create(const char *path, struct stats **out)
{
	int fd, e;

	if (path)
		unlink(path); // a reader of the old one keeps what it has mapped
	fd = path ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644)
		  : memfd_create("weir-stats", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(struct stats)) || !(*out = map(fd, PROT_READ | PROT_WRITE))) {
		e = errno;
		close(fd);
		return -e;
	}
	(*out)->version = STATS_VERSION;
	(*out)->bytes = sizeof(struct stats);
	(*out)->magic = STATS_MAGIC;
	return fd;
}

static bool is_ours(const struct stats *s)
{
	return s->magic == STATS_MAGIC && s->version == STATS_VERSION && s->bytes == sizeof(struct stats);
}

const struct stats *stats_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : stats_view(fd);
}

const struct stats *stats_view(int fd)
{
	const struct stats *s = map(fd, PROT_READ);
	int e = errno;

	close(fd);
	errno = e;
	if (s && !is_ours(s)) {
		stats_unmap(s);
		errno = EPROTO;
		return NULL;
	}
	return s;
}

struct stats *stats_map(int fd)
{
	struct stats *s = map(fd, PROT_READ | PROT_WRITE);
	int e = errno;

	close(fd);
	errno = e;
	if (s && !is_ours(s)) {
		stats_unmap(s);
		errno = EPROTO;
		return NULL;
	}
	return s;
}

void stats_forget(struct stats *s)
{
	atomic_fetch_add(&s->names_seq, 1);
	for (uint32_t i = 0; i < s->shapers && i < PORTS_MAX; i++) {
		const struct stats_shaper *sh = &s->shaper[i];

		for (uint32_t id = 0; id < sh->id_limit && sh->first_class + id < STATS_CLASSES_MAX; id++) {
			memset(&s->class_info[sh->first_class + id], 0, sizeof s->class_info[0]);
			memset(&s->class_stats[sh->first_class + id], 0, sizeof s->class_stats[0]);
		}
	}
	s->shapers = s->ports = s->queues = 0;
	memset(s->shaper, 0, sizeof s->shaper);
	memset(s->port, 0, sizeof s->port);
	memset(s->queue, 0, sizeof s->queue);
	atomic_fetch_add(&s->names_seq, 1);
}

void stats_unmap(const struct stats *s)
{
	union {
		const void *in;
		void *out;
	} p = {.in = s};

	if (s)
		munmap(p.out, sizeof *s);
}
