// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers with units as people write them ("100mbit", "1.5 gbit", "20ms", "1514b") and as weir computes with them:
// integers in the unit's base. Nothing is rounded: a text that is no whole number of the base unit is refused.
#ifndef MGMT_QUANTITY_H
#define MGMT_QUANTITY_H

#include "core/types.h"

enum unit {
	UNIT_COUNT, // a bare number
	UNIT_BPS,   // rates, base 1 bit/s, SI prefixes; a bare number is bit/s
	UNIT_NSEC,  // durations, base 1 ns; a bare number other than 0 is refused
	UNIT_USEC,  // durations, base 1 us; likewise
	UNIT_BYTES, // sizes, base 1 byte, SI and IEC prefixes; a bare number is bytes
	UNITS
};

enum { QUANTITY_TEXT = 40, QUANTITY_WHY = 160 };

// The value of `text` in the unit's base. False: `why` (QUANTITY_WHY bytes) says what is wrong, as the rest of a
// sentence that starts with the text.
bool quantity_parse(const char *text, enum unit unit, int64_t *value, char *why);

// Whether a bare number (`number` from JSON) may stand for a quantity of this unit; `why` as above.
bool quantity_bare(int64_t number, enum unit unit, char *why);

// The shortest exact text, which quantity_parse reads back: 1500000000 bit/s is "1.5gbit". buf has QUANTITY_TEXT bytes.
const char *quantity_format(int64_t value, enum unit unit, char *buf);

// The names of the unit's sizes for messages ("bit, kbit, mbit, gbit"); "" for UNIT_COUNT.
const char *quantity_names(enum unit unit);

#endif
