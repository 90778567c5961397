/**
 * What SemStreams' tools read and write: the knowledge graph, records of ended loops, states of flows, kinds of
 * components.
 */

export const statements: ReadonlyArray<string> = [
  // The knowledge graph. It is a set: the same predicate, object and source of a subject are one fact.
  `CREATE TABLE troupe.triples (
    tenant text NOT NULL,
    subject text NOT NULL,
    -- SHA-256 of predicate, object and source.
    digest bytea NOT NULL,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    predicate text NOT NULL,
    object text NOT NULL,
    source text NOT NULL,
    said_at text NOT NULL,
    confidence float8 NOT NULL,
    PRIMARY KEY (tenant, subject, digest)
  )`,
  // The facts of a subject, in the order in which they came.
  `CREATE INDEX triples_subject ON troupe.triples (tenant, subject, position)`,
  // Records of ended loops. Keys are ordered by their bytes, on every server alike.
  `CREATE TABLE troupe.loop_records (
    tenant text NOT NULL,
    key text COLLATE "C" NOT NULL,
    -- The value's workflow_slug, if it has one.
    flow text,
    value text NOT NULL,
    PRIMARY KEY (tenant, key)
  )`,
  // The records of a flow, by key.
  `CREATE INDEX loop_records_flow ON troupe.loop_records (tenant, flow, key) WHERE flow IS NOT NULL`,
  `CREATE TABLE troupe.flow_states (
    tenant text NOT NULL,
    flow text NOT NULL,
    state text NOT NULL,
    PRIMARY KEY (tenant, flow)
  )`,
  `CREATE TABLE troupe.components (
    id text COLLATE "C" PRIMARY KEY,
    component text NOT NULL
  )`
]
