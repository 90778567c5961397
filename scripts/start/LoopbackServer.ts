/**
 * An HTTP server on loopback, for the systems that `npm start` plays beside the runtime.
 */
import { createServer } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Effect } from "effect"
import type { Scope } from "effect"

const connections_max = 100

/** On the port that is wished for; where it is taken, on a free one. */
const listen = (server: Server, wished: number): Effect.Effect<number> =>
  Effect.callback((resume) => {
    const failed = (error: Error) => {
      if (wished === 0) return resume(Effect.die(error))
      resume(listen(server, 0))
    }
    server.once("error", failed)
    server.listen(wished, "127.0.0.1", () => {
      server.off("error", failed)
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const close = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/** Serves until the scope closes, on the port that is wished for if it is free. Absent = any. Gives the port. */
export const serve = (
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  wished = 0
): Effect.Effect<number, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.sync(() => createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, answer)),
      close
    )
    server.maxConnections = connections_max
    return yield* listen(server, wished)
  })
