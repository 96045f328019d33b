// SPDX-License-Identifier: GPL-2.0-or-later
// The frame memory: a memfd, 2 MB huge pages if the system has them, mapped shared by parent (which registers it with
// the kernel) and engine (which uses it), and not copied by fork.
#ifndef IO_UMEM_H
#define IO_UMEM_H

#include "core/packet.h"

struct umem {
	int fd;        // memfd
	uint8_t *base; // mapping in this process
	size_t bytes;
	uint32_t frames, chunk_size;
	bool huge; // really on huge pages
};

// Creates and maps it (parent). 0, or -errno. Falls back to 4 KB pages, and says so in u->huge.
int umem_create(struct umem *u, uint32_t frames, uint32_t chunk_size);
// Maps a passed descriptor (engine); takes ownership of fd. Refuses one of the wrong size.
int umem_map(struct umem *u, int fd, uint32_t frames, uint32_t chunk_size, bool huge);
void umem_close(struct umem *u);
// The frames view of it with freshly allocated (zeroed) descriptors; umem_frames_close frees those.
int umem_frames(const struct umem *u, struct frames *out);
void umem_frames_close(struct frames *f);

#endif
