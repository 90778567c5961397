/**
 * Keeps one server connected and sends requests of tools on whatever connection there is: starts it, lists its tools, lists them again when it announces a change, and starts it
 * again, with exponential backoff and without end, when the connection is lost.
 */
import type { Scope } from "effect"
import { Clock, Deferred, Effect, Exit, Latch, Metric } from "effect"
import { logText } from "../../src/value/InvisibleText.ts"
import type { CallTimes } from "../../src/mcp/McpServer.ts"
import { connectTimeout } from "../../src/mcp/McpServer.ts"
import { redacted } from "../../src/error/KnownSecrets.ts"
import type { CallBounds, ConnectionEvents, McpConnection } from "./McpConnection.ts"
import { openConnection, targetOf } from "./McpConnection.ts"
import { McpServerUnavailable } from "./McpUnavailable.ts"
import type { Offers } from "./Offers.ts"
import { offersOf } from "./Offers.ts"
import type { Sdk } from "./Sdk.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import { isUnsent, serverDown, serverSilent } from "./McpFailure.ts"

/** The shortest time between two listings, however often the server announces a change. */
const list_interval_ms = 1_000
const backoff_first_ms = 250
const backoff_max_ms = 60_000
/** A connection that lasted this long resets the backoff, as does one that answered a call. */
const steady_ms = 60_000

const backoff = (failures: number): number =>
  Math.min(backoff_first_ms * 2 ** Math.min(failures, 20), backoff_max_ms)

/** Connects and lists the tools; fails when both together take longer than the server's connect timeout. */
const connectAndList = (sdk: Sdk, offers: Offers, events: ConnectionEvents) =>
  Effect.gen(function* () {
    const { server } = offers
    const connection = yield* openConnection(sdk, offers, events)
    return { connection, listed: offersOf(server, yield* connection.list) }
  }).pipe(
    Effect.timeoutOrElse({
      duration: connectTimeout(offers.server),
      orElse: () =>
        new McpServerUnavailable({
          server: offers.server.namespace,
          message: `it did not answer in time (connect_timeout_ms is ${connectTimeout(offers.server)})`
        })
    })
  )

/** Lists the tools again after each change, until the connection is lost; the result is the reason. */
const untilLost = (
  offers: Offers,
  connection: McpConnection,
  changed: Latch.Latch
): Effect.Effect<string> =>
  Effect.raceFirst(
    Deferred.await(connection.lost),
    Effect.gen(function* () {
      for (;;) {
        yield* Latch.await(changed)
        yield* Latch.close(changed)
        const listed = yield* Effect.exit(
          Effect.timeout(connection.list, connectTimeout(offers.server))
        )
        // Tools that cannot be listed cannot be compared with the accepted ones, so the connection is given up.
        if (Exit.isFailure(listed)) return "its tools could not be listed again"
        offers.listed = offersOf(offers.server, listed.value)
        yield* Effect.sleep(list_interval_ms)
      }
    })
  )

export const warnOfServer = (offers: Offers, message: string) =>
  Effect.annotateLogs(Effect.logWarning(logText(redacted(message, offers.credentials.secrets()))), {
    mcp_server: offers.server.namespace
  })

const connections = Metric.gauge("troupe_mcp_connected", {
  description: "Is the MCP server connected (1) or not (0)? By server"
})

const count = ({ server: { namespace: server } }: Offers, connected: 0 | 1) =>
  Metric.update(Metric.withAttributes(connections, { server }), connected)

/** Removes the connection, so that later calls wait for a new one. */
const disconnect = (offers: Offers): void => {
  if (offers.connection === undefined) return
  offers.connection = undefined
  offers.attempt = Deferred.makeUnsafe()
}

/** One connection from its start to its end; the result is the reason of the end. `adopt` is run with each first list. */
const runConnection = Effect.fnUntraced(function* (
  sdk: Sdk,
  offers: Offers,
  adopt: Effect.Effect<void, McpServerUnavailable>
): Effect.fn.Return<string, McpServerUnavailable, Scope.Scope> {
  const changed = yield* Latch.make(false)
  // Logged before each start, so that an operator sees which program a failing start ran.
  yield* Effect.annotateLogs(
    Effect.logInfo(
      `${offers.server.transport === "stdio" ? "starting" : "connecting to"} an MCP server: ${targetOf(offers.server)}`
    ),
    { mcp_server: offers.server.namespace }
  )
  const { connection, listed } = yield* connectAndList(sdk, offers, {
    changed: () => void Latch.openUnsafe(changed),
    ended: () => disconnect(offers)
  })
  offers.listed = listed
  yield* adopt
  if (yield* Deferred.isDone(connection.lost)) return yield* Deferred.await(connection.lost)
  offers.connection = connection
  yield* count(offers, 1)
  yield* Deferred.succeed(offers.attempt, connection)
  return yield* untilLost(offers, connection, changed)
})

/** Each attempt completes `offers.attempt`, with its connection or with the reason of its failure, and the session continues. */
export const keepConnected = Effect.fnUntraced(function* (
  sdk: Sdk,
  offers: Offers,
  adopt: Effect.Effect<void, McpServerUnavailable>
): Effect.fn.Return<never> {
  for (;;) {
    const { attempt } = offers
    const began = yield* Clock.currentTimeMillis
    yield* Latch.close(offers.wanted)
    const ended = yield* Effect.result(Effect.scoped(runConnection(sdk, offers, adopt))).pipe(
      Effect.ensuring(
        Effect.suspend(() => {
          disconnect(offers)
          return count(offers, 0)
        })
      )
    )
    const why = ended._tag === "Failure" ? ended.failure.message : ended.success
    offers.trouble = redacted(why, offers.credentials.secrets())
    if (offers.attempt === attempt) {
      offers.attempt = Deferred.makeUnsafe()
      const { namespace: server } = offers.server
      yield* Deferred.fail(attempt, new McpServerUnavailable({ server, message: why }))
    }
    if ((yield* Clock.currentTimeMillis) - began > steady_ms) offers.failures = 0
    const wait_ms = backoff(offers.failures++)
    yield* warnOfServer(
      offers,
      `an MCP server is not connected (${why}); it is tried again in ${wait_ms} ms, or when one of its tools is called`
    )
    yield* Effect.raceFirst(
      Effect.sleep(wait_ms),
      Effect.andThen(Effect.sleep(backoff_first_ms), Latch.await(offers.wanted))
    )
    offers.restarts++
  }
})

/** The connection of now, or that of the attempt that is under way. Between two attempts, it causes the next one. */
export const connected = (offers: Offers): Effect.Effect<McpConnection, McpServerUnavailable> =>
  Effect.suspend(() => {
    if (offers.connection !== undefined) return Effect.succeed(offers.connection)
    Latch.openUnsafe(offers.wanted)
    return Deferred.await(offers.attempt)
  })

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

/** Sends the request; once more where the server did not take it. It ends when the server was silent about it for `timeout_ms`. */
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
