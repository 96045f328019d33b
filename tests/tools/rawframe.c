// SPDX-License-Identifier: GPL-2.0-or-later
// Ethernet frames as they are, on a packet socket: sends given ones, prints those that arrive, or throws random and
// mutated ones at a port.
//
// The kernel takes the outer VLAN tag out of a received frame and reports it beside the data; `listen` puts it back, so
// that what it prints is what was on the wire.

#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

enum { FRAME_MAX = 1514 + 8 };

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = 1;
}

static int open_device(const char *device, int protocol)
{
	struct sockaddr_ll a = {.sll_family = AF_PACKET, .sll_protocol = htons((uint16_t)protocol)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die("packet socket: %s", strerror(errno));
	a.sll_ifindex = (int)if_nametoindex(device);
	if (!a.sll_ifindex)
		die("no device '%s' in this network namespace", device);
	if (protocol) {
		struct packet_mreq m = {.mr_ifindex = a.sll_ifindex, .mr_type = PACKET_MR_PROMISC};
		int on = 1, room = 16 << 20;
		if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &m, sizeof(m)) ||
		    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) ||
		    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
			die("%s: %s", device, strerror(errno));
	}
	if (bind(fd, (const struct sockaddr *)&a, sizeof(a)))
		die("%s: %s", device, strerror(errno));
	return fd;
}

static size_t from_hex(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex);
	if (n % 2 || n < 28 || n / 2 > FRAME_MAX)
		die("a frame is 14 to %d bytes in hexadecimal, this one has %zu digits", FRAME_MAX, n);
	for (size_t i = 0; i < n / 2; i++) {
		unsigned byte;
		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			die("'%.2s' is not hexadecimal", hex + 2 * i);
		out[i] = (uint8_t)byte;
	}
	return n / 2;
}

static int send_frames(const char *device, char **hex, int n, unsigned times)
{
	uint8_t frame[FRAME_MAX];
	int fd = open_device(device, 0);
	for (unsigned t = 0; t < times; t++)
		for (int i = 0; i < n; i++) {
			size_t len = from_hex(hex[i], frame);
			if (send(fd, frame, len, 0) != (ssize_t)len)
				die("%s: %s", device, strerror(errno));
		}
	return 0;
}

// Prints each arriving frame as a line of hexadecimal. Frames that this device sends are left out.
static int listen_frames(const char *device, double seconds)
{
	static uint8_t frame[4 + FRAME_MAX];
	int fd = open_device(device, ETH_P_ALL);
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	fprintf(stderr, "rawframe: listening\n");
	for (uint64_t now; (now = now_ns()) < end && !stopped;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (poll(&p, 1, (int)((end - now) / 1000000) + 1) <= 0)
			continue;
		union {
			char space[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
			struct cmsghdr align;
		} control;
		struct sockaddr_ll from;
		struct iovec v = {frame + 4, FRAME_MAX};
		struct msghdr m = {.msg_name = &from,
				   .msg_namelen = sizeof(from),
				   .msg_iov = &v,
				   .msg_iovlen = 1,
				   .msg_control = &control,
				   .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);
		if (n < 14 || from.sll_pkttype == PACKET_OUTGOING)
			continue;
		const uint8_t *start = frame + 4;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
			struct tpacket_auxdata aux;
			if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
				continue;
			memcpy(&aux, CMSG_DATA(c), sizeof(aux));
			if (!(aux.tp_status & TP_STATUS_VLAN_VALID))
				continue;
			uint16_t tpid =
				htons(aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid : ETH_P_8021Q);
			uint16_t tci = htons(aux.tp_vlan_tci);
			memmove(frame, frame + 4, 12);
			memcpy(frame + 12, &tpid, 2);
			memcpy(frame + 14, &tci, 2);
			start = frame;
			n += 4;
		}
		for (ssize_t i = 0; i < n; i++)
			printf("%02x", start[i]);
		putchar('\n');
		fflush(stdout);
	}
	return 0;
}

static uint64_t random_state;

