/**
 * Scripts that tests start as processes, each made into one file with what it imports. Half of what such a process needs
 * to start is finding and linking a thousand files; they are put together once, until a source changes.
 */
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { Effect } from "effect"
import { isFull } from "../Long.ts"
import { kept } from "../sql/Kept.ts"

const root = join(import.meta.dirname, "../..")
/** Most of the rest of a start is compiling the same code again. */
const compiled_files = join(root, "node_modules/.cache/troupe-test/compiled")

/** All at once, because they share nearly all that they import. */
const scripts = [
  "test/entry/uploader.ts",
  "scripts/chat.ts",
  "scripts/start.ts",
  "test/agents/holder.ts",
  "test/delivery/deliverer.ts",
  "test/process/asker.ts",
  "test/process/counter.ts",
  "test/process/glutton.ts",
  "test/process/hoarder.ts",
  "test/process/host.ts",
  "test/process/slowstop.ts",
  "test/process/talker.ts",
  "test/process/toolworker.ts",
  "test/process/worker.ts",
  "test/queue/worker.ts",
  "test/sql/appender.ts",
  "test/sql/holder.ts",
  "test/sql/stander.ts"
]

/**
 * Code for processes of seconds. What V8 gains by compiling PGlite, or other code a last time, better, is less than
 * what it costs, and a process does not end before that is done.
 */
export const flags: ReadonlyArray<string> = ["--liftoff-only", ...(isFull ? [] : ["--no-turbofan"])]

const isSource = (path: string): boolean => path.endsWith(".ts") && !path.endsWith(".test.ts")

/** Whatever a bundle may be made of. */
const digest = (): string => {
  const hash = createHash("sha256").update(readFileSync(join(root, "package-lock.json")))
  for (const folder of ["src", "services", "layers", "scripts", "test"]) {
    const paths = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    for (const path of paths.filter(isSource).toSorted()) {
      hash.update(path).update(readFileSync(join(root, folder, path)))
    }
  }
  return hash.digest("hex").slice(0, 16)
}

/** Ours and Effect; what other packages hold may be found by where it stands. */
const isOutside = (id: string): boolean => !/^(?:[./]|effect$|effect\/|@effect\/)/.test(id)

/** A killed process would leave nothing compiled for the next one. */
const flush = `import { flushCompileCache as flush_ } from "node:module"; setTimeout(flush_, 50).unref()`

const nameOf = (script: string): string => `${basename(dirname(script))}-${basename(script, ".ts")}`

const make = (path: string) =>
  Effect.promise(async () => {
    // Loaded by the one that makes them.
    const { rolldown } = await import("rolldown")
    const input = Object.fromEntries(scripts.map((script) => [nameOf(script), join(root, script)]))
    const bundle = await rolldown({ input, platform: "node", external: isOutside })
    await bundle.write({
      dir: path,
      // Its name says what a module is; a look into each costs a tenth of a start, and so do comments.
      entryFileNames: "[name].mjs",
      chunkFileNames: "[name]-[hash].mjs",
      comments: false,
      banner: ({ isEntry }) => (isEntry ? flush : "")
    })
    await bundle.close()
  })

let made: string | undefined

export interface Runnable {
  readonly file: string
  /** Where its code is kept when it is compiled. */
  readonly compiled: string
}

/** The bundle of one of the scripts, by its path from the repository's root. */
export const bundled = (script: string): Effect.Effect<Runnable> =>
  Effect.gen(function* () {
    if (!scripts.includes(script)) return yield* Effect.die(new Error(`${script} has no bundle`))
    const folder = made ?? (yield* kept("bundled", digest(), make))
    made = folder
    return { file: join(folder, `${nameOf(script)}.mjs`), compiled: join(folder, "compiled") }
  })

/** What to start for a script: the tests' own as a bundle, what people start as it is. */
export const runnable = (script: string): Effect.Effect<Runnable> =>
  script.startsWith("test/") && scripts.includes(script)
    ? bundled(script)
    : Effect.succeed({ file: join(root, script), compiled: compiled_files })
