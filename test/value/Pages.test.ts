import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { everyItem, forEachPage } from "../../src/value/Pages.ts"

/** A list of so many numbers from 1, and the places that were asked for. */
const listOf = (count: number) => {
  const asked: Array<number | undefined> = []
  const read = (most: number) => (last: number | undefined) =>
    Effect.sync(() => {
      asked.push(last)
      const from = last ?? 0
      return Array.from({ length: Math.min(most, count - from) }, (_, n) => from + n + 1)
    })
  return { asked, read }
}

describe("a list that is read page by page", () => {
  it.effect("gives every item once, in order, and ends with the first short page", () =>
    Effect.gen(function* () {
      for (const [count, asked] of [
        [0, [undefined]],
        [2, [undefined]],
        [3, [undefined, 3]],
        [7, [undefined, 3, 6]]
      ] as const) {
        const list = listOf(count)
        const items = yield* everyItem(3, list.read(3))
        assert.deepEqual(
          items,
          Array.from({ length: count }, (_, n) => n + 1)
        )
        assert.deepEqual(list.asked, [...asked])
      }
    })
  )

  it.effect("is read no further once its visitor has enough", () =>
    Effect.gen(function* () {
      const list = listOf(100)
      const seen: Array<number> = []
      yield* forEachPage(3, list.read(3), (page) => {
        seen.push(...page)
        return Effect.succeed(seen.length > 5 ? "enough" : undefined)
      })
      assert.deepEqual(seen, [1, 2, 3, 4, 5, 6])
      assert.deepEqual(list.asked, [undefined, 3])
    })
  )

  it.effect("fails with its reader, and with its visitor", () =>
    Effect.gen(function* () {
      const list = listOf(4)
      const reader = everyItem(3, (last: number | undefined) =>
        last === undefined ? list.read(3)(last) : Effect.fail("gone")
      )
      assert.deepEqual(yield* Effect.exit(reader), Exit.fail("gone"))
      const visitor = forEachPage(3, list.read(3), () => Effect.fail("no"))
      assert.deepEqual(yield* Effect.exit(visitor), Exit.fail("no"))
    })
  )
})
