// SPDX-License-Identifier: GPL-2.0-or-later
// The front with a parser behind it that only echoes: the certificate, what TLS is spoken, bytes both ways under every kind
// of end, deadlines (much shorter than the real ones), and who is let in.
#include "tests/unit/tls_client.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "mgmt/certificate.c"
#include "mgmt/front.h"

#define MSEC NSEC_PER_MSEC

static uint16_t port;
static int listener;
static struct front *front;
static atomic_int busy;       // the parser says that it works on an answer as soon as it has read something
static atomic_int never;      // the parser never reads
static atomic_int refuse_413; // the parser has the front refuse
static atomic_int open_parsers;

// --- the parser ----------------------------------------------------------------------------------------------------

struct parser {
	int fd;
	struct front_connection *c;
};

static void *echo(void *arg)
{
	struct parser *p = arg;
	char buf[5000];
	ssize_t n;

	while (!never && (poll(&(struct pollfd){.fd = p->fd, .events = POLLIN}, 1, -1),
			  n = recv(p->fd, buf, sizeof buf, 0)) > 0) {
		if (busy)
			front_phase(p->c, FRONT_ANSWER);
		if (refuse_413) {
			front_refuse(p->c, 413);
			break;
		}
		for (ssize_t at = 0, sent; at < n; at += sent) {
			sent = send(p->fd, buf + at, (size_t)(n - at), MSG_NOSIGNAL);
			if (sent < 0 && errno == EAGAIN)
				poll(&(struct pollfd){.fd = p->fd, .events = POLLOUT}, 1, -1);
			else if (sent < 0)
				goto gone;
			if (sent < 0)
				sent = 0;
		}
	}
	while (never && open_parsers > 0)
		poll(NULL, 0, 5);
gone:
	front_gone(p->c);
	close(p->fd);
	free(p);
	atomic_fetch_sub(&open_parsers, 1);
	return NULL;
}

static bool deliver(void *arg, int fd, const struct sockaddr_storage *peer, socklen_t len)
{
	struct parser *p = malloc(sizeof *p);
	pthread_t t;

	p->fd = fd;
	p->c = front_take(front, fd);
	atomic_fetch_add(&open_parsers, 1);
	pthread_create(&t, NULL, echo, p);
	pthread_detach(t);
	return true;
}

static int start(void **state)
{
	struct front_limits limits = front_limits_default;
	const struct front_options o = {
		.state_dir = test_dir, .listener = &listener, .listeners = 1, .limits = &limits, .deliver = deliver};
	struct problems found = {0};

	limits.handshake_ns = 300 * MSEC;
	limits.headers_ns = 500 * MSEC;
	limits.body_ns = 500 * MSEC;
	limits.stall_ns = 700 * MSEC;
	limits.loopback = 6;
	busy = never = refuse_413 = 0;
	make_state_dir();
	listener = listen_somewhere(&port);
	front = front_new(&o, &found);
	assert_non_null(front);
	assert_true(front_start(front, &found));
	return 0;
}

static int stop(void **state)
{
	front_stop(front);
	never = 0;
	while (open_parsers > 0)
		poll(NULL, 0, 5);
	front_free(front);
	close(listener);
	remove_state_dir();
	return 0;
}

// --- certificate ---------------------------------------------------------------------------------------------------

static int dir_only(void **state)
{
	make_state_dir();
	return 0;
}

static int dir_gone(void **state)
{
	remove_state_dir();
	return 0;
}

static void a_certificate_is_made_once(void **state)
{
	char first[96], second[96], path[128];
	struct problems found = {0};
	struct certificate c;
	struct stat st;

	assert_true(tls_prepare(test_dir, first, &found));
	assert_true(tls_prepare(test_dir, second, &found));
	assert_string_equal(first, second);
	assert_int_equal(strlen(first), 95);
	snprintf(path, sizeof path, "%s/" TLS_FILE, test_dir);
	assert_false(stat(path, &st));
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(certificate_load(test_dir, &c, &found));
	assert_int_equal(X509_check_host(c.leaf, "localhost", 0, 0, NULL), 1);
	assert_int_equal(X509_check_ip_asc(c.leaf, "127.0.0.1", 0), 1);
	assert_int_equal(X509_check_ip_asc(c.leaf, "::1", 0), 1);
	assert_int_equal(X509_check_host(c.leaf, "example.org", 0, 0, NULL), 0);
	certificate_free(&c);
	assert_int_equal(found.errors + found.warnings, 0);
}

