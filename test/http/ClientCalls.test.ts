/** Calls that the client of a conversation answers, over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ClientTools from "../../layers/builtin/ClientTools.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { defaults, RuntimeConfig } from "../../layers/runtime/actor/RuntimeConfig.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { View } from "../../scripts/chat/View.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Samples from "../contracts/Samples.ts"
import type { Who } from "./Service.ts"
import { ask, credentials } from "./Service.ts"

const shop = AgentName.make("shop")

const service = Server.layer({
  listen: { port: 0 },
  credentials,
  settings: { customer_agents: [shop] }
}).pipe(
  Layer.provideMerge(
    Runtime.layer({
      agents: [AgentSpec.make({ name: shop, instructions: "Help.", tools: ["pick"] })],
      tools: [
        ClientTools.tools({
          tools: [
            {
              type: "client",
              name: "pick",
              permission: "allow",
              output_schema: {
                type: "object",
                properties: { n: { type: "integer" } },
                required: ["n"]
              }
            }
          ]
        })
      ]
    })
  ),
  Layer.provide(
    scripted(({ transcript }) =>
      transcript.at(-1)?.role === "tool" ? text("Done.") : call("pick", { of: 7 })
    )
  ),
  Layer.provide(Stores.ephemeral),
  Layer.provide(Layer.succeed(RuntimeConfig, { ...defaults, drain_ms: 50 }))
)

/** Sends a message, and waits until its run waits for the client. */
const waiting = Effect.fnUntraced(function* (as: Who) {
  const sent = yield* ask("/v1/messages", { as, json: { agent: "shop", text: "Pick." } })
  assert.strictEqual(sent.status, 202, sent.text)
  const path = `/v1/conversations/${sent.json.conversation_id}/client-calls`
  const listed = yield* eventually(ask(path, { as }), ({ json }) => json.items?.length === 1)
  const [item] = listed.json.items
  return { path, item, run: String(sent.json.run_id), result: `/v1/client-calls/${item.id}/result` }
})

describe("a call of a client, over HTTP", () => {
  it.live("AG-56 is listed for whoever may answer, and takes one result", () =>
    Effect.gen(function* () {
      const { item, path, result, run } = yield* waiting("carl")
      assert.deepInclude(item, { run_id: run, call: "0/1.0", tool: "pick", arguments: { of: 7 } })
      assert.deepStrictEqual(item.output_schema.required, ["n"])
      const operators = yield* ask(path, { as: "olga" })
      assert.deepStrictEqual(operators.json.items, [item])
      // Another customer's conversation, and that of another tenant, are not found; other roles may not.
      for (const [as, status] of [
        ["cora", 404],
        ["otto", 404],
        ["ada", 403],
        ["vera", 403],
        ["nemo", 403]
      ] as const) {
        assert.strictEqual((yield* ask(path, { as })).status, status, as)
        const refused = yield* ask(result, { as, json: { result: { n: 1 } } })
        assert.strictEqual(refused.status, status, `${as} ${refused.text}`)
      }
      const summary = yield* ask(`/v1/runs/${run}`, { as: "vera" })
      assert.deepStrictEqual(summary.json.client_calls, [
        { id: item.id, call: "0/1.0", tool: "pick" }
      ])
      assert.deepStrictEqual(summary.json.pending_approvals, [])
      assert.strictEqual(summary.json.status, "awaiting_approval")
      const approvals = yield* ask("/v1/approvals", { as: "vera" })
      assert.deepStrictEqual(approvals.json.items, [])
      const decided = yield* ask(`/v1/approvals/${item.id}/decision`, {
        as: "ada",
        json: { decision: "approve" }
      })
      assert.strictEqual(decided.status, 409)
      assert.include(decided.json.detail, "takes its result")

      const misfit = yield* ask(result, { as: "carl", json: { result: { n: "many" } } })
      assert.strictEqual(misfit.status, 422, misfit.text)
      assert.include(misfit.json.type, "client-result-refused")
      const given = yield* ask(result, { as: "carl", json: { result: { n: 1 } } })
      assert.strictEqual(given.status, 204, given.text)
      const again = yield* ask(result, { as: "carl", json: { result: { n: 2 } } })
      assert.strictEqual(again.status, 409)
      yield* eventually(ask(`/v1/runs/${run}`, { as: "vera" }), (r) => r.json.status === "complete")
      assert.deepStrictEqual((yield* ask(path, { as: "carl" })).json.items, [])
    }).pipe(Effect.provide(service))
  )

  it.live("refuses bodies that are no answer, ids that are none, and answers after a cancel", () =>
    Effect.gen(function* () {
      const { item, result, run } = yield* waiting("olga")
      for (const json of [
        {},
        { result: { n: 1 }, error: "both" },
        { error: "" },
        { error: "x".repeat(4_001) },
        { result: { n: 1 }, by: "boss" },
        [],
        "n",
        null
      ]) {
        const refused = yield* ask(result, { as: "olga", json })
        assert.strictEqual(refused.status, 400, `${JSON.stringify(json)} ${refused.text}`)
      }
      const json = { result: { n: 1 } }
      const none = "00000000-0000-4000-8000-000000000000"
      assert.strictEqual(
        (yield* ask(`/v1/client-calls/${none}/result`, { as: "olga", json })).status,
        404
      )
      assert.strictEqual(
        (yield* ask("/v1/client-calls/nobody/result", { as: "olga", json })).status,
        400
      )
      assert.strictEqual(
        (yield* ask("/v1/conversations/nobody/client-calls", { as: "olga" })).status,
        404
      )
      const large = { result: { n: 1, more: "x".repeat(1_000_001) } }
      assert.include([413, 422], (yield* ask(result, { as: "olga", json: large })).status)
      yield* ask(`/v1/runs/${run}/cancel`, { as: "olga", json: { reason: "enough" } })
      const late = yield* ask(result, { as: "olga", json })
      assert.strictEqual(late.status, 409, late.text)
      assert.include(late.json.detail, item.id)
    }).pipe(Effect.provide(service))
  )
})

describe("the chat", () => {
  it.live(
    "shows that a call waits for another client, with its arguments and where to answer",
    () =>
      Effect.sync(() => {
        let out = ""
        const view = new View((text) => (out += text))
        const request = Samples.clientRequested()
        const payload = { ...request.payload, tool_name: "pick\u001b[2J", args_summary: "of: 7" }
        view.event({ ...request, payload })
        assert.include(out, "waits for the client's result of pick")
        assert.notInclude(out, "\u001b")
        assert.include(out, "of: 7")
        assert.include(out, `POST /v1/client-calls/${request.payload.correlation_id}/result`)
        out = ""
        view.customerEvent({ _tag: "ClientRequested" })
        assert.include(out, "your client is asked")
      })
  )
})
