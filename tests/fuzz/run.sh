#!/usr/bin/env bash
# Runs one libFuzzer target for a while: run.sh BINARY SECONDS [SEED]. New inputs go to a temporary corpus; the
# committed seeds, tests/fuzz/corpus/NAME if there are any, are read and never written. Fails on a crash, a leak, an
# input slower than 10 s or too much memory, and says where the input is kept.
set -u
binary=${1:?usage: run.sh BINARY SECONDS [SEED]}
seconds=${2:?usage: run.sh BINARY SECONDS [SEED]}
seed=${3:-1}
name=$(basename "$binary")
seeds=$(dirname "$0")/corpus/$name
kept=$(dirname "$binary")/findings
corpus=$(mktemp -d) || exit 2
log=$corpus/log
trap 'rm -rf "$corpus"' EXIT
mkdir -p "$kept" "$corpus/new" || exit 2
dirs=("$corpus/new")
[ -d "$seeds" ] && dirs+=("$seeds")

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 # undefined behaviour is a finding, not a remark
echo "$name: seed $seed, $seconds s"
"$binary" -seed="$seed" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	-artifact_prefix="$kept/$name-" "${dirs[@]}" >"$log" 2>&1
rc=$?
if [ "$rc" -ne 0 ]; then
	tail -n 60 "$log"
	input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
	echo "$name: FAILED (exit $rc); seed $seed; input kept in ${input:-none}"
	[ -n "$input" ] && echo "again: $binary $input"
	exit 1
fi
echo "$name: ok, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
