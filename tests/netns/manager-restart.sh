#!/usr/bin/env bash
# Changes that need new sockets (restart=1), and what can go wrong with them: a configuration that can't be had leaves
# the old one running; one that is pending comes back by itself; so does one under which the engine dies again and
# again.
. "$(dirname "$0")/lib.sh"
need curl ping
lab_up 2
fixed_neighbours
config "$WORK/c.json"
weir_serve "$WORK/c.json"
RING=/v1/config/ports/right/rx_ring
change() { api PATCH "/v1/config?$1" -H 'If-Match: *' --json "$2"; }
etag() { expect 200 GET /v1/config; header etag; }
wait_until 5 ping ping_once

change '' '{"ports":{"right":{"rx_ring":1024}}}'
[ "$status" = 409 ] || fail "without restart=1: $status"
change 'restart=1' '{"ports":{"right":{"rx_ring":1024}}}'
[ "$status" = 200 ] || fail "restart=1: $status $(cat "$WORK/body")"
note "reopened in $(body '.duration_ns / 1000000 | round') ms, pause $(body '.longest_pause_ns / 1000000 | round') ms"
wait_until 5 ping ping_once
good=$(etag)

# veth devices do no zero copy: known only when the socket is bound.
change 'restart=1' '{"ports":{"right":{"mode":"zerocopy"}}}'
[ "$status" = 422 ] || fail "what the device can't do: $status $(cat "$WORK/body")"
wait_until 5 'the old configuration forwards' ping_once
[ "$(etag)" = "$good" ] || fail "in force: $(etag), was $good"

# Another device, pending, not confirmed.
third_up 2
change 'restart=1&confirm=5' '{"ports":{"right":{"device":"w-third"}}}'
[ "$status" = 200 ] || fail "another device: $status $(cat "$WORK/body")"
wait_until 5 'packets reach the third host' ping_once left 198.18.0.3
wait_until 12 'the old device is back' ping_once
[ "$(etag)" = "$good" ] || fail "in force: $(etag), was $good"

# An engine that dies again and again while a revision is pending.
change 'confirm=60' '{"shapers":{"right":{"classes":{"a":{"ls":"300mbit"}}}}}'
[ "$status" = 200 ] || fail "a pending change: $status"
for i in 1 2 3; do
	wait_until 5 'an engine runs' weir_engine
	engine=$(weir_engine)
	kill -9 "$engine"
	wait_until 5 'another engine runs' eval '[ "$(weir_engine)" != '"$engine"' ]'
done
wait_until 5 'it is taken back' grep -q 'is taken back: the engine died' "$WORK/weir.log"
wait_until 5 'the old configuration forwards' ping_once
wait_until 5 'the API says so' eval '[ "$(etag)" = '"'$good'"' ]'
expect 200 GET /v1/revisions?limit=1
[ "$(body '.revisions[0].state')" = reverted ] || fail "its state: $(body '.revisions[0]')"
weir_stop || fail "SIGTERM: status $?"
