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

export const ok = (check: string, message: string): Finding => ({ check, level: "ok", message })
export const warning = (check: string, message: string): Finding => ({
  check,
  level: "warning",
  message
})
export const fault = (check: string, message: string): Finding => ({
  check,
  level: "fault",
  message
})
export const unknown = (check: string, message: string): Finding => ({
  check,
  level: "unknown",
  message
})

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
