/** Schemas whose checks are made at their first use: none of them could have been refused before. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Result, Schema } from "effect"
import { isPlainSchema } from "../../src/schema/SchemaShape.ts"
import { jsonSchemaCheck, jsonSchemaInput } from "../../src/tool/ToolCodec.ts"

/** Values of keywords, some of which no check can be made of. */
const soup: ReadonlyArray<readonly [keyword: string, values: ReadonlyArray<unknown>]> = [
  [
    "type",
    [
      "object",
      "string",
      "integer",
      "number",
      "boolean",
      "null",
      "array",
      ["string", "null"],
      "text",
      1
    ]
  ],
  ["required", [["a"], ["a", "b", "__proto__"], [], true]],
  ["additionalProperties", [true, false, { type: "string" }]],
  ["enum", [["a", 1], [null], [true, "x"], [{}], [], "a"]],
  ["const", ["a", 0, null, { a: 1 }]],
  ["minLength", [0, 1, 3, -1]],
  ["maxLength", [0, 2, 1.5]],
  ["minimum", [-1, 0.5, "1"]],
  ["exclusiveMaximum", [0, 3, true]],
  ["minItems", [0, 2]],
  ["maxItems", [0, 1, 3]],
  ["minProperties", [0, 1, 2]],
  ["description", ["A text.", 5]],
  ["default", [{ a: 1 }, null]],
  ["format", ["date-time"]],
  ["pattern", ["^a", "(", "(a+)+$", "(?<!a)b"]],
  ["uniqueItems", [true]],
  ["multipleOf", [2, 0]],
  ["not", [{}, { type: "string" }]],
  ["$ref", ["#/$defs/A", "https://a.example/b"]],
  ["anyOf", [[{ type: "string" }], []]],
  ["x-other", [1]]
]
const names = ["a", "b", "__proto__", "constructor", "toString"]

/** A schema that a list of numbers describes: few keywords that are not plain, so that many schemas are. */
const schemaOf = (numbers: ReadonlyArray<number>): unknown => {
  let at = 0
  const next = (below: number) => Math.abs(numbers[at++] ?? 0) % below
  const make = (depth: number): unknown => {
    const schema: Record<string, unknown> = {
      type: ["object", "array", "string", "integer"][next(4)]
    }
    for (let left = next(4); left > 0; left--) {
      const [keyword, values] = soup[next(next(5) === 0 ? soup.length : 15)]!
      schema[keyword] = values[next(values.length)]
    }
    if (depth === 0 || next(3) === 0) return schema
    if (next(2) === 0) return { ...schema, items: make(depth - 1) }
    const properties = Array.from({ length: next(3) }, () => [names[next(5)], make(depth - 1)])
    return { ...schema, properties: Object.fromEntries(properties) as unknown }
  }
  return make(3)
}

const values = [{}, { a: "a" }, { a: 1, b: [] }, { a: { a: "a" } }, { x: 1 }, [], "a", 1, null]

const Numbers = Schema.Array(Schema.Int).check(Schema.isMinLength(8), Schema.isMaxLength(40))

describe("a check that is made at its first use", () => {
  let plain = 0
  let other = 0

  it.effect.prop(
    "decides as one that is made at once, and is never of a schema that would be refused",
    { numbers: Numbers },
    ({ numbers }) =>
      Effect.gen(function* () {
        const schema = schemaOf(numbers) as Readonly<Record<string, unknown>>
        const check = jsonSchemaCheck(schema)
        if (isPlainSchema(schema)) {
          assert.isTrue(Result.isSuccess(check), JSON.stringify(schema))
          plain++
        } else other++
        const input = yield* Effect.result(jsonSchemaInput("tool", { ...schema, type: "object" }))
        const deferred = yield* Effect.result(
          jsonSchemaInput("tool", { ...schema, type: "object" }, true)
        )
        assert.strictEqual(deferred._tag, input._tag, JSON.stringify(schema))
        if (Result.isFailure(input) || Result.isFailure(deferred)) return
        for (const value of values) {
          const [one, two] = [input, deferred].map(({ success }) => success.decode(value))
          assert.strictEqual(Exit.isSuccess(one!), Exit.isSuccess(two!), JSON.stringify(schema))
        }
      }),
    { arbitrary: { runs: 400 } }
  )

  it("was tried with both kinds of schemas", () => {
    assert.isAbove(plain, 50)
    assert.isAbove(other, 50)
  })
})
