#!/usr/bin/env bash
# What the API answers to what is wrong (docs/rest-api.md, "Errors"): the documented status, a problem+json body, and nothing
# changed. N in the last line counts the cases.
. "$(dirname "$0")/lib.sh"
need curl
lab_up 2
fixed_neighbours
config "$WORK/c.json"
weir_serve "$WORK/c.json"
path=/v1/config/shapers/right/classes/a
expect 200 GET /v1/config
revision=$(header ETag)
[ -n "$revision" ] || fail 'GET /v1/config has no ETag'
cases=0
refused() { # STATUS METHOD PATH...: the answer to it, with a body of the documented type
	expect "$@"
	case $(header Content-Type) in application/problem+json*) ;; *) fail "$2 $3: the body is $(header Content-Type)" ;; esac
	[ "$(body ".status == $1 and (.title | length) > 0")" = true ] || fail "$2 $3: $(cat "$WORK/body")"
	cases=$((cases + 1))
}
refused 428 PATCH $path --json '{"rt":"300mbit"}'
refused 412 PATCH $path -H 'If-Match: "0"' --json '{"rt":"300mbit"}'
refused 412 DELETE $path -H 'If-Match: "999999"'
refused 400 PATCH $path -H 'If-Match: *' --json '{"rt":'
refused 400 PATCH "$path?confirm=soon" -H 'If-Match: *' --json '{"rt":"300mbit"}'
refused 400 PATCH "$path?confirm=4" -H 'If-Match: *' --json '{"rt":"300mbit"}'
refused 404 GET /v1/nothing
refused 404 GET /v1/config/shapers/nowhere
refused 404 GET /v1/state/shapers/nowhere/classes
refused 404 GET /v1/revisions/999999
refused 405 DELETE /v1/info
[ -n "$(header Allow)" ] || fail '405 without Allow'
refused 415 PATCH $path -H 'If-Match: *' -H 'Content-Type: text/plain' -d '{"rt":"300mbit"}'
refused 422 PATCH $path -H 'If-Match: *' --json '{"rt":"much"}'
[ "$(body '.errors[0].pointer')" = /shapers/right/classes/a/rt ] || fail "422 does not point: $(cat "$WORK/body")"
refused 422 PATCH /v1/config -H 'If-Match: *' --json '{"shapers":{"right":{"rate":"never","default":"none","classes":{"a":{"ul":-1}}}}}'
[ "$(body '.errors | length')" -ge 3 ] || fail "422 does not tell all errors at once: $(cat "$WORK/body")"
refused 422 PATCH $path -H 'If-Match: *' --json '{"rt":"2gbit"}' # more than the link has
refused 409 PATCH /v1/config/ports/left -H 'If-Match: *' --json '{"queues":1}' # needs restart=1
refused 409 POST "/v1/revisions/$(tr -dc 0-9 <<< "$revision")/revert"
head -c 2097152 /dev/zero | tr '\0' ' ' > "$WORK/big"
refused 413 PATCH $path -H 'If-Match: *' --json "@$WORK/big"
refused 413 PATCH $path -H 'If-Match: *' -H 'Transfer-Encoding: chunked' --json "@$WORK/big"
refused 414 GET "/v1/config/$(head -c 3000 /dev/zero | tr '\0' a)"
refused 431 GET /v1/info -H "X-Long: $(head -c 20000 /dev/zero | tr '\0' a)"
TOKEN='' refused 401 GET /v1/config
TOKEN=nonsense refused 401 GET /v1/config
at mid "$TOOLS/rudeclient" cut --count 20 --header "Authorization: Bearer $TOKEN" 127.0.0.1:8443 || fail 'requests that are cut off'
cases=$((cases + 20))

expect 200 PATCH "$path?dry_run=1" -H 'If-Match: *' --json '{"rt":"300mbit"}'
[ "$(body '.applied == false and (.changes | length) == 1')" = true ] || fail "dry run: $(cat "$WORK/body")"
expect 200 PATCH $path -H "If-Match: $revision" --json '{"rt":"500mbit"}'
[ "$(body '.changes | length')" = 0 ] || fail "no change, but: $(cat "$WORK/body")"
expect 200 GET /v1/config
[ "$(header ETag)" = "$revision" ] || fail "after all of it the revision is $(header ETag), not $revision"
[ "$(weir_state .shapers.right.classes.a.rt_bps)" = 500000000 ] || fail 'the rate has changed'
expect 200 PATCH $path -H "If-Match: $revision" --json '{"rt":"300mbit"}'
expect 412 PATCH $path -H "If-Match: $revision" --json '{"rt":"400mbit"}' # what another one changed meanwhile
expect 200 PUT $path/ls -H 'If-Match: *' --json '"310mbit"'
expect 200 GET $path/ls
[ "$(body .)" = 310mbit ] || fail "a single value: $(cat "$WORK/body")"
echo "$((cases + 1)) bad requests, each with its documented answer"
