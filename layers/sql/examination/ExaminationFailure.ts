/**
 * The failures of an examination of a store, as findings.
 */
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import type { Finding } from "../../../src/value/Finding.ts"
import { fault } from "../../../src/value/Finding.ts"
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

type Findings<E, R> = Effect.Effect<ReadonlyArray<Finding>, E | SqlError.SqlError, R>

/** Gives the findings; if they fail with such an error of the database, a single fault. */
const orFault =
  (is: (error: SqlError.SqlError) => boolean, message: (error: SqlError.SqlError) => string) =>
  <E, R>(findings: Findings<E, R>) =>
    Effect.catchIf(
      findings,
      (error): error is SqlError.SqlError & E => SqlError.isSqlError(error) && is(error),
      (error) => Effect.succeed<ReadonlyArray<Finding>>([fault("store", message(error))])
    )

/** Gives the findings; if the database fails, a single fault that says why. */
export const orAway = orFault(
  () => true,
  (error) => `${said(error)}: ${reasonOf(error)}`
)

/**
 * Gives the findings; if a directory's database cannot be opened, a single fault with the message of the room: PGlite itself says
 * nothing of use.
 */
export const orUnopened = orFault(
  ({ reason }) => reason.operation === "connect",
  ({ message }) => message
)
