import { runInNewContext } from "node:vm"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { type } from "arktype"
import { Cause, Effect, Exit, Layer, Stream } from "effect"
import * as v from "valibot"
import * as z from "zod"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { refusalText } from "../../src/schema/SchemaIssues.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as EphemeralRuntime from "../runtime/EphemeralRuntime.ts"

const shop = { namespace: "shop", side_effects: "read" } as const

const withZod = tool(
  {
    ...shop,
    name: "with_zod",
    input: z.object({ id: z.string().min(2), many: z.number().int().default(1) }),
    output: z.object({ total: z.number() }),
    examples: [{ input: { id: "o-1" }, output: { total: 3 } }]
  },
  async ({ id, many }) => {
    expectTypeOf(id).toEqualTypeOf<string>()
    expectTypeOf(many).toEqualTypeOf<number>()
    return { total: id.length * many }
  }
)

const withValibot = tool(
  {
    ...shop,
    name: "with_valibot",
    input: toStandardJsonSchema(
      v.object({ id: v.pipe(v.string(), v.minLength(2)), many: v.optional(v.number(), 1) })
    ),
    output: toStandardJsonSchema(v.object({ total: v.number() }))
  },
  ({ id, many }) => {
    expectTypeOf(many).toEqualTypeOf<number>()
    return { total: id.length * many }
  }
)

const withArktype = tool(
  {
    ...shop,
    name: "with_arktype",
    input: type({ id: "string >= 2", many: "number = 1" }),
    output: type({ total: "number" })
  },
  ({ id, many }) => {
    expectTypeOf(id).toEqualTypeOf<string>()
    return Effect.succeed({ total: id.length * many })
  }
)

const refusal = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isFailure(exit) ? refusalText(Cause.squash(exit.cause)) : ""

