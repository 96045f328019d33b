// SPDX-License-Identifier: GPL-2.0-or-later
// Opens a listening TCP socket where it is started, and becomes another program that inherits it: a weir inside a network
// namespace can so be reached from outside of it (`weir run --listen fd:3`).

#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { LISTEN_FD = 3, BACKLOG = 512 };

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	char host[32], *colon = argc > 2 ? strrchr(argv[1], ':') : NULL;
	int fd, on = 1;

	if (!colon || (size_t)(colon - argv[1]) >= sizeof(host)) {
		fputs("usage: listenfd ADDRESS:PORT COMMAND...    the command has the listening socket as descriptor 3\n",
		      stderr);
		return 2;
	}
	snprintf(host, sizeof(host), "%.*s", (int)(colon - argv[1]), argv[1]);
	a.sin_port = htons((uint16_t)number("port", colon + 1, 1, 65535));
	if (inet_pton(AF_INET, host, &a.sin_addr) != 1)
		die("'%s' is not an IPv4 address", host);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)&a, sizeof(a)) || listen(fd, BACKLOG))
		die("%s: %s", argv[1], strerror(errno));
	if (fd != LISTEN_FD && (dup2(fd, LISTEN_FD) < 0 || close(fd)))
		die("descriptor %d: %s", LISTEN_FD, strerror(errno));
	execvp(argv[2], argv + 2);
	die("%s: %s", argv[2], strerror(errno));
}
