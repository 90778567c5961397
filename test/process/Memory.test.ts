/** Services with a small heap, that are sent more than it could hold at once. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import { isFull } from "../Long.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"
import * as Service from "./Service.ts"

const result_units = 300_000
const results = 4

interface Storms {
  readonly store: unknown
  readonly heap_mega: number
  readonly storms: number
  /** In each of them. */
  readonly runs: number
  /** After how many ms the service is killed in each; undefined = it is not. */
  readonly kill_ms: (storm: number) => number | undefined
}

const started = (store: unknown, log: string, heap_mega: number) =>
  Effect.gen(function* () {
    const env = { NODE_OPTIONS: `--max-old-space-size=${heap_mega}` }
    const args = [JSON.stringify(store), log, String(result_units)]
    const child = yield* Children.start("test/process/glutton.ts", args, env)
    yield* child.heard(({ notice }) => notice === "ready")
    return child
  })

/** How many runs there are by status, once none of them is open. A process that has ended answers nothing, which fails. */
const over = (child: Children.Child) =>
  Service.until(
    Effect.delay(child.ask({ op: "counts" }), 250) as Effect.Effect<
      Readonly<Record<string, number>>,
      Children.Refused
    >,
    ({ pending = 0, processing = 0 }) => pending + processing === 0,
    300_000
  )

/** Every run that was acknowledged ends well, by itself, and each of its calls had one effect. */
const withstood = Effect.fnUntraced(function* ({
  heap_mega,
  kill_ms,
  runs,
  storms,
  store
}: Storms): Effect.fn.Return<void, Children.Refused, Scope.Scope> {
  const log = join(yield* Homes.temporary, "effects")
  let sent = 0
  for (let storm = 0; storm < storms; storm++) {
    yield* Effect.scoped(
      Effect.gen(function* () {
        const child = yield* started(store, log, heap_mega)
        sent += (yield* child.ask({ op: "send", runs })) as number
        const ms = kill_ms(storm)
        if (ms !== undefined) {
          yield* Effect.sleep(ms)
          return yield* child.kill
        }
        assert.deepStrictEqual(yield* over(child), { complete: sent })
      })
    )
  }
  assert.strictEqual(sent, storms * runs)
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

  for (const [engine, home] of Homes.some) {
    it.live(
      `holds a service on ${engine} whose open runs another one left, and all of them end`,
      () =>
        Effect.gen(function* () {
          yield* withstood({
            store: yield* home,
            heap_mega: 128,
            storms: 2,
            runs: 40,
            kill_ms: (storm) => (storm === 0 ? 1_500 : undefined)
          })
        }).pipe(Effect.scoped),
      400_000
    )
  }
})

if (isFull) {
  describe("storms at 256 MB", () => {
    for (const [engine, home] of Homes.both.filter(([engine]) => engine === "PostgreSQL")) {
      it.live(
        `SA-42 on ${engine} lose nothing, do nothing twice and need no hand`,
        () =>
          Effect.gen(function* () {
            yield* withstood({
              store: yield* home,
              heap_mega: 256,
              storms: 6,
              runs: 50,
              kill_ms: (storm) => (storm % 2 === 0 ? 500 + storm * 300 : undefined)
            })
          }).pipe(Effect.scoped),
        900_000
      )
    }
  })
}
