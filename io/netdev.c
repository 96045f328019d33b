// SPDX-License-Identifier: GPL-2.0-or-later
// Facts about a network device, asked the way anybody may ask, and what a configuration wants of it held against them.
// Everything that can be wrong with a port is said before anything of it is touched, with the command that mends it.
#include "io/netdev.h"

#include "io/rtnl.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static_assert((int)DEVICE_MAX == IFNAMSIZ, "a configured device name holds any device's name");

enum {
	XDP_HEADROOM = 256, // bytes the kernel leaves before a received frame
	LINK_BYTES = 22,    // Ethernet header and two VLAN tags
	PAGE_BYTES = 4096,
	PAGE_TAIL = 320, // a driver receives into a page first, which ends in the kernel's struct skb_shared_info
};

static int device_ioctl(int fd, unsigned long request, const char *name, struct ifreq *r)
{
	snprintf(r->ifr_name, sizeof r->ifr_name, "%s", name);
	return ioctl(fd, request, r) ? -errno : 0;
}

static void read_driver(int fd, struct netdev *out)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq r = {.ifr_data = (void *)&info};

	if (!device_ioctl(fd, SIOCETHTOOL, out->name, &r))
		snprintf(out->driver, sizeof out->driver, "%s", info.driver);
}

static void read_link(const struct nlmsghdr *h, void *arg)
{
	struct netdev *out = arg;
	const struct ifinfomsg *link = NLMSG_DATA(h);
	int left = (int)IFLA_PAYLOAD(h);

	for (const struct rtattr *a = IFLA_RTA(link); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == IFLA_NUM_RX_QUEUES && RTA_PAYLOAD(a) >= 4)
			memcpy(&out->rx_queues, RTA_DATA(a), 4);
		if (a->rta_type == IFLA_NUM_TX_QUEUES && RTA_PAYLOAD(a) >= 4)
			memcpy(&out->tx_queues, RTA_DATA(a), 4);
	}
}

// Channels are the queues in use. A driver that has none to set uses all that were made with the device.
static int read_queues(int fd, struct netdev *out)
{
	struct ethtool_channels ch = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq r = {.ifr_data = (void *)&ch};
	struct rtnl_message m;

	if (!device_ioctl(fd, SIOCETHTOOL, out->name, &r) && ch.rx_count + ch.combined_count) {
		out->rx_queues = ch.rx_count + ch.combined_count;
		out->tx_queues = ch.tx_count + ch.combined_count;
		return 0;
	}
	struct ifinfomsg *link = rtnl_begin(&m, RTM_GETLINK, 0, sizeof *link);

	link->ifi_index = (int)out->ifindex;
	return rtnl_request(&m.header, read_link, out);
}

static int read_device(int fd, const char *name, struct netdev *out, uint16_t *type)
{
	struct ifreq r = {0};
	int err;

	snprintf(out->name, sizeof out->name, "%s", name);
	if (strlen(name) >= sizeof r.ifr_name || !*name)
		return -ENODEV;
	if ((err = device_ioctl(fd, SIOCGIFINDEX, name, &r)))
		return err;
	out->ifindex = (uint32_t)r.ifr_ifindex;
	if ((err = device_ioctl(fd, SIOCGIFMTU, name, &r)))
		return err;
	out->mtu = (uint32_t)r.ifr_mtu;
	if ((err = device_ioctl(fd, SIOCGIFHWADDR, name, &r)))
		return err;
	*type = r.ifr_hwaddr.sa_family;
	memcpy(out->mac, r.ifr_hwaddr.sa_data, sizeof out->mac);
	if ((err = device_ioctl(fd, SIOCGIFFLAGS, name, &r)))
		return err;
	out->up = r.ifr_flags & IFF_UP;
	out->carrier = r.ifr_flags & IFF_RUNNING;
	read_driver(fd, out);
	return read_queues(fd, out);
}

static int read_typed(const char *name, struct netdev *out, uint16_t *type)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	*out = (struct netdev){0};
	if (fd < 0)
		return -errno;
	err = read_device(fd, name, out, type);
	close(fd);
	return err;
}

int netdev_read(const char *name, struct netdev *out)
{
	uint16_t type;

	return read_typed(name, out, &type);
}

static void take_lost(const struct nlmsghdr *h, void *arg)
{
	const struct ifinfomsg *link = NLMSG_DATA(h);
	int left = (int)IFLA_PAYLOAD(h);
	struct rtnl_link_stats64 s = {0};

	for (const struct rtattr *a = IFLA_RTA(link); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_STATS64) {
			memcpy(&s, RTA_DATA(a), RTA_PAYLOAD(a) < sizeof s ? RTA_PAYLOAD(a) : sizeof s);
			*(uint64_t *)arg = s.rx_dropped + s.rx_missed_errors;
		}
}

int netdev_lost(uint32_t ifindex, uint64_t *lost)
{
	struct rtnl_message m;
	struct ifinfomsg *link = rtnl_begin(&m, RTM_GETLINK, 0, sizeof *link);

	link->ifi_index = (int)ifindex;
	return rtnl_request(&m.header, take_lost, lost);
}

