/** What is left of the programs of a service that ended in a way that it could do nothing about. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { eventually } from "../contracts/Contract.ts"
import * as Children from "../process/Child.ts"
import * as Homes from "../process/Homes.ts"
import { family, gone, idsIn, isAlive } from "./Processes.ts"

/** Writes its process id and never lets go of its processor. */
const busy = (file: string) =>
  `require("node:fs").writeFileSync(${JSON.stringify(file)}, process.pid + " " + process.pid); for (;;);`

const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .trim()
    .split(" ")
    .filter(Boolean)
    .map(Number)

const commandOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "utf8")

/** The shell that watches over this service. */
const watcherOf = (service: number) =>
  eventually(
    Effect.sync(() => childrenOf(service).filter((pid) => commandOf(pid).startsWith("/bin/sh"))),
    (found) => found.length === 1
  ).pipe(Effect.map((found) => found[0]!))

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  it.live(`programs of a service that ${signal} ends do not outlive it, whatever they do`, () =>
    Effect.gen(function* () {
      const home = yield* Homes.temporary
      const files = [join(home, "family"), join(home, "busy")] as const
      const service = yield* Children.start("test/agents/holder.ts", [
        family(files[0]),
        busy(files[1])
      ])
      const ids = (yield* Effect.forEach(files, idsIn)).flat()
      const watcher = yield* watcherOf(service.pid)
      assert.deepStrictEqual(ids.filter(isAlive), ids)
      yield* service.signal(signal)
      yield* service.gone
      yield* gone([...ids, watcher])
    }).pipe(Effect.scoped)
  )
}

it.live("another watcher takes the place of one that was killed, and knows every program", () =>
  Effect.gen(function* () {
    const home = yield* Homes.temporary
    const [first, second] = [join(home, "first"), join(home, "second")]
    const service = yield* Children.start("test/agents/holder.ts", [family(first), family(second)])
    const ids = [...(yield* idsIn(first)), ...(yield* idsIn(second))]
    const watcher = yield* watcherOf(service.pid)
    process.kill(watcher, "SIGKILL")
    yield* gone([watcher])
    const other = yield* watcherOf(service.pid)
    assert.notStrictEqual(other, watcher)
    yield* service.kill
    yield* gone([...ids, other])
  }).pipe(Effect.scoped)
)
