#!/usr/bin/env bash
# Arrays as parameters of @effect/sql-pg 4.0.5, where the statement itself names their type (`$1::float8[]`).
# One would guess that a list of numbers is a list of numbers, as it is to pg 8.23.1 on the same server.
# Seen: each element gets a type of its own (1 is int4, 2.5 is float8, 3000000000 is int8), and a list in which they differ is
# refused before anything is sent; so is a list of nulls alone. Whether a query works depends on the values of that call.
# Source: src/PgConnection.ts of the package, inferParameter and inferScalar.
# Output, 2026-11-28:
#   [1,2]          pg: [1,2]            sql-pg: [1,2]
#   [1,2.5]        pg: [1,2.5]          sql-pg: Array parameter elements must have the same inferred OID
#   [1,3000000000] pg: [1,3000000000]   sql-pg: Array parameter elements must have the same inferred OID
#   [null]         pg: [null]           sql-pg: Cannot infer the type of an array containing only null values
#   guess: both columns are the same
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(effect@4.1.0 @effect/sql-pg@4.0.5 pg@8.23.1 @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { PgClient } from "@effect/sql-pg"
import { PGlite } from "@electric-sql/pglite"
import { PGLiteSocketServer } from "@electric-sql/pglite-socket"
import { Effect, Redacted } from "effect"
import pg from "pg"

const db = await PGlite.create()
const server = new PGLiteSocketServer({ db, host: "127.0.0.1", port: 0 })
const listening = new Promise((done) => {
  server.addEventListener("listening", ({ detail }) => done(detail.port))
})
await server.start()
const port = await listening
const lists = [[1, 2], [1, 2.5], [1, 3_000_000_000], [null]]
const statement = "select $1::float8[] as list"

const client = new pg.Client({ host: "127.0.0.1", port, user: "postgres", password: "x", database: "postgres" })
await client.connect()
const guessed = []
for (const list of lists) guessed.push(JSON.stringify((await client.query(statement, [list])).rows[0].list))
await client.end()

const program = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return yield* Effect.forEach(lists, (list) =>
    sql.unsafe(statement, [list]).pipe(
      Effect.map((rows) => JSON.stringify(rows[0].list)),
      Effect.catch((error) => Effect.succeed(error.reason.cause.message))
    )
  )
})
const layer = PgClient.layer({
  host: "127.0.0.1",
  port,
  username: "postgres",
  password: Redacted.make("x"),
  database: "postgres",
  maxConnections: 1
})
const seen = await Effect.runPromise(program.pipe(Effect.provide(layer)))
await server.stop()
await db.close()

for (const [at, list] of lists.entries()) {
  const columns = [JSON.stringify(list).padEnd(14), `pg: ${guessed[at]}`.padEnd(20), `sql-pg: ${seen[at]}`]
  console.log(columns.join(" "))
}
console.log("guess: both columns are the same")
const mixed = "Array parameter elements must have the same inferred OID"
if (seen[0] !== "[1,2]" || seen[1] !== mixed || seen[2] !== mixed || !/only null/.test(seen[3])) {
  console.error("No longer so: lists of mixed numbers, or of nulls alone, are taken as parameters.")
  process.exit(1)
}
END
node look.mjs
