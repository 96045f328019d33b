#!/usr/bin/env bash
# TCP between two stations whose transmit offloads are left at their defaults: they hand over partial checksums and
# super-packets. Both ways, IPv4 and IPv6, then datagrams larger than a frame. No checksum error at either receiver.
. "$(dirname "$0")/lib.sh"
need iperf3 ping nstat
lab_up 2
config "$WORK/c.json" "$UNSHAPED"
weir_start "$WORK/c.json"
V6=fd00:dead:cafe:4::2
wait_until 10 'ping' ping_once
wait_until 10 'ping over IPv6' ping_once left $V6
errors() { at "$1" nstat -asz TcpInCsumErrors UdpInCsumErrors Udp6InCsumErrors 2> /dev/null | awk '!/^#/ { n += $2 } END { print n + 0 }'; }

job right iperf3 -s --forceflush > "$WORK/server" 2>&1
listening "$WORK/server"
for way in '' -R; do
	for to in 198.18.0.2 $V6; do
		at left timeout 20 iperf3 -c $to $way -t 3 -J > "$WORK/iperf" || fail "iperf3 $way to $to: $(jq -r '.error // empty' "$WORK/iperf")"
		mbit=$(jq '.end.sum_received.bits_per_second / 1e6 | floor' "$WORK/iperf")
		[ "$mbit" -ge 100 ] || fail "TCP ${way:-forward} to $to: $mbit Mbit/s"
		note "TCP ${way:-forward} $to: $mbit Mbit/s"
	done
done
for to in 198.18.0.2 $V6; do
	job right "$TOOLS/udprecv" --seconds 20 --json 5001 > "$WORK/recv" 2> "$WORK/recv.err"
	recv=$job
	listening "$WORK/recv.err"
	sent=$(at left "$TOOLS/udpsend" --no-gso --size 8900 --burst 1 --seconds 1 --json $to 5001=200pps | jq '.ports[0].sent')
	sleep 0.2 # the last datagrams' way; the count below must be exact
	kill -TERM "$recv"
	wait "$recv"
	got=$(jq '.ports[0].packets' "$WORK/recv")
	[ "$sent" -gt 100 ] && [ "$got" = "$sent" ] || fail "8900-byte datagrams to $to: $got of $sent arrived"
	note "8900-byte datagrams to $to: $got of $sent"
done
for h in left right; do
	bad=$(errors $h)
	[ "$bad" = 0 ] || fail "$bad checksum errors at $h"
done
note 'checksum errors: 0'
