// SPDX-License-Identifier: GPL-2.0-or-later
// Keeping the kernel's own stack quiet on a device that weir has taken. Nothing the device receives reaches the kernel
// any more, so whatever the kernel would still say there (ARP, neighbour discovery, router solicitations) is noise at best,
// and what it or the hardware would do to a frame before we see it (merge segments, take VLAN tags off) is damage.
//
// Every setting is read first, written only if it differs, and remembered in a list; giving the device back is that list
// run backwards. A device that vanished meanwhile takes its settings with it: nothing is done then. It is found by its
// index, so that a rename does not make us write to a stranger.
#include "io/netdev.h"

#include "io/rtnl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	VALUE_MAX = 64,     // of a setting in /proc or /sys
	FEATURES_MAX = 512, // blocks are of 32; kernels have about 64 features
	NOTED_ADDRESSES = 4,
};

enum change_kind { CHANGED_FLAGS, CHANGED_FILE, CHANGED_FEATURE, LOST_ADDRESS };

struct change {
	enum change_kind kind;
	unsigned flags;          // CHANGED_FLAGS: those that were set
	char root[32], leaf[64]; // CHANGED_FILE: root/DEVICE/leaf; CHANGED_FEATURE: leaf is the name of what was on
	char value[VALUE_MAX];   // CHANGED_FILE: before
	struct rtnl_message *address; // LOST_ADDRESS: the request that makes it again
};

struct netdev_saved {
	uint32_t ifindex;
	char name[DEVICE_MAX];
	struct change *change;
	uint32_t count, room;
	struct problems *notes; // while taking
	uint32_t addresses;
	bool failed; // no memory to remember a change, which was therefore not made
};

PRINTF_LIKE(2, 3)
static void note(struct netdev_saved *s, const char *fmt, ...)
{
	char text[PROBLEM_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	problem_add(s->notes, PROBLEM_WARNING, "", "%s: %s", s->name, text);
}

// Room for a change, made before the change is. NULL without memory.
static struct change *remember(struct netdev_saved *s, enum change_kind kind)
{
	if (s->count == s->room) {
		uint32_t room = s->room ? 2 * s->room : 16;
		struct change *more = realloc(s->change, room * sizeof *more);

		if (!more) {
			s->failed = true;
			return NULL;
		}
		s->change = more;
		s->room = room;
	}
	s->change[s->count] = (struct change){.kind = kind};
	return &s->change[s->count++];
}

static int open_setting(const char *name, const char *root, const char *leaf, int flags)
{
	char path[160];

	snprintf(path, sizeof path, "%s/%s/%s", root, name, leaf);
	return open(path, flags | O_CLOEXEC);
}

// The value without its newline. 0 or -errno.
static int read_setting(const char *name, const char *root, const char *leaf, char value[VALUE_MAX])
{
	int fd = open_setting(name, root, leaf, O_RDONLY), err = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, value, VALUE_MAX - 1);
	if (n < 0)
		err = -errno;
	else
		value[n] = 0;
	close(fd);
	if (!err)
		value[strcspn(value, "\n")] = 0;
	return err;
}

static int write_setting(const char *name, const char *root, const char *leaf, const char *value)
{
	int fd = open_setting(name, root, leaf, O_WRONLY), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		err = -errno;
	close(fd);
	return err;
}

// Writes `value` unless it is there already. 0, or -errno and nothing changed.
static int set_file(struct netdev_saved *s, const char *root, const char *leaf, const char *value)
{
	char before[VALUE_MAX];
	int err = read_setting(s->name, root, leaf, before);

	if (err || !strcmp(before, value))
		return err;
	struct change *c = remember(s, CHANGED_FILE);

	if (!c)
		return -ENOMEM;
	snprintf(c->root, sizeof c->root, "%s", root);
	snprintf(c->leaf, sizeof c->leaf, "%s", leaf);
	memcpy(c->value, before, sizeof c->value);
	err = write_setting(s->name, root, leaf, value);
	if (err)
		s->count--;
	return err;
}

