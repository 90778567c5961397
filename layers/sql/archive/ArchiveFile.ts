/**
 * Archives as files, which are written whole or not at all and read line by line.
 */
import { createReadStream } from "node:fs"
import { mkdir, open, rename, rm, stat } from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"
import { dirname } from "node:path"
import { Effect, Exit, Schema } from "effect"
import type { Scope } from "effect"
import type { ArchiveLine } from "./ArchiveText.ts"
import { ArchiveRefused, line_units_max, LineReader } from "./ArchiveText.ts"
import type { Write } from "./RunExport.ts"

export class ArchiveUnusable extends Schema.TaggedError<ArchiveUnusable>()("ArchiveUnusable", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.path} cannot be used as an archive: ${this.reason}.`
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "this user may not use it",
  EEXIST: "it is there already, and no file is replaced",
  EISDIR: "it is a directory",
  ENOENT: "there is no such file",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of the path is a file",
  EROFS: "its file system is read-only"
}

const left_behind =
  "it is empty: an archive is being written to it, or the process that wrote it was killed. If none is, remove it"

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error && "code" in error && typeof error.code === "string")) {
    return String(error)
  }
  const known = reasons[error.code]
  return known === undefined ? error.code : `${known} (${error.code})`
}

const attempt = <A>(path: string, what: () => Promise<A>): Effect.Effect<A, ArchiveUnusable> =>
  Effect.tryPromise({
    try: what,
    catch: (error) => new ArchiveUnusable({ path, reason: reasonOf(error) })
  })

/** Creates an empty file to reserve the name. Fails if the name is taken. */
const reserve = async (path: string): Promise<void> => {
  try {
    await (await open(path, "wx", 0o600)).close()
  } catch (error) {
    const found = await stat(path).catch(() => undefined)
    throw found?.isFile() === true && found.size === 0 ? left_behind : error
  }
}

const synced = async (path: string): Promise<void> => {
  const handle = await open(path, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Writes a new file, accessible to this user only. It gets its content under its name only when all of it is on the disk; until
 * then the name belongs to an empty file. An existing file is not replaced.
 */
export const writeFile = <A, E, R>(
  path: string,
  content: (write: Write<ArchiveUnusable>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | ArchiveUnusable, R> => {
  const part = `${path}.part`
  const make = Effect.gen(function* () {
    yield* attempt(path, () => mkdir(dirname(path), { recursive: true, mode: 0o700 }))
    yield* attempt(path, () => reserve(path))
    return yield* attempt(part, () => open(part, "w", 0o600))
  })
  return Effect.acquireUseRelease(
    make,
    (file: FileHandle) =>
      Effect.gen(function* () {
        const result = yield* content((lines) =>
          Effect.asVoid(attempt(part, () => file.appendFile(lines)))
        )
        yield* attempt(part, () => file.sync())
        return result
      }),
    (file, exit) =>
      Effect.andThen(
        Effect.ignore(attempt(part, () => file.close())),
        Exit.isSuccess(exit)
          ? attempt(path, async () => {
              await rename(part, path)
              await synced(dirname(path))
            })
          : Effect.ignore(
              attempt(path, async () => {
                await rm(part, { force: true })
                await rm(path, { force: true })
              })
            )
      )
  )
}

/** The lines of a file without their line ends. At a line that is too long it yields undefined and ends. */
const textLines = async function* (path: string): AsyncGenerator<string | undefined> {
  let rest = ""
  for await (const chunk of createReadStream(path, { encoding: "utf8" })) {
    const pieces = (rest + String(chunk)).split("\n")
    rest = pieces.pop() ?? ""
    yield* pieces
    if (rest.length > line_units_max) return yield undefined
  }
  if (rest !== "") yield rest
}

/** The lines of an archive. `next` gives one at a time, and undefined at the end. */
export interface Lines {
  readonly next: Effect.Effect<ArchiveLine | undefined, ArchiveRefused | ArchiveUnusable>
}

export const readFile = (path: string): Effect.Effect<Lines, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => textLines(path)),
      (texts) => Effect.promise(() => texts.return(undefined))
    ),
    (texts): Lines => {
      const reader = new LineReader()
      let number = 0
      return {
        next: Effect.gen(function* () {
          const { done, value } = yield* attempt(path, () => texts.next())
          if (done === true) return undefined
          number++
          if (value === undefined) {
            return yield* new ArchiveRefused({ line: number, reason: "it is too long" })
          }
          return yield* Effect.fromResult(reader.read(value))
        })
      }
    }
  )
