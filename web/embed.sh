#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes a C header of the bundle: web/embed.sh DIR > web_assets.h. The entity tag is a hash of the content.
set -eu
cd "$1"
asset() { # NAME FILE
	printf 'static const unsigned char asset_%s[] = {\n' "$1"
	od -An -v -tx1 "$2" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
	printf '};\n'
}
row() { # PATH TYPE NAME FILE
	printf '\t{"%s", "%s", asset_%s, sizeof asset_%s, "%.16s"},\n' "$1" "$2" "$3" "$3" "$(sha256sum "$4")"
}
echo '// made by make from web/'
echo '#include <stddef.h>'
asset html index.html
asset js app.js
asset css app.css
asset icon favicon.svg
echo 'struct asset {'
printf '\tconst char *path, *type;\n\tconst unsigned char *data;\n\tsize_t len;\n\tconst char *etag;\n};\n'
echo 'static const struct asset assets[] = {'
row / 'text/html; charset=utf-8' html index.html
row /app.js 'text/javascript; charset=utf-8' js app.js
row /app.css 'text/css; charset=utf-8' css app.css
row /favicon.svg image/svg+xml icon favicon.svg
echo '};'
