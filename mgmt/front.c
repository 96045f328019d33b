// SPDX-License-Identifier: GPL-2.0-or-later
// One thread, one epoll, everything edge-triggered: each event runs all four directions of its connection (client to
// buffer, buffer to parser, and back) until none moves. What does not move then waits either for a socket, which will
// give an event, or for a buffer that another direction empties. So there is no interest to keep up to date, and a
// full buffer is the backpressure: 16 KB each way, and a client is not read while its parser does not.
//
// Two threads know a connection: the front's, and the parser's, which reports phases. What both touch is under `lock`; the
// rest is the front's alone. A place is free again only when both have let go of it, so a late report cannot hit a stranger.
//
// Deadlines are absolute, and looked at at least once a second; there are so few connections that looking at all of
// them is cheaper than any timer structure. Answers that no parser is there for (limits, deadlines) are written here.
#include "mgmt/front.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <openssl/err.h>

#include "io/clock.h"
#include "mgmt/tls.h"

enum {
	REFUSALS = 8, // refused ones that are told so at the same time; more are closed without a word
	PLACES = 96,  // limits.total and the refused ones, and some that the parser has still to let go
	BUFFER = 16384,
	ROUNDS = 16, // of a connection, before others have their turn
	EVENTS = 64,
	ACCEPTS = 64,
	TICK_MS = 1000,
};
#define LINGER_NS (1 * NSEC_PER_SEC)
#define REFUSAL_NS (2 * NSEC_PER_SEC)
#define CERTIFICATE_NS (24 * 3600 * NSEC_PER_SEC)

enum stage {
	FREE,
	HANDSHAKE,
	HEAR, // refused: what it asks for is waited for, then it is told
	PROXY,
	SAY,    // our own answer is being written
	LINGER, // all is said; what still comes is thrown away, for a close with unread bytes would take back the answer
};

struct buffer {
	size_t at, len; // unread: at..len; len 0: empty
	uint8_t byte[BUFFER];
};

struct front_connection {
	struct front *front;
	enum stage stage;
	int tcp, pipe;
	SSL *ssl;
	struct seat seat;
	struct sockaddr_storage peer;
	socklen_t peer_len;
	bool client_ended, parser_ended, parser_deaf, parser_told, refused, more;
	nsec_t moved_ns; // the client last took something, or there first was something to take
	struct buffer up, down;
	// under lock
	bool served;   // the parser has it
	int parser_fd; // what front_take looks for, -1: nothing
	int refuse;    // status, 0: none
	enum front_phase phase;
	bool heard, ahead; // bytes of this request came; of the next one while this is being answered
	nsec_t since_ns, deadline_ns;
};

struct front {
	char state_dir[256];
	struct front_limits limits;
	front_deliver *deliver;
	void *arg;
	int listener[FRONT_LISTENERS_MAX];
	uint32_t listeners;
	int epoll, wake;
	SSL_CTX *tls;
	nsec_t now, certificate_due_ns;
	pthread_t thread;
	bool started; // by who started it
	atomic_bool stop;
	pthread_mutex_t lock;
	struct front_connection place[PLACES];
};

// --- phases --------------------------------------------------------------------------------------------------------

static void set_phase(struct front_connection *c, enum front_phase phase, nsec_t now)
{
	const struct front_limits *l = &c->front->limits;
	const nsec_t allowed[] = {
		[FRONT_HEADERS] = l->headers_ns, [FRONT_BODY] = l->body_ns, [FRONT_ANSWER] = l->answer_ns,
		[FRONT_STREAM] = TIME_NEVER,     [FRONT_KEPT] = l->kept_ns,
	};

	c->phase = phase;
	c->since_ns = now;
	c->deadline_ns = allowed[phase] == TIME_NEVER ? TIME_NEVER : now + allowed[phase];
}

void front_phase(struct front_connection *c, enum front_phase phase)
{
	nsec_t now = clock_now();

	pthread_mutex_lock(&c->front->lock);
	if (phase == FRONT_KEPT) {
		c->heard = c->ahead; // the next request was sent before this one's answer was complete
		c->ahead = false;
	}
	set_phase(c, phase == FRONT_KEPT && c->heard ? FRONT_HEADERS : phase, now);
	pthread_mutex_unlock(&c->front->lock);
}

