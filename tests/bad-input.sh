#!/usr/bin/env bash
# Bad input is refused whole, by `check` and by `run`: exit 2, and a message that names the place, the value found and
# what is allowed. Nothing is left behind: no process, no changed device.
# shellcheck source=tests/netns/lib.sh
[ $# -gt 0 ] && export BUILD=$1
. "$(dirname "$0")/netns/lib.sh"
need
lab_up 2
ip -n "weir-mid-$$" link add big0 numtxqueues 2 numrxqueues 2 mtu 9000 type veth peer name big1 numtxqueues 2 numrxqueues 2
devices() { ip -n "weir-mid-$$" -d link; at mid ethtool -k w-left; at mid sysctl -a 2> /dev/null | grep -E '^net\.ipv[46]\.conf\.(w-left|w-right|big0)'; }
wait_until 10 'devices are settled' eval '! ip -n weir-mid-$$ addr | grep -q tentative'
devices > "$WORK/before"
tried=0 bad=0

# refused NAME FILE WORD...: both commands refuse the file, and each WORD (a fixed string) is in the message
refused() {
	local name=$1 file=$2 how rc word ok=1
	shift 2
	for how in check 'run --config'; do
		# shellcheck disable=SC2086
		at mid timeout 20 "$WEIR" $how "$file" > "$WORK/out" 2>&1 < /dev/null
		rc=$?
		[ $rc = 2 ] || { echo "$name: weir $how exits with $rc, expected 2"; ok=; }
		for word in "$@"; do
			grep -qF -- "$word" "$WORK/out" || { echo "$name: weir $how does not say '$word'"; ok=; }
		done
		[ $ok ] || sed 's/^/    /' "$WORK/out" | head -n 8
		[ $ok ] || break
	done
	[ -z "$(ip netns pids "weir-mid-$$")" ] || { echo "$name: processes left behind"; ok=; }
	tried=$((tried + 1))
	[ $ok ] || bad=$((bad + 1))
}
edited() { # NAME JQ-FILTER WORD...: the demo's configuration with one thing wrong
	local name=$1 filter=$2
	shift 2
	config "$WORK/bad.json" "$filter"
	refused "$name" "$WORK/bad.json" "$@"
}
text() { # NAME TEXT WORD...
	printf '%s' "$2" > "$WORK/bad.json"
	local name=$1
	shift 2
	refused "$name" "$WORK/bad.json" "$@"
}
S='.shapers.right'
config "$WORK/good.json"
at mid "$WEIR" check "$WORK/good.json" > "$WORK/out" 2>&1 || fail "the demo's own configuration is refused: $(cat "$WORK/out")"

edited 'no such device' '.ports.left.device = "nosuch0"' /ports/left/device nosuch0
edited 'device used twice' '.ports.right.device = "w-left"' /ports/right w-left
edited 'port in two bridges' '.bridges.br1 = {ports: ["right"]}' /bridges/br1 right
edited 'shaper on no port' "$S.port = \"nosuch\"" /shapers/right/port nosuch
edited 'MTU too large for a frame' '.ports.left.device = "big0"' /ports/left 9000
edited 'too few queues' '.ports.left.queues = 3' /ports/left/queues 3 2
edited 'cycle' "$S.classes.x = {parent: \"y\", ls: \"1mbit\"} | $S.classes.y = {parent: \"x\", ls: \"1mbit\"}" /shapers/right/classes/x
edited 'no default class' "del($S.default)" /shapers/right default
edited 'default is an unknown class' "$S.default = \"nosuch\"" /shapers/right/default nosuch
edited 'rt on an inner class' "$S.classes.b.parent = \"a\"" /shapers/right/classes/a rt
edited 'ul without ls' "$S.classes.x = {rt: \"1mbit\", ul: \"2mbit\"}" /shapers/right/classes/x ls
edited 'guarantees above the link' "$S.classes.b.rt = \"900mbit\"" /shapers/right "1 Gbit/s"
edited 'rate 0' "$S.rate = 0" /shapers/right/rate 0 1kbit 400gbit
edited 'rate -5' "$S.rate = -5" /shapers/right/rate -5 1kbit 400gbit
edited 'rate 1e30' "$S.rate = 1e30" /shapers/right/rate 1kbit 400gbit
edited 'rate "10 bananas"' "$S.rate = \"10 bananas\"" /shapers/right/rate '10 bananas'
edited 'class rate "10 bananas"' "$S.classes.a.ls = \"10 bananas\"" /shapers/right/classes/a/ls '10 bananas'
edited 'curve with a rate of -1' "$S.classes.ping.rt.m1 = \"-1\"" /shapers/right/classes/ping/rt/m1
edited 'unknown key at the top' '.portz = {}' /portz
edited 'unknown key of a port' '.ports.left.colour = "red"' /ports/left/colour
edited 'unknown key of a class' "$S.classes.a.speed = 1" /shapers/right/classes/a/speed
edited 'rule for an unknown class' '.classifiers.right[0].class = "nosuch"' /classifiers/right/0/class nosuch
edited 'rule with a bad prefix' '.classifiers.right[0].src = "10.0.0.1/33"' /classifiers/right/0/src 10.0.0.1/33
edited 'worker on a CPU that is not there' '.system.workers = [1000]' /system/workers/0 1000
edited 'wrong type' '.ports = []' /ports
edited 'all errors at once' ".ports.left.device = \"nosuch0\" | $S.rate = -5 | .portz = {} | $S.classes.a.ls = \"10 bananas\"" \
	/portz /shapers/right/rate '10 bananas'
text 'empty file' '' 'line 1'
text 'broken JSON' '{"ports": {"lan": ' 'line 1'
text 'two documents' '{} {}' 'line 1'
text 'not an object' '[1, 2]' 'object'
text 'deep nesting' "$(printf '[%.0s' {1..5000})" 'line 1'
text 'key twice' '{"ports": {}, "ports": {}}' ports
refused 'no such file' "$WORK/nosuch.json" nosuch.json
refused 'a folder' "$WORK" "$WORK"
truncate -s 100M "$WORK/large.json"
refused 'a file of 100 MB' "$WORK/large.json" large.json 64
rm "$WORK/large.json"

devices > "$WORK/after"
diff -u "$WORK/before" "$WORK/after" || { echo 'devices were changed: the lines above'; bad=$((bad + 1)); }
echo "$tried bad inputs, $bad not refused as they should be"
[ $bad = 0 ]
