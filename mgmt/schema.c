// SPDX-License-Identifier: GPL-2.0-or-later
// The table, and what follows from a row alone. Rows with the same parent stand together, so the keys of an object
// are one slice of the table; objects have at most a dozen keys, which a linear search beats any index for.
//
// Ranges here are those of the checks of plan and configuration (sched/plan.h, io/config.h), which hold for values
// that come another way than through JSON; the tests compare them.
#include "mgmt/schema.h"

#include <inttypes.h>
#include <string.h>

#include "io/config.h"

#define KEPT(type, member) .offset = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member)

static const struct word modes[] = {
	{"auto", MODE_AUTO}, {"zerocopy", MODE_ZEROCOPY}, {"copy", MODE_COPY}, {"generic", MODE_GENERIC}, {NULL, 0}};
static const struct word polls[] = {{"auto", BUSY_POLL_AUTO}, {"on", BUSY_POLL_ON}, {"off", BUSY_POLL_OFF}, {NULL, 0}};
static const struct word layers[] = {{"ethernet", LINK_ETHERNET}, {"ptm", LINK_PTM}, {"atm", LINK_ATM}, {NULL, 0}};
static const struct word leaves[] = {{"fq_codel", LEAF_FQ_CODEL}, {"pfifo", LEAF_PFIFO}, {NULL, 0}};
static const struct word all_word[] = {{"all", 0}, {NULL, 0}};
static const struct word device_word[] = {{"device", 0}, {NULL, 0}};
static const struct word unlimited_word[] = {{"unlimited", 0}, {NULL, 0}};
static const struct word off_word[] = {{"off", (int64_t)TIME_NEVER}, {NULL, 0}};
static const struct word any_word[] = {{"any", RULE_ANY}, {NULL, 0}};
static const struct word vlans[] = {{"any", RULE_ANY}, {"untagged", VLAN_NO_TAG}, {NULL, 0}};
static const struct word l3_kinds[] = {{"any", RULE_ANY}, {"arp", L3_ARP},     {"ipv4", L3_IPV4},
				       {"ipv6", L3_IPV6}, {"other", L3_OTHER}, {NULL, 0}};
// IANA protocol numbers; those that branch offices meet.
static const struct word protocols[] = {{"any", RULE_ANY}, {"icmp", 1},   {"igmp", 2}, {"tcp", 6},     {"udp", 17},
					{"gre", 47},       {"esp", 50},   {"ah", 51},  {"icmpv6", 58}, {"ospf", 89},
					{"vrrp", 112},     {"sctp", 132}, {NULL, 0}};
// RFC 2474 (cs), 2597 (af), 3246 (ef), 5865 (va), 8622 (le).
static const struct word dscps[] = {{"any", RULE_ANY}, {"cs0", 0},   {"le", 1},    {"cs1", 8},   {"af11", 10},
				    {"af12", 12},      {"af13", 14}, {"cs2", 16},  {"af21", 18}, {"af22", 20},
				    {"af23", 22},      {"cs3", 24},  {"af31", 26}, {"af32", 28}, {"af33", 30},
				    {"cs4", 32},       {"af41", 34}, {"af42", 36}, {"af43", 38}, {"cs5", 40},
				    {"va", 44},        {"ef", 46},   {"cs6", 48},  {"cs7", 56},  {NULL, 0}};

#define CLASS_NONE UINT32_MAX
#define SEC(n) ((n) * (int64_t)NSEC_PER_SEC)
#define CLASS "/shapers/*/classes/*"
#define CURVE_ROW(name, member, text)                                                                               \
	{                                                                                                           \
		CLASS "/" name, text, NULL, RATE_MIN_BPS, RATE_MAX_BPS, 0, KEPT(class_conf, member), SETTING_CURVE, \
			UNIT_BPS, 0                                                                                 \
	}
