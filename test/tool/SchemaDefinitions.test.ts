/** Definitions of JSON Schemas from outside: checked by them in bounded time, or refused. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import { jsonSchemaInput } from "../../src/tool/ToolCodec.ts"
import { refusalText } from "../../src/schema/SchemaIssues.ts"
import { valueDepthMax } from "../../src/schema/SchemaDefinitions.ts"

const ref = (name: string): Json => ({ $ref: `#/$defs/${name}` })
const inputOf = ($defs: Readonly<Record<string, Json>>, first: string) =>
  jsonSchemaInput("t", { type: "object", properties: { root: ref(first) }, $defs })

const said = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) ? "fits" : refusalText(Cause.squash(exit.cause))

const chain = (levels: number, end: Json): Json => {
  let value = end
  for (let level = 0; level < levels; level++) value = { a: value }
  return value
}

const link = { type: "object", properties: { a: ref("A") }, required: ["a"] }

describe("arguments by a schema with definitions", () => {
  it.effect(
    "fit one that refers to itself at every level, or the error says where they do not",
    () =>
      Effect.gen(function* () {
        const A = { type: "object", properties: { a: ref("A"), n: { type: "integer" } } }
        const { decode } = yield* inputOf({ A: { ...A, additionalProperties: false } }, "A")
        assert.strictEqual(said(decode({ root: chain(60, { n: 1 }) })), "fits")
        assert.include(said(decode({ root: chain(3, { n: "x" }) })), '["root"]["a"]["a"]["a"]["n"]')
        assert.include(said(decode({ root: chain(3, { m: 1 }) })), "excess")
      })
  )

  const endless: ReadonlyArray<readonly [string, Readonly<Record<string, Json>>]> = [
    ["at once", { A: ref("A") }],
    ["over another", { A: ref("B"), B: ref("A") }],
    ["in a union", { A: { anyOf: [ref("A"), { type: "string" }] } }],
    ["in an intersection", { A: { type: "object", allOf: [{ oneOf: [ref("B")] }] }, B: ref("A") }]
  ]
  for (const [how, $defs] of endless) {
    it.effect(`are of no tool where a definition is itself ${how}`, () =>
      Effect.gen(function* () {
        const refused = yield* Effect.flip(inputOf($defs, "A"))
        assert.strictEqual(refused.field, "input_schema")
        assert.include(refused.message, "refers to itself")
      })
    )
  }

  it.effect("are of no tool where one value has to fit 2^26 definitions", () =>
    Effect.gen(function* () {
      const both = (at: number): Json => ({ allOf: [ref(`S${at + 1}`), ref(`S${at + 1}`)] })
      const $defs = Object.fromEntries(
        Array.from({ length: 27 }, (_, at) => [`S${at}`, at === 26 ? { type: "object" } : both(at)])
      )
      assert.include((yield* Effect.flip(inputOf($defs, "S0"))).message, "too many others")
      const long = Object.fromEntries(
        Array.from({ length: 500 }, (_, at) => [`S${at}`, at === 499 ? {} : ref(`S${at + 1}`)])
      )
      assert.include((yield* Effect.flip(inputOf(long, "S0"))).message, "too many others")
    })
  )

  it.effect("are of no tool where references with escaped names do so", () =>
    Effect.gen(function* () {
      const both = (name: string): Json => ({ anyOf: [ref(name), ref(name)] })
      const $defs = Object.fromEntries(
        Array.from({ length: 27 }, (_, at) => [
          `S${at}`,
          at === 26 ? { type: "string" } : both(`%53${at + 1}`)
        ])
      )
      assert.include((yield* Effect.flip(inputOf($defs, "S0"))).message, "too many others")
      const own = { "a b": { anyOf: [ref("a%20b"), { type: "string" }] } }
      assert.include((yield* Effect.flip(inputOf(own, "a%20b"))).message, "refers to itself")
      const twice = { A: { type: "object", properties: { a: ref("B") } }, B: both("%41") }
      assert.strictEqual(valueDepthMax(twice), 14)
    })
  )

  it.effect("are refused where each of their levels would double the checks", () =>
    Effect.gen(function* () {
      const $defs = { A: { anyOf: [link, { ...link, title: "again" }, { type: "string" }] } }
      assert.strictEqual(valueDepthMax($defs), 14)
      const { decode } = yield* inputOf($defs, "A")
      assert.strictEqual(said(decode({ root: chain(12, "end") })), "fits")
      assert.include(said(decode({ root: chain(17, 1) })), "deeper than 14")
    })
  )

  it("may have any depth where members alone refer back", () => {
    const tree = { type: "object", properties: { left: ref("A"), right: ref("A") } }
    assert.strictEqual(valueDepthMax({ A: tree }), Infinity)
    const list = { type: "object", properties: { all: { type: "array", items: ref("A") } } }
    assert.strictEqual(valueDepthMax({ A: { anyOf: [list, { type: "string" }] } }), Infinity)
    // Two branches, two levels of a value for each of the definition's.
    assert.strictEqual(valueDepthMax({ A: { anyOf: [list, list] } }), 28)
    // A member that both a name and the others' schema speak of.
    const open = { type: "object", properties: { a: ref("A") }, additionalProperties: ref("A") }
    assert.strictEqual(valueDepthMax({ A: open }), 14)
  })
})
