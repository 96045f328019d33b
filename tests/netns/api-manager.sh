#!/usr/bin/env bash
# The manager is a process without privileges: another user, no capabilities, no way to new ones, a system call filter, a fresh
# address space (it was executed again, not forked), only its own directory. It does not end with its parent's line of
# packets, nor that with it; nonsense on its channel cannot be tried from here (unit tests do).
. "$(dirname "$0")/lib.sh"
need curl
lab_up 1
config "$WORK/c.json" '.ports[].queues = 1'
weir_serve "$WORK/c.json"
manager=$(weir_manager) || fail 'there is no manager'
engine=$(weir_engine) || fail 'there is no engine'
of() { awk -v k="$1:" '$1 == k { print $2 }' "/proc/$manager/status"; }
[ "$(of Uid)" != 0 ] && [ "$(of Gid)" != 0 ] || fail "it runs as user $(of Uid), group $(of Gid)"
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
	[ $((16#$(of $set))) = 0 ] || fail "$set is $(of $set)"
done
[ "$(of NoNewPrivs)" = 1 ] || fail 'it may get new privileges'
[ "$(of Seccomp)" = 2 ] || fail 'it has no system call filter'
[ "$(of PPid)" = "$weir_pid" ] || fail 'it is not the child of the parent'
base() { awk '{ split($1, a, "-"); print a[1]; exit }' "/proc/$1/maps"; }
[ "$(base "$manager")" != "$(base "$weir_pid")" ] || fail 'it has the address space of its parent: it was not executed again'
foreign=$(find "/proc/$manager/fd" -type l -printf '%l\n' | grep '^/' | grep -vE "^(/dev/null|/dev/urandom|$WORK/)" | head -n 1)
[ -z "$foreign" ] || fail "it holds $foreign open"
[ "$(stat -c '%a %u' "$STATE")" = "700 $(of Uid)" ] || fail "the state directory is $(stat -c '%a %u' "$STATE")"
[ -z "$(find "$STATE" -type f -perm /077)" ] || fail 'files in the state directory are readable by others'

kill -9 "$engine"
wait_until 5 'another engine' eval 'p=$(weir_engine) && [ "$p" != '"$engine"' ]'
expect 200 GET /v1/info
[ "$(weir_manager)" = "$manager" ] || fail 'the manager ended with the engine'
wait_until 5 'packets pass again' ping_once
kill -9 "$manager"
wait_until 5 'another manager' eval 'p=$(weir_manager) && [ "$p" != '"$manager"' ]'
weir_stop || fail "weir did not stop in order: $?"
[ -z "$(ip netns pids "weir-mid-$$")" ] || fail 'processes are left'
weir_serve
grep -q password "$WORK/weir.out" && fail 'the first password is printed twice'
expect 200 GET /v1/config
echo 'manager: no user root, no capabilities, filtered, executed again; restarted beside a running engine, and the other way round'
