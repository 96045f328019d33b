// SPDX-License-Identifier: GPL-2.0-or-later
// Power is given up before the first byte from outside is read, in two steps. Privileges at once, and with them the sight of
// all files but those in the state directory, which belong to whom this process becomes. System calls when the store
// is open and the certificate made.
// Then the parent's half is received, what is in force is agreed on, and only then the API serves.
//
// One thread reads the channel from start to end, so that PING is answered and a change's answer arrives whatever the
// others do. It ends the process too: nothing here needs an orderly end, so if one does not come in time, it is not
// waited for. A manager without a parent has nothing to manage.
#include "mgmt/manager.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/channel.h"
#include "io/clock.h"
#include "io/sandbox.h"
#include "mgmt/commit.h"
#include "mgmt/desired.h"
#include "mgmt/http.h"
#include "mgmt/say.h"

#define START_NS (20 * NSEC_PER_SEC) // from exec to STATE
#define SEND_NS (2 * NSEC_PER_SEC)

enum { LISTENERS = 4, RETRY_S = 10, END_S = 3 };

struct manager_process {
	int channel, listener[LISTENERS];
	uint32_t listeners;
	struct mm_state state;
	struct api api;
	struct http *http;
	pthread_t reader;
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool stop; // under the lock
};

// --- the channel -------------------------------------------------------------------------------------------------

// Takes what the parent hands over, up to STATE. False: it is not what was agreed.
static bool receive_start(struct manager_process *p)
{
	nsec_t deadline = clock_now() + START_NS;
	struct message m;

	while (channel_wait(p->channel, &m, deadline) == 1) {
		const struct mm_state *state = msg_body(&m, MM_STATE, sizeof *state);

		if (m.type == MM_STATS && m.fd >= 0 && !p->api.stats) {
			p->api.stats = stats_view(m.fd);
		} else if (m.type == MM_LISTEN && m.fd >= 0 && p->listeners < LISTENERS) {
			p->listener[p->listeners++] = m.fd;
		} else if (m.type == MM_PING) {
			channel_send(p->channel, MM_PONG, NULL, 0, -1, deadline);
		} else if (state && m.fd < 0 && p->listeners) {
			p->state = *state;
			return true;
		} else {
			return false;
		}
	}
	return false;
}

static bool take(struct manager_process *p, struct message *m)
{
	if (m->fd >= 0) {
		close(m->fd);
		return false;
	}
	if (m->type == MM_PING)
		return !channel_send(p->channel, MM_PONG, NULL, 0, -1, clock_now() + SEND_NS);
	return m->type != MM_STOP && commit_message(p->api.commit, m);
}

static void *read_channel(void *arg)
{
	struct manager_process *p = arg;
	struct message m;
	int rc;

	prctl(PR_SET_NAME, "weir-channel");
	do
		rc = channel_wait(p->channel, &m, clock_now() + NSEC_PER_SEC);
	while (rc == -ETIMEDOUT || (rc == 1 && take(p, &m)));
	if (rc == 1 && m.type != MM_STOP)
		say("manager: a message of the parent makes no sense");
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->over);
	pthread_mutex_unlock(&p->lock);
	nanosleep(&(struct timespec){.tv_sec = END_S}, NULL);
	_exit(0);
}

// --- start -------------------------------------------------------------------------------------------------------

static bool open_store(struct manager_process *p, const char *dir)
{
	struct problems found = {0};

	p->api.store = store_open(dir, &found);
	print_problems("store", &found);
	problems_free(&found);
	return p->api.store;
}

// The text on descriptor 0; NULL: none, or more than a configuration may be.
static char *read_seed(size_t *len)
{
	struct stat st;
	char *text;

	*len = 0;
	if (fstat(STDIN_FILENO, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > CONFIG_FILE_MAX)
		return NULL;
	text = malloc((size_t)st.st_size);
	while (text && *len < (size_t)st.st_size) {
		ssize_t n = pread(STDIN_FILENO, text + *len, (size_t)st.st_size - *len, (off_t)*len);

		if (n <= 0 && errno != EINTR) {
			free(text);
			return NULL;
		}
		*len += n > 0 ? (size_t)n : 0;
	}
	return text;
}

static void agree(struct manager_process *p)
{
	struct problems found = {0};
	size_t len;
	char *seed = read_seed(&len);

	commit_start(p->api.commit, &p->state, seed, len, &found);
	print_problems("configuration", &found);
	problems_free(&found);
	free(seed);
}

static void print_address(int listener)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof a;
	char host[INET6_ADDRSTRLEN] = "";

	if (getsockname(listener, (struct sockaddr *)&a, &len))
		return;
	if (a.ss_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;

		printf("weir: https://[%s]:%u\n", inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host),
		       ntohs(v6->sin6_port));
	} else {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;

		printf("weir: https://%s:%u\n", inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host),
		       ntohs(v4->sin_port));
	}
}

