// SPDX-License-Identifier: GPL-2.0-or-later
// Sends UDP from one process to several destination ports, each at its own constant rate.
//
// One process, since three senders on one core disturb each other's timing by a scheduler slice, while one that serves
// its flows by due time keeps each at its rate. A burst goes out in one system call as a UDP_SEGMENT super-datagram,
// which the kernel cuts before a device that can't (veth with XDP on its peer), or by sendmmsg. A sender that was kept
// off the CPU for longer than LAG_MAX does not make up for it: the burst would overrun the peer's ring, and the loss
// would be the sender's, not the forwarder's. What it left out is reported as `skipped`.

#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/udp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { FLOWS_MAX = 64, BURST_MAX = 64, LAG_MAX = 1000000 /* ns */, DATAGRAM_MAX = 65000 };

struct flow {
	int fd, port;
	double gap_ns; // between two datagrams
	double due_ns; // of the next one, since the start
	uint64_t seq;  // of the next one
	uint64_t sent, refused, skipped;
};

static size_t size = 1472;
static unsigned burst = 16;
static bool segment = true;
static volatile sig_atomic_t stopped;
static uint8_t payload[BURST_MAX * 9000];

static void on_signal(int sig)
{
	stopped = 1;
}

// "1gbit", "200mbit", "64kbit" count frame bytes as the shaper does; "84000pps" counts datagrams.
static double parse_gap(const char *text, int overhead)
{
	char *unit;
	double v = strtod(text, &unit), scale = 0;
	if (!strcmp(unit, "pps"))
		return v > 0 && v <= 1e7 ? 1e9 / v : 0;
	if (!strcmp(unit, "kbit"))
		scale = 1e3;
	else if (!strcmp(unit, "mbit"))
		scale = 1e6;
	else if (!strcmp(unit, "gbit"))
		scale = 1e9;
	double bits = v * scale;
	return bits >= 1e3 && bits <= 1e11 ? 8e9 * ((double)size + overhead) / bits : 0;
}

static int open_flow(const char *host, int port, bool *ip6)
{
	char service[8];
	struct addrinfo hint = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *a;
	snprintf(service, sizeof(service), "%d", port);
	int err = getaddrinfo(host, service, &hint, &a);
	if (err)
		die("address '%s': %s", host, gai_strerror(err));
	int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), room = 8 << 20;
	if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen))
		die("connect to %s port %d: %s", host, port, strerror(errno));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	*ip6 = a->ai_family == AF_INET6;
	freeaddrinfo(a);
	return fd;
}

