// SPDX-License-Identifier: GPL-2.0-or-later
// The server's side of TLS: its certificate, and what it is willing to speak.
#ifndef MGMT_TLS_H
#define MGMT_TLS_H

#include <openssl/ssl.h>

#include "core/problem.h"

#define TLS_FILE "tls.pem" // in the state directory: private key and certificate (chain), mode 0600

// A key and the certificates that speak for it; both NULL: none.
struct certificate {
	EVP_PKEY *key;
	X509 *leaf;
	STACK_OF(X509) * chain; // above the leaf
};

// Reads dir/tls.pem. If there is none, or one that was made here and has less than 90 days left, a new self-signed one is made
// and durably put in its place. A certificate from elsewhere is used as it is, with a warning when it has expired. False with
// an error.
bool certificate_load(const char *dir, struct certificate *out, struct problems *problems);
void certificate_free(struct certificate *c);
// SHA-256 of the certificate as AA:BB:...; buf has 96 bytes.
void certificate_fingerprint(const X509 *leaf, char *buf);

// A context for connections: TLS 1.2 or newer, forward secrecy and AEAD only, no renegotiation, no tickets and no session
// cache (so no key outlives its connection), ALPN http/1.1 only. NULL with an error; else the caller frees it.
SSL_CTX *tls_context(const char *dir, struct problems *problems);

#endif
