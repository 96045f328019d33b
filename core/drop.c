// SPDX-License-Identifier: GPL-2.0-or-later
// Names and sentences of the drop reasons, from the one list in drop.h.
#include "core/drop.h"

static const struct {
	const char *name, *text;
} reasons[DROP_REASON_COUNT] = {[DROP_NONE] = {"none", "not dropped"},
#define X(id, name, text) [DROP_##id] = {name, text},
				DROP_REASONS(X)
#undef X
};

const char *drop_name(enum drop_reason reason)
{
	return (unsigned)reason < DROP_REASON_COUNT ? reasons[reason].name : "unknown";
}

const char *drop_text(enum drop_reason reason)
{
	return (unsigned)reason < DROP_REASON_COUNT ? reasons[reason].text : "unknown reason";
}
