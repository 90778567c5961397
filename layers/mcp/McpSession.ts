/**
 * Keeps one server connected: starts it, lists its tools, lists them again when it announces a change, and starts it
 * again, with exponential backoff, when the connection is lost.
 */
import { Clock, Deferred, Effect, Exit, Latch } from "effect"
import type { Scope } from "effect"
import { logText } from "../../src/LogText.ts"
import { secretsOf } from "../../src/tool/McpServer.ts"
import { redacted } from "../../src/error/KnownSecrets.ts"
import type { ConnectionEvents, McpConnection } from "./McpConnection.ts"
import { connect_timeout_ms_default, openConnection, targetOf } from "./McpConnection.ts"
import { McpServerUnavailable } from "./McpUnavailable.ts"
import type { Offers } from "./Offers.ts"
import { offersOf } from "./Offers.ts"
import type { Sdk } from "./Sdk.ts"

/** The shortest time between two listings, however often the server announces a change. */
const list_interval_ms = 1_000
const backoff_first_ms = 250
const backoff_max_ms = 60_000
/** A connection that lasted this long resets the backoff. */
const steady_ms = 60_000

const backoff = (failures: number): number =>
  Math.min(backoff_first_ms * 2 ** Math.min(failures, 20), backoff_max_ms)

/** Connects and lists the tools; fails when both together take longer than the server's connect timeout. */
const connectAndList = (sdk: Sdk, offers: Offers, events: ConnectionEvents) =>
  Effect.gen(function* () {
    const { server } = offers
    const connection = yield* openConnection(sdk, server, offers.allowance, events)
    return { connection, listed: offersOf(server, yield* connection.list) }
  }).pipe(
    Effect.timeoutOrElse({
      duration: offers.server.connect_timeout_ms ?? connect_timeout_ms_default,
      orElse: () =>
        Effect.fail(
          new McpServerUnavailable({
            server: offers.server.namespace,
            message: "it did not answer in time"
          })
        )
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
          Effect.timeout(
            connection.list,
            offers.server.connect_timeout_ms ?? connect_timeout_ms_default
          )
        )
        // Tools that cannot be listed cannot be compared with the accepted ones, so the connection is given up.
        if (Exit.isFailure(listed)) return "its tools could not be listed again"
        offers.listed = offersOf(offers.server, listed.value)
        yield* Effect.sleep(list_interval_ms)
      }
    })
  )

export const warnOfServer = (offers: Offers, message: string) =>
  Effect.annotateLogs(Effect.logWarning(logText(redacted(message, secretsOf(offers.server)))), {
    mcp_server: offers.server.namespace
  })

/** Removes the connection, so that later calls wait for a new one. */
const disconnect = (offers: Offers): void => {
  offers.connection = undefined
  Latch.closeUnsafe(offers.connected)
}

/** One connection from its start to its end; the result is the reason of the end. */
const runConnection = Effect.fnUntraced(function* (
  sdk: Sdk,
  offers: Offers,
  first: Deferred.Deferred<void, McpServerUnavailable>
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
  if (yield* Deferred.isDone(connection.lost)) return yield* Deferred.await(connection.lost)
  offers.connection = connection
  yield* Latch.open(offers.connected)
  yield* Deferred.succeed(first, undefined)
  return yield* untilLost(offers, connection, changed)
})

/**
 * Keeps the server connected until it is interrupted. `first` is done when the server was listed for the first time, or
 * fails with the reason of the first failure; the session continues either way.
 */
export const keepConnected = Effect.fnUntraced(function* (
  sdk: Sdk,
  offers: Offers,
  first: Deferred.Deferred<void, McpServerUnavailable>
): Effect.fn.Return<never> {
  let failures = 0
  for (;;) {
    const began = yield* Clock.currentTimeMillis
    const ended = yield* Effect.result(Effect.scoped(runConnection(sdk, offers, first))).pipe(
      Effect.ensuring(Effect.sync(() => disconnect(offers)))
    )
    if (ended._tag === "Failure") yield* Deferred.fail(first, ended.failure)
    if ((yield* Clock.currentTimeMillis) - began > steady_ms) failures = 0
    const wait_ms = backoff(failures++)
    const why = ended._tag === "Failure" ? ended.failure.message : ended.success
    yield* warnOfServer(
      offers,
      `an MCP server is lost (${why}); it is tried again in ${wait_ms} ms`
    )
    yield* Effect.sleep(wait_ms)
    offers.restarts++
  }
})
