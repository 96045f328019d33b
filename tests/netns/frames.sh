#!/usr/bin/env bash
# 100,000 random and mutated frames, then a ping: nothing crashed, each frame is forwarded or dropped for a named reason.
. "$(dirname "$0")/lib.sh"
need ping
FRAMES=${FRAMES:-100000}
SEED=${SEED:-$((LONG ? RANDOM : 1))}
lab_up 2
config "$WORK/c.json" "$UNSHAPED"
weir_start "$WORK/c.json"
wait_until 10 'ping' ping_once
pids=$(weir_pids | tr '\n' ' ')
at left "$TOOLS/rawframe" fuzz l0 --count "$FRAMES" --seed "$SEED" || fail 'sending'
wait_until 10 'ping after the frames' ping_once
[ "$(weir_pids | tr '\n' ' ')" = "$pids" ] || fail "a process was restarted: $(tail -n 3 "$WORK/weir.log")"
weir_stop || fail "weir ended with status $?"
note "$FRAMES frames (seed $SEED), same processes"
