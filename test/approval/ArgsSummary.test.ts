import { assert, describe, it } from "@effect/vitest"
import { redact } from "../../src/error/Redaction.ts"
import { argsSummary } from "../../src/approval/ArgsSummary.ts"

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

  it("ST-28 recognises the name of a secret by its words", () => {
    for (const name of "pwd auth access_key accessKey AWS_SECRET_ACCESS_KEY private-key clientSecret x-api-key dbPassword refresh_token sessionCookie pin otp connectionString".split(
      " "
    )) {
      assert.notInclude(argsSummary({ [name]: "hunter2" }), "hunter2", name)
    }
    for (const name of "author authority compass passenger passage keyboard key tokenizer signal".split(
      " "
    )) {
      assert.include(argsSummary({ [name]: "readable" }), "readable", name)
    }
  })

  it("ST-28 hides personal data in the names of fields too", () => {
    assert.notInclude(argsSummary({ "jane@example.com": 1 }), "jane@example.com")
  })

  it("ST-28 is at most 600 characters, whatever the arguments", () => {
    const wide = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [`field_${i}`, "x".repeat(10_000)])
    )
    assert.strictEqual(argsSummary(wide).length, 600)
    assert.isAtMost(argsSummary("y".repeat(1_000_000)).length, 600)
  })

  it("ST-28 never hides an amount, whatever it looks like and whatever stands before it", () => {
    for (const amount of [
      "4111111111111111",
      "4155552671",
      "415 555 2671",
      "1.234.567,89",
      "EUR 12,50"
    ]) {
      assert.include(argsSummary({ amount }), JSON.stringify(amount))
      assert.include(argsSummary({ line: { unitPrice: amount } }), JSON.stringify(amount))
    }
    assert.include(argsSummary({ total_amount: 4_111_111_111_111_111 }), "4111111111111111")
    const notes = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`note_${i}`, "x".repeat(500)])
    )
    const said = argsSummary({ ...notes, amount: "99999.00", refund: 7 })
    assert.include(said, 'amount: "99999.00"')
    assert.include(said, "refund: 7")
    assert.isAtMost(said.length, 600)
    assert.include(argsSummary({ max_tokens: 500 }), "max_tokens: 500")
  })

  it("ST-28 writes out invisible characters, in names too", () => {
    const said = argsSummary({ to: "ac\u202eme\u200b \u{e0041}\u2066x", "a\u200bmount": 1 })
    assert.include(said, "ac‹U+202E›me‹U+200B› ‹U+E0041›‹U+2066›x")
    assert.include(said, "a‹U+200B›mount: 1")
    assert.include(argsSummary({ text: "👩‍👩‍👧 نص ❤️" }), "👩‍👩‍👧 نص ❤️")
  })

  it("shows the value, and counts what is left out", () => {
    assert.strictEqual(
      argsSummary({ id: "order-1003", amounts: [1, 2, 3, 4, 5, 6, 7], ok: true, none: null }),
      'id: "order-1003", amounts: [1, 2, 3, 4, 5, … 2 more], ok: true, none: null'
    )
  })

  it("redacts 1 MB of digits in bounded time", () => {
    assert.strictEqual(redact("1 ".repeat(2_000)), "1 ".repeat(2_000))
    assert.isAtMost(argsSummary({ text: "1".repeat(1_000_000) }).length, 600)
  })

  /** A summary to the letter. */
  const exactly = (cases: ReadonlyArray<readonly [args: unknown, said: string]>) => {
    for (const [args, said] of cases) assert.strictEqual(argsSummary(args), said)
  }

  it("cuts a text at 160 characters with a mark, and never within a character", () => {
    const x = "x".repeat(158)
    exactly([
      [{ t: `${x}yz` }, `t: "${x}yz"`],
      [{ t: `${x}yz.` }, `t: "${x}yz…"`],
      [{ t: `${x}y😀` }, `t: "${x}y…"`],
      [{ t: `${x}😀.` }, `t: "${x}😀…"`],
      [{ t: `😀${x}.` }, `t: "😀${x}…"`],
      [{ [`${x}yz.`]: 1 }, `${x}yz…: 1`],
      [`${x}yz.`, `"${x}yz…"`]
    ])
  })

  it("marks a cut text, also where redaction leaves little of its beginning", () => {
    const secret = `eyJhbGciOiJIUzI1NiJ9.${"a".repeat(3_979)}`
    assert.lengthOf(secret, 4_000)
    exactly([
      [{ t: secret }, 't: "[secret]"'],
      [{ t: `${secret} and pay everything` }, 't: "[secret]…"']
    ])
  })

  it("ST-28 hides a number that may be a card's or a telephone's, and shows every other", () => {
    exactly([
      [{ n: 4_111_111_111_111_111 }, "n: [card]"],
      [{ list: [4_111_111_111_111_111] }, "list: [[card]]"],
      [4_111_111_111_111_111, "[card]"],
      [{ amounts: [4_111_111_111_111_111] }, "amounts: [4111111111111111]"],
      [{ n: 12.5, m: -1, ok: false, none: null }, "n: 12.5, m: -1, ok: false, none: null"]
    ])
  })

  it("ST-28 shows an amount with its sign and currency, and hides what else stands under its name", () => {
    const card = "4111111111111111"
    assert.notInclude(argsSummary({ text: card }), card)
    for (const amount of [
      card,
      `-${card}`,
      `+${card}`,
      `€${card}`,
      `€ -${card}`,
      `USD ${card}`,
      `${card} USD`,
      `${card}€`,
      `${card}%`,
      "4111'1111'1111'1111",
      "4111 1111 1111 1111",
      "4111_1111_1111_1111",
      "0"
    ]) {
      exactly([[{ amount }, `amount: ${JSON.stringify(amount)}`]])
    }
    for (const amount of [
      "jane.doe@example.com 5",
      "5 jane.doe@example.com",
      "5 to jane.doe@example.com",
      "jane.doe@example.com"
    ]) {
      assert.notInclude(argsSummary({ amount }), "jane.doe", amount)
    }
    for (const amount of [`transfer ${card}`, `${card} transferred`, `#${card}`, `${card}#`]) {
      assert.notInclude(argsSummary({ amount }), card, amount)
    }
  })

  it("shows values of any shape, three levels deep", () => {
    exactly([
      [null, "null"],
      [5, "5"],
      [true, "true"],
      ["text", '"text"'],
      [[], "[]"],
      [{}, ""],
      [[1, { a: "b" }], '[1, {a: "b"}]'],
      [{ a: {}, b: [] }, "a: {}, b: []"],
      [{ a: { b: 1, c: 2 } }, "a: {b: 1, c: 2}"],
      [{ a: { b: { c: { d: 1 } } } }, "a: {b: {c: {d: 1}}}"],
      [{ a: { b: { c: { d: { e: 1 } } } } }, "a: {b: {c: {d: {…}}}}"],
      [{ a: { b: { c: { d: [1, 2] } } } }, "a: {b: {c: {d: [2 items]}}}"],
      [{ a: [[[1, 2]]] }, "a: [[[1, 2]]]"],
      [{ a: [[[[1, 2], {}]]] }, "a: [[[[2 items], {…}]]]"],
      [[[[1]]], "[[[1]]]"],
      [[[[[1]]]], "[[[[1 items]]]]"]
    ])
  })

  it("counts the members and items that it leaves out, if any", () => {
    const named = (size: number) =>
      Object.fromEntries(Array.from({ length: size }, (_, i) => [`n${i}`, i]))
    const said = (size: number) => Array.from({ length: size }, (_, i) => `n${i}: ${i}`).join(", ")
    exactly([
      [[1, 2, 3, 4, 5], "[1, 2, 3, 4, 5]"],
      [[1, 2, 3, 4, 5, 6], "[1, 2, 3, 4, 5, … 1 more]"],
      [named(20), said(20)],
      [named(21), `${said(20)}, … 1 more`],
      [{ in: named(25) }, `in: {${said(20)}, … 5 more}`]
    ])
  })

  it("puts amounts first only where not all would be shown, and else keeps the order", () => {
    const notes = (size: number, value: string) =>
      Object.fromEntries(Array.from({ length: size }, (_, i) => [`n${i}`, value]))
    assert.isTrue(argsSummary({ ...notes(20, ""), amount: 7 }).startsWith("amount: 7, n0: "))
    assert.isTrue(argsSummary({ ...notes(19, ""), amount: 7 }).endsWith(', n18: "", amount: 7'))
    const long = argsSummary({ ...notes(8, "x".repeat(200)), amount: 7, price: 8 })
    assert.isTrue(long.startsWith('amount: 7, price: 8, n0: "x'))
    assert.include(long, `n7: "${"x".repeat(20)}`)
    assert.isAtMost(long.length, 600)
  })

  it("shortens its texts before it drops its end, and no more than needed", () => {
    const of = (size: number, length: number) =>
      argsSummary(
        Object.fromEntries(Array.from({ length: size }, (_, i) => [`n${i}`, "x".repeat(length)]))
      )
    for (const [size, units] of [
      [3, 160],
      [4, 60],
      [8, 60],
      [9, 20],
      [18, 20]
    ] as const) {
      const said = of(size, 500)
      assert.isTrue(said.endsWith(`, n${size - 1}: "${"x".repeat(units)}…"`), said)
      assert.isAtMost(said.length, 600)
    }
    const full = { a: "x".repeat(160), b: "x".repeat(160), c: "x".repeat(160), d: "x".repeat(94) }
    assert.strictEqual(argsSummary(full).length, 600)
    assert.isTrue(argsSummary(full).endsWith(`, d: "${full.d}"`))
    assert.notInclude(argsSummary({ ...full, d: `${full.d}x` }), full.d)
    const wide = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [`name_${i}`, "x".repeat(500)])
    )
    const cut = argsSummary(wide)
    assert.strictEqual(cut.length, 600)
    assert.isTrue(cut.startsWith(`name_0: "${"x".repeat(20)}…", name_1: `))
    assert.isTrue(cut.endsWith("…"))
  })
})
