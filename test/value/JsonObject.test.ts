/** Whether a value is JSON, which a short walk mostly tells: it has to be what Effect's own schema says. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { bounds_default } from "../../src/value/BoundedJson.ts"
import {
  CheckedJson,
  CheckedJsonObject,
  CheckedJsonRecord,
  JsonObject
} from "../../src/value/JsonObject.ts"
import { hostile } from "../entry/HostileValues.ts"

const shared = { a: [1, { b: null }] }
const deep = (depth: number) => {
  let value: unknown = "x"
  for (let left = depth; left > 0; left--) value = left % 2 === 0 ? [value] : { a: value }
  return value
}
const circle: Record<string, unknown> = { a: [] }
circle["a"] = [circle]

const values: ReadonlyArray<unknown> = [
  ...hostile,
  shared,
  [shared, shared],
  circle,
  { ...circle },
  deep(bounds_default.depth_max),
  deep(bounds_default.depth_max + 1),
  deep(2_000),
  Array(bounds_default.values_max + 5).fill(0),
  Object.assign([], { 1: 1 }),
  Object.create(null),
  Object.assign(Object.create(null), shared),
  Object.create(shared),
  JSON.parse('{"__proto__":{"a":1}}'),
  { a: new Date(0) },
  { a: undefined },
  { a: -0 },
  { [Symbol("x")]: () => 1 },
  Object.defineProperty({}, "a", { value: () => 1, enumerable: false }),
  { toJSON: () => 1 }
]

/** What a check says; undefined where reading the value fails. */
const said = (is: (value: unknown) => boolean, value: unknown): boolean | undefined => {
  try {
    return is(value)
  } catch {
    return undefined
  }
}

describe("JSON whose members nobody names", () => {
  it("is what Schema.Json says it is", () => {
    const isJson = Schema.is(Schema.Json)
    const [isObject, isChecked] = [Schema.is(JsonObject), Schema.is(CheckedJsonObject)]
    let both = 0
    for (const [at, value] of values.entries()) {
      const isRecord = typeof value === "object" && value !== null && !Array.isArray(value)
      const expected = said(isJson, value)
      const asObject = expected === true ? isRecord : expected
      assert.strictEqual(said(isObject, value), asObject, `value ${at}`)
      assert.strictEqual(said(isChecked, value), isRecord ? asObject : false, `value ${at}`)
      assert.strictEqual(said(Schema.is(CheckedJson), value), expected, `value ${at}`)
      if (expected === true) both++
    }
    assert.isAbove(both, 20)
    assert.isAbove(values.length - both, 20)
  })

  it("is a record where Schema.Json says that its members are JSON", () => {
    const decoded = (schema: Schema.Codec<unknown, unknown>, value: unknown): unknown => {
      try {
        return Schema.decodeUnknownSync(schema)(value)
      } catch {
        return undefined
      }
    }
    const record = Schema.Record(Schema.String, Schema.Json)
    for (const [at, value] of values.entries()) {
      const expected = decoded(record, value)
      assert.deepStrictEqual(decoded(CheckedJsonRecord, value), expected, `value ${at}`)
    }
  })
})
