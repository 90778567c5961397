/**
 * A storm on an embedded database whose service also stands still, has a wrong clock, and whose disk is full at times, where one
 * can be mounted.
 */
import { cpSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import * as Homes from "./Homes.ts"
import * as Judge from "./Judge.ts"
import type * as Service from "./Service.ts"
import type { SmallDisk } from "./SmallDisk.ts"
import { small } from "./SmallDisk.ts"
import { storm } from "./Storm.ts"

/** Room for the files of a database under load, in MB. */
const disk_mega = 600

/** What happens to a service before its kill. */
const troubles =
  (disk: SmallDisk | undefined, count: (what: string) => void) =>
  (service: Service.Service, random: (below: number) => number): Effect.Effect<void> => {
    const what = random(10)
    if (what < 3) {
      count("clock wrong")
      return Effect.ignore(
        Effect.andThen(service.skew(random(1_200_000) - 600_000), Effect.sleep(random(3_000)))
      )
    }
    if (what < 5) {
      count("stood still")
      return Effect.gen(function* () {
        yield* service.child.signal("SIGSTOP")
        yield* Effect.sleep(random(6_000))
        yield* service.child.signal("SIGCONT")
        yield* Effect.sleep(random(1_000))
      })
    }
    if (what < 8 && disk !== undefined) {
      count("disk full")
      return Effect.gen(function* () {
        disk.fill(random(500_000))
        yield* Effect.sleep(500 + random(4_000))
        disk.free()
        yield* Effect.sleep(random(2_000))
      })
    }
    return Effect.void
  }

export const stormOnDisk = Effect.fnUntraced(function* (
  seed: number,
  load_ms: number,
  report: (line: string) => void
) {
  const disk = yield* small(disk_mega)
  if (disk === undefined) report("no disk is filled: this user may not mount one")
  const made = yield* Homes.directory
  const directory = disk === undefined ? made.directory : join(disk.path, "db")
  if (disk !== undefined) cpSync(made.directory, directory, { recursive: true })
  const judge = yield* Judge.slow(40)
  const done: Record<string, number> = {}
  const found = yield* storm({ store: { directory }, counter: judge.url, park_ms: 200 }, judge, {
    seed,
    kills: Infinity,
    load_ms,
    runs_min: 20,
    questions_min: 8,
    trouble: troubles(disk, (what) => {
      done[what] = (done[what] ?? 0) + 1
      report(what)
    }),
    report
  })
  return { done, ...found }
})
