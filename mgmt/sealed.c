// SPDX-License-Identifier: GPL-2.0-or-later
// A configuration can be larger than a message, so it travels as a memfd. The seals are what makes it a message: whoever
// reads it knows that it is memory (no other file has seals: nothing to wait for, nothing of the disk), that it will not
// shrink under a mapping, and that what was checked is what is used.
#include "mgmt/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEALS = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW };

static int seal(const uint8_t *bytes, size_t len)
{
	int fd = memfd_create("weir-config", MFD_CLOEXEC | MFD_ALLOW_SEALING), err = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	for (size_t at = 0; !err && at < len; at += (size_t)n) {
		n = write(fd, bytes + at, len - at);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			err = -errno;
	}
	if (!err && fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int sealed_config(const struct config *c, uint64_t *bytes)
{
	uint8_t *encoded;
	size_t len;
	int fd;

	if (!config_encode(c, &encoded, &len))
		return -ENOMEM;
	fd = seal(encoded, len);
	free(encoded);
	*bytes = len;
	return fd;
}

struct config *sealed_read(int fd, uint64_t bytes, struct problems *out)
{
	int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
	struct config *c;
	struct stat st;
	void *p;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) || !bytes || bytes > CONFIG_BYTES_MAX ||
	    (uint64_t)st.st_size < bytes) {
		problem_add(out, PROBLEM_ERROR, "", "the configuration came in no sealed memory of its length");
		return NULL;
	}
	p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		problem_add(out, PROBLEM_ERROR, "", "the configuration can't be mapped: %s", strerror(errno));
		return NULL;
	}
	c = config_decode(p, bytes, out);
	munmap(p, bytes);
	return c;
}
