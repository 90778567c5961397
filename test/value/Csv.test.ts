import { assert, describe, it } from "vitest"
import { csvOf } from "../../src/value/Csv.ts"

const cell = (text: string): string => csvOf(["name"], [[text]]).slice('\ufeff"name"\r\n'.length)

describe("csvOf", () => {
  it("writes a header and a line for each row, with texts in quotes", () => {
    assert.strictEqual(
      csvOf(
        ["id", "count", "note"],
        [
          ["a", -2.5, undefined],
          ['say "no", or\nnot', 0, ""]
        ]
      ),
      '\ufeff"id","count","note"\r\n"a",-2.5,\r\n"say ""no"", or\nnot",0,""\r\n'
    )
    assert.strictEqual(csvOf(["id"], []), '\ufeff"id"\r\n')
  })

  it("makes a text of each beginning of a formula", () => {
    for (const sign of [
      "=",
      "+",
      "-",
      "@",
      "\t",
      "\r",
      "\n",
      "＝",
      "＋",
      "－",
      "＠",
      " =",
      "\u00a0@"
    ]) {
      assert.strictEqual(cell(`${sign}1+1`), `"'${sign}1+1"\r\n`)
    }
    assert.strictEqual(cell('=HYPERLINK("x")'), `"'=HYPERLINK(""x"")"\r\n`)
    assert.strictEqual(cell("-12.50"), `"'-12.50"\r\n`)
    assert.strictEqual(cell("a=1, b@c"), '"a=1, b@c"\r\n')
  })

  it("shows characters that would hide the beginning of a formula", () => {
    assert.strictEqual(cell("\u200b=1"), '"‹U+200B›=1"\r\n')
    assert.strictEqual(cell("\u0000=1"), '"‹U+0000›=1"\r\n')
    assert.strictEqual(cell("\ufeff=1"), '"‹U+FEFF›=1"\r\n')
  })
})
