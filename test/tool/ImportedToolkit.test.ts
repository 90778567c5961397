/** Toolkits of `effect/ai` under a real runtime: what governs their tools, and what becomes of their results and failures. */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Context, DateTime, Duration, Effect, Exit, Layer, Schema, Stream } from "effect"
import { AiError, Prompt, Tool, Toolkit } from "effect/ai"
import { AgentSpec, Principal, ToolTransientError } from "troupe"
import { Governed, importToolkit, Troupe } from "troupe/layers"
import type { ImportOptions } from "troupe/layers"
import { call, scripted, text } from "troupe/testing"
import type { GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import * as Homes from "../process/Homes.ts"

const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver", "operator"] })

class Payments extends Context.Service<
  Payments,
  { readonly refund: (order: string) => Effect.Effect<string> }
>()("test/Payments") {}

class OutOfStock extends Schema.TaggedError<OutOfStock>()("OutOfStock", { sku: Schema.String }) {}
class Busy extends Schema.TaggedError<Busy>()("Busy", { seconds: Schema.Int }) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", { secret: Schema.String }) {}

const Order = Schema.Struct({ order: Schema.String })

const Refund = Tool.make("refund", {
  description: "Pays an order back.",
  parameters: Schema.Struct({ order: Schema.String, day: Schema.DateTimeUtcFromString }),
  success: Schema.Struct({ receipt: Schema.String, at: Schema.DateTimeUtcFromString })
})
const Look = Tool.make("look", { parameters: Order, success: Schema.String })
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)

const refundLive = Toolkit.make(Refund).toLayer(
  Effect.map(Payments, ({ refund }) => ({
    refund: ({ day, order }) =>
      Effect.map(refund(order), (receipt) => ({ receipt, at: DateTime.add(day, { days: 1 }) }))
  }))
)

type Family = Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool>

/** Runs one agent with the tools of a family, and gives how its only call went. */
const settled = (
  family: Family,
  tool: string,
  args: Parameters<typeof call>[1] = {},
  more: Partial<Parameters<typeof Troupe.layer>[0]> = {}
) =>
  Effect.gen(function* () {
    const troupe = yield* Troupe
    const answer = yield* troupe.ask({ agent: "shop", text: "Do it" })
    const asked = yield* troupe.pending(boss)
    for (const { id } of asked) yield* troupe.decide(id, { decision: "approve" }, boss)
    yield* troupe.result(answer.run)
    const events = yield* Stream.runCollect(troupe.watch(answer.run))
    const outcomes = events.flatMap((item) =>
      item._tag === "Event" && item.entry.event._tag === "CallSettled"
        ? [item.entry.event.outcome]
        : []
    )
    return { asked, events, outcome: outcomes[0]!, specs: [] }
  }).pipe(
    Effect.provide(
      Troupe.layer({
        agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: [tool] })],
        tools: [family],
        model: scripted([call(tool, args), text("done")]),
        ...more
      } as never)
    )
  )

/** One tool that does what it is told, imported under these options. */
const one = <T extends Tool.Any>(
  tool: T,
  handler: (args: never, context: never) => Effect.Effect<unknown, unknown>,
  options: object = {}
): Family => {
  const kit = Toolkit.make(tool as Tool.Any)
  return importToolkit(kit as never, kit.toLayer({ [tool.name]: handler } as never), {
    namespace: "shop",
    ...options
  }) as Family
}

const specOf = (family: Family) => Effect.map(Effect.scoped(family), ([tool]) => tool!.spec)

const refused = (family: Family) =>
  Effect.map(Effect.flip(Effect.scoped(family)), ({ field, message }) => `${field}: ${message}`)

