#!/usr/bin/env bash
# kill -9 of the manager under overload. No forwarding gap over 10 ms: all of 1,000 pings a second are answered, the slowest
# within 10 ms. The API is back within 2 s on the same revision. Then with a revision pending: it is taken back on time, with
# the manager killed, and with one that stands still (SIGSTOP).
. "$(dirname "$0")/lib.sh"
need curl
lab_up 2
fixed_neighbours
config "$WORK/c.json"
weir_serve "$WORK/c.json"
job right "$TOOLS/udprecv" --cpu 0 --gather 500 10194 10196 10197 > "$WORK/recv" 2> "$WORK/recv.err"
listening "$WORK/recv.err"
job left "$TOOLS/udpsend" --cpu 0 --seconds 110 198.18.0.2 10194=1gbit 10196=1gbit 10197=1gbit > "$WORK/send"
send=$job
loaded() { [ "$(weir_state '.shapers.right.classes.a.backlog_packets')" -gt 100 ]; }
wait_until 10 'the overload is there' loaded
path=/v1/config/shapers/right/classes/a

ping_start() { job left "$TOOLS/pinger" --cpu 0 --interval-us 1000 --count 3000 --json 198.18.0.2 > "$WORK/ping"; }
ping_end() { # the slowest ping, in us, is in $worst; one without an answer took for ever
	wait "$job"
	worst=$(jq -r 'if .answered == .sent and .sent == 3000 then .rtt_us.max | round else 1000000 end' "$WORK/ping")
}
kill_manager() { # how long it takes until a client is served again is in $back
	local pid start
	pid=$(weir_manager) || fail 'there is no manager to kill'
	start=$(uptime_ms)
	kill -9 "$pid"
	api GET /v1/config # waits in the backlog of the listening socket, which the parent holds
	back=$(($(uptime_ms) - start))
	[ "$status" = 200 ] || fail "after the kill, status $status"
	[ "$(weir_manager)" != "$pid" ] || fail 'the manager was not killed'
}

machine_mark
# The machine has its own stalls: what counts is a gap that a run without a kill has not.
for try in 1 2 3 4; do
	ping_start
	ping_end
	calm=$worst
	expect 200 GET /v1/config
	before=$(header ETag)
	ping_start
	sleep 0.5 # the kill is in the middle
	kill_manager
	[ "$(header ETag)" = "$before" ] || fail "the revision was $before, and is $(header ETag) after the kill"
	ping_end
	gap=$worst
	[ "$gap" -le 10000 ] && [ "$back" -le 2000 ] && break
	note "try $try: slowest ping $gap us with the kill, $calm us without; the API was back after $back ms"
done
echo "gap_us=$gap without_kill_us=$calm back_ms=$back revision=$before"
[ "$gap" -le 10000 ] || [ "$calm" -gt 10000 ] || fail_if_quiet "a gap of $gap us in forwarding, limit 10000"
[ "$gap" -le 10000 ] || exit 75
[ "$back" -le 2000 ] || fail_if_quiet "the API was back after $back ms, limit 2000"

guarantee_is() { [ "$(weir_state .shapers.right.classes.a.rt_bps)" = "$1" ]; }
pending() { # SECONDS: class a at 300 Mbit/s for that long, from some moment between $since and $answered
	since=$(uptime_ms)
	expect 200 PATCH "$path?confirm=$1" -H 'If-Match: *' --json '{"rt":"300mbit","ls":"300mbit","ul":"300mbit"}'
	answered=$(uptime_ms)
	[ "$(body .state)" = pending ] || fail "not pending: $(cat "$WORK/body")"
	wait_until 2 'the pending rate is in force' guarantee_is 300000000
}
said=0
reverted() { # SECONDS WHAT: when the parent says so is cheap to see on a CPU that is all taken; then the engine must have it
	local now
	said=$((said + 1))
	taken_back() { [ "$(grep -c 'taken back' "$WORK/weir.log")" = $said ]; }
	wait_until $(($1 + 3)) 'the parent takes it back' taken_back
	now=$(uptime_ms)
	wait_until 2 'the old rate is back' guarantee_is 500000000
	[ $((now - since)) -ge $(($1 * 1000 - 20)) ] || fail "reverted $((now - since)) ms after the request, instead of $1 s"
	[ $((now - answered)) -le $(($1 * 1000 + 500)) ] || fail_if_quiet "reverted $((now - answered)) ms after the answer, instead of $1 s"
	echo "$2: reverted_after_ms=$((now - answered)) of ${1}000"
}
pending 10
id=$(body .revision)
kill_manager
[ "$(body '.shapers.right.classes.a.rt')" != "" ] || fail 'no configuration after the kill'
expect 200 GET /v1/revisions/pending
[ "$(body '.id == '"$id"' and .seconds_left <= 10')" = true ] || fail "after the kill, pending is: $(cat "$WORK/body")"
reverted 10 killed
expect 200 GET "/v1/revisions/$id"
[ "$(body .state)" = reverted ] || fail "revision $id is $(body .state)"
expect 404 GET /v1/revisions/pending

pending 5
id=$(body .revision)
manager=$(weir_manager)
kill -STOP "$manager"
reverted 5 stopped
kill -CONT "$manager"
told() { api GET "/v1/revisions/$id" && [ "$(body .state)" = reverted ]; }
wait_until 10 'the store knows of it' told
kill -TERM "$send"
lost=$(weir_state '[.. | .reconfigured? // empty | numbers] | add // 0')
[ "$lost" = 0 ] || fail "$lost packets were lost because of the changes"
