#!/usr/bin/env bash
# What the planner's statistics of PostgreSQL 18.6, in PGlite 0.5.16, keep of a table whose rows are all erased.
# One would guess that a value is gone from pg_stats at the latest once the table was truncated or rewritten, and analysed.
# Seen: ANALYZE passes over a table that has no row and leaves its statistics as they were. The value, in words, is there after
# DELETE and VACUUM (FULL, ANALYZE) and after TRUNCATE and ANALYZE; one row more and an ANALYZE, and it is gone. Whoever erases a
# person's last rows has to clear them too (pg_clear_attribute_stats, since 18).
# Source: src/backend/commands/analyze.c of PostgreSQL, do_analyze_rel: statistics are computed and stored only if numrows > 0.
# Output, 2026-11-28:
#   deleted, rewritten and analysed: {visitor}; truncated and analysed: {visitor}; with another row: null
#   guess: deleted, rewritten and analysed: null
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
const common = async () => {
  const { rows } = await db.query("select most_common_vals::text as v from pg_stats where tablename = 'guests'")
  return rows.map(({ v }) => String(v)).join(", ")
}
await db.query("create table guests (name text)")
await db.query("insert into guests select 'visitor' from generate_series(1, 100)")
await db.query("analyze guests")
await db.query("delete from guests")
await db.query("vacuum (full, analyze) guests")
const rewritten = await common()
await db.query("truncate guests")
await db.query("analyze guests")
const truncated = await common()
await db.query("insert into guests values ('another')")
await db.query("analyze guests")
const another = await common()
await db.close()

console.log(`deleted, rewritten and analysed: ${rewritten}; truncated and analysed: ${truncated}; with another row: ${another}`)
console.log("guess: deleted, rewritten and analysed: null")
if (rewritten !== "{visitor}" || truncated !== "{visitor}" || another !== "null") {
  console.error("No longer so: the statistics of an empty table do not keep its former values.")
  process.exit(1)
}
END
node look.mjs
