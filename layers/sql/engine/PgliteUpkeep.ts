/**
 * Does what background processes of a PostgreSQL server do and a PGlite lacks: checkpoints, without which the write-ahead log
 * grows for ever, and vacuum of tables whose rows change. Each takes its turn at the one session, one statement at a time.
 */
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import { SqlSchema } from "effect/sql"
import type { SqlClient, SqlError } from "effect/sql"

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
const pause = (ms: number): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => resume(Effect.void), ms)
    timer.unref()
    return Effect.sync(() => clearTimeout(timer))
  })

const make = (sql: SqlClient.SqlClient, options: Upkeep) => {
  const logged = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ bytes: Schema.BigInt }),
    execute: () => sql`SELECT (pg_current_wal_insert_lsn() - '0/0')::int8 AS bytes`
  })
  const worn = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ name: Schema.String }),
    execute: () => sql`SELECT quote_ident(schemaname) || '.' || quote_ident(relname) AS name
      FROM pg_stat_user_tables
      WHERE n_dead_tup > ${options.dead_rows_max} AND n_dead_tup > n_live_tup / 5
      ORDER BY n_dead_tup DESC LIMIT 1`
  })
  let checkpointed = 0n
  let checkpointed_at = performance.now()

  const checkpoint = Effect.gen(function* () {
    const { bytes } = yield* logged()
    const grown = bytes - checkpointed
    const waited = performance.now() - checkpointed_at
    if (grown <= 0n || (grown < options.log_bytes_max && waited < options.checkpoint_ms)) return
    yield* sql.unsafe("CHECKPOINT")
    // A checkpoint logs itself, and that needs no further checkpoint.
    checkpointed = (yield* logged()).bytes
    checkpointed_at = performance.now()
  })
  /** Vacuums the one table with the most dead rows. It does not shorten the file, because that would lock the table. */
  const vacuum = Effect.gen(function* () {
    const [table] = yield* worn()
    if (table !== undefined) yield* sql.unsafe(`VACUUM (TRUNCATE false) ${table.name}`)
  })
  return Effect.andThen(checkpoint, vacuum)
}

/** Runs in the background until the scope closes. Only the first failure is logged; it tries again after each. */
export const start = (
  sql: SqlClient.SqlClient,
  given: Partial<Upkeep> = {}
): Effect.Effect<void, SqlError.SqlError, Scope.Scope> => {
  const options = { ...upkeep_default, ...given }
  let isWarned = false
  const round = Effect.catchCause(make(sql, options), (cause) => {
    if (isWarned) return Effect.void
    isWarned = true
    return Effect.logWarning("the embedded database could not be tidied up", cause)
  })
  return Effect.asVoid(
    Effect.forkScoped(Effect.forever(Effect.andThen(pause(options.every_ms), round)))
  )
}
