// SPDX-License-Identifier: GPL-2.0-or-later
// An HTTPS client with bad manners, of which curl has too few:
//   hold  opens --count connections, does the handshake (not with --plain), says nothing for --seconds, then tells what
//         became of each: `open=N unconnected=N closed=N status_429=N ...`
//   slow  sends headers that never end, a line every 200 ms: `status=N after_ms=N`, status 0 if it was only closed
//   cut   --count times: sends headers (--header adds one) that promise a body, half of it, and resets the connection

#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

enum { COUNT_MAX = 1000, HANDSHAKE_MS = 6000, LINE_MS = 200, SLOW_MS = 60000, STATUS_MAX = 600 };

struct connection {
	int fd;     // -1: could not even be opened
	SSL *ssl;   // NULL: no TLS
	bool ready; // the handshake is done
	int status; // of the answer: 0 none, -1 closed without one
};

static SSL_CTX *context;
static struct sockaddr_in server = {.sin_family = AF_INET};
static struct connection connections[COUNT_MAX];

static void read_server(const char *text)
{
	char host[32];
	const char *colon = strrchr(text, ':');

	if (!colon || (size_t)(colon - text) >= sizeof(host))
		die("'%s' is not ADDRESS:PORT", text);
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	server.sin_port = htons((uint16_t)number("port", colon + 1, 1, 65535));
	if (inet_pton(AF_INET, host, &server.sin_addr) != 1)
		die("'%s' is not an IPv4 address", host);
}

static void start(struct connection *c, bool tls)
{
	int on = 1;

	*c = (struct connection){.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
	if (c->fd < 0)
		die("socket: %s", strerror(errno));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(c->fd, (const struct sockaddr *)&server, sizeof(server)) && errno != EINPROGRESS)
		die("connect: %s", strerror(errno));
	if (!tls)
		return;
	c->ssl = SSL_new(context);
	if (!c->ssl || !SSL_set_fd(c->ssl, c->fd))
		die("out of memory");
	SSL_set_connect_state(c->ssl);
}

// Moves the handshake on, and reads what came. Events to wait for.
static short serve(struct connection *c)
{
	char text[512];
	int n, error = SSL_ERROR_WANT_READ;

	if (c->status)
		return 0;
	if (!c->ssl) {
		n = (int)recv(c->fd, text, sizeof(text) - 1, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != ENOTCONN))
			c->status = -1;
		return POLLIN;
	}
	if (!c->ready) {
		n = SSL_do_handshake(c->ssl);
		c->ready = n == 1;
		if (n != 1)
			error = SSL_get_error(c->ssl, n);
	}
	if (c->ready) {
		n = SSL_read(c->ssl, text, sizeof(text) - 1);
		if (n > 0) {
			text[n] = 0;
			c->status = sscanf(text, "HTTP/1.%*d %d", &n) == 1 && n > 0 && n < STATUS_MAX ? n : -1;
			return 0;
		}
		error = SSL_get_error(c->ssl, n);
	}
	if (error == SSL_ERROR_WANT_WRITE)
		return POLLOUT;
	if (error != SSL_ERROR_WANT_READ)
		c->status = -1;
	return POLLIN;
}

static int left_ms(uint64_t until)
{
	uint64_t now = now_ns();

	return now < until ? (int)((until - now) / 1000000) + 1 : 0;
}

static void serve_all(unsigned count, uint64_t until)
{
	static struct pollfd p[COUNT_MAX];

	while (left_ms(until)) {
		for (unsigned i = 0; i < count; i++) {
			short events = serve(&connections[i]);

			p[i] = (struct pollfd){.fd = connections[i].status ? -1 : connections[i].fd, .events = events};
		}
		poll(p, count, left_ms(until));
	}
}

static bool connected(const struct connection *c)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	return !getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) && info.tcpi_state != TCP_SYN_SENT;
}

