// SPDX-License-Identifier: GPL-2.0-or-later
// The texts of a classifier's rule that are more than a number or a word.
#ifndef MGMT_MATCH_H
#define MGMT_MATCH_H

#include "core/classify.h"
#include "mgmt/quantity.h"

// "10.0.0.0/8", "2001:db8::1" (the one address) or "any". False: why (QUANTITY_WHY bytes) says what is wrong with it.
bool match_prefix(const char *text, struct prefix *out, char *why);

// A port ("443") or a range ("1000-2000"), 1..65535, or "any" (0..65535, which packets without ports match too).
bool match_ports(const char *text, uint16_t *min, uint16_t *max, char *why);

#endif
