# What the acceptance tables share. A table sets `all` (its parts) and `more` (those that run only when named), then
# sources this with its own arguments: names of parts.
# shellcheck shell=bash
set -u
known=" $all ${more-} "
for part in "$@"; do
	[[ $known == *" $part "* ]] || { echo "no part '$part'; there are:$known" >&2; exit 2; }
done
parts=" ${*:-$all} "
export BUILD=${BUILD:-build}
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
bad=0

wanted() { [[ $parts == *" $1 "* ]]; }
line() { # PASS|SKIP|FAIL ITEM FIGURE
	[ "$1" = FAIL ] && bad=1
	if [ "$1" = SKIP ]; then printf 'SKIP (%s)  %s\n' "$3" "$2"; else printf '%s  %-44s  %s\n' "$1" "$2" "$3"; fi
}
# item ITEM SECONDS PATTERN COMMAND...: runs the command (a program or an exported function); the figure is what
# matches PATTERN in its output. A command that succeeds without showing a figure has measured nothing, and fails.
item() {
	local name=$1 limit=$2 pattern=$3 rc figure try
	shift 3
	for try in 1 2 3; do
		timeout -k 15 "$limit" bash -c '"$@"' - "$@" > "$out" 2>&1 < /dev/null
		rc=$?
		[ $rc = 75 ] || break # 75: the machine was busy
	done
	figure=$(grep -oE -- "$pattern" "$out" | paste -sd ' ' | cut -c 1-200)
	case $rc in
	0) if [ -n "$figure" ]; then line PASS "$name" "$figure"; else line FAIL "$name" 'succeeded, but showed no figure'; fi ;;
	75 | 77) line SKIP "$name" "$(tail -n 1 "$out")" ;;
	124 | 137) line FAIL "$name" "not done after $limit s" ;;
	*) line FAIL "$name" "$(grep -vE '^(---|$)' "$out" | grep -E 'failed|FAIL|ERROR|error|not |missing' | head -n 1 | cut -c 1-200 | grep . || tail -n 1 "$out") [exit $rc]" ;;
	esac
}

# --- commands that are more than one program

units() { # NAME...: programs of tests/unit; each must pass and hold at least one test
	local p n=0 k
	for p in "$@"; do
		k=$("$BUILD/tests/test_$p" 2>&1) || { echo "$k" | tail -n 5; echo "test_$p failed"; return 1; }
		k=$(grep -cE '\[ +OK +\]|^ok ' <<< "$k")
		[ "$k" -gt 0 ] || { echo "test_$p failed to run a test"; return 1; }
		n=$((n + k))
	done
	echo "$n unit tests in $# programs"
}
stories() { # NAME...: of tests/netns, all must pass
	local s
	for s in "$@"; do
		"tests/netns/$s.sh" "$BUILD" || return
	done
	echo "stories passed: $*"
}
export -f units stories
