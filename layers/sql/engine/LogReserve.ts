/**
 * Keeps files of an embedded database's log ahead of the one that is written, so that the log can go on where the disk is full.
 * PostgreSQL uses such a file where it finds one, and makes one otherwise.
 */
import { closeSync, openSync, readdirSync, renameSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"

/** The size of a file of the log, which PostgreSQL fixes when it makes a database. */
export const segment_bytes = 16 * 2 ** 20
/**
 * One for what a statement logs until it is given up, at most what the engine's buffers hold, and one for reads, the end of
 * transactions and the checkpoint that makes room.
 */
export const segments = 2

const named = /^[0-9A-F]{24}$/
const segments_per_log = 0x1_0000_0000 / segment_bytes

const hex = (n: number): string => n.toString(16).toUpperCase().padStart(8, "0")

/** The name of the file after this one: a timeline, then a number in two halves. */
const after = (name: string): string => {
  const log = Number.parseInt(name.slice(8, 16), 16)
  const next = Number.parseInt(name.slice(16), 16) + 1
  const [high, low] = next < segments_per_log ? [log, next] : [log + 1, 0]
  return `${name.slice(0, 8)}${hex(high)}${hex(low)}`
}

const zeros = Buffer.alloc(2 ** 20)

const writeZeros = (file: number): void => {
  for (let at = 0; at < segment_bytes; at += zeros.length)
    writeSync(file, zeros, 0, zeros.length, at)
}

/** Makes a file with its bytes on the disk, then gives it its name: half a file would count as a whole one. */
const makeFile = (path: string): void => {
  // PostgreSQL removes files of such a name when it starts.
  const made = join(path, "../xlogtemp.reserve")
  try {
    const file = openSync(made, "w", 0o600)
    try {
      writeZeros(file)
    } finally {
      closeSync(file)
    }
    renameSync(made, path)
  } catch (error) {
    rmSync(made, { force: true })
    throw error
  }
}

export interface LogReserve {
  /** The engine is at this file of its log. True = it is the newest so far. */
  readonly moved: (name: string) => boolean
  /** How many files are ahead, as of the last `fill`. */
  readonly ahead: () => number
  /**
   * Counts the files that are ahead, and makes those that are missing: the first if the disk has space for it, the others if they
   * leave `left_bytes_min`.
   */
  readonly fill: (free_bytes: number, left_bytes_min: number) => void
  /** Removes what is ahead beyond the reserve: PostgreSQL keeps files for a log that goes on as fast as it did. */
  readonly trim: () => void
  /** Fills what is ahead with zeros, in place: such a file may be one that was written before, and has what was logged then. */
  readonly clear: () => void
}

export const make = (database: string): LogReserve => {
  const directory = join(database, "pg_wal")
  let current = ""
  let ahead = 0

  const files = (): Array<string> => readdirSync(directory).filter((name) => named.test(name))

  const fill = (free_bytes: number, left_bytes_min: number): void => {
    if (current === "") return
    try {
      const there = new Set(files())
      let left = free_bytes
      let name = current
      for (ahead = 0; ahead < segments; ahead++) {
        name = after(name)
        if (there.has(name)) continue
        left -= segment_bytes
        if (left < (ahead === 0 ? 0 : left_bytes_min)) return
        makeFile(join(directory, name))
      }
    } catch {
      // The disk was filled meanwhile, or refuses a file: `ahead` says how far it came.
    }
  }

  return {
    moved: (name) => {
      if (name <= current) return false
      current = name
      return true
    },
    ahead: () => ahead,
    fill,
    trim: () => {
      if (current === "") return
      let last = current
      for (let n = 0; n < segments; n++) last = after(last)
      for (const name of files()) {
        if (name > last) rmSync(join(directory, name), { force: true })
      }
    },
    clear: () => {
      for (const name of files()) {
        if (name <= current) continue
        const file = openSync(join(directory, name), "r+")
        try {
          writeZeros(file)
        } finally {
          closeSync(file)
        }
      }
    }
  }
}
