#!/usr/bin/env bash
# Three senders of 1 Gbit/s each against one link of 1 Gbit/s: weir keeps every class at its guarantee, splits the rest
# as the curves say, and a ping beside them stays quick. The configuration is configs/demo.json.
#
#   left: 3 x 1 Gbit/s UDP, ping  ->  mid: weir, a bridge with a shaper of 1 Gbit/s towards right  ->  right: receiver
#
# The three are network namespaces of this process's own, joined by veth pairs with two queues. Senders, receiver and
# ping share CPU 0, weir's worker has the last CPU. Rates count the frame (1,472 bytes of payload: 1,514), as the shaper does.
#
#   packaging/demo.sh              a live table until Ctrl-C; dashboard and API at https://127.0.0.1:8443
#       --listen ADDRESS:PORT      dashboard and API somewhere else
#   packaging/demo.sh --seconds N  one measurement of N seconds, a table, a verdict; exit 1 if a promise was broken
cd "$(dirname "$0")/.." || exit 2
. tests/netns/lib.sh

PORTS=(10194 10196 10197) # in the order of the classes a, b, c
CLASSES=(a b c)
TARGET=198.18.0.2
WARMUP=1 # seconds of load before the measurement

usage() { echo 'usage: packaging/demo.sh [--listen ADDRESS:PORT | --seconds N]     N from 1 to 3600' >&2; exit 2; }
seconds=
case "${1-}" in
'') OUTSIDE=1 ;;
--listen) [[ ${2-} =~ ^[0-9.]+:[0-9]{1,5}$ ]] && [ $# = 2 ] || usage; OUTSIDE=1 LISTEN=$2 ORIGIN=https://$2 ;;
--seconds) [[ ${2-} =~ ^[1-9][0-9]{0,3}$ ]] && [ $# = 2 ] && [ "$2" -le 3600 ] || usage; seconds=$2 ;;
*) usage ;;
esac
[ "$(id -u)" = 0 ] || { echo 'demo: needs root, to make network namespaces' >&2; exit 1; }
need curl
[ "$LAST_CPU" -gt 0 ] || echo 'demo: one CPU only: senders and weir disturb each other, figures will be poor'

shaper=right
classes=".shapers[\"$shaper\"].classes"
rates=()
for p in "${PORTS[@]}"; do rates+=("$p=1gbit"); done

# Frames that did not fit the port's ring (the kernel counts them at the sending end of a veth pair).
device_drops() { at left cat /sys/class/net/l0/statistics/tx_dropped; }
start() {
	lab_up 2
	config "$WORK/demo.json"
	weir_managed "$WORK/demo.json"
	wait_until 10 'the first ping' ping_once
}

measure() {
	job right "$TOOLS/udprecv" --cpu 0 --gather 500 --warmup $((WARMUP + 1)) --seconds "$seconds" --json "${PORTS[@]}" > "$WORK/recv" 2> "$WORK/recv.err"
	local recv=$job send ping
	listening "$WORK/recv.err"
	local drops0
	drops0=$(device_drops)
	weir_status > "$WORK/status0"
	job left "$TOOLS/udpsend" --cpu 0 --seconds $((seconds + WARMUP + 2)) --json $TARGET "${rates[@]}" > "$WORK/send"
	send=$job
	machine_mark
	sleep "$WARMUP" # the senders' start is not what is measured
	job left "$TOOLS/pinger" --cpu 0 --interval-us 10000 --count $((seconds * 100)) --json $TARGET > "$WORK/ping"
	ping=$job
	wait "$ping"
	wait "$recv" || fail 'the receiver ended with an error'
	wait "$send" || fail 'the senders ended with an error'
	machine_busy > "$WORK/busy"
	drained() { [ "$(weir_state "[${classes}[].backlog_packets] | add")" = 0 ]; }
	wait_until 5 'the queues are empty' drained
	sleep 0.1 # counters are written out by the worker every few ms
	weir_status > "$WORK/status1"
	echo $(($(device_drops) - drops0)) > "$WORK/drops"
}

