// SPDX-License-Identifier: GPL-2.0-or-later
// ICMP echo with percentiles: one request every --interval-us, or, with --silence, one request, its reply, then
// silence.
//
// A reply is timed by the kernel on arrival (SO_TIMESTAMPNS), as ping(8) does it, so that the figure is the path's and
// not the time this process waited for its CPU.

#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <linux/icmp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { COUNT_MAX = 1000000, SIZE_MAX_BYTES = 1472, REPLY_WAIT_MS = 1000 };

static uint64_t *sent_at; // [count] CLOCK_REALTIME, 0 once answered
static double *rtt_us;
static unsigned answered, sent, count = 100;
static size_t size = 56;
static uint16_t ident;
static int fd;
static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = 1;
}

static uint16_t checksum(const uint8_t *data, size_t len)
{
	uint32_t sum = 0;
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)(data[i] << 8 | data[i + 1]);
	if (len & 1)
		sum += (uint32_t)data[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static void send_request(void)
{
	uint8_t buffer[sizeof(struct icmphdr) + SIZE_MAX_BYTES] = {0};
	struct icmphdr head = {.type = ICMP_ECHO};
	uint32_t number = sent; // the echo header's own sequence has but 16 bits
	head.un.echo.id = htons(ident);
	head.un.echo.sequence = htons((uint16_t)sent);
	memcpy(buffer, &head, sizeof(head));
	memcpy(buffer + sizeof(head), &number, sizeof(number));
	head.checksum = checksum(buffer, sizeof(head) + size);
	memcpy(buffer, &head, sizeof(head));
	sent_at[sent++] = clock_ns(CLOCK_REALTIME);
	if (send(fd, buffer, sizeof(head) + size, 0) < 0 && errno != ENOBUFS && errno != EAGAIN)
		die("send: %s", strerror(errno));
}

// Takes all replies that are there.
static void take_replies(void)
{
	uint8_t buffer[2048];
	union {
		char space[256];
		struct cmsghdr align;
	} control;
	for (;;) {
		struct iovec v = {buffer, sizeof(buffer)};
		struct msghdr m = {
			.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);
		if (n < 0)
			return;
		uint64_t at = clock_ns(CLOCK_REALTIME);
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
			struct timespec ts;
			if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
				continue;
			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			at = (uint64_t)ts.tv_sec * NSEC + (uint64_t)ts.tv_nsec;
		}
		size_t ip = (size_t)(buffer[0] & 15) * 4;
		struct icmphdr head;
		uint32_t number;
		if ((size_t)n < ip + sizeof(head) + sizeof(number))
			continue;
		memcpy(&head, buffer + ip, sizeof(head));
		memcpy(&number, buffer + ip + sizeof(head), sizeof(number));
		if (head.type != ICMP_ECHOREPLY || head.un.echo.id != htons(ident) || number >= sent ||
		    !sent_at[number])
			continue;
		rtt_us[answered++] = at > sent_at[number] ? (double)(at - sent_at[number]) / 1000 : 0;
		sent_at[number] = 0;
	}
}

// Takes replies until `until` (CLOCK_MONOTONIC), or until all that was sent is answered if `early`.
static void wait_until(uint64_t until, bool early)
{
	for (uint64_t now; (now = now_ns()) < until && !stopped && !(early && answered == sent);) {
		struct timespec wait = {(time_t)((until - now) / NSEC), (long)((until - now) % NSEC)};
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (ppoll(&p, 1, &wait, NULL) > 0)
			take_replies();
	}
}

static void open_socket(const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	int on = 1, room = 4 << 20;
	uint32_t filter = ~(1u << ICMP_ECHOREPLY);
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
		die("'%s' is not an IPv4 address", address);
	fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	if (fd < 0)
		die("raw socket: %s", strerror(errno));
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)))
		die("%s: %s", address, strerror(errno));
	if (setsockopt(fd, SOL_RAW, ICMP_FILTER, &filter, sizeof(filter)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		die("socket options: %s", strerror(errno));
}

static int by_value(const void *a, const void *b)
{
	double x, y;
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static double percentile(double q)
{
	return answered ? rtt_us[(size_t)(q * (answered - 1) + 0.5)] : 0;
}

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: pinger [--count N] [--interval-us N | --silence MS] [--size BYTES] [--cpu N] [--json] ADDRESS\n"
	      "  exits 1 if nothing was answered\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"count", 1, NULL, 'n'},
		{"interval-us", 1, NULL, 'i'},
		{"silence", 1, NULL, 'q'},
		{"size", 1, NULL, 'l'},
		{"cpu", 1, NULL, 'c'},
		{"json", 0, NULL, 'j'},
		{0},
	};
	uint64_t interval = 10000000, silence = 0;
	bool json = false;
	for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (o == 'n')
			count = (unsigned)number("--count", optarg, 1, COUNT_MAX);
		else if (o == 'i')
			interval = (uint64_t)(number("--interval-us", optarg, 10, 1e7) * 1000);
		else if (o == 'q')
			silence = (uint64_t)(number("--silence", optarg, 1, 60000) * 1e6);
		else if (o == 'l')
			size = (size_t)number("--size", optarg, 8, SIZE_MAX_BYTES);
		else if (o == 'c')
			pin_to_cpu((int)number("--cpu", optarg, 0, CPU_SETSIZE - 1));
		else if (o == 'j')
			json = true;
		else
			usage();
	}
	if (optind != argc - 1)
		usage();
	sent_at = calloc(count, sizeof(*sent_at));
	rtt_us = calloc(count, sizeof(*rtt_us));
	if (!sent_at || !rtt_us)
		die("no memory for %u samples", count);
	open_socket(argv[optind]);
	ident = (uint16_t)(clock_ns(CLOCK_REALTIME) / 1000);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
	for (uint64_t due = now_ns(); sent < count && !stopped;) {
		if (silence)
			wait_until(now_ns() + silence, false);
		else
			wait_until(due += interval, false);
		if (stopped)
			break;
		send_request();
		if (silence)
			wait_until(now_ns() + REPLY_WAIT_MS * 1000000ull, true);
	}
	wait_until(now_ns() + REPLY_WAIT_MS * 1000000ull, true);
	qsort(rtt_us, answered, sizeof(*rtt_us), by_value);
	printf(json ? "{\"sent\":%u,\"answered\":%u,\"rtt_us\":{\"min\":%.1f,\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f}}\n"
		    : "sent %u, answered %u, rtt min %.1f p50 %.1f p99 %.1f max %.1f us\n",
	       sent, answered, percentile(0), percentile(0.5), percentile(0.99), percentile(1));
	return answered ? 0 : 1;
}
