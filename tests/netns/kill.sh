#!/usr/bin/env bash
# kill -9 of the engine: the parent starts it again with the running configuration, and packets pass within 5 s.
# KILLS times (3; 20 in the long run).
# kill -9 of the parent at last: the engine ends too, and the kernel's program goes.
. "$(dirname "$0")/lib.sh"
need ping
KILLS=${KILLS:-${LONG:+20}}
KILLS=${KILLS:-3}
lab_up 2
fixed_neighbours
config "$WORK/c.json"
weir_start "$WORK/c.json"
wait_until 10 'ping' ping_once
worst=0
for ((i = 1; i <= KILLS; i++)); do
	wait_until 5 'an engine runs' weir_engine
	engine=$(weir_engine)
	start=$(uptime_ms)
	kill -9 "$engine" || fail "no engine to kill ($engine)"
	wait_until 5 "packets pass after kill $i" eval '[ "$(weir_engine)" != '"$engine"' ] && at left ping -c 1 -W 0.2 198.18.0.2'
	took=$(($(uptime_ms) - start))
	[ $took -gt $worst ] && worst=$took
	kill -0 "$weir_pid" 2> /dev/null || fail "the parent ended with kill $i"
done
[ "$(weir_pids | wc -l)" -le 3 ] || fail "processes left behind: $(weir_pids | tr '\n' ' ')"
echo "kills=$KILLS worst_ms=$worst"
[ $worst -le 5000 ] || fail "forwarding again after $worst ms, limit 5000"

kill -9 "$weir_pid"
wait "$weir_pid" 2> /dev/null
weir_pid=
wait_until 5 'the engine ends with its parent' eval '[ -z "$(ip netns pids weir-mid-$$)" ]'
wait_until 5 "the kernel's program is gone" eval '! ip -n weir-mid-$$ -d link | grep -q xdp'
