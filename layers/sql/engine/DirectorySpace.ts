/**
 * Decides whether an embedded database may write: by the free space on the disk of its directory, by the reserve of its log, and
 * by whether files can be opened. Writes are refused before the engine meets the end of its disk, which it would not survive.
 */
import { constants, statfsSync } from "node:fs"
import { access } from "node:fs/promises"
import { Effect } from "effect"
import { StoreError } from "../../../services/StoreError.ts"
import type { StoreSpace } from "../../../services/StoreSpace.ts"
import * as LogReserve from "./LogReserve.ts"
import { openable } from "./EngineFiles.ts"

const mega = 2 ** 20
/** The least free bytes beside the reserve of the log: writes that leave less are refused, and no table grows. */
const free_bytes_min = 32 * mega
/** With fewer free bytes the reserve of the log is made at once. With more, the upkeep makes it soon. */
const near_bytes = 1024 * mega
/** How long the free bytes are taken for unchanged, in ms: long enough to cost nothing, too short for a disk to fill. */
const known_ms = 10
/** A byte that is written is logged too. */
const bytes_per_byte = 2
/** The least number of files that can still be opened: a statement may need a table, its indexes and a log file at once. */
const files_min = 16

const refused = (message: string) => new StoreError({ message })

/** Why a directory with so little space is refused. */
const lowOf = (free: number): string =>
  `the disk of the store has ${Math.floor(free / mega)} MB left`

const freeBytes = (directory: string): number => {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

/** What a new database takes, with its migrations and the reserve of its log. */
const new_bytes = 128 * mega

/** Why no database can be made in this directory; undefined if one can. */
export const refusalToMake = (directory: string): string | undefined => {
  const free = freeBytes(directory)
  return free < new_bytes ? `${lowOf(free)}, and a new one needs ${new_bytes / mega} MB` : undefined
}

/** Why opening a database failed here, if the disk is the cause; undefined if it has space. */
export const refusalToOpen = (directory: string): string | undefined => {
  const free = freeBytes(directory)
  return free < free_bytes_min ? `${lowOf(free)}, too little to open it` : undefined
}

export interface DirectorySpace extends StoreSpace {
  /** Why writes are refused now; undefined if they are not. */
  readonly refusal: () => string | undefined
  /** Why a statement with so many bytes is refused where small ones are not; undefined if it is not. */
  readonly tooLarge: (bytes: number) => string | undefined
  /** Why even reads are refused: they may log something, and the log has no space left. */
  readonly exhausted: () => string | undefined
  /** A statement took from the reserve, and the disk has little space to make it anew: a checkpoint frees files of the log. */
  readonly wantsCheckpoint: () => boolean
  /** Makes what the reserve lacks, as far as the disk has space. */
  readonly keepReserve: () => void
  /** Fills the files of the log that are ahead with zeros. */
  readonly clearLog: () => void
  /** The database is open. Until then nothing is refused to the engine: its recovery writes what has its space already. */
  readonly started: () => void
  /** The running statement has ended. */
  readonly settled: () => void
  readonly logs: (segment: string) => void
  readonly mayWrite: (grows: () => boolean) => boolean
}

const checkOf = (directory: string, refusal: () => string | undefined): StoreSpace["check"] =>
  Effect.gen(function* () {
    if (openable(files_min) < files_min) {
      return yield* refused("this process may open no more files (ulimit -n)")
    }
    yield* Effect.tryPromise({
      try: () => access(directory, constants.W_OK),
      catch: () => refused("the directory of the store cannot be written")
    })
    const low = refusal()
    if (low !== undefined) return yield* refused(low)
  })

/** `database` is the engine's own directory within `directory`. */
export const make = (directory: string, database: string): DirectorySpace => {
  const log = LogReserve.make(database)
  let free = 0
  let known_at = -Infinity
  let isStarted = false
  let isCut = false
  let wantsCheckpoint = false

  const isKept = (): boolean => log.ahead() >= LogReserve.segments

  /** Free bytes. A directory that cannot be asked has none. */
  const look = (keep: (bytes: number) => boolean): number => {
    try {
      free = freeBytes(directory)
      if (free < free_bytes_min) {
        log.trim()
        free = freeBytes(directory)
      }
      if (keep(free)) {
        log.fill(free, free_bytes_min)
        free = freeBytes(directory)
      }
    } catch {
      free = 0
    }
    known_at = performance.now()
    return free
  }
  const left = (): number =>
    performance.now() - known_at < known_ms
      ? free
      : look((bytes) => bytes < near_bytes && !isKept())

  const refusal = () => {
    const bytes = left()
    return bytes < free_bytes_min ? lowOf(bytes) : undefined
  }

  return {
    check: checkOf(directory, refusal),
    refusal,
    tooLarge: (bytes) =>
      left() - bytes * bytes_per_byte < free_bytes_min
        ? `${lowOf(free)}, too little for a statement of ${Math.ceil(bytes / mega)} MB`
        : undefined,
    exhausted: () =>
      log.ahead() === 0 && left() < LogReserve.segment_bytes ? lowOf(free) : undefined,
    wantsCheckpoint: () => wantsCheckpoint,
    keepReserve: () => {
      wantsCheckpoint = false
      look(() => true)
    },
    clearLog: () => log.clear(),
    started: () => {
      isStarted = true
      isCut = false
    },
    settled: () => {
      isCut = false
    },
    logs: (segment) => {
      if (!log.moved(segment)) return
      look(() => true)
      if (isKept()) return
      wantsCheckpoint = true
      isCut = free < free_bytes_min
    },
    mayWrite: (grows) => !isStarted || (!isCut && (left() >= free_bytes_min || !grows()))
  }
}
