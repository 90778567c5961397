/**
 * The session as the body of a transactional tool has it: what the body sets there ends with the body, and it can end neither the
 * journal's transaction nor the session.
 */
import { Effect, Stream } from "effect"
import { SqlError } from "effect/sql"
import type { SqlClient, SqlConnection } from "effect/sql"
import type { ServerSession } from "../engine/ServerSession.ts"

/** Space and comments before a statement. */
const before = /^(?:[\s;]|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)*/
/** Statements that begin or end a transaction; a savepoint is the body's own. */
const control =
  /^(?:begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b/i
/** Limits that do not fail a statement but end the session, on PGlite with the whole engine. */
const limits = /\b(?:transaction|idle_in_transaction_session|idle_session)_timeout\b/i

const refused = (code: string, message: string) =>
  new SqlError.SqlError({
    reason: new SqlError.AuthorizationError({
      cause: Object.assign(new Error(message), { code }),
      message,
      operation: "query"
    })
  })

/** Why a body may not run a statement; undefined if it may. */
const refusalOf = (sql: string, params: ReadonlyArray<unknown>): SqlError.SqlError | undefined => {
  if (control.test(sql.slice(before.exec(sql)?.[0].length ?? 0))) {
    return refused("2D000", "the body of a transactional tool cannot begin or end a transaction")
  }
  const texts = [sql, ...params.filter((value) => typeof value === "string" && value.length < 64)]
  return texts.some((text) => limits.test(text as string))
    ? refused("42501", "the body of a transactional tool cannot set a limit that ends the session")
    : undefined
}

const guarded = (to: SqlConnection.Connection): SqlConnection.Connection => {
  const checked = <A>(
    sql: string,
    params: ReadonlyArray<unknown>,
    then: Effect.Effect<A, SqlError.SqlError>
  ) => {
    const error = refusalOf(sql, params)
    return error === undefined ? then : Effect.fail(error)
  }
  return {
    execute: (sql, params, transform) => checked(sql, params, to.execute(sql, params, transform)),
    executeUnprepared: (sql, params, transform) =>
      checked(sql, params, to.executeUnprepared(sql, params, transform)),
    executeRaw: (sql, params) => checked(sql, params, to.executeRaw(sql, params)),
    executeValues: (sql, params) => checked(sql, params, to.executeValues(sql, params)),
    executeValuesUnprepared: (sql, params) =>
      checked(sql, params, to.executeValuesUnprepared(sql, params)),
    executeStream: (sql, params, transform) =>
      Stream.unwrap(checked(sql, params, Effect.succeed(to.executeStream(sql, params, transform))))
  }
}

/**
 * Gives a body the open transaction in this form. The level of the transaction is changed rather than replaced: the client keeps by
 * it what is to be done after the commit.
 */
export const guard = <A, E, R>(
  sql: SqlClient.SqlClient,
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.serviceOption(sql.transactionService), (open) => {
    if (open._tag === "Some") {
      const level = open.value as unknown as [SqlConnection.Connection, number]
      level[0] = guarded(level[0])
    }
    return body
  })

/**
 * Puts the session back, whatever the body did to it by statements or within functions: settings, role, cursors, temporary tables,
 * prepared statements, locks of the session, and the channels that it listens to, which change only at the commit. The settings are
 * those that the client has set in its sessions.
 */
export const resetTo = (settings: ServerSession["settings"]): string => `DO $$ DECLARE
  channels text[] := ARRAY(SELECT pg_catalog.pg_listening_channels());
  it text;
BEGIN
  RESET SESSION AUTHORIZATION;
  RESET ROLE;
  RESET ALL;
  ${Object.entries(settings)
    .map(([name, value]) => `PERFORM pg_catalog.set_config('${name}', '${value}', false);`)
    .join("\n  ")}
  EXECUTE 'CLOSE ALL';
  EXECUTE 'DISCARD TEMP';
  EXECUTE 'UNLISTEN *';
  FOREACH it IN ARRAY channels LOOP EXECUTE pg_catalog.format('LISTEN %I', it); END LOOP;
  FOR it IN SELECT name FROM pg_catalog.pg_prepared_statements WHERE from_sql LOOP
    EXECUTE pg_catalog.format('DEALLOCATE %I', it);
  END LOOP;
  PERFORM pg_catalog.pg_advisory_unlock_all();
END $$`
