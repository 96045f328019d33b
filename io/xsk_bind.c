// SPDX-License-Identifier: GPL-2.0-or-later
// The parent's end of AF_XDP: registering the frame memory and binding a socket to each queue. What the kernel demands
// shapes this file:
//
//  - One registration of memory is either zero-copy or not. The same memory is therefore registered once per kind, when
//    the first socket of that kind is bound.
//  - That first socket carries the bind flags. Later ones say XDP_SHARED_UMEM and must say nothing else; they bring
//  their
//    own fill and completion rings, as each is on another (device, queue).
//  - A first bind that failed leaves its registration half used, so it is dropped and made anew for the next try.
//  - A closed socket gives its queue back late, after an RCU grace period: EBUSY means "in a moment" for a while.
//  - Without flags the kernel would take copy mode silently when zero copy is refused. Both are asked for by name here,
//    and what came of it is read back.
//
// Kernel documentation: networking/af_xdp.rst, networking/napi.rst (busy polling).
#include "io/xsk.h"

#include "io/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <xdp/xsk.h>

#ifndef SOL_XDP
#define SOL_XDP 283
#endif
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9 // Linux 6.17
#endif

enum {
	BUSY_POLL_USEC = 20,
	BUSY_POLL_BUDGET = 64,
	TX_BUDGET = 256, // descriptors a sendto may send in copy mode, where that can be chosen
};

#define BUSY_WAIT_NS (2 * NSEC_PER_SEC)
#define BUSY_BACKOFF_MIN_NS (10 * NSEC_PER_MSEC)
#define BUSY_BACKOFF_MAX_NS (160 * NSEC_PER_MSEC)

// One registration of the frame memory. libxdp keeps pointers to both rings until the first socket has taken them over.
struct registration {
	struct xsk_umem *umem; // NULL: none
	struct xsk_ring_prod fill;
	struct xsk_ring_cons completion;
	uint32_t sockets;
	uint16_t bind_flags;
};

struct xsk_factory {
	const struct umem *memory;
	uint32_t fill_ring, completion_ring;
	struct registration copy, zerocopy;
	char refused[PORTS_MAX][DEVICE_MAX]; // devices that would not do zero copy: told once, not tried again
	uint32_t refused_count;
};

struct xsk_socket_handle {
	struct registration *of;
	struct xsk_socket *socket;
	struct xsk_ring_cons rx, completion;
	struct xsk_ring_prod tx, fill;
};

struct xsk_factory *xsk_factory_new(const struct umem *u, const struct config *c)
{
	struct xsk_factory *f = calloc(1, sizeof *f);
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};

	if (!f)
		return NULL;
	f->memory = u;
	for (uint32_t p = 0; p < c->ports; p++) {
		if (2 * c->port[p].rx_ring > f->fill_ring)
			f->fill_ring = 2 * c->port[p].rx_ring;
		if (c->port[p].tx_ring > f->completion_ring)
			f->completion_ring = c->port[p].tx_ring;
	}
	f->copy.bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP;
	f->zerocopy.bind_flags = XDP_ZEROCOPY | XDP_USE_NEED_WAKEUP;
	// Registered memory counts as locked unless we have CAP_IPC_LOCK; without CAP_SYS_RESOURCE the limit stays, and
	// a registration beyond it is refused with the reason.
	(void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
	return f;
}

static void unregister(struct registration *r)
{
	if (r->umem)
		(void)xsk_umem__delete(r->umem);
	r->umem = NULL;
}

void xsk_factory_free(struct xsk_factory *f)
{
	if (!f)
		return;
	assert(!f->copy.sockets && !f->zerocopy.sockets);
	unregister(&f->copy);
	unregister(&f->zerocopy);
	free(f);
}