// Bytes came from the client.
static void hear(struct front_connection *c)
{
	pthread_mutex_lock(&c->front->lock);
	if (c->phase == FRONT_KEPT)
		set_phase(c, FRONT_HEADERS, c->front->now);
	if (c->phase == FRONT_ANSWER || c->phase == FRONT_STREAM)
		c->ahead = true;
	else
		c->heard = true;
	pthread_mutex_unlock(&c->front->lock);
}

static enum front_phase phase_of(struct front_connection *c, bool *heard)
{
	enum front_phase phase;

	pthread_mutex_lock(&c->front->lock);
	phase = c->phase;
	*heard = c->heard;
	pthread_mutex_unlock(&c->front->lock);
	return phase;
}

static void set_deadline(struct front_connection *c, nsec_t in)
{
	pthread_mutex_lock(&c->front->lock);
	c->deadline_ns = c->front->now + in;
	pthread_mutex_unlock(&c->front->lock);
}

struct front_connection *front_take(struct front *f, int fd)
{
	struct front_connection *found = NULL;

	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < PLACES && !found; i++)
		if (f->place[i].parser_fd == fd)
			found = &f->place[i];
	if (found)
		found->served = true;
	pthread_mutex_unlock(&f->lock);
	return found;
}

void front_gone(struct front_connection *c)
{
	pthread_mutex_lock(&c->front->lock);
	c->served = false;
	pthread_mutex_unlock(&c->front->lock);
}

static void wake(struct front *f)
{
	uint64_t one = 1;

	// It can only fail when the counter is full, and then the thread is awake.
	if (write(f->wake, &one, sizeof one) != sizeof one)
		return;
}

void front_refuse(struct front_connection *c, int status)
{
	pthread_mutex_lock(&c->front->lock);
	c->refuse = status;
	pthread_mutex_unlock(&c->front->lock);
	wake(c->front);
}

static int refusal(struct front_connection *c)
{
	int status;

	pthread_mutex_lock(&c->front->lock);
	status = c->refuse;
	pthread_mutex_unlock(&c->front->lock);
	return status;
}

// --- ends ----------------------------------------------------------------------------------------------------------

static void close_pipe(struct front_connection *c)
{
	if (c->pipe >= 0)
		close(c->pipe);
	c->pipe = -1;
}

// At once, without a word.
static void drop(struct front_connection *c)
{
	close_pipe(c);
	SSL_free(c->ssl);
	c->ssl = NULL;
	if (c->tcp >= 0)
		close(c->tcp);
	c->tcp = -1;
	pthread_mutex_lock(&c->front->lock);
	c->parser_fd = -1;
	pthread_mutex_unlock(&c->front->lock);
	c->more = false;
	c->stage = FREE;
}

// One that is idle: there is nothing to take back, so nothing to linger for.
static void part(struct front_connection *c)
{
	if (c->stage == PROXY) {
		ERR_clear_error();
		SSL_shutdown(c->ssl);
	}
	drop(c);
}

// All is said: close_notify, then the end of our direction.
static void end(struct front_connection *c)
{
	close_pipe(c);
	ERR_clear_error();
	SSL_shutdown(c->ssl);
	shutdown(c->tcp, SHUT_WR);
	c->stage = LINGER;
	pthread_mutex_lock(&c->front->lock);
	c->since_ns = c->front->now;
	c->deadline_ns = c->front->now + LINGER_NS;
	pthread_mutex_unlock(&c->front->lock);
	if (c->client_ended)
		drop(c);
}

