// SPDX-License-Identifier: GPL-2.0-or-later
// 10,000 requests that a generator made up, through the real router, parser, handlers, commit and store, with a thread in
// the parent's place: whatever is asked, the answer is one of the documented ones and none of 5xx, the configuration
// in force is valid, and (under a sanitizer) nothing leaks.
//   test_api_generated [SEED [REQUESTS]]
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "api_world.h"
#include "io/channel.h"
#include "io/clock.h"
#include "mgmt/desired.h"
#include "mgmt/http_route.h"
#include "mgmt/json.h"
#include "mgmt/sealed.h"
#include "stats_world.h"

#define ANSWER_NS (5 * NSEC_PER_SEC)

static uint64_t seed = 20260102;
static unsigned requests = 10000;

static const char first_document[] =
	"{\"ports\":{\"lan\":{\"device\":\"eth1\"},\"wan\":{\"device\":\"eth2\"}},"
	"\"bridges\":{\"br0\":{\"ports\":[\"lan\",\"wan\"]}},"
	"\"shapers\":{\"up\":{\"port\":\"wan\",\"rate\":\"100mbit\",\"default\":\"rest\",\"classes\":{"
	"\"voice\":{\"rt\":\"5mbit\",\"ls\":\"5mbit\"},\"rest\":{\"ls\":\"90mbit\"}}}},"
	"\"classifiers\":{\"up\":[{\"dscp\":\"ef\",\"class\":\"voice\"},{\"proto\":\"icmp\",\"class\":\"voice\"}]}}";

// ---- chance (xorshift64*)

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)((random_state * 0x2545f4914f6cdd1dull >> 32) * n >> 32);
}

#define PICK(list) (list)[below(ARRAY_LEN(list))]

// ---- the parent

struct parent {
	int fd;
	struct config *running, *before;
	uint64_t revision, before_revision, pending;
	unsigned commits;
};

static void parent_commit(struct parent *p, const struct message *m)
{
	const struct mm_commit *b = msg_body(m, MM_COMMIT, sizeof *b);
	struct mm_result answer = {.revision = b->revision, .verdict = MM_DONE, .duration_ns = 1000};
	struct problems found = {0}, live = {0};
	struct config *c = sealed_read(m->fd, b->bytes, &found);

	if (!c)
		fail_msg("the manager sent what can't be read: %s", found.list[0].text);
	if (p->running)
		config_check_live(p->running, c, &live);
	if (live.errors && !(b->flags & MM_RESTART))
		answer.verdict = MM_NEEDS_RESTART;
	if (p->pending && !(b->flags & MM_DRY_RUN))
		answer.verdict = MM_BUSY;
	if (answer.verdict == MM_DONE && !(b->flags & MM_DRY_RUN)) {
		p->commits++;
		config_free(p->before);
		p->before = p->running;
		p->before_revision = p->revision;
		p->running = c;
		p->revision = b->revision;
		p->pending = b->confirm_s ? b->revision : 0;
		answer.deadline_ns = b->confirm_s ? clock_boottime() + b->confirm_s * NSEC_PER_SEC : 0;
		c = NULL;
	}
	config_free(c);
	problems_free(&found);
	problems_free(&live);
	channel_send(p->fd, MM_RESULT, &answer, sizeof answer, -1, clock_now() + ANSWER_NS);
}

static void parent_end(struct parent *p, const struct message *m)
{
	const struct mm_revision *b = msg_body(m, m->type, sizeof *b);
	struct mm_result answer = {.revision = b->revision, .verdict = MM_NOT_PENDING};

	if (p->pending == b->revision) {
		answer.verdict = MM_DONE;
		p->pending = 0;
		if (m->type == MM_REVERT) {
			config_free(p->running);
			p->running = p->before;
			p->before = NULL;
			p->revision = p->before_revision;
		}
	}
	channel_send(p->fd, MM_RESULT, &answer, sizeof answer, -1, clock_now() + ANSWER_NS);
}

static void *parent_main(void *arg)
{
	struct parent *p = arg;
	struct message m;
	int rc;

	while ((rc = channel_wait(p->fd, &m, clock_now() + ANSWER_NS)) == 1 || rc == -ETIMEDOUT) {
		if (rc != 1)
			continue;
		if (m.type == MM_COMMIT)
			parent_commit(p, &m);
		else
			parent_end(p, &m);
		if (m.fd >= 0)
			close(m.fd);
	}
	return NULL;
}

// ---- the manager's thread that reads the channel

struct manager {
	int fd;
	struct commit *commit;
	atomic_bool stop;
};

static void *manager_main(void *arg)
{
	struct manager *p = arg;
	struct message m;

	while (!atomic_load(&p->stop))
		if (channel_wait(p->fd, &m, clock_now() + 50 * NSEC_PER_MSEC) == 1)
			commit_message(p->commit, &m);
	return NULL;
}

