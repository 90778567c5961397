/** `troupe replay` for an embedder: the directory and the module of its own service. */
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { root } from "../package/Packed.ts"
import * as Children from "../process/Child.ts"
import * as Homes from "../process/Homes.ts"
import { app, endedRun, replayedAlike } from "./EmbeddedRun.ts"

const environment = { TROUPE_DATABASE_URL: undefined, TROUPE_DATA: undefined }

const troupe = Effect.fnUntraced(function* (env: NodeJS.ProcessEnv, ...args: Array<string>) {
  const child = yield* Children.start("scripts/troupe.ts", args, { ...environment, ...env })
  const { code } = yield* child.ended
  return { code, text: child.text() }
})

it.live(
  "replays a run of the directory that an embedded service was given, with a module that imports the package by its name",
  () =>
    Effect.gen(function* () {
      const data = yield* Homes.temporary
      const own = join(data, "own")
      cpSync((yield* Homes.directory).directory, own, { recursive: true })
      const run = yield* endedRun(own)

      const named = yield* troupe({ TROUPE_DATA: own }, "replay", run, "--app", app)
      assert.strictEqual(named.code, 0, named.text)
      assert.match(named.text, replayedAlike)

      // A project of its own has another copy of the packages, or none; the command's own are taken.
      const elsewhere = join(data, "app.ts")
      cpSync(join(root, app), elsewhere)
      // What the command line says goes before what the environment says.
      const env = { TROUPE_DATA: data, TROUPE_DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" }
      const said = yield* troupe(env, "replay", run, "--app", elsewhere, "--data", own)
      assert.strictEqual(said.code, 0, said.text)
      assert.match(said.text, replayedAlike)

      const above = yield* troupe({}, "replay", run, "--data", data)
      assert.strictEqual(above.code, 1)
      assert.include(above.text, `there is no store in ${data}`)
      assert.include(above.text, join(data, "pgdata"))
      assert.include(above.text, join(data, "db", "pgdata"))
      assert.deepEqual(readdirSync(data).toSorted(), ["app.ts", "own"])

      // `npm start` serves a module without tools, too.
      writeFileSync(elsewhere, "export const agents = []")
      const bare = yield* troupe({}, "replay", run, "--app", elsewhere, "--data", own)
      assert.strictEqual(bare.code, 0, bare.text)
      assert.include(bare.text, "an agent of this run is not defined here")
      writeFileSync(elsewhere, "export const agents = [], tools = [{ name: 'look' }]")
      const odd = yield* troupe({}, "replay", run, "--app", elsewhere, "--data", own)
      assert.strictEqual(odd.code, 1)
      assert.include(odd.text, "exports tools.0, which neither tool nor govern nor remote made")
      const away = { TROUPE_MODEL_BASE_URL: "http://127.0.0.1:1/v1" }
      const asking = ["--app", app, "--model", "gone", "--data", own]
      const unasked = yield* troupe(away, "replay", run, ...asking)
      assert.strictEqual(unasked.code, 1, unasked.text)
      assert.include(unasked.text, "gone: failed (model_transient)")

      // As where a disk is not mounted: nothing is made there.
      const files = join(own, "db", "pgdata")
      mkdirSync(files, { recursive: true })
      const empty = yield* troupe({}, "replay", run, "--data", join(own, "db"))
      assert.strictEqual(empty.code, 1)
      assert.include(empty.text, `there is no store in ${join(own, "db")}`)
      assert.deepEqual(readdirSync(files), [])

      writeFileSync(join(files, "PG_VERSION"), "18")
      const two = yield* troupe({}, "replay", run, "--data", own)
      assert.strictEqual(two.code, 1)
      assert.include(two.text, `there are two stores in ${own}`)
    }),
  { timeout: 240_000 }
)
