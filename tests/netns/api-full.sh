#!/usr/bin/env bash
# The disk is full: writes are refused (503), reading and forwarding go on, nothing is half-applied, a restart comes up with
# the same revision, and with room again writes work. The state directory is a small file system of its own, in a
# mount namespace of this story's own.
[ -n "${WEIR_OWN_MOUNTS-}" ] || WEIR_OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
. "$(dirname "$0")/lib.sh"
need curl
lab_up 1
fixed_neighbours
config "$WORK/c.json" '.ports[].queues = 1'
mkdir "$STATE"
mount -t tmpfs -o size=2m weir-state "$STATE" || skip 'a file system can not be mounted here'
trap 'rc=$?; umount -l "$STATE"; (exit $rc); cleanup' EXIT
weir_serve "$WORK/c.json"
path=/v1/config/shapers/right/classes/a
rate_is() { [ "$(weir_state .shapers.right.classes.a.rt_bps)" = "$1" ]; }
expect 200 PATCH $path -H 'If-Match: *' --json '{"rt":"400mbit"}'
revision=$(header ETag)

fill() { # to the last byte
	dd if=/dev/zero of="$STATE/filler" bs=4k > /dev/null 2>&1
	[ "$(df --output=avail "$STATE" | tail -n 1)" -eq 0 ] || fail "the disk is not full: $(df "$STATE" | tail -n 1)"
}
fill
refused=0
for ((i = 0; i < 200 && refused < 5; i++)); do # what SQLite has allocated already may take some
	before=$(weir_state .shapers.right.classes.a.rt_bps)
	api PATCH $path -H 'If-Match: *' --json "{\"rt\":\"$((300 + i))mbit\"}"
	case $status in
	200) revision=$(header ETag); rate_is $(((300 + i) * 1000000)) || fail 'answered with 200, but not in force' ;;
	503) refused=$((refused + 1)); rate_is "$before" || fail 'answered with 503, but in force' ;;
	*) fail "a full disk is answered with $status: $(cat "$WORK/body")" ;;
	esac
done
[ $refused = 5 ] || fail 'a full disk does not refuse writes'
rate=$(weir_state .shapers.right.classes.a.rt_bps)
expect 200 GET /v1/config
[ "$(header ETag)" = "$revision" ] || fail "the revision is $(header ETag), not $revision"
ping_once || fail 'no forwarding with a full disk'

# shellcheck disable=SC2046
kill -9 $(weir_pids)
wait "$weir_pid" 2> /dev/null
weir_serve
rate_is "$rate" || fail "booted with a full disk, class a has $(weir_state .shapers.right.classes.a.rt_bps) bit/s, not $rate"
expect 200 GET /v1/config
[ "$(header ETag)" = "$revision" ] || fail "booted with a full disk on $(header ETag), not $revision"
rm "$STATE/filler"
expect 200 PATCH $path -H 'If-Match: *' --json '{"rt":"450mbit"}'
rate_is 450000000 || fail 'with room again a change is not applied'
echo "refused=$refused with a full disk, booted on $revision, room again: $(header ETag)"
