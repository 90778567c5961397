/** Statements that whoever sends a message waits for: each in the role of its tenant is a transaction of its own. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Statement } from "effect/sql"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import { call, calls, layer as scripted } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec, Principal, tool } from "../../src/index.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Homes from "../process/Homes.ts"

const lookUp = tool(
  {
    namespace: "shop",
    name: "look_up",
    // Reads, which run at the same time, and of which each asks.
    side_effects: "read",
    permission: "ask",
    approval_expires_ms: 600_000,
    description: "Reads an order.",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `order ${order}`
)
const shop = AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["look_up"] })
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver", "operator"] })
const orders = ["A-1", "A-2", "A-3"]

/** Statements that the effect's own fiber sends, in order. */
const sentBy = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const sent: Array<string> = []
    const noting: Statement.Transformer = (statement) =>
      Effect.sync(() => {
        sent.push(statement.compile()[0])
        return statement
      })
    return Effect.map(
      Effect.provideService(effect, Statement.CurrentTransformer, noting),
      (answer) => ({ answer, sent })
    )
  })

const counted = (sent: ReadonlyArray<string>, part: string): number =>
  sent.filter((text) => text.includes(part)).length

/** A task or an approval by its id, as the tenant. */
const task_by_id = "WHERE id = w.id::uuid AND tenant = $2::text"
const approvals_by_id = "a.id = ANY ($1::text[]::uuid[]) AND a.tenant = $2::text"

describe("what a caller waits for", () => {
  for (const [engine, home] of Homes.some) {
    it.live(
      `three questions are one read, and a run that is at work here is none (${engine})`,
      () =>
        Effect.gen(function* () {
          const store = yield* home
          const model = scripted(() => calls(orders.map((order) => call("look_up", { order }))))
          yield* Effect.gen(function* () {
            const troupe = yield* Troupe
            const asked = yield* sentBy(troupe.ask({ agent: "shop", text: "Look them up" }, boss))
            // The caller has just sent it.
            assert.strictEqual(counted(asked.sent, task_by_id), 0)
            yield* eventually(troupe.pending(boss), ({ length }) => length === orders.length)
            const later = yield* sentBy(troupe.result(asked.answer.run, boss))
            if (later.answer.status !== "awaiting_approval") assert.fail(later.answer.status)
            else assert.lengthOf(later.answer.approvals, orders.length)
            assert.strictEqual(counted(later.sent, approvals_by_id), 1)
            assert.strictEqual(counted(later.sent, task_by_id), 0)
            // No actor has it any more.
            yield* troupe.cancel(asked.answer.run, boss, "Not needed.")
            const over = yield* eventually(
              sentBy(troupe.result(asked.answer.run, boss)),
              ({ sent }) => counted(sent, task_by_id) === 1
            )
            assert.strictEqual(over.answer.status, "cancelled")
          }).pipe(Effect.provide(Troupe.layer({ agents: [shop], tools: [lookUp], model, store })))
        }).pipe(Effect.scoped)
    )
  }
})