const whole = (store: object) =>
  Effect.gen(function* () {
    const family = importToolkit(Toolkit.make(Refund), refundLive, { namespace: "shop" })
    expectTypeOf<Effect.Services<typeof family>>().toEqualTypeOf<Payments>()
    const paid: Array<string> = []
    const payments = Layer.succeed(Payments, {
      refund: (order) => Effect.sync(() => `paid ${paid.push(order)}`)
    })
    const layer = Troupe.layer({
      agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["refund"] })],
      tools: [family],
      model: scripted([
        call("refund", { order: "7", day: "no day" }),
        call("refund", { order: "7", day: "2026-12-01T00:00:00Z" }),
        text("It is paid back.")
      ]),
      ...store
    })
    expectTypeOf<Layer.Services<typeof layer>>().toEqualTypeOf<Payments>()
    yield* Effect.gen(function* () {
      const troupe = yield* Troupe
      const { run, status } = yield* troupe.ask({ agent: "shop", text: "Pay it back" })
      assert.strictEqual(status, "awaiting_approval")
      assert.deepStrictEqual(paid, [])
      const [question] = yield* troupe.pending(boss)
      assert.strictEqual(question!.payload.effect_description, "Pays an order back.")
      yield* troupe.decide(question!.id, { decision: "approve" }, boss)
      assert.strictEqual((yield* troupe.result(run)).text, "It is paid back.")
      assert.deepStrictEqual(paid, ["7"])
      const outcomes = (yield* Stream.runCollect(troupe.watch(run))).flatMap((item) =>
        item._tag === "Event" && item.entry.event._tag === "CallSettled"
          ? [item.entry.event.outcome]
          : []
      )
      const [unfit, done] = outcomes
      assert.isTrue(unfit?._tag === "Failed" && unfit.error.reason === "INPUT_SCHEMA")
      assert.isTrue(done?._tag === "Value")
      assert.deepStrictEqual(JSON.parse((done as { readonly json: string }).json), {
        receipt: "paid 1",
        at: "2026-12-02T00:00:00.000Z"
      })
    }).pipe(Effect.provide(Layer.provide(layer, payments)))
  })

