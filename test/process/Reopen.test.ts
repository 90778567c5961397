/** A directory belongs to one process at a time, and to the next one as soon as that is gone. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"
import * as Judge from "./Judge.ts"
import * as Service from "./Service.ts"

/** Longer than the test may take: nobody waits for a lease to pass. */
const lease_ms = 3_600_000

it.live(
  "what a killed process had on its way goes on as soon as its directory is opened again",
  () =>
    Effect.gen(function* () {
      const judge = yield* Judge.start
      const options = {
        store: yield* Homes.directory,
        counter: judge.url,
        lease_ms,
        relay_ms: lease_ms
      }
      const first = yield* Service.start({
        ...options,
        holds: [
          { point: "model", tag: "run" },
          { point: "send", tag: "webhook" }
        ]
      })
      const run = yield* first.send("run", ["once"])
      const parked = yield* first.send("parked", ["gated"])
      yield* Service.question(first, parked)
      yield* first.reached("model", "run")
      yield* first.webhooks("webhook")
      yield* first.reached("send", "webhook")
      yield* first.child.kill

      const second = yield* Service.start(options)
      Judge.assertComplete(yield* Service.ended(second, run), "run")
      yield* Service.until(second.depth, (depth) => depth === 0)
      yield* second.decide((yield* Service.question(second, parked)).id)
      Judge.assertComplete(yield* Service.ended(second, parked), "parked")
      assert.deepStrictEqual(
        judge
          .seen()
          .map(({ tag }) => tag)
          .sort(),
        ["parked", "run", "webhook"]
      )
    }),
  120_000
)

it.live(
  "of two services on one directory the second ends with the reason, and the first serves on",
  () =>
    Effect.gen(function* () {
      const judge = yield* Judge.start
      const options = { store: yield* Homes.directory, counter: judge.url }
      const first = yield* Service.start(options)
      const config = { ...options, holds: [], model_ms: 0, park_ms: 1, lease_ms, relay_ms: 1_000 }
      const second = yield* Children.start("test/process/worker.ts", [JSON.stringify(config)])
      assert.strictEqual((yield* second.ended).code, 1)
      assert.include(second.text(), `in use by process ${first.child.pid}`)
      const run = yield* first.send("run", ["once"])
      Judge.assertComplete(yield* Service.ended(first, run), "run")
    }),
  120_000
)
