// SPDX-License-Identifier: GPL-2.0-or-later
// All that runs of weir inside the kernel: each receive queue goes to the AF_XDP socket bound to it. A packet on a
// queue without a socket is dropped and counted: passed on, it would go around the switch into the kernel's own stack.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64); // QUEUES_MAX
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} misses SEC(".maps");

SEC("xdp")
int weir(struct xdp_md *ctx)
{
	__u32 zero = 0;
	int action = bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_DROP);
	__u64 *count;

	if (action != XDP_REDIRECT && (count = bpf_map_lookup_elem(&misses, &zero)))
		++*count;
	return action;
}

char licence[] SEC("license") = "GPL";
