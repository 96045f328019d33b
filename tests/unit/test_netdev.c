// SPDX-License-Identifier: GPL-2.0-or-later
// Facts, checks and taking over of network devices, on real ones in namespaces of this process's own (network, and mounts,
// because /sys shows the devices of the namespace it was mounted in).
#include "io/netdev.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

enum { STATE_MAX = 16384 };

static void run(const char *fmt, ...) PRINTF_LIKE(1, 2);
static void run(const char *fmt, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	if (system(command)) {
		print_error("failed: %s\n", command);
		fail();
	}
}

// Everything netdev_take may touch, as the usual tools tell it.
static void read_state(const char *device, char state[STATE_MAX])
{
	char command[512];
	FILE *p;

	snprintf(
		command, sizeof command,
		"ip -o link show dev %1$s | sed 's/^[0-9]*: [a-z0-9]*@[^:]*//; s/qdisc [a-z]*//; s/state [A-Z]*//; s/,LOWER_UP//; s/,M-DOWN//';"
		"ip -o addr show dev %1$s scope global | sed 's/.*inet/inet/' | sort; ethtool -k %1$s | tail -n +2;"
		"cat /proc/sys/net/ipv6/conf/%1$s/disable_ipv6 /sys/class/net/%1$s/queues/rx-*/rps_cpus"
		" /sys/class/net/%1$s/napi_defer_hard_irqs /sys/class/net/%1$s/gro_flush_timeout",
		device);
	p = popen(command, "r");
	assert_non_null(p);
	state[fread(state, 1, STATE_MAX - 1, p)] = 0;
	assert_int_equal(pclose(p), 0);
	assert_non_null(strstr(state, "rx-vlan-offload"));
}

static bool command_says(const char *command, const char *words)
{
	char text[STATE_MAX];
	FILE *p = popen(command, "r");

	text[fread(text, 1, sizeof text - 1, p)] = 0;
	pclose(p);
	return strstr(text, words);
}

static int make_devices(void **state)
{
	run("ip link add v0 numtxqueues 2 numrxqueues 2 type veth peer name v1 numtxqueues 2 numrxqueues 2");
	run("ip link add w0 numtxqueues 1 numrxqueues 2 type veth peer name w1 numtxqueues 1 numrxqueues 2");
	run("ip link set v1 up && ip link set lo up && ip tuntap add dev t0 mode tun && ip tuntap add dev t1 mode tap");
	return 0;
}

static int drop_devices(void **state)
{
	run("for d in v0 x0 w0 t0 t1; do ip link del $d 2>/dev/null; done; true");
	return 0;
}

static struct config *conf_for(const char *device)
{
	struct config *c = calloc(1, sizeof *c);

	c->chunk_size = 2048;
	c->ports = 1;
	snprintf(c->port[0].name, sizeof c->port[0].name, "wan");
	snprintf(c->port[0].device, sizeof c->port[0].device, "%s", device);
	return c;
}

static void facts_are_read(void **state)
{
	struct netdev d;

	run("ip link set v0 address 02:00:00:00:00:42 mtu 1400 up");
	assert_int_equal(netdev_read("v0", &d), 0);
	assert_string_equal(d.name, "v0");
	assert_string_equal(d.driver, "veth");
	assert_int_equal(d.ifindex, if_nametoindex("v0"));
	assert_int_equal(d.mtu, 1400);
	assert_int_equal(d.rx_queues, 2);
	assert_int_equal(d.tx_queues, 2);
	assert_memory_equal(d.mac, "\x02\0\0\0\0\x42", 6);
	assert_true(d.up && d.carrier);
	run("ip link set v1 down");
	assert_int_equal(netdev_read("v0", &d), 0);
	assert_true(d.up && !d.carrier);
	run("ethtool -L v0 rx 1");
	assert_int_equal(netdev_read("v0", &d), 0);
	assert_int_equal(d.rx_queues, 1);
	assert_int_equal(netdev_read("t1", &d), 0); // no channels to ask for
	assert_int_equal(d.rx_queues, 1);
	assert_int_equal(netdev_read("nothere", &d), -ENODEV);
	assert_int_equal(netdev_read("", &d), -ENODEV);
	assert_int_equal(netdev_read("a-name-of-more-than-15-characters", &d), -ENODEV);
}

