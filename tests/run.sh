#!/usr/bin/env bash
# Runs the tests: tests/run.sh [--long | --sanitizer] [BUILD]
#   (plain)      everything `make check` promises
#   --long       the same with long loops (WEIR_LONG=1), and the fresh Debian roots
#   --sanitizer  what makes sense under a sanitizer: unit tests, simulator, configuration goldens; no timing, no netns
# A test is a command: exit 0 passed, 77 skipped (its last line is the reason), 75 the machine was too busy to
# tell (tried three times, then skipped), anything else failed (its output is shown). A cmocka program is one test. The
# last line is `N passed, N failed, N skipped`; exit 1 if any failed or none ran.
set -u
cd "$(dirname "$0")/.." || exit 2
mode=plain
case ${1-} in --long | --sanitizer) mode=${1#--}; shift ;; -*) echo "usage: tests/run.sh [--long|--sanitizer] [BUILD]" >&2; exit 2 ;; esac
BUILD=${1:-build}
export BUILD WEIR_TEST=1
[ $mode = long ] && export WEIR_LONG=1
LIMIT=120 # seconds a test may take, unless it says otherwise
passed=0 failed=0 skipped=0
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
trap 'exit 130' INT TERM

# test_ NAME SECONDS COMMAND...: the command runs with no input, in a process group of its own that ends with it.
test_() {
	local name=$1 limit=$2 rc try start=$SECONDS
	shift 2
	for try in 1 2 3; do
		timeout -k 15 "$limit" "$@" < /dev/null > "$out" 2>&1
		rc=$?
		[ $rc = 75 ] || break
	done
	case $rc in
	0) passed=$((passed + 1)); printf 'PASS %s (%d s)\n' "$name" $((SECONDS - start)) ;;
	75 | 77) skipped=$((skipped + 1)); printf 'SKIP %s (%s)\n' "$name" "$(tail -n 1 "$out")" ;;
	*)
		failed=$((failed + 1))
		[ $rc = 124 ] || [ $rc = 137 ] && echo "timed out after $limit s" >> "$out"
		[ $rc = 130 ] && exit 130
		sed 's/^/    | /' "$out" | tail -n 200
		printf 'FAIL %s (exit %d, %d s)\n' "$name" $rc $((SECONDS - start))
		;;
	esac
}
mustfail() { # a scenario whose expectation is wrong on purpose: the simulator must say so, with exit 1 and no crash
	"$@"
	local rc=$?
	[ $rc = 1 ] || { echo "exit $rc, expected 1"; return 1; }
}
demo() {
	local i rc
	for i in 1 2 3; do
		packaging/demo.sh --seconds 10
		rc=$?
		[ $rc = 0 ] && return
	done
	return $rc
}
export -f mustfail demo

[ $mode != sanitizer ] && test_ layers $LIMIT tests/layers.sh
for source in tests/unit/test_*.c; do
	[ -e "$source" ] || continue
	name=$(basename "$source" .c)
	test_ "unit/${name#test_}" $LIMIT "$BUILD/tests/$name"
done
for scenario in tests/sim/scenarios/*.sim; do
	[ -e "$scenario" ] || continue
	name=sim/$(basename "$scenario" .sim)
	case $scenario in
	*.mustfail.sim) test_ "$name" $LIMIT bash -c 'mustfail "$@"' - "$BUILD/tests/sim" "$scenario" ;;
	*) test_ "$name" $LIMIT "$BUILD/tests/sim" "$scenario" ;;
	esac
done
[ -e tests/conf/run.sh ] && test_ conf 300 tests/conf/run.sh "$BUILD/weir"
test_ bad-input $LIMIT tests/bad-input.sh "$BUILD"
if [ $mode != sanitizer ]; then
	limit=$LIMIT
	[ $mode = long ] && limit=1200
	for story in tests/netns/*.sh; do
		case $story in */lib.sh | */run.sh) continue ;; esac
		test_ "netns/$(basename "$story" .sh)" $limit "$story" "$BUILD"
	done
	if [ $mode = long ]; then
		test_ web 600 tests/web.sh
	else
		test_ web 600 tests/web.sh quick
	fi
	test_ demo $LIMIT bash -c 'demo' # measured: a stall of the whole machine spoils a run, so there are up to three
fi
[ $mode = long ] && test_ debootstrap 3000 tests/debootstrap.sh

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
