#!/usr/bin/env bash
# The dashboard: types, functions, and the whole of it in Debian's Chromium against a mock of the API.
# With WEIR_URL and WEIR_PASSWORD: the browser test against a running demo instead. `tests/web.sh quick`: no browser.
set -eu
cd "$(dirname "$0")/.."
for tool in node npm; do
	command -v $tool > /dev/null || { echo "$tool is not installed"; exit 77; }
done
make -s build/web/dist/app.js
web/node_modules/.bin/tsc --noEmit -p web
tests=(web/test/unit.test.mjs web/test/dashboard.test.mjs)
[ "${1-}" = quick ] && exec node --test web/test/unit.test.mjs
[ -z "${WEIR_URL-}" ] || tests=(web/test/dashboard.test.mjs)
if [ ! -x "${CHROMIUM:=/usr/bin/chromium}" ]; then
	node --test web/test/unit.test.mjs
	echo "chromium is not installed"
	exit 77
fi
export CHROMIUM
node --test "${tests[@]}"
