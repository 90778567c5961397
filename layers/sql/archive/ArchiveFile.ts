/**
 * Archives: files of JSON lines, one for each row of a run that has ended, which are written whole or not at all. Each line has a
 * digest over itself and the digest of the line before, so that one that was changed, moved, added or left out is found. The digests
 * have no key: they protect from accidents, not from somebody who writes all of them anew.
 */
import { createHash } from "node:crypto"
import { Result, Schema, Effect, Exit } from "effect"
import { createReadStream } from "node:fs"
import { mkdir, open, rename, rm, stat } from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"
import { dirname } from "node:path"
import type { Scope } from "effect"

/** The format version, which the first line has. It is raised when older versions could not read what newer ones write. */
export const archive_format = 2

/** The format of versions from before the first release. Its lines are the same, but its schema counts other migrations. */
export const unreleased_format = 1

/** The most UTF-16 units of a line. A longer line is refused when it is read. */
export const line_units_max = 128 * 2 ** 20

/** The tables whose rows become lines, in the order of the rows of a run. */
export const archived_tables = [
  "conversations",
  "conversation_messages",
  "agent_tasks",
  "runs",
  "run_details",
  "run_events",
  "approvals",
  "turn_costs",
  "call_records",
  "blob_uses"
] as const
export type ArchivedTable = (typeof archived_tables)[number]

/**
 * The kind of a line. `archive` is the first line and `end` the last one; `run` begins a run; `blob_bytes` is a piece of a file.
 */
export type LineKind = ArchivedTable | "archive" | "run" | "blob_bytes" | "end"

const kinds: ReadonlySet<string> = new Set<LineKind>([
  ...archived_tables,
  "archive",
  "run",
  "blob_bytes",
  "end"
])
const isKind = (text: string): text is LineKind => kinds.has(text)

export interface ArchiveLine {
  /** From 1. */
  readonly number: number
  readonly kind: LineKind
  /** The JSON of the row, exactly as in the archive: numbers keep all their digits. */
  readonly text: string
  readonly row: Readonly<Record<string, unknown>>
}

/** A line of the archive is refused. Reading stops there, and nothing of the run at this line is imported. */
export class ArchiveRefused extends Schema.TaggedError<ArchiveRefused>()("ArchiveRefused", {
  line: Schema.Int,
  reason: Schema.String
}) {
  override get message(): string {
    return `line ${this.line} of the archive is refused: ${this.reason}.`
  }
}

const digestOf = (before: string, body: string): string =>
  createHash("sha256").update(before).update("\n").update(body).digest("hex")

const bodyOf = (kind: string, row: string): string => `"kind":"${kind}","row":${row}`

/** Makes the lines of one archive, in their order. */
export class LineWriter {
  #digest = ""

  /** Makes a line, including its line end. `row` is the JSON of an object, without line breaks. */
  line(kind: LineKind, row: string): string {
    const body = bodyOf(kind, row)
    this.#digest = digestOf(this.#digest, body)
    return `{${body},"sha256":"${this.#digest}"}\n`
  }
}

const shape = /^\{"kind":"([a-z_]+)","row":(\{.*\}),"sha256":"([0-9a-f]{64})"\}$/s

const Row = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
const decodeRow = Schema.decodeUnknownResult(Row)

/** Reads the lines of one archive, in their order. */
export class LineReader {
  #digest = ""
  #number = 0

  /** Reads a line. `text` does not include the line end. */
  read(text: string): Result.Result<ArchiveLine, ArchiveRefused> {
    const number = ++this.#number
    const refused = (reason: string) => Result.fail(new ArchiveRefused({ line: number, reason }))
    const [, kind = "", row = "", digest] = shape.exec(text) ?? []
    if (digest === undefined) return refused("it is no line of an archive")
    this.#digest = digestOf(this.#digest, bodyOf(kind, row))
    if (this.#digest !== digest) {
      return refused("its digest is another: it was changed, or lines are missing before it")
    }
    if (!isKind(kind)) return refused(`it holds "${kind}", which this version does not know`)
    const value = decodeRow(row)
    if (Result.isFailure(value)) return refused("its row is no JSON object")
    return Result.succeed({ number, kind, text: row, row: value.success })
  }
}

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

/** Writes a text that consists of whole lines. */
export type Write<E> = (lines: string) => Effect.Effect<void, E>

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
