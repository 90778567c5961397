#!/usr/bin/env bash
# statement_timeout in PGlite 0.5.16, which is PostgreSQL in one thread.
# One would guess that a setting which SET accepts and SHOW prints is obeyed, or that SET refuses it.
# Seen: a statement that takes eight times as long ends well. The timer needs the event loop, which is busy with the statement.
# Source: dist/pglite.js of the package, __setitimer_js: the interval timer is a setTimeout of the same thread.
# Output, 2026-11-28:
#   statement_timeout is 50ms; pg_sleep(0.4) ends well
#   guess: error 57014, canceling statement due to statement timeout
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@electric-sql/pglite@0.5.16)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { PGlite } from "@electric-sql/pglite"

const db = await PGlite.create()
await db.exec("set statement_timeout = '50ms'")
const { rows } = await db.query("show statement_timeout")
const seen = await db.query("select pg_sleep(0.4)").then(
  () => "ends well",
  (error) => `fails with ${error.code}, ${error.message}`
)
await db.close()

console.log(`statement_timeout is ${rows[0].statement_timeout}; pg_sleep(0.4) ${seen}`)
console.log("guess: error 57014, canceling statement due to statement timeout")
if (rows[0].statement_timeout !== "50ms" || seen !== "ends well") {
  console.error("No longer so: PGlite obeys or refuses statement_timeout.")
  process.exit(1)
}
END
node look.mjs
