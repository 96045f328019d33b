#!/usr/bin/env bash
# kill -9 of the whole box's software at random points while changes are made without pause, KILLS times (15; 200 in the
# long run): each time it starts again with the newest revision that was ever called confirmed, or a newer one
# whose answer was cut off; it runs what it says, and nothing is left half done.
. "$(dirname "$0")/lib.sh"
need curl sqlite3
KILLS=${KILLS:-${LONG:+200}}
KILLS=${KILLS:-15}
RANDOM=1
lab_up 2
fixed_neighbours
config "$WORK/c.json"
weir_serve "$WORK/c.json"
changed() { # makes changes until it is told to stop; what was confirmed is noted
	while [ ! -e "$WORK/enough" ] && api PATCH /v1/config/shapers/right/classes/b -H 'If-Match: *' --json "{\"ls\":$((100000000 + RANDOM))}" && [ "$status" = 200 ]; do
		echo "$(body .revision) $(jq -c '.changes[0].to' "$WORK/body")" >> "$WORK/confirmed"
	done
}
: > "$WORK/confirmed"
for ((i = 1; i <= KILLS; i++)); do
	rm -f "$WORK/enough"
	changed &
	jobs_+=($!)
	changer=$!
	sleep "0.$((RANDOM % 400 + 100))"
	pids=$(weir_pids)
	if ((i % 2)); then # all of it
		# shellcheck disable=SC2086
		kill -9 $pids
		wait "$weir_pid" 2> /dev/null
		touch "$WORK/enough"
		wait "$changer"
		wait_until 10 'the program is gone' eval '! ip -n weir-mid-$$ -d link | grep -q "prog/xdp"'
		weir_serve
	else # the manager alone
		manager=$(weir_manager)
		kill -9 "$manager"
		touch "$WORK/enough" # a change may wait for the next manager, and be made by it
		wait "$changer"
		wait_until 5 'the API is back' weir_serves
	fi
	read -r revision value < <(tail -n 1 "$WORK/confirmed")
	expect 200 GET /v1/config
	now=$(header etag | tr -dc 0-9)
	[ "$now" -ge "${revision:-1}" ] || fail "after kill $i revision $now is in force, $revision was confirmed"
	[ "$now" != "${revision:-0}" ] || [ "$(body .shapers.right.classes.b.ls)" = "$value" ] || fail "revision $now has another value than it was given"
	[ "$(weir_state .revision)" = "$now" ] || fail "the engine runs revision $(weir_state .revision), the API says $now"
	[ "$(weir_state '.shapers.right.classes.b.ls_bps')" = "$(body .shapers.right.classes.b.ls | sed 's/^100mbit$/100000000/')" ] || fail "the engine has another rate than revision $now"
	expect 200 GET "/v1/revisions?limit=5"
	[ "$(body '[.revisions[] | select(.state == "stored" or .state == "pending")] | length')" = 0 ] || fail "left half done: $(body .revisions)"
	[ "$(body '[.revisions[] | select(.state == "confirmed")][0].id')" = "$now" ] || fail "revision $now is in force, and not the newest confirmed one"
done
note "kills=$KILLS changes=$(wc -l < "$WORK/confirmed") revision=$now"
[ "$(wc -l < "$WORK/confirmed")" -ge "$KILLS" ] || fail 'hardly a change was made'
