/**
 * What a client knows of its sessions of a PostgreSQL server. The default is that of an engine within the process, whose settings
 * are those of its start.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { SqlError } from "effect/sql"

export interface ServerSession {
  /** Whether a pooler is between this process and the server. */
  readonly isPooled: boolean
  /** Settings that the client has set in each session, which `RESET ALL` takes away. */
  readonly settings: Readonly<Record<string, string>>
  /**
   * Runs a read in a session that has this role and this tenant; the next borrower of the session has its own again. Absent = there
   * is one session for everybody, where a read takes a transaction.
   */
  readonly readAs?: (
    who: Reader
  ) => <A, E, R>(read: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>
}

/** For whom a session reads. */
export interface Reader {
  /** The role of the database. */
  readonly role: string
  readonly tenant: string
}

export const ServerSession = Context.Reference<ServerSession>("troupe/sql/ServerSession", {
  defaultValue: () => ({ isPooled: false, settings: {} })
})
