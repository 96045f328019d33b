// SPDX-License-Identifier: GPL-2.0-or-later
// The front: everything between the network and the HTTP parser. It accepts, speaks TLS, and passes the bytes of each
// connection through a socket pair to whoever parses them (`deliver`); who in turn says in which phase a
// connection is, and so which deadline counts.
#ifndef MGMT_FRONT_H
#define MGMT_FRONT_H

#include "core/problem.h"
#include "mgmt/front_limits.h"

struct front;
struct front_connection;

enum front_phase {
	FRONT_HEADERS, // from the handshake, or the first byte of a further request, to the end of its headers
	FRONT_BODY,
	FRONT_ANSWER, // the request has been read; being worked on, and answered
	FRONT_STREAM, // an answer without end
	FRONT_KEPT,   // answered; the next request may come
};

// Takes the parser's end of a new connection's pair over (also when it fails). Front's thread.
typedef bool front_deliver(void *arg, int fd, const struct sockaddr_storage *peer, socklen_t peer_len);

struct front_options {
	const char *state_dir; // has the certificate; looked at again once a day
	const int *listener;   // listening sockets, borrowed until front_stop
	uint32_t listeners;
	const struct front_limits *limits;
	front_deliver *deliver;
	void *arg;
};

enum { FRONT_LISTENERS_MAX = 16 };

// Loads the certificate, and is ready to start. NULL with an error.
struct front *front_new(const struct front_options *o, struct problems *out);
// Serves on a thread of its own, from which `deliver` may be called before this returns.
bool front_start(struct front *f, struct problems *out);
// Ends the thread, if it was started, and all connections; those that the parser took stay valid arguments until front_free.
void front_stop(struct front *f);
void front_free(struct front *f);

// For the parser, from any thread. The connection whose end `fd` is; NULL: it has ended meanwhile. Between this and
// front_gone, which must follow, its memory is not used for another.
struct front_connection *front_take(struct front *f, int fd);
void front_gone(struct front_connection *c);
void front_phase(struct front_connection *c, enum front_phase phase);
// The front answers the request itself, with this status, and closes. Nothing of an answer may have been sent.
void front_refuse(struct front_connection *c, int status);

#endif
