#!/usr/bin/env bash
# Tagged frames pass unchanged, bit by bit: one tag, a priority tag (VLAN 0), 802.1ad over 802.1Q, and two equal tags,
# with the priority and drop-eligible bits.
. "$(dirname "$0")/lib.sh"
need
lab_up 1
config "$WORK/c.json" "$UNSHAPED | .ports.left.queues = 1 | .ports.right.queues = 1"
weir_start "$WORK/c.json"
job right "$TOOLS/rawframe" listen r0 > "$WORK/right" 2> "$WORK/right.err"
listening "$WORK/right.err"
ADDR=0200000000020200000000a1
UDP=080045000024000140004011aea0c6120001c612000227d227d2001000000102030405060708
TAIL=$(printf '%040d' 1)
frames=(
	"${ADDR}81000064$UDP"                   # VLAN 100
	"${ADDR}8100ffff$UDP"                   # every bit of the tag set
	"${ADDR}81006000$UDP"                   # VLAN 0, priority 3
	"${ADDR}88a8e0c88100a065$UDP"           # 802.1ad 200 over 802.1Q 101
	"${ADDR}8100006481000065$UDP"           # 802.1Q twice
	"${ADDR}8100006488b5$TAIL"              # a tag before an unknown protocol
	"${ADDR}810000640806000108000604000102000000000101020304000000000000c6120002" # tagged ARP
)
at left "$TOOLS/rawframe" send l0 "${frames[@]}" || fail 'sending'
for f in "${frames[@]}"; do
	wait_until 5 "frame $f arrives as it was sent" grep -qx "$f" "$WORK/right"
done
note "${#frames[@]} tagged frames unchanged"