static void replace_with(const char *name, time_t ends)
{
	struct certificate c = {0};
	X509_NAME *n;

	assert_true(make(&c));
	if (name) {
		n = X509_NAME_new();
		X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
		X509_set_subject_name(c.leaf, n);
		X509_NAME_free(n);
	}
	ASN1_TIME_set(X509_getm_notAfter(c.leaf), ends);
	assert_true(X509_sign(c.leaf, c.key, EVP_sha256()) > 0);
	assert_true(save(test_dir, &c));
	certificate_free(&c);
}

static void only_our_own_certificate_is_renewed(void **state)
{
	char before[96], after[96];
	struct problems found = {0};
	struct certificate c;

	replace_with(NULL, time(NULL) + (RENEW_DAYS - 1) * DAY);
	assert_true(read_file(test_dir, &c));
	certificate_fingerprint(c.leaf, before);
	certificate_free(&c);
	assert_true(tls_prepare(test_dir, after, &found));
	assert_string_not_equal(before, after);

	replace_with("gateway.example", time(NULL) - DAY);
	assert_true(read_file(test_dir, &c));
	certificate_fingerprint(c.leaf, before);
	certificate_free(&c);
	assert_true(tls_prepare(test_dir, after, &found));
	assert_string_equal(before, after);
	assert_int_equal(found.warnings, 1);
	problems_free(&found);
}

static void a_damaged_file_is_not_replaced(void **state)
{
	char path[128], fingerprint[96];
	struct problems found = {0};
	FILE *f;

	snprintf(path, sizeof path, "%s/" TLS_FILE, test_dir);
	f = fopen(path, "w");
	fputs("-----BEGIN PRIVATE KEY-----\nnonsense\n", f);
	fclose(f);
	assert_false(tls_prepare(test_dir, fingerprint, &found));
	assert_int_equal(found.errors, 1);
	problems_free(&found);
}

static void no_directory_is_an_error(void **state)
{
	struct problems found = {0};
	char fingerprint[96];

	assert_false(tls_prepare("/tmp/weir-there-is-no-such-directory", fingerprint, &found));
	assert_int_equal(found.errors, 1);
	problems_free(&found);
}

// --- TLS -----------------------------------------------------------------------------------------------------------

static void only_1_1(SSL *s)
{
	SSL_set_min_proto_version(s, TLS1_1_VERSION);
	SSL_set_max_proto_version(s, TLS1_1_VERSION);
	SSL_set_cipher_list(s, "ALL:@SECLEVEL=0");
}

static void only_1_2(SSL *s)
{
	SSL_set_max_proto_version(s, TLS1_2_VERSION);
}

static void without_forward_secrecy(SSL *s)
{
	only_1_2(s);
	SSL_set_cipher_list(s, "AES128-SHA:AES256-GCM-SHA384");
}

static void only_h2(SSL *s)
{
	SSL_set_alpn_protos(s, (const unsigned char *)"\x02h2", 3);
}

static void h2_or_1_1(SSL *s)
{
	SSL_set_alpn_protos(s, (const unsigned char *)"\x02h2\x08http/1.1", 12);
}

static void what_is_spoken(void **state)
{
	static void (*const refused[])(SSL *) = {only_1_1, without_forward_secrecy, only_h2};
	static void (*const accepted[])(SSL *) = {NULL, only_1_2, h2_or_1_1};
	const unsigned char *chosen;
	unsigned len;
	struct client c;

	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		c = tls_to(port, refused[i]);
		assert_null(c.ssl);
		client_close(&c);
	}
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
		char buf[8];

		c = tls_to(port, accepted[i]);
		assert_non_null(c.ssl);
		assert_true(client_send(&c, "ping", 4));
		assert_int_equal(SSL_read(c.ssl, buf, sizeof buf), 4);
		assert_int_equal(SSL_version(c.ssl), accepted[i] == only_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION);
		assert_false(SSL_SESSION_has_ticket(SSL_get_session(c.ssl)));
		SSL_get0_alpn_selected(c.ssl, &chosen, &len);
		assert_int_equal(len, accepted[i] == h2_or_1_1 ? 8 : 0);
		client_close(&c);
	}
}