describe("a tool of a Standard Schema", () => {
  it.effect("decodes, refuses and encodes alike with every library", () =>
    Effect.gen(function* () {
      for (const declared of [withZod, withValibot, withArktype]) {
        const [governed] = yield* declared
        const { input_schema, name, output_schema } = governed.spec
        assert.deepNestedInclude(input_schema, { type: "object", "properties.id.type": "string" })
        assert.deepNestedInclude(output_schema, { "properties.total.type": "number" })
        assert.notProperty(input_schema, "$schema")
        assert.deepStrictEqual(
          governed.decode({ id: "o-1" }),
          Exit.succeed({ id: "o-1", many: 1 }),
          name
        )
        assert.include(refusal(governed.decode({ id: "o" })), "id", name)
        assert.include(refusal(governed.decode({ id: "o-1", many: "2" })), "many", name)
        assert.include(
          refusal(governed.decode({ id: "o-1", approved_by: "me" })),
          "approved_by",
          name
        )
        for (const args of [null, "o-1", []])
          assert.isAbove(refusal(governed.decode(args)).length, 0)
        assert.deepStrictEqual(governed.encode({ total: 3 }), Exit.succeed({ total: 3 }))
        assert.isAbove(refusal(governed.encode({ total: "3" })).length, 0)
      }
    })
  )

  it("does not compile with another result, argument or service than it declares", () => {
    const named = { ...shop, name: "wrong", input: z.object({ id: z.string() }) }
    const output = z.object({ total: z.number() })
    const families = [
      // @ts-expect-error the promise is of another result
      tool({ ...named, output }, async () => ({ total: "1" })),
      // @ts-expect-error there is no such argument
      tool(named, ({ order }) => Number(order)),
      // @ts-expect-error arktype's is a number
      tool({ ...shop, name: "wrong", input: type({ n: "number" }) }, ({ n }) => n.length)
    ]
    assert.lengthOf(families, 3)
  })

  it.effect("ends the start where neither the library nor the author gives a JSON Schema", () =>
    Effect.gen(function* () {
      const bare = v.object({ id: v.string() })
      const named = { ...shop, name: "bare", input: bare }
      const error = yield* Effect.flip(tool(named, () => null))
      assert.deepInclude(error, { tool: "bare", field: "input" })
      assert.include(error.message, "input_schema")
      const input_schema = {
        type: "object",
        properties: { id: { type: "string" } },
        required: ["id"]
      }
      const [given] = yield* tool({ ...named, input_schema }, ({ id }) => id)
      assert.deepStrictEqual(given.spec.input_schema, input_schema)
      assert.deepStrictEqual(given.decode({ id: "x" }), Exit.succeed({ id: "x" }))
      const unsayable = tool(
        { ...shop, name: "odd", input: z.object({ on: z.date() }) },
        () => null
      )
      assert.deepInclude(yield* Effect.flip(unsayable), { tool: "odd", field: "input" })
      // From JavaScript.
      const plain = yield* Effect.flip(
        tool({ ...shop, name: "plain", input: input_schema as never }, () => null)
      )
      assert.deepInclude(plain, { tool: "plain", field: "input" })
      assert.include(plain.message, "Give a JSON Schema as input_schema")
    })
  )

  it.effect(
    "allows the properties that its schema leaves open, and refuses an asynchronous schema",
    () =>
      Effect.gen(function* () {
        const [open] = yield* tool({ ...shop, name: "open", input: z.looseObject({}) }, () => null)
        assert.deepStrictEqual(open.decode({ any: 1 }), Exit.succeed({ any: 1 }))
        const later = z.object({ id: z.string().refine(async () => true) })
        const [slow] = yield* tool({ ...shop, name: "slow", input: later }, () => null)
        assert.include(refusal(slow.decode({ id: "x" })), "at once")
      })
  )

  for (const [title, answer, says] of [
    ["a promise that is rejected later", () => Promise.reject(new Error("late")), "at once"],
    ["a promise of another realm", () => runInNewContext("Promise.resolve({})"), "at once"],
    ["nothing", () => null, "failed on this value"],
    ["a number", () => 5, "failed on this value"],
    ["neither a value nor issues", () => ({}), "failed on this value"],
    ["issues that are none", () => ({ issues: [null] }), "failed on this value"]
  ] as const) {
    it.live(`refuses what a schema judges by ${title}, and the process goes on`, () =>
      Effect.gen(function* () {
        const unhandled: Array<unknown> = []
        const note = (reason: unknown) => void unhandled.push(reason)
        process.on("unhandledRejection", note)
        const json_schema = { type: "object", properties: { id: { type: "string" } } }
        const jsonSchema = { input: () => json_schema, output: () => json_schema }
        const input = {
          "~standard": { version: 1, vendor: "own", validate: answer, jsonSchema }
        } as never
        const [judged] = yield* tool({ ...shop, name: "judged", input }, () => null)
        assert.include(refusal(judged.decode({ id: "x" })), says)
        yield* Effect.sleep(5)
        process.off("unhandledRejection", note)
        assert.deepStrictEqual(unhandled, [])
      })
    )
  }

  it.effect("checks its examples", () =>
    Effect.gen(function* () {
      const named = { ...shop, name: "shown", input: z.object({ id: z.string() }) }
      const input = yield* Effect.flip(
        tool({ ...named, examples: [{ input: { id: 1 } }] }, () => null)
      )
      assert.deepInclude(input, { tool: "shown", field: "examples.0.input" })
      const example = { input: { id: "1" }, output: { total: "1" } }
      const output = tool(
        { ...named, output: z.object({ total: z.number() }), examples: [example] },
        () => ({ total: 1 })
      )
      assert.deepInclude(yield* Effect.flip(output), { field: "examples.0.output" })
    })
  )

  it.effect("takes a result again in the form that its schema makes of it", () =>
    Effect.gen(function* () {
      const iso = z.date().transform((date) => date.toISOString())
      const output = z.object({ at: iso.pipe(z.string()), n: z.number() })
      const made = { at: "2027-01-08T00:00:00.000Z", n: 1 }
      // `z.date()` cannot be said in JSON Schema, and is only what the body gives.
      const declared = { ...shop, name: "dated", output, examples: [{ input: {}, output: made }] }
      const [{ check, encode }] = yield* tool(declared, () => ({ at: new Date(made.at), n: 1 }))
      assert.deepStrictEqual(encode({ at: new Date(made.at), n: 1 }), Exit.succeed(made))
      // As a replay has it from a recording, and a runtime from its worker.
      assert.deepStrictEqual(check(made), Exit.succeed(made))
      for (const wrong of [{ ...made, n: "1" }, { n: 1 }, null]) {
        assert.isAbove(refusal(check(wrong)).length, 0)
      }
    })
  )

  it.live("passes the gate, which tells the model what it refused", () =>
    Effect.gen(function* () {
      const runtime = yield* AgentRuntime
      const conversation = ConversationId.make("c-1")
      const by = new Principal({ id: "ada", tenant: Tenant.make("acme"), roles: ["operator"] })
      yield* runtime.send({ agent: AgentName.make("clerk"), conversation, text: "Go." }, by)
      const settled = yield* runtime.watch(conversation, { ordinal: 0, seq: -1 }, by).pipe(
        Stream.filter((item) => item._tag === "Event"),
        Stream.map((item) => item.entry.event),
        Stream.takeUntil((event) => event._tag === "RunEnded"),
        Stream.filter((event) => event._tag === "CallSettled"),
        Stream.runCollect
      )
      const [first, second, third] = settled.map(({ outcome }) => outcome)
      assert.deepNestedInclude(first, {
        "error.class": "ToolUserError",
        "error.kind": "invalid_args",
        "error.reason": "INPUT_SCHEMA"
      })
      assert.include(first?._tag === "Failed" ? first.error.message : "", "id")
      assert.deepStrictEqual(second, { _tag: "Value", json: '{"total":3}' })
      assert.deepStrictEqual(third, { _tag: "Value", json: '{"total":6}' })
    }).pipe(
      Effect.provide(
        EphemeralRuntime.layer({
          agents: [
            AgentSpec.make({
              name: AgentName.make("clerk"),
              instructions: "Sell.",
              tools: ["with_zod", "with_arktype"]
            })
          ],
          tools: [withZod, withValibot, withArktype]
        }).pipe(
          Layer.provide(
            ScriptedModelGateway.layer([
              call("with_zod", { id: 7 }),
              call("with_zod", { id: "o-1" }),
              call("with_arktype", { id: "o-1", many: 2 }),
              text("Done.")
            ])
          )
        )
      )
    )
  )
})