static void say(struct front_connection *c, int status)
{
	static const struct {
		int status;
		const char *title, *detail;
	} answers[] = {
		{408, "Request Timeout", "the request was not complete in time"},
		{413, "Content Too Large", "the body is longer than is allowed here"},
		{429, "Too Many Requests", "too many connections from this address"},
		{503, "Service Unavailable", "too many connections"},
	};
	char body[256];
	size_t i = 0;
	int len;

	close_pipe(c);
	if (c->down.len) { // the rest of an earlier answer, which the client does not take
		drop(c);
		return;
	}
	while (i + 1 < ARRAY_LEN(answers) && answers[i].status != status)
		i++;
	snprintf(
		body, sizeof body,
		"{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":\"%s\",\"errors\":[],\"warnings\":[]}\n",
		answers[i].title, answers[i].status, answers[i].detail);
	len = snprintf((char *)c->down.byte, BUFFER,
		       "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nContent-Length: %zu\r\n"
		       "Cache-Control: no-store\r\n%sConnection: close\r\n\r\n%s",
		       answers[i].status, answers[i].title, strlen(body),
		       status == 429 || status == 503 ? "Retry-After: 5\r\n" : "", body);
	c->down.at = 0;
	c->down.len = (size_t)len;
	c->stage = SAY;
	set_deadline(c, REFUSAL_NS);
}

// --- bytes ---------------------------------------------------------------------------------------------------------

// Whether TLS only waits for its socket. If not, the connection is beyond help and gone.
static bool waits(struct front_connection *c, int result)
{
	int e = SSL_get_error(c->ssl, result);

	if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE)
		return true;
	if (e == SSL_ERROR_ZERO_RETURN && !c->client_ended) {
		c->client_ended = true;
		return true;
	}
	drop(c);
	return false;
}

static bool read_client(struct front_connection *c)
{
	bool heard;
	int n;

	if (c->up.len || c->client_ended || c->parser_deaf)
		return false;
	ERR_clear_error();
	n = SSL_read(c->ssl, c->up.byte, BUFFER);
	if (n <= 0) {
		if (waits(c, n) && c->client_ended && phase_of(c, &heard) == FRONT_STREAM)
			drop(c); // nothing can follow, and nobody listens
		return c->stage == PROXY && c->client_ended;
	}
	c->up.at = 0;
	c->up.len = (size_t)n;
	hear(c);
	return true;
}

static bool write_parser(struct front_connection *c)
{
	ssize_t n;

	if (!c->up.len) {
		if (!c->client_ended || c->parser_told)
			return false;
		shutdown(c->pipe, SHUT_WR);
		c->parser_told = true;
		return true;
	}
	n = send(c->pipe, c->up.byte + c->up.at, c->up.len - c->up.at, MSG_NOSIGNAL);
	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return false;
		c->parser_deaf = true; // it has closed; what it said before is still to be read
		c->up.len = 0;
		return true;
	}
	c->up.at += (size_t)n;
	if (c->up.at == c->up.len)
		c->up.len = 0;
	return true;
}

static bool read_parser(struct front_connection *c)
{
	ssize_t n;
	int status;

	if (c->down.len || c->parser_ended)
		return false;
	n = recv(c->pipe, c->down.byte, BUFFER, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) { // ECONNRESET: it closed without having read everything
		c->parser_ended = true;
		status = refusal(c);
		if (status)
			say(c, status);
		return true;
	}
	c->down.at = 0;
	c->down.len = (size_t)n;
	c->moved_ns = c->front->now;
	return true;
}

static bool write_client(struct front_connection *c)
{
	int n;

	if (!c->down.len) {
		if (c->stage == PROXY && !c->parser_ended)
			return false;
		end(c);
		return true;
	}
	ERR_clear_error();
	n = SSL_write(c->ssl, c->down.byte + c->down.at, (int)(c->down.len - c->down.at));
	if (n <= 0) {
		waits(c, n);
		return false;
	}
	c->moved_ns = c->front->now;
	c->down.at += (size_t)n;
	if (c->down.at == c->down.len)
		c->down.len = 0;
	return true;
}

static bool proxy(struct front_connection *c)
{
	bool moved = read_client(c);

	if (c->stage == PROXY)
		moved |= write_parser(c);
	if (c->stage == PROXY)
		moved |= read_parser(c);
	if (c->stage == PROXY)
		moved |= write_client(c);
	return moved;
}