# The table and the verdicts, all computed in one place from what was measured.
judge() {
	jq -n -r --slurpfile recv "$WORK/recv" --slurpfile send "$WORK/send" --slurpfile ping "$WORK/ping" \
		--slurpfile s0 "$WORK/status0" --slurpfile s1 "$WORK/status1" --slurpfile drops "$WORK/drops" \
		--arg shaper $shaper --arg names "${CLASSES[*]}" '
		def ring: [.queues[].rx_dropped] | add;
		def socketless: [.ports[].program_misses] | add;
		def mbit: . * 10 | round / 10;
		def ms: . / 1000 | round / 1000;
		def verdict($what; $ok): (if $ok then "PASS" else "FAIL" end) + " " + $what;
		$recv[0] as $r | $send[0] as $s | $ping[0] as $p | $s1[0].shapers[$shaper] as $now | $s0[0].shapers[$shaper] as $was
		| ($names / " ") as $names
		| [range($names | length) | $names[.] as $n | $r.ports[.] as $got | $s.ports[.] as $out | $now.classes[$n] as $c
			| {name: $n, rt: ($c.rt_bps / 1e6), ls: ($c.ls_bps / 1e6), offered: $out.mbit, got: $got.mbit,
			   reordered: $got.reordered, sent: $out.sent, p50: ($c.delay_p50_ns | ms), p99: ($c.delay_p99_ns | ms),
			   entered: ($c.enqueued_packets - $was.classes[$n].enqueued_packets)}] as $rows
		| (($p.answered / $r.seconds) * 98 * 8 / 1e6) as $pingrate
		| ([$rows[].got] | add) as $sum | ([$rows[].rt] | add) as $rt | ([$rows[].ls] | add) as $ls
		| ($rows | map(. + {ideal: (.rt + ([$sum - $rt, 0] | max) * .ls / $ls)})) as $rows
		| (($sum + $pingrate) / 1000) as $total
		| (($s1[0] | ring) - ($s0[0] | ring)) as $ring | (($s1[0] | socketless) - ($s0[0] | socketless)) as $socketless
		| ([$rows[].sent] | add) as $sent | ([$rows[].entered] | add) as $entered
		| ([$rows[] | .got / .rt] | min) as $worst
		| ([$rows[] | if .ideal > .rt then (.got - .ideal) / (.ideal - .rt) | fabs else 1 end] | max) as $skew
		| "class\tguarantee\toffered\tmeasured\tby curves\tdelay p50\tdelay p99",
		  "\tMbit/s\tMbit/s\tMbit/s\tMbit/s\tms\tms",
		  ($rows[] | [.name, (.rt | mbit), (.offered | mbit), (.got | mbit), (.ideal | mbit), .p50, .p99] | @tsv),
		  ([("ping", "-", "-", ($pingrate * 1000 | round / 1000), "-"), ($now.classes.ping | (.delay_p50_ns | ms), (.delay_p99_ns | ms))] | @tsv),
		  "",
		  verdict("guarantees: the lowest class has \($worst * 10000 | round / 100) % of its guarantee (at least 99)"; $worst >= 0.99),
		  verdict("excess: split as the curves say, off by at most \($skew * 10000 | round / 100) % (at most 3)"; $skew <= 0.03),
		  verdict("total: \($total * 10000 | round / 10000) Gbit/s (0.95 to 1.00)"; $total >= 0.95 and $total <= 1.0005),
		  verdict("ping: p50 \($p.rtt_us.p50 * 1000 | ms) ms, p99 \($p.rtt_us.p99 * 1000 | ms) ms (under 5), \($p.answered) of \($p.sent) answered";
			$p.rtt_us.p99 < 5000 and $p.answered >= 0.99 * $p.sent),
		  verdict("loss before the classifier: \($sent - $entered) of \($sent) frames (0); counted \($drops[0]) at the device, \($ring) at the receive ring, \($socketless) without a socket";
			$sent == $entered and $drops[0] + $ring + $socketless == 0),
		  verdict("offered: every sender sent at least 95 % of 1 Gbit/s"; ([$rows[].offered] | min) >= 950)
	' > "$WORK/table" || fail 'the measurements could not be read'
	grep -P '\t' "$WORK/table" | column -t -R 2,3,4,5,6,7 -s "$(printf '\t')"
	echo 'Mbit/s of whole frames without FCS, 1,514 bytes each; delay: from the receive ring to the transmit ring'
	grep -v -P '\t' "$WORK/table"
	! grep -q ^FAIL "$WORK/table"
}

