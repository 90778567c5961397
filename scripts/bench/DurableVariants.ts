/**
 * A durable step on one engine: a run's append with its fence and its projections through `SqlRunJournal`, beside the
 * same rows written by hand without a fence: in a group commit where 64 runs write, one statement a step where one does.
 * Of every hundred steps two ask a person and five end a run.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { CallId } from "../../src/Ids.ts"
import { ApprovalId, callId, rootFrame, RunId } from "../../src/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { RunStatus } from "../../src/run/RunState.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import * as Pglite from "../../layers/sql/Pglite.ts"
import * as Postgres from "../../layers/sql/Postgres.ts"
import * as SqlStores from "../../layers/sql/SqlStores.ts"
import { agentName, tenant } from "./Rig.ts"
import * as Bare from "./BareCommit.ts"

/** A run ends at this step: five in a hundred. */
const steps_per_run = 20
const asks_every = 50
const window_ms = 400
const concurrencies = [1, 64] as const

/** One step's event, of about 330 bytes as JSON. */
const eventOf = (step: number, count: number): RunEvent => {
  const call = callId(rootFrame, step, 0)
  if (step === steps_per_run) {
    return { _tag: "RunEnded", status: "complete", reason: "complete", text: "x".repeat(200) }
  }
  if (count % asks_every === 0) return asks(call, ApprovalId.make(uuid("a", count)))
  return {
    _tag: "CallSettled",
    call,
    outcome: { _tag: "Value", json: JSON.stringify({ id: count, text: "x".repeat(190) }) },
    started_at: 1_700_000_000_000,
    ended_at: 1_700_000_000_001
  }
}

let unique = 0
const uuid = (kind: string, n: number): string =>
  `${kind}${(++unique).toString(16).padStart(7, "0")}-0000-4000-8000-${n.toString(16).padStart(12, "0")}`

const asks = (call: CallId, id: ApprovalId): RunEvent => ({
  _tag: "ApprovalRequested",
  call,
  approval: ApprovalId.make(id),
  digest: "a".repeat(64),
  proposal: "b".repeat(64),
  payload: {
    tool_name: "change",
    agent_name: agentName,
    args_summary: "id: 1",
    effect_description: "Changes one record.",
    correlation_id: id
  },
  tool_key: "bench.change@1",
  arguments: { id: 1 },
  policy_version: "1",
  approvers: []
})

/** What a writer takes: runs that were made before the window. */
type Write = (run: RunId, length: number, event: RunEvent) => Effect.Effect<void, unknown>

/** Writers in a closed loop for one window; steps a second. */
const window = Effect.fnUntraced(function* (writers: number, runs: Array<RunId>, write: Write) {
  let steps = 0
  const began = performance.now()
  const end = began + window_ms
  const writer = Effect.gen(function* () {
    while (performance.now() < end) {
      const run = runs.pop()
      if (run === undefined) return yield* Effect.die(new Error("too few runs were made"))
      for (let step = 1; step <= steps_per_run && performance.now() < end; step++) {
        yield* write(run, step + 1, eventOf(step, ++steps))
      }
    }
  })
  yield* Effect.all(
    Array.from({ length: writers }, () => writer),
    {
      concurrency: "unbounded",
      discard: true
    }
  )
  return (steps * 1_000) / (performance.now() - began)
})

const statusOf = (event: RunEvent): RunStatus =>
  event._tag === "RunEnded"
    ? "complete"
    : event._tag === "ApprovalRequested"
      ? "awaiting_approval"
      : "processing"

const measured = (rounds: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const journal = yield* RunJournal
    yield* Bare.prepare(sql)
    const bare = Bare.make(sql)
    const ours: Write = (run, length, event) =>
      journal.append({ run, fence: { epoch: 1, length }, events: [event], status: statusOf(event) })
    const lower = { 1: bare.one, 64: bare.group }
    const samples: Array<Record<string, number>> = []
    // The first round is for the compilers and the caches of both sides.
    for (let round = 0; round <= rounds; round++) {
      const sample: Record<string, number> = {}
      const turns = concurrencies.flatMap((writers) => [
        { name: `ours_${writers}`, writers, write: ours },
        { name: `lower_${writers}`, writers, write: lower[writers] }
      ])
      for (let i = 0; i < turns.length; i++) {
        const { name, write, writers } = turns[(i + round) % turns.length]!
        const runs = yield* Bare.runs(sql, tenant, writers === 1 ? 400 : 2_000, () =>
          RunId.make(uuid("c", round))
        )
        sample[name] = yield* window(writers, runs, write)
      }
      if (round > 0) samples.push(sample)
    }
    return { samples }
  })

export const postgres = (url: string, rounds: string) =>
  Effect.runPromise(
    measured(Number(rounds)).pipe(
      Effect.provide(
        SqlStores.layer.pipe(Layer.provideMerge(Postgres.layer({ url: Redacted.make(url) })))
      )
    )
  )

export const pglite = async (rounds: string) => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-bench-"))
  const found = await Effect.runPromise(
    measured(Number(rounds)).pipe(
      Effect.provide(SqlStores.layer.pipe(Layer.provideMerge(Pglite.layer({ directory }))))
    )
  )
  rmSync(directory, { recursive: true, force: true })
  return found
}
