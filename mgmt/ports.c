// SPDX-License-Identifier: GPL-2.0-or-later
// The order is the kernel's. A program must be on the device before a socket is bound (some drivers make their AF_XDP
// queues only then), and a socket must be bound before it is put into the program's map. On the way back the map entry
// goes first, then the socket, then the program: a driver that redirects into a closing socket has crashed machines.
// A program is attached once and never again: on many NICs attaching resets the rings, and the link is down for seconds.
//
// Attaching can change how many queues a device has (virtio_net doubles them). So the number is read again afterwards,
// and what depends on it is checked again, before any socket is bound.
#include "mgmt/ports.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"

// Moves problems to `out` as problems of a port.
static void report(struct problems *found, const struct port_conf *conf, struct problems *out)
{
	char path[PROBLEM_PATH_MAX];

	snprintf(path, sizeof path, "/ports/%s", conf->name);
	for (uint32_t i = 0; i < found->kept; i++)
		problem_add(out, found->list[i].level, *found->list[i].path ? found->list[i].path : path, "%s",
			    found->list[i].text);
	problems_free(found);
}

static bool take(struct port *port, struct problems *out)
{
	struct problems notes = {0};

	netdev_lost(port->device.ifindex, &port->lost_before);
	port->saved = netdev_take(port->conf.device, &notes);
	report(&notes, &port->conf, out);
	return port->saved;
}

// Attaches in the mode asked for; "auto" falls back from native to generic, and says so.
static bool attach(struct port *port, struct problems *out)
{
	bool automatic = port->conf.mode == MODE_AUTO;
	struct problems native = {0}, generic = {0};

	port->generic = port->conf.mode == MODE_GENERIC;
	port->program = xdp_attach(port->conf.device, port->generic, &native);
	if (!port->program && automatic) {
		port->program = xdp_attach(port->conf.device, true, &generic);
		port->generic = port->program;
	}
	if (port->generic && automatic) {
		problem_add(&generic, PROBLEM_WARNING, "",
			    "generic mode is used, the slowest: %s; set mode to \"generic\" to silence this",
			    native.kept ? native.list[0].text : "native mode failed");
		report(&generic, &port->conf, out);
		problems_free(&native);
	} else {
		report(&native, &port->conf, out);
		problems_free(&generic);
	}
	return port->program;
}

static bool read_device(struct port *port, struct problems *out)
{
	int err = netdev_read(port->conf.device, &port->device);
	char path[PROBLEM_PATH_MAX];

	port->up = !err && port->device.carrier;
	if (!err)
		return true;
	snprintf(path, sizeof path, "/ports/%s/device", port->conf.name);
	problem_add(out, PROBLEM_ERROR, path, "%s can't be read: %s", port->conf.device, strerror(-err));
	return false;
}

static void resolve_port(const struct port *port, struct port_conf *conf)
{
	if (!conf->queues)
		conf->queues = port->conf.queues;
	if (!conf->mtu)
		conf->mtu = port->conf.mtu;
}

void ports_resolve(const struct ports *p, struct config *c)
{
	if (c->ports != p->count)
		return;
	for (uint32_t i = 0; i < c->ports; i++)
		if (strcmp(c->port[i].name, p->port[i].conf.name))
			return;
	for (uint32_t i = 0; i < c->ports; i++)
		resolve_port(&p->port[i], &c->port[i]);
	for (uint32_t i = 0; i < c->shapers; i++) {
		struct plan *plan = c->shaper[i].plan;
		uint32_t frame = c->port[c->shaper[i].port].mtu + ETH_HEADER + PARSE_TAGS_MAX * VLAN_TAG;

		plan->mtu_wire = wire_length(&plan->wire, frame);
	}
}

static uint32_t find_port(const struct config *c, const char *name)
{
	for (uint32_t i = 0; i < c->ports; i++)
		if (!strcmp(c->port[i].name, name))
			return i;
	return PORTS_MAX;
}

void ports_align(const struct ports *p, struct config *c)
{
	struct port_conf ordered[PORTS_MAX];
	uint32_t place[PORTS_MAX]; // of what was port i

	if (c->ports != p->count)
		return;
	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t at = find_port(c, p->port[i].conf.name);

		if (at == PORTS_MAX)
			return;
		ordered[i] = c->port[at];
		place[at] = i;
	}
	memcpy(c->port, ordered, c->ports * sizeof ordered[0]);
	for (uint32_t i = 0; i < c->bridges; i++)
		for (uint32_t k = 0; k < c->bridge[i].ports; k++)
			c->bridge[i].port[k] = (uint16_t)place[c->bridge[i].port[k]];
	for (uint32_t i = 0; i < c->shapers; i++)
		c->shaper[i].port = place[c->shaper[i].port];
}

static bool open_devices(struct ports *p, struct problems *out)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (!take(&p->port[i], out))
			return false;
	for (uint32_t i = 0; i < p->count; i++)
		if (!attach(&p->port[i], out))
			return false;
	for (uint32_t i = 0; i < p->count; i++) {
		struct port *port = &p->port[i];

		if (!read_device(port, out))
			return false;
		if (!port->conf.queues)
			port->conf.queues = port->device.rx_queues < QUEUES_MAX ? port->device.rx_queues : QUEUES_MAX;
		if (!port->conf.mtu)
			port->conf.mtu = port->device.mtu;
	}
	return true;
}

