/** What a message costs PostgreSQL, from `send` to its end: bounds, so that no statement comes back unnoticed. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, References } from "effect"
import { SqlClient } from "effect/sql"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { RelayConfig } from "../../layers/runtime/relay/OutboxRelay.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "../runtime/Harness.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import * as Statements from "./Statements.ts"

const counted = Statements.make()

/** As many steps as the message says: each but the last one reads something. */
const script: Script = ({ transcript }) => {
  const asked = transcript.findLast((entry) => entry.role === "user")
  const steps = Number(asked?.role === "user" ? asked.text : 1)
  const done = transcript.filter((entry) => entry.role === "assistant").length
  return done + 1 < steps ? call("look", { n: done }) : text("done")
}

const hour_ms = 3_600_000

const options: H.Options = {
  tools: { look: H.reads((n) => Effect.succeed(n)) },
  script,
  // Nothing but messages sends statements.
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

/** Waits until the runs have ended and their actors have nothing left to look for. */
const settled = (runs: ReadonlyArray<RunId>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // Not by the store, whose reads are counted whoever asks.
    const open =
      yield* sql`SELECT FROM troupe.agent_tasks WHERE id = ANY(${runs}::text[]::uuid[]) AND status < 2`
    const actors = yield* AgentRuntime.use((runtime) => runtime.actors(1_000))
    return open.length === 0 && actors.every(({ state }) => state === "idle")
  }).pipe((ask) => eventually(ask, (over) => over), uncounted)

/** The statements that a message costs, in order. */
const costOf = Effect.fnUntraced(function* (steps: number, conversation: string) {
  counted.reset()
  const run = yield* H.send(String(steps), conversation)
  yield* settled([run])
  return {
    sent: counted.sent.join("\n"),
    statements: counted.sent.length,
    counted: counted.commits
  }
})

/**
 * The least of several messages: on a busy machine the relay's first looks at the outbox come late, beside one of them. What
 * every message sends is in all.
 */
const leastOf = Effect.fnUntraced(function* (steps: number, conversations: ReadonlyArray<string>) {
  const costs = yield* Effect.forEach(conversations, (each) => costOf(steps, each))
  return costs.reduce((least, cost) => (cost.statements < least.statements ? cost : least))
})

layer(Layer.provideMerge(stores, counted.layer), {
  excludeTestServices: true,
  timeout: "2 minutes"
})("the statements of a message (PostgreSQL)", (it) => {
  it.effect(
    "a message is accepted with its run by one, ended by one, and a further step is one",
    () =>
      Effect.gen(function* () {
        const process = yield* boot
        yield* process.run(costOf(2, "warm"))
        const one = yield* process.run(leastOf(1, ["one", "first", "new"]))
        assert.isAtMost(one.statements, 3, one.sent)
        assert.isAtMost(one.counted, 3)
        const ten = yield* process.run(leastOf(10, ["ten", "long"]))
        assert.isAtMost(ten.statements, one.statements + 9, ten.sent)
        // Its conversation is known, and so is what was said in it.
        const again = yield* process.run(leastOf(1, ["one", "first", "new"]))
        assert.isAtMost(again.statements, one.statements, again.sent)
      })
  )

  it.effect("64 messages at once share their statements", () =>
    Effect.gen(function* () {
      const process = yield* boot
      counted.reset()
      const runs = yield* process.run(
        Effect.forEach(
          Array.from({ length: 64 }, (_, i) => `many-${i}`),
          (conversation) => H.send("1", conversation),
          { concurrency: "unbounded" }
        )
      )
      yield* process.run(settled(runs))
      // Appends of a crowd are written in two halves.
      assert.isBelow(counted.sent.length, 12, counted.sent.join("\n"))
    })
  )
})
