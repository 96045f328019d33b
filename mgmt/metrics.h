// SPDX-License-Identifier: GPL-2.0-or-later
// The statistics in Prometheus' text format.
#ifndef MGMT_METRICS_H
#define MGMT_METRICS_H

#include "io/stats.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

// Everything countable as text exposition format 0.0.4 (malloc'ed); s may be NULL: then only weir_up, which is 0. NULL
// without memory.
char *metrics_text(const struct stats *s);

#endif
