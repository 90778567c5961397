/** `troupe replay` for an embedder: the directory and the module of its own service, from a clone and from the package. */
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/NodeService.ts"
import { call, layer, text } from "../../layers/model/ScriptedModelGateway.ts"
import * as Children from "../process/Child.ts"
import * as Homes from "../process/Homes.ts"
import { agents, tools } from "./EmbeddedApp.ts"

const root = join(import.meta.dirname, "../..")
const app = "test/replay/EmbeddedApp.ts"

/** A run of an embedded service that is over, and stopped. */
const embedded = (directory: string) =>
  Effect.promise(async () => {
    const model = layer([call("look", { order: "1003" }), text("It is paid.")])
    const troupe = await start({ agents, tools, model, store: { directory } })
    try {
      const sent = await troupe.send({ agent: "shop", text: "Is 1003 paid?" })
      for await (const item of troupe.watch(sent.conversation)) {
        if (item._tag === "Event" && item.entry.event._tag === "RunEnded") break
      }
      return sent.run
    } finally {
      await troupe.stop()
    }
  })

const environment = { TROUPE_DATABASE_URL: undefined, TROUPE_DATA: undefined }

const troupe = Effect.fnUntraced(function* (env: NodeJS.ProcessEnv, ...args: Array<string>) {
  const child = yield* Children.start("scripts/troupe.ts", args, { ...environment, ...env })
  const { code } = yield* child.ended
  return { code, text: child.text() }
})

const same = /gate\s+same; calls: 1 replayed/

it.live(
  "replays a run of the directory that an embedded service was given, with a module that imports the package by its name",
  () =>
    Effect.gen(function* () {
      const data = yield* Homes.temporary
      const own = join(data, "own")
      cpSync((yield* Homes.directory).directory, own, { recursive: true })
      const run = yield* embedded(own)

      const named = yield* troupe({ TROUPE_DATA: own }, "replay", run, "--app", app)
      assert.strictEqual(named.code, 0, named.text)
      assert.match(named.text, same)

      // A project of its own has another copy of the packages, or none; the command's own are taken.
      const elsewhere = join(data, "app.ts")
      cpSync(join(root, app), elsewhere)
      // What the command line says goes before what the environment says.
      const env = { TROUPE_DATA: data, TROUPE_DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" }
      const said = yield* troupe(env, "replay", run, "--app", elsewhere, "--data", own)
      assert.strictEqual(said.code, 0, said.text)
      assert.match(said.text, same)

      const above = yield* troupe({}, "replay", run, "--data", data)
      assert.strictEqual(above.code, 1)
      assert.include(above.text, `there is no store in ${data}`)
      assert.include(above.text, join(data, "pgdata"))
      assert.include(above.text, join(data, "db", "pgdata"))
      assert.deepEqual(readdirSync(data).toSorted(), ["app.ts", "own"])

      mkdirSync(join(own, "db", "pgdata"), { recursive: true })
      const two = yield* troupe({}, "replay", run, "--data", own)
      assert.strictEqual(two.code, 1)
      assert.include(two.text, `there are two stores in ${own}`)
    }),
  { timeout: 240_000 }
)

interface Manifest {
  readonly bin: { readonly troupe: string }
  readonly dependencies: Readonly<Record<string, string>>
}

const done = (program: string, args: ReadonlyArray<string>, cwd: string) => {
  const ran = spawnSync(program, args, { cwd, encoding: "utf8" })
  assert.strictEqual(ran.status, 0, `${program} ${args.join(" ")}: ${ran.stdout}${ran.stderr}`)
  return ran.stdout
}

/** Packs the package as `npm pack` does after its build, and lays it beneath a project that depends on it. */
const installed = (place: string): { readonly project: string; readonly bin: string } => {
  const made = join(place, "made")
  const project = join(place, "project")
  const modules = join(project, "node_modules")
  mkdirSync(made)
  for (const it of ["package.json", "src", "services", "layers"]) {
    cpSync(join(root, it), join(made, it), { recursive: true })
  }
  const build = ["--project", ".config/tsconfig.build.json", "--outDir", join(made, "dist")]
  done(join(root, "node_modules/.bin/tsc"), build, root)
  done("npm", ["pack", "--ignore-scripts"], made)
  const packed = readdirSync(made).find((name) => name.endsWith(".tgz"))!
  mkdirSync(join(modules, "troupe"), { recursive: true })
  done("tar", ["-xzf", join(made, packed), "-C", join(modules, "troupe"), "--strip=1"], made)
  const manifest = JSON.parse(
    readFileSync(join(modules, "troupe/package.json"), "utf8")
  ) as Manifest
  // What npm would install beside it; nothing else is there.
  for (const name of [...Object.keys(manifest.dependencies), "effect"]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, "node_modules", name), join(modules, name))
  }
  cpSync(join(root, app), join(project, "app.ts"))
  return { project, bin: join(modules, "troupe", manifest.bin.troupe) }
}

it.live(
  "the package brings the command, which replays with a module of the project",
  () =>
    Effect.gen(function* () {
      const place = yield* Homes.temporary
      const own = join(place, "own")
      cpSync((yield* Homes.directory).directory, own, { recursive: true })
      const run = yield* embedded(own)
      const { bin, project } = installed(place)
      assert.match(readFileSync(bin, "utf8"), /^#!\/usr\/bin\/env node\n/)
      const args = [bin, "replay", run, "--app", "app.ts", "--data", own]
      assert.match(done(process.execPath, args, project), same)
    }),
  { timeout: 240_000 }
)
