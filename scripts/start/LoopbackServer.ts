/**
 * An HTTP server on a free port of loopback, for the systems that `npm start` plays beside the runtime.
 */
import { createServer } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Effect } from "effect"
import type { Scope } from "effect"

const connections_max = 100

const listen = (server: Server): Effect.Effect<number> =>
  Effect.callback((resume) => {
    server.once("error", (error) => resume(Effect.die(error)))
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const close = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/** Serves until the scope closes. Gives the port. */
export const serve = (
  answer: (request: IncomingMessage, response: ServerResponse) => void
): Effect.Effect<number, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.sync(() => createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, answer)),
      close
    )
    server.maxConnections = connections_max
    return yield* listen(server)
  })
