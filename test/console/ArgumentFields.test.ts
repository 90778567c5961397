/** Arguments as fields: whatever the schema says of whatever was proposed, an untouched form means exactly that. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import type { ArgumentField } from "../../layers/console/ArgumentFields.ts"
import {
  argumentParts,
  argumentsIn,
  fieldsIn,
  stateName
} from "../../layers/console/ArgumentFields.ts"
import { canonical } from "../../src/value/Canonical.ts"

/** What a browser sends of a field that nobody touched: it writes every line end as two characters. */
const sentBy = (fields: ReadonlyArray<ArgumentField>): Record<string, string> =>
  Object.fromEntries(
    fields.flatMap((field) => [
      [field.name, field.text.replaceAll(/\r\n|\r|\n/g, "\r\n")],
      [stateName(field), field.state]
    ])
  )

const fieldsOf = (schema: unknown, args: unknown) => {
  const parts = argumentParts(schema, args) ?? assert.fail("there is no form")
  return { parts, fields: fieldsIn(parts) }
}

const object = (
  properties: Readonly<Record<string, unknown>>,
  required: ReadonlyArray<string> = []
) => ({
  type: "object",
  properties,
  required
})

const any = [
  {},
  { type: "string" },
  { type: ["string", "null"] },
  { type: "number" },
  { anyOf: [{ type: "integer" }, { type: "null" }] },
  { type: "boolean" },
  { enum: ["", "a", 1, "1", null, true] },
  { const: "null" },
  { type: "array", items: { type: "string" } },
  { type: "array", items: { type: "number" } },
  { type: "array", items: {} },
  { $ref: "#/$defs/Text" },
  { $ref: "#/$defs/Loop" },
  { allOf: [{ type: "string" }, { minLength: 2 }] },
  object({ a: { type: "string" }, b: object({ c: object({ d: {} }) }) })
]

const odd = [
  "",
  "1",
  "null",
  "a\r\nb",
  "a\rb",
  "a\n",
  "\n",
  "\u202e",
  "\u0000",
  "\ud800",
  "‹U+202E›"
]
const Odd = Schema.Union([
  Schema.Literals([...odd, 1, -0, 1e21, 5e-324, 9007199254740992, 0.1, true, false]),
  Schema.Null,
  Schema.String,
  Schema.Finite
])
const Value = Schema.Union([
  Odd,
  Schema.Array(Odd),
  Schema.Array(Schema.String),
  Schema.Record(Schema.Literals(["a", "b", "__proto__"]), Odd),
  Schema.Json
])

