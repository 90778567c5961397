import { assert, describe, it } from "vitest"
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Exit, Result } from "effect"
import { compileForeignSchema } from "../../layers/mcp/ForeignSchema.ts"
import { linearPattern } from "../../src/schema/LinearPattern.ts"
import { classifyName } from "../../src/error/Classify.ts"

/** A generous hard stop: what looks through its text once is done within a few seconds. */
const stop_ms = 120_000

/** UTF-16 units of a text. */
const units = 100_000

describe(`hostile texts of ${units} characters`, () => {
  it(
    "are searched in bounded time by every reader of texts from outside",
    { timeout: stop_ms + 10_000 },
    () => {
      const script = fileURLToPath(new URL("hostileTexts.ts", import.meta.url))
      const done = execFileSync(process.execPath, [script, String(units)], {
        timeout: stop_ms,
        encoding: "utf8"
      })
      assert.isAbove(done.split("\n").length, 20)
      assert.include(done, "cursor\n")
    }
  )

  it("are not classified as error names", () => {
    assert.deepStrictEqual(classifyName("timeout"), {
      class: "ToolTransientError",
      kind: "timeout"
    })
    assert.strictEqual(classifyName(`timeout${" ".repeat(1_000)}`).kind, "unknown")
  })
})

describe("a pattern of a schema from outside", () => {
  it("matches what it matches in ECMAScript", () => {
    const is = (pattern: string, text: string) => {
      const made = Result.getOrThrow(linearPattern(pattern))
      assert.strictEqual(made.test(text), new RegExp(pattern, "u").test(text), pattern)
    }
    for (const pattern of [
      "^[A-Z]{2}\\d+$",
      "\\u0041",
      "^\\p{L}+$",
      "a|b",
      "^(?<year>\\d{4})-",
      "\\/x"
    ]) {
      for (const text of ["A", "AB12", "é", "2026-01", "a/x", ""]) is(pattern, text)
    }
  })

  it("is refused where it cannot be run in linear time, or is too long", () => {
    for (const pattern of [
      "(?=a)b",
      "(a)\\1",
      "(?<!a)b",
      "(",
      "a".repeat(3_000),
      "((a{1,1000}){1,1000})"
    ]) {
      assert.isTrue(Result.isFailure(linearPattern(pattern)), pattern.slice(0, 30))
    }
  })

  const of = (schema: object) => compileForeignSchema({ type: "object", ...schema })

  it("of an MCP server is run in linear time, in whatever place it stands and in every dialect", () => {
    const evil = "^(a+)+$"
    const text = `${"a".repeat(30)}!`
    const places = [
      [{ properties: { n: { pattern: evil } } }, { n: text }],
      [{ patternProperties: { [evil]: false } }, { [text]: 1 }],
      [{ propertyNames: { pattern: evil } }, { [text]: 1 }],
      [{ $defs: { x: { pattern: evil } }, properties: { n: { $ref: "#/$defs/x" } } }, { n: text }]
    ] as const
    const dialects = [
      undefined,
      "http://json-schema.org/draft-07/schema#",
      "https://json-schema.org/draft/2019-09/schema",
      "https://json-schema.org/draft/2020-12/schema"
    ]
    for (const $schema of dialects) {
      for (const [schema, value] of places) {
        const validate = Result.getOrThrow(
          of($schema === undefined ? schema : { $schema, ...schema })
        )
        const isFree = "patternProperties" in schema
        assert.strictEqual(Exit.isSuccess(validate(value)), isFree, JSON.stringify(schema))
      }
    }
    assert.isTrue(Exit.isSuccess(Result.getOrThrow(of(places[0][0]))({ n: "aaa" })))
  })

  it("refuses its tool with a reason where it cannot be run so", () => {
    const made = of({ properties: { n: { pattern: "(?=a)b" } } })
    assert.include(Result.isFailure(made) ? made.failure : "", "linear time")
    assert.isTrue(Result.isFailure(compileForeignSchema({ $schema: "https://example.com/mine" })))
  })
})
