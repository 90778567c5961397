/** Services with a small heap, that are sent more than it could hold at once. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"
import * as Service from "./Service.ts"

const result_units = 300_000
const results = 4

interface Storms {
  readonly store: unknown
  readonly heap_mega: number
  /** In each storm. */
  readonly runs: number
  /** After how many ms the service of each storm is killed; undefined = it is not. In one storm more all that is left has to end. */
  readonly kills_ms: ReadonlyArray<number | undefined>
}

const started = (store: unknown, log: string, heap_mega: number) =>
  Effect.gen(function* () {
    const env = { NODE_OPTIONS: `--max-old-space-size=${heap_mega}` }
    const args = [JSON.stringify(store), log, String(result_units)]
    const child = yield* Children.start("test/process/glutton.ts", args, env)
    yield* child.heard(({ notice }) => notice === "ready")
    return child
  })

/** How many runs there are by status, once none of them is open. Dies with what was printed where the process has ended. */
const over = (child: Children.Child) =>
  Service.until(
    Effect.delay(child.ask({ op: "counts" }), 250) as Effect.Effect<
      Readonly<Record<string, number>>,
      Children.Refused
    >,
    ({ pending = 0, processing = 0 }) => pending + processing === 0,
    300_000
  ).pipe(
    Effect.catch(({ reason }) => Effect.die(new Error(`${reason}: ${child.text().slice(-4_000)}`)))
  )

/** Every run that was acknowledged ends well, by itself, and each of its calls had one effect. */
const withstood = Effect.fnUntraced(function* ({
  heap_mega,
  kills_ms,
  runs,
  store
}: Storms): Effect.fn.Return<void, Children.Refused, Scope.Scope> {
  const log = join(yield* Homes.temporary, "effects")
  let sent = 0
  for (const kill_ms of [...kills_ms, undefined]) {
    yield* Effect.scoped(
      Effect.gen(function* () {
        const child = yield* started(store, log, heap_mega)
        sent += (yield* child.ask({ op: "send", runs })) as number
        if (kill_ms !== undefined) {
          yield* Effect.sleep(kill_ms)
          return yield* child.kill
        }
        assert.deepStrictEqual(yield* over(child), { complete: sent })
      })
    )
  }
  assert.strictEqual(sent, (kills_ms.length + 1) * runs)
  const effects = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []
  assert.strictEqual(new Set(effects).size, sent * results)
})

describe("a heap of 128 MB", () => {
  it.live(
    "holds a service in memory that is sent runs with more results than it could hold",
    () =>
      Effect.gen(function* () {
        const child = yield* started("ephemeral", join(yield* Homes.temporary, "effects"), 128)
        assert.strictEqual(yield* child.ask({ op: "send", runs: 100 }), 100)
        assert.hasAllKeys(yield* over(child), ["complete"])
      }).pipe(Effect.scoped),
    180_000
  )

  for (const [engine, home] of Homes.both) {
    it.live(
      `holds a service on ${engine} whose open runs another one left, and all of them end`,
      () =>
        Effect.gen(function* () {
          yield* withstood({
            store: yield* home,
            heap_mega: 128,
            runs: 40,
            kills_ms: [1_500]
          })
        }).pipe(Effect.scoped),
      400_000
    )
  }
})

describe("storms at 256 MB", () => {
  for (const [engine, home] of Homes.both) {
    it.live(
      `SA-42 on ${engine} lose nothing, do nothing twice and need no hand`,
      () =>
        Effect.gen(function* () {
          yield* withstood({
            store: yield* home,
            heap_mega: 256,
            // Large rows take the embedded engine longer.
            runs: engine === "PGlite" ? 15 : 50,
            // The second while the service takes up what the first one left.
            kills_ms: [500, 100, undefined, 1_100, 1_700]
          })
        }).pipe(Effect.scoped),
      900_000
    )
  }
})
