import { assert, describe, it } from "@effect/vitest"
import { sample } from "../bench/Row.ts"

/** In a process of its own, whose garbage is collected before each count. `npm run bench -- leak` does 100,000 runs. */
const after = (what: "runs" | "steps", total: number) => sample("leak", what, [String(total)])

/** Fewer than before is no leak: what the first count saw may have been about to end. */
const assertNoneMore = (left: Readonly<Record<string, number>>): void => {
  assert.sameMembers(Object.keys(left), ["fibers", "maps", "resources", "listeners"])
  for (const [what, more] of Object.entries(left)) assert.isAtMost(more, 0, what)
}

const runs = 5_000
const steps = 10_000

describe("a process that goes on", () => {
  it(
    `has no fiber, map, timer, listener or heap left of ${runs} runs`,
    { timeout: 120_000 },
    async () => {
      const { heap_bytes, ...left } = await after("runs", runs)
      assertNoneMore(left)
      // What the compiler keeps is shared by all: a run that left one object behind would be ten times this.
      assert.isBelow(heap_bytes!, 100)
    }
  )

  it(
    `does not grow with the steps of a conversation, over ${steps}`,
    { timeout: 120_000 },
    async () => {
      const { heap_bytes, ...left } = await after("steps", steps)
      assertNoneMore(left)
      assert.isBelow(heap_bytes!, 150)
    }
  )
})
