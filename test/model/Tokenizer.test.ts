import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { estimateTokens } from "../../src/conversation/TokenEstimate.ts"
import { Tokenizer } from "../../services/Tokenizer.ts"
import * as GptTokenizer from "../../layers/model/providers/GptTokenizer.ts"

const here = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")

const rows = JSON.stringify(
  Array.from({ length: 200 }, (_, id) => ({
    id,
    event_id: `01890a5d-ac96-774b-bcce-b302099a${8_000 + id}`,
    status: "failed",
    at: 1_763_787_600_000 + id * 977,
    amount: "12.50"
  }))
)

/** Texts, and the factors between which the estimate may differ from o200k_base. */
const texts: Readonly<Record<string, readonly [text: string, least: number, most: number]>> = {
  prose: [here("README.md").slice(0, 10_000), 0.75, 1.3],
  code: [here("layers/runtime/loop/RunLoop.ts"), 0.75, 1.3],
  json: [rows, 0.75, 1.3],
  base64: [Buffer.from(here("package.json")).toString("base64"), 0.75, 1.3],
  german: [
    "Bitte erstatten Sie die Bestellung zurück, größere Beträge genügen nicht. ".repeat(9),
    0.75,
    1.5
  ],
  chinese: ["人工智能正在改变世界，请问这个订单什么时候可以发货？".repeat(9), 1, 2.2],
  japanese: ["今日はとても良い天気ですね。返金をお願いします。".repeat(9), 1, 2.2],
  korean: ["오늘 날씨가 정말 좋네요. 환불을 부탁드립니다. ".repeat(9), 1, 2.2],
  russian: ["Пожалуйста, верните деньги за заказ номер 1003. ".repeat(9), 1, 2.2],
  emoji: ["😀🎉👍🏽🚀".repeat(20), 0.75, 2.2]
}

describe("a tokenizer", () => {
  it.effect("is the estimate where none is given", () =>
    Effect.gen(function* () {
      const { count } = yield* Tokenizer
      assert.strictEqual(count("four words of text", undefined), 4)
      assert.strictEqual(count("", undefined), 0)
    })
  )

  it.live("estimates within a third for Latin letters, and never far too few for any script", () =>
    Effect.gen(function* () {
      const { count } = yield* Tokenizer
      for (const [name, [text, least, most]] of Object.entries(texts)) {
        const ratio = estimateTokens(text) / count(text, undefined)
        assert.isAtLeast(ratio, least, name)
        assert.isAtMost(ratio, most, name)
      }
    }).pipe(Effect.provide(GptTokenizer.layer()))
  )

  it.live("never counts more tokens than a text has bytes", () =>
    Effect.gen(function* () {
      const { count } = yield* Tokenizer
      for (const text of [
        ...Object.values(texts).map(([each]) => each),
        "{",
        "a{b}",
        "\u0900\u0e01",
        "\ud800"
      ]) {
        const bytes = new TextEncoder().encode(text).length
        assert.isAtMost(estimateTokens(text), bytes)
        assert.isAtMost(count(text, undefined), bytes)
      }
    }).pipe(Effect.provide(GptTokenizer.layer("cl100k_base")))
  )

  it.live("counts special tokens as text, and a run without a space in bounded pieces", () =>
    Effect.gen(function* () {
      const { count } = yield* Tokenizer
      assert.isAbove(count("<|endoftext|>", undefined), 1)
      const ideographs = count("今".repeat(20_000), undefined)
      assert.isAbove(ideographs, 5_000)
      assert.isAtMost(count("😀".repeat(1_000), undefined), 4_000)
    }).pipe(Effect.provide(GptTokenizer.layer()))
  )
})
