/**
 * Sends one request of a tool within its times, on whatever connection there is.
 */
import { Clock, Effect } from "effect"
import type { ToolError } from "../../src/error/ToolError.ts"
import type { CallTimes } from "../../src/mcp/McpServer.ts"
import type { CallBounds, McpConnection } from "./McpConnection.ts"
import { isUnsent, serverDown, serverSilent } from "./McpFailure.ts"
import { connected } from "./McpSession.ts"
import type { Offers } from "./Offers.ts"

/** The end of a call's timeout that is kept from its waits before it is sent, so that a wait ends with a precise error. */
const margin_ms = 1_000

export type Request<A> = (
  connection: McpConnection,
  bounds: CallBounds
) => Effect.Effect<A, ToolError>

interface Hearers {
  readonly progress?: CallBounds["progress"]
  /** Ends when what was not sent must not be sent any more. */
  readonly stopped?: Effect.Effect<void>
}

/**
 * Sends the request; once more, on a new connection, where the server did not take it, as after it lost the session. It ends when
 * the server has said nothing about it for `timeout_ms`.
 */
export const send = Effect.fnUntraced(function* <A>(
  offers: Offers,
  { timeout_ms, total_ms }: CallTimes,
  request: Request<A>,
  { progress, stopped = Effect.never }: Hearers = {}
): Effect.fn.Return<A, ToolError> {
  const { namespace } = offers.server
  const clock = yield* Clock.Clock
  const began = clock.currentTimeMillisUnsafe()
  let heard = began
  const until = (due: () => number): Effect.Effect<void> =>
    Effect.gen(function* () {
      for (;;) {
        const left_ms = due() - clock.currentTimeMillisUnsafe()
        if (left_ms <= 0) return
        yield* Effect.sleep(left_ms)
      }
    })
  const unsent_until = began + timeout_ms - Math.min(margin_ms, Math.ceil(timeout_ms / 4))
  const bounds: CallBounds = {
    timeout_ms: total_ms,
    over: Effect.raceFirst(
      until(() => unsent_until),
      stopped
    ),
    progress: (value) => {
      heard = clock.currentTimeMillisUnsafe()
      progress?.(value)
    }
  }
  const reached = Effect.raceFirst(
    Effect.mapError(connected(offers), () => serverDown(namespace)),
    Effect.andThen(bounds.over, Effect.fail(serverDown(namespace)))
  )
  const sent = (connection: McpConnection) => request(connection, bounds)
  const result = yield* Effect.raceFirst(
    Effect.flatMap(reached, (connection) =>
      Effect.catchIf(sent(connection), isUnsent, () => Effect.flatMap(reached, sent))
    ),
    Effect.andThen(
      until(() => heard + timeout_ms),
      Effect.fail(serverSilent(namespace, timeout_ms))
    )
  )
  offers.failures = 0
  return result
})
