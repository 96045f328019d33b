#!/usr/bin/env bash
# 300 idle connections, with and without a handshake, from another host and from this machine itself, and headers that never
# end: all but a few are turned away, none stays past its deadline, a client on this machine is served within 1 s, and
# forwarding does not notice.
. "$(dirname "$0")/lib.sh"
need curl
lab_up 2
fixed_neighbours
netns desk # a host on a management network of its own
veth desk d0 mid w-desk 1
ip -n "weir-desk-$$" addr add 198.18.1.2/24 dev d0
ip -n "weir-mid-$$" addr add 198.18.1.1/24 dev w-desk
LISTEN=0.0.0.0:8443 # ORIGIN stays this machine's own address
config "$WORK/c.json"
weir_serve "$WORK/c.json"
wait_until 5 'ping' ping_once

served() { # fails if a new client is not served within 1 s; the slowest one is in $slowest
	local t
	t=$(at mid curl -sk --max-time 5 -o /dev/null -w '%{http_code} %{time_total}' -H "Authorization: Bearer $TOKEN" "$ORIGIN/v1/config") ||
		fail "$1: a client on this machine is not served: $t"
	awk -v t="$t" 'BEGIN { split(t, w); exit !(w[1] == 200 && w[2] < 1) }' || fail "$1: status and seconds: $t"
	slowest=$(awk -v a="$slowest" -v b="${t#* }" 'BEGIN { print (a > b) ? a : b }')
}
slowest=0
crowd() { # NAMESPACE ADDRESS WHAT OPTION...: 300 connections for 6 s, beside them pings and a client
	local ns=$1 address=$2 what=$3 hold ping taken
	shift 3
	job left "$TOOLS/pinger" --cpu 0 --interval-us 2000 --count 3000 --json 198.18.0.2 > "$WORK/ping"
	ping=$job
	job "$ns" "$TOOLS/rudeclient" hold --count 300 --seconds 6 "$@" "$address:8443" > "$WORK/hold" 2> "$WORK/hold.err"
	hold=$job
	wait_until 10 'the crowd is there' grep -q holding "$WORK/hold.err"
	sleep 3 # they have to be idle for a while, as those are that have nothing to say
	taken=$(at mid ss -Htnp state established "( sport = :8443 )" | grep -c "pid=$(weir_manager),")
	for _ in 1 2 3; do served "$what"; done
	wait "$hold" || fail "$what: $(cat "$WORK/hold.err")"
	echo "$what: taken=$taken, at the client $(cat "$WORK/hold")"
	[ "$taken" -ge 1 ] && [ "$taken" -le 72 ] || fail "$what: weir holds $taken connections; 64 are served, 8 may be being told that they are not"
	wait "$ping"
	jq -e '.answered == .sent and .rtt_us.p99 < 5000' "$WORK/ping" > /dev/null || { cat "$WORK/ping"; fail_if_quiet "$what: forwarding has suffered"; }
	echo "$what: ping $(jq -c .rtt_us "$WORK/ping")"
}
machine_mark
crowd desk 198.18.1.1 'remote, no handshake' --plain
crowd desk 198.18.1.1 'remote, with handshake'
crowd mid 127.0.0.1 'local, with handshake'

job desk "$TOOLS/rudeclient" slow 198.18.1.1:8443 > "$WORK/slow" 2>&1
served 'slow headers'
wait "$job" || fail "slow headers: $(cat "$WORK/slow")"
echo "slow headers: $(cat "$WORK/slow")"
awk -F '[= ]' '{ exit !(($2 == 408 || $2 == 0) && $4 >= 9000 && $4 <= 12500) }' "$WORK/slow" || fail 'headers have 10 s'
expect 200 GET /v1/config
echo "slowest_client_s=$slowest"