// /sys shows the namespace it was mounted in, which need not be ours: the same name there may be another device.
static bool sysfs_is_ours(const struct netdev *dev)
{
	char value[VALUE_MAX], mac[32];

	snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", dev->mac[0], dev->mac[1], dev->mac[2], dev->mac[3],
		 dev->mac[4], dev->mac[5]);
	return !read_setting(dev->name, "/sys/class/net", "ifindex", value) &&
	       strtoul(value, NULL, 10) == dev->ifindex &&
	       !read_setting(dev->name, "/sys/class/net", "address", value) && !strcmp(value, mac);
}

// ---- flags of the interface ----

static int change_flags(uint32_t ifindex, unsigned mask, unsigned value)
{
	struct rtnl_message m;
	struct ifinfomsg *link = rtnl_begin(&m, RTM_NEWLINK, 0, sizeof *link);

	link->ifi_index = (int)ifindex;
	link->ifi_change = mask;
	link->ifi_flags = value;
	return rtnl_request(&m.header, NULL, NULL);
}

static void read_flags(const struct nlmsghdr *h, void *arg)
{
	if (h->nlmsg_type == RTM_NEWLINK)
		*(unsigned *)arg = ((const struct ifinfomsg *)NLMSG_DATA(h))->ifi_flags;
}

static int set_flags(struct netdev_saved *s, unsigned wanted)
{
	struct rtnl_message m;
	struct ifinfomsg *link = rtnl_begin(&m, RTM_GETLINK, 0, sizeof *link);
	unsigned now = 0;
	int err;

	link->ifi_index = (int)s->ifindex;
	err = rtnl_request(&m.header, read_flags, &now);
	if (err || !(wanted & ~now))
		return err;
	struct change *c = remember(s, CHANGED_FLAGS);

	if (!c)
		return -ENOMEM;
	c->flags = wanted & ~now;
	err = change_flags(s->ifindex, c->flags, wanted);
	if (err)
		s->count--;
	return err;
}

// ---- addresses ----

// Global addresses are told: they stay, but nothing reaches them. Turning IPv6 off deletes IPv6 ones, so what an
// administrator gave the device is kept to be given again; those that routers or the kernel gave come back by themselves.
static void keep_address(const struct nlmsghdr *h, void *arg)
{
	struct netdev_saved *s = arg;
	const struct ifaddrmsg *a = NLMSG_DATA(h);
	int left = (int)IFA_PAYLOAD(h);
	const void *bytes = NULL;
	char text[INET6_ADDRSTRLEN] = "";

	if (h->nlmsg_type != RTM_NEWADDR || a->ifa_index != s->ifindex || a->ifa_scope >= RT_SCOPE_LINK)
		return;
	for (const struct rtattr *r = IFA_RTA(a); RTA_OK(r, left); r = RTA_NEXT(r, left))
		if (r->rta_type == IFA_LOCAL || (r->rta_type == IFA_ADDRESS && !bytes))
			bytes = RTA_DATA(r);
	if (bytes && inet_ntop(a->ifa_family, bytes, text, sizeof text) && s->addresses++ < NOTED_ADDRESSES)
		note(s, "has the address %s/%u: nothing reaches it while weir has the device", text, a->ifa_prefixlen);
	if (a->ifa_family != AF_INET6 || !(a->ifa_flags & IFA_F_PERMANENT) ||
	    h->nlmsg_len > sizeof(struct rtnl_message))
		return;
	struct rtnl_message *m = calloc(1, sizeof *m);
	struct change *c = m ? remember(s, LOST_ADDRESS) : NULL;

	if (!c) {
		free(m);
		s->failed = true;
		return;
	}
	memcpy(m, h, h->nlmsg_len);
	m->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE;
	m->header.nlmsg_seq = m->header.nlmsg_pid = 0;
	c->address = m;
}

static int keep_addresses(struct netdev_saved *s)
{
	struct rtnl_message m;
	struct ifaddrmsg *a = rtnl_begin(&m, RTM_GETADDR, NLM_F_DUMP, sizeof *a);

	a->ifa_index = s->ifindex;
	int err = rtnl_request(&m.header, keep_address, s);

	if (s->addresses > NOTED_ADDRESSES)
		note(s, "and %u more addresses", s->addresses - NOTED_ADDRESSES);
	return err;
}

// ---- features of driver and stack ----

static int ethtool(int fd, const char *name, void *command)
{
	struct ifreq r = {.ifr_data = command};

	snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
	return ioctl(fd, SIOCETHTOOL, &r) ? -errno : 0;
}

