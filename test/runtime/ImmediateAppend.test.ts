import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { begin, isDone, suspended } from "../../src/run/FirstStep.ts"

describe("an Effect that is often done at its first step", () => {
  it.effect("does nothing before it is run, and as much each time as once", () =>
    Effect.gen(function* () {
      let done = 0
      const add = suspended((n: number) => Exit.succeed((done += n)))
      const adding = add(2)
      assert.strictEqual(done, 0)
      assert.strictEqual(yield* adding, 2)
      assert.strictEqual(yield* adding, 4)
    })
  )

  it("is its own result, and no other is", () => {
    assert.isTrue(isDone(Exit.succeed(1)))
    assert.isTrue(isDone(Exit.fail("no")))
    assert.isFalse(isDone(Effect.sync(() => 1)))
  })

  it.effect("is done at once where it is begun, and what must wait is left to run", () =>
    Effect.gen(function* () {
      let asked = 0
      const port = {
        half: suspended((n: number): Effect.Effect<number, string> => {
          asked++
          return n % 2 === 0
            ? Exit.succeed(n / 2)
            : Effect.andThen(Effect.yieldNow, Effect.fail("odd"))
        })
      }
      assert.deepStrictEqual(begin(port, port.half, 4), Exit.succeed(2))
      const odd = begin(port, port.half, 3)
      assert.strictEqual(asked, 2)
      assert.isFalse(Exit.isExit(odd))
      assert.strictEqual(yield* Effect.flip(odd), "odd")
      assert.strictEqual(asked, 2)
    })
  )

  it.effect("asks any other port as it is, with its own `this`", () =>
    Effect.gen(function* () {
      class Counter {
        count = 0
        add(n: number) {
          return Effect.sync(() => (this.count += n))
        }
      }
      const counter = new Counter()
      const adding = begin(counter, counter.add, 3)
      assert.strictEqual(counter.count, 0)
      assert.strictEqual(yield* adding, 3)
    })
  )
})
