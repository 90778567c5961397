/**
 * What the types of a declared tool refuse is part of the promise, so it is compiled here: a line that should not compile
 * and does is an error of the type check.
 */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import {
  ToolError,
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError,
  ToolUserError
} from "../../src/error/ToolError.ts"
import { isRetried, retryPolicyOf } from "../../src/tool/RetryPolicy.ts"
import type { Json } from "../../src/value/Canonical.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { refusalText } from "../../src/schema/SchemaIssues.ts"
import type { CallContext, GovernedContext, GovernedTool } from "../../src/tool/GovernedTool.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import * as EphemeralRuntime from "../runtime/EphemeralRuntime.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { HandlerContext } from "../../layers/runtime/tool/BodyContext.ts"
import type { CallHost } from "../../layers/runtime/tool/CallHost.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"

class Shelf extends Context.Service<
  Shelf,
  { find(id: number): Effect.Effect<string | undefined> }
>()("test/tool/declared/Shelf") {}
class Till extends Context.Service<Till, { readonly total: Effect.Effect<number> }>()(
  "test/tool/declared/Till"
) {}

const library = { namespace: "library", side_effects: "read" } as const
const call = { run: "run-1", call: "0/1.0", tenant: "acme", principal: "alice" }
const host = {
  run: call.run,
  accepted: { tenant: call.tenant, by: call.principal, trace_id: "t" },
  call: () => ({ id: call.call, approved_by: undefined })
} as unknown as CallHost
/** The context of one attempt, as the runtime makes it. */
const contextOfAttempt = (): GovernedContext =>
  new HandlerContext(host, { permits: () => false, meter: () => {} } as never, undefined)

const readBook = tool(
  {
    ...library,
    name: "read_book",
    description: "The text of a book.",
    input: Schema.Struct({ id: Schema.FiniteFromString }),
    output: Schema.Struct({ text: Schema.String, at: Schema.DateFromString })
  },
  Effect.fnUntraced(function* ({ id }, call) {
    expectTypeOf(id).toEqualTypeOf<number>()
    expectTypeOf(call).toEqualTypeOf<CallContext>()
    const shelf = yield* Shelf
    const text = yield* shelf.find(id)
    if (text !== undefined) return { text, at: new Date(0) }
    return yield* new ToolUserError({ kind: "not_found", message: "no such book" })
  })
)

const shelf = Layer.succeed(Shelf, {
  find: (id) => Effect.succeed(id === 7 ? "a book" : undefined)
})

const run = <R>(governed: GovernedTool<R>, args: unknown) =>
  Effect.exit(
    Effect.provideContext(
      Effect.suspend(() =>
        handlerEffect(governed.handler, args, contextOfAttempt())
      ) as Effect.Effect<unknown, unknown>,
      governed.services
    )
  )

