/**
 * What the built-in tools read and write: facts of the knowledge graph, records of ended loops, states of flows, kinds of
 * components. Texts from outside are JSON text, because PostgreSQL's text refuses a NUL.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // "digest" is the SHA-256 of predicate, object and source: a graph is a set.
  `CREATE TABLE troupe.triples (
    tenant text NOT NULL,
    subject text NOT NULL,
    digest bytea NOT NULL,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    predicate text NOT NULL,
    object text NOT NULL,
    source text NOT NULL,
    said_at text NOT NULL,
    confidence float8 NOT NULL,
    PRIMARY KEY (tenant, subject, digest)
  )`,
  `CREATE INDEX triples_subject ON troupe.triples (tenant, subject, position)`,
  // "flow" is the value's workflow_slug, if it has one.
  `CREATE TABLE troupe.loop_records (
    tenant text NOT NULL,
    key text COLLATE "C" NOT NULL,
    flow text,
    value text NOT NULL,
    PRIMARY KEY (tenant, key)
  )`,
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

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
