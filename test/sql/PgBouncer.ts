/**
 * PgBouncer of this machine in front of a PostgreSQL server, with its own defaults, as Debian installs it.
 */
import { spawn, spawnSync } from "node:child_process"
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import type { Scope } from "effect"
import { programs, publicDirectory } from "./PostgresPrograms.ts"
import { freePort, password, user } from "./PostgresServer.ts"

const place = ["pgbouncer", "/usr/sbin/pgbouncer"].find(
  (path) => spawnSync(path, ["--version"]).status === 0
)

/** What a run without it says; undefined where it is installed. */
export const missing =
  place === undefined
    ? "PgBouncer itself: it is not installed here (apt-get install pgbouncer)"
    : undefined

const config = (
  server: URL,
  port: number,
  home: string,
  mode: string,
  settings: ReadonlyArray<string>
) => `
[databases]
* = host=${server.hostname} port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(home, "users")}
pool_mode = ${mode}
${settings.join("\n")}
`

/** The address of a database as PgBouncer has it, until the scope closes. */
export const inFrontOf = Effect.fnUntraced(function* (
  url: string,
  mode: "session" | "transaction" | "statement",
  ...settings: ReadonlyArray<string>
): Effect.fn.Return<string, never, Scope.Scope> {
  const server = new URL(url)
  const port = yield* Effect.promise(freePort)
  const home = mkdtempSync(join(publicDirectory(), "troupe-pgbouncer-"))
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(home, { recursive: true })))
  const { as } = programs()
  writeFileSync(join(home, "ini"), config(server, port, home, mode, settings))
  writeFileSync(join(home, "users"), `"${user}" "${password}"\n`)
  if (as.uid !== undefined && as.gid !== undefined) {
    for (const path of [home, join(home, "ini"), join(home, "users")]) {
      chownSync(path, as.uid, as.gid)
    }
  }
  yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof spawn>>((resume) => {
      const child = spawn(place!, [join(home, "ini")], {
        ...as,
        cwd: home,
        stdio: ["ignore", "ignore", "pipe"]
      })
      let said = ""
      child.stderr!.on("data", (chunk: Buffer) => {
        said += chunk.toString()
        if (said.includes("process up")) resume(Effect.succeed(child))
      })
      child.once("error", (error) => resume(Effect.die(error)))
      child.once("exit", () => resume(Effect.die(new Error(said))))
    }),
    (child) =>
      Effect.callback<void>((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
  )
  server.port = String(port)
  return server.href
})
