#!/usr/bin/env bash
# A changed rate under overload (SIGHUP), CHANGES times (4; 10 in the long run): the new rates are there at the receiver
# within 200 ms, and no packet is lost because of the change.
#
# The receiver counts in windows of 20 ms and marks the instant of the signal on the same clock; arrival.awk says what counts as there.
. "$(dirname "$0")/lib.sh"
need
CHANGES=${CHANGES:-${LONG:+10}}
CHANGES=${CHANGES:-4}
lab_up 2
fixed_neighbours
config "$WORK/c.json"
weir_start "$WORK/c.json"
shaper=$(jq -r '.shapers | keys[0]' "$WORK/c.json")
job right "$TOOLS/udprecv" --cpu 0 --gather 500 --interval 20 10194 10196 10197 > "$WORK/recv" 2> "$WORK/recv.err"
recv=$job
listening "$WORK/recv.err"
job left "$TOOLS/udpsend" --cpu 0 --seconds 100 198.18.0.2 10194=1gbit 10196=1gbit 10197=1gbit > "$WORK/send"
send=$job
windows() { [ "$(grep -c ' 10194 ' "$WORK/recv")" -ge "$1" ]; }
wait_until 10 'one second of load' windows 50
machine_mark
for ((i = 1; i <= CHANGES; i++)); do
	if ((i % 2)); then # class a is held at 300 Mbit/s, b and c share the rest
		config "$WORK/c.json" ".shapers[\"$shaper\"].classes.a |= (.rt = \"300mbit\" | .ls = \"300mbit\" | .ul = \"300mbit\")"
	else
		config "$WORK/c.json"
	fi
	revision=$(weir_state .revision)
	kill -USR1 "$recv"
	kill -HUP "$weir_pid"
	wait_until 5 "change $i is applied" eval '[ "$(weir_state .revision)" != '"$revision"' ]'
	seen=$(grep -c ' 10194 ' "$WORK/recv")
	wait_until 10 'a second of the new rate' windows $((seen + 50))
done
kill -TERM "$send" "$recv"
wait "$recv"
lost=$(weir_state '[.. | .reconfigured? // empty | numbers] | add // 0')
awk -v limit=200 -f "$(dirname "$0")/arrival.awk" "$WORK/recv"
rc=$?
echo "lost_by_change=$lost"
[ $rc = 0 ] || fail_if_quiet 'the new rate must be at the receiver within 200 ms'
[ "$lost" = 0 ] || fail "$lost packets were lost because of the changes"
