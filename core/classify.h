// SPDX-License-Identifier: GPL-2.0-or-later
// Which class does a packet belong to? Rules in the order written, the first that matches decides; a mandatory
// default class takes the rest.
#ifndef CORE_CLASSIFY_H
#define CORE_CLASSIFY_H

#include "core/packet.h"

enum { RULES_MAX = 200000, RULE_ANY = -1, VLAN_NO_TAG = 0 };

struct prefix {
	uint8_t addr[16]; // network order; IPv4 in the first four bytes; bits beyond `len` are zero
	uint8_t len;
	uint8_t family; // 0: anything matches, 4 or 6
};

struct rule {
	struct prefix src, dst;
	uint16_t sport_min, sport_max; // 0..65535 matches packets without ports too
	uint16_t dport_min, dport_max;
	int16_t proto;     // IP protocol or RULE_ANY
	int16_t dscp;      // 0..63 or RULE_ANY
	int16_t vlan;      // VLAN_NO_TAG, 1..4094 or RULE_ANY
	int16_t l3;        // enum l3_kind or RULE_ANY
	uint32_t class_id; // the answer
};

struct classifier;

// Compiles `n` rules (copied). The cost of a lookup grows with the number of different shapes among the rules (which
// fields they look at and with what prefix lengths), not with the number of rules; only rules that are equal in all but
// a range of ports are compared one after the other. NULL without memory.
struct classifier *classifier_new(const struct rule *rules, uint32_t n, uint32_t default_class);
void classifier_free(struct classifier *c);

// Class of a parsed packet whose frame is at `data`.
uint32_t classify(const struct classifier *c, const struct packet *p, const uint8_t *data);

// Whether one rule matches: the definition the compiled form is tested against.
bool rule_matches(const struct rule *r, const struct packet *p, const uint8_t *data);

#endif