#define CURVE_KEYS(name)                                                                                   \
	{CLASS "/" name "/m1",                                                                             \
	 "rate for the first `d` of a backlog",                                                            \
	 NULL,                                                                                             \
	 RATE_MIN_BPS,                                                                                     \
	 RATE_MAX_BPS,                                                                                     \
	 0,                                                                                                \
	 KEPT(curve, m1_bps),                                                                              \
	 SETTING_NUMBER,                                                                                   \
	 UNIT_BPS,                                                                                         \
	 SETTING_OR_ZERO},                                                                                 \
		{CLASS "/" name "/d", "how long `m1` holds", NULL,      0, (int64_t)CURVE_D_MAX_NS, 0,     \
		 KEPT(curve, d_ns),   SETTING_NUMBER,        UNIT_NSEC, 0},                                \
	{                                                                                                  \
		CLASS "/" name "/m2", "rate from then on", NULL, RATE_MIN_BPS, RATE_MAX_BPS, RATE_MIN_BPS, \
			KEPT(curve, m2_bps), SETTING_NUMBER, UNIT_BPS, SETTING_REQUIRED                    \
	}

// clang-format off
static const struct setting table[] = {
	{"/system", "of the whole program", NULL, 0, 0, 0, 0, 0, SETTING_OBJECT, 0, 0},
	{"/ports", "network devices that weir takes over, by a name of your choice", NULL, 0, PORTS_MAX, 0, 0, 0, SETTING_MAP, 0, SETTING_RESTART},
	{"/bridges", "learning bridges (802.1D) between ports", NULL, 0, BRIDGES_MAX, 0, 0, 0, SETTING_MAP, 0, 0},
	{"/shapers", "class trees (HFSC) for what leaves a port", NULL, 0, PORTS_MAX, 0, 0, 0, SETTING_MAP, 0, 0},
	{"/classifiers", "rules by shaper name: which packet belongs to which class", NULL, 0, PORTS_MAX, 0, 0, 0, SETTING_MAP, 0, 0},

	{"/system/workers", "CPUs that move packets, one thread each; none: the last CPU of the machine", NULL, 0, WORKERS_MAX, 0, 0, 0, SETTING_LIST, 0, SETTING_RESTART},
	{"/system/frames", "packet buffers, shared by all ports", NULL, 2048, FRAMES_MAX, 32768, KEPT(config, frames), SETTING_NUMBER, UNIT_COUNT, SETTING_RESTART},
	{"/system/chunk", "size of a packet buffer: 2048 for an MTU of 1500, 4096 for up to 3818", NULL, 2048, 4096, 2048, KEPT(config, chunk_size), SETTING_NUMBER, UNIT_BYTES, SETTING_RESTART | SETTING_POWER_OF_TWO},
	{"/system/workers/*", "a CPU", NULL, 0, 1023, 0, 0, 0, SETTING_NUMBER, UNIT_COUNT, SETTING_RESTART},

	{"/ports/*/device", "Linux network device", NULL, 1, DEVICE_MAX - 1, 0, KEPT(port_conf, device), SETTING_DEVICE, 0, SETTING_REQUIRED | SETTING_RESTART},
	{"/ports/*/mode", "how packets reach user space; auto takes the fastest the device can do", modes, 0, 0, MODE_AUTO, KEPT(port_conf, mode), SETTING_WORD, 0, SETTING_RESTART},
	{"/ports/*/queues", "receive queues to serve", all_word, 1, QUEUES_MAX, 0, KEPT(port_conf, queues), SETTING_NUMBER, UNIT_COUNT, SETTING_RESTART},
	{"/ports/*/rx_ring", "receive descriptors of a queue", NULL, RING_MIN, RING_MAX, 2048, KEPT(port_conf, rx_ring), SETTING_NUMBER, UNIT_COUNT, SETTING_RESTART | SETTING_POWER_OF_TWO},
	{"/ports/*/tx_ring", "transmit descriptors of a queue", NULL, RING_MIN, RING_MAX, 2048, KEPT(port_conf, tx_ring), SETTING_NUMBER, UNIT_COUNT, SETTING_RESTART | SETTING_POWER_OF_TWO},
	{"/ports/*/mtu", "largest IP packet in bytes", device_word, 68, 3818, 0, KEPT(port_conf, mtu), SETTING_NUMBER, UNIT_COUNT, SETTING_RESTART},
	{"/ports/*/busy_poll", "run the device's receive work in weir's own calls", polls, 0, 0, BUSY_POLL_AUTO, KEPT(port_conf, busy_poll), SETTING_WORD, 0, SETTING_RESTART},
	{"/ports/*/in_flight", "bytes handed to the device and not yet sent, as time at the shaper's rate", NULL, 1, 1000000, 200, KEPT(port_conf, inflight_us), SETTING_NUMBER, UNIT_USEC, 0},

	{"/bridges/*/ports", "names of the ports it joins; a port is in one bridge at most", NULL, 1, PORTS_MAX, 0, 0, 0, SETTING_LIST, 0, SETTING_REQUIRED},
	{"/bridges/*/ageing", "how long a MAC address is remembered", NULL, SEC(1), SEC(1000000), SEC(300), KEPT(bridge_conf, ageing_ns), SETTING_NUMBER, UNIT_NSEC, 0},
	{"/bridges/*/ports/*", "name of a port", NULL, 0, 0, 0, 0, 0, SETTING_PORT, 0, 0},

	{"/shapers/*/port", "the port it shapes; a port has one shaper at most", NULL, 0, 0, 0, 0, 0, SETTING_PORT, 0, SETTING_REQUIRED},
	{"/shapers/*/rate", "rate of the link, on the wire", unlimited_word, RATE_MIN_BPS, RATE_MAX_BPS, 0, KEPT(plan, rate_bps), SETTING_NUMBER, UNIT_BPS, SETTING_REQUIRED},
	{"/shapers/*/burst", "how much time it may catch up after it was late", NULL, 0, SEC(1), (int64_t)NSEC_PER_MSEC, KEPT(plan, burst_ns), SETTING_NUMBER, UNIT_NSEC, 0},
	{"/shapers/*/overhead", "bytes that the link adds to each frame (frames count without FCS)", NULL, -64, 256, 0, KEPT(plan, wire.overhead), SETTING_NUMBER, UNIT_BYTES, 0},
	{"/shapers/*/mpu", "shortest length on the wire, overhead included", NULL, 0, 256, 0, KEPT(plan, wire.mpu), SETTING_NUMBER, UNIT_BYTES, 0},
	{"/shapers/*/link_layer", "framing: ptm (VDSL) takes 65/64, atm (ADSL) whole cells of 53 bytes", layers, 0, 0, LINK_ETHERNET, KEPT(plan, wire.layer), SETTING_WORD, 0, 0},
	{"/shapers/*/default", "leaf class for packets that no rule matches", NULL, 0, 0, CLASS_NONE, KEPT(plan, default_class), SETTING_CLASS, 0, SETTING_REQUIRED},
	{"/shapers/*/classes", "the tree", NULL, 1, CLASSES_MAX - 1, 0, 0, 0, SETTING_MAP, 0, SETTING_REQUIRED},

	{CLASS "/parent", "class above it; \"root\" is the shaper itself", NULL, 0, 0, 0, KEPT(class_conf, parent), SETTING_CLASS, 0, 0},
	CURVE_ROW("rt", rt, "guarantee (real-time curve); leaves only, whatever the limits above"),
	CURVE_ROW("ls", ls, "share of what the parent has left (link-share curve)"),
	CURVE_ROW("ul", ul, "upper limit of what ls gives"),
	CURVE_ROW("sc", ls, "rt and ls at once"),
	{CLASS "/leaf", "the queue of a class without children", NULL, 0, 0, 0, KEPT(class_conf, leaf), SETTING_OBJECT, 0, 0},
	CURVE_KEYS("rt"),
	CURVE_KEYS("ls"),
	CURVE_KEYS("ul"),
	CURVE_KEYS("sc"),
	{CLASS "/leaf/kind", "fair queueing with CoDel, or one plain queue", leaves, 0, 0, LEAF_FQ_CODEL, KEPT(leaf_conf, kind), SETTING_WORD, 0, 0},
	{CLASS "/leaf/limit", "packets that may wait", NULL, 1, 1 << 20, 10240, KEPT(leaf_conf, limit_packets), SETTING_NUMBER, UNIT_COUNT, 0},
	{CLASS "/leaf/memory", "buffers that may wait, in bytes of whole buffers", NULL, 4096, 32000000000, 32000000, KEPT(leaf_conf, limit_frames), SETTING_NUMBER, UNIT_BYTES, SETTING_IN_FRAMES | SETTING_AQM},
	{CLASS "/leaf/quantum", "bytes that a flow sends in its turn", NULL, 64, 65535, 1514, KEPT(leaf_conf, quantum), SETTING_NUMBER, UNIT_BYTES, SETTING_AQM},
	{CLASS "/leaf/target", "CoDel: delay to keep below", NULL, 1000, SEC(60), 5 * (int64_t)NSEC_PER_MSEC, KEPT(leaf_conf, target_ns), SETTING_NUMBER, UNIT_NSEC, SETTING_AQM},
	{CLASS "/leaf/interval", "CoDel: how long the delay may be above target; about the longest round trip", NULL, 1000, SEC(60), 100 * (int64_t)NSEC_PER_MSEC, KEPT(leaf_conf, interval_ns), SETTING_NUMBER, UNIT_NSEC, SETTING_AQM},
	{CLASS "/leaf/ce_threshold", "mark all packets that waited longer, as data centre transports want it", off_word, 0, SEC(60), (int64_t)TIME_NEVER, KEPT(leaf_conf, ce_threshold_ns), SETTING_NUMBER, UNIT_NSEC, SETTING_AQM},
	{CLASS "/leaf/ecn", "mark packets that can be marked instead of dropping them", NULL, 0, 1, 1, KEPT(leaf_conf, ecn), SETTING_BOOL, 0, SETTING_AQM},

	{"/classifiers/*", "rules in order, the first that matches decides", NULL, 0, RULES_MAX, 0, 0, 0, SETTING_LIST, 0, 0},
	{"/classifiers/*/*/src", "source address", any_word, 0, 0, 0, KEPT(rule, src), SETTING_PREFIX, 0, 0},
	{"/classifiers/*/*/dst", "destination address", any_word, 0, 0, 0, KEPT(rule, dst), SETTING_PREFIX, 0, 0},
	{"/classifiers/*/*/proto", "IP protocol", protocols, 0, 255, RULE_ANY, KEPT(rule, proto), SETTING_NUMBER, UNIT_COUNT, 0},
	{"/classifiers/*/*/src_port", "source port or ports of TCP or UDP", any_word, 1, 65535, 0, KEPT(rule, sport_min), SETTING_L4_PORTS, 0, 0},
	{"/classifiers/*/*/dst_port", "destination port or ports of TCP or UDP", any_word, 1, 65535, 0, KEPT(rule, dport_min), SETTING_L4_PORTS, 0, 0},
	{"/classifiers/*/*/dscp", "differentiated services code point", dscps, 0, 63, RULE_ANY, KEPT(rule, dscp), SETTING_NUMBER, UNIT_COUNT, 0},
	{"/classifiers/*/*/vlan", "outermost VLAN tag", vlans, 1, 4094, RULE_ANY, KEPT(rule, vlan), SETTING_NUMBER, UNIT_COUNT, 0},
	{"/classifiers/*/*/ether", "kind of frame", l3_kinds, 0, 0, RULE_ANY, KEPT(rule, l3), SETTING_WORD, 0, 0},
	{"/classifiers/*/*/class", "the class it chooses", NULL, 0, 0, CLASS_NONE, KEPT(rule, class_id), SETTING_CLASS, 0, SETTING_REQUIRED},
};
// clang-format on

