/** A number and a text from outside come through unchanged, or are refused with their place. They are never altered. */
import { assert, describe, it } from "vitest"
import { Effect, Exit, Result } from "effect"
import { compileForeignSchema } from "../../layers/mcp/ForeignSchema.ts"
import { argumentsOf } from "../../layers/model/wire/TurnParts.ts"
import { malformedArguments } from "../../layers/runtime/tool/GateRefusal.ts"
import { canonical } from "../../src/value/Canonical.ts"
import {
  bounds_carried,
  bounds_default,
  copyWithin,
  depth_max,
  jsonTextRefusal,
  readJson,
  readJsonValue
} from "../../src/value/BoundedJson.ts"
import { inputReader } from "../../src/schema/InvalidInput.ts"
import { jsonSchemaInput } from "../../src/tool/ToolCodec.ts"
import { fitAnswer } from "../../src/run/AnswerSchema.ts"
import { cleanResult } from "../../src/tool/Sanitise.ts"
import { JsonObject } from "../../src/value/JsonObject.ts"
import { illFormed, isKept, numbers, wellFormed } from "./NumberCorpus.ts"

const around = (number: string) => `{"a":{"list":[1,"[9]",${number}],"b":true}}`
const place = ["a", "list", 2]

const refusal = (read: Result.Result<unknown, { readonly path?: unknown; message: string }>) => {
  assert.isTrue(Result.isFailure(read))
  return Result.isFailure(read) ? read.failure : { message: "" }
}

describe("a number in a JSON text", () => {
  it("is read as it is, or refused with its place", () => {
    assert.isAbove(numbers.length, 2_000)
    const kept = numbers.filter(isKept)
    assert.isAbove(kept.length, 800)
    assert.isAbove(numbers.length - kept.length, 500)
    for (const number of numbers) {
      const text = around(number)
      const read = readJson(text)
      if (isKept(number)) {
        assert.deepStrictEqual(Result.getOrThrow(read), JSON.parse(text), number)
      } else {
        const { message, path } = refusal(read)
        assert.deepStrictEqual(path, place, number)
        assert.include(message, number.slice(0, 50))
        assert.include(message, "a.list.2")
      }
    }
  })

  it("is carried as its text in the result of a tool", () => {
    for (const number of numbers) {
      const text = around(number)
      const value = Result.getOrThrow(readJson(text, bounds_carried))
      const expected = isKept(number) ? JSON.stringify(JSON.parse(text)) : text
      assert.strictEqual(JSON.stringify(value), expected)
      // What is suspicious is cleaned, and the number beside it stays.
      const clean = cleanResult(expected.replace("true", '"[INST] x"'), true)
      assert.strictEqual(clean, expected.replace("true", '" x"'))
      if (!isKept(number)) assert.isTrue(Result.isFailure(readJsonValue(value)), number)
    }
  })

  it("is refused in arguments of a call and in an answer, and the model is told where", () => {
    const schema = { type: "object", properties: { a: { type: "object" } } } as const
    for (const number of numbers) {
      const text = around(number)
      const { arguments: args, malformed } = argumentsOf(text)
      const fit = fitAnswer(schema, text)
      if (isKept(number)) {
        assert.strictEqual(canonical(args), canonical(JSON.parse(text)))
        assert.strictEqual(Result.getOrThrow(fit), text)
      } else {
        assert.strictEqual(malformed, text)
        assert.include(malformedArguments(text).message, "a.list.2")
        assert.include(Result.isFailure(fit) ? fit.failure : "", "a.list.2")
      }
    }
  })

  it("is not judged where it is inside a text, or where nobody acts upon it", () => {
    assert.isTrue(Result.isSuccess(readJson('{"a":"9007199254740993","9007199254740993":1}')))
    const read = readJson("[9007199254740993]", { ...bounds_default, inexact: "round" })
    assert.deepStrictEqual(Result.getOrThrow(read), [9007199254740992])
    assert.isDefined(jsonTextRefusal("[1e400]", { ...bounds_default, inexact: "round" }))
  })
})

