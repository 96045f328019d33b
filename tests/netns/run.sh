#!/usr/bin/env bash
# Runs the stories of this folder by themselves: tests/netns/run.sh [BUILD [STORY...]]
set -u
cd "$(dirname "$0")" || exit 2
export BUILD=${1:-build}
shift
[ $# -gt 0 ] || set -- $(ls ./*.sh | sed -E 's,^\./,,; s,\.sh$,,' | grep -vxE 'lib|run')
bad=0
for story in "$@"; do
	"./$story.sh"
	rc=$?
	case $rc in 0) echo "PASS $story" ;; 77) echo "SKIP $story" ;; *) echo "FAIL $story (exit $rc)"; bad=1 ;; esac
done
exit $bad
