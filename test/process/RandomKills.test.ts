/** Random kills under load, in `npm run test:full`; `npm run crash-test` does hundreds. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Homes from "./Homes.ts"
import * as Judge from "./Judge.ts"
import { storm } from "./Storm.ts"

for (const [engine, home] of Homes.both) {
  it.live(
    `SA-42 a service on ${engine} that is killed at random under load loses nothing and does nothing twice`,
    () =>
      Effect.gen(function* () {
        const judge = yield* Judge.slow(40)
        const options = { store: yield* home, counter: judge.url, park_ms: 200 }
        const found = yield* storm(options, judge, {
          seed: 2,
          kills: 40,
          runs_min: 20,
          questions_min: 8
        })
        assert.isAtLeast(found.runs_min, 20)
        assert.isAtLeast(found.questions_min, 8)
        assert.isAbove(found.effects, found.runs)
      }),
    900_000
  )
}
