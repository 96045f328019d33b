# lib.sh: sourced by the stories in this folder, by the demo and by the acceptance table.
#
#          left                    mid                     right
#   l0 198.18.0.1 ======== w-left  weir  w-right ======== r0 198.18.0.2
#   fd00:dead:cafe:4::1        w-third                fd00:dead:cafe:4::2
#                                 \====== x0 198.18.0.3  third (where a story asks for it)
#
# All in network namespaces of this process's own (the names carry its pid), so that runs don't meet and the host's
# network is never touched. Whatever ends the script, the exit trap ends what it started and removes them.
# Nothing sleeps for a guessed time: wait_until polls a condition up to a limit.
# shellcheck shell=bash
set -u

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
WEIR=$BUILD/weir
TOOLS=$BUILD/tests
CONFIG=${CONFIG:-$ROOT/configs/demo.json}
LAST_CPU=$(($(nproc) - 1))
LONG=${WEIR_LONG:-}

namespaces=() jobs_=() weir_pid=''
WORK=$(mktemp -d) || exit 2
STATS=$WORK/stats

fail() { printf 'failed: %s\n' "$*"; exit 1; }
skip() { printf '%s\n' "$*"; exit 77; }
note() { printf '%s\n' "$*"; }

cleanup() {
	local rc=$? p
	trap '' INT TERM
	if [ $rc != 0 ] && [ $rc != 77 ] && [ $rc != 75 ] && [ -s "$WORK/weir.log" ]; then
		echo '--- the last lines of weir:'
		tail -n 15 "$WORK/weir.log"
	fi
	for p in "${jobs_[@]}"; do kill "$p" 2> /dev/null; done
	[ -n "$weir_pid" ] && weir_stop > /dev/null
	for p in "${jobs_[@]}"; do kill -9 "$p" 2> /dev/null; wait "$p" 2> /dev/null; done
	for p in "${namespaces[@]}"; do ip netns del "$p" 2> /dev/null; done
	rm -rf "$WORK"
	exit $rc
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

need() { # what a story can't do without
	[ "$(id -u)" = 0 ] || skip 'needs root'
	[ -x "$WEIR" ] || fail "$WEIR is missing: run make first"
	local c
	for c in ip jq "$@"; do command -v "$c" > /dev/null || skip "$c is not installed"; done
}

# --- waiting

wait_until() { # SECONDS WHAT COMMAND...: until the command succeeds; fails the story otherwise
	local end=$(($(date +%s%N) + $1 * 1000000000)) what=$2
	shift 2
	until "$@" > /dev/null 2>&1; do
		[ "$(date +%s%N)" -lt $end ] || fail "not within the time allowed: $what"
		sleep 0.02
	done
}
uptime_ms() { local up _; read -r up _ < /proc/uptime; echo $((10#${up/./} * 10)); }

# --- was the machine ours?
#
# A story about rates and delays says nothing when other programs took the CPUs. machine_mark starts an interval;
# fail_if_quiet fails the story, unless somebody else was in the way since then: that is exit 75, "try again".

declare -A mark_
machine_facts() { # ticks of CPU 0 in user mode, ticks stolen from any CPU, ms that packet threads waited for their CPU
	local p
	awk '/^cpu / { stolen = $9 } /^cpu0 / { printf "%d %d ", $2 + $3, stolen }' /proc/stat
	for p in $(weir_pids); do grep -l '^weir-w' "/proc/$p/task/"*/comm 2> /dev/null; done | while read -r p; do cat "${p%comm}schedstat"; done |
		awk '{ n += $2 } END { printf "%.0f\n", n / 1e6 }'
}
machine_mark() { mark_[at]=$(uptime_ms); mark_[facts]=$(machine_facts); }
machine_busy() { # prints who was in the way, if anybody was
	local ms=$(($(uptime_ms) - mark_[at]))
	awk -v was="${mark_[facts]}" -v is="$(machine_facts)" -v ms=$ms -v hz="$(getconf CLK_TCK)" 'BEGIN {
		split(was, a); split(is, b)
		user = 100 * (b[1] - a[1]) / hz * 1000 / ms; stolen = 100 * (b[2] - a[2]) / hz * 1000 / ms; wait = 100 * (b[3] - a[3]) / ms
		if (user <= 15 && stolen <= 1 && wait <= 1)
			exit 1
		printf "the machine was busy: packet threads waited %.1f %% of the time, CPU 0 was %.0f %% in user mode, %.1f %% stolen\n", wait, user, stolen
	}'
}
fail_if_quiet() {
	machine_busy && exit 75
	fail "$@"
}

# --- namespaces and devices

netns() { # NAME...: creates them
	local n
	for n in "$@"; do
		ip netns add "weir-$n-$$" || skip "network namespaces can't be made here"
		namespaces+=("weir-$n-$$")
		ip -n "weir-$n-$$" link set lo up
	done
}
at() { local n=weir-$1-$$; shift; ip netns exec "$n" "$@"; }
job() { # NAMESPACE COMMAND...: in the background; its pid is in $job. Redirections are the caller's.
	local n=weir-$1-$$
	shift
	ip netns exec "$n" "$@" &
	job=$!
	jobs_+=("$job")
}
listening() { # FILE: waits until the tool whose output goes there says that it listens
	local i
	for ((i = 0; i < 250; i++)); do
		grep -q listening "$1" && return
		sleep 0.02
	done
	fail "a tool does not listen within 5 s: $(tail -n 1 "$1")"
}
veth() { # NAMESPACE DEVICE NAMESPACE DEVICE QUEUES
	ip -n "weir-$1-$$" link add "$2" numtxqueues "$5" numrxqueues "$5" type veth \
		peer name "$4" numtxqueues "$5" numrxqueues "$5" netns "weir-$3-$$" || fail "veth pair $2 - $4"
	ip -n "weir-$1-$$" link set "$2" up
	ip -n "weir-$3-$$" link set "$4" up
}
lab_up() { # [QUEUES]: left - mid - right
	local q=${1:-2} n
	netns left mid right
	veth left l0 mid w-left "$q"
	veth right r0 mid w-right "$q"
	n=1
	for n in 1:left:l0 2:right:r0; do
		ip -n "weir-$(cut -d: -f2 <<< $n)-$$" addr add "198.18.0.${n%%:*}/24" dev "${n##*:}"
		ip -n "weir-$(cut -d: -f2 <<< $n)-$$" addr add "fd00:dead:cafe:4::${n%%:*}/64" dev "${n##*:}" nodad
	done
}
third_up() { # [QUEUES]: one more host
	netns third
	veth third x0 mid w-third "${1:-1}"
	ip -n "weir-third-$$" addr add 198.18.0.3/24 dev x0
}
mac() { at "$1" cat "/sys/class/net/$2/address"; }
# Neighbours that never need asking: a story about one packet must not measure ARP.
fixed_neighbours() {
	ip -n "weir-left-$$" neigh replace 198.18.0.2 lladdr "$(mac right r0)" dev l0 nud permanent
	ip -n "weir-right-$$" neigh replace 198.18.0.1 lladdr "$(mac left l0)" dev r0 nud permanent
}
ping_once() { at "${1:-left}" ping -c 1 -W 1 "${2:-198.18.0.2}"; }

# --- weir

# config FILE [JQ-FILTER]: the demo's configuration with this machine's worker CPU, changed by the filter.
config() {
	[ -f "$CONFIG" ] || fail "$CONFIG is missing"
	jq --argjson cpu "$LAST_CPU" ".system.workers = [\$cpu] | ${2:-.}" "$CONFIG" > "$1.new" && mv "$1.new" "$1" || fail "the configuration could not be made with: ${2:-.}"
}
UNSHAPED='del(.shapers, .classifiers)'

weir_ready() { kill -0 "$weir_pid" 2> /dev/null || fail "weir ended: $(tail -n 3 "$WORK/weir.log")"; grep -qi 'forward' "$WORK/weir.log"; }
weir_start() { # CONFIG
	ip netns exec "weir-mid-$$" "$WEIR" run --config "$1" --stats "$STATS" > "$WORK/weir.out" 2> "$WORK/weir.log" < /dev/null &
	weir_pid=$!
	wait_until 10 'weir says that it forwards' weir_ready
}
weir_stop() { # ends it; its exit status is returned. 124: it had to be killed
	local p=$weir_pid i all state
	all=$(weir_pids)
	weir_pid=
	kill -TERM "$p" 2> /dev/null
	for ((i = 0; i < 250; i++)); do
		state=$(cut -d' ' -f3 "/proc/$p/stat" 2> /dev/null)
		[ -z "$state" ] || [ "$state" = Z ] && { wait "$p"; return; }
		sleep 0.02
	done
	# shellcheck disable=SC2086
	kill -9 $all 2> /dev/null
	wait "$p" 2> /dev/null
	return 124
}
weir_pids() { # the parent and all below it
	local todo=("${weir_pid}") p
	while [ ${#todo[@]} -gt 0 ]; do
		p=${todo[0]}
		todo=("${todo[@]:1}")
		[ -d "/proc/$p" ] || continue
		echo "$p"
		# shellcheck disable=SC2207
		todo+=($(cat "/proc/$p/task/"*/children 2> /dev/null))
	done
}
weir_role() { # ROLE: the child that runs as `weir ROLE`
	local p
	for p in $(weir_pids); do
		tr '\0' ' ' 2> /dev/null < "/proc/$p/cmdline" | grep -q "^weir $1 " && { echo "$p"; return; }
	done
	return 1
}
weir_engine() { weir_role engine; }
weir_cpu_ms() { # time on a CPU of all its threads
	local p
	for p in $(weir_pids); do cat "/proc/$p/task/"*/schedstat; done 2> /dev/null | awk '{ n += $1 } END { printf "%.3f\n", n / 1e6 }'
}
weir_status() { "$WEIR" status --stats "$STATS" -j; }
weir_state() { weir_status | jq -r "$1"; }

# --- weir with its manager: configured through the API

STATE=$WORK/state PASSWORD='' TOKEN='' status=''
LISTEN=127.0.0.1:8443   # an address in mid;
OUTSIDE=''              # if set, one where the story itself is
ORIGIN=https://$LISTEN

api_curl() {
	if [ -n "$OUTSIDE" ]; then curl "$@"; else at mid curl "$@"; fi
}
weir_serves() { weir_ready && api_curl -sk --max-time 1 -o /dev/null "$ORIGIN/v1/info"; }
# weir_managed [CONFIG]: starts weir with a manager; CONFIG is what a new store begins with.
weir_managed() {
	local listen=$LISTEN
	[ -n "$OUTSIDE" ] && listen=fd:3
	chmod 711 "$WORK" # the manager is not root, and goes through it to its own directory
	${OUTSIDE:+"$TOOLS/listenfd" "$LISTEN"} ip netns exec "weir-mid-$$" "$WEIR" run ${1:+--config "$1"} --state "$STATE" \
		--listen "$listen" --stats "$STATS" > "$WORK/weir.out" 2> "$WORK/weir.log" < /dev/null &
	weir_pid=$!
	wait_until 15 'weir serves' weir_serves
	[ -n "$PASSWORD" ] || PASSWORD=$(sed -nE 's/.*first password[^:]*: *([^ ]+)$/\1/p' "$WORK/weir.out")
}
# The same, and `api` is an admin from then on.
weir_serve() {
	weir_managed "$@"
	[ -n "$TOKEN" ] && return
	[ -n "$PASSWORD" ] || fail 'weir did not print the first password'
	expect 201 POST /v1/tokens -u "admin:$PASSWORD" --json '{"name":"story","role":"admin"}'
	TOKEN=$(body .token)
}
weir_manager() { weir_role manager; }

# api METHOD PATH [CURL-ARGUMENT...]: the status of the answer is in $status (000: none), the rest in $WORK/body and headers.
# TOKEN='' api ...: as nobody.
api() {
	local method=$1 path=$2
	shift 2
	status=$(api_curl -sk --max-time 20 -X "$method" ${TOKEN:+-H "Authorization: Bearer $TOKEN"} -o "$WORK/body" -D "$WORK/headers" \
		-w '%{http_code}' "$@" "$ORIGIN$path")
}
body() { jq -r "$1" "$WORK/body"; }
header() { sed -nE "s/^$1: *([^\r]*)\r?\$/\1/Ip" "$WORK/headers"; }
expect() { # STATUS and the arguments of api; fails the story if the answer is another
	local want=$1
	shift
	api "$@"
	[ "$status" = "$want" ] || fail "$1 $2: status $status, not $want: $(head -c 300 "$WORK/body")"
}
