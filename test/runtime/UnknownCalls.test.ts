/** A call whose outcome nobody knows shows where operators look: lists, the inbox, the log and metrics. */
import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { Effect, Layer, Logger, Metric, References } from "effect"
import { HttpServer } from "effect/http"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as StandingTelemetry from "../../layers/telemetry/StandingTelemetry.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "./Harness.ts"

const hash = (token: string) => createHash("sha256").update(token).digest("hex")
const credential = (token: string, principal: Principal) => ({ sha256: hash(token), principal })
const customer = H.person("carl", ["customer"])
const stranger = H.person("eve", ["admin"], "other" as typeof H.tenant)

interface Line {
  readonly level: string
  readonly message: string
  readonly about: Readonly<Record<string, unknown>>
}

const lines: Array<Line> = []
const logger = Logger.make<unknown, void>(({ fiber, logLevel, message }) => {
  const said = Array.isArray(message) ? message.map(String).join(" ") : String(message)
  lines.push({
    level: logLevel,
    message: said,
    about: fiber.getRef(References.CurrentLogAnnotations)
  })
})

const layer = Server.layer({
  listen: { port: 0 },
  credentials: [
    credential("alice", H.alice),
    credential("carl", customer),
    credential("eve", stranger)
  ]
}).pipe(
  Layer.provideMerge(
    H.over({
      tools: { pay: H.writes(() => Effect.never, { timeout_ms: 10 }) },
      script: ({ transcript }) => (transcript.length > 1 ? text("done") : call("pay", { n: 1 }))
    })
  ),
  Layer.provide(Layer.succeed(StandingTelemetry.StandingInterval, 5)),
  Layer.provideMerge(EphemeralStores.layer),
  Layer.provideMerge(Logger.layer([logger]))
)

const get = Effect.fnUntraced(function* (path: string, token = "alice") {
  const { address } = yield* HttpServer.HttpServer
  const url = `${HttpServer.formatAddress(address)}/v1/${path}`
  const headers = { authorization: `Bearer ${token}` }
  const answer = yield* Effect.promise(() => fetch(url, { headers }))
  // oxlint-disable-next-line typescript/no-explicit-any -- what a foreign client sees has no type
  const json: any = yield* Effect.promise(() => answer.json())
  return { status: answer.status, json }
})

const metric = (id: string) =>
  Effect.map(Metric.snapshot, (all) =>
    all
      .filter((each) => each.id === id && each.attributes?.["tool"] === "pay")
      .map(({ state }) =>
        Number(
          (state as { value?: number; count?: number }).value ?? (state as { count?: number }).count
        )
      )
  )

