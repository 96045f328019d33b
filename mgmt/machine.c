// SPDX-License-Identifier: GPL-2.0-or-later
// Asked in the parent, which may open sockets and files, unlike whoever parsed the configuration. Nothing is changed.
#include "mgmt/machine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/netdev.h"

static bool told_already(const struct problems *p, const char *path)
{
	for (uint32_t i = 0; i < p->kept; i++)
		if (p->list[i].level == PROBLEM_ERROR && !strcmp(p->list[i].path, path))
			return true;
	return false;
}

static void check_cpus(const struct config *c, struct problems *out)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (uint32_t i = 0; cpus > 0 && i < c->workers; i++) {
		char path[PROBLEM_PATH_MAX];

		snprintf(path, sizeof path, "/system/workers/%u", i);
		if (c->worker_cpu[i] >= cpus && !told_already(out, path))
			problem_add(out, PROBLEM_ERROR, path, "there is no CPU %u; this machine has 0 to %ld",
				    c->worker_cpu[i], cpus - 1);
	}
}

void machine_check(const struct config *c, struct problems *out)
{
	check_cpus(c, out);
	for (uint32_t i = 0; i < c->ports; i++) {
		char path[PROBLEM_PATH_MAX];
		struct netdev device;

		snprintf(path, sizeof path, "/ports/%s/device", c->port[i].name);
		if (!told_already(out, path))
			netdev_check(c, i, &device, out);
	}
}
