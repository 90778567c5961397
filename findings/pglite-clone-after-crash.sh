#!/usr/bin/env bash
# A copy of a database by clone() of PGlite 0.5.16, which is dumpDataDir and loadDataDir in one step.
# One would guess that a copy made while nothing runs is a copy: the same rows, and the same next value of each sequence.
# Seen: the copy is what PostgreSQL leaves after a crash. Rows of unlogged tables are gone, and a sequence goes on 32 values
# later, since it has logged that many ahead. Each copy of a copy loses 32 more. Snapshots of a seeded database for tests thus
# have other ids than the database itself. A checkpoint before it saves the sequence, and not the unlogged rows.
# close() and a second start on the same folder keep both.
# Source: dist/chunk-XZUEO4BZ.js of the package, clone and dumpDataDir: the tar is made of the files of a server that runs,
# without a checkpoint or a shutdown, so that the copy starts with crash recovery.
# Output, 2026-11-29:
#   the copy:               0 unlogged rows, next id 34
#   the database it is of:  1 unlogged rows, next id 2
#   guess: 1 unlogged rows, next id 2, twice
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

const look = async (db) => {
  const rows = await db.query("select count(*)::int as n from scratch")
  const next = await db.query("insert into task default values returning id")
  return `${rows.rows[0].n} unlogged rows, next id ${next.rows[0].id}`
}
const db = await PGlite.create()
await db.exec(`create unlogged table scratch (n int);
  insert into scratch values (1);
  create table task (id int generated always as identity primary key);
  insert into task default values`)
const copy = await db.clone()
const ofCopy = await look(copy)
const ofDatabase = await look(db)
await copy.close()
await db.close()

console.log(`the copy:               ${ofCopy}`)
console.log(`the database it is of:  ${ofDatabase}`)
console.log("guess: 1 unlogged rows, next id 2, twice")
if (ofDatabase !== "1 unlogged rows, next id 2" || ofCopy !== "0 unlogged rows, next id 34") {
  console.error("No longer so: a copy has the unlogged rows, or goes on with the next id.")
  process.exit(1)
}
END
node look.mjs