// splitmix64: reproducible from the printed seed.
static uint64_t random_next(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

// Well-formed frames to mutate: the further a mutant gets through the parser, the more of it is exercised.
#define MACS "020000000002020000000001"
#define IP4_UDP "45000024000140004011aea0c6120001c612000227d227d2001000000102030405060708"
#define IP4_TCP "4500003c000140004006ae93c6120001c61200020050c3500000000100000000a002721000000000"
#define TCP_OPTIONS "020405b40402080a000000010000000001030307"
#define IP4_ICMP "4500001c000140004001aeb8c6120001c61200020800f7ff00000000"
#define ARP "0001080006040001020000000001c6120001000000000000c6120002"
#define IP6_ADDRESSES "fd000000000000000000000000000001fd000000000000000000000000000002"
#define UDP "27d227d2001000000102030405060708"
#define IP6_HOP_BY_HOP "2b00010400000000"
#define IP6_ROUTING "2c00000000000000"
#define IP6_FRAGMENT "110000010000002a"
static const char *const templates[] = {
	MACS "0800" IP4_UDP,
	MACS "0800" IP4_TCP TCP_OPTIONS,
	MACS "0800" IP4_ICMP,
	"ffffffffffff0200000000010806" ARP,
	MACS "86dd6000000000101140" IP6_ADDRESSES UDP,
	MACS "86dd6000000000280040" IP6_ADDRESSES IP6_HOP_BY_HOP IP6_ROUTING IP6_FRAGMENT UDP,
	MACS "81000064"
	     "0800" IP4_UDP,
	MACS "88a80064"
	     "81000065"
	     "0800" IP4_UDP,
};

static size_t make_frame(uint8_t *frame)
{
	uint64_t kind = random_next();
	size_t len = 14 + random_next() % (FRAME_MAX - 14 - 8);
	if (kind % 4 == 0) {
		for (size_t i = 0; i < len; i++)
			frame[i] = (uint8_t)random_next();
		return len;
	}
	const char *hex = templates[(kind >> 8) % (sizeof(templates) / sizeof(*templates))];
	size_t n = from_hex(hex, frame);
	for (size_t i = n; i < len; i++)
		frame[i] = (uint8_t)i;
	for (uint64_t flips = kind >> 32 & 3; flips; flips--)
		frame[12 + random_next() % (n - 12)] = (uint8_t)random_next();
	return kind >> 40 & 1 ? 14 + random_next() % (n - 13)
	       : len < n      ? n
			      : len; // half are cut short inside the headers
}

static int fuzz(const char *device, unsigned count, uint64_t seed)
{
	uint8_t frame[FRAME_MAX];
	int fd = open_device(device, 0);
	unsigned sent = 0, refused = 0;
	random_state = seed;
	for (unsigned i = 0; i < count && !stopped; i++) {
		size_t len = make_frame(frame);
		if (send(fd, frame, len, 0) == (ssize_t)len)
			sent++;
		else
			refused++;
		if (i % 64 == 63) { // the peer's ring has 256 entries: leave it time
			struct timespec pause = {0, 300000};
			nanosleep(&pause, NULL);
		}
	}
	printf("seed %llu: sent %u frames, refused by the device %u\n", (unsigned long long)seed, sent, refused);
	return 0;
}

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: rawframe send DEVICE [--count N] HEX...\n"
	      "       rawframe listen DEVICE [--seconds S]\n"
	      "       rawframe fuzz DEVICE [--count N] [--seed N]\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"count", 1, NULL, 'n'}, {"seconds", 1, NULL, 's'}, {"seed", 1, NULL, 'r'}, {0}};
	double seconds = 60;
	unsigned count = 0;
	uint64_t seed = 1;
	for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (o == 'n')
			count = (unsigned)number("--count", optarg, 1, 1e7);
		else if (o == 's')
			seconds = number("--seconds", optarg, 0.001, 3600);
		else if (o == 'r')
			seed = (uint64_t)number("--seed", optarg, 0, 1e15);
		else
			usage();
	}
	if (argc - optind < 2)
		usage();
	const char *what = argv[optind], *device = argv[optind + 1];
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	if (!strcmp(what, "send") && argc - optind > 2)
		return send_frames(device, argv + optind + 2, argc - optind - 2, count ? count : 1);
	if (!strcmp(what, "listen"))
		return listen_frames(device, seconds);
	if (!strcmp(what, "fuzz"))
		return fuzz(device, count ? count : 100000, seed);
	usage();
}
