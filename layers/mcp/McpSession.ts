/**
 * Keeps one server connected: starts it, lists its tools, lists them again when it says that they changed, and starts it
 * anew, ever more slowly, when it is lost.
 */
import { Clock, Deferred, Effect, Exit, Latch } from "effect"
import type { Scope } from "effect"
import { logText } from "../../src/LogText.ts"
import { secretsOf } from "../../src/tool/McpServer.ts"
import { redacted } from "../../src/tool/McpResult.ts"
import type { Hears, McpConnection } from "./McpConnection.ts"
import {
  connect_timeout_ms_default,
  McpServerUnavailable,
  open,
  targetOf
} from "./McpConnection.ts"
import type { Offers } from "./Offers.ts"
import { offersOf } from "./Offers.ts"
import type { Sdk } from "./Sdk.ts"

/** Between two listings, however often the server says that its tools changed. */
const list_interval_ms = 1_000
const backoff_first_ms = 250
const backoff_max_ms = 60_000
/** A connection that held this long starts the backoff from its beginning. */
const steady_ms = 60_000

const backoff = (failures: number): number =>
  Math.min(backoff_first_ms * 2 ** Math.min(failures, 20), backoff_max_ms)

/** Listed in time, or it counts as not connected. */
const connected = (sdk: Sdk, offers: Offers, hears: Hears) =>
  Effect.gen(function* () {
    const { server } = offers
    const connection = yield* open(sdk, server, offers.reach, hears)
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

/** Until the connection is lost; says why. */
const attended = (
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
        // What cannot be listed cannot be compared with what was accepted.
        if (Exit.isFailure(listed)) return "its tools could not be listed again"
        offers.listed = offersOf(offers.server, listed.value)
        yield* Effect.sleep(list_interval_ms)
      }
    })
  )

export const warn = (offers: Offers, message: string) =>
  Effect.annotateLogs(Effect.logWarning(logText(redacted(message, secretsOf(offers.server)))), {
    mcp_server: offers.server.namespace
  })

/** Calls from here on wait for another connection. */
const leave = (offers: Offers): void => {
  offers.connection = undefined
  Latch.closeUnsafe(offers.connected)
}

/** One life of a connection; the failure or the reason of its end. */
const life = Effect.fnUntraced(function* (
  sdk: Sdk,
  offers: Offers,
  first: Deferred.Deferred<void, McpServerUnavailable>
): Effect.fn.Return<string, McpServerUnavailable, Scope.Scope> {
  const changed = yield* Latch.make(false)
  // Shown before it is started, each time.
  yield* Effect.annotateLogs(
    Effect.logInfo(
      `${offers.server.transport === "stdio" ? "starting" : "connecting to"} an MCP server: ${targetOf(offers.server)}`
    ),
    { mcp_server: offers.server.namespace }
  )
  const { connection, listed } = yield* connected(sdk, offers, {
    changed: () => void Latch.openUnsafe(changed),
    ended: () => leave(offers)
  })
  offers.listed = listed
  if (yield* Deferred.isDone(connection.lost)) return yield* Deferred.await(connection.lost)
  offers.connection = connection
  yield* Latch.open(offers.connected)
  yield* Deferred.succeed(first, undefined)
  return yield* attended(offers, connection, changed)
})

/**
 * For as long as its scope. `first` is done when the server was listed for the first time, or with what kept it from
 * that; the session goes on either way.
 */
export const keep = Effect.fnUntraced(function* (
  sdk: Sdk,
  offers: Offers,
  first: Deferred.Deferred<void, McpServerUnavailable>
): Effect.fn.Return<never> {
  let failures = 0
  for (;;) {
    const began = yield* Clock.currentTimeMillis
    const ended = yield* Effect.result(Effect.scoped(life(sdk, offers, first))).pipe(
      Effect.ensuring(Effect.sync(() => leave(offers)))
    )
    if (ended._tag === "Failure") yield* Deferred.fail(first, ended.failure)
    if ((yield* Clock.currentTimeMillis) - began > steady_ms) failures = 0
    const wait_ms = backoff(failures++)
    const why = ended._tag === "Failure" ? ended.failure.message : ended.success
    yield* warn(offers, `an MCP server is lost (${why}); it is tried again in ${wait_ms} ms`)
    yield* Effect.sleep(wait_ms)
    offers.restarts++
  }
})
