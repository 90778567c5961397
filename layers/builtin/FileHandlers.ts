/**
 * `read_file`, `list_dir` and `write_file` over one directory that the operator names.
 */
import * as fs from "node:fs/promises"
import type { Dirent } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import {
  entries_max,
  readingGovernance,
  ReadingTools,
  writingGovernance,
  WritingTools
} from "../../src/builtin/FileTools.ts"
import { truncateUnits } from "../../src/value/CutText.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import type { GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import { misdeclared, strayOption } from "../../src/tool/MisdeclaredTool.ts"
import { errorOf } from "./PathFailure.ts"
import type { OpenDirectory } from "./RootedDirectory.ts"
import * as RootedDirectory from "./RootedDirectory.ts"

export interface Options {
  /** The absolute path of the directory that the tools see; nothing outside it can be named. */
  readonly root: string
  /** The greatest file that `write_file` writes. Absent = 1,000,000; at most 16,000,000. */
  readonly write_bytes_max?: number
}

/** Little enough for the model's copy of a result to hold it whole. */
const page_default = 24_000
const write_default = 1_000_000
const write_most = 16_000_000
/** Names that are read of one directory before they are sorted. */
const scan_max = 20_000

const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80

interface Page {
  readonly content: string
  readonly offset: number
  readonly next_offset: number
}

/**
 * The whole characters of `bytes`, which lie in a file at `at`, from `offset` on and at most `most` bytes of them.
 * Undefined if it is no text: it holds a NUL, or what is not UTF-8.
 */
const pageOf = (bytes: Uint8Array, at: number, offset: number, most: number): Page | undefined => {
  let start = Math.min(offset - at, bytes.length)
  while (start > 0 && isContinuation(bytes[start])) start--
  let end = Math.min(start + most, bytes.length)
  while (end > start && isContinuation(bytes[end])) end--
  const part = bytes.subarray(start, end)
  if (part.includes(0)) return undefined
  const content = Buffer.from(part).toString("utf8")
  if (!Buffer.from(content).equals(part)) return undefined
  return { content, offset: at + start, next_offset: at + end }
}

const kindOf = (entry: Dirent): "file" | "directory" | "link" | "other" =>
  entry.isFile()
    ? "file"
    : entry.isDirectory()
      ? "directory"
      : entry.isSymbolicLink()
        ? "link"
        : "other"

const listed = async ({ at }: OpenDirectory) => {
  const found: Array<Dirent> = []
  let more = false
  for await (const entry of await fs.opendir(at)) {
    if (found.length === scan_max) {
      more = true
      break
    }
    found.push(entry)
  }
  found.sort((a, b) => (a.name < b.name ? -1 : 1))
  const entries = []
  for (const entry of found.slice(0, entries_max)) {
    const kind = kindOf(entry)
    const stat =
      kind === "file" ? await fs.lstat(join(at, entry.name)).catch(() => undefined) : undefined
    entries.push(
      stat === undefined ? { name: entry.name, kind } : { name: entry.name, kind, bytes: stat.size }
    )
  }
  return { entries, more: more || found.length > entries_max }
}

const binary = (path: string) =>
  new ToolUserError({
    kind: "invalid_args",
    reason: "FILE_BINARY",
    message: `${JSON.stringify(truncateUnits(path, 300))} is not a text file in UTF-8`
  })

/** `read_file` and `list_dir`, for a registry. They need the capability `fs.read`. */
export const reading = (
  options: Pick<Options, "root">
): Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool> =>
  Effect.gen(function* () {
    const stray = strayOption("read_file", options, { root: true })
    if (stray !== undefined) return yield* stray
    const files = yield* RootedDirectory.make("read_file", options.root)
    return yield* govern(ReadingTools, readingGovernance, {
      read_file: Effect.fnUntraced(function* ({ max_bytes = page_default, offset = 0, path }) {
        const read = yield* Effect.mapError(
          files.file(path, async (handle, total_bytes) => {
            // A little more on both sides, to see where the characters at the edges begin.
            const at = Math.max(0, Math.min(offset, total_bytes) - 3)
            const buffer = Buffer.alloc(Math.min(max_bytes + 4, Math.max(0, total_bytes - at)))
            let length = 0
            while (length < buffer.length) {
              const { bytesRead } = await handle.read(
                buffer,
                length,
                buffer.length - length,
                at + length
              )
              if (bytesRead === 0) break
              length += bytesRead
            }
            const wanted = Math.min(offset, total_bytes)
            return { page: pageOf(buffer.subarray(0, length), at, wanted, max_bytes), total_bytes }
          }),
          errorOf
        )
        if (read.page === undefined) return yield* binary(path)
        const { page, total_bytes } = read
        return { path, total_bytes, has_more: page.next_offset < total_bytes, ...page }
      }),
      list_dir: ({ path = "." }) =>
        Effect.mapBoth(files.directory(path, listed), {
          onSuccess: (list) => ({ path, ...list }),
          onFailure: errorOf
        })
    })
  })

/** `write_file`, for a registry. It needs the capability `fs.write`, and asks a person unless its permission says otherwise. */
export const writing = (
  options: Options
): Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool> =>
  Effect.gen(function* () {
    const stray = strayOption("write_file", options, { root: true, write_bytes_max: true })
    if (stray !== undefined) return yield* stray
    const files = yield* RootedDirectory.make("write_file", options.root)
    const most = options.write_bytes_max ?? write_default
    if (!Number.isSafeInteger(most) || most < 1 || most > write_most) {
      return yield* misdeclared(
        "write_file",
        "write_bytes_max",
        `${most} is out of bounds`,
        `Write 1 to ${write_most}`
      )
    }
    return yield* govern(WritingTools, writingGovernance, {
      write_file: Effect.fnUntraced(function* ({ content, create_dirs = false, path }) {
        if (!content.isWellFormed()) {
          return yield* new ToolUserError({
            kind: "invalid_args",
            reason: "NOT_UNICODE",
            message: "the content has half a character (a lone surrogate): send whole ones"
          })
        }
        const bytes = Buffer.from(content)
        if (bytes.length > most) {
          return yield* new ToolUserError({
            kind: "invalid_args",
            reason: "FILE_TOO_LARGE",
            message: `the content has ${bytes.length} bytes; at most ${most} may be written`
          })
        }
        const created = yield* Effect.mapError(files.write(path, bytes, create_dirs), errorOf)
        return { path, bytes: bytes.length, created }
      })
    })
  })
