#!/usr/bin/env bash
# Autovacuum in PGlite 0.5.16.
# One would guess from pg_settings, which says that autovacuum and track_counts are on, that dead rows are cleared in time.
# Seen: the only backend is the caller's, of the type `standalone backend`. There is no autovacuum launcher, so nothing vacuums:
# a store that updates its rows has to run VACUUM itself.
# Source: dist/pglite.wasm of the package: PostgreSQL's name for the backend of its single-user mode, which starts no other process.
# Output, 2026-11-28:
#   autovacuum on, track_counts on; backends: standalone backend
#   guess: backends: client backend, autovacuum launcher
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
const wanted = "select name, setting from pg_settings where name in ('autovacuum', 'track_counts') order by 1"
const settings = (await db.query(wanted)).rows.map(({ name, setting }) => `${name} ${setting}`).join(", ")
const backends = (await db.query("select backend_type from pg_stat_activity")).rows
  .map((row) => row.backend_type)
  .join(", ")
await db.close()

console.log(`${settings}; backends: ${backends}`)
console.log("guess: backends: client backend, autovacuum launcher")
if (settings !== "autovacuum on, track_counts on" || backends !== "standalone backend") {
  console.error("No longer so: PGlite says that autovacuum is off, or has a launcher of it.")
  process.exit(1)
}
END
node look.mjs