// Sends n datagrams in one call; how many the kernel took. A refusal loses no sequence number.
static unsigned send_burst(struct flow *f, unsigned n)
{
	uint64_t now = now_ns();
	for (unsigned i = 0; i < n; i++) {
		struct probe p = {PROBE_MAGIC, f->seq + i, now};
		memcpy(payload + i * size, &p, sizeof(p));
	}
	if (segment && n > 1) {
		uint16_t gso = (uint16_t)size;
		union {
			char space[CMSG_SPACE(sizeof(uint16_t))];
			struct cmsghdr align;
		} control = {{0}};
		struct iovec v = {payload, n * size};
		struct msghdr m = {
			.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_UDP;
		c->cmsg_type = UDP_SEGMENT;
		c->cmsg_len = CMSG_LEN(sizeof(gso));
		memcpy(CMSG_DATA(c), &gso, sizeof(gso));
		if (sendmsg(f->fd, &m, 0) >= 0)
			return n;
		if (errno != EINVAL && errno != EIO && errno != EMSGSIZE)
			return 0;
		segment = false; // no UDP_SEGMENT on this path
	}
	struct mmsghdr m[BURST_MAX] = {0};
	struct iovec v[BURST_MAX];
	for (unsigned i = 0; i < n; i++) {
		v[i] = (struct iovec){payload + i * size, size};
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	int done = sendmmsg(f->fd, m, n, 0);
	return done > 0 ? (unsigned)done : 0;
}

// Sends what flow f owes at `t` ns since the start.
static void serve(struct flow *f, double t)
{
	if (t - f->due_ns > LAG_MAX + f->gap_ns) {
		double missed = (double)(uint64_t)((t - f->due_ns) / f->gap_ns);
		f->skipped += (uint64_t)missed;
		f->due_ns += missed * f->gap_ns;
	}
	while (f->due_ns <= t && !stopped) {
		double owed = (t - f->due_ns) / f->gap_ns + 1;
		unsigned n = owed < burst ? (unsigned)owed : burst;
		unsigned done = send_burst(f, n);
		f->seq += done;
		f->sent += done;
		f->refused += n - done;
		f->due_ns += n * f->gap_ns;
	}
}

static void run(struct flow *flows, int count, double seconds)
{
	uint64_t start = now_ns();
	double end = seconds * 1e9, t;
	while ((t = (double)(now_ns() - start)) < end && !stopped) {
		double next = end;
		for (int i = 0; i < count; i++) {
			struct flow *f = &flows[i];
			serve(f, t);
			// Up to a full burst is left to gather, so that the sender sleeps between bursts and not
			// between datagrams; a slow flow does not wait for more than one datagram, or its delay would
			// be ours.
			double full = f->gap_ns < 100000 ? f->due_ns + (burst - 1) * f->gap_ns : f->due_ns;
			if (full < next)
				next = full;
		}
		uint64_t at = start + (uint64_t)next;
		struct timespec ts = {(time_t)(at / NSEC), (long)(at % NSEC)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	}
}

static void report(const struct flow *flows, int count, double seconds, int overhead, bool json)
{
	if (json)
		printf("{\"seconds\":%.6f,\"ports\":[", seconds);
	for (int i = 0; i < count; i++) {
		const struct flow *f = &flows[i];
		double mbit = (double)f->sent * 8 * ((double)size + overhead) / seconds / 1e6;
		printf(json ? "%s{\"port\":%d,\"sent\":%llu,\"refused\":%llu,\"skipped\":%llu,\"mbit\":%.3f}"
			    : "%sport %d: sent %llu, refused %llu, skipped %llu, %.3f Mbit/s\n",
		       json && i ? "," : "", f->port, (unsigned long long)f->sent, (unsigned long long)f->refused,
		       (unsigned long long)f->skipped, mbit);
	}
	if (json)
		puts("]}");
}

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: udpsend [--seconds S] [--size BYTES] [--burst N] [--no-gso] [--cpu N] [--json] ADDRESS PORT=RATE...\n"
	      "  RATE: 1gbit, 200mbit, 64kbit (frame bytes, without FCS) or 84000pps\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seconds", 1, NULL, 's'},
		{"size", 1, NULL, 'l'},
		{"burst", 1, NULL, 'b'},
		{"no-gso", 0, NULL, 'g'},
		{"cpu", 1, NULL, 'c'},
		{"json", 0, NULL, 'j'},
		{0},
	};
	static struct flow flows[FLOWS_MAX];
	double seconds = 10;
	bool json = false, ip6 = false;
	for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (o == 's')
			seconds = number("--seconds", optarg, 0.001, 86400);
		else if (o == 'l')
			size = (size_t)number("--size", optarg, sizeof(struct probe), 8972);
		else if (o == 'b')
			burst = (unsigned)number("--burst", optarg, 1, BURST_MAX);
		else if (o == 'g')
			segment = false;
		else if (o == 'c')
			pin_to_cpu((int)number("--cpu", optarg, 0, CPU_SETSIZE - 1));
		else if (o == 'j')
			json = true;
		else
			usage();
	}
	int count = argc - optind - 1;
	if (count < 1 || count > FLOWS_MAX)
		usage();
	if (burst * size > DATAGRAM_MAX)
		burst = (unsigned)(DATAGRAM_MAX / size);
	for (int i = 0; i < count; i++) {
		char *text = argv[optind + 1 + i], *rate = strchr(text, '=');
		if (!rate)
			die("'%s' is not PORT=RATE", text);
		*rate++ = 0;
		struct flow *f = &flows[i];
		f->port = (int)number("port", text, 1, 65535);
		f->fd = open_flow(argv[optind], f->port, &ip6);
		f->gap_ns = parse_gap(rate, ip6 ? FRAME_IP6_UDP : FRAME_IP4_UDP);
		if (f->gap_ns <= 0)
			die("rate '%s' of port %d is not 1kbit..100gbit or 1pps..10000000pps", rate, f->port);
		f->due_ns = i * f->gap_ns / count; // flows of one rate take turns
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
	uint64_t start = now_ns();
	run(flows, count, seconds);
	report(flows, count, (double)(now_ns() - start) / 1e9, ip6 ? FRAME_IP6_UDP : FRAME_IP4_UDP, json);
	return 0;
}