// ---- the generator

static const char *const names[] = {"up",   "down", "lan",  "wan",    "voice",  "rest",
				    "bulk", "br0",  "root", "a%2Fb",  "x~y",    "%C3%A4",
				    "-",    "*",    "0",    "%22'<>", "1",      "%7f",
				    "%00",  "%zz",  "..",   "",       "%2e%2e", "0123456789012345678901234567890123"};
static const char *const keys[] = {"system", "ports", "bridges", "shapers", "classifiers", "classes", "rt",      "ls",
				   "ul",     "sc",    "leaf",    "rate",    "default",     "port",    "device",  "m1",
				   "d",      "m2",    "limit",   "kind",    "frames",      "workers", "nonsense"};
static const char *const places[] = {"/ports/lan",
				     "/ports/lan/in_flight",
				     "/ports/wan/mtu",
				     "/shapers/up",
				     "/shapers/up/rate",
				     "/shapers/up/classes",
				     "/shapers/up/classes/voice",
				     "/shapers/up/classes/voice/rt",
				     "/shapers/up/classes/voice/leaf/limit",
				     "/shapers/up/classes/rest/ul/m2",
				     "/shapers/up/classes/bulk",
				     "/shapers/up/classes/bulk/ls",
				     "/shapers/down/classes/rest/ls",
				     "/classifiers/up",
				     "/classifiers/up/0",
				     "/classifiers/up/0/class",
				     "/classifiers/up/-",
				     "/bridges/br0/ageing",
				     "/system/frames"};
static const char *const values[] = {
	"\"1mbit\"",
	"\"5mbit\"",
	"\"90mbit\"",
	"\"1gbit\"",
	"100",
	"65536",
	"-1",
	"0",
	"1e400",
	"1.5",
	"null",
	"true",
	"\"\"",
	"\"voice\"",
	"\"rest\"",
	"\"10ms\"",
	"\"300s\"",
	"{}",
	"[]",
	"{\"ls\":\"2mbit\"}",
	"{\"ls\":\"2mbit\",\"parent\":\"bulk\"}",
	"{\"rt\":null,\"ls\":\"3mbit\",\"leaf\":{\"kind\":\"pfifo\",\"limit\":50}}",
	"{\"m1\":\"2mbit\",\"d\":\"10ms\",\"m2\":\"1mbit\"}",
	"{\"dscp\":\"cs1\",\"class\":\"rest\"}",
	"[{\"vlan\":7,\"class\":\"voice\"}]",
	"{\"rate\":\"80mbit\"}",
	"{\"voice\":{\"rt\":\"4mbit\"},\"bulk\":null}",
	"{\"shapers\":{\"up\":{\"rate\":\"70mbit\",\"classes\":{\"bulk\":{\"ls\":\"1mbit\"}}}}}",
	"{\"system\":null,\"classifiers\":null}",
	"{\"device\":\"eth9\"}",
	"{\"a\":1,\"a\":2}",
	"{\"a\":",
	"\"\xff\"",
	"\"\\u0000\"",
	"[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]",
	"[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]",
	"999999999999999999999999",
};

static void add(char *to, const char *fmt, const char *text)
{
	size_t at = strlen(to);

	snprintf(to + at, 4096 - at, fmt, text);
}

static void random_pointer(char *to)
{
	if (below(5)) {
		add(to, "%s", PICK(places));
		return;
	}
	for (uint32_t n = below(8); n; n--)
		add(to, "/%s", below(2) ? PICK(names) : PICK(keys));
	if (!below(50))
		for (int i = 0; i < 300; i++)
			add(to, "/%s", "long-name");
}

static void random_number(char *to, int64_t newest)
{
	static const char *const odd[] = {"0", "-1", "01", "x", "99999999999999999999", "1e3", "%31"};
	char text[32];

	snprintf(text, sizeof text, "%u", 1 + below((uint32_t)newest + 2));
	add(to, "%s", below(8) ? text : PICK(odd));
}

