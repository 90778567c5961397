/**
 * Whether a PostgreSQL server takes writes. Its disk cannot be seen from here, so what is known is what it refused: a statement
 * that met a full disk, or a server that was made read-only because of one. That is remembered until a trial of our own is
 * written; while nothing was refused, nobody tries anything.
 */
import { randomBytes } from "node:crypto"
import { Clock, Effect, Semaphore } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { StoreError } from "../../../services/StoreError.ts"
import type { StoreSpace } from "../../../services/StoreSpace.ts"
import { stateOf } from "./SqlFailure.ts"

/** What a server says that cannot write, by SQLSTATE. */
const reasons: ReadonlyMap<string, string> = new Map([
  ["53100", "its disk is full"],
  ["58030", "its disk fails"],
  ["25006", "it is read-only"]
])

/** Between two trials, however often somebody asks. */
const trial_every_ms = 1_000
/** Rows of 2 kB: 8 MB, because a change that fits into a page that is there says nothing of the disk. */
const trial_rows = 4_000

/** Its rows are not logged: a log for which there is no room would stop the server. */
const trialOf = (table: string): string => `DO $$ BEGIN
  CREATE UNLOGGED TABLE troupe.${table} (room text NOT NULL);
  INSERT INTO troupe.${table} SELECT repeat('x', 1900) FROM generate_series(1, ${trial_rows});
  DROP TABLE troupe.${table};
END $$`

export interface ServerSpace {
  /** To be told of each statement that failed. */
  readonly noticed: (error: SqlError.SqlError) => Effect.Effect<void>
  readonly of: (sql: SqlClient.SqlClient) => StoreSpace
}

export const make = (): ServerSpace => {
  /** Why it cannot write; undefined where nothing says so. */
  let reason: string | undefined
  let tried_at = 0
  const one = Semaphore.makeUnsafe(1)

  const noticed: ServerSpace["noticed"] = (error) =>
    Effect.suspend(() => {
      const state = stateOf(error)
      const found = state === undefined ? undefined : reasons.get(state)
      if (found === undefined) return Effect.void
      const isNew = reason === undefined
      reason = `PostgreSQL cannot write: ${found} (${state})`
      return isNew ? Effect.logWarning(reason) : Effect.void
    })

  /** Fails as before where the trial fails, for whatever reason. */
  const tried = (sql: SqlClient.SqlClient) =>
    Effect.matchEffect(sql.unsafe(trialOf(`trial_${randomBytes(8).toString("hex")}`)), {
      onFailure: () => Effect.void,
      onSuccess: () => {
        reason = undefined
        return Effect.logInfo("PostgreSQL writes again")
      }
    })

  const refused = Effect.suspend(() =>
    reason === undefined ? Effect.void : new StoreError({ message: reason })
  )

  return {
    noticed,
    of: (sql) => ({
      check: Effect.suspend(() =>
        reason === undefined
          ? Effect.void
          : one.withPermit(
              Effect.gen(function* () {
                const now = yield* Clock.currentTimeMillis
                if (reason !== undefined && now - tried_at >= trial_every_ms) {
                  tried_at = now
                  yield* tried(sql)
                }
                yield* refused
              })
            )
      )
    })
  }
}
