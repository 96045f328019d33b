#!/usr/bin/env bash
# The mode for devices whose driver knows no XDP: chosen by the configuration, read back in the status, carrying
# ping and TCP both ways.
. "$(dirname "$0")/lib.sh"
need iperf3 ping
lab_up 2
config "$WORK/c.json" "$UNSHAPED | .ports.left.mode = \"generic\" | .ports.right.mode = \"generic\""
weir_start "$WORK/c.json"
wait_until 10 'ping' ping_once
modes=$(weir_state '[.. | .mode? // empty] | unique | join(" ")')
[ "$modes" = generic ] || fail "mode in use: '$modes', expected generic"
job right iperf3 -s -1 --forceflush > "$WORK/server" 2>&1
wait_until 5 'the iperf3 server listens' grep -q listening "$WORK/server"
at left timeout 20 iperf3 -c 198.18.0.2 -t 2 -J > "$WORK/iperf" || fail "iperf3: $(jq -r '.error // empty' "$WORK/iperf")"
mbit=$(jq '.end.sum_received.bits_per_second / 1e6 | floor' "$WORK/iperf")
[ "$mbit" -ge 50 ] || fail "TCP: $mbit Mbit/s"
note "generic mode: TCP $mbit Mbit/s"
