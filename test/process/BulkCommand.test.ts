/** `troupe bulk`, as a process beside a service that shares its database. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { anna, letterId, postOffice } from "../console/ConsoleScene.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as Children from "./Child.ts"

const orders = [0, 1, 2].map((order) => ({ order }))

it.live(
  "counts, changes nothing without --yes, and with it says of each what became of it",
  () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres.migrated
      const { troupe } = yield* Effect.acquireRelease(
        Effect.promise(() => postOffice(orders, { store: { postgres } })),
        ({ troupe }) => Effect.promise(() => troupe.stop())
      )
      const waiting = (count: number) =>
        Effect.promise(() =>
          vi.waitFor(async () => assert.lengthOf(await troupe.deadLetters({}, anna), count), 10_000)
        )
      yield* waiting(3)
      const env = { TROUPE_DATABASE_URL: postgres }
      const bulk = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
        const child = yield* Children.start("scripts/troupe.ts", ["bulk", ...args], env)
        const { code } = yield* child.ended
        return [code, child.text()] as const
      })
      const input = '{"key":"order-1","reason":"no order"}'
      assert.deepStrictEqual(yield* bulk("discard", "--input", input), [
        0,
        "1 dead letters match; nothing was changed: add --yes\n"
      ])
      yield* waiting(3)
      assert.deepStrictEqual(yield* bulk("discard", "--input", input, "--yes"), [
        0,
        `done    ${letterId(1)}\n1 dead letters match: 1 done, 0 skipped, 0 failed\n`
      ])
      yield* waiting(2)
      const letter = yield* Effect.promise(() => troupe.deadLetter(letterId(1), anna))
      assert.match(letter.resolved_by ?? "", /^command line \(/)
      assert.strictEqual(letter.resolved_reason, "no order")
      const [code, json] = yield* bulk("discard", "--tenant", "globex", "--json")
      assert.deepStrictEqual([code, JSON.parse(json)], [0, { count: 0 }])
      assert.strictEqual((yield* bulk("discard", "--yes"))[0], 1)
      assert.strictEqual((yield* bulk("cancel", "--input", '{"colour":"red"}'))[0], 1)
      assert.strictEqual((yield* bulk("approve"))[0], 2)
      yield* waiting(2)
    }).pipe(Effect.scoped),
  240_000
)
