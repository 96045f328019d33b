#!/usr/bin/env bash
# Made-up requests over HTTPS (tests/api/generate.sh), REQUESTS of them (500; 10,000 in the long run): no answer of 5xx, weir goes
# on forwarding, and its manager is the same process and has not grown much.
. "$(dirname "$0")/lib.sh"
need curl
REQUESTS=${REQUESTS:-${LONG:+10000}}
REQUESTS=${REQUESTS:-500}
lab_up 1
fixed_neighbours
config "$WORK/c.json" '.ports[].queues = 1'
weir_serve "$WORK/c.json"
manager=$(weir_manager)
resident() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$manager/status"; }
at mid "$ROOT/tests/api/generate.sh" "$ORIGIN" "admin:$PASSWORD" 100 7 > /dev/null || fail 'the first hundred'
before=$(resident)
at mid "$ROOT/tests/api/generate.sh" "$ORIGIN" "admin:$PASSWORD" "$REQUESTS" "${SEED:-1}" || fail 'generate.sh'
after=$(resident)
[ "$(weir_manager)" = "$manager" ] || fail 'the manager was replaced meanwhile'
ping_once > /dev/null || fail 'no forwarding afterwards'
grep -qiE 'sanitizer|assert|makes no sense|malformed' "$WORK/weir.log" && fail "weir complains: $(tail -n 3 "$WORK/weir.log")"
echo "requests=$REQUESTS resident_kb=$before..$after"
[ $((after - before)) -lt 16384 ] || fail "the manager grew by $((after - before)) KB"
