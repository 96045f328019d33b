// SPDX-License-Identifier: GPL-2.0-or-later
// Receives what udpsend sends, on several ports: rate, loss and reordering by sequence number, one-way delay.
//
// With --interval it prints a line a window and port, `window END_NS PORT PACKETS MBIT`, and on SIGUSR1 a line
// `mark NS`, both in CLOCK_MONOTONIC: a test changes something, marks the instant, and reads off when the new rate
// was there. Rates count frame bytes, as the shaper does.
//
// --gather US lets datagrams gather that long before they are read: a wake-up for each of 80,000 a second costs more
// than all the reading, on a CPU that the senders need. Delays then come out up to that much longer.

#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

enum { PORTS_MAX = 64, BATCH = 64, ROUNDS_MAX = 16, HEAD = sizeof(struct probe) };

struct port {
	int port;
	uint64_t packets, frame_bytes;
	uint64_t first_seq, max_seq, reordered, foreign; // foreign: not from udpsend
	bool seen;
	uint64_t window_packets, window_bytes;
	struct delays delay;
};

static struct port ports[PORTS_MAX];
static struct pollfd polls[PORTS_MAX];
static int count;
static volatile sig_atomic_t stopped, marked;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		marked = 1;
	else
		stopped = 1;
}

static int open_port(int port)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), off = 0, room = 32 << 20;
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) ||
	    bind(fd, (const struct sockaddr *)&a, sizeof(a)))
		die("port %d: %s", port, strerror(errno));
	// A receiver that is kept off its CPU for a slice must not lose what the forwarder delivered.
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	return fd;
}

static void take(struct port *p, const struct probe *head, unsigned len, const struct sockaddr_in6 *from, uint64_t now)
{
	unsigned frame = len + (IN6_IS_ADDR_V4MAPPED(&from->sin6_addr) ? FRAME_IP4_UDP : FRAME_IP6_UDP);
	p->window_packets++;
	p->window_bytes += frame;
	p->packets++;
	p->frame_bytes += frame;
	if (len < HEAD || head->magic != PROBE_MAGIC) {
		p->foreign++;
		return;
	}
	if (!p->seen) {
		p->seen = true;
		p->first_seq = p->max_seq = head->seq;
	} else if (head->seq < p->max_seq) {
		p->reordered++;
	} else {
		p->max_seq = head->seq;
	}
	delays_add(&p->delay, now > head->sent_ns ? now - head->sent_ns : 0);
}

static void drain(int i)
{
	static struct probe heads[BATCH];
	static struct sockaddr_in6 from[BATCH];
	struct mmsghdr m[BATCH];
	struct iovec v[BATCH];
	for (int k = 0; k < BATCH; k++) {
		v[k] = (struct iovec){&heads[k], HEAD};
		m[k] = (struct mmsghdr){.msg_hdr = {.msg_iov = &v[k],
						    .msg_iovlen = 1,
						    .msg_name = &from[k],
						    .msg_namelen = sizeof(from[k])}};
	}
	for (int n = BATCH, rounds = 0; n == BATCH && rounds < ROUNDS_MAX; rounds++) {
		n = recvmmsg(polls[i].fd, m, BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL);
		uint64_t now = now_ns();
		for (int k = 0; k < n; k++)
			take(&ports[i], &heads[k], m[k].msg_len, &from[k], now);
	}
}

static double mbit(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes * 8000 / (double)ns : 0;
}

static void close_window(uint64_t start, uint64_t now)
{
	for (int i = 0; i < count; i++) {
		struct port *p = &ports[i];
		printf("window %llu %d %llu %.3f\n", (unsigned long long)now, p->port,
		       (unsigned long long)p->window_packets, mbit(p->window_bytes, now - start));
		p->window_packets = p->window_bytes = 0;
	}
	fflush(stdout);
}