// With the devices' numbers filled in, everything is checked once more.
static bool check_again(const struct ports *p, struct config *c, struct problems *out)
{
	struct problems found = {0};
	bool good;

	ports_resolve(p, c);
	config_check(c, &found);
	for (uint32_t i = 0; i < p->count; i++) {
		struct netdev device;

		netdev_check(c, i, &device, &found);
	}
	good = !found.errors;
	for (uint32_t i = 0; i < found.kept; i++)
		if (found.list[i].level == PROBLEM_ERROR) // the warnings have been told
			problem_add(out, PROBLEM_ERROR, found.list[i].path, "%s", found.list[i].text);
	problems_free(&found);
	return good;
}

static void defer_interrupts(struct port *port, struct problems *out)
{
	struct problems notes = {0};

	for (uint32_t q = 0; q < port->conf.queues; q++)
		if (port->info[q].busy_poll) {
			netdev_defer_interrupts(port->saved, &notes);
			break;
		}
	report(&notes, &port->conf, out);
}

struct ports *ports_open(struct config *c, struct problems *out)
{
	struct ports *p = calloc(1, sizeof *p);
	int err;

	if (!p) {
		problem_add(out, PROBLEM_ERROR, "", "not enough memory");
		return NULL;
	}
	p->umem.fd = -1;
	err = umem_create(&p->umem, c->frames, c->chunk_size);
	if (err) {
		problem_add(out, PROBLEM_ERROR, "/system/frames", "%u frames of %u bytes can't be had: %s", c->frames,
			    c->chunk_size, strerror(-err));
		free(p);
		return NULL;
	}
	p->count = c->ports;
	for (uint32_t i = 0; i < p->count; i++)
		p->port[i].conf = c->port[i];
	if (open_devices(p, out) && check_again(p, c, out)) {
		p->factory = xsk_factory_new(&p->umem, c);
		if (!p->factory)
			problem_add(out, PROBLEM_ERROR, "", "not enough memory");
		else if (ports_bind(p, out)) {
			for (uint32_t i = 0; i < p->count; i++)
				defer_interrupts(&p->port[i], out);
			return p;
		}
	}
	ports_close(p);
	return NULL;
}

void ports_unbind(struct ports *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		for (uint32_t q = 0; q < QUEUES_MAX; q++)
			if (p->port[i].socket[q])
				xdp_remove_socket(p->port[i].program, q);
	for (uint32_t i = 0; i < p->count; i++)
		for (uint32_t q = 0; q < QUEUES_MAX; q++) {
			xsk_handle_close(p->port[i].socket[q]);
			p->port[i].socket[q] = NULL;
		}
}

static bool bind_queue(struct ports *p, uint32_t i, uint32_t q, struct problems *out)
{
	struct port *port = &p->port[i];
	char path[PROBLEM_PATH_MAX];
	int err;

	port->socket[q] =
		xsk_bind(p->factory, &port->conf, port->device.driver, i, q, port->generic, &port->info[q], out);
	if (!port->socket[q])
		return false;
	err = xdp_add_socket(port->program, q, xsk_handle_fd(port->socket[q]));
	if (!err)
		return true;
	snprintf(path, sizeof path, "/ports/%s", port->conf.name);
	problem_add(out, PROBLEM_ERROR, path, "the program of %s does not take the socket of queue %u: %s",
		    port->conf.device, q, strerror(-err));
	return false;
}

bool ports_bind(struct ports *p, struct problems *out)
{
	for (uint32_t i = 0; i < p->count; i++)
		for (uint32_t q = 0; q < p->port[i].conf.queues; q++)
			if (!bind_queue(p, i, q, out)) {
				ports_unbind(p);
				return false;
			}
	return true;
}

void ports_close(struct ports *p)
{
	if (!p)
		return;
	ports_unbind(p);
	xsk_factory_free(p->factory);
	for (uint32_t i = p->count; i--;)
		xdp_detach(p->port[i].program);
	for (uint32_t i = p->count; i--;)
		netdev_restore(p->port[i].saved);
	umem_close(&p->umem);
	free(p);
}

PRINTF_LIKE(4, 5)
static size_t append(char *buf, size_t size, size_t at, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = at < size ? vsnprintf(buf + at, size - at, fmt, ap) : 0;
	va_end(ap);
	return at + (n > 0 ? (size_t)n : 0);
}

void ports_describe(const struct ports *p, char *buf, size_t size)
{
	static const char *const modes[] = {"auto", "zerocopy", "copy", "generic"};
	size_t at = 0;

	*buf = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct port *port = &p->port[i];
		uint32_t mode = port->info[0].mode;

		at = append(buf, size, at, "%s%s=%s (%u queue%s, %s%s)", i ? ", " : "", port->conf.name,
			    port->conf.device, port->conf.queues, port->conf.queues == 1 ? "" : "s",
			    mode < ARRAY_LEN(modes) ? modes[mode] : "?", port->up ? "" : ", no carrier");
	}
}
