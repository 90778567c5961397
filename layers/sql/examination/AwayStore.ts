/**
 * The finding for a database that cannot be examined at all.
 */
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import type { Finding } from "./Finding.ts"
import { fault } from "./Finding.ts"
import { reasonOf } from "../engine/SqlFailure.ts"

const said = ({ reason }: SqlError.SqlError): string => {
  switch (reason._tag) {
    case "ConnectionError":
      return "no connection can be made, or it was lost"
    case "AuthenticationError":
    case "AuthorizationError":
      return "the server refuses the user, the password or a permission"
    default:
      return "the database refuses to be examined"
  }
}

const away = (error: SqlError.SqlError): Finding =>
  fault("store", `${said(error)}: ${reasonOf(error)}`)

/** Gives the findings; if the database fails, a single fault that says why. */
export const orAway = <E, R>(
  findings: Effect.Effect<ReadonlyArray<Finding>, E | SqlError.SqlError, R>
) =>
  Effect.catchIf(findings, SqlError.isSqlError, (error) =>
    Effect.succeed<ReadonlyArray<Finding>>([away(error)])
  )

const isUnopened = (error: unknown): error is SqlError.SqlError =>
  SqlError.isSqlError(error) && error.reason.operation === "connect"

/**
 * Gives the findings; if a directory's database cannot be opened, a single fault with the message of the room: PGlite itself says
 * nothing of use.
 */
export const orUnopened = <E, R>(
  findings: Effect.Effect<ReadonlyArray<Finding>, E | SqlError.SqlError, R>
) =>
  Effect.catchIf(findings, isUnopened, ({ message }) =>
    Effect.succeed<ReadonlyArray<Finding>>([fault("store", message)])
  )
