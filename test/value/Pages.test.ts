import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { boundedPage, everyItem, forEachPage } from "../../src/value/Pages.ts"

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

describe("a page with a bound", () => {
  const all = listOf(10_000)
  const page = (limit: number, keeps: (row: number) => boolean, looked_max: number) =>
    boundedPage<number, never>(limit, (last, most) => all.read(most)(last), {
      keeps,
      looked_max,
      read_max: 16
    })
  const isEven = (row: number) => row % 2 === 0

  it.effect("has the rows that it keeps, and continues after the last that it looked at", () =>
    Effect.gen(function* () {
      assert.deepEqual(yield* page(3, isEven, 1_000), { items: [2, 4, 6], last: 6 })
      assert.deepEqual(yield* page(3, (row) => row === 100, 1_000), { items: [100], last: 1_008 })
      assert.deepEqual(yield* page(3, (row) => row > 9_999, Infinity), {
        items: [10_000],
        last: undefined
      })
    })
  )

  it.effect("has every row where nothing is said of those that it keeps", () =>
    Effect.gen(function* () {
      const read = (last: number | undefined, most: number) => all.read(most)(last)
      const { items, last } = yield* boundedPage<number, never>(40, read)
      assert.deepEqual([items.length, items.at(-1), last], [40, 40, 40])
    })
  )

  it.effect(
    "is read in more rows at a time while they are short, and in fewer once they are long",
    () =>
      Effect.gen(function* () {
        const asked: Array<number> = []
        const rowsOf = (units: number) => (_: string | undefined, most: number) => {
          asked.push(most)
          return Effect.succeed(Array.from({ length: most }, () => "x".repeat(units)))
        }
        yield* boundedPage<string, never>(500, rowsOf(1))
        assert.deepEqual(asked.splice(0), [16, 32, 64, 64, 64, 64, 64, 64, 64, 4])
        yield* boundedPage<string, never>(500, rowsOf(300_000))
        assert.deepEqual(asked.splice(0), [16, 8, 4])
        yield* boundedPage<string, never>(500, rowsOf(1), { read_max: 500 })
        assert.deepEqual(asked, [500])
      })
  )

  it.effect("ends where what it looked at is too large, whatever it keeps of it", () =>
    Effect.gen(function* () {
      const large = "x".repeat(1_000_000)
      const rows = Array.from({ length: 16 }, (_, n) => `${n}${large}`)
      const { items, last } = yield* boundedPage<string, never>(5, () => Effect.succeed(rows), {
        keeps: () => false,
        looked_max: 1_000,
        read_max: 16
      })
      assert.deepEqual([items, last], [[], rows[7]])
    })
  )
})
