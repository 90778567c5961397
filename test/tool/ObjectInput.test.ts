import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import * as z from "zod"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { remote } from "../../layers/runtime/queue/RemoteTool.ts"
import { ToolError } from "../../src/error/ToolError.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import { definitionOf } from "../../src/mcp/McpTool.ts"
import type { AnySchema } from "../../src/tool/ToolCodec.ts"

const base = { namespace: "n", name: "t", side_effects: "read" } as const
const one = Schema.Struct({ a: Schema.String })
const other = Schema.Struct({ b: Schema.String })

const no_objects: Readonly<Record<string, AnySchema>> = {
  text: Schema.String,
  list: Schema.Array(Schema.String),
  anything: Schema.Json,
  union: Schema.Union([one, other]),
  zod_text: z.string(),
  zod_list: z.array(z.string()),
  zod_union: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])
}

const schemas = [
  { type: "string" },
  { anyOf: [{ type: "object" }] },
  {},
  { type: ["object", "null"] }
]

const refused = (error: unknown, field: string, fix: string) => {
  assert.deepInclude(error, { _tag: "MisdeclaredTool", tool: "t", field })
  const { message } = error as Error
  assert.include(message, `tool "t", field "${field}": its JSON Schema has to be of type "object"`)
  assert.isTrue(message.endsWith(`${fix}.`), message)
}

const wrapped = "Wrap it in an object: Schema.Struct({ value: ... })"
const written = 'Wrap it in an object: { type: "object", properties: { value: ... } }'

describe("a tool whose arguments are not an object", () => {
  it.effect("ends the start, whatever kind of schema it has", () =>
    Effect.gen(function* () {
      for (const input of Object.values(no_objects)) {
        refused(yield* Effect.flip(tool({ ...base, input }, () => 1)), "input", wrapped)
        const far = Effect.provide(remote({ ...base, input }), EphemeralToolQueue.layer)
        refused(yield* Effect.flip(far), "input", wrapped)
      }
    })
  )

  it.effect("ends the start where its JSON Schema was written by hand", () =>
    Effect.gen(function* () {
      for (const input_schema of schemas) {
        const alone = Effect.flip(tool({ ...base, input_schema }, () => 1))
        refused(yield* alone, "input_schema", written)
        const beside = Effect.flip(tool({ ...base, input: one, input_schema }, () => 1))
        refused(yield* beside, "input_schema", written)
        const far = Effect.provide(remote({ ...base, input_schema }), EphemeralToolQueue.layer)
        refused(yield* Effect.flip(far), "input_schema", written)
      }
    })
  )

  it.effect("ends the start in a toolkit", () =>
    Effect.gen(function* () {
      const either = Tool.make("t", {
        parameters: Schema.Union([one, other]) as never,
        success: Schema.String,
        failure: ToolError
      })
      const { name: _, ...governance } = base
      const made = govern(Toolkit.make(either), { t: governance }, {
        t: () => Effect.succeed("x")
      } as never)
      refused(yield* Effect.flip(made as Effect.Effect<unknown, unknown>), "input", wrapped)
    })
  )

  it("of an MCP server cannot be imported", () => {
    for (const inputSchema of schemas) {
      assert.strictEqual(definitionOf({ name: "t", inputSchema })._tag, "Failure")
    }
  })
})

class Order extends Schema.Class<Order>("Order")({ id: Schema.String }) {}
interface Tree {
  readonly value: string
  readonly left?: Tree
}
const Tree = Schema.Struct({
  value: Schema.String,
  left: Schema.optionalKey(Schema.suspend((): Schema.Codec<Tree> => Tree))
}).annotate({ identifier: "Tree" })

describe("a tool whose arguments are an object", () => {
  it.effect("is shown as the object that its reference at the top stands for", () =>
    Effect.gen(function* () {
      const object = { type: "object", properties: { a: { type: "string" } } }
      const input_schema = { $ref: "#/$defs/One", $defs: { One: object } }
      const dynamic = Tool.dynamic("t", { parameters: input_schema })
      const { name: _, ...governance } = base
      const families: ReadonlyArray<Effect.Effect<ReadonlyArray<GovernedTool>, unknown>> = [
        tool({ ...base, input_schema }, () => 1),
        tool({ ...base, input: one, input_schema }, () => 1),
        Effect.provide(remote({ ...base, input_schema }), EphemeralToolQueue.layer),
        govern(Toolkit.make(dynamic), { t: governance }, { t: () => Effect.succeed(1) })
      ]
      for (const family of families) {
        for (const { spec } of yield* family) assert.deepStrictEqual(spec.input_schema, object)
      }
    })
  )

  it.effect(
    "has an object at the top of its JSON Schema, even if its own schema is a class or has an identifier",
    () =>
      Effect.gen(function* () {
        const [order] = yield* tool({ ...base, input: Order }, () => 1)
        assert.deepStrictEqual(order.spec.input_schema, {
          type: "object",
          properties: { id: { type: "string" } },
          required: ["id"],
          additionalProperties: false
        } as never)
        assert.deepStrictEqual(order.decode({ id: "1" }), Exit.succeed(new Order({ id: "1" })))
        const [tree] = yield* tool({ ...base, input: Tree }, () => 1)
        assert.deepInclude(tree.spec.input_schema, { type: "object", required: ["value"] })
        assert.property(tree.spec.input_schema["$defs"], "Tree")
        assert.isTrue(Exit.isSuccess(tree.decode({ value: "a", left: { value: "b" } })))
        assert.isTrue(Exit.isFailure(tree.decode({ value: "a", left: { value: 1 } })))
      })
  )

  it.effect("may be a class or a schema of any identifier", () =>
    Effect.gen(function* () {
      class Slashed extends Schema.Class<Slashed>("shop/Order")({ id: Schema.String }) {}
      const [slashed] = yield* tool({ ...base, input: Slashed }, () => 1)
      assert.deepInclude(slashed.spec.input_schema, { type: "object", required: ["id"] })
      assert.deepStrictEqual(slashed.decode({ id: "1" }), Exit.succeed(new Slashed({ id: "1" })))
      const spaced = one.annotate({ identifier: "An order ~ #1%" })
      const [{ spec }] = yield* tool({ ...base, input: spaced }, () => 1)
      assert.deepInclude(spec.input_schema, { type: "object", required: ["a"] })
    })
  )

  it.effect("takes no arguments where its struct is empty", () =>
    Effect.gen(function* () {
      const [made] = yield* tool({ ...base, input: Schema.Struct({}) }, () => 1)
      assert.deepStrictEqual(made.spec.input_schema, {
        type: "object",
        properties: {},
        additionalProperties: false
      } as never)
      assert.deepStrictEqual(made.decode({}), Exit.succeed({}))
      for (const given of [{ a: 1 }, "hey", [], null]) {
        assert.isTrue(Exit.isFailure(made.decode(given)), JSON.stringify(given))
      }
    })
  )

  it.effect("may be a union where its author writes the JSON Schema", () =>
    Effect.gen(function* () {
      const input_schema = { type: "object", properties: { a: {}, b: {} } }
      const input = Schema.Union([one, other])
      const [made] = yield* tool({ ...base, input, input_schema }, () => 1)
      assert.isTrue(Exit.isSuccess(made.decode({ b: "x" })))
      assert.isTrue(Exit.isFailure(made.decode({ a: "x", b: "x" })))
    })
  )
})