# How to get at it, and what to try.
introduce() {
	local login="curl -k -u admin:$PASSWORD"
	cat <<-EOF
		weir: 3 x 1 Gbit/s into a link of $(jq -r ".shapers[\"$shaper\"].rate" "$WORK/demo.json") (Ctrl-C ends it)

		dashboard   $ORIGIN
		user        admin
		password    $PASSWORD
		certificate SHA-256 $(sed -nE 's/.*SHA-256[^:]*: *//p' "$WORK/weir.out")

		$login $ORIGIN/v1/state/shapers/$shaper/classes
		$login -X PATCH -H 'If-Match: *' --json '{"rt":"300mbit","ls":"300mbit","ul":"300mbit"}' '$ORIGIN/v1/config/shapers/$shaper/classes/a?confirm=60'
		$login $ORIGIN/metrics

	EOF
}

live() {
	job right "$TOOLS/udprecv" --cpu 0 --gather 500 --interval 1000 "${PORTS[@]}" > "$WORK/recv" 2> "$WORK/recv.err"
	listening "$WORK/recv.err"
	job left "$TOOLS/udpsend" --cpu 0 --seconds 86400 $TARGET "${rates[@]}" > "$WORK/send"
	echo '{}' > "$WORK/ping"
	local home='' columns before now
	introduce > "$WORK/introduction"
	if [ -t 1 ]; then home=$'\033[H\033[J'; else cat "$WORK/introduction"; fi
	before=$(device_drops)
	while kill -0 "$weir_pid" 2> /dev/null; do
		at left "$TOOLS/pinger" --cpu 0 --interval-us 20000 --count 50 --json $TARGET > "$WORK/ping" || echo '{}' > "$WORK/ping" # takes a second
		now=$(($(device_drops) - before))
		columns=$(tail -n 3 "$WORK/recv" | awk '$1 == "window" { printf "%s\"%s\":%s", n++ ? "," : "", $3, $5 }')
		weir_status | jq -r --argjson got "{$columns}" --slurpfile ping "$WORK/ping" --argjson drops "$now" \
			--arg shaper $shaper --arg names "${CLASSES[*]}" --arg ports "${PORTS[*]}" '
			.shapers[$shaper] as $s | ($names / " ") as $n | ($ports / " ") as $p
			| "class\tguarantee\tmeasured\tdelay p50\tdelay p99", "\tMbit/s\tMbit/s\tms\tms",
			  (range($n | length) | $n[.] as $name | $s.classes[$name] as $c
				| [$name, $c.rt_bps / 1e6, $got[$p[.]] // "-", $c.delay_p50_ns / 1e6, $c.delay_p99_ns / 1e6] | @tsv),
			  "total\t\t\([$got[]] | add // 0 | . * 10 | round / 10)\t\t",
			  "",
			  "ping p50 \($ping[0].rtt_us.p50 // 0 | round / 1000) ms, p99 \($ping[0].rtt_us.p99 // 0 | round / 1000) ms",
			  "lost before the classifier: \([.queues[].rx_dropped, .ports[].program_misses, $drops] | add) frames"' > "$WORK/table" || break
		{
			[ -n "$home" ] && printf '%s' "$home" && cat "$WORK/introduction"
			grep -P '\t' "$WORK/table" | column -t -R 2,3,4,5,6,7 -s "$(printf '\t')"
			grep -v -P '\t' "$WORK/table"
		} | cat
	done
	fail 'weir has ended'
}

start
if [ -z "$seconds" ]; then
	trap 'echo; exit 0' INT TERM
	live
fi
measure
judge && exit 0
# Promises are about a CPU that is weir's own. Whoever runs this as a test wants to know that it says nothing (75).
cat "$WORK/busy"
[ -s "$WORK/busy" ] && [ -n "${WEIR_TEST-}" ] && exit 75
exit 1
