/**
 * The text of an archive: JSON lines, one for each row of a run that has ended. Each line has a digest over itself and the
 * digest of the line before, so that one that was changed, moved, added or left out is found. The digests have no key: they
 * protect from accidents, not from somebody who writes all of them anew.
 */
import { createHash } from "node:crypto"
import { Result, Schema } from "effect"

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
