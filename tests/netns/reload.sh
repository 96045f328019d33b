#!/usr/bin/env bash
# A changed rate under overload (SIGHUP), CHANGES times (4; 10 in the long run): the new rates are there at the receiver
# within 200 ms, and no packet is lost because of the change.
#
# The receiver counts in windows of 20 ms and marks the instant of the signal on the same clock. The new rate is there at
# the start of the first window from which on 100 ms have, in mean, every class within 3 % of its new share of what was
# delivered, and at least 0.9 Gbit/s delivered.
. "$(dirname "$0")/lib.sh"
need
CHANGES=${CHANGES:-${LONG:+10}}
CHANGES=${CHANGES:-4}
lab_up 2
fixed_neighbours
config "$WORK/c.json"
weir_start "$WORK/c.json"
shaper=$(jq -r '.shapers | keys[0]' "$WORK/c.json")
job right "$TOOLS/udprecv" --cpu 0 --gather 500 --interval 20 10194 10196 10197 > "$WORK/recv" 2> "$WORK/recv.err"
recv=$job
listening "$WORK/recv.err"
job left "$TOOLS/udpsend" --cpu 0 --seconds 100 198.18.0.2 10194=1gbit 10196=1gbit 10197=1gbit > "$WORK/send"
send=$job
windows() { [ "$(grep -c ' 10194 ' "$WORK/recv")" -ge "$1" ]; }
wait_until 10 'one second of load' windows 50
for ((i = 1; i <= CHANGES; i++)); do
	if ((i % 2)); then # class a is held at 300 Mbit/s, b and c share the rest
		config "$WORK/c.json" ".shapers[\"$shaper\"].classes.a |= (.rt = \"300mbit\" | .ls = \"300mbit\" | .ul = \"300mbit\")"
	else
		config "$WORK/c.json"
	fi
	revision=$(weir_state .revision)
	kill -USR1 "$recv"
	kill -HUP "$weir_pid"
	wait_until 5 "change $i is applied" eval '[ "$(weir_state .revision)" != '"$revision"' ]'
	seen=$(grep -c ' 10194 ' "$WORK/recv")
	wait_until 10 'a second of the new rate' windows $((seen + 50))
done
kill -TERM "$send" "$recv"
wait "$recv"
lost=$(weir_state '[.. | .reconfigured? // empty | numbers] | add // 0')
awk -v limit=200 '
	# After an odd mark a is at its limit of 300, b and c share the rest; after an even one 5:1:1.
	function ideal(port, total) {
		if (odd)
			return port == 10194 ? 300 : (total - 300) / 2
		return port == 10194 ? total * 5 / 7 : total / 7
	}
	function mean(w, port,  k, sum) {
		for (k = w; k < w + 5; k++)
			sum += rate[k, port]
		return sum / 5
	}
	function settled(w,  p, total) {
		for (p in port)
			total += mean(w, p)
		if (total < 900)
			return 0
		for (p in port)
			if (mean(w, p) < ideal(p, total) * 0.97 || mean(w, p) > ideal(p, total) * 1.03)
				return 0
		return 1
	}
	function judge(  w, t) {
		if (!mark)
			return
		for (w = 1; w + 4 <= n && !settled(w); w++)
			;
		t = w + 4 <= n ? (from[w] - mark) / 1e6 : 1e9
		if (t < 0)
			t = 0
		printf "change %d: new rate after %.0f ms\n", ++changes, t
		if (t > worst)
			worst = t
	}
	/^mark/ { judge(); mark = $2; n = 0; odd = !odd; next }
	/^window/ {
		port[$3] = 1
		if ($2 != last) { n++; from[n] = last; last = $2 }
		rate[n, $3] = $5
	}
	END { judge(); printf "changes=%d worst_ms=%.0f\n", changes, worst; exit !(changes > 0 && worst <= limit) }
' "$WORK/recv"
rc=$?
echo "lost_by_change=$lost"
[ $rc = 0 ] || fail 'the new rate must be at the receiver within 200 ms'
[ "$lost" = 0 ] || fail "$lost packets were lost because of the changes"