static void hold(unsigned count, double seconds, bool tls)
{
	unsigned open = 0, unconnected = 0, closed = 0, status[STATUS_MAX] = {0};

	for (unsigned i = 0; i < count; i++)
		start(&connections[i], tls);
	fprintf(stderr, "rudeclient: holding\n");
	serve_all(count, now_ns() + (uint64_t)(seconds * 1e9));
	for (unsigned i = 0; i < count; i++) {
		if (connections[i].status > 0)
			status[connections[i].status]++;
		else if (connections[i].status)
			closed++;
		else if (connected(&connections[i]))
			open++;
		else
			unconnected++;
	}
	printf("open=%u unconnected=%u closed=%u", open, unconnected, closed);
	for (int s = 0; s < STATUS_MAX; s++)
		if (status[s])
			printf(" status_%d=%u", s, status[s]);
	putchar('\n');
}

// A connection whose handshake is done.
static struct connection *ready_connection(void)
{
	struct connection *c = &connections[0];
	uint64_t until = now_ns() + HANDSHAKE_MS * 1000000ull;

	start(c, true);
	while (!c->ready && !c->status && left_ms(until)) {
		struct pollfd p = {.fd = c->fd, .events = serve(c)};

		if (!c->ready && !c->status)
			poll(&p, 1, left_ms(until));
	}
	if (!c->ready)
		die("no handshake");
	return c;
}

static void slow(void)
{
	struct connection *c = ready_connection();
	uint64_t from = now_ns(), until = from + SLOW_MS * 1000000ull;

	SSL_write(c->ssl, "GET /v1/info HTTP/1.1\r\nHost: weir\r\n", 35);
	while (!c->status && left_ms(until)) {
		struct pollfd p = {.fd = c->fd, .events = POLLIN};

		if (poll(&p, 1, LINE_MS) > 0)
			serve(c);
		else if (SSL_write(c->ssl, "X-Slow: 1\r\n", 11) <= 0)
			serve(c);
	}
	printf("status=%d after_ms=%llu\n", c->status > 0 ? c->status : 0,
	       (unsigned long long)(now_ns() - from) / 1000000);
	if (!c->status)
		die("still open after %d s", SLOW_MS / 1000);
}

static void cut(unsigned count, const char *header)
{
	static const struct linger reset = {.l_onoff = 1};
	char text[1024];
	int len = snprintf(text, sizeof(text),
			   "PATCH /v1/config HTTP/1.1\r\nHost: weir\r\nIf-Match: *\r\n"
			   "Content-Type: application/json\r\nContent-Length: 1000\r\n%s%s\r\n{\"shapers\":{",
			   header, *header ? "\r\n" : "");

	for (unsigned i = 0; i < count; i++) {
		struct connection *c = ready_connection();
		struct timespec pause = {0, (long)(i % 8) * 2000000}; // cut while the headers are read, or after

		if (SSL_write(c->ssl, text, len) <= 0)
			die("the server takes no request");
		nanosleep(&pause, NULL);
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(c->fd);
		SSL_free(c->ssl);
	}
	printf("cut=%u\n", count);
}

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: rudeclient hold|slow|cut [--count N] [--seconds S] [--plain] [--header TEXT] ADDRESS:PORT\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"count", 1, NULL, 'n'},
		{"seconds", 1, NULL, 's'},
		{"plain", 0, NULL, 'p'},
		{"header", 1, NULL, 'h'},
		{0},
	};
	double seconds = 5;
	unsigned count = 1;
	bool plain = false;
	const char *header = "";

	for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (o == 'n')
			count = (unsigned)number("--count", optarg, 1, COUNT_MAX);
		else if (o == 's')
			seconds = number("--seconds", optarg, 0.1, 600);
		else if (o == 'p')
			plain = true;
		else if (o == 'h')
			header = optarg;
		else
			usage();
	}
	if (argc - optind != 2)
		usage();
	signal(SIGPIPE, SIG_IGN);
	read_server(argv[optind + 1]);
	context = SSL_CTX_new(TLS_client_method());
	if (!context)
		die("no TLS");
	SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
	if (!strcmp(argv[optind], "hold"))
		hold(count, seconds, !plain);
	else if (!strcmp(argv[optind], "slow"))
		slow();
	else if (!strcmp(argv[optind], "cut"))
		cut(count, header);
	else
		usage();
	return 0;
}
