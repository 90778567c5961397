/**
 * Several processes on one PostgreSQL under random kills, wrong clocks, a server that stands still and a disk that is full, for two
 * minutes in `npm run test:full`; `npm run soak` goes on for as long as it is told.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { siege } from "./Siege.ts"

it.live(
  "SA-42 two services and a worker that are killed with their server, or starved, leave no run open and do nothing twice",
  () =>
    Effect.gen(function* () {
      const found = yield* siege({
        seed: 5,
        load_ms: 120_000,
        services: 2,
        runs: 20,
        hard: true,
        // More than any call may take that a kill holds up, and far less than the lease of a call of the queue.
        end_ms_max: 150_000
      })
      assert.isAtLeast(found.runs, 20)
      assert.isAbove(found.effects, 0)
      assert.isAbove(Object.keys(found.done).length, 0)
    }),
  600_000
)
