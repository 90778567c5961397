/**
 * A database's errors as those of the ports, with a sentence that holds no statement, no parameter and no address.
 * Private to this room.
 */
import { SqlError } from "effect/sql"
import { JournalError } from "../../services/RunJournal.ts"
import { StoreError } from "../../services/TaskStore.ts"

const stateOf = (error: SqlError.SqlError): string | undefined => {
  const { cause } = error.reason
  return cause instanceof Error && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : undefined
}

const sentence = (error: SqlError.SqlError): string => {
  switch (error.reason._tag) {
    case "ConnectionError":
      return "the connection to the database was lost or could not be made"
    case "AuthenticationError":
    case "AuthorizationError":
      return "the database refused the credentials or a permission"
    case "StatementTimeoutError":
    case "LockTimeoutError":
      return "the database took too long"
    case "DeadlockError":
    case "SerializationError":
      return "the database gave up because of another transaction"
    case "UniqueViolation":
    case "ConstraintError":
      return "the database refused a row that breaks a constraint"
    default: {
      const state = stateOf(error)
      return `the database refused the statement${state === undefined ? "" : ` (${state})`}`
    }
  }
}

/**
 * Nobody knows whether it was written: the connection went, or the server is going (class 57P), before it answered. A
 * failure without a SQLSTATE is not the server's refusal, and as little known.
 */
const isLost = (error: SqlError.SqlError): boolean => {
  if (error.reason._tag === "ConnectionError") return true
  if (error.reason._tag !== "UnknownError" || error.reason.operation === "commit") return false
  const state = stateOf(error)
  return state === undefined || state.startsWith("57P")
}

export const toJournalError = (error: SqlError.SqlError): JournalError =>
  new JournalError({ message: sentence(error), lost: isLost(error) })

export const toStoreError = (error: SqlError.SqlError): StoreError =>
  new StoreError({ message: sentence(error) })

/** The same where other errors may come too. */
export const orJournalError = <E>(
  error: E | SqlError.SqlError
): Exclude<E, SqlError.SqlError> | JournalError =>
  SqlError.isSqlError(error) ? toJournalError(error) : (error as Exclude<E, SqlError.SqlError>)

export const orStoreError = <E>(
  error: E | SqlError.SqlError
): Exclude<E, SqlError.SqlError> | StoreError =>
  SqlError.isSqlError(error) ? toStoreError(error) : (error as Exclude<E, SqlError.SqlError>)
