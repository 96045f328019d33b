#!/usr/bin/env bash
# SIGHUP with a file that is wrong changes nothing: the errors are told, the running revision stays, packets pass.
. "$(dirname "$0")/lib.sh"
need ping
lab_up 2
config "$WORK/c.json"
weir_start "$WORK/c.json"
wait_until 10 'ping' ping_once
before=$(weir_state .revision)
pids=$(weir_pids | tr '\n' ' ')
told() { [ "$(wc -l < "$WORK/weir.log")" -gt "$lines" ] && tail -n +$((lines + 1)) "$WORK/weir.log" | grep -q "$1"; }
attempt() { # WHAT PATTERN: reload the file as it is now; PATTERN must be told
	lines=$(wc -l < "$WORK/weir.log")
	kill -HUP "$weir_pid"
	wait_until 10 "$1: told" told "$2"
	[ "$(weir_state .revision)" = "$before" ] || fail "$1: the revision changed from $before"
	[ "$(weir_pids | tr '\n' ' ')" = "$pids" ] || fail "$1: a process was restarted"
	at left ping -c 2 -i 0.05 -W 1 198.18.0.2 > /dev/null || fail "$1: packets don't pass"
}
shaper=$(jq -r '.shapers | keys[0]' "$WORK/c.json")
config "$WORK/c.json" ".shapers[\"$shaper\"].rate = \"-5\""
attempt 'a negative rate' "/shapers/$shaper/rate"
config "$WORK/c.json" ".shapers[\"$shaper\"].classes.a.rt = \"900mbit\""
attempt 'guarantees above the link' "/shapers/$shaper"
config "$WORK/c.json" '.ports.left.device = "nosuch0"'
attempt 'a device that does not exist' '/ports/left'
echo '{ "system": ' > "$WORK/c.json"
attempt 'broken JSON' 'line'
rm "$WORK/c.json"
attempt 'no file' 'c.json'
config "$WORK/c.json" ".shapers[\"$shaper\"].rate = \"900mbit\""
kill -HUP "$weir_pid"
wait_until 10 'a good file is applied after the bad ones' eval '[ "$(weir_state .revision)" != '"$before"' ]'
note 'five bad files refused, a good one applied'
