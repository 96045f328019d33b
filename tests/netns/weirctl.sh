#!/usr/bin/env bash
# weirctl against a running weir: trusting and logging in, reading, editing a candidate, commits that are confirmed, reverted and
# forgotten, somebody else's change in between, another role, another certificate; its exit codes throughout.
. "$(dirname "$0")/lib.sh"
need curl script
WEIRCTL=$BUILD/weirctl
[ -x "$WEIRCTL" ] || fail "$WEIRCTL is missing: run make first"
export XDG_CONFIG_HOME=$WORK/home HOME=$WORK
unset WEIR_URL WEIR_TOKEN WEIR_FINGERPRINT

said=''
ctl() { # CODE WORD...: runs weirctl with standard input as it is; what it says is in $said
	local want=$1 rc
	shift
	said=$(at mid "$WEIRCTL" "$@" 2>&1)
	rc=$?
	[ $rc = "$want" ] || fail "weirctl $*: exit $rc, not $want: $said"
}
says() { # TEXT...: each must be in what was said
	local t
	for t in "$@"; do [[ $said == *"$t"* ]] || fail "not said: \"$t\", but: $said"; done
}
silent() { [ -z "$said" ] || fail "said without need: $said"; }
ls_of() { at mid "$WEIRCTL" -j show config shapers right classes "$1" | jq -r .ls; }

lab_up 2
ctl 3 info
says 'Does weir run there'
config "$WORK/c.json"
weir_managed "$WORK/c.json"

# --- whom to trust, and who one is
ctl 4 show ports
says 'is not known here' 'weirctl login'
ctl 2 login --password-stdin <<< "$PASSWORD"
says 'SHA-256 fingerprint' 'nobody is there to compare it'
pin=$(grep -oE '([0-9A-F]{2}:){31}[0-9A-F]{2}' <<< "$said")
grep -qF "$pin" "$WORK/weir.out" || fail 'the fingerprint shown is not the one that weir printed'
other=$(tr 0-9A-F 1-9A-F0 <<< "$pin")
ctl 3 --fingerprint "$other" login --password-stdin <<< "$PASSWORD"
says 'another certificate' "$other" "$pin" 'nothing was sent'
ctl 0 --fingerprint "$pin" info
says 'weir ' "$pin"
ctl 4 --fingerprint "$pin" show ports
says 'wants to know who you are'
ctl 4 --fingerprint "$pin" login --password-stdin <<< 'not the password'
says 'wrong name or password'
[ ! -e "$XDG_CONFIG_HOME/weir/credentials" ] || fail 'something was saved by a login that failed'
ctl 0 login --password-stdin --yes <<< "$PASSWORD"
says 'logged in' 'as admin (admin)'
[ "$(stat -c %a "$XDG_CONFIG_HOME/weir/credentials")" = 600 ] || fail 'others may read the credentials'
grep -rqF "$PASSWORD" "$XDG_CONFIG_HOME" && fail 'the password was saved'

# --- reading
ctl 0 show ports
says 'left ' 'w-right' ' up '
ctl 0 show classes
says 'right: 1 Gbit/s' '500 Mbit/s'
for what in config shapers workers drops revisions 'revision 1' pending schema users tokens audit; do
	# shellcheck disable=SC2086
	ctl 0 show $what
	[[ $said == *$'\033'* ]] && fail "show $what: colour without a terminal"
done
at mid "$WEIRCTL" -j show ports | jq -e '.ports | length == 2' > /dev/null || fail '-j show ports is not the JSON of the server'
ctl 1 show config no such place
ctl 2 show nothing
ctl 2 show ports --confirm 5
ctl 2 bogus

