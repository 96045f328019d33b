#!/usr/bin/env bash
# What weir changed on its devices is put back when it ends, by SIGTERM and by kill -9 of the parent: link flags, sysctls,
# offloads, NAPI settings, program.
. "$(dirname "$0")/lib.sh"
need ethtool ping
lab_up 2
# Settings unlike the defaults, so that "put back" can't mean "set to the default".
at mid ethtool -K w-left gro on > /dev/null 2>&1
at mid sysctl -qw net.ipv6.conf.w-right.addr_gen_mode=1 2> /dev/null
at mid sh -c 'echo 3 > /sys/class/net/w-right/napi_defer_hard_irqs; echo 12000 > /sys/class/net/w-right/gro_flush_timeout' 2> /dev/null
ip -n "weir-mid-$$" addr add 198.18.9.1/24 dev w-right
snapshot() {
	local d f
	for d in w-left w-right; do
		ip -n "weir-mid-$$" -d link show dev $d | sed -E 's/ qdisc [a-z]+//'
		ip -n "weir-mid-$$" addr show dev $d | grep -w inet
		at mid ethtool -k $d
		for f in napi_defer_hard_irqs gro_flush_timeout threaded flags; do
			printf '%s %s ' $d $f; at mid cat /sys/class/net/$d/$f 2> /dev/null || echo none
		done
		for f in queues/rx-0/rps_cpus queues/rx-1/rps_cpus; do printf '%s %s ' $d $f; at mid cat /sys/class/net/$d/$f 2> /dev/null || echo none; done
		at mid sysctl -a 2> /dev/null | grep -E "^net\.ipv[46]\.(conf|neigh)\.$d\." | grep -v -E 'stable_secret'
	done
	for d in left:l0 right:r0; do ip -n "weir-${d%:*}-$$" -d link show dev "${d#*:}"; at "${d%:*}" ethtool -k "${d#*:}"; done
}
# The carrier comes and goes with nothing here, but wait for IPv6 addresses to leave "tentative".
wait_until 10 'addresses are settled' eval '! ip -n weir-mid-$$ addr | grep -q tentative'
config "$WORK/c.json"
snapshot > "$WORK/before"
weir_start "$WORK/c.json"
wait_until 10 'ping' ping_once
snapshot > "$WORK/during"
cmp -s "$WORK/before" "$WORK/during" && fail 'nothing was changed while weir ran: this test sees nothing'
restored() { # HOW
	for ((i = 0; i < 100; i++)); do
		snapshot > "$WORK/after"
		cmp -s "$WORK/before" "$WORK/after" && { note "$1: $(diff "$WORK/before" "$WORK/during" | grep -c '^[<>]') lines changed while it ran, none after"; return; }
		sleep 0.05
	done
	diff -u "$WORK/before" "$WORK/after"
	fail "$1: not put back: the lines above"
}
weir_stop || fail "weir ended with status $? on SIGTERM"
restored SIGTERM
weir_start "$WORK/c.json"
wait_until 10 'ping' ping_once
kill -9 "$weir_pid"
wait "$weir_pid" 2> /dev/null
weir_pid=
restored 'kill -9 of the parent'
