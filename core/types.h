// SPDX-License-Identifier: GPL-2.0-or-later
// The few definitions every file may assume; nothing else belongs here.
#ifndef CORE_TYPES_H
#define CORE_TYPES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned __int128 u128;

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define CACHE_LINE 64
#define CACHE_ALIGNED __attribute__((aligned(CACHE_LINE)))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

#endif