static void renegotiation_is_refused(void **state)
{
	struct client c = tls_to(port, only_1_2);
	char buf[8];

	assert_non_null(c.ssl);
	SSL_renegotiate(c.ssl);
	SSL_do_handshake(c.ssl);
	assert_true(!client_send(&c, "ping", 4) || SSL_read(c.ssl, buf, sizeof buf) <= 0);
	client_close(&c);
}

// --- bytes ---------------------------------------------------------------------------------------------------------

enum { MUCH = 3 << 20 };

static void much_goes_both_ways(void **state)
{
	struct client c = tls_to(port, NULL);
	char *sent = malloc(MUCH), *got = malloc(MUCH);
	size_t out = 0, in = 0;

	assert_non_null(c.ssl);
	busy = 1;
	for (size_t i = 0; i < MUCH; i++)
		sent[i] = (char)(i * 2654435761u >> 13);
	while (in < MUCH) { // up to 200 KB under way
		int n;

		if (out < MUCH && out - in < 200000) {
			size_t most = MUCH - out < 50000 ? MUCH - out : 50000;

			assert_true(client_send(&c, sent + out, most));
			out += most;
			continue;
		}
		n = SSL_read(c.ssl, got + in, (int)(out - in));
		assert_true(n > 0);
		in += (size_t)n;
	}
	assert_memory_equal(sent, got, MUCH);
	client_close(&c);
	free(sent);
	free(got);
}

static void a_half_close_still_gets_the_rest(void **state)
{
	struct client c = tls_to(port, NULL);
	char *buf = malloc(150001);

	assert_non_null(c.ssl);
	memset(buf, 'x', 150000);
	assert_true(client_send(&c, buf, 150000));
	SSL_shutdown(c.ssl);
	shutdown(c.fd, SHUT_WR);
	assert_int_equal(client_read_all(&c, buf, 150001), 150000);
	client_close(&c);
	free(buf);
}

static void resets_leave_nothing_behind(void **state)
{
	char buf[8];
	nsec_t t;

	busy = 1;
	for (int i = 0; i < 200; i++) {
		struct client c = tls_to(port, NULL);

		if (c.ssl && i % 3)
			client_send(&c, "some bytes", 10);
		client_reset(&c);
	}
	t = clock_now();
	while (open_parsers > 0 && seconds_since(t) < 5)
		poll(NULL, 0, 5);
	assert_int_equal(open_parsers, 0);
	struct client c = tls_to(port, NULL);

	assert_non_null(c.ssl);
	assert_true(client_send(&c, "ping", 4));
	assert_int_equal(SSL_read(c.ssl, buf, sizeof buf), 4);
	client_close(&c);
}