uint32_t netdev_mtu_limit(const struct netdev *dev, uint32_t chunk_size)
{
	uint32_t room = chunk_size < PAGE_BYTES - PAGE_TAIL ? chunk_size : PAGE_BYTES - PAGE_TAIL;

	return room - XDP_HEADROOM - LINK_BYTES;
}

static void check_mtu(const struct config *c, const struct port_conf *p, const struct netdev *dev, struct problems *out)
{
	uint32_t limit = netdev_mtu_limit(dev, c->chunk_size), larger = netdev_mtu_limit(dev, PAGE_BYTES);
	char path[PROBLEM_PATH_MAX], or_larger[64] = "";

	snprintf(path, sizeof path, "/ports/%s/mtu", p->name);
	if (c->chunk_size < PAGE_BYTES)
		snprintf(or_larger, sizeof or_larger, ", or chunk_size 4096 (at most %u)", larger);
	if (dev->mtu > limit)
		problem_add(out, PROBLEM_ERROR, path,
			    "%s has MTU %u, but at most %u fits a chunk of %u bytes: `ip link set dev %s mtu %u`%s",
			    dev->name, dev->mtu, limit, c->chunk_size, dev->name, limit < 1500 ? limit : 1500,
			    or_larger);
	else if (p->mtu > limit)
		problem_add(out, PROBLEM_ERROR, path,
			    "an MTU of %u is too large, at most %u fits a chunk of %u bytes%s", p->mtu, limit,
			    c->chunk_size, or_larger);
	else if (p->mtu > dev->mtu)
		problem_add(out, PROBLEM_ERROR, path,
			    "an MTU of %u is more than the %u of %s: `ip link set dev %s mtu %u`", p->mtu, dev->mtu,
			    dev->name, dev->name, p->mtu);
}

// Writes the command that gives the device n queues.
static const char *queues_command(const struct netdev *dev, uint32_t n, char *buf, size_t len)
{
	if (!strcmp(dev->driver, "veth"))
		snprintf(buf, len, "ethtool -L %s rx %u tx %u", dev->name, n, n);
	else
		snprintf(buf, len, "ethtool -L %s combined %u", dev->name, n);
	return buf;
}

static void check_queues(const struct port_conf *p, const struct netdev *dev, struct problems *out)
{
	uint32_t wanted = p->queues ? p->queues : dev->rx_queues < QUEUES_MAX ? dev->rx_queues : QUEUES_MAX;
	char path[PROBLEM_PATH_MAX], command[64];

	snprintf(path, sizeof path, "/ports/%s/queues", p->name);
	if (dev->rx_queues < wanted)
		problem_add(out, PROBLEM_ERROR, path, "%u queues are wanted, but %s has %u receive queues: `%s`",
			    wanted, dev->name, dev->rx_queues, queues_command(dev, wanted, command, sizeof command));
	else if (dev->tx_queues < wanted)
		problem_add(out, PROBLEM_ERROR, path,
			    "%u queues are served, but %s has %u transmit queues, and each needs its own: `%s`", wanted,
			    dev->name, dev->tx_queues, queues_command(dev, wanted, command, sizeof command));
	else if (dev->rx_queues > wanted)
		problem_add(out, PROBLEM_WARNING, path,
			    "%s spreads what it receives over %u queues, but %u are served: packets on the others are "
			    "dropped: `%s`",
			    dev->name, dev->rx_queues, wanted, queues_command(dev, wanted, command, sizeof command));
}

// The same device under two names, which comparing names doesn't show.
static void check_alias(const struct config *c, uint32_t port, const struct netdev *dev, const char *path,
			struct problems *out)
{
	for (uint32_t k = 0; k < port; k++)
		if (strcmp(c->port[k].device, c->port[port].device) &&
		    if_nametoindex(c->port[k].device) == dev->ifindex)
			problem_add(out, PROBLEM_ERROR, path,
				    "%s is another name of %s, which port \"%s\" uses already", c->port[port].device,
				    c->port[k].device, c->port[k].name);
}

void netdev_check(const struct config *c, uint32_t port, struct netdev *out, struct problems *problems)
{
	const struct port_conf *p = &c->port[port];
	char path[PROBLEM_PATH_MAX];
	uint16_t type = 0;
	int err = read_typed(p->device, out, &type);

	snprintf(path, sizeof path, "/ports/%s/device", p->name);
	if (err == -ENODEV) {
		problem_add(problems, PROBLEM_ERROR, path,
			    "there is no device \"%s\" in this network namespace: `ip link` lists what there is",
			    p->device);
		return;
	}
	if (err) {
		problem_add(problems, PROBLEM_ERROR, path, "%s can't be asked what it is: %s", p->device,
			    strerror(-err));
		return;
	}
	if (type != ARPHRD_ETHER) {
		problem_add(problems, PROBLEM_ERROR, path,
			    "%s is no Ethernet device (its link type is %u, Ethernet is %u)", p->device, type,
			    ARPHRD_ETHER);
		return;
	}
	check_alias(c, port, out, path, problems);
	check_mtu(c, p, out, problems);
	check_queues(p, out, problems);
}
