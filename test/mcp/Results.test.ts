import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { describedPart, errorText, resultValue } from "../../src/mcp/McpResult.ts"
import * as S from "./Servers.ts"

const texts = (...all: ReadonlyArray<string>) => all.map((text) => ({ type: "text", text }))

describe("the value of a result", () => {
  it("is the structured content alone where the content repeats it", () => {
    const structured = { result: ["a b", 3.5, { x: 1 }], note: " n " }
    for (const content of [
      [],
      texts(JSON.stringify(structured, null, 2)),
      texts('{"note":" n ","result":["a b",3.5,{"x":1}]}'),
      texts("a b", "3.5", '{"x": 1}'),
      texts('["a b",3.5,{"x":1}]'),
      texts("n"),
      undefined,
      "no list"
    ]) {
      assert.deepStrictEqual(resultValue({ structuredContent: structured, content }), structured)
    }
  })

  it("is both where the content says more", () => {
    for (const [said, content] of [
      ["Open: 9 to 5.", texts('{"kind":"markdown"}', "Open: 9 to 5.")],
      ["mark", texts("mark")],
      [
        "[resource file:///a]\ninside",
        [{ type: "resource", resource: { uri: "file:///a", text: "inside" } }]
      ],
      ["[image a/b, 3 bytes, not shown]", [{ type: "image", mimeType: "a/b", data: "QUJD" }]]
    ] as const) {
      const value = resultValue({ structuredContent: { kind: "markdown" }, content })
      assert.deepStrictEqual(value, { structuredContent: { kind: "markdown" }, content: said })
      assert.deepStrictEqual(describedPart(value), { kind: "markdown" })
    }
  })

  it("tells structured content with these two members from both", () => {
    const structured = { structuredContent: 1, content: "x" }
    const value = resultValue({ structuredContent: structured })
    assert.deepStrictEqual(describedPart(value), structured)
  })

  it("of an error is its reason, whatever says it", () => {
    const structuredContent = { code: 7 }
    assert.strictEqual(errorText({ structuredContent, content: [] }), '{"code":7}')
    assert.strictEqual(
      errorText({ structuredContent, content: texts('{"code": 7}') }),
      '{"code":7}'
    )
    assert.strictEqual(errorText({ structuredContent, content: texts("no") }), 'no\n{"code":7}')
    assert.strictEqual(errorText({ content: texts(" no ") }), "no")
    assert.strictEqual(errorText({ content: [] }), "")
  })
})

it.live("blocks that nobody knows are described, and the rest of the result is read", () =>
  Effect.gen(function* () {
    assert.strictEqual(
      yield* S.callBody("odd.chart@1"),
      [
        "[content of the type chart, not shown]",
        "[content of the type text, not shown]",
        "[content that cannot be read]",
        "order 7 created"
      ].join("\n")
    )
    const typed = yield* S.callBody("odd.document_typed@1", { n: 7 })
    assert.deepInclude(typed, { structuredContent: { n: 7 } })
    // Without n, the structured content lacks what its schema requires.
    assert.deepInclude(yield* Effect.flip(S.callBody("odd.document_typed@1")), {
      _tag: "ValueRefused"
    })
  }).pipe(Effect.provide(S.importing(S.misbehaving("plain"))))
)