static bool watch(struct front_connection *c, int fd)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};

	return !epoll_ctl(c->front->epoll, EPOLL_CTL_ADD, fd, &e);
}

// The handshake is done: the parser gets its end.
static void hand_over(struct front_connection *c)
{
	struct front *f = c->front;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair)) {
		drop(c);
		return;
	}
	c->pipe = pair[0];
	c->stage = PROXY;
	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < PLACES; i++) // the number may have been that of one that the parser did not even begin
		if (f->place[i].parser_fd == pair[1])
			f->place[i].parser_fd = -1;
	c->parser_fd = pair[1];
	set_phase(c, FRONT_HEADERS, f->now);
	pthread_mutex_unlock(&f->lock);
	if (!watch(c, c->pipe)) {
		close(pair[1]);
		drop(c);
	} else if (!f->deliver(f->arg, pair[1], &c->peer, c->peer_len)) {
		drop(c);
	}
}

static bool shake_hands(struct front_connection *c)
{
	int n;

	ERR_clear_error();
	n = SSL_accept(c->ssl);
	if (n <= 0) {
		if (waits(c, n) && c->client_ended)
			drop(c);
		return false;
	}
	if (c->refused) {
		c->stage = HEAR;
		set_deadline(c, REFUSAL_NS);
	} else {
		hand_over(c);
	}
	return true;
}

static bool hear_refused(struct front_connection *c)
{
	int n;

	ERR_clear_error();
	n = SSL_read(c->ssl, c->up.byte, BUFFER);
	if (n > 0) {
		say(c, refusal(c));
		return true;
	}
	if (waits(c, n) && c->client_ended)
		drop(c);
	return false;
}

static bool linger(struct front_connection *c)
{
	ssize_t n = recv(c->tcp, c->up.byte, BUFFER, 0);

	if (n > 0)
		return true;
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		drop(c);
	return false;
}

static void pump(struct front_connection *c)
{
	static bool (*const step[])(struct front_connection *) = {
		[HANDSHAKE] = shake_hands, [HEAR] = hear_refused, [PROXY] = proxy,
		[SAY] = write_client,      [LINGER] = linger,
	};

	c->more = false;
	for (int i = 0; i < ROUNDS; i++)
		if (c->stage == FREE || !step[c->stage](c))
			return;
	c->more = c->stage != FREE;
}

// --- new ones ------------------------------------------------------------------------------------------------------

static nsec_t idle_since(struct front_connection *c)
{
	const struct front_limits *l = &c->front->limits;
	nsec_t now = c->front->now, since = c->since_ns;

	if (c->stage == HANDSHAKE || c->stage == LINGER)
		return since;
	if (c->stage != PROXY)
		return TIME_NEVER;
	if (c->phase == FRONT_HEADERS && (!c->heard || time_before(since + l->headers_idle_ns, now)))
		return since;
	return c->phase == FRONT_KEPT && time_before(since + l->kept_idle_ns, now) ? since : TIME_NEVER;
}

// 0: it may come in; else the status it is refused with.
static int admit(struct front *f, const struct seat *newcomer)
{
	struct front_connection *who[PLACES];
	struct seat seat[PLACES];
	unsigned seats = 0, victim;
	enum admission a;

	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < PLACES; i++) {
		struct front_connection *c = &f->place[i];

		if (c->stage == FREE || c->refused)
			continue;
		who[seats] = c;
		seat[seats] = c->seat;
		seat[seats++].idle_since = idle_since(c);
	}
	pthread_mutex_unlock(&f->lock);
	a = front_admit(&f->limits, seat, seats, newcomer, &victim);
	if (a == ADMITTED_INSTEAD)
		part(who[victim]);
	return a == REFUSED_ADDRESS ? 429 : a == REFUSED_FULL ? 503 : 0;
}

// A place that neither side has any more; NULL: none.
static struct front_connection *free_place(struct front *f, bool refused)
{
	struct front_connection *found = NULL;
	unsigned refusals = 0;

	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < PLACES; i++) {
		struct front_connection *c = &f->place[i];

		if (c->stage == FREE && !c->served && !found)
			found = c;
		refusals += c->stage != FREE && c->refused;
	}
	pthread_mutex_unlock(&f->lock);
	return refused && refusals >= REFUSALS ? NULL : found;
}

