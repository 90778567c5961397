/** What a process with an embedded database holds when nothing happens. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as Homes from "./Homes.ts"

/** With an allocator that gives back what it no longer uses, as `layers/sql/README.md` says and the image has it. */
const most = 350_000_000

it.live(
  "a process with an embedded database rests with less than 350 MB of memory",
  () =>
    Effect.gen(function* () {
      const home = yield* Homes.directory
      const directory = "directory" in home ? home.directory : ""
      const file = fileURLToPath(new URL("resting.ts", import.meta.url))
      const args = ["--conditions=troupe-source", file, directory, String(most)]
      const { stdout } = yield* Effect.promise(() =>
        promisify(execFile)(process.execPath, args, {
          env: { ...process.env, MALLOC_TRIM_THRESHOLD_: "131072" },
          timeout: 150_000
        })
      )
      assert.match(stdout, /^\d+\n$/)
      assert.isBelow(Number(stdout), most)
    }),
  180_000
)