static void random_target(char *to, int64_t newest)
{
	static const char *const fixed[] = {
		"/v1/config",
		"/v1/revisions",
		"/v1/revisions/pending",
		"/v1/state/ports",
		"/v1/state/shapers",
		"/v1/state/workers",
		"/v1/state/drops",
		"/v1/schema",
		"/metrics",
		"/",
		"/v1",
		"/v2/config",
		"/v1/config/",
		"/v1//config",
		"/v1/state/shapers/up/classes",
		"/v1/state/shapers//classes",
		"v1/config",
		"/%",
		"/v1/config?",
	};
	static const char *const ends[] = {"", "/diff", "/confirm", "/revert", "/rollback", "/nonsense", "/confirm"};

	*to = '\0';
	switch (below(8)) {
	case 0:
		add(to, "%s", PICK(fixed));
		break;
	case 1:
		add(to, "/v1/state/shapers/%s/classes", PICK(names));
		break;
	case 2:
	case 3:
		add(to, "%s", "/v1/revisions/");
		random_number(to, newest);
		add(to, "%s", PICK(ends));
		break;
	default:
		add(to, "%s", "/v1/config");
		random_pointer(to);
	}
	static const char *const parameters[] = {
		"dry_run=1",
		"dry_run=1",
		"dry_run=0",
		"dry_run=x",
		"confirm=60",
		"confirm=60",
		"confirm=5",
		"confirm=99999",
		"restart=1",
		"restart=1",
		"restart=1",
		"comment=hello+world",
		"comment=gr%c3%bc%c3%9fe",
		"comment=%1b%5b2J",
		"comment=%e2%80%ae",
		"comment=%ff",
		"limit=3",
		"limit=0",
		"before=5",
		"to=2",
		"to=999",
		"&&",
		"a=b=c",
		"comment",
		"dry_run=1&dry_run=0",
	};

	for (uint32_t n = below(2) * below(3); n; n--)
		add(to, strchr(to, '?') ? "&%s" : "?%s", PICK(parameters));
}

// ---- one request

struct world {
	struct api api;
	struct target target;
	char if_match[64];
	bool has_match;
	int64_t newest;
	unsigned count[600];
};

static const char *query_of(const void *connection, const char *key)
{
	return target_query(&((const struct world *)connection)->target, key);
}

static const char *header_of(const void *connection, const char *key)
{
	const struct world *w = connection;

	return w->has_match && !strcmp(key, "If-Match") ? w->if_match : NULL;
}

static void random_match(struct world *w)
{
	static const char *const odd[] = {"\"r0\"", "\"r1\"", "W/\"r1\"", "", "\"", "r", "\"r1\",\"r2\"", ",", "**"};
	int64_t running;

	json_decref(commit_running(w->api.commit, &running));
	w->has_match = below(12) != 0;
	switch (below(4)) {
	case 0:
		snprintf(w->if_match, sizeof w->if_match, "\"r%lld\"", (long long)running);
		break;
	case 1:
		snprintf(w->if_match, sizeof w->if_match, "%s", PICK(odd));
		break;
	default:
		snprintf(w->if_match, sizeof w->if_match, "*");
	}
}

// What the server does between the request line and the handler.
static void serve(struct world *w, enum http_method method, const char *target, const char *body, struct response *a)
{
	static const struct route *const tables[] = {api_config_routes, api_revision_routes, api_state_routes, NULL};
	struct request r = {.api = &w->api, .method = method, .user = "ada", .role = ROLE_OPERATOR, .connection = w};
	struct problems found = {0};
	struct route_match match;
	enum target_verdict verdict;
	const char *why;

	memset(a, 0, sizeof *a);
	verdict = target_parse(target, &w->target, &why);
	if (verdict != TARGET_OK) {
		respond_error(a, verdict == TARGET_BAD ? 400 : 414, "target", NULL);
		return;
	}
	route_find(tables, &w->target, method, &match);
	if (!match.route) {
		respond_error(a, match.allow ? 405 : 404, "route", NULL);
		return;
	}
	r.path = w->target.path;
	r.name = match.name;
	r.pointer = match.has_pointer ? match.pointer : NULL;
	if (match.route->body_max && body) {
		r.json = document_parse(body, strlen(body), &found);
		if (!r.json)
			r.json = json_loads(body, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
		else if (found.errors) {
			json_decref(r.json);
			r.json = NULL;
		}
	}
	problems_free(&found);
	if (match.route->body_max && body && !r.json)
		respond_error(a, 400, "body", NULL);
	else
		match.route->handle(&r, a);
	json_decref(r.json);
}

static bool documented(int status)
{
	static const int all[] = {200, 400, 404, 405, 409, 412, 414, 422, 428};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i] == status)
			return true;
	return false;
}

static void check_answer(const struct response *a, const char *target)
{
	char *text = a->json ? json_dumps(a->json, JSON_ENCODE_ANY) : NULL;

	if (!documented(a->status))
		fail_msg("%s: status %d: %s", target, a->status, text ? text : a->text);
	assert_true(text || a->text);
	if (a->status != 200) {
		assert_non_null(a->type);
		assert_string_equal(a->type, "application/problem+json");
		assert_int_equal(json_integer_value(json_object_get(a->json, "status")), a->status);
	}
	for (const char *c = text ? text : a->text; *c; c++)
		assert_false(*c > 0 && *c < ' ' && *c != '\n'); // nothing a terminal acts on
	free(text);
}