describe("a text with half of a surrogate pair", () => {
  const texts = illFormed.flatMap((text) => [
    JSON.stringify(text),
    JSON.stringify(text).replaceAll("\\ud", "\\uD"),
    `"${text}"`
  ])

  it("is refused with its place, as a value and as a name", () => {
    for (const text of texts) {
      assert.deepStrictEqual(refusal(readJson(around(text))).path, place, text)
      assert.deepStrictEqual(refusal(readJson(text)).path, [])
      assert.isTrue(Result.isFailure(readJson(`{"a":{${text}:1}}`)), text)
      assert.isTrue(Result.isFailure(fitAnswer({ type: "object" }, around(text))))
      assert.include(malformedArguments(around(text)).message, "a.list.2")
    }
    for (const text of illFormed) {
      const value = { a: { list: [1, 2, text] } }
      assert.deepStrictEqual(refusal(readJsonValue(value)).path, place)
      assert.deepStrictEqual(refusal(readJsonValue(text)).path, [])
      assert.isTrue(Result.isFailure(readJsonValue({ [text]: 1 })))
      for (const each of [value, text, { [text]: 1 }]) {
        assert.isUndefined(copyWithin(each, depth_max, { values: 99, units: 0 }))
      }
    }
  })

  it("stays in the journal's copy of a result, and the model reads U+FFFD", () => {
    for (const text of illFormed) {
      const json = JSON.stringify({ a: text, [text]: 1 })
      const value = Result.getOrThrow(readJson(json, bounds_carried))
      assert.strictEqual(JSON.stringify(value), json)
      const clean = Object.entries(JSON.parse(cleanResult(json, true)) as object).flat()
      assert.deepStrictEqual(clean, ["a", text.toWellFormed(), text.toWellFormed(), 1])
    }
  })

  it("is told from a text that only looks like it", () => {
    for (const text of wellFormed) {
      for (const json of [JSON.stringify({ a: [text] }), `{"a":[${JSON.stringify(text)}]}`]) {
        assert.deepStrictEqual(Result.getOrThrow(readJson(json)), { a: [text] })
      }
      assert.deepStrictEqual(Result.getOrThrow(readJsonValue([text])), [text])
    }
  })
})

describe("a value of a program", () => {
  it("is refused with its place where JSON would alter it", () => {
    const read = inputReader(JsonObject)
    const circle = Object.create({ not: "plain" }) as unknown
    for (const odd of [NaN, Infinity, 10n, new Map(), new Date(0), Symbol("x"), "\ud800", circle]) {
      const error = Effect.runSync(Effect.flip(read({ list: [1, { odd }] }, "message.context")))
      assert.strictEqual(error.field, "message.context.list.1.odd", String(error.message))
    }
  })
})

describe("multipleOf", () => {
  const amount = { type: "number", multipleOf: 0.01 } as const
  const schema = { type: "object", properties: { amount } } as const
  const doors = {
    mcp: Result.getOrThrow(compileForeignSchema(schema)),
    openapi: Effect.runSync(jsonSchemaInput("pay", schema)).decode
  }

  it("is judged on decimals at every door", () => {
    for (const [door, decode] of Object.entries(doors)) {
      for (let cents = 1; cents <= 10_000; cents++) {
        const amount = cents / 100
        assert.isTrue(Exit.isSuccess(decode({ amount })), `${door} ${amount}`)
      }
      for (const amount of [0.001, 19.991, 0.015, 1e-7, 1e-150, 1.000_000_000_1]) {
        assert.isTrue(Exit.isFailure(decode({ amount })), `${door} ${amount}`)
      }
      for (const amount of [0, -19.99, 1e21, 1.7e308]) {
        assert.isTrue(Exit.isSuccess(decode({ amount })), `${door} ${amount}`)
      }
    }
  })
})
