import { assert, describe, it } from "@effect/vitest"
import { read_units_max, redact } from "../../src/error/Redaction.ts"

const hidden: ReadonlyArray<readonly [text: string, label: string]> = [
  ["(415) 555-2671", "[phone]"],
  ["415-555-2671", "[phone]"],
  ["+14155552671", "[phone]"],
  ["+44 20 7946 0958", "[phone]"],
  ["0151-23456789", "[phone]"],
  ["(030) 1234-56789", "[phone]"],
  ["（４１５） ５５５－２６７１", "[phone]"],
  ["4111 1111 1111 1111", "[card]"],
  ["4111111111111111", "[card]"],
  ["5500-0000-0000-0004", "[card]"],
  ["4111\u200b1111\u200b1111\u200b1111", "[card]"],
  ["４１１１ １１１１ １１１１ １１１１", "[card]"],
  ["DE89370400440532013000", "[iban]"],
  ["DE89 3704 0044 0532 0130 00", "[iban]"],
  ["gb29nwbk60161331926819", "[iban]"],
  ["192.168.10.20", "[ip]"],
  ["2001:db8::8a2e:370:7334", "[ip]"],
  ["::ffff:10.0.0.1", "[ip]"],
  ["jane.doe@example.com", "[e-mail]"],
  ["ｊａｎｅ＠ｅｘａｍｐｌｅ．ｃｏｍ", "[e-mail]"],
  ["AKIAIOSFODNN7EXAMPLE", "[secret]"],
  ["ghp_16C7e42F292c6912E7710c838347Ae178B4a", "[secret]"],
  ["xoxb-123456789012-abcdef", "[secret]"],
  ["AIzaSyA1234567890abcdefghijklmnopqrstuv", "[secret]"],
  ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "[secret]"],
  ["-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "[secret]"]
]

/** What stays of a text; the secret stands after the bar. */
const inside: ReadonlyArray<readonly [text: string, clean: string]> = [
  ["see https://app:hunter2@db.example/x now", "see https://[secret]@db.example/x now"],
  ["postgres://app:hunter2@db:5432/main", "postgres://[secret]@db:5432/main"],
  ["login with password=hunter2 please", "login with password=[secret] please"],
  ["Error: password=hunter2", "Error: password=[secret]"],
  ["login failed: pwd: hunter2 x", "login failed: pwd: [secret] x"],
  ["pwd: hunter2, user: jane", "pwd: [secret], user: jane"],
  ['{"access_key":"hunter2","id":7}', '{"access_key":"[secret]","id":7}'],
  ["the password is hunter2", "the password is [secret]"],
  ["?api_key=hunter2&page=2", "?api_key=[secret]&page=2"],
  ["Authorization: Bearer abc.def.ghi", "Authorization: [secret]"],
  ["paid with 4111 1111 1111 1111 12 times", "paid with [card] 12 times"],
  ["to DE89 3704 0044 0532 0130 00 thanks", "to [iban] thanks"],
  ["4111 1111 1111 1111 5500 0000 0000 0004", "[card] [card]"],
  [`${"1 ".repeat(30)}4111 1111 1111 1111 7`, `${"1 ".repeat(30)}[card] 7`],
  ["415-555-2671, 212-555-1234", "[phone], [phone]"],
  ["415 555 2671 212 555 1235", "[phone] [phone]"],
  ["+49 151 79688526 / (212) 717-2750", "[phone] / [phone]"],
  ["+44 20 7946 0958, 437.45.1.15", "[phone], 437.45.1.15"],
  ["+44 20 7946 0958 of 12", "[phone] of 12"],
  ["call 011 44 20 7946 0958", "call [phone]"],
  ["415.555.2671 ext. 12, please", "[phone], please"],
  ["20 415 555 2671", "20 [phone]"]
]

const readable = [
  "4111 1111 1111 1112",
  "1234567890123456",
  "4155552671",
  "123456789012",
  "1,234,567,890.50",
  "order 100-200-3000",
  "order 3-415-555-2671",
  "415-555-2671%",
  "x415-555-2671",
  "$415 555 2671",
  "311-227 (2003)",
  "$1 / 2026-11-06 01:12",
  "+1234567",
  "1 2 3 4 5 6 7 8 9",
  "2026-11-22 02:21:23",
  "2026-11-22T02:21:23.000Z",
  "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "550e8400-e29b-41d4-a716-446655440000",
  "DE00370400440532013000",
  "version 1.2.3",
  "999.999.999.999",
  "12:30:45",
  "std::vector",
  "the author passes the authority",
  "max_tokens: 500",
  "Grüße, ｆｕｌｌ width and a\u200bspace"
]

describe("redaction", () => {
  for (const [text, label] of hidden) {
    it(`ST-28 hides ${JSON.stringify(text)}`, () => {
      assert.strictEqual(redact(text), label)
      assert.strictEqual(redact(`call ${text}, or not`), `call ${label}, or not`)
      assert.strictEqual(redact(`Grüße\u200b: ${text}`), `Grüße\u200b: ${label}`)
    })
  }
  for (const [text, clean] of inside) {
    it(`ST-28 hides the secret alone in ${JSON.stringify(text)}`, () => {
      assert.strictEqual(redact(text), clean)
      assert.strictEqual(redact(clean), clean)
    })
  }
  for (const text of readable) {
    it(`ST-28 leaves ${JSON.stringify(text)} as it is`, () =>
      assert.strictEqual(redact(text), text))
  }

  it("leaves out the word at which a long text was cut", () => {
    const words = "word ".repeat(read_units_max / 5)
    assert.strictEqual(redact(`${words}and more`), `${words}\u2026`)
    const cut = `${"x".repeat(read_units_max - 8)} ghp_16C7e42F292c6912E7710c838347Ae178B4a`
    assert.strictEqual(redact(cut), `${"x".repeat(read_units_max - 8)} \u2026`)
    const long = "x".repeat(read_units_max + 1)
    assert.strictEqual(redact(long), `${long.slice(0, read_units_max - 4_000)}\u2026`)
  })

  it("reads a bounded beginning of a hostile text", () => {
    for (const piece of [
      "a@",
      "1-",
      "1 ",
      "+1",
      "(4",
      "a=",
      "eyJ",
      "::",
      "ab:",
      "DE89 ",
      "password is ",
      "x",
      '"a":',
      "４",
      "\u200b"
    ]) {
      const text = redact(piece.repeat(1_000_000 / piece.length))
      assert.isAtMost(text.length, 4 * read_units_max, piece)
    }
  })
})