static void who_takes_nothing_is_cut_off(void **state)
{
	struct client c = tls_to(port, NULL);
	char block[16384] = {0};
	nsec_t t = clock_now();
	struct timeval patience = {.tv_usec = 100000};

	busy = 1;
	assert_non_null(c.ssl);
	setsockopt(c.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	while (client_send(&c, block, sizeof block) && seconds_since(t) < 5) // until both ways are full
		;
	while (open_parsers > 0 && seconds_since(t) < 5)
		poll(NULL, 0, 10);
	assert_true(seconds_since(t) < 4);
	client_close(&c);
}

// --- deadlines and limits ------------------------------------------------------------------------------------------

static void no_handshake_is_cut_off(void **state)
{
	int fd = tcp_to(port);
	nsec_t t = clock_now();
	char c;

	assert_int_equal(recv(fd, &c, 1, 0), 0);
	assert_true(seconds_since(t) > 0.25 && seconds_since(t) < 0.6);
	close(fd);
}

static void silence_is_cut_off(void **state)
{
	struct client c = tls_to(port, NULL);
	nsec_t t = clock_now();
	char buf[64];

	assert_non_null(c.ssl);
	assert_int_equal(client_read_all(&c, buf, sizeof buf), 0);
	assert_true(seconds_since(t) > 0.4 && seconds_since(t) < 0.9);
	client_close(&c);
}

static void slow_bytes_are_told_408(void **state)
{
	struct client c = tls_to(port, NULL);
	nsec_t t = clock_now();
	char buf[1024];

	never = 1;
	assert_non_null(c.ssl);
	for (int i = 0; i < 4; i++) {
		assert_true(client_send(&c, "x", 1));
		poll(NULL, 0, 100);
	}
	client_read_all(&c, buf, sizeof buf);
	assert_true(seconds_since(t) > 0.45 && seconds_since(t) < 1);
	assert_non_null(strstr(buf, "HTTP/1.1 408 "));
	client_close(&c);
}

static void the_parser_can_have_it_refused(void **state)
{
	struct client c = tls_to(port, NULL);
	char buf[1024];

	refuse_413 = 1;
	assert_non_null(c.ssl);
	assert_true(client_send(&c, "too much", 8));
	client_read_all(&c, buf, sizeof buf);
	assert_non_null(strstr(buf, "HTTP/1.1 413 "));
	client_close(&c);
}

static void one_too_many_is_told_429(void **state)
{
	struct client c[6], more;
	char buf[1024];

	busy = 1;
	for (int i = 0; i < 6; i++) {
		c[i] = tls_to(port, NULL);
		assert_non_null(c[i].ssl);
		assert_true(client_send(&c[i], "x", 1));
		assert_int_equal(SSL_read(c[i].ssl, buf, sizeof buf), 1); // so it is being answered
	}
	more = tls_to(port, NULL);
	assert_non_null(more.ssl);
	assert_true(client_send(&more, "x", 1));
	client_read_all(&more, buf, sizeof buf);
	assert_non_null(strstr(buf, "HTTP/1.1 429 "));
	assert_non_null(strstr(buf, "Retry-After: "));
	client_close(&more);
	for (int i = 0; i < 6; i++) {
		assert_true(client_send(&c[i], "y", 1));
		assert_int_equal(SSL_read(c[i].ssl, buf, sizeof buf), 1); // the others are as they were
		client_close(&c[i]);
	}
}

static void idle_ones_give_way(void **state)
{
	struct client c[7];
	char buf[64];

	for (int i = 0; i < 7; i++) {
		c[i] = tls_to(port, NULL);
		assert_non_null(c[i].ssl);
	}
	assert_true(client_send(&c[6], "x", 1));
	assert_int_equal(SSL_read(c[6].ssl, buf, sizeof buf), 1);
	assert_int_equal(client_read_all(&c[0], buf, sizeof buf), 0); // the oldest
	for (int i = 0; i < 7; i++)
		client_close(&c[i]);
}

// --- admission, without sockets ------------------------------------------------------------------------------------

static struct seat seat_of(const char *text)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
	struct seat s;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
		ss.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
		ss.ss_family = AF_INET6;
	seat_address(&s, &ss);
	return s;
}

// `n` seats of addresses "10.0.X.1", `each` of each.
static unsigned fill(struct seat *seat, unsigned n, unsigned each)
{
	char text[32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(text, sizeof text, "10.0.%u.1", i / each);
		seat[i] = seat_of(text);
	}
	return n;
}

static void addresses(void **state)
{
	struct seat a = seat_of("127.0.0.1"), b = seat_of("::1"), c = seat_of("::ffff:127.0.0.9");

	assert_true(a.loopback && b.loopback && c.loopback);
	assert_memory_equal(a.address, b.address, 16);
	a = seat_of("192.0.2.1");
	b = seat_of("::ffff:192.0.2.1");
	assert_false(a.loopback);
	assert_memory_equal(a.address, b.address, 16);
	a = seat_of("2001:db8::1");
	b = seat_of("2001:db8::ffff:2");
	c = seat_of("2001:db8:0:1::1");
	assert_memory_equal(a.address, b.address, 16);
	assert_memory_not_equal(a.address, c.address, 16);
}

