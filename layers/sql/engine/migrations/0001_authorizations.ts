/**
 * What workspaces authorised in advance. Names of people are JSON texts, because PostgreSQL keeps no NUL.
 */
export const statements: ReadonlyArray<string> = [
  `CREATE TABLE troupe.authorizations (
    authorization_id uuid PRIMARY KEY,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    agent text NOT NULL,
    action text NOT NULL,
    tool_key text NOT NULL,
    tool_digest text NOT NULL,
    granted_by text NOT NULL,
    granted_at int8 NOT NULL,
    expires_at int8 NOT NULL,
    uses_max int4,
    uses int4 NOT NULL DEFAULT 0,
    last_used_at int8,
    revoked_by text,
    revoked_at int8
  )`,
  // Of one action of one agent one stands, so that a revocation leaves none.
  `CREATE UNIQUE INDEX authorizations_standing ON troupe.authorizations (tenant, agent, action) WHERE revoked_at IS NULL`,
  // A tenant's list, newest first.
  `CREATE INDEX authorizations_newest ON troupe.authorizations (tenant, position)`
]