struct settings schema_all(void)
{
	return (struct settings){table, ARRAY_LEN(table)};
}

const char *setting_key(const struct setting *s)
{
	return strrchr(s->path, '/') + 1;
}

static bool is_below(const char *path, const char *parent, size_t len)
{
	return !strncmp(path, parent, len) && path[len] == '/' && !strchr(path + len + 1, '/');
}

static bool is_many(const struct setting *s)
{
	return s->type == SETTING_MAP || s->type == SETTING_LIST;
}

struct settings schema_below(const struct setting *parent)
{
	struct settings found = {NULL, 0};
	char path[64] = "";
	size_t len = 0;

	if (parent) {
		len = (size_t)snprintf(path, sizeof path, "%s%s", parent->path, is_many(parent) ? "/*" : "");
	}
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (!is_below(table[i].path, path, len))
			continue;
		if (!found.count++)
			found.row = &table[i];
	}
	return found;
}

const struct setting *schema_find(struct settings rows, const char *key)
{
	for (unsigned i = 0; i < rows.count; i++)
		if (!strcmp(setting_key(&rows.row[i]), key))
			return &rows.row[i];
	return NULL;
}

const struct setting *schema_row(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (!strcmp(table[i].path, path))
			return &table[i];
	assert(!"a setting that is in the table");
	return NULL;
}