describe("a form of arguments", () => {
  it.effect.prop(
    "that was not touched gives the arguments that were proposed",
    {
      args: Schema.Record(
        Schema.Union([Schema.Literals(["a", "b", "c", "d/e", "~", "__proto__"]), Schema.String]),
        Value
      ),
      kinds: Schema.Array(
        Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: any.length - 1 }))
      ),
      required: Schema.Array(Schema.Literals(["a", "b", "c"]))
    },
    ({ args, kinds, required }) =>
      Effect.sync(() => {
        const names = ["a", "b", "c", "d/e", "f"]
        const known = names.map((name, at) => [name, any[kinds[at] ?? 0]] as const)
        const $defs = { Text: { type: "string" }, Loop: { $ref: "#/$defs/Loop" } }
        const schema = { ...object(Object.fromEntries(known), required), $defs }
        const parts = argumentParts(schema, args)
        if (parts === undefined) return
        const fields = fieldsIn(parts)
        const read = Result.getOrThrow(argumentsIn(parts, sentBy(fields)))
        assert.strictEqual(canonical(read), canonical(args))
      }),
    { arbitrary: { runs: 500 } }
  )

  it.effect.prop(
    "takes what is typed, for each kind as that kind",
    { said: Schema.String, amount: Schema.Finite },
    ({ amount, said }) =>
      Effect.sync(() => {
        const schema = object({ said: { type: "string" }, amount: { type: "number" } }, ["amount"])
        const { fields, parts } = fieldsOf(schema, { amount: 7 })
        const typed = said.replaceAll(/\r\n?/g, "\n")
        const read = argumentsIn(parts, {
          ...sentBy(fields),
          "argument/said": said,
          "argument/amount": JSON.stringify(amount)
        })
        const expected = typed === "" ? { amount } : { said: typed, amount }
        assert.strictEqual(canonical(Result.getOrThrow(read)), canonical(expected))
      })
  )

  it("tells a text that is empty, one that is left out, and null apart", () => {
    const schema = object({ note: { type: ["string", "null"] } })
    const meant = (args: object, text: string, state: string) => {
      const { fields, parts } = fieldsOf(schema, args)
      const sent = { ...sentBy(fields), "argument/note": text, "state-of-argument/note": state }
      return Result.getOrThrow(argumentsIn(parts, sent))
    }
    assert.deepStrictEqual(meant({}, "", "absent"), {})
    assert.deepStrictEqual(meant({}, "", "value"), { note: "" })
    assert.deepStrictEqual(meant({}, "", "null"), { note: null })
    assert.deepStrictEqual(meant({ note: "" }, "", "value"), { note: "" })
    assert.deepStrictEqual(meant({ note: null }, "", "null"), { note: null })
    assert.deepStrictEqual(meant({ note: "x" }, "x", "absent"), {})
    // Whoever writes and forgets the other field means what was written; nobody else says what it stands for.
    assert.deepStrictEqual(meant({}, "x", "absent"), { note: "x" })
    assert.deepStrictEqual(meant({ note: "x" }, "x", "odd"), { note: "x" })
  })

  it("keeps a number a number and a text a text", () => {
    const schema = object({ a: { type: "string" }, b: { type: "number" }, c: { enum: ["1", 1] } })
    const { fields, parts } = fieldsOf(schema, { a: "1", b: 1, c: 1 })
    const sent = { ...sentBy(fields), "argument/a": "2", "argument/b": "2", "argument/c": '"1"' }
    assert.deepStrictEqual(Result.getOrThrow(argumentsIn(parts, sent)), { a: "2", b: 2, c: "1" })
    for (const typed of ["", "x", "05", "1,5", "0x10", "NaN", "9007199254740993", "1e999", '"2"']) {
      const read = argumentsIn(parts, { ...sentBy(fields), "argument/b": typed })
      assert.isTrue(Result.isFailure(read), typed)
    }
  })

  it("edits as JSON what no field can hold, and all of it where the schema has no members", () => {
    const texts = object({ a: { type: "string" } })
    for (const a of ["a\rb", "\u202eb", 1, ["x"], { b: 1 }]) {
      assert.strictEqual(fieldsOf(texts, { a }).fields[0]?.kind, "json", JSON.stringify(a))
    }
    const lines = object({ a: { type: "array", items: { type: "string" } } })
    assert.strictEqual(fieldsOf(lines, { a: ["x", "y"] }).fields[0]?.kind, "lines")
    for (const a of [[""], ["x\ny"], ["x", 1]]) {
      assert.strictEqual(fieldsOf(lines, { a }).fields[0]?.kind, "json")
    }
    assert.strictEqual(fieldsOf(texts, { a: "x", more: 1 }).fields[1]?.kind, "json")
    for (const schema of [undefined, {}, { type: "object" }, { anyOf: [texts, lines] }]) {
      assert.isUndefined(argumentParts(schema, { a: 1 }))
    }
    assert.isUndefined(argumentParts(texts, null))
    assert.isUndefined(argumentParts(texts, { "a\nb": 1 }))
    const many = Object.fromEntries(Array.from({ length: 61 }, (_, at) => [`m${at}`, {}]))
    assert.isUndefined(argumentParts(object(many), {}))
  })

  it("has fields for objects two levels deep", () => {
    const deep = object({ d: { type: "number" } })
    const schema = object({ a: object({ b: object({ c: deep }) }) })
    const { fields } = fieldsOf(schema, { a: { b: { c: { d: 1 } } } })
    assert.deepStrictEqual(
      fields.map(({ kind, name }) => [name, kind]),
      [["argument/a/b/c", "json"]]
    )
  })
})