static void reset(struct front_connection *c, int tcp, const struct sockaddr_storage *peer, socklen_t peer_len,
		  int refuse)
{
	struct front *f = c->front;

	c->stage = HANDSHAKE;
	c->tcp = tcp;
	c->pipe = -1;
	c->peer = *peer;
	c->peer_len = peer_len;
	c->client_ended = c->parser_ended = c->parser_deaf = c->parser_told = c->more = false;
	c->refused = refuse != 0;
	c->up.len = c->down.len = 0;
	c->moved_ns = f->now;
	pthread_mutex_lock(&f->lock);
	c->parser_fd = -1;
	c->refuse = refuse;
	c->heard = c->ahead = false;
	c->since_ns = f->now;
	c->deadline_ns = f->now + f->limits.handshake_ns;
	pthread_mutex_unlock(&f->lock);
}

static void welcome(struct front *f, int tcp, const struct sockaddr_storage *peer, socklen_t peer_len)
{
	struct front_connection *c;
	struct seat seat;
	int one = 1, refuse;

	seat_address(&seat, peer);
	refuse = admit(f, &seat);
	c = free_place(f, refuse != 0);
	if (!c) {
		close(tcp);
		return;
	}
	reset(c, tcp, peer, peer_len, refuse);
	c->seat = seat;
	setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	c->ssl = SSL_new(f->tls);
	if (!c->ssl || !SSL_set_fd(c->ssl, tcp) || !watch(c, tcp)) {
		drop(c);
		return;
	}
	pump(c);
}

static void accept_some(struct front *f, int listener)
{
	for (int i = 0; i < ACCEPTS; i++) {
		struct sockaddr_storage peer = {0};
		socklen_t len = sizeof peer;
		int tcp = accept4(listener, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (tcp >= 0) {
			welcome(f, tcp, &peer, len);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			poll(NULL, 0, 10); // the socket stays readable; not to burn a CPU until something is closed
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

// --- the thread ----------------------------------------------------------------------------------------------------

static void expire(struct front_connection *c)
{
	bool heard;
	enum front_phase phase = phase_of(c, &heard);

	if (c->stage != PROXY)
		drop(c);
	else if (phase == FRONT_BODY || (phase == FRONT_HEADERS && heard))
		say(c, 408);
	else if (phase == FRONT_HEADERS || phase == FRONT_KEPT)
		part(c);
	else
		drop(c);
	if (c->stage != FREE)
		pump(c);
}

// Ends what is overdue. The time until the next deadline, in ms.
static int check_deadlines(struct front *f)
{
	nsec_t next = f->now + TICK_MS * NSEC_PER_MSEC;
	bool any = false;

	for (unsigned i = 0; i < PLACES; i++) {
		struct front_connection *c = &f->place[i];
		nsec_t deadline;

		if (c->stage == FREE)
			continue;
		any = true;
		pthread_mutex_lock(&f->lock);
		deadline = c->deadline_ns;
		pthread_mutex_unlock(&f->lock);
		if (c->down.len && c->moved_ns + f->limits.stall_ns < deadline)
			deadline = c->moved_ns + f->limits.stall_ns;
		if (deadline <= f->now) {
			if (c->down.len)
				drop(c);
			else
				expire(c);
		} else if (deadline < next) {
			next = deadline;
		}
	}
	return any ? (int)((next - f->now) / NSEC_PER_MSEC) + 1 : -1;
}

static void renew_certificate(struct front *f)
{
	struct problems ignored = {0}; // the old one goes on, and the next start says what is wrong
	SSL_CTX *fresh = tls_context(f->state_dir, &ignored);

	problems_free(&ignored);
	if (fresh) {
		SSL_CTX_free(f->tls);
		f->tls = fresh;
	}
	f->certificate_due_ns = f->now + CERTIFICATE_NS;
}

static void serve_refusals(struct front *f)
{
	uint64_t n;

	if (read(f->wake, &n, sizeof n) != sizeof n)
		return;
	for (unsigned i = 0; i < PLACES; i++) {
		struct front_connection *c = &f->place[i];

		if (c->stage == PROXY && refusal(c)) {
			say(c, refusal(c));
			pump(c);
		}
	}
}

static int run_more(struct front *f, int timeout)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (f->place[i].more) {
			pump(&f->place[i]);
			timeout = 0;
		}
	return timeout;
}

static void *front_thread(void *arg)
{
	struct front *f = arg;
	struct epoll_event event[EVENTS];
	int timeout = -1;

	while (!atomic_load(&f->stop)) {
		int n = epoll_wait(f->epoll, event, EVENTS, timeout);

		f->now = clock_now();
		for (int i = 0; i < n; i++) {
			void *what = event[i].data.ptr;

			if (what == f)
				serve_refusals(f);
			else if ((int *)what >= f->listener && (int *)what < f->listener + FRONT_LISTENERS_MAX)
				accept_some(f, *(int *)what);
			else
				pump(what);
		}
		timeout = check_deadlines(f);
		timeout = run_more(f, timeout);
		if (f->certificate_due_ns <= f->now)
			renew_certificate(f);
	}
	for (unsigned i = 0; i < PLACES; i++)
		if (f->place[i].stage != FREE)
			drop(&f->place[i]);
	return NULL;
}

static bool watch_listeners(struct front *f, const struct front_options *o)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = f};

	if (epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->wake, &e))
		return false;
	for (f->listeners = 0; f->listeners < o->listeners; f->listeners++) {
		int *fd = &f->listener[f->listeners], flags = fcntl(o->listener[f->listeners], F_GETFL);

		*fd = o->listener[f->listeners];
		e.data.ptr = fd;
		if (flags < 0 || fcntl(*fd, F_SETFL, flags | O_NONBLOCK) || epoll_ctl(f->epoll, EPOLL_CTL_ADD, *fd, &e))
			return false;
	}
	return true;
}

