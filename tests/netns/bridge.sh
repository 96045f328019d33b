#!/usr/bin/env bash
# A learning bridge over three ports: unknown destinations flood, known ones don't, a station that moves is found at
# its new port, nothing is reflected, 802.1D group addresses stay where they are, and what is not heard of is forgotten.
#
# One receive queue a port, so that frames keep their order: a broadcast marker sent after a frame arrives after it,
# and what a port has not seen by then, it will not see.
. "$(dirname "$0")/lib.sh"
need
lab_up 1
third_up 1
config "$WORK/c.json" "$UNSHAPED
	| .ports.left.queues = 1 | .ports.right.queues = 1 | .ports.third = (.ports.left | .device = \"w-third\")
	| .bridges.br0.ports = [\"left\", \"right\", \"third\"] | .bridges.br0.ageing = \"10s\""
weir_start "$WORK/c.json"

A=020000000a01 B=020000000b01 C=020000000c01 NOBODY=0200000000ff ALL=ffffffffffff
for h in left:l0 right:r0 third:x0; do
	job "${h%:*}" "$TOOLS/rawframe" listen "${h#*:}" > "$WORK/${h%:*}" 2> "$WORK/${h%:*}.err"
	listening "$WORK/${h%:*}.err"
done
n=0
# sends FROM DST SRC EXPECTED...: a frame with a number of its own; it must arrive once at each EXPECTED and nowhere else
sends() {
	local from=$1 dst=$2 src=$3 id marker h want got dev
	shift 3
	n=$((n + 1))
	id=$(printf '88b5%08x' $n) marker=$(printf '88b6%08x' $n)
	case $from in left) dev=l0 ;; right) dev=r0 ;; third) dev=x0 ;; esac
	at "$from" "$TOOLS/rawframe" send $dev "$dst$src$id" "$ALL$src$marker" || fail 'sending'
	for h in left right third; do
		[ $h = "$from" ] || wait_until 5 "the marker of step $n at $h" grep -q "$src$marker" "$WORK/$h"
	done
	for h in left right third; do
		want=0
		[[ " $* " == *" $h "* ]] && want=1
		got=$(grep -c "^$dst$src$id" "$WORK/$h")
		[ "$got" = $want ] || fail "step $n: frame from $from to $dst arrived $got times at $h, expected $want"
	done
}
sends left $NOBODY $A right third  # unknown: flooded, not back
sends right $A $B left             # A was learnt at left
sends left $B $A right             # B was learnt at right
sends third $B $C right            # and C at third
sends right $C $B third
sends third $A $B left             # B speaks from third: it has moved
sends left $B $A third
sends right $A $B left             # and back again
sends left $B $A right
sends left 0180c2000000 $A         # a bridge's own business
sends left 0180c200000e $A
sends left 01005e000001 $A right third # multicast floods
sends left $A $A                   # its own address: not reflected
note "learning, moving, flooding: $n frames arrived where they should and nowhere else"

# Ageing: C was last heard of now; after the 10 s it floods again. A keeps talking, so only C is forgotten.
sends third $A $C left
aged() {
	n=$((n + 1))
	local id
	id=$(printf '88b5%08x' $n)
	at left "$TOOLS/rawframe" send l0 "$C$A$id" "$ALL$A$(printf '88b6%08x' $n)"
	wait_until 5 "the marker of step $n" grep -q "$A$(printf '88b6%08x' $n)" "$WORK/right"
	grep -q "^$C$A$id" "$WORK/right"
}
start=$(uptime_ms)
aged && fail 'C was forgotten at once'
wait_until 25 'C is forgotten' aged
took=$(($(uptime_ms) - start))
[ $took -ge 8000 ] || fail "C was forgotten after $took ms, ageing is 10 s"
note "forgotten after $((took / 1000)) s of silence (ageing 10 s)"
