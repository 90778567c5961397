/**
 * Which erasures there were, and what one does in the tables of features. Of whom is kept as a digest only, whose key is not.
 */
export const statements: ReadonlyArray<string> = [
  `CREATE TABLE troupe.erasures (
    -- Lists are in this order.
    position int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    tenant text NOT NULL,
    -- The subject's keyed digest, in hex.
    subject text NOT NULL,
    -- A JSON string.
    by text NOT NULL,
    at int8 NOT NULL,
    -- Null = it did not come to its end.
    ended_at int8,
    -- Rows by table, as JSON.
    erased text NOT NULL DEFAULT '{}'
  )`,
  // The tables of features.
  `CREATE TABLE troupe.feature_tables (
    name text COLLATE "C" PRIMARY KEY,
    feature text NOT NULL,
    -- What an erasure does with its rows, as JSON.
    erased text NOT NULL
  )`,
  // A tenant's list.
  `CREATE INDEX erasures_tenant ON troupe.erasures (tenant, position)`
]
