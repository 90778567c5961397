/**
 * What tests make once and keep between runs, under the digest of what it is made by. Of several processes that need it
 * at the same time one makes it, and the others wait.
 */
import { createHash } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"

const cache = join(import.meta.dirname, "../../node_modules/.cache/troupe-test")

/** Of these files, and of those in these folders. */
export const digestOf = (paths: ReadonlyArray<string>): string => {
  const hash = createHash("sha256")
  for (const path of paths) {
    const files = statSync(path).isDirectory()
      ? readdirSync(path).map((name) => join(path, name))
      : [path]
    for (const file of files) hash.update(readFileSync(file))
  }
  return hash.digest("hex").slice(0, 16)
}

/** Whether the process that wrote the lock still runs; a lock without its writer's id is a moment old. */
const isHeld = (lock: string): boolean => {
  try {
    const pid = Number.parseInt(readFileSync(lock, "utf8"), 10)
    if (!Number.isNaN(pid)) process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Takes the lock; false where another process has it. A lock whose process was killed is removed. */
const taken = (lock: string): boolean => {
  if (existsSync(lock) && !isHeld(lock)) rmSync(lock, { force: true })
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" })
    return true
  } catch {
    return false
  }
}

/** Makes it at another path and renames it, so that what stands there is whole. */
const made = <E, R>(
  kind: string,
  name: string,
  make: (path: string) => Effect.Effect<void, E, R>
) =>
  Effect.gen(function* () {
    const path = join(cache, name)
    for (const old of readdirSync(cache)) {
      if (old.startsWith(`${kind}-`) && !old.startsWith(name)) {
        rmSync(join(cache, old), { recursive: true, force: true })
      }
    }
    const own = `${path}.${process.pid}`
    yield* make(own)
    // Where two processes have removed the lock of a killed one, both make it, and the first one's stays.
    if (existsSync(path)) rmSync(own, { recursive: true, force: true })
    else renameSync(own, path)
  })

/** The path of the file or folder that `make` writes to the path that it gets. */
export const kept = <E, R>(
  kind: string,
  digest: string,
  make: (path: string) => Effect.Effect<void, E, R>
): Effect.Effect<string, E, R> =>
  Effect.suspend(() => {
    const name = `${kind}-${digest}`
    const path = join(cache, name)
    const lock = `${path}.lock`
    if (existsSync(path)) return Effect.succeed(path)
    mkdirSync(cache, { recursive: true })
    const attempt = Effect.suspend(() => {
      if (existsSync(path)) return Effect.succeed(true)
      if (!taken(lock)) return Effect.succeed(false)
      // It may have been made since it was looked for.
      const work = existsSync(path) ? Effect.void : made(kind, name, make)
      return Effect.as(
        Effect.ensuring(
          work,
          Effect.sync(() => rmSync(lock, { force: true }))
        ),
        true
      )
    })
    // The real clock, also in a test that sets its own.
    const wait = Effect.promise(() => setTimeout(50))
    return attempt.pipe(
      Effect.tap((done) => (done ? Effect.void : wait)),
      Effect.repeat({ until: (done) => done }),
      Effect.as(path)
    )
  })