static void who_is_let_in(void **state)
{
	const struct front_limits *l = &front_limits_default;
	struct seat seat[64], stranger = seat_of("198.51.100.1"), local = seat_of("127.0.0.1");
	unsigned n, victim = 99;

	n = fill(seat, 15, 16);
	assert_int_equal(front_admit(l, seat, n, &seat[0], &victim), ADMITTED);
	n = fill(seat, 16, 16);
	assert_int_equal(front_admit(l, seat, n, &seat[0], &victim), REFUSED_ADDRESS);
	assert_int_equal(front_admit(l, seat, n, &stranger, &victim), ADMITTED);
	n = fill(seat, 59, 4);
	assert_int_equal(front_admit(l, seat, n, &stranger, &victim), ADMITTED);
	n = fill(seat, 60, 4); // the last four are for the machine itself
	assert_int_equal(front_admit(l, seat, n, &stranger, &victim), REFUSED_FULL);
	assert_int_equal(front_admit(l, seat, n, &local, &victim), ADMITTED);
	seat[7].idle_since = 5;
	seat[9].idle_since = 4;
	assert_int_equal(front_admit(l, seat, n, &stranger, &victim), ADMITTED_INSTEAD);
	assert_int_equal(victim, 9);
	for (n = 60; n < 64; n++)
		seat[n] = local;
	assert_int_equal(front_admit(l, seat, n, &local, &victim), ADMITTED_INSTEAD);
	seat[7].idle_since = seat[9].idle_since = TIME_NEVER;
	assert_int_equal(front_admit(l, seat, n, &local, &victim), REFUSED_FULL);
	seat[61].idle_since = 1; // an idle local one does not give way to a remote one's surplus
	assert_int_equal(front_admit(l, seat, n, &stranger, &victim), REFUSED_FULL);
	for (n = 0; n < 48; n++)
		seat[n] = local;
	assert_int_equal(front_admit(l, seat, n, &local, &victim), REFUSED_ADDRESS);
	assert_int_equal(front_admit(l, seat, n, &stranger, &victim), ADMITTED);
	seat[50] = stranger; // an address that has its share only replaces its own
	seat[50].idle_since = 1;
	seat[3].idle_since = 2;
	assert_int_equal(front_admit(l, seat, 51, &local, &victim), ADMITTED_INSTEAD);
	assert_int_equal(victim, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_certificate_is_made_once, dir_only, dir_gone),
		cmocka_unit_test_setup_teardown(only_our_own_certificate_is_renewed, dir_only, dir_gone),
		cmocka_unit_test_setup_teardown(a_damaged_file_is_not_replaced, dir_only, dir_gone),
		cmocka_unit_test(no_directory_is_an_error),
		cmocka_unit_test(addresses),
		cmocka_unit_test(who_is_let_in),
		cmocka_unit_test_setup_teardown(what_is_spoken, start, stop),
		cmocka_unit_test_setup_teardown(renegotiation_is_refused, start, stop),
		cmocka_unit_test_setup_teardown(much_goes_both_ways, start, stop),
		cmocka_unit_test_setup_teardown(a_half_close_still_gets_the_rest, start, stop),
		cmocka_unit_test_setup_teardown(resets_leave_nothing_behind, start, stop),
		cmocka_unit_test_setup_teardown(who_takes_nothing_is_cut_off, start, stop),
		cmocka_unit_test_setup_teardown(no_handshake_is_cut_off, start, stop),
		cmocka_unit_test_setup_teardown(silence_is_cut_off, start, stop),
		cmocka_unit_test_setup_teardown(slow_bytes_are_told_408, start, stop),
		cmocka_unit_test_setup_teardown(the_parser_can_have_it_refused, start, stop),
		cmocka_unit_test_setup_teardown(one_too_many_is_told_429, start, stop),
		cmocka_unit_test_setup_teardown(idle_ones_give_way, start, stop),
	};
	int failed;

	signal(SIGPIPE, SIG_IGN);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	SSL_CTX_free(client_tls);
	return failed;
}
