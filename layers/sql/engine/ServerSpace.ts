/**
 * Knows whether a PostgreSQL server accepts writes. Its disk cannot be examined from here, so this relies on what the server
 * refused: a statement that met a full disk, or a server that was made read-only because of one. A refusal is remembered until a
 * trial write succeeds. Without a refusal, no trial is made.
 */
import { randomBytes } from "node:crypto"
import { Clock, Effect, Semaphore } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { StoreError } from "../../../services/StoreError.ts"
import type { StoreSpace } from "../../../services/StoreSpace.ts"
import { stateOf } from "./SqlFailure.ts"

/** The SQLSTATEs of a server that cannot write, and what they mean. */
const reasons: ReadonlyMap<string, string> = new Map([
  ["53100", "its disk is full"],
  ["58030", "its disk fails"],
  ["25006", "it is read-only"]
])

/** The least time between two trials, in ms, however often the state is asked for. */
const trial_every_ms = 1_000
/** The rows of a trial, of 2 kB each, 8 MB in all: a small write may fit into an existing page and prove nothing. */
const trial_rows = 4_000

/** The statement of a trial. Its table is unlogged, because a log that has no space left would stop the server. */
const trialOf = (table: string): string => `DO $$ BEGIN
  CREATE UNLOGGED TABLE troupe.${table} (room text NOT NULL);
  INSERT INTO troupe.${table} SELECT repeat('x', 1900) FROM generate_series(1, ${trial_rows});
  DROP TABLE troupe.${table};
END $$`

export interface ServerSpace {
  /** To be called for each statement that failed. */
  readonly noticed: (error: SqlError.SqlError) => Effect.Effect<void>
  readonly of: (sql: SqlClient.SqlClient) => StoreSpace
}

export const make = (): ServerSpace => {
  /** Why the server cannot write; undefined where nothing indicates that. */
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

  /** Makes a trial write. If it succeeds, the reason is cleared; if it fails, for whatever cause, the reason stays. */
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
