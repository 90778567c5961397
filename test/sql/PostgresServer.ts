/**
 * A real PostgreSQL server in a directory and on a port of its own.
 */
import type { ChildProcess } from "node:child_process"
import { execFile, execFileSync, spawn } from "node:child_process"
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Programs } from "./PostgresPrograms.ts"
import { programs, publicDirectory } from "./PostgresPrograms.ts"

export interface PostgresServer {
  readonly port: number
  /** Where its files are. */
  readonly data: string
  /** kill -9 of the server and of what it started; back when they are gone. */
  readonly crash: () => Promise<void>
  /** Stops the server and its children as a debugger does: connections stay open, and nobody answers on them. */
  readonly pause: () => void
  readonly resume: () => void
  readonly start: () => Promise<void>
  /** False after a crash, also one of its own. */
  readonly isUp: () => boolean
  readonly stop: () => Promise<void>
}

export const user = "postgres"
export const password = "troupe"

/** Making a database takes seconds; more than this is a fault, in ms. */
const initdb_ms_max = 120_000
/** What is kept of what a server said before it ended, in UTF-16 units. */
const said_max = 4_000

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once("error", reject)
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The server and what it started. */
const family = (databaseDir: string): ReadonlyArray<number> => {
  const pid = Number.parseInt(readFileSync(join(databaseDir, "postmaster.pid"), "utf8"), 10)
  const children = execFileSync("ps", ["-o", "pid=", "--ppid", String(pid)])
    .toString()
    .split("\n")
    .flatMap((line) => (line.trim() === "" ? [] : [Number(line)]))
  return [pid, ...children]
}

const signal = (ids: ReadonlyArray<number>, name: NodeJS.Signals): void => {
  for (const each of ids) if (lives(each)) process.kill(each, name)
}

/** Backends that lose their server end by themselves, and hold its memory until they have. */
const crash = async (databaseDir: string): Promise<void> => {
  const ids = family(databaseDir)
  signal(ids, "SIGKILL")
  while (ids.some(lives)) await new Promise((wait) => setTimeout(wait, 10))
}

const env = { ...process.env, LC_ALL: "C" }

/**
 * Makes an empty database cluster. Its locale is C, whatever that of this machine is: so is that of a container without LANG, and
 * no other does less for the letters beyond ASCII. Fails with what initdb said.
 */
const initialise = async ({ as, initdb }: Programs, home: string, data: string) => {
  const secret = join(home, "password")
  writeFileSync(secret, `${password}\n`, { mode: 0o600 })
  mkdirSync(data, { mode: 0o700 })
  if (as.uid !== undefined && as.gid !== undefined) {
    for (const path of [secret, data]) chownSync(path, as.uid, as.gid)
  }
  await promisify(execFile)(
    initdb,
    [
      `--pgdata=${data}`,
      "--auth=password",
      `--username=${user}`,
      `--pwfile=${secret}`,
      "--no-locale",
      "--encoding=UTF8"
    ],
    { ...as, cwd: home, env, timeout: initdb_ms_max }
  )
  rmSync(secret)
}

const flags = ["-c", "max_connections=200", "-c", "unix_socket_directories="]

/** Starts the server; back when it takes connections. Fails with what it said where it ends before. */
const serve = (
  { as, postgres }: Programs,
  home: string,
  data: string,
  args: ReadonlyArray<string>
) =>
  new Promise<ChildProcess>((resolve, reject) => {
    const child = spawn(postgres, ["-D", data, ...flags, ...args], {
      ...as,
      cwd: home,
      env,
      stdio: ["ignore", "ignore", "pipe"]
    })
    let said = ""
    child.stderr.on("data", (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-said_max)
      if (said.includes("database system is ready to accept connections")) resolve(child)
    })
    child.once("error", reject)
    child.once("exit", (code, signal) =>
      reject(new Error(`PostgreSQL ended with ${code ?? signal} before it was ready: ${said}`))
    )
  })

/** SIGINT ends the sessions and stops the server. */
const end = async (child: ChildProcess | undefined): Promise<void> => {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once("exit", resolve))
  child.kill("SIGINT")
  await gone
}

const running = new Set<ChildProcess>()
const stopAll = () => {
  for (const child of running) child.kill("SIGINT")
}

let guarded = false

/** No server outlives the process that started it, unless that is killed. */
const guard = () => {
  if (guarded) return
  guarded = true
  process.once("exit", stopAll)
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      stopAll()
      // Who else listens decides what becomes of the process; where nobody does, it ends as it would have.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    })
  }
}

/** A cluster of files that a backup holds, as the server's own user needs them. */
const restored = ({ as }: Programs, files: string, data: string): void => {
  cpSync(files, data, { recursive: true })
  for (const name of ["", ...readdirSync(data, { recursive: true, encoding: "utf8" })]) {
    const path = join(data, name)
    if (as.uid !== undefined && as.gid !== undefined) chownSync(path, as.uid, as.gid)
  }
  chmodSync(data, 0o700)
}

/** Makes and starts one, with further settings of the server. */
export const launch = (...settings: ReadonlyArray<string>): Promise<PostgresServer> =>
  launchIn(publicDirectory(), ...settings)

/** The same in a directory that every user may pass through. */
export const launchIn = (
  directory: string,
  ...settings: ReadonlyArray<string>
): Promise<PostgresServer> =>
  launched((found, home, data) => initialise(found, home, data), settings, directory)

/** Starts one on a copy of a cluster's files. */
export const restore = (files: string): Promise<PostgresServer> =>
  launched(async (found, _, data) => restored(found, files, data), [])

const launched = async (
  make: (found: Programs, home: string, data: string) => Promise<void>,
  settings: ReadonlyArray<string>,
  directory = publicDirectory()
): Promise<PostgresServer> => {
  const found = programs()
  const home = mkdtempSync(join(directory, "troupe-postgres-"))
  // Whoever runs the server must be able to pass through.
  chmodSync(home, 0o755)
  const data = join(home, "data")
  const port = await freePort()
  let child: ChildProcess | undefined
  const start = async () => {
    guard()
    const started = await serve(found, home, data, [
      "-p",
      String(port),
      ...settings.flatMap((each) => ["-c", each])
    ])
    child = started
    running.add(started)
    started.once("exit", () => running.delete(started))
  }
  try {
    await make(found, home, data)
    await start()
  } catch (error) {
    rmSync(home, { recursive: true, force: true })
    throw error
  }
  return {
    port,
    data,
    crash: () => crash(data),
    pause: () => signal(family(data), "SIGSTOP"),
    resume: () => signal(family(data), "SIGCONT"),
    start,
    isUp: () => child !== undefined && running.has(child),
    stop: async () => {
      if (child !== undefined && running.has(child)) signal(family(data), "SIGCONT")
      await end(child)
      rmSync(home, { recursive: true, force: true })
    }
  }
}
