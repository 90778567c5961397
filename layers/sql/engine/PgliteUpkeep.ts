/**
 * Does what background processes of a PostgreSQL server do and a PGlite lacks: checkpoints, without which the write-ahead log
 * grows for ever, and vacuum of tables whose rows change. Each takes its turn at the one session, one statement at a time.
 */
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import { SqlSchema } from "effect/sql"
import type { SqlClient, SqlError } from "effect/sql"
import type { StoreError } from "../../../services/StoreError.ts"
import type { DirectorySpace } from "./DirectorySpace.ts"

export interface Upkeep {
  /** The time between two checks, in ms. */
  readonly every_ms: number
  /** A checkpoint is made once this many bytes were logged since the last one. */
  readonly log_bytes_max: number
  /** A checkpoint is also made this long after the last one, in ms, if anything was logged. */
  readonly checkpoint_ms: number
  /** A table is vacuumed when it has more dead rows than this, and more than a fifth of its living ones. */
  readonly dead_rows_max: number
}

export const upkeep_default: Upkeep = {
  every_ms: 5_000,
  log_bytes_max: 64 * 2 ** 20,
  checkpoint_ms: 300_000,
  dead_rows_max: 500
}

/** Waits in real time, whatever clock the runtime has, because this is about a disk. It does not keep the process alive. */
export const pause = (ms: number): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => resume(Effect.void), ms)
    timer.unref()
    return Effect.sync(() => clearTimeout(timer))
  })

const make = (sql: SqlClient.SqlClient, space: DirectorySpace | undefined, options: Upkeep) => {
  const logged = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ bytes: Schema.BigInt }),
    execute: () => sql`SELECT (pg_current_wal_insert_lsn() - '0/0')::int8 AS bytes`
  })
  const worn = SqlSchema.findAll({
    Request: Schema.Struct({ all: Schema.Boolean }),
    Result: Schema.Struct({ name: Schema.String }),
    execute: ({ all }) =>
      sql`SELECT quote_ident(schemaname) || '.' || quote_ident(relname) AS name
      FROM pg_stat_user_tables
      WHERE n_dead_tup > 0 AND (
        ${all} OR (n_dead_tup > ${options.dead_rows_max} AND n_dead_tup > n_live_tup / 5))
      ORDER BY n_dead_tup DESC LIMIT 1`
  })
  let checkpointed = 0n
  let checkpointed_at = performance.now()

  const isDue = (grown: bigint): boolean =>
    grown >= options.log_bytes_max ||
    performance.now() - checkpointed_at >= options.checkpoint_ms ||
    // It frees files of the log.
    space?.refusal() !== undefined

  const checkpoint = Effect.gen(function* () {
    const { bytes } = yield* logged()
    const grown = bytes - checkpointed
    if (grown <= 0n || !isDue(grown)) return
    yield* sql.unsafe("CHECKPOINT")
    // A checkpoint logs itself, and that needs no further checkpoint.
    checkpointed = (yield* logged()).bytes
    checkpointed_at = performance.now()
  })
  /**
   * Vacuums the one table with the most dead rows, which also shortens its file where its end is empty. A full disk counts every
   * dead row: a statement that was given up for want of space has left its rows.
   */
  const vacuum = Effect.gen(function* () {
    const [table] = yield* worn({ all: space?.refusal() !== undefined })
    if (table !== undefined) yield* sql.unsafe(`VACUUM ${table.name}`)
  })
  const reserve = Effect.sync(() => space?.keepReserve())
  // Of a page that was changed since the last checkpoint a vacuum logs little; of others it logs the whole page.
  return reserve.pipe(Effect.andThen(vacuum), Effect.andThen(checkpoint))
}

/** Runs in the background until the scope closes. Only the first failure is logged; it tries again after each. */
export const start = (
  sql: SqlClient.SqlClient,
  space: DirectorySpace | undefined,
  erased: Effect.Effect<void, StoreError>,
  given: Partial<Upkeep> = {}
): Effect.Effect<void, SqlError.SqlError, Scope.Scope> => {
  const options = { ...upkeep_default, ...given }
  let isWarned = false
  const round = Effect.catchCause(Effect.andThen(make(sql, space, options), erased), (cause) => {
    if (isWarned) return Effect.void
    isWarned = true
    return Effect.logWarning("the embedded database could not be tidied up", cause)
  })
  return Effect.asVoid(
    Effect.forkScoped(Effect.forever(Effect.andThen(pause(options.every_ms), round)))
  )
}
