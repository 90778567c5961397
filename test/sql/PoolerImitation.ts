/**
 * What of PgBouncer matters here, for machines without it: it refuses start-up parameters that it does not know, names a process of
 * its own for each session, and in its transaction mode gives each transaction the session that was free for longest, as PgBouncer
 * does with `server_round_robin`. It limits nothing, resets nothing, and a client's login is passed on to the server.
 */
import type { AddressInfo, Socket } from "node:net"
import { connect, createServer } from "node:net"
import { Effect } from "effect"
import type { Scope } from "effect"

/** What PgBouncer 1.18 takes without `ignore_startup_parameters`. */
const known = new Set([
  "user",
  "database",
  "application_name",
  "client_encoding",
  "datestyle",
  "timezone",
  "standard_conforming_strings"
])

/** An ErrorResponse: FATAL, of the class of broken protocols. */
const refusal = (message: string): Buffer => {
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`)
  const head = Buffer.alloc(5, "E")
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}

/** The names in a StartupMessage: pairs of texts after its length and version. */
const namesIn = (packet: Buffer): ReadonlyArray<string> =>
  packet
    .subarray(8)
    .toString()
    .split("\0")
    .filter((_, at) => at % 2 === 0)
    .filter((name) => name !== "")

/** Calls back with each whole message of a server. */
const messagesOf = (socket: Socket, each: (message: Buffer) => void): void => {
  let rest = Buffer.alloc(0)
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const end = rest.readInt32BE(1) + 1
      each(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
  })
}

interface Client {
  readonly socket: Socket
  session: Session | undefined
}

interface Session {
  readonly socket: Socket
  client: Client | undefined
}

const serverFor = (to: URL, isShared: boolean) => {
  const free: Array<Session> = []
  const release = (session: Session): void => {
    if (session.client !== undefined) session.client.session = undefined
    session.client = undefined
    free.push(session)
  }
  const begin = (client: Client, packet: Buffer): void => {
    const strange = namesIn(packet).find((name) => !known.has(name.toLowerCase()))
    if (strange !== undefined) {
      client.socket.end(refusal(`unsupported startup parameter: ${strange}`))
      return
    }
    const session: Session = {
      socket: connect({ port: Number(to.port), host: to.hostname, noDelay: true }),
      client
    }
    client.session = session
    session.socket.on("error", () => {})
    client.socket.once("close", () => session.socket.destroy())
    messagesOf(session.socket, (message) => {
      const type = String.fromCharCode(message[0]!)
      if (type === "K") message.writeInt32BE(message.readInt32BE(5) + 1_000_000, 5)
      const reader = session.client
      // Ready for a query, and in no transaction.
      if (isShared && type === "Z" && message.at(-1) === 0x49) release(session)
      reader?.socket.write(message)
    })
    session.socket.write(packet)
    // A client sends nothing more before it has the answer to what it sent.
    client.socket.on("data", (chunk: Buffer) => {
      client.session ??= free.shift()!
      client.session.client = client
      client.session.socket.write(chunk)
    })
  }
  return createServer({ noDelay: true }, (socket) => {
    socket.on("error", () => {})
    socket.once("data", (packet: Buffer) => begin({ socket, session: undefined }, packet))
  })
}

/** The address of a database as the pooler has it, until the scope closes. */
export const inFrontOf = Effect.fnUntraced(function* (
  url: string,
  mode: "session" | "transaction"
): Effect.fn.Return<string, never, Scope.Scope> {
  const server = serverFor(new URL(url), mode === "transaction")
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () => Effect.sync(() => server.close())
  )
  const own = new URL(url)
  own.port = String((server.address() as AddressInfo).port)
  return own.href
})
