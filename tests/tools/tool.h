// SPDX-License-Identifier: GPL-2.0-or-later
// What the traffic tools share: arguments with a range, clocks, pinning, a delay histogram, and the header that udpsend
// writes into each datagram and udprecv reads.
#ifndef TESTS_TOOL_H
#define TESTS_TOOL_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NSEC 1000000000ull

// First bytes of a datagram; host order, since sender and receiver are on one machine.
struct probe {
	uint64_t magic, seq, sent_ns; // sent_ns: CLOCK_MONOTONIC
};
#define PROBE_MAGIC 0x7765697270726f62ull

// Ethernet and IP headers before a UDP payload, so that every tool counts the frame length the shaper counts.
enum { FRAME_IP4_UDP = 14 + 20 + 8, FRAME_IP6_UDP = 14 + 40 + 8 };

static inline void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NSEC + (uint64_t)t.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

// The value of option `name`, which must be a number in [min, max].
static inline double number(const char *name, const char *text, double min, double max)
{
	char *end;
	errno = 0;
	double v = strtod(text, &end);
	if (end == text || *end || errno || !(v >= min && v <= max))
		die("%s: '%s' is not a number from %.10g to %.10g", name, text, min, max);
	return v;
}

// A measurement should not depend on what else this machine does: before others on its CPU, in a scheduling group of its own.
// Where that is not allowed the tool works all the same.
static inline void hurry(void)
{
	int fd;

	setpriority(PRIO_PROCESS, 0, -19);
	if (setsid() < 0)
		return;
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	dprintf(fd, "-19");
	close(fd);
}

static inline void pin_to_cpu(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("--cpu %d: %s", cpu, strerror(errno));
	hurry();
}

// A histogram of delays in ns: 16 buckets an octave, so a percentile is at most 6.25 % too high.
struct delays {
	uint64_t bucket[64 * 16], count, max;
};

static inline void delays_add(struct delays *d, uint64_t ns)
{
	uint64_t v = ns | 16; // below 16 ns all is one bucket
	unsigned top = 63 - (unsigned)__builtin_clzll(v);
	d->bucket[top * 16 + ((v >> (top - 4)) & 15)]++;
	d->count++;
	if (ns > d->max)
		d->max = ns;
}

// Upper edge of the bucket in which the fraction q of all delays is reached, in microseconds.
static inline double delays_us(const struct delays *d, double q)
{
	uint64_t want = (uint64_t)(q * (double)d->count), seen = 0;
	for (unsigned i = 4 * 16; i < 64 * 16; i++) {
		seen += d->bucket[i];
		if (seen > want) {
			uint64_t edge = (uint64_t)(17 + i % 16) << (i / 16 - 4);
			return (double)(edge < d->max ? edge : d->max) / 1000;
		}
	}
	return (double)d->max / 1000;
}

#endif
