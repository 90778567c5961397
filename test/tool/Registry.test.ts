import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Context, Effect, Layer, Result, Schema, Stream } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { ToolPolicyError } from "../../src/error/ToolError.ts"
import { tool, wrap } from "../../src/tool/DeclaredTool.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import * as Registry from "../../src/tool/Registry.ts"
import type { Interceptor } from "../../src/tool/GovernedTool.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import * as EphemeralRuntime from "../runtime/EphemeralRuntime.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"

interface More {
  readonly version?: string
  readonly deprecated?: boolean
}

const says = (namespace: string, name: string, what: string, more: More = {}) =>
  tool({ namespace, name, side_effects: "read", output: Schema.String, ...more }, () => what)

const registry = (
  ...families: ReadonlyArray<Effect.Effect<ReadonlyArray<GovernedTool>, unknown>>
) => Effect.flatMap(Effect.all(families), (tools) => Registry.make(tools.flat()))

/** A runtime whose agent calls `name`, and what the call gave. */
const outcome = Effect.gen(function* () {
  const runtime = yield* AgentRuntime
  const conversation = ConversationId.make("c-1")
  const by = new Principal({ id: "ada", tenant: Tenant.make("acme"), roles: ["operator"] })
  yield* runtime.send({ agent: AgentName.make("caller"), conversation, text: "Go." }, by)
  const settled = yield* runtime.watch(conversation, { ordinal: 0, seq: -1 }, by).pipe(
    Stream.filter((item) => item._tag === "Event"),
    Stream.map((item) => item.entry.event),
    Stream.takeUntil((event) => event._tag === "RunEnded"),
    Stream.filter((event) => event._tag === "CallSettled"),
    Stream.runCollect
  )
  return settled.map((event) => event.outcome)[0]
})

const caller = (name: string) =>
  AgentSpec.make({ name: AgentName.make("caller"), instructions: "Call it.", tools: [name] })

const model = (name: string) => ScriptedModelGateway.layer([call(name), text("Done.")])

describe("a registry", () => {
  it.effect("names the candidates of an ambiguous name, and the tool that was probably meant", () =>
    Effect.gen(function* () {
      const both = yield* registry(
        says("web", "search", "web"),
        says("files", "search", "files"),
        says("files", "search", "files 2", { version: "2" }),
        says("files", "read", "text")
      )
      assert.strictEqual(both.get("search"), undefined)
      const error = yield* Effect.flip(Effect.fromResult(both.resolve("search")))
      assert.strictEqual(error._tag, "AmbiguousTool")
      assert.deepStrictEqual(error._tag === "AmbiguousTool" ? error.candidates : [], [
        "files.search@1",
        "files.search@2",
        "web.search@1"
      ])
      const missing = yield* Effect.flip(Effect.fromResult(both.resolve("serch")))
      assert.include(missing.message, 'Did you mean "search"?')
      assert.deepInclude(Registry.refusalOf(missing), { kind: "not_found", reason: "UNKNOWN_TOOL" })
      assert.deepInclude(Registry.refusalOf(error), { reason: "AMBIGUOUS_TOOL" })
      assert.deepStrictEqual(
        both.discover().map(({ name }) => name),
        ["files.search@1", "files.search@2", "read", "web.search@1"]
      )
    })
  )

  it.effect(
    "SG-06 hides a deprecated tool from lists and plain names, and finds it by its key",
    () =>
      Effect.gen(function* () {
        const old = says("files", "read", "old", { deprecated: true })
        const alone = yield* registry(old)
        assert.deepStrictEqual([alone.list(), alone.discover()], [[], []])
        assert.lengthOf(alone.all, 1)
        assert.isTrue(Result.isSuccess(alone.resolve("files.read@1")))
        const error = yield* Effect.flip(Effect.fromResult(alone.resolve("read")))
        assert.include(error.message, "files.read@1")
        const newer = yield* registry(old, says("files", "read", "new", { version: "2" }))
        assert.strictEqual(newer.get("read")?.key, "files.read@2")
      })
  )

  it.effect("SM-09 registers all tools of an executor or none", () =>
    Effect.gen(function* () {
      const [a] = yield* says("x", "a", "a")
      const [b] = yield* says("x", "b", "b")
      const before = yield* Registry.make([b])
      const error = yield* Effect.flip(Registry.register(before, "executor", [a, b]))
      assert.deepInclude(error, { _tag: "DuplicateTool", key: "x.b@1" })
      assert.include(error.message, "already registered")
      assert.strictEqual(before.get("a"), undefined)
      const after = yield* Registry.register(before, "executor", [a])
      assert.deepStrictEqual(
        after.discover().map(({ name, provider }) => [name, provider]),
        [
          ["a", "executor"],
          ["b", "internal"]
        ]
      )
      assert.deepInclude(yield* Effect.flip(Registry.register(before, "executor", [])), {
        _tag: "EmptyFamily",
        provider: "executor"
      })
    })
  )

  it.effect("reads whether a tool is available at each listing", () =>
    Effect.gen(function* () {
      let up = true
      const [tool] = yield* says("remote", "ping", "pong")
      const found = yield* Registry.make([{ ...tool, available: () => up }])
      assert.isTrue(found.discover()[0]?.available)
      up = false
      assert.isFalse(found.discover()[0]?.available)
    })
  )

  it.effect("SM-06 SM-07 finds a shadowed tool by its own key, and does not list it", () =>
    Effect.gen(function* () {
      const shared = yield* registry(says("shared", "read", "shared"), says("shared", "seek", "s"))
      const both = Registry.shadow(shared, yield* registry(says("mine", "read", "mine")))
      assert.strictEqual(both.get("read")?.key, "mine.read@1")
      assert.strictEqual(both.get("shared.read@1")?.key, "shared.read@1")
      assert.deepStrictEqual(
        both.all.map(({ key }) => key),
        ["mine.read@1", "shared.seek@1"]
      )
      assert.strictEqual(shared.get("read")?.key, "shared.read@1")
    })
  )
})