// Number of the feature called `wanted`; -1 if this kernel has none of that name.
static int feature_number(int fd, const char *name, const char *wanted)
{
	union { // room for the answer behind the head
		struct ethtool_sset_info head;
		char bytes[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} set = {.head = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES}};
	struct ethtool_gstrings *strings;
	int found = -1;

	if (ethtool(fd, name, &set) || !set.head.sset_mask || set.head.data[0] > FEATURES_MAX)
		return -1;
	uint32_t count = set.head.data[0];

	strings = calloc(1, sizeof *strings + (size_t)count * ETH_GSTRING_LEN);
	if (!strings)
		return -1;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	strings->len = count;
	if (!ethtool(fd, name, strings))
		for (uint32_t k = 0; k < count && found < 0; k++)
			if (!strncmp((char *)strings->data + (size_t)k * ETH_GSTRING_LEN, wanted, ETH_GSTRING_LEN))
				found = (int)k;
	free(strings);
	return found;
}

struct feature {
	bool active, changeable;
	uint32_t blocks; // of 32 features this kernel has; it wants the same number back
};

static bool feature_get(int fd, const char *name, int number, struct feature *out)
{
	union {
		struct ethtool_gfeatures head;
		char bytes[sizeof(struct ethtool_gfeatures) +
			   FEATURES_MAX / 32 * sizeof(struct ethtool_get_features_block)];
	} get;
	const struct ethtool_get_features_block *b = &get.head.features[number / 32];
	uint32_t bit = 1u << number % 32;

	memset(&get, 0, sizeof get);
	get.head.cmd = ETHTOOL_GFEATURES;
	get.head.size = FEATURES_MAX / 32;
	if (ethtool(fd, name, &get) || get.head.size > FEATURES_MAX / 32)
		return false;
	*out = (struct feature){.active = b->active & bit,
				.changeable = (b->available & ~b->never_changed) & bit,
				.blocks = get.head.size};
	return true;
}

static void feature_set(int fd, const char *name, int number, const struct feature *f, bool on)
{
	union {
		struct ethtool_sfeatures head;
		char bytes[sizeof(struct ethtool_sfeatures) +
			   FEATURES_MAX / 32 * sizeof(struct ethtool_set_features_block)];
	} set;
	uint32_t bit = 1u << number % 32;

	memset(&set, 0, sizeof set);
	set.head.cmd = ETHTOOL_SFEATURES;
	set.head.size = f->blocks;
	set.head.features[number / 32] = (struct ethtool_set_features_block){.valid = bit, .requested = on ? bit : 0};
	(void)ethtool(fd, name, &set);
}

static void feature_off(struct netdev_saved *s, int fd, const char *feature, const char *harm)
{
	int number = feature_number(fd, s->name, feature);
	struct feature now;

	if (number < 0 || !feature_get(fd, s->name, number, &now) || !now.active)
		return;
	struct change *c = now.changeable ? remember(s, CHANGED_FEATURE) : NULL;

	if (c) {
		snprintf(c->leaf, sizeof c->leaf, "%s", feature);
		feature_set(fd, s->name, number, &now, false);
		if (feature_get(fd, s->name, number, &now) && !now.active)
			return;
		s->count--;
	}
	note(s, "%s can't be turned off: %s", feature, harm);
}

static void features_off(struct netdev_saved *s, const struct netdev *dev)
{
	static const struct {
		const char *name, *harm;
		bool veth;
	} table[] = {
		{"rx-lro", "segments are merged into frames that are too large to forward", true},
		{"rx-gro-hw", "segments are merged into frames that are too large to forward", true},
		// On veth it is what makes the device poll, and attaching a program turns it on there.
		{"rx-gro", "segments are merged in generic mode into frames that are too large to forward", false},
		{"rx-vlan-hw-parse", "VLAN tags of received frames are lost", true},
		{"rx-vlan-filter", "frames of VLANs that Linux doesn't know are lost", true},
	};
	bool veth = !strcmp(dev->driver, "veth");
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		note(s, "offloads are left as they are: %s", strerror(errno));
		return;
	}
	for (size_t k = 0; k < ARRAY_LEN(table); k++)
		if (!veth || table[k].veth)
			feature_off(s, fd, table[k].name, table[k].harm);
	close(fd);
}

// ---- taking and giving back ----

