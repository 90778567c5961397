import { assert, describe, it } from "@effect/vitest"
import { Effect, Scheduler } from "effect"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

/** Fibers yield after every few operations, so that others run at every place where they may. */
class Yielding extends Scheduler.MixedScheduler {
  #operations = 0
  readonly #budget: number
  constructor(budget: number) {
    super()
    this.#budget = budget
  }
  override shouldYield(): boolean {
    return ++this.#operations % this.#budget === 0
  }
}

describe("a loop whose fiber yields before it sleeps", () => {
  for (const budget of [5, 7, 11, 13]) {
    it.live(`sees what came in between, at ${budget} operations per turn`, () => {
      let asked = 0
      const script = () =>
        Effect.gen(function* () {
          const yields = asked++ % 25
          for (let i = 0; i < yields; i++) yield* Effect.yieldNow
          return text("there")
        })
      return Effect.gen(function* () {
        for (let i = 0; i < 50; i++) {
          const run = yield* H.send("hello", `c-${i}`)
          const all = yield* H.ended(run, `c-${i}`)
          assert.strictEqual(all.at(-1)?._tag, "RunEnded")
        }
      }).pipe(
        Effect.provide(H.layer({ script })),
        Effect.provideService(Scheduler.Scheduler, new Yielding(budget))
      )
    })
  }
})