static int bind_once(struct xsk_factory *f, const struct port_conf *conf, uint32_t queue, struct xsk_socket_handle *h)
{
	struct registration *r = h->of;
	const struct xsk_umem_config memory = {
		.fill_size = f->fill_ring, .comp_size = f->completion_ring, .frame_size = f->memory->chunk_size};
	const struct xsk_socket_config socket = {.rx_size = conf->rx_ring,
						 .tx_size = conf->tx_ring,
						 .libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
						 .bind_flags = r->bind_flags};
	int err = 0;

	if (!r->umem)
		err = xsk_umem__create(&r->umem, f->memory->base, f->memory->bytes, &r->fill, &r->completion, &memory);
	if (err) {
		r->umem = NULL;
		return err;
	}
	err = xsk_socket__create_shared(&h->socket, conf->device, queue, r->umem, &h->rx, &h->tx, &h->fill,
					&h->completion, &socket);
	if (!err)
		r->sockets++;
	else if (!r->sockets)
		unregister(r);
	return err;
}

static int bind_when_free(struct xsk_factory *f, const struct port_conf *conf, uint32_t queue,
			  struct xsk_socket_handle *h)
{
	nsec_t deadline = clock_now() + BUSY_WAIT_NS, wait = BUSY_BACKOFF_MIN_NS;
	int err;

	while ((err = bind_once(f, conf, queue, h)) == -EBUSY && time_before(clock_now(), deadline)) {
		struct timespec t = {.tv_nsec = (long)wait};

		nanosleep(&t, NULL);
		if (wait < BUSY_BACKOFF_MAX_NS)
			wait *= 2;
	}
	return err;
}

static bool zerocopy_was_refused(const struct xsk_factory *f, const char *device)
{
	for (uint32_t k = 0; k < f->refused_count; k++)
		if (!strcmp(f->refused[k], device))
			return true;
	return false;
}

static void tell_refusal(struct xsk_factory *f, const struct port_conf *conf, int err, const char *path,
			 struct problems *out)
{
	if (f->refused_count < PORTS_MAX)
		snprintf(f->refused[f->refused_count++], DEVICE_MAX, "%s", conf->device);
	problem_add(
		out, PROBLEM_WARNING, path,
		"%s does not do zero copy (%s): copy mode is used, which costs more CPU a packet; set mode to \"copy\" "
		"to silence this",
		conf->device, strerror(-err));
}

// Binds in the mode that is asked for, or the best one that works.
static int bind_mode(struct xsk_factory *f, const struct port_conf *conf, uint32_t queue, bool generic,
		     struct xsk_socket_handle *h, const char *path, struct problems *out)
{
	int err;

	if (!generic && conf->mode == MODE_ZEROCOPY) {
		h->of = &f->zerocopy;
		return bind_when_free(f, conf, queue, h);
	}
	if (!generic && conf->mode == MODE_AUTO && !zerocopy_was_refused(f, conf->device)) {
		h->of = &f->zerocopy;
		err = bind_when_free(f, conf, queue, h);
		if (!err || err == -EBUSY)
			return err;
		tell_refusal(f, conf, err, path, out);
	}
	h->of = &f->copy;
	return bind_when_free(f, conf, queue, h);
}

static void tell_failure(const struct xsk_factory *f, const struct port_conf *conf, uint32_t queue, int err,
			 const char *path, struct problems *out)
{
	const char *dev = conf->device;

	switch (-err) {
	case EBUSY:
		problem_add(
			out, PROBLEM_ERROR, path,
			"queue %u of %s is held by another AF_XDP socket, still after 2 s: `ss --xdp -p` shows whose",
			queue, dev);
		break;
	case EINVAL:
		problem_add(out, PROBLEM_ERROR, path,
			    "%s has no queue %u, or its rings are out of range: `ethtool -l %s`", dev, queue, dev);
		break;
	case ENETDOWN:
		problem_add(out, PROBLEM_ERROR, path, "%s is down: `ip link set dev %s up`", dev, dev);
		break;
	case ENODEV:
		problem_add(out, PROBLEM_ERROR, path, "there is no device %s", dev);
		break;
	case EOPNOTSUPP:
		problem_add(out, PROBLEM_ERROR, path, "%s does not do %s: set mode to \"%s\"", dev,
			    conf->mode == MODE_ZEROCOPY ? "zero copy" : "AF_XDP",
			    conf->mode == MODE_ZEROCOPY ? "copy" : "generic");
		break;
	case EPERM:
		problem_add(out, PROBLEM_ERROR, path, "no permission to open an AF_XDP socket: it takes CAP_NET_RAW");
		break;
	case ENOBUFS:
	case ENOMEM:
		problem_add(
			out, PROBLEM_ERROR, path,
			"no memory to bind queue %u of %s: %zu MB must be locked; raise `ulimit -l` or lower frames",
			queue, dev, f->memory->bytes >> 20);
		break;
	default:
		problem_add(out, PROBLEM_ERROR, path, "binding queue %u of %s failed: %s", queue, dev, strerror(-err));
	}
}

