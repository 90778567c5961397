/** Null for a member that may be absent counts as absent, whatever kind of schema says so. */
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { Effect, Exit, Result, Schema } from "effect"
import * as v from "valibot"
import { assert, describe, it } from "vitest"
import * as z from "zod"
import { compileForeignSchema } from "../../layers/mcp/ForeignSchema.ts"
import { fitAnswer } from "../../src/run/AnswerSchema.ts"
import { asMeant } from "../../src/schema/EffectDecoder.ts"
import type { AnySchema } from "../../src/tool/ToolCodec.ts"
import { givenCodec, inputCodec, jsonSchemaInput } from "../../src/tool/ToolCodec.ts"

const Zod = z.object({
  order: z.string(),
  tag: z.string().optional(),
  limit: z.number().default(10),
  lines: z.array(z.object({ a: z.number().optional(), n: z.string().nullable() })).optional(),
  either: z
    .union([
      z.object({ k: z.literal("x"), o: z.string().optional() }),
      z.object({ k: z.literal("y") })
    ])
    .optional()
})
const Effects = Schema.Struct({
  order: Schema.String,
  tag: Schema.optionalKey(Schema.String),
  limit: Schema.optional(Schema.Number),
  when: Schema.optional(Schema.Date),
  lines: Schema.optional(
    Schema.Array(
      Schema.Struct({ a: Schema.optionalKey(Schema.Number), n: Schema.NullOr(Schema.String) })
    )
  ),
  either: Schema.optional(
    Schema.Union([
      Schema.Struct({ k: Schema.Literal("x"), o: Schema.optionalKey(Schema.String) }),
      Schema.Struct({ k: Schema.Literal("y") })
    ])
  )
})
const Valibot = toStandardJsonSchema(
  v.object({
    order: v.string(),
    tag: v.optional(v.string()),
    limit: v.optional(v.number(), 10),
    lines: v.optional(v.array(v.object({ a: v.optional(v.number()), n: v.nullable(v.string()) }))),
    either: v.optional(v.object({ k: v.string(), o: v.optional(v.string()) }))
  })
)
const given = (schema: unknown) => Result.getOrThrow(givenCodec(schema as AnySchema))
const json_schema = given(Zod).json_schema

const doors = {
  "an answer by zod": given(Zod).decode,
  "an answer by effect": given(Effects).decode,
  "an answer by valibot": given(Valibot).decode,
  "a tool of zod": Effect.runSync(inputCodec("tool", Zod)).decode,
  "a tool of effect": Effect.runSync(inputCodec("tool", Effects as never)).decode,
  "a tool of JSON Schema, as of an OpenAPI document": Effect.runSync(
    jsonSchemaInput("tool", json_schema)
  ).decode,
  "a tool of an MCP server": asMeant(Result.getOrThrow(compileForeignSchema(json_schema)))
}

describe.each(Object.entries(doors))("null for an absent member in %s", (_, decode) => {
  const taken = (value: unknown) => {
    const exit = decode(value)
    assert.isTrue(Exit.isSuccess(exit), JSON.stringify(value))
    const { limit: __, ...rest } = Exit.isSuccess(exit) ? (exit.value as { limit?: unknown }) : {}
    return rest
  }

  it("counts as absent, at any depth, and a default stands in for it", () => {
    assert.deepStrictEqual(taken({ order: "1", tag: null, limit: null }), { order: "1" })
    const lines = [
      { a: null, n: null },
      { a: 1, n: "x" }
    ]
    assert.deepStrictEqual(taken({ order: "1", tag: null, lines }), {
      order: "1",
      lines: [{ n: null }, { a: 1, n: "x" }]
    })
    assert.deepStrictEqual(taken({ order: "1", either: { k: "x", o: null } }), {
      order: "1",
      either: { k: "x" }
    })
    const many = Array.from({ length: 300 }, () => ({ a: null, n: null }))
    assert.deepStrictEqual(taken({ order: "1", lines: many }), {
      order: "1",
      lines: many.map(() => ({ n: null }))
    })
  })

  it("is refused where a member is required, and in a list", () => {
    for (const value of [{ order: null }, {}, { order: "1", lines: [null] }, null]) {
      assert.isTrue(Exit.isFailure(decode(value)), JSON.stringify(value))
    }
  })
})

describe("null for a member that a library would make something of", () => {
  const Coerced = z.object({
    many: z.coerce.number().optional(),
    name: z.coerce.string().default("none"),
    on: z.coerce.boolean().optional(),
    rows: z.array(z.object({ at: z.coerce.number().optional() })).optional()
  })

  it("counts as absent, and is no 0 and no text", () => {
    const decoded = { name: "none", rows: [{}] }
    const value = { many: null, name: null, on: null, rows: [{ at: null }] }
    for (const { decode } of [given(Coerced), Effect.runSync(inputCodec("tool", Coerced))]) {
      assert.deepStrictEqual(decode(value), Exit.succeed(decoded))
    }
  })

  it("is its default where a schema asks for the member all the same", () => {
    // As zod's JSON Schema of what comes out says it.
    const written = z.toJSONSchema(Zod) as never
    const fit = fitAnswer(written, '{"order":"1","limit":null}')
    assert.deepStrictEqual(fit, Result.succeed('{"order":"1","limit":10}'))
    assert.isTrue(Result.isFailure(fitAnswer(written, '{"order":null,"limit":1}')))
  })
})

describe.each(Object.entries(doors))("a member that is encoded twice in %s", (_, decode) => {
  it("is what its text says, where no text is wanted", () => {
    const value = { order: '["1"]', lines: '[{"n":"x","a":1}]', either: '{"k":"y"}' }
    const exit = decode(value)
    assert.isTrue(Exit.isSuccess(exit))
    if (Exit.isSuccess(exit)) {
      assert.deepInclude(exit.value as object, {
        order: '["1"]',
        lines: [{ n: "x", a: 1 }]
      })
    }
    for (const lines of ["[{", '{"n":"x"}', "[[", "x"]) {
      assert.isTrue(Exit.isFailure(decode({ order: "1", lines })), lines)
    }
  })
})

describe("an answer", () => {
  it("reads without the nulls that count as absent", () => {
    const fit = (text: string) => Result.getOrThrow(fitAnswer(json_schema as never, text))
    assert.strictEqual(fit('{"order": "1", "tag": null, "limit": null}'), '{"order":"1"}')
    assert.strictEqual(fit('{"order": "1"}'), '{"order": "1"}')
  })
})
