#!/usr/bin/env bash
# Confirming: a revision that is confirmed stays, one that is not comes back by itself after its time, one can be taken back at
# once; while one is pending other writes are refused; a restart in the middle takes it back. History and diff tell all of it.
. "$(dirname "$0")/lib.sh"
need curl
lab_up 2
config "$WORK/c.json"
weir_serve "$WORK/c.json"
path=/v1/config/shapers/right/classes/a
rate_is() { [ "$(weir_state .shapers.right.classes.a.rt_bps)" = "$1" ]; }
change() { # RATE SECONDS: pending; its id is in $id
	expect 200 PATCH "$path?confirm=$2&comment=try" -H 'If-Match: *' --json "{\"rt\":\"$1\"}"
	[ "$(body '.state == "pending" and .applied and (.changes | length) == 1')" = true ] || fail "answer: $(cat "$WORK/body")"
	id=$(body .revision)
}
state_of() { api GET "/v1/revisions/$1" && body .state; }
ended() { [ "$(state_of "$1")" = "$2" ]; }

expect 200 GET /v1/config
first=$(header ETag)
change 300mbit 60
[ "$(header ETag)" != "$first" ] || fail 'a pending revision has no ETag of its own'
rate_is 300000000 || fail 'the pending rate is not in force'
expect 200 GET /v1/revisions/pending
[ "$(body ".id == $id and .seconds_left > 50 and .seconds_left <= 60")" = true ] || fail "pending: $(cat "$WORK/body")"
expect 409 PATCH "$path" -H 'If-Match: *' --json '{"rt":"200mbit"}'
expect 200 POST "/v1/revisions/$id/confirm"
expect 200 POST "/v1/revisions/$id/confirm" # idempotent
[ "$(state_of "$id")" = confirmed ] || fail "confirmed, but it is $(state_of "$id")"
expect 404 GET /v1/revisions/pending
confirmed=$id

change 200mbit 5
since=$(uptime_ms)
wait_until 8 'it comes back by itself' rate_is 300000000
took=$(($(uptime_ms) - since))
[ $took -ge 4800 ] && [ $took -le 6000 ] || fail "reverted after $took ms instead of 5 s"
wait_until 2 'the store knows of it' ended "$id" reverted
expect 409 POST "/v1/revisions/$id/confirm"

change 200mbit 60
expect 200 POST "/v1/revisions/$id/revert"
rate_is 300000000 || fail 'reverted, but the rate has not changed'
[ "$(state_of "$id")" = reverted ] || fail "reverted, but it is $(state_of "$id")"

change 200mbit 60
weir_stop || fail "weir did not stop in order: $?"
weir_serve
rate_is 300000000 || fail "after a restart with a pending revision class a has $(weir_state .shapers.right.classes.a.rt_bps) bit/s"
[ "$(state_of "$id")" = reverted ] || fail "after a restart the pending one is $(state_of "$id")"

expect 200 GET "/v1/revisions/$confirmed/diff"
[ "$(body '.changes | map(.path) | index("/shapers/right/classes/a/rt") != null')" = true ] || fail "diff: $(cat "$WORK/body")"
expect 200 GET '/v1/revisions?limit=3'
[ "$(body '.revisions | length == 3 and .[0].id > .[1].id and .[0].comment == "try"')" = true ] || fail "history: $(cat "$WORK/body")"
expect 200 POST "/v1/revisions/$(tr -dc 0-9 <<< "$first")/rollback"
rate_is 500000000 || fail 'rolled back, but the rate has not changed'
echo "confirmed, reverted after $took ms, reverted by hand, by a restart, rolled back"
