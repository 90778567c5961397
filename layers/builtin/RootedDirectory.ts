/**
 * One directory of this machine, and what lies below it. A path is walked one name at a time, each opened without
 * following a link, and on Linux from the directory that was opened before it, so that nothing that is renamed or linked
 * meanwhile leads outside. Elsewhere each step is checked after it was opened. Hard links cannot be told from files.
 */
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import * as fs from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"
import { isAbsolute, join } from "node:path"
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import { truncateUnits } from "../../src/value/CutText.ts"
import { misdeclared } from "../../src/tool/MisdeclaredTool.ts"
import type { MisdeclaredTool } from "../../src/tool/MisdeclaredTool.ts"

/** What a path came to. `message` names the path below the root, and nothing above it. */
export class PathError extends Schema.TaggedError<PathError>()("PathError", {
  reason: Schema.Literals([
    "path",
    "not_found",
    "link",
    "not_file",
    "not_directory",
    "denied",
    "exists",
    "no_space",
    "failed"
  ]),
  message: Schema.String
}) {}

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** An open directory, and a path by which its entries are reached. */
export interface OpenDirectory {
  readonly handle: FileHandle
  readonly at: string
}

export interface RootedDirectory {
  /** The directory itself, as its real path. */
  readonly root: string
  /** Opens a directory below the root for as long as `use` takes. */
  readonly directory: <A>(
    path: string,
    use: (directory: OpenDirectory) => Promise<A>
  ) => Effect.Effect<A, PathError>
  /** Opens a directory below the root until the scope closes. */
  readonly open: (path: string) => Effect.Effect<OpenDirectory, PathError, Scope.Scope>
  /** Opens a regular file below the root to be read, for as long as `use` takes. */
  readonly file: <A>(
    path: string,
    use: (handle: FileHandle, bytes: number) => Promise<A>
  ) => Effect.Effect<A, PathError>
  /** Puts a file in its place whole, or not at all. True if there was none before. */
  readonly write: (
    path: string,
    content: Uint8Array,
    create_dirs: boolean
  ) => Effect.Effect<boolean, PathError>
}

const name_bytes_max = 255
const depth_max = 64

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""

/** What the system said, in our words: its own hold paths of this machine. */
const toPathError = (error: unknown, path: string): PathError => {
  if (error instanceof PathError) return error
  const say = (reason: PathError["reason"], what: string) =>
    new PathError({ reason, message: `${JSON.stringify(truncateUnits(path, 300))} ${what}` })
  switch (codeOf(error)) {
    case "ENOENT":
      return say("not_found", "does not exist")
    case "ELOOP":
    case "EMLINK":
      return say("link", "is a link, which is not followed")
    case "ENOTDIR":
      return say("not_directory", "is not a directory")
    case "EISDIR":
      return say("not_file", "is a directory")
    case "EEXIST":
    case "ENOTEMPTY":
      return say("exists", "exists already")
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return say("denied", "may not be opened so by this service")
    case "ENAMETOOLONG":
      return say("path", "is too long")
    case "ENOSPC":
    case "EDQUOT":
      return say("no_space", "cannot be written: no space is left")
    default:
      return say("failed", "could not be opened")
  }
}

/** The names of a relative path. `.` and doubled slashes are nothing; what could climb or change its meaning is refused. */
const namesOf = (path: string): ReadonlyArray<string> => {
  const refuse = (what: string) =>
    new PathError({
      reason: "path",
      message: `${JSON.stringify(truncateUnits(path, 300))} ${what}`
    })
  if (isAbsolute(path) || path.startsWith("/")) {
    throw refuse("is absolute: give a path relative to the working directory")
  }
  const names = path.split("/").filter((name) => name !== "" && name !== ".")
  for (const name of names) {
    if (name === "..") throw refuse("leads out of the working directory")
    // A NUL ends a path for the system; a backslash or a colon is more than a character on some.
    if (
      name.includes("\0") ||
      !name.isWellFormed() ||
      (process.platform === "win32" && /[\\:]/.test(name))
    ) {
      throw refuse("holds a character that a name cannot have")
    }
    if (Buffer.byteLength(name) > name_bytes_max) throw refuse("holds a name that is too long")
  }
  if (names.length > depth_max) throw refuse("is too deep")
  return names
}

const has_proc = process.platform === "linux"

/** Where an open directory's entries are reached: through the open directory itself, whatever its path now leads to. */
const pathThrough = (handle: FileHandle, path: string): string =>
  has_proc ? `/proc/self/fd/${handle.fd}` : path

/** Without a way through the open directory: is the path that was opened still what it says? */
const stands = async (handle: FileHandle, path: string, shown: string): Promise<void> => {
  if (has_proc) return
  const [opened, real] = [await handle.stat(), await fs.realpath(path)]
  const now = await fs.lstat(path)
  if (real === path && now.ino === opened.ino && now.dev === opened.dev) return
  throw new PathError({
    reason: "link",
    message: `${JSON.stringify(shown)} is a link, which is not followed`
  })
}