describe("an imported toolkit", () => {
  it.live(
    "decodes arguments, waits for a person, runs its own handler and encodes its result",
    () => whole({})
  )

  it.live("does the same on PGlite", () =>
    Effect.scoped(Effect.flatMap(Homes.directory, (store) => whole({ store })))
  )

  it.effect("is governed by its annotations, and waits for a person where they say nothing", () =>
    Effect.gen(function* () {
      const plain = Tool.make("t", { parameters: Order })
      const nothing = () => Effect.void
      const effects = [
        [plain, "external", undefined],
        [plain.annotate(Tool.Readonly, true), "read", undefined],
        [
          plain.annotate(Tool.Readonly, true).annotate(Tool.Destructive, true),
          "external",
          undefined
        ],
        [plain.annotate(Tool.Destructive, false), "external", undefined],
        [plain.annotate(Tool.OpenWorld, false), "write", undefined],
        [
          plain.annotate(Tool.Readonly, false).annotate(Tool.OpenWorld, true),
          "external",
          undefined
        ],
        [plain.setNeedsApproval(true).annotate(Tool.Readonly, true), "read", "ask"],
        [plain.setNeedsApproval(false), "external", undefined]
      ] as const
      for (const [tool, side_effects, permission] of effects) {
        const spec = yield* specOf(one(tool, nothing))
        assert.strictEqual(spec.side_effects, side_effects)
        assert.strictEqual(spec.permission, permission)
        assert.isFalse(spec.idempotent)
      }
      const again = plain.annotate(Tool.Idempotent, true)
      assert.isTrue((yield* specOf(one(again, nothing))).idempotent)
      assert.isFalse((yield* specOf(one(again.annotate(Tool.Readonly, true), nothing))).idempotent)
    })
  )

  it.effect("is governed by a table before `Governed`, and by `Governed` before its hints", () =>
    Effect.gen(function* () {
      const tool = Tool.make("t", { parameters: Order })
        .annotate(Tool.Readonly, true)
        .setNeedsApproval(true)
        .annotate(Governed, { side_effects: "write", approvers: ["boss"], timeout_ms: 5 })
      const annotated = yield* specOf(one(tool, () => Effect.void))
      assert.strictEqual(annotated.side_effects, "write")
      assert.strictEqual(annotated.permission, "ask")
      assert.deepStrictEqual(annotated.approvers, ["boss"])
      const tabled = yield* specOf(
        one(tool, () => Effect.void, { tools: { t: { timeout_ms: 7, permission: "deny" } } })
      )
      assert.strictEqual(tabled.timeout_ms, 7)
      assert.strictEqual(tabled.permission, "deny")
      assert.deepStrictEqual(tabled.approvers, ["boss"])
    })
  )

  it.live("asks by the function of `needsApproval`, and wherever it cannot say at once", () =>
    Effect.gen(function* () {
      const tool = Tool.make("t", { parameters: Schema.Struct({ amount: Schema.Int }) })
      const judged: ReadonlyArray<
        readonly [Tool.NeedsApprovalFunction<typeof tool.parametersSchema>, asks: boolean]
      > = [
        [({ amount }) => amount > 100, false],
        [({ amount }) => amount > 10, true],
        [() => Effect.succeed(false), false],
        [() => Effect.succeed(true), true],
        [() => Effect.as(Effect.sleep(1), false), true],
        [() => Effect.die("no"), true],
        [(_, { messages }) => messages.length > 5, true],
        [(_, { toolCallId }) => toolCallId === "", true],
        [
          () => {
            throw new Error("no")
          },
          true
        ],
        [() => Promise.reject(new Error("no")) as never, true],
        [() => undefined as never, true]
      ]
      for (const [needs, asks] of judged) {
        const family = one(tool.setNeedsApproval(needs), () => Effect.void)
        const { asked, outcome } = yield* settled(family, "t", { amount: 50 })
        assert.strictEqual(asked.length, asks ? 1 : 0, String(needs))
        assert.deepStrictEqual(outcome, { _tag: "Value", json: "null" })
      }
    })
  )

  it.live(
    "gives failures to the model in the four classes, and no text of one that nobody classified",
    () =>
      Effect.gen(function* () {
        const failure = Schema.Union([OutOfStock, Busy, Broken, Schema.String])
        const tool = Tool.make("t", { failure }).annotate(Tool.Readonly, true)
        const returning = Tool.make("t", { failure, failureMode: "return" }).annotate(
          Tool.Readonly,
          true
        )
        const failures = {
          OutOfStock: "ToolUserError",
          Busy: ({ seconds }: Busy) =>
            new ToolTransientError({ message: "busy", retry_after_ms: seconds * 1_000 })
        } as const
        const error = Effect.fnUntraced(function* (
          of: Tool.Any,
          failing: unknown,
          options: object = {}
        ) {
          const { outcome } = yield* settled(
            one(of, () => Effect.fail(failing), options),
            "t"
          )
          return outcome._tag === "Failed" ? outcome.error : assert.fail(outcome._tag)
        })
        const stock = new OutOfStock({ sku: "7" })
        const broken = new Broken({ secret: "s3cret" })
        const table = { failures }
        const given = yield* error(tool, stock, table)
        assert.deepInclude(given, {
          class: "ToolUserError",
          message: '{"_tag":"OutOfStock","sku":"7"}'
        })
        const ofTool = { tools: { t: { failures: () => undefined } }, ...table }
        assert.deepInclude(yield* error(tool, stock, ofTool), { class: "ToolUserError" })
        const busy = yield* error(tool.annotate(Governed, table), new Busy({ seconds: 3 }))
        assert.deepInclude(busy, { class: "ToolTransientError", retry_after_ms: 3_000 })
        const unknown = yield* error(tool, broken, table)
        assert.deepInclude(unknown, { class: "ToolTerminalError", reason: "DEFECT" })
        assert.notInclude(JSON.stringify(unknown), "s3cret")
        // What is for the model by the tool's own word.
        const returned = yield* error(returning, broken, table)
        assert.deepInclude(returned, { class: "ToolTerminalError", kind: "unknown" })
        assert.include(returned.message, "s3cret")
        const limited = new AiError.RateLimitError({ retryAfter: Duration.seconds(2) })
        assert.deepInclude(yield* error(tool, limited), {
          class: "ToolTransientError",
          reason: "MODEL_FAILED",
          retry_after_ms: 2_000
        })
        const filtered = new AiError.ContentPolicyError({ description: "s3cret" })
        const refused = yield* error(tool, filtered)
        assert.deepInclude(refused, { class: "ToolTerminalError", reason: "DEFECT" })
        assert.notInclude(refused.message, "s3cret")
        const own = new ToolTransientError({ message: "later" })
        assert.deepInclude(yield* error(tool, own), {
          class: "ToolTransientError",
          message: "later"
        })
      })
  )

  it.live(
    "shows preliminary results as its schema encodes them, and fails by one that does not fit",
    () =>
      Effect.gen(function* () {
        const tool = Tool.make("t", { success: Schema.DateTimeUtcFromString }).annotate(
          Tool.Readonly,
          true
        )
        const day = DateTime.makeUnsafe("2026-12-01T00:00:00Z")
        const shown: Array<unknown> = []
        const family = one(
          tool,
          (_, { preliminary, ...context }: { preliminary: (of: unknown) => Effect.Effect<void> }) =>
            Effect.andThen(
              preliminary(day),
              Effect.sync(() => (shown.push(context), day))
            )
        )
        const first = yield* settled(family, "t")
        assert.deepStrictEqual(first.outcome, { _tag: "Value", json: '"2026-12-01T00:00:00.000Z"' })
        const wrong = one(
          tool,
          (_, { preliminary }: { preliminary: (of: unknown) => Effect.Effect<void> }) =>
            Effect.as(preliminary("no day"), day)
        )
        const { outcome } = yield* settled(wrong, "t")
        assert.isTrue(outcome._tag === "Failed" && outcome.error.reason === "DEFECT")
      })
  )

  it.live("gives the model what `toModelOutput` says, with its files", () =>
    Effect.gen(function* () {
      const tool = Tool.make("t", {
        success: Schema.Struct({ hidden: Schema.String }),
        toModelOutput: () => [
          Prompt.textPart({ text: "A picture:" }),
          Prompt.filePart({ mediaType: "image/png", fileName: "a.png", data: new Uint8Array([1]) }),
          Prompt.filePart({ mediaType: "image/png", data: new URL("http://127.0.0.1:9/b.png") })
        ]
      }).annotate(Tool.Readonly, true)
      const { events, outcome } = yield* settled(
        one(tool, () => Effect.succeed({ hidden: "s3cret" })),
        "t"
      )
      assert.strictEqual(outcome._tag, "Value")
      assert.strictEqual(
        JSON.parse((outcome as { readonly json: string }).json),
        "A picture:\n[image/png omitted]"
      )
      assert.include(JSON.stringify(events), '"a.png"')
      assert.notInclude(JSON.stringify(events), "s3cret")
      const { outcome: unfit } = yield* settled(
        one(tool, () => Effect.succeed("none")),
        "t"
      )
      assert.isTrue(unfit._tag === "Failed")
    })
  )

  it.effect("refuses what it cannot govern, by the name of the tool", () =>
    Effect.gen(function* () {
      const search = Tool.providerDefined({
        id: "acme.search",
        customName: "search",
        providerName: "web_search",
        requiresHandler: true
      })({})
      const nothing = () => Effect.void
      assert.include(yield* refused(one(search, nothing)), "provider_tools")
      const tool = Tool.make("pay", { parameters: Order })
      assert.include(
        yield* refused(one(tool, nothing, { tools: { pays: {} } })),
        'the toolkit has no such tool. It has pay. Did you mean "pay"?'
      )
      assert.include(
        yield* refused(one(tool, nothing, { failures: { Gone: "UserError" as never } })),
        "failures.Gone: "
      )
      assert.include(
        yield* refused(one(tool, nothing, { tools: { pay: { namespce: "x" } as never } })),
        "namespce"
      )
      assert.include(yield* refused(one(tool, nothing, { namespace: "" })), "namespace: ")
      const list = Tool.make("list", { parameters: Schema.Array(Schema.String) as never })
      assert.include(yield* refused(one(list, nothing)), "Schema.Struct")
      const unhandled = Layer.empty as unknown as Layer.Layer<Tool.Handler<"pay">>
      const absent = importToolkit(Toolkit.make(tool), unhandled, { namespace: "shop" })
      assert.include(yield* refused(absent), "no handler")
      const outside = yield* Effect.promise(() => Effect.runPromiseExit(one(tool, nothing)))
      assert.isTrue(Exit.isFailure(outside))
    })
  )

  it.live("keeps two toolkits apart whose tools have one name", () =>
    Effect.gen(function* () {
      const of = (said: string) => Effect.succeed(said)
      const reads = one(Look, () => of("read"), { namespace: "library" })
      const Other = Tool.make("look", { success: Schema.String })
      const acts = one(Other, () => of("acted"), { namespace: "shop" })
      for (const [key, said, asks] of [
        ["library.look@1", "read", 0],
        ["shop.look@1", "acted", 1]
      ] as const) {
        const args = key === "shop.look@1" ? {} : { order: "7" }
        const { asked, outcome } = yield* settled(reads, "look", args, {
          agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: [key] })],
          tools: [reads, acts]
        })
        assert.deepStrictEqual(outcome, { _tag: "Value", json: JSON.stringify(said) })
        assert.strictEqual(asked.length, asks)
      }
    })
  )

  it("does not compile with a schema that needs services, or a table for another tool", () => {
    const needing = Schema.String as unknown as Schema.Codec<string, string, Payments, Payments>
    const kit = Toolkit.make(Tool.make("t", { success: needing }))
    const layer = Layer.empty as Layer.Layer<Tool.Handler<"t">>
    // @ts-expect-error the gate decodes without services
    assert.isTrue(Effect.isEffect(importToolkit(kit, layer, { namespace: "shop" })))
    const looking = Toolkit.make(Look)
    const live = Layer.empty as unknown as Layer.Layer<Tool.Handler<"look">>
    // @ts-expect-error there is no such tool
    const options: ImportOptions<typeof looking.tools> = { namespace: "s", tools: { lok: {} } }
    assert.isTrue(Effect.isEffect(importToolkit(looking, live, options)))
  })
})
