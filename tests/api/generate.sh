#!/usr/bin/env bash
# Made-up requests to a running weir over HTTPS:
#   tests/api/generate.sh URL USER:PASSWORD [REQUESTS [SEED]]      (defaults: 2000, 1)
# Whatever is asked, the answer is one of the documented ones and none of 5xx, connections live on, and the server answers
# at the end as at the start. Writes that would need new sockets are dry runs; at the end the revision that was in force at the
# start is rolled back to. The same seed asks the same (with the same bash). Exit 0, or 1 with the requests that went wrong.
set -u
url=${1:?usage: generate.sh URL USER:PASSWORD [REQUESTS [SEED]]} login=${2:?usage: generate.sh URL USER:PASSWORD [REQUESTS [SEED]]}
requests=${3:-2000} seed=${4:-1}
dir=$(mktemp -d) || exit 2
token='' id=''
ask() { curl -sk --max-time 20 -H "Authorization: Bearer $token" "$@"; }
# shellcheck disable=SC2317
finish() { # called by the trap
	[ -n "$id" ] && ask -X DELETE "$url/v1/tokens/$id" > /dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

# A token for all of it: a password is checked slowly on purpose.
made=$(curl -sk --max-time 20 -u "$login" -H 'Content-Type: application/json' -d '{"name":"generated","role":"admin"}' "$url/v1/tokens")
token=$(jq -r .token <<< "$made") id=$(jq -r .id <<< "$made")
case $token in '' | null) echo "no token: $made"; exit 1 ;; esac
start=$(ask -D - -o /dev/null "$url/v1/config" | tr -d '\r' | sed -n 's/^[Ee][Tt][Aa][Gg]: *"r\([0-9]*\)"$/\1/p')
[ -n "$start" ] || { echo "no ETag from $url/v1/config"; exit 1; }
shaper=$(ask "$url/v1/config/shapers" | jq -r 'keys[0] // "up"')
class=$(ask "$url/v1/config/shapers/$shaper/classes" | jq -r 'keys[0] // "a"')

RANDOM=$seed
pick() { local n=$((RANDOM % $#)); shift $n; picked=$1; }
quote() { # for a curl configuration file
	local v=${1//\\/\\\\}
	quoted=\"${v//\"/\\\"}\"
}

of=shapers/$shaper/classes/$class
places=("$of" "$of" "$of/rt" "$of/ls" "$of/ls" "$of/leaf" "$of/leaf/limit" "$of/ul" "shapers/$shaper/classes/generated"
	"shapers/$shaper/classes/generated/ls" "shapers/$shaper/rate" "shapers/$shaper" "classifiers/$shaper/-"
	"classifiers/$shaper/0" ports ports/generated bridges system system/frames nonsense a%2Fb x~y %7Eq %ff %00 %zz .. "shapers//x" "$(printf 'x%.0s' {1..300})")
values=('"1mbit"' '"2mbit"' '"5mbit"' '"7mbit"' '{"ls":"9mbit"}' '{"ls":"2mbit"}' '{"rt":null,"ls":"3mbit"}' '{"leaf":{"kind":"pfifo","limit":50}}'
	100 -1 1e400 null true '[]' '{}' '{"a":' '"\u0000"' '{"a":1,"a":2}' '[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]' ''
	'{"dscp":"cs1","class":"'"$class"'"}')
reads=(v1/info v1/config v1/revisions v1/revisions/pending v1/revisions/1 "v1/revisions/1/diff?to=2" v1/revisions/99999/diff
	v1/revisions/x v1/state/ports v1/state/shapers "v1/state/shapers/$shaper/classes" v1/state/shapers/none/classes
	v1/state/workers v1/state/drops v1/schema metrics v1/users v1/tokens v1/session "v1/audit?limit=3" "v1/audit?limit=x"
	v1/nonsense '' 'v1/%' "v1/revisions?limit=2&before=3" "v1/revisions?limit=0")

one() { # one request in curl's configuration language, $1: its number
	local method path data='' type='application/json' match='' query=''
	if [ $((RANDOM % 3)) = 0 ]; then
		pick "${reads[@]}"; path=$picked
		pick GET GET GET GET POST PUT PATCH DELETE OPTIONS HEAD; method=$picked
		case $method$path in
		DELETEv1/session | POSTv1/session | POSTv1/tokens | PUTv1/users* | *rollback*) method=GET ;; # those do what they say
		esac
	else
		pick "${places[@]}"; path=v1/config/$picked
		pick GET PUT PUT PUT PATCH PATCH PATCH DELETE POST; method=$picked
		pick '' '' '' dry_run=1 dry_run=x confirm=1 comment=%1b%5b2J comment=generated; query=$picked
		# what could take a port, its shaper or its rate away is only tried out
		case $path in v1/config/shapers/"$shaper"/classes/* | v1/config/classifiers/*) ;; *) query=dry_run=1 ;; esac
		[ "$method" = DELETE ] && query=dry_run=1
		[ -n "$query" ] && path="$path?$query"
	fi
	case $method in
	PUT | PATCH | POST)
		pick "${values[@]}"; data=$picked
		pick application/json application/json application/json application/json application/json application/merge-patch+json text/plain; type=$picked
		;;
	esac
	pick '*' '*' '*' '*' '*' '*' '*' '*' "\"r$start\"" '"r0"' 'W/"r1"' '"' none; match=$picked
	[ "$1" -gt 1 ] && echo next
	quote "$url/$path"; echo "url = $quoted"
	if [ "$method" = HEAD ]; then echo head; else echo "request = $method"; fi
	if [ -n "$data" ]; then
		quote "$data"; echo "data-binary = $quoted"
		quote "Content-Type: $type"; echo "header = $quoted"
	fi
	[ "$match" != none ] && { quote "If-Match: $match"; echo "header = $quoted"; }
	pick 1 1 1 1 1 1 1 1 1 1 0
	if [ "$picked" = 1 ]; then echo "header = \"Authorization: Bearer $token\""; else echo 'header = "Authorization: Bearer wrong"'; fi
	printf 'insecure\nsilent\ngloboff\npath-as-is\nmax-time = 20\noutput = /dev/null\n'
	# shellcheck disable=SC1003
	printf 'write-out = "%%{http_code} %%{errormsg} %s %%{url_effective}\\n"\n' "$method"
}

echo "seed $seed, $requests requests, revision $start in force"
for ((done = 0; done < requests; done += n)); do
	n=$((requests - done < 250 ? requests - done : 250))
	for ((i = 1; i <= n; i++)); do one $i; done > "$dir/batch"
	curl -K "$dir/batch" >> "$dir/answers" 2> "$dir/errors"
done
ask -X POST "$url/v1/revisions/$start/rollback" -o "$dir/rollback" -w '%{http_code}\n' > "$dir/last"
cut -d' ' -f1 "$dir/answers" | sort | uniq -c | sort -rn
bad=0
grep -vE '^(200|201|204|400|401|403|404|405|409|412|413|414|415|422|428|431) ' "$dir/answers" > "$dir/bad" && bad=1
head -n 20 "$dir/bad"
[ "$(wc -l < "$dir/answers")" = "$requests" ] || { echo "$(wc -l < "$dir/answers") answers to $requests requests"; bad=1; }
[ "$(cat "$dir/last")" = 200 ] || { echo "rollback to $start: $(cat "$dir/last" "$dir/rollback")"; bad=1; }
[ "$(curl -sk --max-time 20 -o /dev/null -w '%{http_code}' "$url/v1/info")" = 200 ] || { echo "/v1/info does not answer"; bad=1; }
[ $bad = 0 ] && echo "generate: ok"
exit $bad
