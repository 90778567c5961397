#!/usr/bin/env bash
# COMMIT by pg 8.23.1 of a transaction in which a statement has failed and the program has caught that error.
# One would guess that the promise of COMMIT is rejected, since nothing was committed. withTransaction of @effect/sql-pg 4.0.5
# and transaction() of PGlite 0.5.16 do reject.
# Seen: it resolves, as after a commit. Only the field `command` of the result says ROLLBACK, and the rows are not there.
# Source: lib/result.js of the package, addCommandComplete: the server's word is kept, and is compared with nothing.
# Output, 2026-11-28:
#   COMMIT resolves with command ROLLBACK; rows in the table: 0
#   guess: COMMIT is rejected, or resolves with command COMMIT and rows: 1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(pg@8.23.1 @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { PGlite } from "@electric-sql/pglite"
import { PGLiteSocketServer } from "@electric-sql/pglite-socket"
import pg from "pg"

const db = await PGlite.create()
const server = new PGLiteSocketServer({ db, host: "127.0.0.1", port: 0 })
const listening = new Promise((done) => {
  server.addEventListener("listening", ({ detail }) => done(detail.port))
})
await server.start()
const port = await listening
const client = new pg.Client({ host: "127.0.0.1", port, user: "postgres", password: "x", database: "postgres" })
await client.connect()
await client.query("create table seats (seat int primary key)")
await client.query("begin")
await client.query("insert into seats values (1)")
await client.query("insert into seats values (1)").catch(() => "the seat is taken, go on")
const seen = await client.query("commit").then(
  ({ command }) => `resolves with command ${command}`,
  (error) => `is rejected: ${error.message}`
)
const { rows } = await client.query("select * from seats")
await client.end()
await server.stop()
await db.close()

console.log(`COMMIT ${seen}; rows in the table: ${rows.length}`)
console.log("guess: COMMIT is rejected, or resolves with command COMMIT and rows: 1")
if (seen !== "resolves with command ROLLBACK" || rows.length !== 0) {
  console.error("No longer so: COMMIT of an aborted transaction does not resolve with ROLLBACK.")
  process.exit(1)
}
END
node look.mjs
