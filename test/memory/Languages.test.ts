/** What is recalled in many languages, among what was noted in all of them. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as EphemeralMemoryStore from "../../layers/ephemeral/EphemeralMemoryStore.ts"
import { queryWords, rowWords } from "../../src/memory/SearchWords.ts"
import { byModel, memoryOf, newRun } from "./Addresses.ts"
import { languages } from "./Languages.ts"

const all = Object.entries(languages)
const notes = all.flatMap(([, pairs]) => pairs)

layer(EphemeralMemoryStore.layer, { excludeTestServices: true })("languages", (it) => {
  it.effect(
    `a question in each of ${all.length} languages recalls its note before all others`,
    () =>
      Effect.gen(function* () {
        const memory = yield* memoryOf()
        const origin = byModel(newRun())
        for (const [text] of notes) yield* memory.remember({ text, tier: "persistent" }, origin)
        const missed: Array<string> = []
        for (const [language, pairs] of all) {
          for (const [note, question] of pairs) {
            const { lines } = yield* memory.recall({ text: question, tokens_max: 500 })
            if (lines[0]?.text !== note)
              missed.push(`${language}: ${question} -> ${lines[0]?.text}`)
          }
        }
        assert.deepStrictEqual(missed, [])
      })
  )

  it("however long, a text has at most 400 search words and a query 32", () => {
    for (const [note] of notes) {
      const long = Array.from({ length: 400 }, (_, i) => `${i}${note}`)
        .join(" ")
        .repeat(3)
      assert.isAtMost(rowWords(long).length, 400)
      assert.isAtMost(queryWords(long).length, 32)
    }
    assert.include(queryWords("お茶"), "お茶")
    assert.include(rowWords("お茶が好き"), "茶")
  })
})