struct front *front_new(const struct front_options *o, struct problems *out)
{
	struct front *f = calloc(1, sizeof *f);

	if (!f || o->listeners > FRONT_LISTENERS_MAX) {
		problem_add(out, PROBLEM_ERROR, "", "cannot serve: %s",
			    f ? "too many addresses to listen on" : "out of memory");
		free(f);
		return NULL;
	}
	snprintf(f->state_dir, sizeof f->state_dir, "%s", o->state_dir);
	f->limits = *o->limits;
	f->deliver = o->deliver;
	f->arg = o->arg;
	f->now = clock_now();
	f->certificate_due_ns = f->now + CERTIFICATE_NS;
	pthread_mutex_init(&f->lock, NULL);
	for (unsigned i = 0; i < PLACES; i++) {
		f->place[i].front = f;
		f->place[i].tcp = f->place[i].pipe = f->place[i].parser_fd = -1;
	}
	f->epoll = epoll_create1(EPOLL_CLOEXEC);
	f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->epoll < 0 || f->wake < 0 || !watch_listeners(f, o))
		problem_add(out, PROBLEM_ERROR, "", "cannot serve: %s", strerror(errno));
	else
		f->tls = tls_context(o->state_dir, out);
	if (f->tls)
		return f;
	front_free(f);
	return NULL;
}

// Signals are for the thread that called; among them SIGPIPE, which OpenSSL's writes would raise.
bool front_start(struct front *f, struct problems *out)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&f->thread, NULL, front_thread, f);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		problem_add(out, PROBLEM_ERROR, "", "cannot serve: %s", strerror(err));
	f->started = !err;
	return f->started;
}

void front_stop(struct front *f)
{
	if (!f->started)
		return;
	atomic_store(&f->stop, true);
	wake(f);
	pthread_join(f->thread, NULL);
}

void front_free(struct front *f)
{
	SSL_CTX_free(f->tls);
	if (f->epoll >= 0)
		close(f->epoll);
	if (f->wake >= 0)
		close(f->wake);
	pthread_mutex_destroy(&f->lock);
	free(f);
}
