import { assert, it } from "@effect/vitest"
import { Counts } from "../../src/value/Counts.ts"

it("counts of owners are kept each and together, and an owner with 0 takes no memory", () => {
  const counts = new Counts()
  counts.add("ann", 1)
  counts.add("ann", 1)
  counts.add("olga", 5)
  assert.deepStrictEqual(
    [...counts.all],
    [
      ["ann", 2],
      ["olga", 5]
    ]
  )
  assert.strictEqual(counts.total, 7)
  counts.add("olga", -5)
  assert.deepStrictEqual([...counts.all], [["ann", 2]])
  assert.deepStrictEqual([counts.of("olga"), counts.total], [0, 2])
})

it("a count that is given back once too often stays at 0", () => {
  const counts = new Counts()
  counts.add("ann", 1)
  counts.add("ann", -1)
  counts.add("ann", -1)
  assert.deepStrictEqual([counts.of("ann"), counts.total, counts.all.size], [0, 0, 0])
  counts.add("ann", 1)
  assert.deepStrictEqual([counts.of("ann"), counts.total], [1, 1])
})
