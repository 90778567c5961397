/** What is said of a value that does not fit, beside what its members are described by. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { correct } from "../../src/builtin/MemoryTools.ts"
import { schemaIssues } from "../../src/schema/SchemaIssues.ts"
import { between } from "../../src/value/Bounds.ts"

const messagesOf = (schema: Schema.Codec<unknown, unknown>, value: unknown) => {
  const decoded = Schema.decodeUnknownResult(schema, { errors: "all" })(value)
  assert(Result.isFailure(decoded))
  return schemaIssues(decoded.failure.issue, value).map(({ message }) => message)
}

describe("the message about a member", () => {
  it("has its bound or its spelling, and not its description", () => {
    const given = { id: "7", was: "", text: "x".repeat(4_001), reason: "" }
    assert.deepStrictEqual(messagesOf(correct.input, given), [
      "Expected a lower-case UUID",
      "Expected a value with a length of at least 1",
      "Expected a value with a length of at most 4000",
      "Expected a value with a length of at least 1"
    ])
  })

  it("has the description of a pattern that has no other words", () => {
    const pattern = Schema.String.check(Schema.isPattern(/^[a-z]$/, { description: "a letter" }))
    assert.deepStrictEqual(messagesOf(pattern, "4711"), ["Expected a letter"])
  })

  it("has a number that does not fit, and no text", () => {
    const row = Schema.Struct({ at: Schema.Array(between(1, 5)), who: Schema.Literal("ada") })
    assert.deepStrictEqual(messagesOf(row, { at: [1, 6], who: "a secret" }), [
      "Expected a value between 1 and 5; got 6",
      'Expected "ada"'
    ])
    assert.deepStrictEqual(messagesOf(row, { at: "1", who: "ada" }), ["it is a text: write a list"])
  })

  it("is the schema's own where the value cannot be read", () => {
    const value = {}
    Object.defineProperty(value, "at", {
      enumerable: true,
      get: () => {
        throw new Error("closed")
      }
    })
    const decoded = Schema.decodeUnknownResult(Schema.Struct({ at: between(1, 5) }))({ at: 9 })
    assert(Result.isFailure(decoded))
    const [issue] = schemaIssues(decoded.failure.issue, value)
    assert.strictEqual(issue?.message, "Expected a value between 1 and 5")
  })
})