// Receives until `end`; a window every `interval` ns (0: none).
static void receive(uint64_t end, uint64_t interval, uint64_t gather)
{
	uint64_t window = now_ns(), now;
	while ((now = now_ns()) < end && !stopped) {
		if (marked) {
			marked = 0;
			printf("mark %llu\n", (unsigned long long)now);
			fflush(stdout);
		}
		if (interval && now - window >= interval) {
			close_window(window, now);
			window = now;
		}
		uint64_t until = interval && window + interval < end ? window + interval : end;
		struct timespec wait = {(time_t)((until - now) / NSEC), (long)((until - now) % NSEC)};
		if (ppoll(polls, (nfds_t)count, &wait, NULL) <= 0)
			continue;
		for (int i = 0; i < count; i++)
			if (polls[i].revents & POLLIN)
				drain(i);
		if (gather) {
			struct timespec pause = {0, (long)gather};
			nanosleep(&pause, NULL);
		}
	}
}

static void report(uint64_t ns, bool json)
{
	if (json)
		printf("{\"seconds\":%.6f,\"ports\":[", (double)ns / 1e9);
	for (int i = 0; i < count; i++) {
		const struct port *p = &ports[i];
		uint64_t ours = p->packets - p->foreign, span = p->seen ? p->max_seq - p->first_seq + 1 : 0;
		printf(json ? "%s{\"port\":%d,\"packets\":%llu,\"frame_bytes\":%llu,\"mbit\":%.3f,\"lost\":%llu,\"reordered\":%llu,"
			      "\"foreign\":%llu,\"delay_us\":{\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f}}"
			    : "%sport %d: %llu packets, %llu frame bytes, %.3f Mbit/s, lost %llu, reordered %llu, foreign %llu, "
			      "delay p50 %.1f p99 %.1f max %.1f us\n",
		       json && i ? "," : "", p->port, (unsigned long long)p->packets,
		       (unsigned long long)p->frame_bytes, mbit(p->frame_bytes, ns),
		       (unsigned long long)(span > ours ? span - ours : 0), (unsigned long long)p->reordered,
		       (unsigned long long)p->foreign, delays_us(&p->delay, 0.5), delays_us(&p->delay, 0.99),
		       (double)p->delay.max / 1000);
	}
	if (json)
		puts("]}");
}

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: udprecv [--seconds S] [--warmup S] [--interval MS] [--gather US] [--cpu N] [--json] PORT...\n"
	      "  counts for S seconds after the warm-up, or until SIGTERM; SIGUSR1 prints a mark\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seconds", 1, NULL, 's'},
		{"warmup", 1, NULL, 'w'},
		{"interval", 1, NULL, 'i'},
		{"gather", 1, NULL, 'g'},
		{"cpu", 1, NULL, 'c'},
		{"json", 0, NULL, 'j'},
		{0},
	};
	double seconds = 3600, warmup = 0, interval = 0, gather = 0;
	bool json = false;
	for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (o == 's')
			seconds = number("--seconds", optarg, 0.001, 86400);
		else if (o == 'w')
			warmup = number("--warmup", optarg, 0, 3600);
		else if (o == 'i')
			interval = number("--interval", optarg, 1, 60000);
		else if (o == 'g')
			gather = number("--gather", optarg, 0, 100000) * 1000;
		else if (o == 'c')
			pin_to_cpu((int)number("--cpu", optarg, 0, CPU_SETSIZE - 1));
		else if (o == 'j')
			json = true;
		else
			usage();
	}
	count = argc - optind;
	if (count < 1 || count > PORTS_MAX)
		usage();
	for (int i = 0; i < count; i++) {
		ports[i].port = (int)number("port", argv[optind + i], 1, 65535);
		polls[i] = (struct pollfd){.fd = open_port(ports[i].port), .events = POLLIN};
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGUSR1, on_signal);
	fprintf(stderr, "udprecv: listening\n");
	if (warmup > 0) {
		receive(now_ns() + (uint64_t)(warmup * 1e9), 0, (uint64_t)gather);
		for (int i = 0; i < count; i++)
			ports[i] = (struct port){.port = ports[i].port};
	}
	uint64_t start = now_ns();
	receive(start + (uint64_t)(seconds * 1e9), (uint64_t)(interval * 1e6), (uint64_t)gather);
	report(now_ns() - start, json);
	return 0;
}
