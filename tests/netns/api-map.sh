#!/usr/bin/env bash
# docs/rest-api.md tells the truth: every method and path of its table is there (never 404 for the path, 405 or 5xx), has the
# documented least role, and answers JSON that has the documented keys (the event stream and /metrics their own formats).
. "$(dirname "$0")/lib.sh"
need curl
lab_up 1
config "$WORK/c.json" '.ports[].queues = 1'
weir_serve "$WORK/c.json"
expect 201 POST /v1/tokens --json '{"name":"viewer","role":"viewer"}'
viewer=$(body .token)
expect 200 PATCH '/v1/config/shapers/right/classes/a?confirm=600' -H 'If-Match: *' --json '{"rt":"400mbit"}'
id=$(body .revision) seen=0
admin=$TOKEN
while read -r method path role; do
	case $path in
	*/ID/confirm | */ID/revert | */ID/rollback | */tokens/ID) path=${path/ID/999999} ;; # only whether it is there
	*) path=${path/ID/$id} ;;
	esac
	path=${path/PATH/shapers/right/rate} path=${path/users\/NAME/users/no-such} path=${path/NAME/right}
	path=${path//limit=N/limit=5} path=${path/before=ID/before=99}
	for TOKEN in "$viewer" '' "$admin"; do
		if [ "$path" = /v1/events ] && [ -n "$TOKEN" ]; then
			api "$method" "$path" --max-time 2
			grep -q '^event: stats' "$WORK/body" || fail "no event within 2 s: $(head -c 200 "$WORK/body")"
			continue
		fi
		api "$method" "$path" ${TOKEN:+-H 'If-Match: "r999999"' --json '{}'}
		case $role$TOKEN in
		-*) ;;
		*"$admin") ;;
		viewer"$viewer") ;;
		*"$viewer") [ "$status" = 403 ] || fail "$method $path needs $role, and answers a viewer with $status" ;;
		*) [ "$status" = 401 ] || fail "$method $path answers nobody with $status" ;;
		esac
		case $status in 000 | 405 | 5??) fail "$method $path: status $status" ;; esac
		case $path$status in *999999*404 | */no-such404) ;; *404) fail "$method $path: is not there" ;; esac
	done
	seen=$((seen + 1))
done < <(awk -F '|' '/^\| `/ && NF >= 5 {
	role = $3; gsub(/ /, "", role); n = split($2, part, "`")
	for (i = 2; i <= n; i += 2) {
		k = split(part[i], w, " ")
		for (m = 1; m < k; m++)
			print w[m], w[k], role
	}
}' "$ROOT/docs/rest-api.md")
[ $seen -ge 30 ] || fail "only $seen methods and paths were found in docs/rest-api.md"
TOKEN=$admin

keys() { # PATH JQ-FILTER: must be true of the answer
	expect 200 GET "$1"
	[ "$(body "$2")" = true ] || fail "$1 is not as documented: $(head -c 400 "$WORK/body")"
}
has='def has_all($k): . as $o | $k | all(. as $n | $o | has($n));'
keys /v1/info "$has has_all([\"name\",\"version\",\"api\",\"started\",\"uptime_s\"])"
keys /v1/revisions "$has .revisions[0] | has_all([\"id\",\"parent\",\"state\",\"created\",\"author\",\"comment\",\"source\",\"summary\"])"
keys "/v1/revisions/$id" '.document.shapers.right.classes.a.rt != null'
keys /v1/revisions/pending '.seconds_left > 500'
keys /v1/state/ports "$has .ports[0] | has_all([\"name\",\"device\",\"up\",\"mode\",\"rx_packets\",\"rx_bytes\",\"tx_packets\",\"tx_bytes\",\"rx_lost\",\"drops\",\"queues\"])"
keys /v1/state/shapers "$has .shapers[0] | has_all([\"name\",\"port\",\"rate_bps\",\"worker\",\"classes\"])"
keys /v1/state/shapers/right/classes "$has .classes | length == 5 and all(has_all([\"name\",\"parent\",\"leaf\",\"default\",\"rt_bps\",\"ls_bps\",\"ul_bps\",\"sent_packets\",\"sent_bytes\",\"enqueued_packets\",\"backlog_packets\",\"backlog_bytes\",\"drops\",\"marked\",\"delay_p50_ns\",\"delay_p99_ns\"]))"
keys /v1/state/workers "$has (.workers | length == 1) and (.frames | has_all([\"total\",\"pool\",\"unaccounted\"]))"
keys /v1/state/drops '.drops | length > 0 and all(has("reason") and has("text") and has("packets"))'
expect 200 GET /metrics
grep -qE '^weir_[a-z_]+(\{[^}]*\})? [0-9.e+]+$' "$WORK/body" || fail "/metrics: $(head -n 3 "$WORK/body")"
expect 200 GET /v1/schema
settings=$(body '[.. | .path? // empty | strings] | length')
[ "$settings" -gt 20 ] || fail "only $settings settings in /v1/schema"
echo "$seen methods and paths, $settings settings, $(grep -c ^weir_ < <(api GET /metrics; cat "$WORK/body")) metrics"
