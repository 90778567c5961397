/**
 * Converts a database's errors to those of the ports, with a message that contains no statement, no parameter and no address.
 * Private to this room.
 */
import type { Cause, Fiber } from "effect"
import { Context, Effect } from "effect"
import { SqlError } from "effect/sql"
import type { SqlClient } from "effect/sql"
import { JournalError } from "../../../services/RunJournal.ts"
import { StoreError } from "../../../services/StoreError.ts"

/** The SQLSTATE of an error; undefined where the server did not answer. */
export const stateOf = (error: SqlError.SqlError): string | undefined => {
  const { cause } = error.reason
  return cause instanceof Error && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : undefined
}

/** Messages for temporary states of a server that an operator can change, by SQLSTATE. */
const states: Readonly<Record<string, string>> = {
  "25006": "the database is read-only",
  "3D000": "the server has no database of that name",
  "53100": "the disk of the database is full",
  "53200": "the database is out of memory",
  "57P01": "the server is stopping, or an operator ended the session",
  "57P02": "the server crashed, and starts again",
  "57P03": "the server is starting or stopping"
}

/** Which limit of connections is reached, by the server's message. */
const limitOf = (reason: string): string => {
  if (reason.includes("for role"))
    return "the role of this service may open no more connections: raise its CONNECTION LIMIT"
  if (reason.includes("for database"))
    return "the database takes no more connections: raise its CONNECTION LIMIT"
  return "the server has no connection left: raise its max_connections"
}

const sentence = (error: SqlError.SqlError): string => {
  const state = stateOf(error)
  if (state === "53300") {
    return `${limitOf(reasonOf(error))}, or lower connections_max, of which each process needs 5 (${state})`
  }
  const known = states[state ?? ""]
  if (known !== undefined) return `${known} (${state})`
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
    default:
      return `the database refused the statement${state === undefined ? "" : ` (${state})`}`
  }
}

const innermost = (error: unknown): unknown =>
  error instanceof Error && error.cause !== undefined ? innermost(error.cause) : error

/** The message of the server or the system, without what the layers above it added. */
export const reasonOf = (error: unknown): string => {
  if (SqlError.isSqlError(error)) return reasonOf(error.reason.cause)
  const why = innermost(error)
  return why instanceof Error ? why.message : "it is not known why"
}

const reasons = {
  ConnectionError: [SqlError.ConnectionError, "PostgreSQL cannot be reached"],
  AuthenticationError: [SqlError.AuthenticationError, "the database refuses this user"],
  AuthorizationError: [SqlError.AuthorizationError, "the database refuses this user a permission"],
  UnknownError: [SqlError.UnknownError, "the database cannot be used"]
} as const

/** Adds the cause to an error that ends a start: the driver's message says only that something failed. */
export const withReason = (error: SqlError.SqlError): SqlError.SqlError => {
  const { _tag, cause, operation } = error.reason
  if (!(_tag in reasons) || !(innermost(cause) instanceof Error)) return error
  const [Reason, said] = reasons[_tag as keyof typeof reasons]
  const message = `${said}: ${reasonOf(cause)}`
  return new SqlError.SqlError({
    reason: new Reason({ cause, message, ...(operation === undefined ? undefined : { operation }) })
  })
}

/**
 * Whether it is unknown if the statement took effect: the connection was lost, or the server was stopping (class 57P), before it
 * answered. A failure without a SQLSTATE is not a refusal by the server, so it counts as unknown too.
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

/** As `toJournalError`, but passes other errors through. */
export const orJournalError = <E>(
  error: E | SqlError.SqlError
): Exclude<E, SqlError.SqlError> | JournalError =>
  SqlError.isSqlError(error) ? toJournalError(error) : (error as Exclude<E, SqlError.SqlError>)

export const orStoreError = <E>(
  error: E | SqlError.SqlError
): Exclude<E, SqlError.SqlError> | StoreError =>
  SqlError.isSqlError(error) ? toStoreError(error) : (error as Exclude<E, SqlError.SqlError>)

/**
 * Checks the command of a COMMIT's answer: in a transaction with a failed statement, COMMIT answers ROLLBACK instead of failing.
 */
export const committed = (command: string | undefined): Effect.Effect<void, SqlError.SqlError> =>
  command === "ROLLBACK"
    ? Effect.fail(
        new SqlError.SqlError({
          reason: new SqlError.UnknownError({
            cause: new Error("COMMIT rolled back"),
            message: "The transaction had failed and was rolled back",
            operation: "commit"
          })
        })
      )
    : Effect.void

/** The error or defect of a reason. A failure of the body comes as a defect where the rollback after it died. */
const subject = <E>(reason: Cause.Reason<E>): unknown =>
  reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined

/** The lost connection of which a rollback died; undefined if it did not die, or died of something else as well. */
const lostIn = <E>(
  cause: Cause.Cause<E>,
  body: Cause.Cause<E> | undefined
): SqlError.SqlError | undefined => {
  const known = new Set(body?.reasons.map(subject))
  let lost: SqlError.SqlError | undefined
  for (const reason of cause.reasons) {
    if (reason._tag !== "Die") continue
    // The body and the rollback may have the same error object: that of the connection.
    if (SqlError.isSqlError(reason.defect) && isLost(reason.defect)) lost = reason.defect
    else if (!known.has(reason.defect)) return undefined
  }
  return lost
}

/** Whether this fiber runs in an open transaction. */
export const isInTransaction = (
  sql: SqlClient.SqlClient,
  { context }: Pick<Fiber.Fiber<unknown, unknown>, "context">
): boolean => Context.getOrUndefined(context, sql.transactionService) !== undefined

/**
 * Runs an effect in a transaction, or in a savepoint of the open one. Where the connection is lost, the client cannot roll back
 * and dies; this turns that into the error of an unreachable database, which the ports have. Every other defect, including one of
 * which the body died before, and an interruption stay as they are.
 */
export const inTransaction =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
    Effect.suspend(() => {
      let body: Cause.Cause<E> | undefined
      const noted = Effect.onError(self, (cause) => Effect.sync(() => void (body = cause)))
      return Effect.catchCause(
        sql.withTransaction(noted),
        (cause): Effect.Effect<never, E | SqlError.SqlError> => {
          const lost = lostIn<E | SqlError.SqlError>(cause, body)
          if (lost === undefined) return Effect.failCause(cause)
          return body?.reasons.some(({ _tag }) => _tag !== "Fail")
            ? Effect.failCause(body)
            : Effect.fail(lost)
        }
      )
    })