# --- a candidate
ctl 2 commit
says 'there is no candidate'
ctl 0 set shapers right classes a ls 300mbit
silent
ctl 0 set shapers/right/classes/new '{"ls": "5mbit"}'
ctl 0 insert classifiers right 0 '{"proto": "tcp", "class": "new"}'
[ "$(ls_of a)" = 500mbit ] || fail 'set changed the server'
ctl 0 diff
[ "$said" = '- /shapers/right/classes/a/ls 500mbit
+ /shapers/right/classes/a/ls 300mbit
+ /shapers/right/classes/new/ls 5mbit
+ /classifiers/right/0 {"proto": "tcp", "class": "new"}' ] || fail "the diff is: $said"
ctl 0 commit --comment 'a new class'
says 'revision 2 is in force: 3 changes in ' ' 0 packets lost'
[ "$(ls_of a)" = 300mbit ] || fail 'the commit did not arrive'
ctl 0 show revisions -n 1
says 'a new class'
ctl 0 diff 1 2
says '+ /shapers/right/classes/a/ls 300mbit'

# --- refusals: every error a line, and nothing changed
ctl 0 set shapers right rate 5
ctl 0 set shapers right classes x rt nonsense
ctl 1 commit
says '/shapers/right/rate: 5' '/shapers/right/classes/x/rt: "nonsense"'
ctl 0 discard
ctl 0 set system frames 65536
ctl 1 commit
says '--restart'
ctl 0 discard
ctl 2 set shapers
ctl 2 set classifiers right 99 '{}'
ctl 2 delete shapers right nothing
ctl 2 set shapers right classes a '{"ls":'

# --- confirmed, reverted, forgotten
ctl 0 set shapers right classes a ls 200mbit
ctl 0 commit --confirm 60
says 'revision 3 is pending' 'weirctl confirm'
ctl 0 show pending
ctl 0 set shapers right classes a ls 201mbit
ctl 1 commit
says 'pending' 'weirctl revert'
ctl 0 discard
ctl 0 confirm
says 'revision 3 is kept'
ctl 1 confirm
says 'no revision is pending'
ctl 0 rollback 1 --confirm 60
ctl 0 revert
says 'taken back; in force is 3'
[ "$(ls_of a)" = 200mbit ] || fail 'revert did not bring the revision before back'
job mid "$WEIRCTL" watch revision alarm > "$WORK/watch" 2>&1
ctl 0 set shapers right classes a ls 100mbit
ctl 0 commit --confirm 5
back() { [ "$(ls_of a)" = 200mbit ]; }
wait_until 8 'the revision that nobody confirmed is taken back' back
told() { grep -q ' revision 5 pending' "$WORK/watch" && grep -q ' revision 5 reverted' "$WORK/watch"; }
wait_until 2 'watch tells both' told
ctl 0 rollback 2 --dry-run
says '+ /shapers/right/classes/a/ls 300mbit'
[ "$(ls_of a)" = 200mbit ] || fail 'a dry run changed something'

# --- one value at once
ctl 0 set --now shapers right classes c ls 110mbit --comment quick
says '+ /shapers/right/classes/c/ls 110mbit' ' is in force: 1 change'
ctl 0 delete --now shapers right burst
says '- /shapers/right/burst'
ctl 1 set --now shapers right rate nonsense
says '/shapers/right/rate: "nonsense"'

# --- somebody else was quicker
ctl 0 set shapers right classes a ls 250mbit
ctl 0 set --now shapers right classes b '{"rt": "90mbit", "ls": "90mbit", "ul": "1gbit"}'
ctl 1 commit
says 'weirctl rebase'
ctl 0 rebase
ctl 0 commit
[ "$(ls_of a) $(ls_of b)" = '250mbit 90mbit' ] || fail 'the rebased candidate lost a change'
ctl 0 set shapers right classes b ls 80mbit
ctl 0 set --now shapers right classes b '{"rt": "70mbit", "ls": "70mbit", "ul": "1gbit"}'
ctl 1 rebase
says '/shapers/right/classes/b/ls: both sides changed it'
ctl 0 rebase --mine
ctl 0 commit
[ "$(ls_of b)" = 80mbit ] || fail 'rebase --mine did not keep the value'

# --- whole documents
at mid "$WEIRCTL" show config > "$WORK/whole.json"
ctl 0 set shapers right classes a ls 260mbit
ctl 0 load "$WORK/whole.json"
says 'is what is in force'
ctl 0 merge - <<< '{"shapers": {"right": {"classes": {"new": null}}}, "classifiers": {"right": null}}'
ctl 0 commit
at mid "$WEIRCTL" -j show config | jq -e '.classifiers == {} or (.classifiers | not)' > /dev/null || fail 'null did not remove'

# --- a terminal
mkfifo "$WORK/keys"
exec 9<> "$WORK/keys" # open for writing too, so that it has no end
timeout 40 script -qefc "ip netns exec weir-mid-$$ env TERM=xterm $WEIRCTL top" "$WORK/top" <&9 > /dev/null &
jobs_+=($!)
drawn() { grep -q GUARANTEE "$WORK/top"; }
wait_until 20 'top draws' drawn
printf q >&9
wait $! || fail 'top did not end well'
grep -q 'shaper right' "$WORK/top" || fail 'top did not show the shaper'
grep -q $'\033\\[?1049l' "$WORK/top" || fail 'top did not give the screen back'

# --- another role: a session, not a token
ctl 0 show users
TOKEN=$(jq -r '.servers[].token' "$XDG_CONFIG_HOME/weir/credentials")
expect 201 PUT /v1/users/viewer --json '{"role": "viewer", "password": "a long enough password"}'
mkdir "$WORK/second"
XDG_CONFIG_HOME=$WORK/second ctl 0 login --user viewer --password-stdin --yes <<< 'a long enough password'
XDG_CONFIG_HOME=$WORK/second ctl 0 show ports
XDG_CONFIG_HOME=$WORK/second ctl 1 set --now shapers right rate '{}'
says 'role'
XDG_CONFIG_HOME=$WORK/second ctl 0 logout
XDG_CONFIG_HOME=$WORK/second ctl 4 show ports

# --- a token from the environment; logging out
WEIR_TOKEN=nonsense ctl 4 show ports
WEIR_TOKEN=$TOKEN ctl 0 show ports
ctl 0 logout
ctl 4 show ports
WEIR_TOKEN=$TOKEN ctl 4 show ports

# --- another certificate, for the same address
weir_stop || fail 'weir did not end well'
rm -rf "$STATE"
PASSWORD=''
weir_managed "$WORK/c.json"
ctl 3 info
says 'another certificate' "$pin" 'nothing was sent'
ctl 3 login --password-stdin <<< "$PASSWORD"
new=$(grep -oE '([0-9A-F]{2}:){31}[0-9A-F]{2}' <<< "$said" | tail -n 1)
ctl 0 login --fingerprint "$new" --password-stdin <<< "$PASSWORD"
ctl 0 show ports
note 'every command did what it says, with the exit code that it promises'
