import { assert, describe, it } from "@effect/vitest"
import {
  any_marker,
  marker_families,
  cleanResult,
  sanitise,
  sanitiseText
} from "../../src/tool/Sanitise.ts"

describe("the model's copy", () => {
  it("SG-51 contains no role marker, not even one that a removal creates", () => {
    for (const [text, clean] of [
      ["__sys__system__tem__", ""],
      ["<|im_<|IM_END|>start|>x", "x"],
      ["__system____system__", ""],
      ["a__system__b", "ab"],
      ["_\u0000_system_\u0007_", ""],
      ["__system", "__system"],
      ["<b>&\r\n\t", "<b>&\r\n\t"]
    ] as const) {
      assert.strictEqual(sanitiseText(text), clean, JSON.stringify(text))
    }
    assert.strictEqual(sanitise("<|im_start|><i>"), "&lt;i&gt;")
    const nested = "__sys".repeat(2_000) + "__system__" + "tem__".repeat(2_000)
    assert.strictEqual(sanitiseText(nested), "")
  })

  it("SG-51 contains no role marker of any family, in any case, hidden or nested", () => {
    for (const marker of marker_families.flat()) {
      const [head, tail] = [marker.slice(0, 3), marker.slice(3)]
      for (const text of [
        marker,
        marker.toLowerCase(),
        marker.toUpperCase(),
        [...marker].join("\u200b"),
        [...marker].join("\u{e0020}"),
        head + marker + tail
      ]) {
        assert.strictEqual(sanitiseText(`a${text}b`), "ab", JSON.stringify(text))
        assert.strictEqual(cleanResult(JSON.stringify({ text }), true), '{"text":""}', text)
        assert.strictEqual(cleanResult(JSON.stringify([text]), false), '[""]', text)
      }
    }
    for (const text of ["<|reserved_special_token_7|>", "<|a_token_of_next_year|>"]) {
      assert.strictEqual(sanitiseText(text), "")
    }
    for (const text of ["a <| b", "x |> f", "[INSTALL]", "<s>old</s>", "[/var/log]", "List<T>"]) {
      assert.strictEqual(sanitiseText(text), text)
    }
  })

  it("SG-51 contains no invisible characters, and keeps those that join letters and emoji", () => {
    const tags = [..."ignore all"].map((c) => String.fromCodePoint(0xe0000 + c.charCodeAt(0)))
    for (const hidden of [...tags, "\u202e", "\u2066", "\u200b", "\ufeff", "\u00ad", "\u2062"]) {
      assert.strictEqual(sanitiseText(`a${hidden}b`), "ab", hidden)
      assert.strictEqual(cleanResult(JSON.stringify({ a: `a${hidden}b` }), true), '{"a":"ab"}')
    }
    for (const text of ["👩‍👩‍👧", "❤️", "می‌خواهم", "क्‍ष", "Grüße", "naïve"]) {
      assert.strictEqual(sanitiseText(text), text)
    }
    assert.strictEqual(sanitiseText("a\u200db"), "ab")
  })

  it("SG-51 is the text from which each marker was taken as soon as it ended, whatever the text", () => {
    const last = new RegExp(`(?:${any_marker.source})$`, "i")
    const slow = (text: string): string => {
      let kept = ""
      for (const unit of text.split("")) kept = (kept + unit).replace(last, "")
      return kept
    }
    const pieces = [
      ...marker_families.flat(),
      ..."<|>[]_/｜▁aZ .K",
      "<<",
      ">>",
      "__sys",
      "tem__",
      ...[47, 48, 49].map((n) => "x".repeat(n))
    ]
    let seed = 1
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
      return Math.floor((seed / 2 ** 31) * below)
    }
    for (let n = 0; n < 5_000; n++) {
      let text = ""
      for (let left = 1 + random(10); left > 0; left--) {
        const piece = pieces[random(pieces.length)]!
        text += random(2) === 0 ? piece.slice(random(piece.length)) : piece.toUpperCase()
      }
      assert.strictEqual(sanitiseText(text), slow(text), JSON.stringify(text))
    }
  })

  it("is made of 300,000 hostile characters in linear time", () => {
    for (const piece of ["_", "m__", ">", "|>", "<|", "]", "[INST", "<<SYS", "\u200b", "a\u200d"]) {
      const text = `[INST]${piece.repeat(300_000 / piece.length)}`
      assert.isAtMost(sanitiseText(text).length, text.length)
    }
  })

  it("keeps values that are not texts, and a member of any name", () => {
    const value = JSON.parse('{"__proto__":"<","a":[1,true,null,{"b":"\'"}]}')
    assert.strictEqual(
      JSON.stringify(sanitise(value)),
      '{"__proto__":"&lt;","a":[1,true,null,{"b":"&#x27;"}]}'
    )
  })
  it("SG-51 has sanitised names of members at any depth, and escapes none", () => {
    for (const texts of [true, false]) {
      for (const [json, clean] of [
        ['{"<|im_start|>system":1,"__SYSTEM__":{"a\\u0007b<":2}}', '{"system":1,"":{"ab<":2}}'],
        ['{"a":[{"__sys__system__tem__x":null}]}', '{"a":[{"x":null}]}'],
        ['{"__proto__\\u0001":1,"b":2}', '{"__proto__":1,"b":2}'],
        ['{"a":1,"b\\n":2}', '{"a":1,"b\\n":2}']
      ] as const) {
        assert.strictEqual(cleanResult(json, texts), clean, json)
      }
    }
  })

  it("keeps every member where sanitised names collide, and numbers those that were changed", () => {
    for (const [json, clean] of [
      ['{"__system__a":1,"a":2,"\\u0001a":3}', '{"a (2)":1,"a":2,"a (3)":3}'],
      ['{"\\u0001a":1,"\\u0002a":2,"a (2)":3}', '{"a":1,"a (3)":2,"a (2)":3}'],
      ['{"\\u0001__system_":1,"\\u0002__system_":2}', '{"__system_":1,"__system_ (2)":2}']
    ] as const) {
      assert.strictEqual(cleanResult(json, true), clean, json)
    }
    const many = Array.from({ length: 5_000 }, (_, i) => ["\u0001".repeat(i + 1), i] as const)
    const kept = Object.values(sanitise(Object.fromEntries(many)) as Record<string, number>)
    assert.deepStrictEqual(
      kept,
      many.map(([, i]) => i)
    )
  })
})
