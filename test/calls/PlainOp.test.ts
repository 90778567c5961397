/** Entries of a catalogue that are taken without their schema: it would have taken each of them, as it is. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import { body_units_max, isWithinUnits } from "../../src/call/CallDescriptor.ts"
import { isPlainOp, PlatformOp } from "../../src/call/PlatformOp.ts"

const bySchema = Schema.decodeUnknownResult(PlatformOp, { onExcessProperty: "error" })

const minimal: JsonObject = {
  op: "list_tickets",
  description: "Lists tickets.",
  method: "POST",
  path: "/api/tickets/{id}/list",
  input_schema: { type: "object", properties: { id: { type: "string" } } }
}

const flags = [true, false, null, "true"]
const bound = (...names: ReadonlyArray<string>) =>
  Object.fromEntries(names.map((name) => [name, "$ctx.session.id"]))
const bindings = [
  {},
  bound("a.b", "c"),
  bound(""),
  bound("x".repeat(500)),
  bound("x".repeat(501)),
  bound(...Array.from({ length: 64 }, (_, n) => `a${n}`)),
  bound(...Array.from({ length: 65 }, (_, n) => `a${n}`)),
  { a: "session.id" },
  { a: "$ctx." },
  { a: `$ctx.${"a".repeat(500)}` },
  { a: 1 },
  JSON.parse('{"__proto__":"$ctx.session.id"}') as JsonObject,
  [],
  null
]

/** Of each field, right values and wrong ones. */
const soup: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  op: ["a", "a".repeat(64), "a".repeat(65), "", "a b", "a\n", 1],
  description: ["a", "", "a".repeat(4_000), "a".repeat(4_001), null],
  method: ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "get", 1],
  path: [
    "/",
    "/a",
    "//a",
    "/a/",
    "/a//b",
    "/a/../b",
    "/a/{b}",
    "/a/{b.c}",
    "/a/{b}{c}",
    "/a/{b",
    "/a/{1}",
    "/a?b=c",
    "/a%2e%2e",
    "/a#b",
    "/a\n",
    "/a\\b",
    `/${"a".repeat(1_999)}`,
    `/${"a".repeat(2_000)}`,
    1
  ],
  input_schema: [
    {},
    [],
    null,
    { type: "text" },
    { properties: { a: { minLength: -1 } } },
    { "x-ag-type-ref": "message" },
    { description: "\u0001".repeat(10_000) },
    { description: "\u0001".repeat(11_000) },
    { description: "a".repeat(60_000) },
    { description: "a".repeat(70_000) }
  ],
  input_schema_ref: ["message", "other"],
  bind: bindings,
  precondition: bindings,
  args_into: ["a", ""],
  query: [{ a: "b" }, {}],
  allow_nested_bind: flags,
  read_only: flags,
  idempotent: flags,
  retry: [{ max_attempts: 2 }, { extra: 1 }],
  default_permission: ["ask", "other"],
  default_needs_approval: flags,
  handler: ["a"],
  constructor: [1]
}
const names = Object.keys(soup)
const seen = { plain: 0, other: 0 }

const judge = (entry: JsonObject) => {
  if (!isPlainOp(entry)) return seen.other++
  const decoded = bySchema(entry)
  if (Result.isFailure(decoded)) return assert.fail(JSON.stringify(entry).slice(0, 300))
  assert.deepStrictEqual<unknown>({ ...decoded.success }, entry)
  return seen.plain++
}

describe("an entry that is right for certain", () => {
  it("is one that its schema takes as it is, field by field", () => {
    assert.isTrue(isPlainOp(minimal))
    for (const name of Object.keys(minimal)) {
      const { [name]: _, ...rest } = minimal
      assert.isFalse(isPlainOp(rest), name)
    }
    for (const [name, values] of Object.entries(soup)) {
      for (const value of values) judge({ ...minimal, [name]: value as never })
    }
  })

  it.prop(
    "is one that its schema takes as it is, with several fields at once",
    { picks: Schema.Array(Schema.Int).check(Schema.isMinLength(4), Schema.isMaxLength(12)) },
    ({ picks }) => {
      const entry: Record<string, unknown> = { ...minimal }
      for (let at = 0; at + 1 < picks.length; at += 2) {
        const name = names[Math.abs(picks[at]!) % names.length]!
        entry[name] = soup[name]![Math.abs(picks[at + 1]!) % Math.min(2, soup[name]!.length)]
      }
      judge(entry as JsonObject)
    },
    { arbitrary: { runs: 300 } }
  )

  it("was tried with entries of both kinds", () => {
    assert.isAbove(seen.plain, 60)
    assert.isAbove(seen.other, 60)
  })

  it("has a schema whose JSON is short enough, however it is written", () => {
    for (const text of ["a", "\u0001", '"', "é", "\ud800"]) {
      for (const length of [5_000, 10_900, 10_925, 11_000, 32_700, 32_800, 65_520, 65_530]) {
        for (const body of [
          { a: text.repeat(length) },
          { a: Array(length).fill(1) },
          { [text.repeat(length)]: [true, null, -1.5e-300] }
        ] as ReadonlyArray<JsonObject>) {
          assert.strictEqual(isWithinUnits(body), JSON.stringify(body).length <= body_units_max)
        }
      }
    }
  })
})
