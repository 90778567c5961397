import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import { timeout_ms_default } from "../../src/tool/ToolSpec.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as LocalAgentDirectory from "../../layers/runtime/directory/LocalAgentDirectory.ts"
import * as LocalToolRegistry from "../../layers/runtime/directory/LocalToolRegistry.ts"
import * as H from "./Harness.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"

const look = H.reads((n) => Effect.succeed(n))

class Orders extends Context.Service<
  Orders,
  { readonly total: (id: string) => Effect.Effect<number> }
>()("test/Orders") {}

const OrderTotal = Tool.make("order_total", {
  parameters: Schema.Struct({ id: Schema.String }),
  success: Schema.Struct({ total: Schema.Finite })
})

describe("a tool and its registry", () => {
  it.effect(
    "ST-05 ST-06 a factory closes over its services, and its body gets arguments only",
    () =>
      Effect.gen(function* () {
        const given: Array<unknown> = []
        const factory = govern(
          Toolkit.make(OrderTotal),
          { order_total: { namespace: "shop", side_effects: "read" } },
          Effect.map(Orders, (orders) => ({
            order_total: (args: { readonly id: string }) => {
              given.push(args)
              return Effect.map(orders.total(args.id), (total) => ({ total }))
            }
          }))
        )
        // The factory needs its services; what it makes needs nothing more.
        const needs: Effect.Effect<unknown, unknown, Orders> = factory
        const [tool] = yield* Effect.provideService(factory, Orders, {
          total: () => Effect.succeed(42)
        })
        assert.isTrue(Effect.isEffect(needs))
        const args = tool!.decode({ id: "order-1003" })
        assert.isTrue(args._tag === "Success")
        const body = handlerEffect(tool!.handler, { id: "order-1003" }, {} as never)
        const result: unknown = yield* Effect.provideContext(
          body as Effect.Effect<unknown>,
          tool!.services
        )
        assert.deepStrictEqual(result, { total: 42 })
        assert.deepStrictEqual(given, [{ id: "order-1003" }])
      })
  )

  it.live(
    "ST-06 a run's call gives the body its arguments alone and journals its plain result",
    () => {
      const given: Array<unknown> = []
      const body: H.Body = (_n, _call, args) => {
        given.push(args)
        return Effect.succeed({ total: 42 })
      }
      return Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepStrictEqual(given, [{ n: 7 }, { n: 8 }])
        for (const { outcome } of H.settled(all)) {
          assert.deepStrictEqual(outcome, { _tag: "Value", json: '{"total":42}' })
        }
        const shown = H.resultsShown((yield* H.requests).at(-1))
        assert.deepStrictEqual(shown, ['{"total":42}', '{"total":42}'])
      }).pipe(
        Effect.provide(
          H.layer({
            tools: { read: H.reads(body), write: H.writes(body) },
            script: [calls([call("read", { n: 7 }), call("write", { n: 8 })]), text("done")]
          })
        )
      )
    }
  )

  it.effect("SM-02 a name that is registered twice ends the start", () =>
    Effect.gen(function* () {
      const twice = LocalToolRegistry.layer(H.toolsOf({ look }), H.toolsOf({ look }))
      const error = yield* Effect.flip(Effect.scoped(Layer.build(twice)))
      assert.deepInclude(error, { _tag: "DuplicateTool", key: "test.look@1" })
    })
  )

  it.effect(
    "SM-03 SM-04 SM-11 finds by exact key or plain name, and lists no tools as an empty list",
    () =>
      Effect.gen(function* () {
        const registry = yield* ToolRegistry
        assert.strictEqual(registry.get("look")?.key, "test.look@1")
        assert.strictEqual(registry.get("test.look@1")?.key, "test.look@1")
        assert.strictEqual(registry.get("Look"), undefined)
        assert.strictEqual(registry.get("constructor"), undefined)
        const empty = yield* Effect.provide(ToolRegistry, LocalToolRegistry.layer())
        assert.deepStrictEqual(empty.all, [])
      }).pipe(Effect.provide(LocalToolRegistry.layer(H.toolsOf({ look }))))
  )

  it.effect("two versions are registered side by side, and their plain name is ambiguous", () =>
    Effect.gen(function* () {
      const registry = yield* ToolRegistry
      assert.deepStrictEqual(
        registry.all.map(({ key }) => key),
        ["test.look@1", "test.look@2"]
      )
      assert.strictEqual(registry.get("look"), undefined)
    }).pipe(
      Effect.provide(
        LocalToolRegistry.layer(
          H.toolsOf({ look: H.reads((n) => Effect.succeed(n), { version: "2" }) }),
          H.toolsOf({ look })
        )
      )
    )
  )

  it.live("SM-01 two runtimes of one process share no tools", () =>
    Effect.gen(function* () {
      const names = (tools: H.Options["tools"]) =>
        Effect.map(ToolRegistry, ({ all }) => all.map(({ spec }) => spec.name)).pipe(
          Effect.provide(H.layer({ tools: tools!, script: [] }))
        )
      assert.deepStrictEqual(yield* names({ look }), ["look"])
      assert.deepStrictEqual(yield* names({ other: look }), ["other"])
    })
  )

  it.live("SM-13 a custom tool that was added at the start answers when it is called", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: '"executed"' })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look, custom: H.reads(() => Effect.succeed("executed")) },
          script: [call("custom", { n: 1 }), text("done")]
        })
      )
    )
  )

  it.live("SM-12 a hundred concurrent runs call the same tools, each with its own result", () =>
    Effect.gen(function* () {
      const ids = Array.from({ length: 100 }, (_, i) => `c-${i}`)
      const runs = yield* Effect.forEach(ids, (id) => H.send(id, id), { concurrency: 100 })
      const results = yield* Effect.forEach(runs, (run, i) => H.ended(run, ids[i]), {
        concurrency: 100
      })
      assert.deepStrictEqual(
        results.map((all) => {
          const outcome = H.outcome(all)
          return outcome?._tag === "Value" ? outcome.json : outcome?._tag
        }),
        ids.map((_, i) => `${i}`)
      )
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look: H.reads((n) => Effect.as(Effect.yieldNow, n)) },
          script: ({ transcript }) => {
            const [first] = transcript
            const n = first?.role === "user" ? Number(first.text.slice(2)) : -1
            return transcript.length === 1 ? call("look", { n }) : text("done")
          }
        })
      )
    )
  )

  it.effect(
    "SM-25 a timeout is 60 s unless declared, and one that is not positive ends the start",
    () =>
      Effect.gen(function* () {
        const [tool] = yield* H.toolsOf({ look })
        assert.strictEqual(tool?.spec.timeout_ms, timeout_ms_default)
        assert.strictEqual(timeout_ms_default, 60_000)
        for (const timeout_ms of [0, -1, 0.5, 3_600_001]) {
          const wrong = H.toolsOf({ look: H.reads((n) => Effect.succeed(n), { timeout_ms }) })
          assert.deepInclude(yield* Effect.flip(wrong), { _tag: "MisdeclaredTool", tool: "look" })
        }
      })
  )

  it.effect("an agent that names a tool, a specialist or itself wrongly ends the start", () =>
    Effect.gen(function* () {
      const wrong = (...specs: ReadonlyArray<AgentSpec>) =>
        Effect.flip(
          Effect.scoped(
            Layer.build(
              LocalAgentDirectory.layer(specs).pipe(
                Layer.provide(LocalToolRegistry.layer(H.toolsOf({ look }))),
                Layer.provide(NodeCrypto.layerDigest)
              )
            )
          )
        )
      const named = (name: string, more: object = {}) =>
        AgentSpec.make({ name: AgentName.make(name), instructions: "", ...more })
      const tool = yield* wrong(named("a", { tools: ["nope"] }))
      assert.deepInclude(tool, { _tag: "MisdeclaredAgent", field: "tools", value: "nope" })
      // Its own members leave the error its name, which is the first word of its stack.
      assert.strictEqual(tool.name, "MisdeclaredAgent")
      assert.strictEqual(
        tool.message,
        'agent "a", field "tools": tool "nope" not found in registry.'
      )
      const near = yield* wrong(named("a", { specialists: ["helpr"] }), named("helper"))
      assert.strictEqual(
        near.message,
        'agent "a", field "specialists": there is no agent "helpr". Did you mean "helper"?'
      )
      const specialist = yield* wrong(named("a", { specialists: ["b"] }))
      assert.deepInclude(specialist, { field: "specialists", value: "b" })
      assert.deepInclude(yield* wrong(named("a"), named("a")), { field: "name", value: "a" })
      const unpriced = yield* wrong(named("a", { limits: RunLimits.make({ cost_max: "5" }) }))
      assert.deepInclude(unpriced, { field: "limits.cost_max", value: "5" })
    })
  )
})
