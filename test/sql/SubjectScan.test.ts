/** A subject's text in every kind of column, written in every way, and in whose rows it is looked for. */
import { createHash } from "node:crypto"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { FoundRows } from "../../services/MemoryStore.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"

const subject = `Ünal "O\\lga"`

const rowsOf = (found: ReadonlyArray<FoundRows>) =>
  Object.fromEntries(found.filter(({ rows }) => rows > 0).map(({ rows, table }) => [table, rows]))

const nested = (text: string) => JSON.stringify({ said: JSON.stringify({ a: [`to ${text}!`] }) })

/** One row of each kind. */
const insertAll = Effect.fnUntraced(function* (tenant: Tenant, name: string) {
  const sql = yield* SqlClient.SqlClient
  const insert = (text: string, params: ReadonlyArray<unknown>) =>
    sql.unsafe(`INSERT INTO troupe.${text}`, [tenant, ...params])
  const loop = "loop_records (tenant, key, value) VALUES ($1::text, $2::text, $3::text)"
  yield* insert(loop, ["plain", `of ${name}, who`])
  yield* insert(loop, ["json", JSON.stringify({ name })])
  yield* insert(loop, ["json in json", nested(name)])
  yield* insert(loop, ["in capitals", name.toUpperCase()])
  const escaped = JSON.stringify({ name }).replaceAll("Ü", "\\u00dc").replaceAll("/", "\\/")
  yield* insert(loop, ["in ASCII", JSON.stringify({ escaped })])
  yield* insert(loop, ["in hex", Buffer.from(name).toString("hex")])
  yield* insert(loop, ["not it", `of ${name.slice(1)}`])
  yield* insert(
    `outbox (tenant, key, key_seq, id, place, topic, payload, created_at, replayed, failures)
     VALUES ($1::text, 'k', 1, gen_random_uuid(), 1, 'nobody.reads', '{}', 1, false, $2::text[])`,
    [["{}", JSON.stringify({ error: `no ${name}` })]]
  )
  const bytes = Buffer.concat([Buffer.from([0, 255, 254]), Buffer.from(name), Buffer.from([0])])
  yield* insert("blob_totals (tenant, bytes) VALUES ($1::text, 9)", [])
  yield* insert("blobs (tenant, digest, size, bytes) VALUES ($1::text, $2::text, 9, $3::bytea)", [
    createHash("sha256").update(bytes).digest("hex"),
    bytes
  ])
  const scope = yield* insert(
    `memory_scopes (tenant, agent, tier, anchor, place, session, rows, touched_at)
     VALUES ($1::text, 'a', 0, 'r', 'p', 's', 0, 1) RETURNING id::text AS id`,
    []
  )
  // Words of a memory that is gone.
  yield* sql.unsafe(
    `INSERT INTO troupe.memory_words (scope, word, position)
     VALUES ($1::text::int8, 'ünal', 900000000 + $1::text::int8), ($1::text::int8, 'tea', 1)`,
    [(scope[0] as { readonly id: string }).id]
  )
})

onEngines("SubjectScan", (it) => {
  it.effect(
    "finds a text however it is written, in every kind of column of the tenant's rows",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const tenant = Samples.tenant()
        const other = Samples.tenant()
        yield* insertAll(tenant, subject)
        const all = { loop_records: 6, outbox: 1, blobs: 1, memory_words: 1 }
        assert.deepStrictEqual(rowsOf((yield* store.erase(tenant, subject)).scanned), all)
        const lowered = yield* store.erase(tenant, subject.toLowerCase())
        // Bytes and hexadecimal digits are compared in a few cases only, of which "O\\l" is none.
        const texts = { loop_records: 5, outbox: 1, memory_words: 1 }
        assert.deepStrictEqual(rowsOf(lowered.scanned), texts)
        const plain = yield* store.erase(tenant, "ünal")
        assert.deepStrictEqual(rowsOf(plain.scanned), all)
        assert.deepStrictEqual(rowsOf((yield* store.erase(other, subject)).scanned), {})
        assert.deepStrictEqual(rowsOf((yield* store.erase(tenant, `Ünel "O\\lga"`)).scanned), {})
      })
  )

  it.effect("looks into every table, and into those of no tenant as a whole", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* MemoryStore
      const tenant = Samples.tenant()
      yield* Samples.begin({ tenant, message: `I am ${subject}` })
      yield* sql.unsafe(`INSERT INTO troupe.components (id, component) VALUES ('c', $1::text)`, [
        nested(subject)
      ])
      const { scanned } = yield* store.erase(tenant, subject)
      const tables = yield* sql.unsafe<{ readonly name: string }>(
        `SELECT table_name::text AS name FROM information_schema.tables
         WHERE table_schema = 'troupe' AND table_type = 'BASE TABLE' ORDER BY 1`
      )
      assert.deepStrictEqual(
        scanned.map(({ table }) => table),
        // Events are said to be in the view that shows each of them.
        tables.map(({ name }) => (name === "run_pairs" ? "run_events" : name))
      )
      assert.deepStrictEqual(rowsOf(scanned), {
        agent_tasks: 1,
        components: 1,
        conversation_messages: 1,
        run_events: 1
      })
    })
  )
})
