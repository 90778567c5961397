import { assert, describe, it } from "@effect/vitest"
import { argsSummary, redact, summary_max } from "../../src/approval/ArgsSummary.ts"

/** Hidden in the summary of `{ text: value }`. */
const hidden = (value: string, secret = value) =>
  it(`ST-28 hides ${JSON.stringify(value)}`, () => {
    assert.notInclude(argsSummary({ text: value }), secret)
  })

const readable = (value: string) =>
  it(`ST-28 leaves ${JSON.stringify(value)} readable`, () => {
    assert.include(argsSummary({ text: value }), value)
  })

describe("the summary of a call's arguments", () => {
  hidden("jane.doe@example.com")
  hidden("write to <jörg@bücher.example>", "jörg@bücher.example")
  hidden("+49 151 2345 6789")
  hidden("(030) 1234-56789", "1234-56789")
  hidden("4111 1111 1111 1111")
  hidden("Bearer abc.def.ghi")
  hidden("sk-live_1234567890abcdef")
  hidden("ghp_16C7e42F292c6912E7710c838347Ae178B4a")
  hidden("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl")
  hidden("a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0")

  readable("order-1003")
  readable("550e8400-e29b-41d4-a716-446655440000")
  readable("019381ce-0000-7000-8000-000000000001")
  readable("12345678-1234-4234-8234-123456789012")
  readable("2026-11-22 02:21:23")
  readable("2026-11-22T02:21:23.000Z")
  readable("incident 42, cluster eu-west-1")
  readable("replay after the receiver was mended")

  it("ST-28 hides a value under the name of a secret, at any depth", () => {
    const said = argsSummary({
      password: "hunter2",
      nested: { api_key: "hunter2", list: [{ Authorization: "hunter2" }] }
    })
    assert.notInclude(said, "hunter2")
    assert.include(said, "password: [redacted]")
    assert.include(said, "api_key: [redacted]")
  })

  it("ST-28 hides personal data in the names of fields too", () => {
    assert.notInclude(argsSummary({ "jane@example.com": 1 }), "jane@example.com")
  })

  it("ST-28 is at most 600 characters, whatever the arguments", () => {
    const wide = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [`field_${i}`, "x".repeat(10_000)])
    )
    assert.strictEqual(argsSummary(wide).length, summary_max)
    assert.isAtMost(argsSummary("y".repeat(1_000_000)).length, summary_max)
  })

  it("shows the value, and says how much is left out", () => {
    assert.strictEqual(
      argsSummary({ id: "order-1003", amounts: [1, 2, 3, 4, 5, 6, 7], ok: true, none: null }),
      'id: "order-1003", amounts: [1, 2, 3, 4, 5, … 2 more], ok: true, none: null'
    )
  })

  it("redacts 1 MB of digits in bounded time", () => {
    assert.notInclude(redact("1 ".repeat(2_000)), "1 1 1 1 1 1 1 1 1 1")
    assert.isAtMost(argsSummary({ text: "1".repeat(1_000_000) }).length, summary_max)
  })
})
