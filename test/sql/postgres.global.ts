/**
 * One PostgreSQL server for a whole run of the tests, started by the first file that asks for it and stopped at the end.
 * The files run in processes of their own and ask through a socket.
 */
import { createServer } from "node:net"
import type { PostgresServer } from "./PostgresServer.ts"
import { launch } from "./PostgresServer.ts"

export default async (): Promise<() => Promise<void>> => {
  let server: Promise<PostgresServer> | undefined
  const desk = createServer((socket) => {
    socket.on("error", () => {})
    // Nobody reads these databases for long enough to vacuum them, and hundreds take turns. A new one writes out what the
    // buffers hold: few buffers are quicker.
    server ??= launch(
      "autovacuum=off",
      "shared_buffers=32MB",
      "wal_level=minimal",
      "max_wal_senders=0",
      "io_method=sync"
    )
    server.then(
      ({ port }) => socket.end(String(port)),
      (error: unknown) => socket.end(`failed: ${String(error)}`)
    )
  })
  await new Promise<void>((resolve) => desk.listen(0, "127.0.0.1", resolve))
  const address = desk.address()
  process.env["TROUPE_TEST_POSTGRES"] =
    typeof address === "object" && address !== null ? String(address.port) : ""
  return async () => {
    desk.close()
    const started = await server?.catch(() => undefined)
    await started?.stop()
  }
}
