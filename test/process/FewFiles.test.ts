/** A service on a directory whose process may open few files. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { runnable } from "./Bundle.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"

const hoarder = (store: object, files_max: number) =>
  Children.start("test/process/hoarder.ts", [JSON.stringify(store)], {}, runnable, { files_max })

it.live(
  "a service does not start where it may open too few files, and says which limit that is",
  () =>
    Effect.gen(function* () {
      const child = yield* hoarder(yield* Homes.directory, 128)
      const { code } = yield* child.ended
      assert.strictEqual(code, 1)
      assert.match(
        child.text(),
        /DirectoryUnusable: \S+ cannot be used as a data directory: this process may open only \d+ more files, and its database needs 160 \(ulimit -n; 256 are enough\)\./
      )
    }).pipe(Effect.scoped)
)

const refused = "refused: StoreError"

it.live(
  "a service that may open no more files is not ready, loses nothing that it accepted, and is ready again once it may",
  () =>
    Effect.gen(function* () {
      const child = yield* hoarder(yield* Homes.directory, 256)
      yield* child.heard(({ notice }) => notice === "ready")
      const ask = (op: string, run?: unknown) => child.ask({ op, run })
      assert.match(String(yield* ask("ready")), /^200 /)
      const runs = [yield* ask("send")]
      assert.strictEqual(yield* ask("take"), "EMFILE")
      assert.match(String(yield* ask("ready")), /^503 .*may open no more files \(ulimit -n\)\./)
      // What needs no further file goes on.
      let last: unknown
      for (let n = 0; n < 200 && last !== refused; n++) {
        last = yield* ask("send")
        if (last !== refused) runs.push(last)
      }
      assert.strictEqual(last, refused)
      yield* ask("give back")
      assert.match(String(yield* ask("ready")), /^200 /)
      runs.push(yield* ask("send"))
      for (const run of runs) {
        assert.strictEqual(yield* ask("status", run), "complete", String(run))
      }
    }).pipe(Effect.scoped)
)
