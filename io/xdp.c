// SPDX-License-Identifier: GPL-2.0-or-later
// Loading the kernel program (xdp.bpf.c, embedded as bytes) and attaching it. By a bpf_link of ours rather than through
// libxdp's dispatcher: the link goes away with the process that holds it, whatever ends that process, and a program
// somebody else attached is never replaced. The mode is always asked for by name, since the kernel's own choice is
// generic mode without a word where a driver can't do better, and it is read back.
#include "io/xdp.h"

#include <xdp_object.h> // made by make from xdp.bpf.c, in the build folder

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct xdp_port {
	struct bpf_object *object;
	int link, sockets, misses; // descriptors
	int cpus;
	uint64_t *per_cpu; // one counter a possible CPU, as the kernel returns them
};

// Tells who is there. False if nobody is.
static bool tell_occupied(const char *device, int ifindex, struct problems *out)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof info;
	int fd;

	if (bpf_xdp_query(ifindex, 0, &query) || query.attach_mode == XDP_ATTACHED_NONE)
		return false;
	fd = bpf_prog_get_fd_by_id(query.prog_id);
	if (fd >= 0) {
		(void)bpf_obj_get_info_by_fd(fd, &info, &len);
		close(fd);
	}
	problem_add(
		out, PROBLEM_ERROR, "",
		"%s already runs an XDP program, %s (id %u): `bpftool net show dev %s` shows it, `ip link set dev %s xdp off` "
		"removes it unless a running program holds it",
		device, info.name[0] ? info.name : "without a name", query.prog_id, device, device);
	return true;
}

static void tell_attach_failure(const char *device, bool generic, int err, struct problems *out)
{
	switch (err) {
	case EOPNOTSUPP:
		problem_add(out, PROBLEM_ERROR, "", "the driver of %s has no native XDP: set mode to \"generic\"",
			    device);
		break;
	case ERANGE:
		problem_add(
			out, PROBLEM_ERROR, "",
			"%s refuses the program because of its MTU, or its veth peer's: `ip link set dev %s mtu 1500`",
			device, device);
		break;
	case ENOSPC:
		problem_add(
			out, PROBLEM_ERROR, "",
			"%s refuses the program because it has fewer receive queues than its veth peer has transmit "
			"queues: `ethtool -L %s rx N`",
			device, device);
		break;
	case EPERM:
		problem_add(out, PROBLEM_ERROR, "",
			    "no permission to attach a program to %s: it takes CAP_NET_ADMIN and CAP_BPF", device);
		break;
	default:
		problem_add(out, PROBLEM_ERROR, "", "%s refuses the program in %s mode: %s", device,
			    generic ? "generic" : "native", strerror(err));
	}
}

static bool load(struct xdp_port *x, struct problems *out)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "weir");
	int err;

	libbpf_set_print(NULL);
	x->object = bpf_object__open_mem(xdp_object, sizeof xdp_object, &opts);
	err = x->object ? bpf_object__load(x->object) : -errno;
	if (err) {
		problem_add(out, PROBLEM_ERROR, "",
			    "the kernel does not load our XDP program (%s): it takes CAP_BPF and %s", strerror(-err),
			    "CAP_NET_ADMIN, and Linux 6.1");
		return false;
	}
	x->sockets = bpf_object__find_map_fd_by_name(x->object, "sockets");
	x->misses = bpf_object__find_map_fd_by_name(x->object, "misses");
	x->cpus = libbpf_num_possible_cpus();
	x->per_cpu = x->cpus > 0 ? calloc((size_t)x->cpus, sizeof *x->per_cpu) : NULL;
	if (!x->per_cpu)
		problem_add(out, PROBLEM_ERROR, "", "no memory for the counters of the XDP program");
	return x->per_cpu;
}

static bool attached_as_asked(int ifindex, bool generic)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	return !bpf_xdp_query(ifindex, 0, &query) &&
	       query.attach_mode == (generic ? XDP_ATTACHED_SKB : XDP_ATTACHED_DRV);
}

static bool attach(struct xdp_port *x, const char *device, int ifindex, bool generic, struct problems *out)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE);

	x->link = bpf_link_create(bpf_program__fd(bpf_object__find_program_by_name(x->object, "weir")), ifindex,
				  BPF_XDP, &opts);
	if (x->link < 0) {
		int err = errno;

		if (!tell_occupied(device, ifindex, out))
			tell_attach_failure(device, generic, err, out);
		return false;
	}
	if (!attached_as_asked(ifindex, generic)) {
		problem_add(out, PROBLEM_ERROR, "", "the kernel attached the program to %s, but not in %s mode", device,
			    generic ? "generic" : "native");
		return false;
	}
	return true;
}

struct xdp_port *xdp_attach(const char *device, bool generic, struct problems *out)
{
	int ifindex = (int)if_nametoindex(device);
	struct xdp_port *x;

	if (!ifindex) {
		problem_add(out, PROBLEM_ERROR, "", "there is no device %s", device);
		return NULL;
	}
	x = calloc(1, sizeof *x);
	if (!x) {
		problem_add(out, PROBLEM_ERROR, "", "no memory for the XDP program of %s", device);
		return NULL;
	}
	x->link = -1;
	if (load(x, out) && attach(x, device, ifindex, generic, out))
		return x;
	xdp_detach(x);
	return NULL;
}

int xdp_add_socket(struct xdp_port *x, uint32_t queue, int xsk_fd)
{
	return bpf_map_update_elem(x->sockets, &queue, &xsk_fd, BPF_ANY) ? -errno : 0;
}

void xdp_remove_socket(struct xdp_port *x, uint32_t queue)
{
	(void)bpf_map_delete_elem(x->sockets, &queue);
}

uint64_t xdp_misses(const struct xdp_port *x)
{
	uint32_t zero = 0;
	uint64_t sum = 0;

	if (bpf_map_lookup_elem(x->misses, &zero, x->per_cpu))
		return 0;
	for (int cpu = 0; cpu < x->cpus; cpu++)
		sum += x->per_cpu[cpu];
	return sum;
}

void xdp_detach(struct xdp_port *x)
{
	if (!x)
		return;
	if (x->link >= 0)
		close(x->link);
	bpf_object__close(x->object);
	free(x->per_cpu);
	free(x);
}