static const struct word *word_find(const struct setting *s, const char *name)
{
	for (const struct word *w = s->words; w && w->name; w++)
		if (!strcmp(w->name, name))
			return w;
	return NULL;
}

static const struct word *word_of(const struct setting *s, int64_t value)
{
	for (const struct word *w = s->words; w && w->name; w++)
		if (w->value == value)
			return w;
	return NULL;
}

// snprintf at *at, which stays within the buffer.
static void append(char *buf, size_t size, size_t *at, const char *fmt, const char *a, const char *b)
{
	int n = snprintf(buf + *at, size - *at, fmt, a, b);

	*at = (size_t)n < size - *at ? *at + (size_t)n : size - 1;
}

const char *setting_allowed(const struct setting *s, char *buf)
{
	char min[QUANTITY_TEXT], max[QUANTITY_TEXT];
	size_t at = 0;

	buf[0] = '\0';
	switch (s->type) {
	case SETTING_OBJECT:
		return "an object";
	case SETTING_MAP:
		return "an object with a name for each entry";
	case SETTING_LIST:
		return "a list";
	case SETTING_BOOL:
		return "true, false";
	case SETTING_DEVICE:
		return "1 to 15 ASCII characters, none of them a space, \"/\" or \":\"";
	case SETTING_PORT:
		return "name of a port";
	case SETTING_CLASS:
		return "name of a class";
	case SETTING_PREFIX:
		return "IPv4 or IPv6 address or prefix (\"10.0.0.0/8\", \"2001:db8::/32\"), \"any\"";
	case SETTING_L4_PORTS:
		return "1 to 65535, a range (\"1000-2000\"), \"any\"";
	case SETTING_CURVE:
	case SETTING_NUMBER:
		quantity_format(s->min, s->unit, min);
		quantity_format(s->max, s->unit, max);
		if (s->flags & SETTING_OR_ZERO)
			append(buf, ALLOWED_MAX, &at, "0, ", "", "");
		append(buf, ALLOWED_MAX, &at, "%s to %s", min, max);
		if (s->flags & SETTING_POWER_OF_TWO)
			append(buf, ALLOWED_MAX, &at, ", a power of two", "", "");
		if (s->type == SETTING_CURVE)
			append(buf, ALLOWED_MAX, &at, ", or an object with m1, d, m2", "", "");
		break;
	default:
		break;
	}
	for (const struct word *w = s->words; w && w->name; w++)
		append(buf, ALLOWED_MAX, &at, "%s\"%s\"", at ? ", " : "", w->name);
	return buf;
}

