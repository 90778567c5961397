import { parse } from "node:querystring"
import { assert, describe, it } from "vitest"
import { Result, Schema } from "effect"
import { canonical, copyJson } from "../../src/value/Canonical.ts"
import {
  bounds_default,
  copyWithin,
  depth_max,
  isWithinBounds,
  readJson,
  readJsonValue
} from "../../src/value/BoundedJson.ts"
import { jsonUnits } from "../../src/conversation/PromptSize.ts"
import { argumentsOf } from "../../layers/model/wire/TurnParts.ts"
import { anyValue, random } from "../entry/HostileValues.ts"

const lists = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)
const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`
const rounding = { ...bounds_default, inexact: "round" } as const
/** Of what `JSON.stringify` escapes, only half of a surrogate pair begins so. */
const isIllFormed = (value: unknown): boolean =>
  /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(value) ?? "")
const why = (read: Result.Result<unknown, { readonly reason: string }>): string =>
  Result.isFailure(read) ? read.failure.reason : "read"

describe("readJson", () => {
  it("reads what JSON.parse reads, and refuses what it refuses", () => {
    const next = random(11)
    for (let i = 0; i < 3_000; i++) {
      const value = anyValue(next, 4)
      const text = JSON.stringify(value) ?? "null"
      assert.deepStrictEqual(Result.getOrThrow(readJson(text, rounding)), JSON.parse(text))
      // A text with one character less, or another one, is JSON for both or for neither.
      const at = Math.floor(next() * text.length)
      for (const odd of [
        text.slice(0, at),
        text.slice(0, at) + '"\\x{[,'[i % 7]! + text.slice(at + 1)
      ]) {
        const parsed = Result.try(() => JSON.parse(odd) as unknown)
        const read = readJson(odd, rounding)
        if (Result.isFailure(parsed)) assert.strictEqual(why(read), "not_json", odd)
        else if (Result.isSuccess(read)) assert.deepStrictEqual(read.success, parsed.success)
      }
    }
    for (const text of [
      '"\\"[{"',
      ' {"a\\"" : [1, -2.5e3, true ] } ',
      '"\\\\"',
      "1e308",
      '{"a":{},"b":{}}'
    ]) {
      assert.deepStrictEqual(Result.getOrThrow(readJson(text)), JSON.parse(text))
    }
  })

  it("refuses what nests too deep, at any depth, and accepts what just fits", () => {
    for (const nested of [lists, objects]) {
      assert.strictEqual(why(readJson(nested(depth_max))), "read")
      for (const depth of [depth_max + 1, 2_500, 990_000]) {
        assert.strictEqual(why(readJson(nested(depth))), "too_large")
      }
    }
    for (const depth of [depth_max + 1, 990_000]) {
      assert.strictEqual(why(readJson("[".repeat(depth))), "too_large")
    }
  })

  it("refuses too many values and too many characters", () => {
    const { values_max } = bounds_default
    const members = (n: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 0])))
    assert.strictEqual(why(readJson(members(values_max - 2))), "read")
    assert.strictEqual(why(readJson(members(150_000))), "too_large")
    assert.strictEqual(why(readJson(`[${"0,".repeat(values_max)}0]`)), "too_large")
    assert.strictEqual(why(readJson('"xxxx"', { ...bounds_default, units_max: 5 })), "too_large")
  })

  it("refuses a value whose texts have too many characters, also where it is one text", () => {
    const bounds = { ...bounds_default, units_max: 4 }
    for (const value of ["xxxxx", ["xxxxx"], ["xxx", "xx"], { abcde: 1 }]) {
      assert.strictEqual(why(readJsonValue(value, bounds)), "too_large", JSON.stringify(value))
    }
    for (const value of ["xxxx", ["xx", "xx"], { a: "xxx" }]) {
      assert.deepStrictEqual(Result.getOrThrow(readJsonValue(value, bounds)), value)
    }
  })

  it("refuses numbers that would become Infinity, and repeated members", () => {
    for (const text of ["1e400", "-1e400", '{"a":[1E999]}', `1${"0".repeat(400)}`]) {
      assert.strictEqual(why(readJson(text)), "not_json", text)
    }
    for (const text of ['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '[{"b":{"x":1,"y":[],"x":2}}]']) {
      assert.strictEqual(why(readJson(text)), "not_json", text)
    }
    assert.strictEqual(why(readJson('[{"a":1},{"a":{"a":"a:a"}},"a","a"]')), "read")
  })

  it("returns a member __proto__ as an ordinary member", () => {
    const read = Result.getOrThrow(readJson('{"__proto__":{"admin":true}}')) as object
    assert.deepStrictEqual(Object.keys(read), ["__proto__"])
    assert.isUndefined((read as { admin?: true }).admin)
    const value = Result.getOrThrow(readJsonValue(read)) as object
    assert.deepStrictEqual(Object.keys(value), ["__proto__"])
    assert.strictEqual(Object.getPrototypeOf(value), Object.prototype)
  })
})

describe("values of a program", () => {
  it("are copied, and refused where JSON cannot represent them", () => {
    const given = { a: [1, { b: "x" }], u: undefined }
    const read = Result.getOrThrow(readJsonValue(given))
    given.a.push(2)
    assert.deepStrictEqual(read, { a: [1, { b: "x" }] })
    const circle: Record<string, unknown> = {}
    circle["self"] = circle
    for (const value of [
      NaN,
      1n,
      () => 1,
      new Date(0),
      new Map(),
      new URLSearchParams("limit=5"),
      [undefined],
      circle,
      Symbol("s")
    ]) {
      assert.notStrictEqual(why(readJsonValue(value)), "read")
    }
  })

  it("are plain as parsers of queries make them, without the members of Object", () => {
    const members = { limit: "5" }
    for (const query of [
      Object.assign(Object.create(null), members),
      // As fast-querystring and find-my-way do, for Fastify's query and parameters.
      Object.assign(Object.create(Object.create(null)), members),
      parse("limit=5")
    ]) {
      assert.deepStrictEqual(Result.getOrThrow(readJsonValue(query)), members)
    }
    const inherits = Object.create(Object.assign(Object.create(null), { tenant: "other" }))
    assert.notStrictEqual(why(readJsonValue(inherits)), "read")
  })

  it("that are within the bounds can be walked recursively", () => {
    const deepest = JSON.parse(objects(depth_max)) as never
    assert.isTrue(isWithinBounds(deepest))
    assert.strictEqual(canonical(copyJson(deepest)), objects(depth_max))
    assert.isFalse(isWithinBounds(JSON.parse(objects(depth_max + 1))))
    assert.isTrue(isWithinBounds({ n: Infinity }))
  })

  it("count every list, object, member and item as a value, and may be exactly as many", () => {
    const value = { list: [1, "a", null], object: { a: true, b: [[]] } }
    const bounds = { ...bounds_default, values_max: 9 }
    assert.isTrue(isWithinBounds(value, bounds))
    assert.isFalse(isWithinBounds(value, { ...bounds, values_max: 8 }))
    assert.isFalse(isWithinBounds([value, 1], bounds))
    const looped: Array<unknown> = []
    looped.push(looped)
    assert.isFalse(isWithinBounds(looped, bounds))
  })

  it("arguments of a call beyond the bounds are a malformed call, with its text", () => {
    for (const text of [
      lists(2_500),
      '{"n":1e400}',
      '{"n":1,"n":2}',
      `[${"0,".repeat(30_000)}0]`,
      "{"
    ]) {
      assert.deepStrictEqual(argumentsOf(text), { arguments: null, malformed: text })
    }
    assert.deepStrictEqual(argumentsOf('{"n":1}'), { arguments: { n: 1 } })
  })
})

const isJson = Schema.is(Schema.Json)

describe("copyWithin", () => {
  const taken = () => ({ values: bounds_default.values_max, units: 0 })
  const copy = (value: unknown, depth = depth_max) => copyWithin(value, depth, taken())

  it("gives a value of its own, member by member, or nothing", () => {
    const next = random(29)
    for (let n = 0; n < 300; n++) {
      const value: unknown = anyValue(next, 4)
      const own = copy(value)
      const isWhole = isWithinBounds(value, bounds_default) && isJson(value) && !isIllFormed(value)
      assert.strictEqual(own !== undefined, isWhole)
      if (own !== undefined) assert.strictEqual(canonical(own), canonical(value))
    }
    const value = JSON.parse('{"a":[{"b":"c"}],"__proto__":{"d":[1]},"n":null}')
    const own = copy(value) as typeof value
    assert.strictEqual(canonical(own), canonical(value))
    value.a[0].b = "changed"
    assert.strictEqual(own.a[0].b, "c")
    assert.notStrictEqual(Object.getOwnPropertyDescriptor(own, "__proto__")!.value, undefined)
    assert.strictEqual(Object.getPrototypeOf(own), Object.prototype)
  })

  it("gives nothing of what JSON cannot say", () => {
    assert.isUndefined(copy([[1], [Number.NaN], [2]]))
    for (const unsayable of [Infinity, undefined, 10n, Symbol("x"), () => 1]) {
      assert.isUndefined(copy([1, unsayable]))
      assert.isUndefined(copy({ n: unsayable }))
      assert.isUndefined(copy(unsayable))
    }
    assert.deepStrictEqual(copy(["x", true, null, 1]), ["x", true, null, 1])
  })

  it("reads each member once, so that what was looked at is what is kept", () => {
    let reads = 0
    const shifting = {
      get amount() {
        return ++reads === 1 ? 10 : { toString: "another" }
      }
    }
    assert.deepStrictEqual(copy(shifting), { amount: 10 })
    assert.strictEqual(reads, 1)
  })

  it("counts values and units, over several values", () => {
    const count = taken()
    const values = [{ name: "é".repeat(10), list: [1, true, null, "x"] }, "text", []]
    for (const value of values) copyWithin(value, depth_max, count)
    const units = values.reduce<number>((sum, value) => sum + jsonUnits(value as never), 0)
    assert.strictEqual(count.units, units)
    assert.strictEqual(bounds_default.values_max - count.values, 9)
    assert.isUndefined(copyWithin([1, 2, 3], depth_max, { values: 3, units: 0 }))
    assert.isDefined(copyWithin([1, 2, 3], depth_max, { values: 4, units: 0 }))
    assert.isUndefined(copy([[1]], 1))
    assert.isDefined(copy([[1]], 2))
    const looped: Array<unknown> = []
    looped.push(looped)
    assert.isUndefined(copy(looped))
  })
})
