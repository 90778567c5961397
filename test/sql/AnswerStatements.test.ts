/** What answers after a restart cost PostgreSQL, each from `decide` to its run's end, so that no statement comes back unnoticed. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, References } from "effect"
import { SqlClient } from "effect/sql"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { RelayConfig } from "../../layers/runtime/relay/OutboxRelay.ts"
import { run_parked, runCode } from "../../layers/sql/journal/Codes.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "../runtime/Harness.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import * as Statements from "./Statements.ts"

const counted = Statements.make()

const hour_ms = 3_600_000

const options: H.Options = {
  tools: { change: H.asks((n) => Effect.succeed(n)) },
  script: ({ transcript }) => (transcript.length === 1 ? call("change", { n: 7 }) : text("done")),
  // Nothing but answers sends statements.
  config: { sweep_ms: hour_ms, lease_ms: hour_ms, watch_ms: hour_ms, audit_first_ms: hour_ms }
}

const stores = Layer.merge(SqlStores.layer, EphemeralStore.layer).pipe(
  Layer.provideMerge(EmbeddedPostgres.layer)
)

/** Whose relay asks for messages only when it is woken. */
const boot = Effect.gen(function* () {
  const relay = { ...(yield* RelayConfig), sweep_ms: hour_ms }
  return yield* Effect.provideService(H.boot(options), RelayConfig, relay)
})

const uncounted = Effect.provideService(References.TracerEnabled, false)

const allAre = (runs: ReadonlyArray<RunId>, status: "parked" | "complete") =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const code = status === "parked" ? run_parked : runCode(status)
    const found =
      yield* sql`SELECT FROM troupe.runs WHERE run_id = ANY(${runs}::text[]::uuid[]) AND status = ${code}::int2`
    return found.length === runs.length
  }).pipe((ask) => eventually(ask, (all) => all), uncounted)

const runs_max = 64

layer(Layer.provideMerge(stores, counted.layer), {
  excludeTestServices: true,
  timeout: "2 minutes"
})("the statements of answers after a restart (PostgreSQL)", (it) => {
  it.effect("64 answers at once cost less than half a statement each, and every run ends", () =>
    Effect.gen(function* () {
      const first = yield* boot
      const runs = yield* first.run(
        Effect.forEach(
          Array.from({ length: runs_max }, (_, i) => `asked-${i}`),
          (conversation) => H.send("hello", conversation),
          { concurrency: "unbounded" }
        )
      )
      yield* first.run(allAre(runs, "parked"))
      yield* first.stop
      const second = yield* boot
      const questions = yield* second.run(H.pending)
      assert.strictEqual(questions.length, runs_max)
      counted.reset()
      yield* second.run(
        Effect.forEach(questions, ({ id }) => H.decide(id, H.approve), {
          concurrency: "unbounded"
        })
      )
      yield* second.run(allAre(runs, "complete"))
      // A tracer, which counts here, has each run read for its spans.
      const sent = counted.sent.filter((each) => !each.includes("LEFT JOIN LATERAL (SELECT x.seq"))
      assert.isBelow(sent.length, runs_max / 2, sent.join("\n"))
      const tasks = yield* Effect.forEach(runs, (run) => TaskStore.use(({ get }) => get(run)))
      assert.isTrue(tasks.every((task) => task?.status === "complete"))
    })
  )
})
