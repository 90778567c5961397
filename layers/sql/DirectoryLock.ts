/**
 * One process per data directory. PGlite takes no lock of its own, and two processes that write the same files destroy
 * them.
 *
 * The lock is the operating system's: an exclusive SQLite transaction on an empty file, which is a byte-range lock that
 * the kernel gives to one process atomically and takes back when that process ends, however it ends. So there is no stale
 * lock to be judged, no process id that may have been given to another process, and no moment between a check and a take.
 * The file of the process id is only for the message of whoever is refused. On a network file system the lock is as good
 * as that system's byte-range locks.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect, Schema } from "effect"
import type { Scope } from "effect"

/** A living process uses the directory. `pid` is 0 where it is not known. */
export class DirectoryInUse extends Schema.TaggedError<DirectoryInUse>()("DirectoryInUse", {
  directory: Schema.String,
  pid: Schema.Int
}) {
  override get message(): string {
    return `${this.directory} is in use by process ${this.pid}. One process at a time may open a data directory; stop that one, or choose another directory.`
  }
}

/** The directory cannot be made or written. */
export class DirectoryUnusable extends Schema.TaggedError<DirectoryUnusable>()(
  "DirectoryUnusable",
  { directory: Schema.String, reason: Schema.String }
) {
  override get message(): string {
    return `${this.directory} cannot be used as a data directory: ${this.reason}.`
  }
}

const sqlite_busy = 5

const busy = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && error.errcode === sqlite_busy

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "it could not be locked"

const holder = (file: string): number => {
  try {
    const pid = Number.parseInt(readFileSync(file, "utf8"), 10)
    return Number.isSafeInteger(pid) ? pid : 0
  } catch {
    return 0
  }
}

/** Reachable from here, so that no lock is closed by the garbage collector. */
const held = new Set<DatabaseSync>()

const take = (directory: string, pidFile: string): DatabaseSync => {
  mkdirSync(directory, { recursive: true })
  const file = new DatabaseSync(join(directory, "lock"), { timeout: 0 })
  try {
    // No journal file: the transaction never writes.
    file.exec("PRAGMA journal_mode = OFF")
    file.exec("BEGIN EXCLUSIVE")
    writeFileSync(pidFile, String(process.pid))
    held.add(file)
    return file
  } catch (error) {
    file.close()
    throw error
  }
}

/** Holds the directory, which is made if it is missing, until the scope closes or the process ends. */
export const acquire = (
  directory: string
): Effect.Effect<void, DirectoryInUse | DirectoryUnusable, Scope.Scope> => {
  const pidFile = join(directory, "pid")
  return Effect.asVoid(
    Effect.acquireRelease(
      Effect.try({
        try: () => take(directory, pidFile),
        catch: (error) =>
          busy(error)
            ? new DirectoryInUse({ directory, pid: holder(pidFile) })
            : new DirectoryUnusable({ directory, reason: codeOf(error) })
      }),
      (file) =>
        Effect.sync(() => {
          held.delete(file)
          rmSync(pidFile, { force: true })
          file.close()
        })
    )
  )
}