/** Opens one name of a directory, itself and never what it links to. */
const step = async (from: OpenDirectory, name: string, flags: number, shown: string) => {
  const path = join(from.at, name)
  let handle: FileHandle
  try {
    handle = await fs.open(path, flags | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    // A link where a directory was wanted is reported as "not a directory".
    const found = await fs.lstat(path).catch(() => undefined)
    throw found?.isSymbolicLink() === true
      ? Object.assign(new Error("link"), { code: "ELOOP" })
      : error
  }
  try {
    await stands(handle, path, shown)
  } catch (error) {
    await handle.close()
    throw error
  }
  return { handle, at: pathThrough(handle, path) }
}

/** Walks from the root; every directory on the way is closed again, and the last one is the caller's to close. */
const reach = async (
  root: string,
  names: ReadonlyArray<string>,
  create: boolean
): Promise<OpenDirectory> => {
  const handle = await fs.open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  let here: OpenDirectory = { handle, at: pathThrough(handle, root) }
  try {
    for (const [i, name] of names.entries()) {
      const shown = names.slice(0, i + 1).join("/")
      if (create) {
        await fs.mkdir(join(here.at, name)).catch((error: unknown) => {
          if (codeOf(error) !== "EEXIST") throw error
        })
      }
      const next = await step(here, name, O_RDONLY | O_DIRECTORY, shown)
      await here.handle.close()
      here = next
    }
    return here
  } catch (error) {
    await here.handle.close()
    throw error
  }
}

const walk = async <A>(
  root: string,
  names: ReadonlyArray<string>,
  create: boolean,
  use: (directory: OpenDirectory) => Promise<A>
): Promise<A> => {
  const directory = await reach(root, names, create)
  try {
    return await use(directory)
  } finally {
    await directory.handle.close()
  }
}

const notAFile = (path: string) =>
  new PathError({ reason: "not_file", message: `${JSON.stringify(path)} is not a regular file` })

/** The mode of the file that is to be replaced, or undefined if there is none. */
const modeOf = async (at: string, path: string): Promise<number | undefined> => {
  const found = await fs.lstat(at).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined
    throw error
  })
  if (found === undefined) return undefined
  if (found.isSymbolicLink()) throw Object.assign(new Error("link"), { code: "ELOOP" })
  if (!found.isFile()) throw notAFile(path)
  return found.mode & 0o777
}

/** Written beside its place, made durable, then renamed: a reader sees the old file or the new one. */
const replace = async (
  directory: OpenDirectory,
  name: string,
  path: string,
  content: Uint8Array,
  signal: AbortSignal
): Promise<boolean> => {
  const target = join(directory.at, name)
  const mode = await modeOf(target, path)
  const beside = join(directory.at, `.troupe-${randomUUID()}.tmp`)
  const handle = await fs.open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode ?? 0o644)
  try {
    await handle.writeFile(content)
    await handle.sync()
    await handle.close()
    signal.throwIfAborted()
    await fs.rename(beside, target)
    await directory.handle.sync().catch(() => undefined)
  } catch (error) {
    await handle.close().catch(() => undefined)
    await fs.unlink(beside).catch(() => undefined)
    throw error
  }
  return mode === undefined
}

/** A directory that exists. Fails with the tool's name where `root` is none, or is the whole machine. */
export const make = (tool: string, root: string): Effect.Effect<RootedDirectory, MisdeclaredTool> =>
  Effect.tryPromise({
    try: async () => {
      if (!isAbsolute(root)) throw new RangeError("relative")
      const real = await fs.realpath(root)
      if (!(await fs.stat(real)).isDirectory()) throw new RangeError("no directory")
      if (join(real, "..") === real) throw new RangeError("everything")
      return real
    },
    catch: () =>
      misdeclared(
        tool,
        "root",
        `${JSON.stringify(root)} is no directory that can be opened, or is the root of the machine`,
        "Write the absolute path of an existing directory"
      )
  }).pipe(
    Effect.map((real): RootedDirectory => {
      const trying = <A>(path: string, run: (signal: AbortSignal) => Promise<A>) =>
        Effect.tryPromise({ try: run, catch: (error) => toPathError(error, path) })
      return {
        root: real,
        open: (path) =>
          Effect.acquireRelease(
            trying(path, async () => reach(real, namesOf(path), false)),
            ({ handle }) => Effect.promise(() => handle.close())
          ),
        directory: (path, use) => trying(path, async () => walk(real, namesOf(path), false, use)),
        file: (path, use) =>
          trying(path, async () => {
            const names = namesOf(path)
            const name = names.at(-1)
            if (name === undefined) throw notAFile(path)
            return walk(real, names.slice(0, -1), false, async (directory) => {
              const { handle } = await step(directory, name, O_RDONLY, path)
              try {
                const stat = await handle.stat()
                if (!stat.isFile()) throw notAFile(path)
                return await use(handle, stat.size)
              } finally {
                await handle.close()
              }
            })
          }),
        write: (path, content, create_dirs) =>
          trying(path, async (signal) => {
            const names = namesOf(path)
            const name = names.at(-1)
            if (name === undefined || path.endsWith("/")) throw notAFile(path)
            return walk(real, names.slice(0, -1), create_dirs, (directory) =>
              replace(directory, name, path, content, signal)
            )
          })
      }
    })
  )
