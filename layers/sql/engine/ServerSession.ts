/**
 * What a client knows of its sessions of a PostgreSQL server. The default is that of an engine within the process, whose settings
 * are those of its start.
 */
import { Context } from "effect"

export interface ServerSession {
  /** Whether a pooler is between this process and the server. */
  readonly isPooled: boolean
  /** Settings that the client has set in each session, which `RESET ALL` takes away. */
  readonly settings: Readonly<Record<string, string>>
}

export const ServerSession = Context.Reference<ServerSession>("troupe/sql/ServerSession", {
  defaultValue: () => ({ isPooled: false, settings: {} })
})
