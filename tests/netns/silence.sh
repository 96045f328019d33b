#!/usr/bin/env bash
# The first packet after silence: a worker that sleeps is woken by it. One ping after each 250 ms of silence; the
# median round trip (weir is crossed twice) of COUNT must be below 1 ms.
. "$(dirname "$0")/lib.sh"
need
COUNT=${COUNT:-${LONG:+100}}
COUNT=${COUNT:-100}
lab_up 2
fixed_neighbours
config "$WORK/c.json"
weir_start "$WORK/c.json"
wait_until 10 'ping' ping_once
machine_mark
result=$(at left "$TOOLS/pinger" --cpu 0 --silence 250 --count "$COUNT" --json 198.18.0.2) || fail "pinger: $result"
jq -r '"answered=\(.answered) sent=\(.sent) p50_us=\(.rtt_us.p50) p99_us=\(.rtt_us.p99) max_us=\(.rtt_us.max)"' <<< "$result"
jq -e '.answered == .sent and .rtt_us.p50 < 1000' <<< "$result" > /dev/null || fail_if_quiet 'every ping answered, median below 1000 us'
