/**
 * Tokens that admins gave. Of a token's text only the SHA-256 is kept.
 */
export const statements: ReadonlyArray<string> = [
  `CREATE TABLE troupe.access_tokens (
    -- Lists are in this order.
    position int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_id uuid NOT NULL UNIQUE,
    -- In hex.
    sha256 text NOT NULL UNIQUE,
    tenant text NOT NULL,
    -- The whole of it but what changes, as JSON.
    token text NOT NULL,
    expires_at int8 NOT NULL,
    last_used_at int8,
    -- A JSON string.
    revoked_by text,
    revoked_at int8
  )`,
  // A tenant's list.
  `CREATE INDEX access_tokens_tenant ON troupe.access_tokens (tenant, position)`
]
