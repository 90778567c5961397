/** `GET /v1/budgets`: who sees whose accounts, and what an erasure and a deletion leave of them. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { eventually } from "../contracts/Contract.ts"
import type { Who } from "./Service.ts"
import { ask, credentials } from "./Service.ts"

const shop = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })
const budgets = [
  { name: "daily", scope: "customer", period: "day", calls: 5 },
  { name: "ours", scope: "tenant", period: "month", calls: 50 },
  { name: "thread", scope: "conversation", period: "none", calls: 7 }
] as const

const service = Server.layer({
  listen: { port: 0 },
  credentials,
  settings: { customer_agents: [shop.name] }
}).pipe(
  Layer.provideMerge(Runtime.layer({ agents: [shop], tools: [], budgets })),
  Layer.provide(ScriptedModelGateway.layer(() => ScriptedModelGateway.text("Done."))),
  Layer.provide(Stores.ephemeral)
)

/** A message whose run has ended: its conversation. */
const talked = Effect.fnUntraced(function* (as: Who) {
  const sent = yield* ask("/v1/messages", { as, json: { agent: "shop", text: "Hello." } })
  assert.strictEqual(sent.status, 202, sent.text)
  const { conversation_id, run_id } = sent.json
  yield* eventually(
    ask(`/v1/runs/${run_id}`, { as: "olga" }),
    ({ json }) => json.status === "complete"
  )
  return conversation_id as string
})

/** The accounts as `name holder spent`, or the status of a refusal. */
const seen = Effect.fnUntraced(function* (as: Who, query = "") {
  const { json, status } = yield* ask(`/v1/budgets${query}`, { as })
  if (status !== 200) return status
  const items: ReadonlyArray<Record<"budget" | "holder" | "spent", string>> = json.items
  return items.map(({ budget, holder, spent }) => `${budget} ${holder} ${spent}`)
})

it.live("a customer sees its own accounts, and no other's, whatever it asks for", () =>
  Effect.gen(function* () {
    const [carls, coras] = [yield* talked("carl"), yield* talked("cora")]
    assert.deepStrictEqual(yield* seen("carl"), ["daily carl 1"])
    assert.deepStrictEqual(yield* seen("carl", "?customer=carl"), ["daily carl 1"])
    assert.deepStrictEqual(yield* seen("carl", `?conversation=${carls}`), [`thread ${carls} 1`])
    assert.deepStrictEqual(yield* seen("carl", "?budget=ours"), [])
    assert.strictEqual(yield* seen("carl", "?customer=cora"), 403)
    // As one that is nowhere.
    assert.strictEqual(yield* seen("carl", `?conversation=${coras}`), 404)
    assert.strictEqual(yield* seen("carl", `?conversation=${crypto.randomUUID()}`), 404)
    assert.strictEqual(yield* seen("carl", `?customer=carl&conversation=${coras}`), 404)
    assert.deepStrictEqual(yield* seen("carl", "?after=daily:bob"), ["daily carl 1"])
  }).pipe(Effect.provide(service))
)

it.live("another tenant sees no account, also of people who are called the same", () =>
  Effect.gen(function* () {
    const conversation = yield* talked("carl")
    for (const as of ["otto", "stranger"] as const) {
      assert.deepStrictEqual(yield* seen(as), [])
      assert.deepStrictEqual(yield* seen(as, "?customer=carl"), ["daily carl 0"])
      assert.strictEqual(yield* seen(as, `?conversation=${conversation}`), 404)
    }
    assert.sameMembers((yield* seen("vera")) as Array<string>, [
      "daily carl 1",
      "ours  1",
      `thread ${conversation} 1`
    ])
    for (const as of ["pia", "nemo"] as const) assert.strictEqual(yield* seen(as), 403)
  }).pipe(Effect.provide(service))
)

it.live(
  "an erasure removes a customer's accounts and those of its conversations, in its tenant",
  () =>
    Effect.gen(function* () {
      yield* talked("carl")
      const coras = yield* talked("cora")
      const erase = (as: Who) => ask("/v1/erasures", { as, json: { subject: "carl" } })
      assert.strictEqual((yield* erase("olga")).status, 403)
      assert.strictEqual((yield* erase("stranger")).status, 200)
      assert.deepStrictEqual(yield* seen("carl"), ["daily carl 1"])
      const { json, status } = yield* erase("admin")
      assert.strictEqual(status, 200)
      assert.strictEqual(json.erased.budget_accounts, 2)
      assert.deepStrictEqual(json.found, [])
      // What the tenant has spent stays, and names nobody.
      const left = ["daily cora 1", "ours  2", `thread ${coras} 1`]
      assert.sameMembers((yield* seen("vera")) as Array<string>, left)
      assert.deepStrictEqual(yield* seen("carl"), ["daily carl 0"])
    }).pipe(Effect.provide(service))
)

it.live("a deletion of a conversation removes its account, and not its customer's", () =>
  Effect.gen(function* () {
    const gone = yield* talked("carl")
    const kept = yield* talked("carl")
    const { status } = yield* ask(`/v1/conversations/${gone}`, { as: "admin", method: "DELETE" })
    assert.strictEqual(status, 204)
    assert.sameMembers((yield* seen("vera")) as Array<string>, [
      "daily carl 2",
      "ours  2",
      `thread ${kept} 1`
    ])
  }).pipe(Effect.provide(service))
)
