// SPDX-License-Identifier: GPL-2.0-or-later
// Frame memory. A memfd rather than anonymous memory, because two processes need it: the parent, whose privilege the
// kernel asks for when the region is registered, and the engine, which moves the packets. It is
//  - populated when it is made, so that too little memory is an error at start and never a fault under load;
//  - sealed against resizing, so that neither process can make the other one trap;
//  - kept out of forks: copying the page tables of a pinned gigabyte stalls a fork for seconds.
#include "io/umem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { HUGE_BYTES = 2 << 20 };

static bool geometry_ok(uint32_t frames, uint32_t chunk_size)
{
	return frames >= 2 && (chunk_size == 2048 || chunk_size == 4096);
}

// Size of the file: whole huge pages on hugetlbfs, whole 4 KB pages elsewhere.
static size_t file_bytes(uint32_t frames, uint32_t chunk_size, bool huge)
{
	size_t page = huge ? HUGE_BYTES : 4096;

	return ((size_t)frames * chunk_size + page - 1) / page * page;
}

// Memory the kernel thinks it can hand out without swapping; SIZE_MAX if it doesn't say. Asked first because
// populating more than there is does not fail: the OOM killer ends a process, perhaps somebody else's.
static size_t memory_available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	size_t kib = SIZE_MAX >> 10;
	char line[128];

	if (!f)
		return SIZE_MAX;
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "MemAvailable: %zu kB", &kib) == 1)
			break;
	fclose(f);
	return kib << 10;
}

static int map(struct umem *u, size_t file)
{
	void *p = mmap(NULL, file, PROT_READ | PROT_WRITE, MAP_SHARED, u->fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	u->base = p;
	if (madvise(p, file, MADV_DONTFORK))
		return -errno;
	// A hint, and before the pages exist: where shmem_enabled is "advise" it gives huge pages without a
	// reservation.
	if (!u->huge)
		(void)madvise(p, file, MADV_HUGEPAGE);
	return madvise(p, file, MADV_POPULATE_WRITE) ? -errno : 0;
}

static int create(struct umem *u, bool huge)
{
	size_t file = file_bytes(u->frames, u->chunk_size, huge);
	int err;

	u->huge = huge;
	u->fd = memfd_create("weir-umem", MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0u));
	if (u->fd < 0)
		return -errno;
	if (ftruncate(u->fd, (off_t)file) || fcntl(u->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		err = -errno;
	else
		err = map(u, file);
	if (err)
		umem_close(u);
	return err;
}

int umem_create(struct umem *u, uint32_t frames, uint32_t chunk_size)
{
	struct umem m = {.fd = -1, .frames = frames, .chunk_size = chunk_size};

	*u = m;
	if (!geometry_ok(frames, chunk_size))
		return -EINVAL;
	m.bytes = (size_t)frames * chunk_size;
	*u = m;
	if (!create(u, true))
		return 0;
	*u = m;
	if (m.bytes > memory_available())
		return -ENOMEM;
	return create(u, false);
}

int umem_map(struct umem *u, int fd, uint32_t frames, uint32_t chunk_size, bool huge)
{
	struct stat st;
	int err;

	*u = (struct umem){.fd = fd, .frames = frames, .chunk_size = chunk_size, .huge = huge};
	if (!geometry_ok(frames, chunk_size))
		err = -EINVAL;
	else if (fstat(fd, &st))
		err = -errno;
	else if (st.st_size != (off_t)file_bytes(frames, chunk_size, huge))
		err = -EINVAL;
	else
		err = map(u, (size_t)st.st_size);
	u->bytes = (size_t)frames * chunk_size;
	if (err)
		umem_close(u);
	return err;
}

void umem_close(struct umem *u)
{
	if (u->base)
		munmap(u->base, file_bytes(u->frames, u->chunk_size, u->huge));
	if (u->fd >= 0)
		close(u->fd);
	*u = (struct umem){.fd = -1};
}

int umem_frames(const struct umem *u, struct frames *out)
{
	size_t bytes = (size_t)u->frames * sizeof(struct packet);
	struct packet *pkt = aligned_alloc(CACHE_LINE, bytes);

	if (!pkt)
		return -ENOMEM;
	memset(pkt, 0, bytes);
	*out = (struct frames){
		.base = u->base, .pkt = pkt, .count = u->frames, .chunk_shift = (uint32_t)__builtin_ctz(u->chunk_size)};
	return 0;
}

void umem_frames_close(struct frames *f)
{
	free(f->pkt);
	*f = (struct frames){0};
}
