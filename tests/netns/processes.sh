#!/usr/bin/env bash
# Who runs, and with what rights: the parent starts an engine; the engine has no capability, may gain none, is under a
# system call filter, and maps the packet memory shared; a packet thread is pinned to each configured CPU. All end with SIGTERM, with status 0.
. "$(dirname "$0")/lib.sh"
need ping
lab_up 2
config "$WORK/c.json"
weir_start "$WORK/c.json"
wait_until 10 'ping' ping_once
engine=$(weir_engine) || fail "no engine below the parent: $(weir_pids | tr '\n' ' ')"
field() { awk -v k="$2:" '$1 == k { print $2 }' "/proc/$1/status"; }
for t in "/proc/$engine/task/"*; do
	t=${t##*/}
	for k in CapEff CapPrm CapInh CapAmb; do
		[ "$(field "$engine/task/$t" $k)" = 0000000000000000 ] || fail "engine thread $t: $k is $(field "$engine/task/$t" $k)"
	done
	[ "$(field "$engine/task/$t" Seccomp)" = 2 ] || fail "engine thread $t: no system call filter (Seccomp $(field "$engine/task/$t" Seccomp))"
	[ "$(field "$engine/task/$t" NoNewPrivs)" = 1 ] || fail "engine thread $t: NoNewPrivs is not set"
done
pinned=0
for t in "/proc/$engine/task/"*; do [ "$(field "$engine/task/${t##*/}" Cpus_allowed_list)" = "$LAST_CPU" ] && pinned=$((pinned + 1)); done
[ $pinned -ge 1 ] || fail "no engine thread is pinned to CPU $LAST_CPU"
grep -qE '^[0-9a-f-]+ rw-s .*memfd' "/proc/$engine/maps" || fail 'the packet memory is not a shared memfd'
all=$(weir_pids | wc -l)
[ "$all" -le 3 ] || fail "$all processes run; the reader of the configuration should be gone"
note "engine: no capabilities, filtered, $(ls "/proc/$engine/task" | wc -l) threads, $pinned pinned to CPU $LAST_CPU; $all processes"
weir_stop || fail "SIGTERM: weir ended with status $?"
[ -z "$(ip netns pids "weir-mid-$$")" ] || fail 'processes left behind'
note 'parent ended with status 0, nothing left'
