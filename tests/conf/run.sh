#!/usr/bin/env bash
# The program against the golden files: N.json with N.err must be refused, with N.ok accepted, and each problem of the
# golden must be told with its place and its exact text. Then the files in configs/, the generated large one, and a
# file of 100 MB. (What exactly is told and what is not, test_desired compares.)
#   tests/conf/run.sh BINARY
set -u
bin=$(realpath "${1:?usage: tests/conf/run.sh BINARY}") || exit 2
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT

check() { # FILE: exit status in rc, text in $tmp/out
	timeout 20 "$bin" check --offline "$1" >"$tmp/out" 2>&1
	rc=$?
}
told() { # "error: PLACE: TEXT": is there a line with this place and this text?
	local line=${1#*: }
	local place=${line%%: *}
	[ "$place" = / ] && place=
	grep -F -- "${line#*: }" "$tmp/out" | grep -qF -- "$place"
}
verdict() { # FILE EXPECTED-STATUS [GOLDEN]
	local line fault=
	check "$1"
	[ $rc = "$2" ] || fault="exit status $rc, expected $2: $(head -n 2 "$tmp/out")"
	while IFS= read -r line; do
		[[ $line == 'and '* ]] || told "$line" || fault="not told: $line"
	done <"${3:-/dev/null}"
	if [ -z "$fault" ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAIL $1: $fault"; fi
}
for json in tests/conf/*.json; do
	name=${json%.json}
	if [ -e "$name.err" ]; then verdict "$json" 2 "$name.err"; else verdict "$json" 0 "$name.ok"; fi
done
configs/generate.sh >"$tmp/isp-13706.json"
for json in configs/*.json "$tmp/isp-13706.json"; do
	verdict "$json" 0
done
truncate -s 100M "$tmp/100mb.json"
verdict "$tmp/100mb.json" 2
echo "$passed passed, $failed failed"
[ $failed = 0 ]
