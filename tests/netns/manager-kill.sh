#!/usr/bin/env bash
# kill -9 of the manager under overload: packets pass as if nothing had happened (a ping each millisecond is answered, none
# later than 10 ms), and the API is back within 2 s on the same revision. Killed while a revision is pending: that is taken back on time, whether or not there
# is a manager.
. "$(dirname "$0")/lib.sh"
need curl ping
KILLS=${KILLS:-${LONG:+20}}
KILLS=${KILLS:-4}
lab_up 2
fixed_neighbours
config "$WORK/c.json"
weir_serve "$WORK/c.json"
etag() { expect 200 GET /v1/config; header etag; }

job right "$TOOLS/udprecv" --cpu 0 --gather 500 --interval 1000 10194 10196 > "$WORK/recv" 2> "$WORK/recv.err"
listening "$WORK/recv.err"
job left "$TOOLS/udpsend" --cpu 0 --seconds 100 198.18.0.2 10194=600mbit 10196=600mbit > "$WORK/send"
# Whatever holds packets up for longer than a millisecond shows in the time of a ping.
job left "$TOOLS/pinger" --cpu 0 --interval-us 1000 --count $((KILLS * 1500 + 4000)) --json 198.18.0.2 > "$WORK/ping"
ping=$job
revision=$(etag)
worst=0
machine_mark
for ((i = 1; i <= KILLS; i++)); do
	manager=$(weir_manager) || fail 'there is no manager'
	start=$(uptime_ms)
	kill -9 "$manager"
	back() { [ "$(weir_manager)" != "$manager" ] && api_curl -sk --max-time 1 -o /dev/null "$ORIGIN/v1/info"; }
	wait_until 5 "the API is back after kill $i" back
	took=$(($(uptime_ms) - start))
	[ $took -gt $worst ] && worst=$took
	[ "$(etag)" = "$revision" ] || fail "another revision after kill $i: $(header etag), was $revision"
done

# Pending, and the one who was told is dead.
expect 200 PATCH '/v1/config?confirm=5' -H "If-Match: $revision" --json '{"shapers":{"right":{"classes":{"a":{"ls":"300mbit"}}}}}'
start=$(uptime_ms)
[ "$(body .state)" = pending ] || fail "not pending: $(cat "$WORK/body")"
kill -9 "$(weir_manager)"
wait_until 3 'the API is back' back
expect 200 GET /v1/revisions/pending # the next one knows it
kill -9 "$(weir_manager)"
reverted() { grep -q 'is taken back' "$WORK/weir.log"; }
wait_until 8 'the pending revision is taken back' reverted
took=$(($(uptime_ms) - start))
[ $took -ge 4900 ] && [ $took -le 5500 ] || fail "taken back after $took ms instead of 5 s"
wait_until 5 'the API is back' weir_serves
[ "$(etag)" = "$revision" ] || fail "revision $(header etag) after the revert, was $revision"
[ "$(body .shapers.right.classes.a.ls)" = 500mbit ] || fail "the old value is not back: $(body .shapers.right.classes.a)"
kill "$ping" 2> /dev/null
wait "$ping"
slowest=$(jq '.rtt_us.max / 1000' "$WORK/ping")
unanswered=$(jq '.sent - .answered' "$WORK/ping")
note "kills=$KILLS api_back_worst_ms=$worst reverted_after_ms=$took ping_worst_ms=$slowest pings=$(jq .sent "$WORK/ping") unanswered=$unanswered"
[ $worst -le 2000 ] || fail_if_quiet "the API was back after $worst ms, limit 2000"
[ "$unanswered" -le 1 ] || fail_if_quiet "$unanswered pings were not answered" # the last one was cut off
awk -v ms="$slowest" 'BEGIN { exit !(ms <= 10) }' || fail_if_quiet "a ping took $slowest ms, limit 10"