static void the_mtu_limit_is_what_fits(void **state)
{
	struct netdev d = {0};

	assert_int_equal(netdev_mtu_limit(&d, 2048), 1770);
	assert_int_equal(netdev_mtu_limit(&d, 4096), 3498);
}

// One problem at `path` that says `words`; none if words is NULL.
static void assert_checked(struct config *c, uint32_t port, enum problem_level level, const char *path,
			   const char *words)
{
	struct problems p = {0};
	struct netdev d;

	netdev_check(c, port, &d, &p);
	for (uint32_t k = 0; k < p.kept; k++)
		print_message("%s: %s\n", p.list[k].path, p.list[k].text);
	assert_int_equal(p.errors, words && level == PROBLEM_ERROR);
	assert_int_equal(p.warnings, words && level == PROBLEM_WARNING);
	if (words) {
		assert_string_equal(p.list[0].path, path);
		assert_non_null(strstr(p.list[0].text, words));
	}
	problems_free(&p);
}

static void bad_ports_are_told_with_what_mends_them(void **state)
{
	struct config *c = conf_for("nothere");

	assert_checked(c, 0, PROBLEM_ERROR, "/ports/wan/device", "there is no device \"nothere\"");
	strcpy(c->port[0].device, "lo");
	assert_checked(c, 0, PROBLEM_ERROR, "/ports/wan/device", "lo is no Ethernet device");
	strcpy(c->port[0].device, "t0");
	assert_checked(c, 0, PROBLEM_ERROR, "/ports/wan/device", "t0 is no Ethernet device");
	strcpy(c->port[0].device, "v0");
	assert_checked(c, 0, PROBLEM_ERROR, "", NULL);
	c->port[0].queues = 4;
	assert_checked(c, 0, PROBLEM_ERROR, "/ports/wan/queues",
		       "4 queues are wanted, but v0 has 2 receive queues: `ethtool -L v0 rx 4 tx 4`");
	c->port[0].queues = 1;
	assert_checked(c, 0, PROBLEM_WARNING, "/ports/wan/queues", "over 2 queues, but 1 are served");
	c->port[0].queues = 0;
	c->port[0].mtu = 1771;
	assert_checked(c, 0, PROBLEM_ERROR, "/ports/wan/mtu",
		       "1771 is too large, at most 1770 fits a chunk of 2048 bytes, or chunk_size 4096 (at most 3498)");
	c->port[0].mtu = 1600;
	assert_checked(c, 0, PROBLEM_ERROR, "/ports/wan/mtu", "`ip link set dev v0 mtu 1600`");
	c->port[0].mtu = 0;
	run("ip link set v0 mtu 1770");
	assert_checked(c, 0, PROBLEM_ERROR, "", NULL);
	run("ip link set v0 mtu 1771");
	assert_checked(c, 0, PROBLEM_ERROR, "/ports/wan/mtu",
		       "v0 has MTU 1771, but at most 1770 fits a chunk of 2048 bytes: `ip link set dev v0 mtu 1500`");
	c->chunk_size = 4096;
	assert_checked(c, 0, PROBLEM_ERROR, "", NULL);
	strcpy(c->port[0].device, "w0");
	assert_checked(c, 0, PROBLEM_ERROR, "/ports/wan/queues", "w0 has 1 transmit queues");
	c->ports = 2;
	c->port[1] = c->port[0];
	strcpy(c->port[0].device, "v0");
	strcpy(c->port[1].name, "two");
	strcpy(c->port[1].device, "other");
	run("ip link property add dev v0 altname other");
	assert_checked(c, 1, PROBLEM_ERROR, "/ports/two/device",
		       "other is another name of v0, which port \"wan\" uses");
	free(c);
}