static bool fault(char *why, const char *what)
{
	snprintf(why, QUANTITY_WHY, "%s", what);
	return false;
}

static bool in_range(const struct setting *s, int64_t value, char *why)
{
	if (value < s->min && !(value == 0 && s->flags & SETTING_OR_ZERO))
		return fault(why, "is too small");
	if (value > s->max)
		return fault(why, "is too large");
	if (s->flags & SETTING_POWER_OF_TWO && value & (value - 1))
		return fault(why, "is not a power of two");
	return true;
}

static bool number(const struct setting *s, const json_t *v, int64_t *value, char *why)
{
	const char *text = json_string_value(v);
	double real;

	if (text && s->words && !strchr("-0123456789", text[0]))
		return fault(why, "is no number and none of the words");
	if (text)
		return quantity_parse(text, s->unit, value, why) && in_range(s, *value, why);
	if (json_is_integer(v)) {
		*value = json_integer_value(v);
		return quantity_bare(*value, s->unit, why) && in_range(s, *value, why);
	}
	// A number with a point or an exponent: every limit is below 2^53, to where doubles are exact integers.
	real = json_real_value(v);
	*value = real > 1e15 ? INT64_MAX : real < -1e15 ? INT64_MIN : (int64_t)real;
	if ((double)*value != real && real < 1e15 && real > -1e15)
		return fault(why, "is not a whole number");
	return quantity_bare(*value, s->unit, why) && in_range(s, *value, why);
}

