#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Bundles the dashboard: web/build.sh DIR (build/web) leaves DIR/dist/{index.html,app.js,app.css,favicon.svg}. Packages come by
# `npm ci` from the lock file, and again only when that changed. All builds (plain, sanitizers, several at once) share
# DIR, so a lock serialises them; who waited finds the work done.
set -eu
cd "$(dirname "$0")/.."
dir=$1
command -v npm > /dev/null || { echo "web/build.sh: npm is not installed (packaging/packages lists it)" >&2; exit 1; }
mkdir -p "$dir"
exec 9> "$dir/lock"
flock 9

stamp=$dir/node_modules/.installed
if ! cmp -s web/package-lock.json "$stamp"; then
	cp web/package.json web/package-lock.json web/.npmrc "$dir"
	(cd "$dir" && npm ci --loglevel=error > /dev/null)
	cp web/package-lock.json "$stamp"
fi
# The sources resolve their packages, editors their types, through this link.
ln -sfn "$(realpath --relative-to=web "$dir/node_modules")" web/node_modules

mkdir -p "$dir/new"
web/node_modules/.bin/esbuild web/src/main.tsx --bundle --minify --format=esm --target=es2021 --charset=utf8 \
	--legal-comments=none --jsx=automatic --jsx-import-source=preact --log-level=warning \
	--entry-names=app --outdir="$dir/new"
cp web/index.html web/favicon.svg "$dir/new"
mkdir -p "$dir/dist"
for file in index.html favicon.svg app.css app.js; do mv "$dir/new/$file" "$dir/dist/$file"; done
