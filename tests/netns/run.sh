#!/usr/bin/env bash
# Runs the stories of this folder by themselves: tests/netns/run.sh [BUILD [STORY...]]
set -u
cd "$(dirname "$0")" || exit 2
export BUILD=${1:-build}
[ $# -gt 0 ] && shift
bad=0
[ $# -gt 0 ] || set -- *.sh
for story in "$@"; do
	story=${story%.sh}
	[ "$story" = lib ] || [ "$story" = run ] && continue
	"./$story.sh"
	rc=$?
	case $rc in 0) echo "PASS $story" ;; 75 | 77) echo "SKIP $story" ;; *) echo "FAIL $story (exit $rc)"; bad=1 ;; esac
done
exit $bad
