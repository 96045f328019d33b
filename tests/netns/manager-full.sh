#!/usr/bin/env bash
# The disk of the state directory is full: a change is refused with 503 and nothing is changed; weir starts on the full
# disk with the newest confirmed revision; with room again changes are made. The disk is a tmpfs of 2 MB in a mount
# namespace of its own.
. "$(dirname "$0")/lib.sh"
need curl unshare
[ -z "${WEIR_PRIVATE:-}" ] && exec env WEIR_PRIVATE=1 unshare --mount --propagation private "$0" "$@"
lab_up 2
fixed_neighbours
config "$WORK/c.json"
mkdir "$STATE" && mount -t tmpfs -o size=2m,mode=700 weir-state "$STATE" || skip 'a tmpfs can not be mounted here'
trap 'rc=$?; umount -l "$STATE" 2> /dev/null; (exit $rc); cleanup' EXIT
weir_serve "$WORK/c.json"
CLASS=/v1/config/shapers/right/classes/a
put() { api PATCH "$CLASS" -H 'If-Match: *' --json "{\"ls\":\"$1\"}"; }
value() { expect 200 GET "$CLASS"; body .ls; }

put 400mbit
[ "$status" = 200 ] || fail "a change on an empty disk: $status"
head -c 4m /dev/zero > "$STATE/filler" 2> /dev/null # until there is no byte left
refused=0
for ((i = 0; i < 60; i++)); do # SQLite may still have room in what it has
	put "$((300 + i))mbit"
	[ "$status" = 200 ] && continue
	[ "$status" = 503 ] || fail "a change on a full disk: $status $(cat "$WORK/body")"
	refused=1
	break
done
[ $refused = 1 ] || fail 'the disk was never full'
note "refused after $i more changes: $(body .detail)"
last=$(value)
[ "$last" = "$((300 + i - 1))mbit" ] || [ $i = 0 ] && [ "$last" = 400mbit ] || fail "in force is $last after $i changes"
[ "$(weir_state '.shapers.right.classes.a.ls_bps')" = "${last%mbit}000000" ] || fail 'the engine has another rate than the API says'
ping_once || fail 'packets do not pass'

weir_stop || fail "SIGTERM: status $?"
weir_serve # on the full disk
[ "$(value)" = "$last" ] || fail "started with $(value), $last was confirmed"
put 777mbit
[ "$status" = 503 ] || fail "a change on a full disk after a restart: $status"
rm "$STATE/filler"
put 777mbit
[ "$status" = 200 ] || fail "a change with room again: $status $(cat "$WORK/body")"
[ "$(value)" = 777mbit ] || fail "not changed: $(value)"
note "room again: changed, revision $(header etag)"
weir_stop || fail "SIGTERM: status $?"
umount "$STATE"