// With busy polling the device's receive work runs in the worker's own calls. It pays where the alternative is an
// interrupt on the worker's CPU. veth has none: its receive work runs where the peer sends, and taking it away from
// there makes its 256-slot ring overflow, so "auto" leaves veth alone.
static bool busy_poll_wanted(const struct port_conf *conf, const char *driver)
{
	return conf->busy_poll == BUSY_POLL_ON || (conf->busy_poll == BUSY_POLL_AUTO && strcmp(driver, "veth"));
}

static bool busy_poll_set(int fd)
{
	const int prefer = 1, usec = BUSY_POLL_USEC, budget = BUSY_POLL_BUDGET;

	return !setsockopt(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &prefer, sizeof prefer) &&
	       !setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &usec, sizeof usec) &&
	       !setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL_BUDGET, &budget, sizeof budget);
}

static enum port_mode mode_in_use(int fd, bool generic)
{
	struct xdp_options opt = {0};
	socklen_t len = sizeof opt;

	if (generic)
		return MODE_GENERIC;
	if (getsockopt(fd, SOL_XDP, XDP_OPTIONS, &opt, &len))
		return MODE_COPY;
	return opt.flags & XDP_OPTIONS_ZEROCOPY ? MODE_ZEROCOPY : MODE_COPY;
}

static bool peer_sums_partially(const char *driver)
{
	static const char *const drivers[] = {"veth", "virtio_net", "tun", "tap"};

	for (size_t k = 0; k < ARRAY_LEN(drivers); k++)
		if (!strcmp(driver, drivers[k]))
			return true;
	return false;
}

struct xsk_socket_handle *xsk_bind(struct xsk_factory *f, const struct port_conf *conf, const char *driver,
				   uint32_t port, uint32_t queue, bool generic, struct xsk_info *info,
				   struct problems *out)
{
	struct xsk_socket_handle *h = calloc(1, sizeof *h);
	const int budget = TX_BUDGET;
	char path[PROBLEM_PATH_MAX];
	int fd, err = -ENOMEM;

	snprintf(path, sizeof path, "/ports/%s", conf->name);
	if (h)
		err = bind_mode(f, conf, queue, generic, h, path, out);
	if (err) {
		tell_failure(f, conf, queue, err, path, out);
		free(h);
		return NULL;
	}
	fd = xsk_handle_fd(h);
	// A copy in a program that we start would keep the queue.
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	*info = (struct xsk_info){.port = port,
				  .queue = queue,
				  .rx_ring = conf->rx_ring,
				  .tx_ring = conf->tx_ring,
				  .fill_ring = f->fill_ring,
				  .completion_ring = f->completion_ring,
				  .mode = mode_in_use(fd, generic),
				  .fix_checksums = peer_sums_partially(driver)};
	if (busy_poll_wanted(conf, driver)) {
		info->busy_poll = busy_poll_set(fd);
		if (!info->busy_poll && conf->busy_poll == BUSY_POLL_ON)
			problem_add(out, PROBLEM_WARNING, path, "busy polling is refused on queue %u of %s: %s", queue,
				    conf->device, strerror(errno));
	}
	// Newer kernels only; elsewhere a call sends its 32.
	(void)setsockopt(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof budget);
	return h;
}

int xsk_handle_fd(const struct xsk_socket_handle *h)
{
	return xsk_socket__fd(h->socket);
}

// The first socket of a registration lives in the registration's descriptor: its queue is free again when the last
// socket of that registration is closed.
void xsk_handle_close(struct xsk_socket_handle *h)
{
	if (!h)
		return;
	xsk_socket__delete(h->socket);
	if (!--h->of->sockets)
		unregister(h->of);
	free(h);
}
