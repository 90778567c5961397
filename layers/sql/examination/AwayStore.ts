/**
 * A database that cannot be examined at all.
 */
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import type { Finding } from "./Finding.ts"
import { fault } from "./Finding.ts"

const away = (error: SqlError.SqlError): Finding =>
  fault(
    "store",
    error.reason._tag === "ConnectionError"
      ? "no connection can be made, or it was lost"
      : error.reason._tag === "AuthenticationError" || error.reason._tag === "AuthorizationError"
        ? "the server refuses the user, the password or a permission"
        : `the database refuses to be examined: ${error.reason.message}`
  )

/** The findings, or that there is no database to ask. */
export const orAway = <E, R>(
  findings: Effect.Effect<ReadonlyArray<Finding>, E | SqlError.SqlError, R>
) =>
  Effect.catchIf(findings, SqlError.isSqlError, (error) =>
    Effect.succeed<ReadonlyArray<Finding>>([away(error)])
  )
