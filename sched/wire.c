// SPDX-License-Identifier: GPL-2.0-or-later
// The length of a frame on the wire. It is worked out once, when a packet meets its egress port, and is the only
// length that rates, deficits and limits use afterwards; two places that count differently would drift apart.
//
// ATM (ITU-T I.361): cells of 53 bytes carry 48, and a packet fills whole cells. PTM (IEEE 802.3 clause 61, 64/65
// encoding): every 64 bytes cost one more. The minimum comes before the framing: it is what the modem pads to.
#include "sched/plan.h"

uint32_t wire_length(const struct wire *w, uint32_t len)
{
	int64_t x = (int64_t)len + w->overhead;

	if (x < (int64_t)w->mpu)
		x = w->mpu;
	if (x < 1)
		x = 1; // a negative overhead must not make a packet free of charge
	switch (w->layer) {
	case LINK_ATM:
		return (uint32_t)((x + 47) / 48 * 53);
	case LINK_PTM:
		return (uint32_t)((x * 65 + 63) / 64);
	default:
		return (uint32_t)x;
	}
}
