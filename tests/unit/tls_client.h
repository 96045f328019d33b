// SPDX-License-Identifier: GPL-2.0-or-later
// For tests of the server: a blocking TLS client, a listening socket, a directory that goes away.
#ifndef TESTS_TLS_CLIENT_H
#define TESTS_TLS_CLIENT_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "io/clock.h"

static char test_dir[64];

static inline void make_state_dir(void)
{
	strcpy(test_dir, "/tmp/weir-test-http-XXXXXX");
	assert_non_null(mkdtemp(test_dir));
}

static inline void remove_state_dir(void)
{
	DIR *d = opendir(test_dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(test_dir);
}

static inline int listen_somewhere(uint16_t *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_false(bind(fd, (struct sockaddr *)&a, sizeof a));
	assert_false(listen(fd, 512));
	assert_false(getsockname(fd, (struct sockaddr *)&a, &len));
	*port = ntohs(a.sin_port);
	return fd;
}

static inline int tcp_to(uint16_t port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
	struct timeval patience = {.tv_sec = 40};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	assert_false(connect(fd, (struct sockaddr *)&a, sizeof a));
	return fd;
}

struct client {
	int fd;
	SSL *ssl; // NULL: the handshake failed
};

static SSL_CTX *client_tls;

// `set` changes the client's mind about TLS before the handshake; may be NULL.
static inline struct client tls_to(uint16_t port, void (*set)(SSL *))
{
	struct client c = {.fd = tcp_to(port)};

	if (!client_tls) {
		client_tls = SSL_CTX_new(TLS_client_method());
		SSL_CTX_set_options(client_tls, SSL_OP_IGNORE_UNEXPECTED_EOF);
	}
	c.ssl = SSL_new(client_tls);
	SSL_set_fd(c.ssl, c.fd);
	if (set)
		set(c.ssl);
	if (SSL_connect(c.ssl) != 1) {
		SSL_free(c.ssl);
		c.ssl = NULL;
	}
	return c;
}

static inline void client_close(struct client *c)
{
	if (c->ssl)
		SSL_shutdown(c->ssl);
	SSL_free(c->ssl);
	if (c->fd >= 0)
		close(c->fd);
	c->ssl = NULL;
	c->fd = -1;
}

static inline void client_reset(struct client *c)
{
	struct linger now = {.l_onoff = 1};

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	SSL_free(c->ssl);
	close(c->fd);
	c->ssl = NULL;
	c->fd = -1;
}

static inline bool client_send(struct client *c, const void *data, size_t len)
{
	return SSL_write(c->ssl, data, (int)len) == (int)len;
}

// Reads until the end, or until buf is full; the bytes, terminated.
static inline size_t client_read_all(struct client *c, char *buf, size_t size)
{
	size_t at = 0;
	int n;

	while (at + 1 < size && (n = SSL_read(c->ssl, buf + at, (int)(size - 1 - at))) > 0)
		at += (size_t)n;
	buf[at] = '\0';
	return at;
}

static inline double seconds_since(nsec_t t)
{
	return (double)(clock_now() - t) / NSEC_PER_SEC;
}

#endif
