/**
 * Runs that wait for a person in a process that is killed, and what it takes to have an entry of each in another, while
 * nobody answers. What the killed process left stays as it is, its lease too. Beside it a reader written by hand, over
 * copies of the same rows.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { ConversationId } from "../../src/value/Ids.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { anotherRun } from "./DurableSteps.ts"
import { agent, runtime } from "./WaitingVariants.ts"
import { agentName, tenant } from "./Rig.ts"
import type { Sample } from "./Row.ts"
import { compileSchemas, sized } from "./Work.ts"

/** As many as the runtime loads at the same time. */
const readers = 64

const create = Effect.fnUntraced(function* (count: number) {
  const journal = yield* RunJournal
  for (let n = 0; n < count; n++) {
    const key = ConversationId.make(`c-${n}`)
    yield* journal.create(anotherRun(), 1, {
      _tag: "RunAccepted",
      tenant,
      address: { agent: agentName, key },
      conversation: key,
      message: "change it",
      by: "bench",
      trace_id: "0af7651916cd43dd8448eb211c80319c",
      limits: agent.limits,
      pins: { definition: "", tools: "" }
    })
  }
})

const waiting = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [row] = yield* sql.unsafe<{ readonly runs: number }>(
    `SELECT count(*)::int4 AS runs FROM troupe.runs WHERE status = -1`
  )
  return row!.runs
})

const stays_ms = 3_600_000

/** Parks the runs, says so, and waits to be killed. */
const parks = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* create(count)
  yield* Layer.build(runtime(stays_ms))
  while ((yield* waiting(sql)) < count) yield* Effect.sleep(50)
  yield* Effect.sync(() => console.log("ready"))
  return yield* Effect.never
})

/** From the start of a runtime until it has an entry of every run. */
const boots = Effect.fnUntraced(function* (count: number) {
  const began = performance.now()
  const { actors } = Context.get(yield* Layer.build(runtime(stays_ms)), AgentRuntime)
  while ((yield* actors(count)).length < count) yield* Effect.sleep(1)
  return { ms: performance.now() - began }
})

const copies = [
  `DROP SCHEMA IF EXISTS bare CASCADE`,
  `CREATE SCHEMA bare`,
  `CREATE TABLE bare.runs (LIKE troupe.runs INCLUDING ALL)`,
  `CREATE TABLE bare.run_pairs (LIKE troupe.run_pairs INCLUDING ALL)`,
  `INSERT INTO bare.runs SELECT * FROM troupe.runs`,
  `INSERT INTO bare.run_pairs SELECT * FROM troupe.run_pairs`
]

/** Copies what is parked, for the reader. */
const copied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of copies) yield* sql.unsafe(statement)
  return {}
})

interface EventRow {
  readonly payload: string
  readonly next: string | null
}

/** Takes each run with a statement, and keeps what is in it. */
const reads = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  const began = performance.now()
  const runs = yield* sql.unsafe<{ readonly run_id: string }>(
    `SELECT run_id FROM bare.runs WHERE status < 3`
  )
  const held = new Map<string, ReadonlyArray<unknown>>()
  yield* Effect.forEach(
    runs,
    ({ run_id }) =>
      Effect.gen(function* () {
        yield* sql.unsafe(`UPDATE bare.runs SET epoch = epoch + 1 WHERE run_id = $1::uuid`, [
          run_id
        ])
        const rows = yield* sql.unsafe<EventRow>(
          `SELECT seq, at, payload, next FROM bare.run_pairs WHERE run_id = $1::uuid ORDER BY seq`,
          [run_id]
        )
        held.set(
          run_id,
          rows.flatMap(({ next, payload }): ReadonlyArray<unknown> =>
            next === null ? [JSON.parse(payload)] : [JSON.parse(payload), JSON.parse(next)]
          )
        )
      }),
    { concurrency: readers, discard: true }
  )
  if (held.size !== count) return yield* Effect.die(new Error("a run is missing"))
  return { ms: performance.now() - began }
})

/** `store` is a directory, or the address of a server. */
const engine = (store: string) =>
  store.startsWith("postgres://")
    ? Layer.orDie(Postgres.layer({ url: Redacted.make(store) }))
    : Layer.orDie(Pglite.layer({ directory: store }))

/** As an application has them: they notice when a process is gone. */
const stores = (store: string) =>
  store.startsWith("postgres://") ? Stores.postgres(Redacted.make(store)) : Stores.directory(store)

const runs_max = sized(20, 1_000)

export const park = (store: string) =>
  Effect.runPromise(Effect.scoped(parks(runs_max)).pipe(Effect.provide(stores(store))))

export const copy = (store: string): Promise<Sample> =>
  Effect.runPromise(copied.pipe(Effect.provide(engine(store))))

export const boot = async (store: string): Promise<Sample> => {
  await compileSchemas()
  return Effect.runPromise(Effect.scoped(boots(runs_max)).pipe(Effect.provide(stores(store))))
}

export const take = (store: string): Promise<Sample> =>
  Effect.runPromise(reads(runs_max).pipe(Effect.provide(engine(store))))