describe("a tool in one expression", () => {
  it.effect("may give nothing where no result is declared, which is null", () =>
    Effect.gen(function* () {
      const kept: Array<string> = []
      const named = { ...library, name: "keep" }
      const [plain] = yield* tool(named, () => void kept.push("a"))
      const [later] = yield* tool(named, async () => void kept.push("b"))
      const [effect] = yield* tool(named, () => Effect.sync(() => void kept.push("c")))
      for (const governed of [plain, later, effect]) {
        assert.deepStrictEqual(governed.encode(undefined), Exit.succeed(null))
        const partly = { id: 1, note: undefined, of: [{ at: undefined }] }
        assert.deepStrictEqual(governed.encode(partly), Exit.succeed({ id: 1, of: [{}] }))
        const circle: Record<string, unknown> = { note: undefined }
        circle["circle"] = circle
        for (const no of [circle, Promise.resolve(1)]) {
          const refused = governed.encode({ of: [{ at: no }] })
          // Operators read which member it is.
          const why = Exit.isFailure(refused) ? String(Cause.squash(refused.cause)) : ""
          assert.include(why, "the result's member of.0.at")
        }
      }
      // @ts-expect-error a result is declared
      assert.isDefined(tool({ ...named, output: Schema.String }, () => undefined))
      // @ts-expect-error a date is no JSON
      assert.isDefined(tool(named, () => ({ at: new Date(0) })))
      const book: { id: number; note?: string | undefined } = { id: 1, note: undefined }
      const output_schema = { type: "object" }
      const [described] = yield* tool({ ...named, output_schema }, async () => [book])
      assert.deepStrictEqual(described.encode([book]), Exit.succeed([{ id: 1 }]))
      assert.isTrue(Exit.isFailure(described.encode(undefined)))
    })
  )

  it.effect(
    "SG-29 SG-30 SG-32 infers the types of its body, derives its schemas, and exposes both",
    () =>
      Effect.gen(function* () {
        const [governed] = yield* readBook
        assert.strictEqual(governed.key, "library.read_book@1")
        assert.deepStrictEqual(yield* readBook.spec, governed.spec)
        assert.deepInclude(governed.spec.input_schema, {
          type: "object",
          required: ["id"],
          additionalProperties: false
        })
        assert.deepNestedInclude(governed.spec.output_schema, {
          "properties.text": { type: "string" }
        })
        const args = governed.decode({ id: "7" })
        assert.deepStrictEqual(args, Exit.succeed({ id: 7 }))
        assert.isTrue(Exit.isFailure(governed.decode({ id: "7", approved_by: "me" })))
        const found = yield* run(governed, { id: 7 })
        assert.deepStrictEqual(found, Exit.succeed({ text: "a book", at: new Date(0) }))
        assert.deepStrictEqual(
          Exit.isSuccess(found) ? governed.encode(found.value) : undefined,
          Exit.succeed({ text: "a book", at: "1970-01-01T00:00:00.000Z" })
        )
        const missing = yield* run(governed, { id: 8 })
        assert.isTrue(Exit.isFailure(missing))
        const direct = yield* Effect.flip(readBook.body({ id: 8 }, call as never))
        assert.strictEqual(direct._tag, "ToolUserError")
      }).pipe(Effect.provide(shelf))
  )

  it.effect("ends the start where JavaScript gives no function", () =>
    Effect.gen(function* () {
      const body = () => 1
      const write = { namespace: "n", name: "t", side_effects: "write" } as const
      const wrong = [
        ["body", tool(write, undefined as never)],
        ["precondition", tool({ ...write, precondition: 5 as never }, body)],
        ["reconcile", tool({ ...write, reconcile: "later" as never }, body)]
      ] as const
      for (const [field, declared] of wrong) {
        const refused = yield* Effect.flip(declared as Effect.Effect<unknown, unknown>)
        assert.deepInclude(refused, { _tag: "MisdeclaredTool", tool: "t", field })
      }
    })
  )

  it.effect("takes arguments in the JSON form that its model is shown", () =>
    Effect.gen(function* () {
      const input = Schema.Struct({
        at: Schema.Date,
        big: Schema.BigInt,
        note: Schema.optional(Schema.String),
        amount: Schema.Number
      })
      const [{ decode, spec }] = yield* tool({ ...library, name: "t", input }, () => 1)
      const { amount, note } = spec.input_schema["properties"] as Record<string, Json>
      assert.deepStrictEqual(note, { anyOf: [{ type: "string" }, { type: "null" }] })
      const args = { at: "2027-01-08T00:00:00.000Z", big: "5", note: null, amount: 1 }
      assert.deepStrictEqual(
        decode(args),
        Exit.succeed({ at: new Date(args.at), big: 5n, note: undefined, amount: 1 })
      )
      const refusal = (given: object) => {
        const exit = decode({ ...args, ...given })
        return Exit.isFailure(exit) ? refusalText(Cause.squash(exit.cause)) : "fits"
      }
      assert.include(refusal({ at: "soon" }), "a valid Date")
      assert.include(refusal({ more: 1 }), "excess")
      assert.include(refusal({ amount: "x" }), 'Expected number\n  at ["amount"]')
      assert.deepStrictEqual(amount, { type: "number" })
      // A permission that compares an amount would let NaN pass.
      for (const amount of ["NaN", "Infinity"])
        assert.include(refusal({ amount }), "NaN and Infinity")
      assert.strictEqual(refusal({ note: "Infinity" }), "fits")
    })
  )

  it.effect("ST-05 does not compile in a runtime until every body's services are there", () =>
    Effect.gen(function* () {
      expectTypeOf<Effect.Services<typeof readBook>>().toEqualTypeOf<Shelf>()
      const total = tool({ ...library, name: "total" }, () => Till.use((till) => till.total))
      const one = Tool.make("one", { success: Schema.String, failure: ToolError })
      const runtime = EphemeralRuntime.layer({
        agents: [],
        tools: [
          readBook,
          total,
          govern(Toolkit.make(one), { one: library }, { one: () => Effect.succeed("1") }),
          tool({ ...library, name: "two" }, async () => 2)
        ]
      }).pipe(Layer.provide(ScriptedModelGateway.layer([])))
      expectTypeOf<Layer.Services<typeof runtime>>().toEqualTypeOf<Shelf | Till>()
      const ready = runtime.pipe(
        Layer.provide(shelf),
        Layer.provide(Layer.succeed(Till, { total: Effect.succeed(1) }))
      )
      expectTypeOf<Layer.Services<typeof ready>>().toEqualTypeOf<never>()
      assert.isTrue(Context.isContext(yield* Effect.scoped(Layer.build(ready))))
    })
  )

  it("gets its declared dependencies at each call, and all other services at the start", () => {
    const remember = tool({ ...library, name: "remember", dependencies: [AgentMemory] }, () =>
      Effect.gen(function* () {
        yield* AgentMemory
        return (yield* Till).total.toString()
      })
    )
    expectTypeOf<Effect.Services<typeof remember>>().toEqualTypeOf<Till>()
    expectTypeOf<Effect.Success<typeof remember>>().toEqualTypeOf<
      readonly [GovernedTool<AgentMemory>]
    >()
    assert.isTrue(Effect.isEffect(remember))
  })

  it("does not compile with another failure, another result or another argument", () => {
    const output = Schema.Struct({ n: Schema.Finite })
    const input = Schema.Struct({ n: Schema.Finite })
    const named = { ...library, name: "wrong", input, output }
    const loose = () => Effect.fail("a text")
    const families = [
      // @ts-expect-error a tool fails with a ToolError or not at all
      // @effect-diagnostics-next-line missingEffectError:off
      tool(named, loose),
      // @ts-expect-error the result is not what the output says
      tool(named, () => Effect.succeed({ n: "1" })),
      // @ts-expect-error nor is this promise's
      tool(named, async () => ({ n: "1" })),
      // @ts-expect-error there is no such argument
      tool(named, ({ m }) => ({ n: Number(m) })),
      // @ts-expect-error side effects are declared
      tool({ namespace: "x", name: "wrong" }, () => null),
      // @ts-expect-error and are one of four
      tool({ namespace: "x", name: "wrong", side_effects: "mutating" }, () => null)
    ]
    assert.lengthOf(families, 6)
  })

  it.effect(
    "SG-29 runs a body that gives an Effect, a promise or a value, and exposes it unchanged",
    () =>
      Effect.gen(function* () {
        const input = Schema.Struct({ n: Schema.Finite })
        const named = { ...library, name: "add", input }
        const plain = tool(named, ({ n }) => n + 1)
        const later = tool(named, async ({ n }) => n + 1)
        const effect = tool(named, ({ n }) => Effect.succeed(n + 1))
        assert.strictEqual(plain.body({ n: 1 }, call as never), 2)
        assert.strictEqual(yield* Effect.promise(() => later.body({ n: 1 }, call as never)), 2)
        assert.strictEqual(yield* effect.body({ n: 1 }, call as never), 2)
        for (const each of [plain, later, effect]) {
          const [governed] = yield* each
          assert.deepStrictEqual(yield* run(governed, { n: 1 }), Exit.succeed(2))
        }
      })
  )

  it.effect("ST-18 fails with a thrown error of the four classes, and dies of anything else", () =>
    Effect.gen(function* () {
      const refusal = new ToolPolicyError({ kind: "permission", message: "no" })
      const bodies: ReadonlyArray<() => null | Promise<null>> = [
        () => {
          throw refusal
        },
        () => Promise.reject(refusal)
      ]
      for (const body of bodies) {
        const [governed] = yield* tool({ ...library, name: "refuses" }, body)
        assert.deepStrictEqual(yield* run(governed, {}), Exit.fail(refusal))
      }
      for (const thrown of ["a text", new Error("a secret"), undefined]) {
        const [governed] = yield* tool({ ...library, name: "breaks" }, () =>
          Promise.reject<null>(thrown)
        )
        const exit = yield* run(governed, {})
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      }
    })
  )

  it.effect("fails with the usual kind of a class, where its author says none", () =>
    Effect.gen(function* () {
      const [governed] = yield* tool({ ...library, name: "says_less" }, (): null => {
        throw new ToolUserError({ message: "no such book" })
      })
      const failure = yield* run(governed, {})
      const error = new ToolUserError({ kind: "invalid_args", message: "no such book" })
      assert.deepStrictEqual(failure, Exit.fail(error))
      assert.strictEqual(new ToolPolicyError({ message: "" }).kind, "permission")
      assert.strictEqual(new ToolTerminalError({ message: "" }).kind, "internal")
      const { kind } = new ToolTransientError({ message: "" })
      assert.strictEqual(kind, "external")
      assert.isTrue(isRetried(retryPolicyOf({}), { kind }))
    })
  )

  it.live("aborts the signal of a promise whose call is interrupted, and of no other", () =>
    Effect.gen(function* () {
      const signals: Array<AbortSignal> = []
      const [waits] = yield* tool({ ...library, name: "waits" }, (_, { signal }) => {
        signals.push(signal)
        return new Promise<null>(() => {})
      })
      const [ends] = yield* tool({ ...library, name: "ends" }, async (_, { signal, tenant }) => {
        signals.push(signal)
        return tenant
      })
      assert.deepStrictEqual(yield* run(ends, {}), Exit.succeed("acme"))
      const fiber = yield* Effect.forkChild(run(waits, {}), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(
        signals.map(({ aborted }) => aborted),
        [false, true]
      )
    })
  )

  it.effect(
    "takes no arguments without an input, and those of its JSON Schema where only that is given",
    () =>
      Effect.gen(function* () {
        const [none] = yield* tool({ ...library, name: "none" }, () => null)
        assert.isTrue(Exit.isSuccess(none.decode({})))
        assert.isTrue(Exit.isFailure(none.decode({ a: 1 })))
        const input_schema = {
          type: "object",
          properties: { id: { type: "string", pattern: "^o-" }, many: { type: "integer" } },
          required: ["id"],
          additionalProperties: false
        }
        const [described] = yield* tool(
          { ...library, name: "described", input_schema },
          ({ id }) => id!
        )
        assert.deepStrictEqual(described.spec.input_schema, input_schema)
        assert.isTrue(Exit.isSuccess(described.decode({ id: "o-1", many: 2 })))
        for (const args of [
          {},
          { id: "x" },
          { id: "o-1", many: 1.5 },
          { id: "o-1", more: 1 },
          "o-1"
        ]) {
          assert.isTrue(Exit.isFailure(described.decode(args)), JSON.stringify(args))
        }
        const unsaid = tool(
          { ...library, name: "unsaid", input_schema: { $ref: "https://example.com/x" } },
          () => null
        )
        const error = yield* Effect.flip(unsaid)
        assert.deepInclude(error, { tool: "unsaid", field: "input_schema" })
      })
  )

  it.effect("checks the arguments of a dynamic tool by its JSON Schema", () =>
    Effect.gen(function* () {
      const parameters = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
      const Dynamic = Tool.dynamic("dynamic", {
        parameters,
        success: Schema.Json,
        failure: ToolError
      })
      const [governed] = yield* govern(
        Toolkit.make(Dynamic),
        { dynamic: library },
        { dynamic: () => Effect.succeed(1) }
      )
      assert.isTrue(Exit.isSuccess(governed!.decode({ n: 1 })))
      assert.isTrue(Exit.isFailure(governed!.decode({ n: "1" })))
    })
  )

  it.effect("has its reconcile function, and says so in its spec", () =>
    Effect.gen(function* () {
      const [governed] = yield* tool(
        {
          namespace: "shop",
          name: "pay",
          side_effects: "external",
          input: Schema.Struct({ order: Schema.String }),
          output: Schema.String,
          reconcile: ({ order }, { call }) =>
            Effect.succeed({ _tag: "Happened", result: `${order} by ${call}` })
        },
        ({ order }) => order
      )
      assert.isTrue(governed.spec.reconcile)
      assert.deepStrictEqual(
        yield* handlerEffect(governed.reconcile!, { order: "7" }, contextOfAttempt()),
        {
          _tag: "Happened",
          result: "7 by 0/1.0"
        }
      )
    })
  )

  it.live("reconciles and judges beforehand by an async function, as by an Effect", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const pay = tool(
        {
          namespace: "shop",
          name: "pay",
          side_effects: "external",
          permission: "allow",
          timeout_ms: 50,
          input: Schema.Struct({ order: Schema.String }),
          output: Schema.Struct({ paid: Schema.Boolean }),
          precondition: ({ order }) => {
            asked.push(`may ${order}`)
          },
          reconcile: async ({ order }, { key }) => {
            asked.push(`became of ${order}`)
            return key === undefined
              ? { _tag: "Unknown" }
              : { _tag: "Happened", result: { paid: true } }
          }
        },
        // It never answers.
        async () => new Promise<never>(() => {})
      )
      const odd = { ...library, name: "odd", output: Schema.String }
      const gives = async () => ({ _tag: "Happened", result: 1 }) as const
      // @ts-expect-error its result is another one than the tool's
      assert.isDefined(tool({ ...odd, reconcile: gives }, () => "a"))
      const model = ScriptedModelGateway.layer([
        ScriptedModelGateway.call("pay", { order: "7" }),
        ScriptedModelGateway.text("done")
      ])
      const shop = AgentSpec.make({ name: "shop", instructions: "", tools: ["pay"] })
      yield* Effect.promise(async () => {
        const troupe = await start({ agents: [shop], tools: [pay], model, telemetry: false })
        const { run } = await troupe.ask({ agent: "shop", text: "Pay" })
        const outcomes: Array<unknown> = []
        for await (const item of troupe.watch(run)) {
          if (item._tag === "Event" && item.entry.event._tag === "CallSettled") {
            outcomes.push(item.entry.event.outcome)
          }
        }
        await troupe.stop()
        assert.deepStrictEqual(outcomes, [{ _tag: "Value", json: '{"paid":true}' }])
        assert.deepStrictEqual(asked, ["may 7", "became of 7"])
      })
    })
  )
})
