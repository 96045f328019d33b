#!/usr/bin/env bash
# The newcomer's first minute: in fresh Debian 12 and 13 roots with nothing but the base system, `packaging/quickstart
# check` must install, build and pass. The kernel is this machine's. Mirror and keyring are those of this machine's apt.
#   tests/debootstrap.sh [bookworm|trixie ...]     COMMAND=demo tries the demo instead (10 s)
set -u
cd "$(dirname "$0")/.." || exit 2
[ "$(id -u)" = 0 ] || { echo 'needs root'; exit 77; }
command -v debootstrap > /dev/null || { echo 'debootstrap is not installed'; exit 77; }
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r $keyring ] || { echo "$keyring is missing"; exit 77; }
# Of all repositories of this machine, the one that has the release's own main section.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(COMPONENT) $(CODENAME)' 2> /dev/null |
	awk '$2 == "Debian" && $3 == "main" && $4 !~ /-/ { print $1; exit }')
[ -n "$mirror" ] || { echo "apt has no lists of a Debian mirror here: run apt-get update"; exit 77; }
[ $# -gt 0 ] || set -- bookworm trixie

base=$(mktemp -d /var/tmp/weir-debian.XXXXXX) || exit 2
mounts=()
cleanup() {
	local rc=$? i
	trap '' INT TERM
	for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do umount -l "${mounts[i]}"; done
	if grep -q " $base/" /proc/mounts; then
		echo "mounts left below $base: not removed" >&2
	else
		rm -rf --one-file-system "$base"
	fi
	exit $rc
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
bind() { # TYPE SOURCE PLACE [OPTIONS]
	mkdir -p "$3"
	mount -t "$1" ${4:+-o "$4"} "$2" "$3" || { echo "mount of $3 failed"; exit 1; }
	mounts+=("$3")
}

bad=0
for suite in "$@"; do
	root=$base/$suite
	echo "== $suite: a fresh root"
	debootstrap --variant=minbase --keyring=$keyring "$suite" "$root" "$mirror" > "$base/log" 2>&1 ||
		{ tail -n 15 "$base/log"; echo "FAIL $suite: debootstrap"; bad=1; continue; }
	# How this machine reaches the mirror (a proxy, certificates) holds in the root too; its choice of repositories does not.
	for f in /etc/apt/apt.conf /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf.d/*[Cc]ert* /etc/resolv.conf /etc/hosts; do
		[ -f "$f" ] && install -D -m 644 "$f" "$root$f"
	done
	# npm's way out is this machine's too: its settings, and the certificates it trusts.
	for f in /etc/npmrc "$HOME/.npmrc"; do
		[ -f "$f" ] && install -D -m 644 "$f" "$root/root/.npmrc"
	done
	ca=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
	[ -f "$ca" ] && install -D -m 644 "$ca" "$root/etc/host-certificates.crt" && ca=/etc/host-certificates.crt
	printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d" # no services in a root that is thrown away
	chmod 755 "$root/usr/sbin/policy-rc.d"
	mkdir "$root/weir"
	tar -c --exclude=./build --exclude=./.git --exclude=./node_modules . | tar -x -C "$root/weir" || exit 1
	bind none "$root" "$root" bind # so that its / is a mount, as on a real system: network namespaces need that
	bind proc proc "$root/proc"
	bind sysfs sysfs "$root/sys"
	bind none /dev "$root/dev" rbind
	mount --make-rslave "$root/dev"
	bind tmpfs tmpfs "$root/run"
	bind tmpfs tmpfs "$root/tmp"
	case ${COMMAND:-check} in
	demo) command='packaging/quickstart demo --seconds 10' ;;
	*) command='packaging/quickstart check' ;;
	esac
	if env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root NODE_EXTRA_CA_CERTS="$ca" npm_config_cafile="$ca" chroot "$root" sh -c "cd /weir && $command" < /dev/null; then
		echo "PASS $suite: $command"
	else
		echo "FAIL $suite: $command (exit $?)"
		bad=1
	fi
	while [ ${#mounts[@]} -gt 0 ]; do
		umount -l "${mounts[-1]}"
		unset 'mounts[-1]'
	done
	grep -q " $root/" /proc/mounts || rm -rf --one-file-system "$root"
done
exit $bad
