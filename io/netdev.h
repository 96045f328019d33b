// SPDX-License-Identifier: GPL-2.0-or-later
// What a network device is and can do (asked without privilege), and keeping the kernel's own stack quiet on a device
// that weir has taken (with privilege, each setting remembered and put back).
#ifndef IO_NETDEV_H
#define IO_NETDEV_H

#include "core/types.h"
#include "io/config.h"

struct netdev {
	char name[DEVICE_MAX];
	char driver[32]; // "veth", "igb", ...
	uint32_t ifindex;
	uint32_t mtu;
	uint32_t rx_queues, tx_queues; // in use now
	uint8_t mac[6];
	bool up, carrier;
};

// Reads the facts about `name` in this network namespace. 0 or -errno (-ENODEV: no such device).
int netdev_read(const char *name, struct netdev *out);

// Packets the device itself lost on the way in since it was made (rx_dropped + rx_missed of its statistics). 0 or -errno.
int netdev_lost(uint32_t ifindex, uint64_t *lost);

// Largest IP MTU that fits one chunk: chunk - 256 (XDP headroom) - Ethernet header and two tags - what the driver needs
// to receive into one page. 1,770 for chunks of 2,048 bytes, 3,498 for 4,096.
uint32_t netdev_mtu_limit(const struct netdev *dev, uint32_t chunk_size);

// Checks a configured port against the device: exists, Ethernet, not another port's under a second name, MTU, queues; a
// problem each, below "/ports/NAME". Needs no privilege. Fills *out when the device exists.
void netdev_check(const struct config *c, uint32_t port, struct netdev *out, struct problems *problems);

// Settings changed on a device, in the order changed; netdev_restore undoes them in reverse.
struct netdev_saved;
// Takes the device over: up, promiscuous, no ARP, no IPv6 of its own, GRO/LRO and VLAN stripping off, RPS off. What is
// not supported is skipped and told in `notes`. NULL and a problem if something essential failed (all undone). Addresses
// stay, but are told: nothing reaches them. (IPv6 ones go with IPv6 and are given again at the end.)
struct netdev_saved *netdev_take(const char *name, struct problems *notes);
// For a device whose queues are busy-polled: keeps its interrupts off as long as somebody polls. Failing is a note.
void netdev_defer_interrupts(struct netdev_saved *saved, struct problems *notes);
// Puts everything back and frees it; copes with a device that was renamed or is gone. NULL is fine.
void netdev_restore(struct netdev_saved *saved);

#endif
