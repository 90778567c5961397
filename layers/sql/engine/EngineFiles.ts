/**
 * The files of an embedded database, watched while its engine uses them. PostgreSQL gives up a statement whose table cannot grow;
 * where its log cannot grow it panics, and an engine within a process never returns from that. So the log must get its space
 * first, and only its files say when it needs some.
 */
import { NodeFS } from "@electric-sql/pglite/nodefs"
import { closeSync, openSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** What is told of the files, on the engine's thread, while a statement runs. */
export interface FileWatcher {
  /** The engine has used a file: it is not standing still. */
  readonly used: () => void
  /** The engine is at this file of its log: it begins to write it, or has read it at its start. It is called more than once. */
  readonly logs: (segment: string) => void
  /** Whether a table, an index or a temporary file may be written. `grows` says whether it would become larger. */
  readonly mayWrite: (grows: () => boolean) => boolean
  /** The log could not be written: the engine is about to panic. */
  readonly lost: () => void
}

type Init = NodeFS["init"]
type Module = Parameters<NonNullable<Parameters<Init>[1]["preRun"]>[number]>[0]

/** A file of the log, in the directory of the log. */
const segment = /\/pg_wal\/([0-9A-F]{24})$/
const in_log = "/pg_wal/"
/**
 * Files of tables and indexes, and temporary ones. Others are small, and a vacuum needs them or an error there is a panic: maps
 * of free space and of what is visible, and the list of files.
 */
const data = /\/base\/(\d+\/\d+(\.\d+)?|pgsql_tmp\/.*)$/

/** The number of ENOSPC in the engine. */
const no_space = 51

/** The stream of an open file, as Emscripten's file systems have it. */
interface OpenFile {
  readonly path?: string
  readonly flags: number
}

/** The bits of the flags of an open file that are set unless it is only read. */
const may_write = 3

const watch = ({ FS, NODEFS }: Module, watcher: FileWatcher): void => {
  const ops = NODEFS["stream_ops"] as {
    open: (stream: OpenFile) => void
    read: (stream: OpenFile, buffer: unknown, offset: number, length: number, at: number) => number
    write: (stream: OpenFile, buffer: unknown, offset: number, length: number, at: number) => number
    getattr: (stream: OpenFile) => { readonly size: number }
  }
  const { getattr, open, read, write } = ops
  let last = ""
  const noteLog = (path: string): void => {
    const [, name] = segment.exec(path) ?? []
    if (name === undefined) return
    last = path
    watcher.logs(name)
  }
  ops.open = (stream) => {
    watcher.used()
    open(stream)
    // One that is opened to be written may be there for later.
    if ((stream.flags & may_write) === 0) noteLog(stream.path ?? "")
  }
  ops.read = (stream, buffer, offset, length, at) => {
    watcher.used()
    return read(stream, buffer, offset, length, at)
  }
  ops.write = (stream, buffer, offset, length, at) => {
    watcher.used()
    const { path = "" } = stream
    const isLog = path === last || path.includes(in_log)
    if (isLog) {
      if (path !== last) noteLog(path)
    } else if (data.test(path) && !watcher.mayWrite(() => at + length > getattr(stream).size)) {
      throw new FS.ErrnoError(no_space)
    }
    try {
      return write(stream, buffer, offset, length, at)
    } catch (error) {
      if (isLog) watcher.lost()
      throw error
    }
  }
}

/** The files of a directory, which is created if it is missing. */
export class EngineFiles extends NodeFS {
  readonly #watcher: FileWatcher

  constructor(directory: string, watcher: FileWatcher) {
    super(directory)
    this.#watcher = watcher
  }

  override async init(...[pg, options]: Parameters<Init>): ReturnType<Init> {
    const { emscriptenOpts } = await super.init(pg, options)
    const preRun = [
      ...(emscriptenOpts.preRun ?? []),
      (module: Module) => watch(module, this.#watcher)
    ]
    return { emscriptenOpts: { ...emscriptenOpts, preRun } }
  }
}

const isLimit = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE")

/** The number of files that can be opened now, at most `max`, which is how many it tries. */
export const openable = (max: number): number => {
  const opened: Array<number> = []
  try {
    while (opened.length < max) opened.push(openSync(process.execPath, "r"))
    return max
  } catch (error) {
    // Another error says nothing about the limit.
    return isLimit(error) ? opened.length : max
  } finally {
    for (const file of opened) closeSync(file)
  }
}

const refused = /^could not create file "([\w/.]+)": File exists$/

/** Creates the empty file that this failure of a statement names, unless it exists. The next statement then finds it. */
export const makeGhost = (data: string, cause: unknown): void => {
  if (!(cause instanceof Error) || !("code" in cause) || cause.code !== "58P02") return
  const [, path] = refused.exec(cause.message) ?? []
  if (path === undefined || path.includes("..")) return
  try {
    writeFileSync(join(data, path), "", { flag: "wx", mode: 0o600 })
  } catch {
    // The file exists, or cannot be created yet: the statement fails as before.
  }
}