bool setting_value(const struct setting *s, const json_t *v, int64_t *value, char *why)
{
	const struct word *w = json_is_string(v) ? word_find(s, json_string_value(v)) : NULL;

	if (w) {
		*value = w->value;
		return true;
	}
	if (s->type == SETTING_BOOL && json_is_boolean(v)) {
		*value = json_is_true(v);
		return true;
	}
	if ((s->type == SETTING_NUMBER || s->type == SETTING_CURVE) && (json_is_number(v) || json_is_string(v)))
		return number(s, v, value, why);
	return fault(why,
		     s->type == SETTING_WORD && json_is_string(v) ? "is none of the words" : "is of the wrong type");
}

static void print_default(FILE *out, const struct setting *s)
{
	const struct word *w = word_of(s, s->def);
	char text[QUANTITY_TEXT];

	if (s->flags & SETTING_REQUIRED)
		fputs("required", out);
	else if (s->type == SETTING_PREFIX || s->type == SETTING_L4_PORTS)
		fputs("`\"any\"`", out);
	else if (s->type == SETTING_CLASS)
		fputs("`\"root\"`", out);
	else if (w)
		fprintf(out, "`\"%s\"`", w->name);
	else if (s->type == SETTING_BOOL)
		fputs(s->def ? "`true`" : "`false`", out);
	else if (s->type == SETTING_NUMBER && s->unit == UNIT_COUNT)
		fprintf(out, "`%s`", quantity_format(s->def, s->unit, text));
	else if (s->type == SETTING_NUMBER)
		fprintf(out, "`\"%s\"`", quantity_format(s->def, s->unit, text));
}

// The keys of the objects at `path`.
static void print_object(FILE *out, const char *path, struct settings rows)
{
	char allowed[ALLOWED_MAX];

	fprintf(out, "\n### %s\n\n| key | meaning | allowed | default | change |\n|---|---|---|---|---|\n", path);
	for (unsigned i = 0; i < rows.count; i++) {
		const struct setting *s = &rows.row[i];

		fprintf(out, "| `%s` | %s | %s | ", setting_key(s), s->help, setting_allowed(s, allowed));
		print_default(out, s);
		fprintf(out, " | %s |\n", s->flags & SETTING_RESTART ? "restart" : "live");
	}
}

void schema_print(FILE *out)
{
	print_object(out, "The document", schema_below(NULL));
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct settings below = schema_below(&table[i]);
		char path[64];

		snprintf(path, sizeof path, "`%s%s`", table[i].path, is_many(&table[i]) ? "/*" : "");
		if (below.count)
			print_object(out, path, below);
	}
}
