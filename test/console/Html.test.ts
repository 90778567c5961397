/** HTML as values: what is written, and what cannot be. */
import { assert, describe, it } from "vitest"
import { documentOf, element, Html, jsonText, scriptAt } from "../../layers/console/Html.ts"
import { duration } from "../../layers/console/Words.ts"

const written = (...content: Parameters<typeof element>) => documentOf(element(...content))

describe("an element", () => {
  it("has texts as texts, in its children and attributes", () => {
    assert.strictEqual(
      written("p", { title: `"'<&>`, hidden: true, id: undefined, lang: false }, `<b>&"'`, 7, [
        ["x"],
        false,
        undefined
      ]),
      `<!doctype html><p title="&quot;&#39;&lt;&amp;&gt;" hidden>&lt;b&gt;&amp;&quot;&#39;7x</p>`
    )
    assert.strictEqual(written("br", {}), "<!doctype html><br>")
  })

  it("shows what cannot be seen, but not in what is edited", () => {
    assert.include(written("p", {}, "a\u202eb\u0000c"), "a‹U+202E›b‹U+0000›c")
    assert.include(written("textarea", {}, "\na\u202eb"), "<textarea>\n\na\u202eb</textarea>")
  })

  it("is no script or style, and has no code or style in an attribute", () => {
    for (const [name, attributes] of [
      ["script", {}],
      ["style", {}],
      ["p><script", {}],
      ["", {}],
      ["p", { onclick: "x" }],
      ["p", { style: "color: red" }],
      ["p", { srcdoc: "x" }],
      ["p", { "a b": "x" }],
      ["p", { 'x"': "x" }]
    ] as const) {
      assert.throws(() => element(name, attributes), TypeError)
    }
    // @ts-expect-error nobody has the key
    assert.throws(() => new Html("<script>", Symbol("written")), TypeError)
  })
})

describe("the script of a page", () => {
  it("is one of a path", () => {
    assert.strictEqual(
      documentOf(scriptAt('/a"b')),
      '<!doctype html><script src="/a&quot;b" defer></script>'
    )
  })
})

describe("what people read of an attribute", () => {
  it("hides nothing, and what is sent back is as it was", () => {
    const text = documentOf(
      element("input", { title: "a\u202eb", "aria-label": "c\u200bd", value: "e\u202ef" })
    )
    assert.include(text, 'title="a‹U+202E›b" aria-label="c‹U+200B›d" value="e\u202ef"')
  })
})

describe("JSON in a page", () => {
  it("means the same, and hides nothing", () => {
    const value = { "a\u202eb": "\u200b\u{e0041}\n", plain: ["é", "日本", 1] }
    assert.deepStrictEqual(JSON.parse(jsonText(value)), value)
    assert.notMatch(jsonText(value), /\p{Cf}/u)
    assert.include(jsonText(value), "日本")
  })
})

describe("a length of time", () => {
  it("has at most two units", () => {
    for (const [ms, words] of [
      [-5, "0 ms"],
      [999, "999 ms"],
      [1_000, "1.0 s"],
      [59_999, "59 s"],
      [61_000, "1 min"],
      [3_600_000, "1 h"],
      [3_660_000, "1 h 1 min"],
      [180_000_000, "2 d 2 h"]
    ] as const) {
      assert.strictEqual(duration(ms), words)
    }
  })
})
