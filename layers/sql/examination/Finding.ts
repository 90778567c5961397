/**
 * The findings of an examination of a store.
 */
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import { reasonOf } from "../engine/SqlFailure.ts"

/** The severity of a finding. `unknown`: it could not be checked. */
export type Level = "ok" | "warning" | "fault" | "unknown"

export interface Finding {
  /** What was checked, such as `durability`. */
  readonly check: string
  readonly level: Level
  /** A sentence for a person. */
  readonly message: string
  /** At most 20 ids of the objects that the message is about. */
  readonly ids?: ReadonlyArray<string>
}

const finding =
  (level: Level) =>
  (check: string, message: string): Finding => ({ check, level, message })
export const ok = finding("ok")
export const warning = finding("warning")
export const fault = finding("fault")
export const unknown = finding("unknown")

const worst_first: ReadonlyArray<Level> = ["fault", "warning", "unknown"]

/** The worst level of these findings: a fault, otherwise a warning, otherwise `unknown`, otherwise `ok`. */
export const worstOf = (findings: ReadonlyArray<Finding>): Level =>
  worst_first.find((level) => findings.some((each) => each.level === level)) ?? "ok"

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