describe("an unknown call", () => {
  it.live(
    "is listed with its run, in the inbox, in the log and in metrics, until it is settled",
    () =>
      Effect.gen(function* () {
        // Of the whole process, so that other files may have counted before.
        const [before = 0] = yield* metric("troupe_calls_unknown_total")
        const other = yield* H.send("nothing to do", "c-0")
        const run = yield* H.send("pay")
        yield* H.happened(run, "CallUnknown")
        yield* H.happened(other, "CallUnknown", 1, "c-0")
        const listed = yield* get("runs?waiting=unknown&agent=tester&status=awaiting_approval")
        assert.strictEqual(listed.status, 200)
        assert.sameMembers(
          listed.json.items.map(({ id }: { readonly id: string }) => id),
          [run, other]
        )
        const item = listed.json.items.find(({ id }: { readonly id: string }) => id === run)
        const { call, tool: named } = item.unknown_calls[0]
        assert.strictEqual(named, "pay")
        const inbox = yield* get(`approvals?run_id=${run}`)
        assert.deepStrictEqual(
          [inbox.json.items, inbox.json.unknown_calls.map((each: { call: string }) => each.call)],
          [[], [call]]
        )
        const line = lines.find(
          ({ about, message }) => /unknown/.test(message) && about["run_id"] === run
        )
        assert.strictEqual(line?.level, "Warn")
        assert.deepStrictEqual([line?.about["call_id"], line?.about["tool"]], [call, "pay"])
        assert.deepStrictEqual(yield* metric("troupe_calls_unknown_total"), [before + 2])
        yield* eventually(metric("troupe_calls_unknown"), ([n]) => n === 2)
        const settle = AgentRuntime.use((runtime) =>
          runtime.settle(run, call, { _tag: "Succeeded", json: "1" }, H.alice)
        )
        yield* settle
        yield* H.ended(run)
        const left = yield* get("runs?waiting=unknown")
        assert.deepStrictEqual(
          left.json.items.map(({ id }: { readonly id: string }) => id),
          [other]
        )
        assert.notProperty((yield* get(`approvals?run_id=${run}`)).json, "unknown_calls")
        yield* eventually(metric("troupe_calls_unknown"), ([n]) => n === 1)
        assert.deepStrictEqual(yield* metric("troupe_calls_unknown_total"), [before + 2])
      }).pipe(Effect.provide(layer))
  )

  it.live("is not shown to another tenant or to a customer", () =>
    Effect.gen(function* () {
      const run = yield* H.send("pay")
      yield* H.happened(run, "CallUnknown")
      assert.deepStrictEqual((yield* get("runs", "eve")).json, { items: [] })
      assert.deepStrictEqual((yield* get("approvals", "eve")).json, { items: [] })
      assert.strictEqual((yield* get("runs", "carl")).status, 403)
      assert.strictEqual((yield* get("approvals", "carl")).status, 403)
    }).pipe(Effect.provide(layer))
  )

  it.live("is listed in pages, and an invalid filter is refused", () =>
    Effect.gen(function* () {
      const sent = yield* Effect.forEach([1, 2, 3], (n) => H.send("pay", `c-${n}`))
      const first = yield* get("runs?limit=2")
      assert.strictEqual(first.json.items.length, 2)
      const rest = yield* get(`runs?limit=2&after=${first.json.next_after}`)
      assert.sameMembers(
        [...first.json.items, ...rest.json.items].map(({ id }: { readonly id: string }) => id),
        sent
      )
      for (const query of ["waiting=nobody", "status=fine", "limit=0", "after=x"]) {
        assert.strictEqual((yield* get(`runs?${query}`)).status, 400, query)
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("is in the lists of the facade", () =>
    Effect.gen(function* () {
      const pay = tool(
        {
          namespace: "shop",
          name: "pay",
          side_effects: "external",
          permission: "allow",
          timeout_ms: 10
        },
        () => Effect.never
      )
      const shop = AgentSpec.make({
        name: AgentName.make("shop"),
        instructions: "Pay.",
        tools: ["pay"]
      })
      const model = ScriptedModelGateway.layer([call("pay", {}), text("done")])
      const troupe = yield* Effect.promise(() => start({ agents: [shop], tools: [pay], model }))
      yield* Effect.addFinalizer(() => Effect.promise(() => troupe.stop()))
      const { run } = yield* Effect.promise(() => troupe.send({ agent: "shop", text: "Pay" }))
      const [unknown] = yield* eventually(
        Effect.promise(() => troupe.unknown()),
        (all) => all.length > 0
      )
      assert.strictEqual(unknown?.run_id, run)
      assert.strictEqual(unknown?.tool, "pay")
      const waiting = yield* Effect.promise(() => troupe.runs({ waiting: "unknown" }))
      assert.deepStrictEqual(
        waiting.map(({ id, unknown_calls }) => [id, unknown_calls.length]),
        [[run, 1]]
      )
      const bad = yield* Effect.promise(() =>
        troupe.runs({ waiting: "nobody" as never }).catch((error: unknown) => error)
      )
      assert.strictEqual((bad as { readonly _tag?: string })._tag, "InvalidInput")
    }).pipe(Effect.scoped)
  )
})
