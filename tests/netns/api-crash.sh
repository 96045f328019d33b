#!/usr/bin/env bash
# kill -9 at a random moment while commits run, KILLS times (15; 200 in the long run): of the manager, and every other time of
# all of weir, which is then started again. Each time it comes up with the last commit that was answered, or the one
# that was on its way; store, API and engine agree on it, and the boot does not complain.
. "$(dirname "$0")/lib.sh"
need curl
KILLS=${KILLS:-${LONG:+200}}
KILLS=${KILLS:-15}
SEED=${SEED:-$RANDOM}
RANDOM=$SEED
echo "seed=$SEED"
lab_up 1
config "$WORK/c.json" '.ports[].queues = 1'
weir_serve "$WORK/c.json"
path=/v1/config/shapers/right/classes/a

# One curl, one connection, forty commits: class a at 100,000 + N kbit/s. It ends with the first that is not answered.
commits() {
	local i
	for ((i = 1; i <= 40; i++)); do
		[ $i = 1 ] || echo next
		printf 'url = "%s%s"\nrequest = PATCH\ninsecure\nfail\nmax-time = 10\noutput = /dev/null\n' "$ORIGIN" "$path"
		printf 'header = "Authorization: Bearer %s"\nheader = "If-Match: *"\nheader = "Content-Type: application/json"\n' "$TOKEN"
		printf 'data = "{\\"rt\\":\\"%dkbit\\"}"\nwrite-out = "%%{http_code} %d\\n"\n' $((100000 + $1 + i)) $((100000 + $1 + i))
	done
}
number=0 whole=0
for ((k = 1; k <= KILLS; k++)); do
	commits $number > "$WORK/commits"
	at mid curl -s --fail-early -K "$WORK/commits" > "$WORK/answers" 2> /dev/null &
	client=$!
	sleep "0.$(printf %03d $((RANDOM % 400)))"
	if ((k % 2)); then
		victim=$(weir_manager) || fail 'there is no manager'
		kill -9 "$victim"
		wait "$client"
		wait_until 10 'another manager' eval 'p=$(weir_manager) && [ "$p" != '"$victim"' ]'
		wait_until 10 'the API is back' weir_serves
	else
		whole=$((whole + 1))
		# shellcheck disable=SC2046
		kill -9 $(weir_pids)
		wait "$weir_pid" "$client" 2> /dev/null
		weir_serve
	fi
	grep -qiE 'damaged|moved aside|last-good' "$WORK/weir.log" && fail "kill $k damaged the store: $(tail -n 3 "$WORK/weir.log")"
	acked=$(awk '$1 == 200 { n = $2 } END { print n + 0 }' "$WORK/answers")
	[ "$acked" = 0 ] && acked=$((number ? 100000 + number : 0)) # none was answered: what there was before
	expect 200 GET "$path"
	now=$(body .rt)
	now=$(awk -v v="$now" 'BEGIN { if (v == "500mbit") print 0; else if (v ~ /kbit$/) print v + 0; else print v / 1000 }')
	[ "$now" = "$acked" ] || [ "$now" = $((acked ? acked + 1 : 100001)) ] || fail "kill $k: $acked kbit/s was answered, in force is $now"
	engine=$(weir_state .shapers.right.classes.a.rt_bps)
	[ "$engine" = $((now ? now * 1000 : 500000000)) ] || fail "kill $k: the API says $now kbit/s, the engine has $engine bit/s"
	revision=$(header ETag | tr -dc 0-9)
	expect 200 GET "/v1/revisions/$revision"
	[ "$(body .state)" = confirmed ] || fail "kill $k: in force is revision $revision, which is $(body .state)"
	expect 200 GET '/v1/revisions?limit=100'
	newest=$(body '[.revisions[] | select(.state == "confirmed") | .id] | max')
	[ "$newest" = "$revision" ] || fail "kill $k: in force is $revision, the newest confirmed one is $newest"
	body '.revisions[] | select(.state == "pending") | .id' | grep -q . && fail "kill $k: a revision is left pending"
	number=$((now ? now - 100000 : 0))
done
[ "$number" -ge "$KILLS" ] || fail "only $number commits in $KILLS rounds: nothing was hit"
echo "kills=$KILLS whole=$whole commits=$number"
