/** What budgets cost PostgreSQL, and that a reservation waits for one of another process that is not committed. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, References } from "effect"
import { SqlClient } from "effect/sql"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import { RelayConfig } from "../../layers/runtime/relay/OutboxRelay.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { BudgetLedger } from "../../services/BudgetLedger.ts"
import type { BudgetAccount } from "../../src/cost/Budget.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Samples from "../contracts/Samples.ts"
import * as H from "../runtime/Harness.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import * as Statements from "./Statements.ts"

const counted = Statements.make()
const hour_ms = 3_600_000

const options = (budgets: H.Options["agent"]): H.Options => ({
  script: () => text("done"),
  agent: budgets,
  // Nothing but messages sends statements.
  config: { sweep_ms: hour_ms, lease_ms: hour_ms, watch_ms: hour_ms, audit_first_ms: hour_ms }
})

const budgeted = options({
  budgets: [
    { name: "daily", scope: "conversation", period: "day", calls: 1_000 },
    { name: "words", scope: "tenant", period: "month", tokens: 1_000_000_000 }
  ]
})

const boot = Effect.fnUntraced(function* (given: H.Options) {
  const relay = { ...(yield* RelayConfig), sweep_ms: hour_ms }
  return yield* Effect.provideService(H.boot(given), RelayConfig, relay)
})

/** Waits until the runs have ended and their actors have nothing left to look for. */
const settled = (runs: ReadonlyArray<RunId>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const open =
      yield* sql`SELECT FROM troupe.agent_tasks WHERE id = ANY(${runs}::text[]::uuid[]) AND status < 2`
    const actors = yield* AgentRuntime.use((runtime) => runtime.actors(1_000))
    return open.length === 0 && actors.every(({ state }) => state === "idle")
  }).pipe(
    (ask) => eventually(ask, (over) => over),
    Effect.provideService(References.TracerEnabled, false)
  )

/** The fewest statements of several messages: on a busy machine the relay's looks come beside one of them. */
const fewest = Effect.fnUntraced(function* (name: string) {
  const counts: Array<ReadonlyArray<string>> = []
  for (let index = 0; index < 4; index++) {
    counted.reset()
    yield* settled([yield* H.send("hello", `${name}-${index}`)])
    counts.push(counted.sent.slice())
  }
  return counts.reduce((least, each) => (each.length < least.length ? each : least))
})

const account: BudgetAccount = {
  tenant: Samples.acme,
  budget: "once",
  scope: "tenant",
  unit: "calls",
  holder: "",
  starts_at: 0
}

const stores = Layer.merge(SqlStores.layer, EphemeralStore.layer).pipe(
  Layer.provideMerge(EmbeddedPostgres.layer)
)

layer(Layer.provideMerge(stores, counted.layer), {
  excludeTestServices: true,
  timeout: "2 minutes"
})("the statements of budgets (PostgreSQL)", (it) => {
  it.effect(
    "a reservation waits for another process that is about to reserve, and counts that",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* BudgetLedger
        const begun = yield* Samples.begin()
        const reserve = (max: string) =>
          ledger.reserve({
            run: begun.run,
            place: "turn 1",
            lines: [{ account, amount: "1", max }]
          })
        assert.isDefined(yield* reserve("0"))
        const [locked, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        // Another process between its look at the account and its reservation.
        const other = yield* Effect.forkChild(
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`SELECT FROM troupe.budget_accounts WHERE budget = ${account.budget} FOR UPDATE`
              yield* Deferred.succeed(locked, undefined)
              yield* Deferred.await(go)
              yield* sql`UPDATE troupe.budget_accounts SET held = 1 WHERE budget = ${account.budget}`
            })
          )
        )
        yield* Deferred.await(locked)
        const late = yield* Effect.forkChild(reserve("1"))
        yield* eventually(
          sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          (waiting) => waiting.length === 1
        )
        yield* Deferred.succeed(go, undefined)
        yield* Fiber.join(other)
        assert.deepStrictEqual(yield* Fiber.join(late), { line: 0, spent: "0", reserved: "1" })
      })
  )

  it.effect("a message under two budgets costs one statement more than one without", () =>
    Effect.gen(function* () {
      const plain = yield* boot(options({}))
      const without = yield* plain.run(fewest("plain"))
      yield* plain.stop
      assert.isFalse(without.some((statement) => statement.includes("budget")))
      const process = yield* boot(budgeted)
      const within = yield* process.run(fewest("budgeted"))
      assert.isAtMost(within.length, without.length + 1, within.join("\n"))
      assert.isTrue(within.some((statement) => statement.includes("reserve_budgets")))
      yield* process.stop
    })
  )

  it.effect("64 messages at once share the statements of their reservations", () =>
    Effect.gen(function* () {
      const process = yield* boot(budgeted)
      yield* process.run(fewest("warm"))
      counted.reset()
      const runs = yield* process.run(
        Effect.forEach(
          Array.from({ length: 64 }, (_, i) => `many-${i}`),
          (conversation) => H.send("hello", conversation),
          { concurrency: "unbounded" }
        )
      )
      yield* process.run(settled(runs))
      const reserving = counted.sent.filter((statement) => statement.includes("reserve_budgets"))
      assert.isAtMost(reserving.length, 8, counted.sent.join("\n"))
      yield* process.stop
    })
  )
})