static void all_is_put_back(void **state)
{
	char before[STATE_MAX], after[STATE_MAX];
	struct problems p = {0};
	struct netdev_saved *s;

	run("ip addr add 192.0.2.1/24 dev v0; ip -6 addr add 2001:db8::1/64 dev v0 nodad; ip -6 addr add 2001:db8::2/128 dev v0 nodad");
	run("echo 1 > /sys/class/net/v0/queues/rx-1/rps_cpus; ethtool -K v0 rx-vlan-hw-parse on");
	read_state("v0", before);
	s = netdev_take("v0", &p);
	assert_non_null(s);
	assert_int_equal(p.errors, 0);
	for (uint32_t k = 0; k < p.kept; k++)
		print_message("%s\n", p.list[k].text);
	assert_int_equal(p.warnings, 3); // the addresses
	assert_non_null(strstr(p.list[0].text, "v0: has the address 192.0.2.1/24"));
	assert_true(command_says("ip link show dev v0", "NOARP,PROMISC,UP") ||
		    command_says("ip link show dev v0", "NOARP,UP"));
	assert_true(command_says("ip -d link show dev v0", "promiscuity 1"));
	assert_true(command_says("ip addr show dev v0", "192.0.2.1/24"));
	assert_false(command_says("ip addr show dev v0", "inet6"));
	assert_true(command_says("ethtool -k v0", "rx-vlan-offload: off"));
	assert_true(command_says("cat /sys/class/net/v0/queues/rx-1/rps_cpus", "0"));
	netdev_defer_interrupts(s, &p);
	assert_int_equal(p.warnings, 3);
	assert_true(command_says("cat /sys/class/net/v0/napi_defer_hard_irqs", "2\n"));
	assert_true(command_says("cat /sys/class/net/v0/gro_flush_timeout", "200000\n"));
	netdev_restore(s);
	problems_free(&p);
	read_state("v0", after);
	assert_string_equal(before, after);
}

static void what_was_quiet_stays_quiet(void **state)
{
	char before[STATE_MAX], after[STATE_MAX];
	struct problems p = {0};
	struct netdev_saved *s;

	run("ip link set v0 up promisc on arp off; echo 1 > /proc/sys/net/ipv6/conf/v0/disable_ipv6");
	read_state("v0", before);
	s = netdev_take("v0", &p);
	assert_non_null(s);
	assert_int_equal(p.errors + p.warnings, 0);
	netdev_restore(s);
	read_state("v0", after);
	assert_string_equal(before, after);
}

static void a_device_that_is_gone_or_renamed_is_no_problem(void **state)
{
	char before[STATE_MAX], after[STATE_MAX];
	struct problems p = {0};
	struct netdev_saved *s;

	read_state("v0", before);
	s = netdev_take("v0", &p);
	run("ip link set v0 down; ip link set v0 name x0; ip link set x0 up; ip link add v0 type veth peer name y1");
	netdev_restore(s);
	read_state("x0", after);
	assert_string_equal(before, after);
	assert_false(command_says("ip link show dev v0", "NOARP")); // the stranger with the old name
	s = netdev_take("x0", &p);
	assert_non_null(s);
	run("ip link del x0");
	netdev_restore(s);
	netdev_restore(NULL);
	assert_null(netdev_take("x0", &p));
	assert_int_equal(p.errors, 1);
	assert_non_null(strstr(p.list[p.kept - 1].text, "x0 can't be taken over: No such device"));
	problems_free(&p);
}

static void another_namespaces_sys_is_left_alone(void **state)
{
	struct problems p = {0};
	struct netdev_saved *s;

	run("mount -t tmpfs none /sys && mkdir -p /sys/class/net/v0/queues/rx-0 && cd /sys/class/net/v0 && "
	    "echo f > queues/rx-0/rps_cpus && echo 0 > napi_defer_hard_irqs && echo 1 > ifindex && echo 02:00:00:00:00:01 > address");
	s = netdev_take("v0", &p);
	assert_non_null(s);
	netdev_defer_interrupts(s, &p);
	assert_int_equal(p.warnings, 2);
	assert_true(command_says("cat /sys/class/net/v0/queues/rx-0/rps_cpus", "f"));
	assert_true(command_says("cat /sys/class/net/v0/napi_defer_hard_irqs", "0"));
	netdev_restore(s);
	problems_free(&p);
	run("umount /sys");
}

static int skipped(const char *reason)
{
	printf("%s\n", reason);
	return 77;
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_devices, drop_devices)
	const struct CMUnitTest tests[] = {
		T(facts_are_read),
		cmocka_unit_test(the_mtu_limit_is_what_fits),
		T(bad_ports_are_told_with_what_mends_them),
		T(all_is_put_back),
		T(what_was_quiet_stays_quiet),
		T(a_device_that_is_gone_or_renamed_is_no_problem),
		T(another_namespaces_sys_is_left_alone),
	};

	if (geteuid())
		return skipped("needs root, for a network namespace");
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL))
		return skipped("namespaces can't be made here");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
