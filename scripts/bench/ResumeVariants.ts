/**
 * Runs that wait for a person in a process that is killed, and what it takes to have them again in another: while they
 * wait, and once they were answered, when the runtime claims each and folds it. Beside it a reader written by hand, over
 * copies of the same rows.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { ConversationId } from "../../src/Ids.ts"
import type { RunId } from "../../src/Ids.ts"
import { Principal } from "../../src/Principal.ts"
import { decideApproval } from "../../src/run/RunCommand.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as ActorMemories from "../../layers/compose/ActorMemories.ts"
import * as EphemeralAgentMemory from "../../layers/ephemeral/EphemeralAgentMemory.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import { anotherRun } from "./DurableSteps.ts"
import { agent, runtime } from "./WaitingVariants.ts"
import { agentName, tenant } from "./Rig.ts"
import type { Sample } from "./Row.ts"
import { sized } from "./Work.ts"

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
  yield* Effect.sync(() => console.log("parked"))
  return yield* Effect.never
})

/** What the killed process owned is free, as it is when its lease is over. */
const free = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe(`DELETE FROM troupe.processes`)
)

/** From the start of a runtime until it has an entry of every run. */
const boots = Effect.fnUntraced(function* (count: number) {
  yield* free
  const began = performance.now()
  const { actors } = Context.get(yield* Layer.build(runtime(stays_ms)), AgentRuntime)
  while ((yield* actors(count)).length < count) yield* Effect.yieldNow
  return { ms: performance.now() - began }
})

const ada = Principal.make({ id: "ada", tenant, roles: ["approver"] })

/** Answers every question, while nobody has its run. */
const decides = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const journal = yield* RunJournal
  const runs = yield* sql.unsafe<{ readonly run_id: RunId }>(
    `SELECT run_id FROM troupe.runs WHERE status = -1`
  )
  yield* Effect.forEach(
    runs,
    ({ run_id }) =>
      journal.amend(run_id, (state, now) => {
        // One question was put to each.
        const { approval, call, digest } = state.requested![0]!
        const decision = { _tag: "Approve" } as const
        return decideApproval(state, { call, approval, decision, by: ada, digest }, now)
      }),
    { concurrency: readers, discard: true }
  )
  return { runs: runs.length }
})

/**
 * From the start of a runtime until the loop of every run, with all that happened to it, wants to write. What it would
 * write is held back for ever: that is a step like any other, and measured by the durable rows.
 */
const resumes = Effect.fnUntraced(function* (count: number, done: (sample: Sample) => void) {
  const journal = yield* RunJournal
  yield* free
  const held = new Set<RunId>()
  const began = performance.now()
  const counted = RunJournal.of({
    ...journal,
    append: ({ run }) =>
      Effect.suspend(() => {
        held.add(run)
        if (held.size === count) done({ ms: performance.now() - began })
        return Effect.never
      })
  })
  yield* Layer.build(runtime(stays_ms)).pipe(Effect.provideService(RunJournal, counted))
  return yield* Effect.never
})

const copies = [
  `DROP SCHEMA IF EXISTS bare CASCADE`,
  `CREATE SCHEMA bare`,
  `CREATE TABLE bare.runs (LIKE troupe.runs INCLUDING ALL)`,
  `CREATE TABLE bare.run_events (LIKE troupe.run_events INCLUDING ALL)`,
  `INSERT INTO bare.runs SELECT * FROM troupe.runs`,
  `INSERT INTO bare.run_events SELECT * FROM troupe.run_events`
]

/** Copies what is parked, for the reader. */
const copied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of copies) yield* sql.unsafe(statement)
  return {}
})

interface EventRow {
  readonly payload: string
}

/** Takes each run with a statement, and keeps what is in it; or only reads it. */
const reads = Effect.fnUntraced(function* (count: number, takes: boolean) {
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
        if (takes) {
          yield* sql.unsafe(`UPDATE bare.runs SET epoch = epoch + 1 WHERE run_id = $1::uuid`, [
            run_id
          ])
        }
        const rows = yield* sql.unsafe<EventRow>(
          `SELECT seq, at, payload FROM bare.run_events WHERE run_id = $1::uuid ORDER BY seq`,
          [run_id]
        )
        held.set(
          run_id,
          rows.map(({ payload }): unknown => JSON.parse(payload))
        )
      }),
    { concurrency: readers, discard: true }
  )
  if (held.size !== count) return yield* Effect.die(new Error("a run is missing"))
  return { ms: performance.now() - began }
})

const memories = ActorMemories.layer(EphemeralAgentMemory.layer).pipe(
  Layer.provide(EphemeralStore.layer)
)

/** `store` is a directory, or the address of a server. */
const over = (store: string) =>
  Layer.merge(SqlStores.layer, memories).pipe(
    Layer.provideMerge(
      store.startsWith("postgres://")
        ? Postgres.layer({ url: Redacted.make(store) })
        : Pglite.layer({ directory: store })
    )
  )

const runs_max = sized(20, 1_000)

export const park = (store: string) =>
  Effect.runPromise(Effect.scoped(parks(runs_max)).pipe(Effect.provide(over(store))))

export const copy = (store: string): Promise<Sample> =>
  Effect.runPromise(copied.pipe(Effect.provide(over(store))))

export const decide = (store: string): Promise<Sample> =>
  Effect.runPromise(decides.pipe(Effect.provide(over(store))))

// As `compose/NodeService` does for an application.
const compiled = () => import("effect/schema/SchemaJITCompiler/enable")

export const boot = async (store: string): Promise<Sample> => {
  await compiled()
  return Effect.runPromise(Effect.scoped(boots(runs_max)).pipe(Effect.provide(over(store))))
}

/** The process ends as it is: to stop the runtime would let its runs go on. */
export const resume = async (store: string): Promise<Sample> => {
  await compiled()
  return new Promise((resolve, reject) => {
    const running = Effect.scoped(resumes(runs_max, resolve)).pipe(Effect.provide(over(store)))
    Effect.runPromise(running).catch(reject)
  })
}

export const take = (store: string): Promise<Sample> =>
  Effect.runPromise(reads(runs_max, true).pipe(Effect.provide(over(store))))

export const read = (store: string): Promise<Sample> =>
  Effect.runPromise(reads(runs_max, false).pipe(Effect.provide(over(store))))