static void quiet_ipv6(struct netdev_saved *s)
{
	int err = set_file(s, "/proc/sys/net/ipv6/conf", "disable_ipv6", "1");

	if (err && err != -ENOENT) // without the file the kernel has no IPv6
		note(s, "IPv6 can't be turned off, the kernel goes on sending neighbour discovery: %s", strerror(-err));
}

// RPS moves frames to other CPUs before generic XDP looks at them.
static void steering_off(struct netdev_saved *s, const struct netdev *dev)
{
	if (!sysfs_is_ours(dev)) {
		note(s, "/sys shows another network namespace, so receive packet steering is not looked at");
		return;
	}
	for (uint32_t q = 0; q < dev->rx_queues; q++) {
		char leaf[64], value[VALUE_MAX];
		int err;

		snprintf(leaf, sizeof leaf, "queues/rx-%u/rps_cpus", q);
		// A mask of CPUs: any number of zeroes and commas is "off".
		if (read_setting(s->name, "/sys/class/net", leaf, value) || !value[strspn(value, "0,")])
			continue;
		err = set_file(s, "/sys/class/net", leaf, "0");
		if (err)
			note(s, "receive packet steering of queue %u can't be turned off: %s", q, strerror(-err));
	}
}

struct netdev_saved *netdev_take(const char *name, struct problems *notes)
{
	struct netdev_saved *s = calloc(1, sizeof *s);
	struct netdev dev;
	int err = s ? netdev_read(name, &dev) : -ENOMEM;

	if (err) {
		problem_add(notes, PROBLEM_ERROR, "", "%s can't be taken over: %s", name, strerror(-err));
		free(s);
		return NULL;
	}
	snprintf(s->name, sizeof s->name, "%s", name);
	s->ifindex = dev.ifindex;
	s->notes = notes;
	err = keep_addresses(s);
	if (!err) {
		quiet_ipv6(s);
		features_off(s, &dev);
		steering_off(s, &dev);
		err = set_flags(s, IFF_UP | IFF_PROMISC | IFF_NOARP);
	}
	if (!err && s->failed)
		err = -ENOMEM;
	s->notes = NULL;
	if (!err)
		return s;
	problem_add(notes, PROBLEM_ERROR, "",
		    "%s can't be brought up, promiscuous and without ARP, which takes CAP_NET_ADMIN: %s", name,
		    strerror(-err));
	netdev_restore(s);
	return NULL;
}

void netdev_defer_interrupts(struct netdev_saved *s, struct problems *notes)
{
	struct netdev dev;
	int err = -EXDEV;

	s->notes = notes;
	if (!netdev_read(s->name, &dev) && sysfs_is_ours(&dev)) {
		err = set_file(s, "/sys/class/net", "napi_defer_hard_irqs", "2");
		if (!err)
			err = set_file(s, "/sys/class/net", "gro_flush_timeout", "200000");
	}
	if (err)
		note(s,
		     "interrupts go on beside busy polling, napi_defer_hard_irqs and gro_flush_timeout can't be set: %s",
		     err == -EXDEV ? "/sys shows another network namespace" : strerror(-err));
	s->notes = NULL;
}

static void undo(const struct netdev_saved *s, const char *name, int fd, struct change *c)
{
	struct feature now;
	int number;

	switch (c->kind) {
	case CHANGED_FLAGS:
		(void)change_flags(s->ifindex, c->flags, 0);
		break;
	case CHANGED_FILE:
		(void)write_setting(name, c->root, c->leaf, c->value);
		break;
	case CHANGED_FEATURE:
		number = feature_number(fd, name, c->leaf);
		if (number >= 0 && feature_get(fd, name, number, &now))
			feature_set(fd, name, number, &now, true);
		break;
	case LOST_ADDRESS:
		(void)rtnl_request(&c->address->header, NULL, NULL);
		break;
	}
}

void netdev_restore(struct netdev_saved *s)
{
	char name[IF_NAMESIZE];
	int fd;

	if (!s)
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	while (s->count) {
		struct change *c = &s->change[--s->count];

		// Asked each time: it can go between two.
		if (if_indextoname(s->ifindex, name))
			undo(s, name, fd, c);
		free(c->address);
	}
	if (fd >= 0)
		close(fd);
	free(s->change);
	free(s);
}
