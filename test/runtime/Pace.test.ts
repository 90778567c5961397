import { AsyncLocalStorage } from "node:async_hooks"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Pace from "../../layers/runtime/Pace.ts"

const turn = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))

describe("the pace of a runtime's loops", () => {
  it.live("lets so many go on before the event loop turns, the others in their order", () =>
    Effect.gen(function* () {
      const pace = yield* Pace.make(3)
      const went: Array<number> = []
      for (let n = 1; n <= 7; n++) pace.take({ go: () => void went.push(n) })
      assert.deepStrictEqual(went, [1, 2, 3])
      assert.strictEqual(pace.waiting(), 4)
      yield* turn
      assert.deepStrictEqual(went, [1, 2, 3, 4, 5, 6])
      // Who comes now does not overtake those that wait.
      pace.take({ go: () => void went.push(8) })
      yield* turn
      yield* turn
      assert.deepStrictEqual(went, [1, 2, 3, 4, 5, 6, 7, 8])
      assert.strictEqual(pace.waiting(), 0)
    })
  )

  it.live("begins anew with each turn, and leaves nothing scheduled behind", () =>
    Effect.gen(function* () {
      const pace = yield* Pace.make(2)
      let went = 0
      const take = () => pace.take({ go: () => void went++ })
      for (let round = 1; round <= 3; round++) {
        take()
        take()
        assert.strictEqual(went, round * 2)
        yield* turn
      }
    })
  )

  it.live("lets nobody go on in the asynchronous context of whoever came before", () =>
    Effect.gen(function* () {
      const storage = new AsyncLocalStorage<string>()
      const pace = yield* Pace.make(1)
      const seen: Array<string | undefined> = []
      for (const who of ["a", "b", "c"]) {
        storage.run(who, () => pace.take({ go: () => void seen.push(storage.getStore()) }))
      }
      yield* turn
      yield* turn
      assert.deepStrictEqual(seen, ["a", undefined, undefined])
    })
  )
})
