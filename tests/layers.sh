#!/usr/bin/env bash
# The include rule: core < sched < io < mgmt. A file includes its own folder and folders to its left; each library
# has the one folder that may know it. core/ and sched/ use libc alone, and of libc nothing that reads a clock or sleeps.
set -u
cd "$(dirname "$0")/.." || exit 2
bad=0
say() { printf '%s\n' "$1"; bad=1; }
allowed() { case $1 in core) echo core;; sched) echo 'core|sched';; io) echo 'core|sched|io';; mgmt) echo 'core|sched|io|mgmt';; esac; }
for layer in core sched io mgmt; do
	for f in "$layer"/*.[ch]; do
		[ -e "$f" ] || continue
		while read -r inc; do say "$f: includes \"$inc\", a folder to its right"; done < <(
			sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]+"([^"]+)".*/\1/p' "$f" | grep -vE "^($(allowed $layer))/" | grep -vE '^[a-z_]+\.skel\.h$')
	done
done
fence() { # REGEX of a header, folders where it may appear
	local re=$1 ok=$2 f
	for f in $(grep -lE "^[[:space:]]*#[[:space:]]*include[[:space:]]*<($re)" core/*.[ch] sched/*.[ch] io/*.[ch] mgmt/*.[ch] 2>/dev/null); do
		[[ $f =~ ^($ok)/ ]] || say "$f: may not include <$re> (only $ok may)"
	done
}
fence '(xdp|bpf)/|liburing\.h|libmnl/|libnetfilter_conntrack/|linux/|net/if|sys/(socket|mman|ioctl|epoll|eventfd)' 'io|mgmt'
fence '(xdp|bpf)/|liburing\.h|libmnl/|libnetfilter_conntrack/' 'io'
fence 'microhttpd\.h|openssl/|sqlite3\.h|jansson\.h' 'mgmt'
fence 'time\.h|sys/time\.h|unistd\.h|pthread\.h|poll\.h' 'io|mgmt'
while IFS= read -r line; do say "$line: core and sched read no clock"; done < <(
	grep -nE '\b(clock_gettime|gettimeofday|time|usleep|nanosleep|sched_yield)[[:space:]]*\(' core/*.[ch] sched/*.[ch] 2>/dev/null | grep -vE '//.*\b(time)\b')
[ $bad = 0 ] && echo "layers: ok"
exit $bad
