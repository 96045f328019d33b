#!/usr/bin/env bash
# Nothing to do costs nothing: all processes together use less than 2 % of one core over 5 s.
. "$(dirname "$0")/lib.sh"
need ping
lab_up 2
config "$WORK/c.json"
weir_start "$WORK/c.json"
wait_until 10 'ping' ping_once
# Let the stations' own chatter (neighbour discovery, router solicitation) pass by: idle means idle.
settled() { local a b; a=$(cat_packets); sleep 1; b=$(cat_packets); [ "$a" = "$b" ]; }
cat_packets() { at mid cat /sys/class/net/w-left/statistics/rx_packets /sys/class/net/w-right/statistics/rx_packets | tr '\n' ' '; }
wait_until 20 'the stations are quiet' settled
t0=$(uptime_ms) a=$(weir_cpu_ms)
sleep 5 # the measured interval
b=$(weir_cpu_ms) t1=$(uptime_ms)
awk -v cpu="$b" -v before="$a" -v ms=$((t1 - t0)) -v n="$(weir_pids | wc -l)" 'BEGIN {
	p = 100 * (cpu - before) / ms
	printf "idle_percent=%.3f processes=%d seconds=%.1f\n", p, n, ms / 1000
	exit !(p < 2 && before > 0 && n >= 2) }' || fail 'an idle weir must stay under 2 % of a core'