class Prices extends Context.Service<Prices, { readonly suffix: string }>()("test/tool/Prices") {}

describe("a wrapped family", () => {
  const shout: Interceptor = ({ args }, next) =>
    Effect.map(next(args), (said) => String(said).toUpperCase())

  it.live("SM-08 changes results inside the gate, and does not change the tool beneath", () =>
    Effect.gen(function* () {
      const plain = says("shop", "greet", "hello")
      const [wrapped] = yield* wrap(plain, shout)
      const [beneath] = yield* plain
      assert.deepStrictEqual(wrapped?.spec, beneath.spec)
      const layer = EphemeralRuntime.layer({
        agents: [caller("greet")],
        tools: [wrap(plain, shout)]
      })
      assert.deepStrictEqual(yield* Effect.provide(outcome, Layer.provide(layer, model("greet"))), {
        _tag: "Value",
        json: '"HELLO"'
      })
    })
  )

  it.effect("can be refused by an interceptor that is built from services", () =>
    Effect.gen(function* () {
      let ran = 0
      const counted = tool({ namespace: "shop", name: "count", side_effects: "none" }, () => ++ran)
      const closed = wrap(
        counted,
        Effect.map(
          Prices,
          ({ suffix }): Interceptor =>
            ({ call, tool }) =>
              Effect.fail(
                new ToolPolicyError({
                  kind: "permission",
                  message: `${tool.name} of ${call.tenant}${suffix}`
                })
              )
        )
      )
      expectTypeOf<Effect.Services<typeof closed>>().toEqualTypeOf<Prices>()
      const [governed] = yield* Effect.provideService(closed, Prices, { suffix: "!" })
      const error = yield* Effect.flip(
        handlerEffect(governed!.handler, {}, { call: { tenant: "acme" } } as never)
      )
      assert.deepInclude(error, { _tag: "ToolPolicyError", message: "count of acme!" })
      assert.strictEqual(ran, 0)
    })
  )
})

describe("several runtimes of one process", () => {
  it.live("SM-01 SM-06 SM-07 share tools, and each may shadow them for itself", () =>
    Effect.gen(function* () {
      let built = 0
      const shared = Effect.tap(says("shared", "read", "shared"), () => Effect.sync(() => built++))
      const of = (tools: ReadonlyArray<Effect.Effect<ReadonlyArray<GovernedTool>, unknown>>) =>
        Effect.all({ outcome, registry: ToolRegistry }).pipe(
          Effect.provide(
            EphemeralRuntime.layer({ agents: [caller("read")], tools, shared: [shared] }).pipe(
              Layer.provide(model("read"))
            )
          )
        )
      const seen = yield* Effect.all(
        [of([says("mine", "read", "A")]), of([]), of([says("mine", "read", "C")])],
        { concurrency: 3 }
      )
      assert.deepStrictEqual(
        seen.map((each) => each.outcome),
        ["A", "shared", "C"].map((said) => ({ _tag: "Value" as const, json: JSON.stringify(said) }))
      )
      assert.deepStrictEqual(
        seen.map((each) => each.registry.all.map(({ key }) => key)),
        [["mine.read@1"], ["shared.read@1"], ["mine.read@1"]]
      )
      assert.strictEqual(built, 3)
    })
  )

  it.effect("refuse a tool that is registered twice and not shared", () =>
    Effect.gen(function* () {
      const layer = EphemeralRuntime.layer({
        agents: [],
        tools: [says("mine", "read", "A"), says("mine", "read", "B")]
      }).pipe(Layer.provide(model("read")))
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
      assert.deepInclude(error, { _tag: "DuplicateTool", key: "mine.read@1" })
    })
  )

  it.effect(
    "fail to start with an agent whose tool's name is ambiguous, and list the candidates",
    () =>
      Effect.gen(function* () {
        const layer = EphemeralRuntime.layer({
          agents: [caller("read")],
          tools: [says("mine", "read", "A"), says("yours", "read", "B")]
        }).pipe(Layer.provide(model("read")))
        const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
        assert.deepInclude(error, { _tag: "MisdeclaredAgent", field: "tools", value: "read" })
        assert.include((error as Error).message, "mine.read@1, yours.read@1")
      })
  )
})
