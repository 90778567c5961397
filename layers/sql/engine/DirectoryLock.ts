/**
 * Allows one process per data directory. PGlite takes no lock of its own, and two processes that write the same files destroy
 * them.
 *
 * The lock is the operating system's: an exclusive SQLite transaction on an empty file. That is a byte-range lock, which the
 * kernel gives to one process atomically and releases when that process ends, however it ends. So there are no stale locks, no
 * process ids that may belong to another process by now, and no gap between a check and a lock. The file with the process id is
 * used only in the error of a process that is refused. On a network file system the lock is as reliable as that system's
 * byte-range locks.
 */
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { dirname, join, relative } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect, Schema } from "effect"
import type { Scope } from "effect"

/** Another living process uses the directory. `pid` is its process id, 0 where that is not known. */
export class DirectoryInUse extends Schema.TaggedError<DirectoryInUse>()("DirectoryInUse", {
  /** The path of the directory. */
  directory: Schema.String,
  /** The id of the process that uses it; 0 = not known. */
  pid: Schema.Int
}) {
  override get message(): string {
    return `${this.directory} is in use by process ${this.pid}. One process at a time may open a data directory; stop that one, or choose another directory.`
  }
}

/** The directory cannot be created or written. */
export class DirectoryUnusable extends Schema.TaggedError<DirectoryUnusable>()(
  "DirectoryUnusable",
  {
    /** The path of the directory. */
    directory: Schema.String,
    /** What the system said. */
    reason: Schema.String
  }
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

/** The held locks are referenced here, so that the garbage collector does not close them. */
const held = new Set<DatabaseSync>()

/** Makes a path inaccessible to other users, because a database contains all conversations. False where the system refuses. */
const closeToOthers = (path: string, mode: number): boolean => {
  try {
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, mode)
    return true
  } catch {
    return false
  }
}

/**
 * Makes the database's files and directories inaccessible to other users. It made them with the modes of its directory, which was
 * open to others.
 */
const closeFiles = (directory: string): void => {
  for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) closeToOthers(path, 0o600)
    else if (entry.isDirectory()) closeToOthers(path, 0o700)
  }
}

/**
 * Sets all directories to mode 0700 and all files to 0600, also existing ones, if the directory is open to others. Fails where it
 * cannot be read.
 */
export const harden = (directory: string): Effect.Effect<void, DirectoryUnusable> =>
  Effect.try({
    try: () => {
      if (!existsSync(directory) || (statSync(directory).mode & 0o077) === 0) return
      closeFiles(directory)
      closeToOthers(directory, 0o700)
    },
    catch: (error) => new DirectoryUnusable({ directory, reason: codeOf(error) })
  })

/** The directory of the database in a data directory, and the file that every database has. */
export const database_directory = "pgdata"
const version_file = "PG_VERSION"

/** Whether a data directory has a database. An empty one, as of a disk that is not mounted, has none. */
export const hasDatabase = (directory: string): boolean =>
  existsSync(join(directory, database_directory, version_file))

/**
 * The id of the user whose database it is, where files that this process makes there would be another user's: that user could not
 * open them, and its next start would fail. Some file systems give every file to one user, so a new file is looked at.
 */
const foreignOwner = (directory: string): number | undefined => {
  const found = statSync(join(directory, database_directory, version_file), {
    throwIfNoEntry: false
  })
  if (found === undefined || found.uid === process.geteuid?.()) return undefined
  const made = join(directory, `owner-${process.pid}`)
  try {
    writeFileSync(made, "", { mode: 0o600 })
    return statSync(made).uid === found.uid ? undefined : found.uid
  } finally {
    rmSync(made, { force: true })
  }
}

const failIfForeign = (directory: string): void => {
  const owner = foreignOwner(directory)
  if (owner === undefined) return
  throw new DirectoryUnusable({
    directory,
    reason: `its database belongs to user ${owner}, who could not open new files of user ${process.geteuid?.()}: run this as user ${owner}`
  })
}

/** Why this process cannot open a file; undefined if it can. */
const refusalOf = (path: string): string | undefined => {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return undefined
  } catch (error) {
    const owner = statSync(path, { throwIfNoEntry: false })?.uid
    return owner === undefined ? codeOf(error) : `${codeOf(error)}: it belongs to user ${owner}`
  }
}

/** Why the database cannot be opened, if one of its files is not there for this user: then it is not broken. */
export const unopenable = (directory: string): DirectoryUnusable | undefined => {
  try {
    const database = join(directory, database_directory)
    for (const entry of readdirSync(database, { withFileTypes: true, recursive: true })) {
      const path = join(entry.parentPath, entry.name)
      const why = refusalOf(path)
      if (why === undefined) continue
      const reason = `${relative(directory, path)} cannot be opened (${why})`
      return new DirectoryUnusable({ directory, reason })
    }
  } catch (error) {
    return new DirectoryUnusable({ directory, reason: codeOf(error) })
  }
  return undefined
}

/**
 * Creates a directory one level at a time: Node's recursive `mkdir` never returns below a file system that takes no directories,
 * such as /proc.
 */
const makeDirectory = (directory: string): void => {
  if (existsSync(directory)) return
  makeDirectory(dirname(directory))
  try {
    mkdirSync(directory, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it meanwhile.
    if (!existsSync(directory)) throw error
  }
}

const take = (directory: string, pidFile: string): DatabaseSync => {
  makeDirectory(directory)
  if (!statSync(directory).isDirectory()) {
    throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" })
  }
  failIfForeign(directory)
  const file = new DatabaseSync(join(directory, "lock"), { timeout: 0 })
  closeToOthers(join(directory, "lock"), 0o600)
  try {
    // No journal file: the transaction never writes.
    file.exec("PRAGMA journal_mode = OFF")
    file.exec("BEGIN EXCLUSIVE")
    writeFileSync(pidFile, String(process.pid), { mode: 0o600 })
    held.add(file)
    return file
  } catch (error) {
    file.close()
    throw error
  }
}

/**
 * Locks the directory, which is created if it is missing, until the scope closes or the process ends. Its mode becomes 0700, even
 * if it existed before; a warning is logged where that is not possible.
 */
export const acquire = (
  directory: string
): Effect.Effect<void, DirectoryInUse | DirectoryUnusable, Scope.Scope> => {
  const pidFile = join(directory, "pid")
  return Effect.andThen(
    Effect.acquireRelease(
      Effect.try({
        try: () => take(directory, pidFile),
        catch: (error) => {
          if (error instanceof DirectoryUnusable) return error
          return busy(error)
            ? new DirectoryInUse({ directory, pid: holder(pidFile) })
            : new DirectoryUnusable({ directory, reason: codeOf(error) })
        }
      }),
      (file) =>
        Effect.sync(() => {
          held.delete(file)
          rmSync(pidFile, { force: true })
          file.close()
        })
    ),
    Effect.suspend(() =>
      closeToOthers(directory, 0o700)
        ? Effect.void
        : Effect.logWarning(
            `${directory} is open to other users of this machine, and its mode cannot be changed to 0700`
          )
    )
  )
}
