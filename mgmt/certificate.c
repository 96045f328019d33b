// SPDX-License-Identifier: GPL-2.0-or-later
// Key and certificate are one file, so that one rename replaces both and no crash leaves a key with somebody else's
// certificate. Validity begins at a fixed day in the past: a box without a battery clock may make its certificate in
// 1970, and it must be valid when the clock has been set. 825 days is what the strictest clients accept.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "mgmt/http.h"
#include "mgmt/tls.h"

enum { DAY = 24 * 3600, VALID_DAYS = 825, RENEW_DAYS = 90 };

static const char own_name[] = "weir (made by this machine)";
static const time_t not_before = 1735689600; // 2025-01-01

static bool failed(struct problems *out, const char *dir, const char *what)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	problem_add(out, PROBLEM_ERROR, "", "%s/" TLS_FILE ": %s: %s", dir, what, reason ? reason : strerror(errno));
	ERR_clear_error();
	return false;
}

void certificate_free(struct certificate *c)
{
	EVP_PKEY_free(c->key);
	X509_free(c->leaf);
	sk_X509_pop_free(c->chain, X509_free);
	memset(c, 0, sizeof *c);
}

void certificate_fingerprint(const X509 *leaf, char *buf)
{
	uint8_t hash[32];
	unsigned len = sizeof hash;

	buf[0] = '\0';
	if (!X509_digest(leaf, EVP_sha256(), hash, &len))
		return;
	for (unsigned i = 0; i < len; i++)
		snprintf(buf + 3 * i, 4, i + 1 < len ? "%02X:" : "%02X", hash[i]);
}

// --- making one ----------------------------------------------------------------------------------------------------

static bool add_extension(X509 *x, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	bool fine;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	fine = e && X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return fine;
}

// A host name that may stand in the list of names without changing its meaning.
static bool plain_name(const char *s)
{
	return *s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == strlen(s);
}

static bool describe(X509 *x, EVP_PKEY *key)
{
	char names[320], host[256] = "";
	time_t now = time(NULL);
	uint8_t serial[16];
	X509_NAME *name = X509_get_subject_name(x);
	BIGNUM *number;
	bool fine;

	if (gethostname(host, sizeof host - 1) || !plain_name(host) || !strcmp(host, "localhost"))
		host[0] = '\0';
	snprintf(names, sizeof names, "DNS:localhost,IP:127.0.0.1,IP:::1%s%s", host[0] ? ",DNS:" : "", host);
	if (now < not_before)
		now = not_before;
	if (RAND_bytes(serial, sizeof serial) != 1)
		return false;
	serial[0] &= 0x7f;
	number = BN_bin2bn(serial, sizeof serial, NULL);
	fine = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x));
	BN_free(number);
	return fine && X509_set_version(x, X509_VERSION_3) && X509_set_pubkey(x, key) &&
	       ASN1_TIME_set(X509_getm_notBefore(x), not_before) &&
	       ASN1_TIME_set(X509_getm_notAfter(x), now + (time_t)VALID_DAYS * DAY) &&
	       X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)own_name, -1, -1, 0) &&
	       X509_set_issuer_name(x, name) && add_extension(x, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_extension(x, NID_key_usage, "critical,digitalSignature") &&
	       add_extension(x, NID_ext_key_usage, "serverAuth") && add_extension(x, NID_subject_alt_name, names) &&
	       X509_sign(x, key, EVP_sha256());
}

static bool make(struct certificate *out)
{
	out->key = EVP_EC_gen("P-256");
	out->leaf = X509_new();
	return out->key && out->leaf && describe(out->leaf, out->key);
}

static bool sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool fine = fd >= 0 && !fsync(fd);

	if (fd >= 0)
		close(fd);
	return fine;
}

static bool save(const char *dir, const struct certificate *c)
{
	char path[512], fresh[520];
	FILE *f;
	bool fine;
	int fd;

	snprintf(path, sizeof path, "%s/" TLS_FILE, dir);
	snprintf(fresh, sizeof fresh, "%s.new", path);
	unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	f = fdopen(fd, "w");
	if (!f) {
		close(fd);
		return false;
	}
	fine = PEM_write_PrivateKey(f, c->key, NULL, NULL, 0, NULL, NULL) && PEM_write_X509(f, c->leaf) && !fflush(f) &&
	       !fsync(fd);
	fine = !fclose(f) && fine && !rename(fresh, path);
	if (!fine)
		unlink(fresh);
	return fine && sync_dir(dir);
}

// --- reading one ---------------------------------------------------------------------------------------------------

// False with errno ENOENT if there is no file.
static bool read_file(const char *dir, struct certificate *out)
{
	char path[512];
	X509 *x;
	FILE *f;

	snprintf(path, sizeof path, "%s/" TLS_FILE, dir);
	f = fopen(path, "re");
	if (!f)
		return false;
	out->key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
	rewind(f);
	out->leaf = PEM_read_X509(f, NULL, NULL, NULL);
	out->chain = sk_X509_new_null();
	while (out->leaf && out->chain && (x = PEM_read_X509(f, NULL, NULL, NULL)))
		if (!sk_X509_push(out->chain, x))
			X509_free(x);
	fclose(f);
	if (out->key && out->leaf)
		ERR_clear_error(); // of the end of the chain
	errno = EINVAL;
	return out->key && out->leaf && out->chain && X509_check_private_key(out->leaf, out->key) == 1;
}

static bool made_here(const X509 *x)
{
	char name[sizeof own_name + 1];

	return X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, name, sizeof name) > 0 &&
	       !strcmp(name, own_name);
}

static bool ends_within(const X509 *x, time_t seconds)
{
	time_t then = time(NULL) + seconds;

	return X509_cmp_time(X509_get0_notAfter(x), &then) < 0;
}

bool certificate_load(const char *dir, struct certificate *out, struct problems *problems)
{
	memset(out, 0, sizeof *out);
	if (read_file(dir, out)) {
		if (!made_here(out->leaf) && ends_within(out->leaf, 0))
			problem_add(problems, PROBLEM_WARNING, "", "%s/" TLS_FILE ": the certificate has expired", dir);
		if (!made_here(out->leaf) || !ends_within(out->leaf, (time_t)RENEW_DAYS * DAY))
			return true;
	} else if (errno != ENOENT) {
		certificate_free(out);
		return failed(problems, dir, "not a private key with its certificate; remove it to have one made");
	}
	certificate_free(out);
	if (make(out) && save(dir, out))
		return true;
	failed(problems, dir, "cannot make a certificate");
	certificate_free(out);
	return false;
}

bool tls_prepare(const char *state_dir, char *buf, struct problems *out)
{
	struct certificate c;

	if (!certificate_load(state_dir, &c, out))
		return false;
	certificate_fingerprint(c.leaf, buf);
	certificate_free(&c);
	return true;
}
