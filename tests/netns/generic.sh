#!/usr/bin/env bash
# The mode for devices whose driver knows no XDP: chosen by the configuration, read back in the status, carrying
# ping and TCP both ways.
#
# The stations' segmentation offload is off here: a generic program sees what the sender's stack handed to the virtual
# wire, and a super-packet of 64 KB fits no frame. (With a native program the kernel cuts it at the sender.)
. "$(dirname "$0")/lib.sh"
need iperf3 ping ethtool
lab_up 2
at left ethtool -K l0 tso off gso off > /dev/null && at right ethtool -K r0 tso off gso off > /dev/null || skip 'ethtool can not turn segmentation offload off'
config "$WORK/c.json" "$UNSHAPED | .ports.left.mode = \"generic\" | .ports.right.mode = \"generic\""
weir_start "$WORK/c.json"
wait_until 10 'ping' ping_once
modes=$(weir_state '[.. | .mode? // empty] | unique | join(" ")')
[ "$modes" = generic ] || fail "mode in use: '$modes', expected generic"
job right iperf3 -s --forceflush > "$WORK/server" 2>&1
listening "$WORK/server"
for way in '' -R; do
	at left timeout 20 iperf3 -c 198.18.0.2 $way -t 2 -J > "$WORK/iperf" || fail "iperf3 $way: $(jq -r '.error // empty' "$WORK/iperf")"
	mbit=$(jq '.end.sum_received.bits_per_second / 1e6 | floor' "$WORK/iperf")
	[ "$mbit" -ge 50 ] || fail "TCP ${way:-forward}: $mbit Mbit/s"
	note "generic mode, TCP ${way:-forward}: $mbit Mbit/s"
done