// What one needs to log in: once for each start of weir, the password once for ever.
static bool introduce(struct manager_process *p, const char *dir)
{
	struct problems found = {0};
	char fingerprint[96], *password = NULL;
	bool good = tls_prepare(dir, fingerprint, &found);

	if (good)
		password = auth_first_password(p->api.store, &found);
	print_problems("manager", &found);
	problems_free(&found);
	if (good && !p->state.revision) {
		print_address(p->listener[0]);
		printf("weir: SHA-256 of its certificate: %s\n", fingerprint);
	}
	if (password) {
		printf("weir: first password of admin (shown this once): %s\n", password);
		explicit_bzero(password, strlen(password));
		free(password);
	}
	fflush(stdout);
	return good;
}

static bool start_reader(struct manager_process *p)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->over, &attr);
	pthread_condattr_destroy(&attr);
	return !pthread_create(&p->reader, NULL, read_channel, p);
}

static void forward_event(void *arg, const char *event, json_t *data)
{
	http_event(arg, event, data);
}

// What a terminal or a service manager sends to all of a group is meant for the parent, which then sends STOP. A client that
// went away is an error of a write, not the end of the process.
static void ignore_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		signal(numbers[i], SIG_IGN);
}

// --- life --------------------------------------------------------------------------------------------------------

static bool wait_second(struct manager_process *p)
{
	nsec_t until = clock_now() + NSEC_PER_SEC;
	struct timespec t = {.tv_sec = (time_t)(until / NSEC_PER_SEC), .tv_nsec = (long)(until % NSEC_PER_SEC)};
	bool stop;

	pthread_mutex_lock(&p->lock);
	if (!p->stop)
		pthread_cond_timedwait(&p->over, &p->lock, &t);
	stop = p->stop;
	pthread_mutex_unlock(&p->lock);
	return stop;
}

static int live(struct manager_process *p)
{
	for (int second = 1; !wait_second(p); second++) {
		if (commit_is_lost(p->api.commit)) {
			say("manager: the parent did not answer in time; starting over");
			return 1;
		}
		if (second % RETRY_S == 0)
			commit_retry(p->api.commit);
	}
	return 0;
}

static int serve(struct manager_process *p, const char *dir)
{
	struct problems found = {0};
	int status;

	agree(p);
	p->http = http_start(&p->api, p->listener, p->listeners, dir, &found);
	print_problems("manager", &found);
	problems_free(&found);
	if (!p->http)
		return 1;
	commit_listen(p->api.commit, forward_event, p->http);
	status = live(p);
	http_stop(p->http);
	store_close(p->api.store);
	return status;
}

int manager_main(int channel_fd, const char *state_dir)
{
	static struct manager_process p;
	const char *dir;
	int err;

	p.channel = channel_fd;
	p.api.started_s = time(NULL);
	prctl(PR_SET_NAME, "weir-manager");
	ignore_signals();
	setsid(); // a scheduling group of its own (sched_autogroup), beside the engine's
	umask(077);
	desired_prepare();
	OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, NULL);
	err = sandbox_confine(state_dir, &dir);
	if (err) {
		say("manager: %s: %s", state_dir, strerror(-err));
		return 1;
	}
	if (!open_store(&p, dir) || !receive_start(&p) || !introduce(&p, dir))
		return 1;
	p.api.commit = commit_new(p.api.store, channel_fd);
	err = sandbox_enter(SANDBOX_MANAGER);
	if (err || !p.api.commit || !start_reader(&p)) {
		say("manager: can't start: %s", strerror(err ? -err : ENOMEM));
		return 1;
	}
	// Threads of others may still run: the process ends as a whole, and what matters is on disk.
	_exit(serve(&p, dir));
}
