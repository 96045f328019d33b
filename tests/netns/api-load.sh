#!/usr/bin/env bash
# A rate changed through the API under overload, CHANGES times (4; 10 in the long run): the new rates are at the receiver within
# 200 ms of the moment before curl is started, and neither the answers nor the counters know of a packet lost by it.
. "$(dirname "$0")/lib.sh"
need curl
CHANGES=${CHANGES:-${LONG:+10}}
CHANGES=${CHANGES:-4}
lab_up 2
fixed_neighbours
config "$WORK/c.json"
weir_serve "$WORK/c.json"
job right "$TOOLS/udprecv" --cpu 0 --gather 500 --interval 20 10194 10196 10197 > "$WORK/recv" 2> "$WORK/recv.err"
recv=$job
listening "$WORK/recv.err"
job left "$TOOLS/udpsend" --cpu 0 --seconds 100 198.18.0.2 10194=1gbit 10196=1gbit 10197=1gbit > "$WORK/send"
send=$job
windows() { [ "$(grep -c ' 10194 ' "$WORK/recv")" -ge "$1" ]; }
wait_until 10 'one second of load' windows 50
machine_mark
answered=0 paused=0
for ((i = 1; i <= CHANGES; i++)); do
	if ((i % 2)); then
		patch='{"rt":"300mbit","ls":"300mbit","ul":"300mbit"}'
	else
		patch='{"rt":"500mbit","ls":"500mbit","ul":"1gbit"}'
	fi
	kill -USR1 "$recv"
	expect 200 PATCH /v1/config/shapers/right/classes/a -H 'If-Match: *' --json "$patch"
	seen=$(grep -c ' 10194 ' "$WORK/recv")
	[ "$(body '.applied and .state == "confirmed"')" = true ] || fail "not applied: $(cat "$WORK/body")"
	answered=$((answered + $(body .packets_lost)))
	[ "$(body .longest_pause_ns)" -gt "$paused" ] && paused=$(body .longest_pause_ns)
	wait_until 10 'a second of the new rate' windows $((seen + 50))
done
kill -TERM "$send" "$recv"
wait "$recv"
lost=$(weir_state '[.. | .reconfigured? // empty | numbers] | add // 0')
awk -v limit=200 -f "$(dirname "$0")/arrival.awk" "$WORK/recv"
rc=$?
echo "packets_lost=$answered lost_by_change=$lost longest_pause_us=$((paused / 1000))"
[ "$lost" = 0 ] && [ "$answered" = 0 ] || fail "$lost packets were lost because of the changes, the answers say $answered"
[ $rc = 0 ] || fail_if_quiet 'the new rate must be at the receiver within 200 ms'
