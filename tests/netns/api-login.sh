#!/usr/bin/env bash
# The certificate is the one whose fingerprint was printed; TLS 1.2 and newer, nothing older. Logging in: password, session with
# its CSRF rules, tokens and roles; wrong passwords are slowed down, others are not.
. "$(dirname "$0")/lib.sh"
need curl openssl
lab_up 2
config "$WORK/c.json" "$UNSHAPED"
weir_serve "$WORK/c.json"
served=$(at mid openssl s_client -connect "$LISTEN" < /dev/null 2> /dev/null | openssl x509 -noout -fingerprint -sha256 | cut -d= -f2)
[ -n "$served" ] && grep -qF "$served" "$WORK/weir.out" || fail "the certificate is $served, and not the one that weir printed"
for version in tls1_2 tls1_3; do
	at mid openssl s_client -"$version" -connect "$LISTEN" < /dev/null > /dev/null 2>&1 || fail "$version is refused"
done
at mid openssl s_client -tls1_1 -cipher ALL:@SECLEVEL=0 -connect "$LISTEN" < /dev/null > /dev/null 2>&1 && fail 'TLS 1.1 is taken'
nobody() { TOKEN='' "$@"; }

nobody expect 200 GET /v1/info
[ "$(body .name)" = weir ] || fail "info: $(cat "$WORK/body")"
nobody expect 401 GET /v1/config
nobody expect 401 GET /metrics
nobody expect 200 GET / # the dashboard's own files

nobody expect 200 POST /v1/session --json "{\"user\":\"admin\",\"password\":\"$PASSWORD\"}"
cookie=$(header Set-Cookie)
for word in __Host-weir= Secure HttpOnly SameSite=Strict; do
	[[ $cookie == *$word* ]] || fail "the cookie lacks $word: ${cookie%%=*}"
done
session=(-H "Cookie: ${cookie%%;*}")
csrf=$(body .csrf)
nobody expect 200 GET /v1/session "${session[@]}"
[ "$(body '.user == "admin" and .role == "admin" and .csrf == "'"$csrf"'"')" = true ] || fail "session: $(cat "$WORK/body")"
nobody expect 200 GET /v1/config "${session[@]}"
nobody expect 403 PATCH /v1/config "${session[@]}" -H 'If-Match: *' --json '{}'
nobody expect 403 PATCH /v1/config "${session[@]}" -H 'If-Match: *' -H 'X-Weir-CSRF: wrong' --json '{}'
nobody expect 200 PATCH /v1/config "${session[@]}" -H 'If-Match: *' -H "X-Weir-CSRF: $csrf" --json '{}'

nobody expect 201 POST /v1/tokens "${session[@]}" -H "X-Weir-CSRF: $csrf" --json '{"name":"eyes","role":"viewer"}'
id=$(body .id) secret=$(body .token)
expect 200 GET /v1/tokens
grep -qF "$secret" "$WORK/body" && fail 'the list of tokens shows a secret'
grep -rqF "$secret" "$STATE" && fail 'the store holds a token in the clear'
grep -rqF "$PASSWORD" "$STATE" && fail 'the store holds a password in the clear'
as_viewer() { TOKEN=$secret expect "$@"; }
as_viewer 200 GET /v1/config
as_viewer 403 PATCH /v1/config -H 'If-Match: *' --json '{}'
as_viewer 403 GET /v1/users
expect 204 DELETE "/v1/tokens/$id"
as_viewer 401 GET /v1/config
nobody expect 204 DELETE /v1/session "${session[@]}" -H "X-Weir-CSRF: $csrf"
nobody expect 401 GET /v1/config "${session[@]}"

refused=0 slowed=0
for ((i = 1; i <= 10; i++)); do
	nobody api POST /v1/session --json '{"user":"admin","password":"wrong"}'
	case $status in
	401) refused=$((refused + 1)) ;;
	429) slowed=$((slowed + 1)); [ "$(header Retry-After)" -ge 1 ] || fail '429 without Retry-After' ;;
	*) fail "a wrong password is answered with $status" ;;
	esac
done
[ $refused -ge 5 ] && [ $slowed -ge 1 ] || fail "ten wrong passwords: $refused times 401, $slowed times 429"
expect 200 GET /v1/config # a token is not slowed down by them
ok() { nobody api GET /v1/session -u "admin:$PASSWORD" && [ "$status" = 200 ]; }
wait_until 61 'the right password is taken again' ok
expect 200 GET '/v1/audit?limit=50'
[ "$(body '[.. | .status? // empty] | index(401) != null')" = true ] || fail 'the audit log does not know of failed logins'
echo "ten wrong passwords: $refused refused, $slowed told to wait"
