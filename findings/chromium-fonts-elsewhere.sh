#!/usr/bin/env bash
# `@sparticuz/chromium` 153.0.0, which brings a browser, its libraries and a font for machines that have none, with TMPDIR set, as
# test runners and build machines do it.
# One would guess that what it unpacks belongs together: browser, font, and the fontconfig file that says where the font is. All of
# it goes to the folder for temporary files, and its helper points FONTCONFIG_PATH there.
# Seen: the font is unpacked into $TMPDIR/fonts, and the fonts.conf beside it names /var/task, /opt, and `fonts` in /tmp, none of which is
# that folder. Whoever follows the file has a browser without the font that came with it; on a machine with no other font it cannot
# draw a text at all. It goes unnoticed where TMPDIR is /tmp, or where the machine has fonts and FONTCONFIG_PATH is not set.
# Source: build/lambdafs.js joins os.tmpdir() with the archive's name; bin/fonts.tar.br has the fixed paths in fonts/fonts.conf.
# Output, 2026-11-30:
#   unpacked:  $TMPDIR/fonts/fonts/Open_Sans
#   said:      /var/task/.fonts /var/task/fonts /opt/fonts, and fonts in /tmp
#   guess: the folder that was unpacked is among those
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@sparticuz/chromium@153.0.0)
node --eval 'process.exit(parseInt(process.versions.node) < 24 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
mkdir temporary
cat >look.mjs <<'EOF'
import chromium from "@sparticuz/chromium"
import { readdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

await chromium.executablePath()
const unpacked = join(tmpdir(), "fonts")
const [font] = readdirSync(join(unpacked, "fonts"))
const conf = readFileSync(join(unpacked, "fonts.conf"), "utf8")
const said = Array.from(conf.matchAll(/<dir>([^<]+)<\/dir>/g), ([, path]) => path)
console.log(`unpacked:  $TMPDIR/fonts/fonts/${font}`)
console.log(`said:      ${said.join(" ")}`)
console.log("guess: the folder that was unpacked is among those")
if (font === undefined || said.length === 0 || said.some((path) => join(unpacked, "fonts", font).startsWith(path))) {
  console.log("This is no longer so.")
  process.exit(1)
}
EOF
TMPDIR=$folder/temporary node look.mjs
