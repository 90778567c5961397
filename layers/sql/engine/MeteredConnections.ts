/**
 * Metrics of a database's connections, which are those of a pool or the only session of an embedded database: how many are in use,
 * how many statements and transactions wait for one, and how long statements take.
 */
import { Effect, Metric } from "effect"
import type { Context, Scope } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import { readGauge } from "../../../src/value/Telemetry.ts"

/** 1 ms, doubled thirteen times, in seconds. */
const statement_seconds = Metric.histogram("troupe_store_statement_duration_seconds", {
  description:
    "Statements outside transactions, from the begin of their wait for a connection to their end",
  boundaries: Array.from({ length: 14 }, (_, doubled) => 0.001 * 2 ** doubled)
})

interface Counts {
  busy: number
  waiting: number
}

/** One use of a connection, which begins with the wait for it. */
class Use {
  readonly #counts: Counts
  readonly #began_ms = performance.now()
  #isWaiting = true

  constructor(counts: Counts) {
    this.#counts = counts
    counts.waiting++
  }

  granted(): void {
    this.#isWaiting = false
    this.#counts.waiting--
    this.#counts.busy++
  }

  ended(): void {
    if (this.#isWaiting) this.#counts.waiting--
    else this.#counts.busy--
  }

  get seconds(): number {
    return (performance.now() - this.#began_ms) / 1_000
  }
}

export interface MeteredConnections {
  readonly borrower: (borrow: SqlConnection.Borrower) => SqlConnection.Borrower
  readonly lease: <A>(
    get: Effect.Effect<A, SqlError.SqlError, Scope.Scope>
  ) => Effect.Effect<A, SqlError.SqlError, Scope.Scope>
}

const metered = (counts: Counts, context: Context.Context<never>): MeteredConnections => {
  const begin = Effect.sync(() => new Use(counts))
  return {
    borrower: (borrow) => (use) =>
      Effect.acquireUseRelease(
        begin,
        (one) =>
          borrow((connection) => {
            one.granted()
            return use(connection)
          }),
        (one) =>
          Effect.sync(() => {
            one.ended()
            statement_seconds.updateUnsafe(one.seconds, context)
          })
      ),
    lease: (get) =>
      Effect.flatMap(
        Effect.acquireRelease(begin, (one) => Effect.sync(() => one.ended())),
        (one) => Effect.tap(get, () => Effect.sync(() => one.granted()))
      )
  }
}

/** For a database with at most so many connections of this process. */
export const make = Effect.fnUntraced(function* (connections_max: number) {
  const counts: Counts = { busy: 0, waiting: 0 }
  yield* readGauge(
    "troupe_store_connections_max",
    "Connections that this process may have to its database; 1 in a directory",
    () => connections_max
  )
  yield* readGauge(
    "troupe_store_connections_busy",
    "Connections that run a statement, are in a transaction, or listen",
    () => counts.busy
  )
  yield* readGauge(
    "troupe_store_connections_waiting",
    "Statements and transactions that wait for a connection",
    () => counts.waiting
  )
  return metered(counts, yield* Effect.context<never>())
})