static void check_running(struct world *w)
{
	struct problems found = {0};
	json_t *document = commit_running(w->api.commit, NULL);
	char *text = json_dumps(document, 0);
	struct config *c = desired_parse(text, strlen(text), &found);

	if (!c)
		fail_msg("in force, but not valid: %s: %s", found.list[0].path, found.list[0].text);
	config_free(c);
	problems_free(&found);
	free(text);
	json_decref(document);
}

static enum http_method random_method(const char *target)
{
	static const enum http_method any[] = {HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE},
				      writes[] = {HTTP_GET,   HTTP_PUT,   HTTP_PUT,   HTTP_PUT,
						  HTTP_PATCH, HTTP_PATCH, HTTP_PATCH, HTTP_DELETE};

	if (!below(20))
		return PICK(any);
	if (!strncmp(target, "/v1/config", 10))
		return PICK(writes);
	return strstr(target, "/re") && below(2) ? HTTP_POST : HTTP_GET;
}

static void one_request(struct world *w)
{
	char target[4096];
	struct response a;
	uint32_t left;
	int64_t pending;

	random_target(target, w->newest);
	random_match(w);
	serve(w, random_method(target), target, below(20) ? PICK(values) : NULL, &a);
	check_answer(&a, target);
	w->count[a.status]++;
	response_free(&a);
	pending = commit_pending(w->api.commit, &left);
	if (pending && !below(4)) { // or everything else would be refused from then on
		snprintf(target, sizeof target, "/v1/revisions/%lld/%s", (long long)pending,
			 below(2) ? "confirm" : "revert");
		serve(w, HTTP_POST, target, NULL, &a);
		assert_int_equal(a.status, 200);
		response_free(&a);
	}
	struct revision_row row;

	w->newest = store_list(w->api.store, 0, &row, 1) ? row.id : 0;
}

// Back to the first configuration, or what is left after many requests is too little to change.
static void begin_again(struct world *w)
{
	struct response a;
	uint32_t left;

	w->has_match = false;
	serve(w, HTTP_POST, "/v1/revisions/1/rollback?restart=1", NULL, &a);
	assert_int_equal(a.status, commit_pending(w->api.commit, &left) ? 409 : 200);
	response_free(&a);
}

static void remove_directory(const char *dir)
{
	DIR *d = opendir(dir);
	char path[512];

	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(dir);
}

static void no_answer_is_a_surprise(void **state)
{
	char dir[64];
	struct problems found = {0};
	struct world *w = calloc(1, sizeof *w);
	struct mm_state start = {0};
	struct parent parent = {0};
	struct manager manager = {0};
	pthread_t parent_thread, manager_thread;
	struct stats *stats;
	int fd[2];

	printf("seed %llu, %u requests\n", (unsigned long long)seed, requests);
	random_state = seed ? seed : 1;
	fake_query = query_of;
	fake_header = header_of;
	// memory, if it can be: the store waits for the disk at every step
	snprintf(dir, sizeof dir, "%s/weir-generated-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(channel_pair(fd), 0);
	w->api.store = store_open(dir, &found);
	assert_non_null(w->api.store);
	w->api.commit = commit_new(w->api.store, fd[0]);
	stats = stats_world(5);
	send_packets(stats, UP_FIRST + 2, 1000, 1500, 5 * NSEC_PER_MSEC);
	w->api.stats = stats;
	parent.fd = fd[1];
	manager = (struct manager){.fd = fd[0], .commit = w->api.commit};
	pthread_create(&parent_thread, NULL, parent_main, &parent);
	pthread_create(&manager_thread, NULL, manager_main, &manager);
	commit_start(w->api.commit, &start, first_document, strlen(first_document), &found);
	if (found.errors)
		fail_msg("start: %s", found.list[0].text);

	for (unsigned i = 0; i < requests; i++) {
		one_request(w);
		if (i % 50 == 0)
			check_running(w);
		if (i % 100 == 0)
			begin_again(w);
	}
	check_running(w);
	for (unsigned i = 0; i < ARRAY_LEN(w->count); i++)
		if (w->count[i])
			printf("%6u x %u\n", w->count[i], i);
	printf("%lld revisions, %u of them reached the parent\n", (long long)w->newest, parent.commits);
	if (requests >= 1000) // the generator is worth something only if it gets everywhere
		assert_true(w->count[200] > requests / 10 && w->count[422] && w->count[412] && w->count[409] &&
			    w->count[428] && w->newest > 20);

	atomic_store(&manager.stop, true);
	pthread_join(manager_thread, NULL);
	close(fd[0]);
	pthread_join(parent_thread, NULL);
	close(fd[1]);
	commit_free(w->api.commit);
	store_close(w->api.store);
	stats_unmap(w->api.stats);
	config_free(parent.running);
	config_free(parent.before);
	problems_free(&found);
	free(w);
	remove_directory(dir);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_answer_is_a_surprise)};

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		requests = (unsigned)strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
