// SPDX-License-Identifier: GPL-2.0-or-later
// The parent's half of the engine's protocol, against an engine that this test plays itself (spawn_role starts the test
// again); what the parent does to a configuration before it sends it; and how patient it is with an engine that dies.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/channel.h"
#include "io/clock.h"
#include "mgmt/supervise.h"

// --- an engine ---------------------------------------------------------------------------------------------------

static bool expect(struct message *m, uint32_t type, bool with_fd)
{
	return channel_wait(3, m, clock_now() + 5 * NSEC_PER_SEC) == 1 && m->type == type && (m->fd >= 0) == with_fd;
}

// Takes a CONFIG, tries to change it, and answers with the revision inside it.
static bool serve_config(uint32_t answer)
{
	struct problems found = {0};
	struct msg_applied applied = {0};
	struct message m;
	const struct msg_config *b;
	struct config *c;

	if (!expect(&m, MSG_CONFIG, true) || !(b = msg_body(&m, MSG_CONFIG, sizeof *b)))
		return false;
	if (pwrite(m.fd, "x", 1, 0) >= 0 || !ftruncate(m.fd, 0))
		return false; // it is not sealed
	c = config_decode(mmap(NULL, b->bytes, PROT_READ, MAP_PRIVATE, m.fd, 0), b->bytes, &found);
	if (!c || c->revision != b->revision)
		return false;
	applied.revision = c->revision;
	config_free(c);
	return (answer != MSG_READY || expect(&m, MSG_START, false)) &&
	       !channel_send(3, answer, &applied, sizeof applied, -1, clock_now() + NSEC_PER_SEC);
}

static int engine(void)
{
	struct message m;

	if (fcntl(4, F_GETFD) >= 0 || !expect(&m, MSG_MEMORY, true) || !expect(&m, MSG_STATS, true))
		return 11;
	if (!serve_config(MSG_READY))
		return 12;
	if (!serve_config(MSG_APPLIED))
		return 13;
	if (!expect(&m, MSG_PORT_STATE, false) || !expect(&m, MSG_STOP, false))
		return 14;
	return 42;
}

// --- tests -------------------------------------------------------------------------------------------------------

static void test_protocol(void **state)
{
	struct ports *p = calloc(1, sizeof *p);
	struct config *c = config_new();
	struct engine e = {.channel = -1};
	int stats = memfd_create("stats", MFD_CLOEXEC), stray = fcntl(stats, F_DUPFD, 4); // not close-on-exec
	struct message m;

	assert_int_equal(umem_create(&p->umem, 256, 2048), 0);
	c->revision = 7;
	assert_int_equal(engine_start(&e, p, stats, c), 0);
	assert_int_equal(e.state, ENGINE_STARTING);
	assert_true(e.deadline != TIME_NEVER);
	assert_int_equal(channel_wait(e.channel, &m, e.deadline), 1);
	const struct msg_applied *b = msg_body(&m, MSG_READY, sizeof *b);

	assert_non_null(b);
	assert_int_equal(b->revision, 7);
	c->revision = 8;
	assert_int_equal(engine_configure(&e, c), 0);
	assert_int_equal(channel_wait(e.channel, &m, e.deadline), 1);
	assert_non_null(b = msg_body(&m, MSG_APPLIED, sizeof *b));
	assert_int_equal(b->revision, 8);
	assert_int_equal(engine_port_state(&e, 0, true), 0);
	engine_stop(&e);
	assert_int_equal(e.state, ENGINE_STOPPING);
	assert_int_equal(WEXITSTATUS(engine_end(&e, 5 * NSEC_PER_SEC)), 42);
	assert_int_equal(e.state, ENGINE_NONE);
	umem_close(&p->umem);
	close(stats);
	close(stray);
	config_free(c);
	free(p);
}

static void test_restart_delay(void **state)
{
	struct engine e = {.started = 1000 * NSEC_PER_SEC};
	nsec_t now = e.started + NSEC_PER_SEC;

	for (int i = 0; i < 5; i++)
		assert_int_equal(engine_restart_delay(&e, now), 0);
	assert_int_equal(engine_restart_delay(&e, now), 250 * NSEC_PER_MSEC);
	assert_int_equal(engine_restart_delay(&e, now), 500 * NSEC_PER_MSEC);
	for (int i = 0; i < 100; i++)
		assert_int_equal(engine_restart_delay(&e, now), NSEC_PER_SEC);
	e.started = now;
	now += 11 * NSEC_PER_SEC; // this one lived
	assert_int_equal(engine_restart_delay(&e, now), 0);
}

static struct ports *two_ports(void)
{
	struct ports *p = calloc(1, sizeof *p);

	p->count = 2;
	strcpy(p->port[0].conf.name, "a");
	strcpy(p->port[1].conf.name, "b");
	p->port[0].conf.queues = 4;
	p->port[1].conf.queues = 2;
	p->port[0].conf.mtu = 1500;
	p->port[1].conf.mtu = 1400;
	return p;
}

static void test_resolve(void **state)
{
	struct ports *p = two_ports();
	struct config *c = config_new();

	c->ports = 2;
	strcpy(c->port[0].name, "a");
	strcpy(c->port[1].name, "b");
	c->port[0].queues = 3;
	c->shapers = 1;
	c->shaper[0].port = 1;
	c->shaper[0].plan = plan_new(1);
	c->shaper[0].plan->wire.overhead = 4;
	ports_resolve(p, c);
	assert_int_equal(c->port[0].queues, 3); // what is written stays
	assert_int_equal(c->port[0].mtu, 1500);
	assert_int_equal(c->port[1].queues, 2);
	assert_int_equal(c->port[1].mtu, 1400);
	assert_int_equal(c->shaper[0].plan->mtu_wire, 1400 + 14 + 8 + 4);
	config_free(c);
	free(p);
}

static void test_align(void **state)
{
	struct ports *p = two_ports();
	struct config *c = config_new();

	c->ports = 2;
	strcpy(c->port[0].name, "b");
	strcpy(c->port[1].name, "a");
	c->port[0].mtu = 77;
	c->bridges = c->shapers = 1;
	c->bridge[0].ports = 2;
	c->bridge[0].port[0] = 0;
	c->bridge[0].port[1] = 1;
	c->shaper[0].port = 0;
	ports_align(p, c);
	assert_string_equal(c->port[0].name, "a");
	assert_string_equal(c->port[1].name, "b");
	assert_int_equal(c->port[1].mtu, 77);
	assert_int_equal(c->bridge[0].port[0], 1);
	assert_int_equal(c->bridge[0].port[1], 0);
	assert_int_equal(c->shaper[0].port, 1);
	strcpy(c->port[0].name, "z"); // another set: left as it is
	ports_align(p, c);
	assert_string_equal(c->port[0].name, "z");
	assert_int_equal(c->shaper[0].port, 1);
	config_free(c);
	free(p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_protocol),
		cmocka_unit_test(test_restart_delay),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_align),
	};

	if (argc > 1 && !strcmp(argv[1], "engine"))
		return engine();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
