// SPDX-License-Identifier: GPL-2.0-or-later
// What the server is willing to speak. Debian's libmicrohttpd does TLS with GnuTLS; one TLS library in the program is
// enough, and with OpenSSL in front (mgmt/front.c) the deadlines and limits of connections are ours as well.
#include "mgmt/tls.h"

#include <string.h>

#include <openssl/err.h>

// A client that names protocols must name ours. It would otherwise speak something else on a connection that we read as HTTP/1.1.
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *len, const unsigned char *in,
			   unsigned in_len, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";
	unsigned char *chosen;

	if (SSL_select_next_proto(&chosen, len, ours, sizeof ours - 1, in, in_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static bool configure(SSL_CTX *ctx, const struct certificate *c)
{
	// A client that ends without close_notify is an ordinary end: every HTTP request carries its own length.
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
					 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) &&
	       SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20") &&
	       SSL_CTX_set1_groups_list(ctx, "X25519:P-256:P-384") && SSL_CTX_set_num_tickets(ctx, 0) &&
	       SSL_CTX_use_cert_and_key(ctx, c->leaf, c->key, c->chain, 1) == 1;
}

SSL_CTX *tls_context(const char *dir, struct problems *problems)
{
	struct certificate c;
	SSL_CTX *ctx;

	if (!certificate_load(dir, &c, problems))
		return NULL;
	ctx = SSL_CTX_new(TLS_server_method());
	if (!ctx || !configure(ctx, &c)) {
		const char *reason = ERR_reason_error_string(ERR_peek_last_error());

		problem_add(problems, PROBLEM_ERROR, "", "TLS: %s", reason ? reason : "out of memory");
		ERR_clear_error();
		SSL_CTX_free(ctx);
		ctx = NULL;
	}
	certificate_free(&c);
	return ctx;
}
