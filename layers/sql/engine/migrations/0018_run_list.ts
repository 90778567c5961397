/**
 * Calls whose outcome nobody knows, for whoever has to find them: a row from the event that says so to the one that says
 * what became of it. And the index that lists a tenant's runs, newest first.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // Names are JSON text, as everywhere. Few rows at any time: somebody works them off.
  `CREATE TABLE troupe.unknown_calls (
    run_id uuid NOT NULL,
    call text NOT NULL,
    tool text NOT NULL,
    tenant text NOT NULL,
    since int8 NOT NULL,
    PRIMARY KEY (run_id, call)
  )`,
  `CREATE INDEX unknown_calls_oldest ON troupe.unknown_calls (tenant, since, run_id, call)`,
  `CREATE INDEX agent_tasks_newest ON troupe.agent_tasks (tenant, created_at DESC, id DESC)`,
  // Those that waited when this was written. Only their own events are read as JSON: a result may hold a NUL, which that
  // refuses. In no text of another event is the quoted member: there its quotes are escaped. Their tools are not known.
  `INSERT INTO troupe.unknown_calls (run_id, call, tool, tenant, since)
   SELECT u.run_id, u.call, '""', u.tenant, u.since
   FROM (
     SELECT e.run_id, e.seq, to_json(e.payload::json->>'call')::text AS call, r.tenant, e.at AS since
     FROM troupe.runs r JOIN troupe.run_events e ON e.run_id = r.run_id AND e.type = 'CallUnknown'
     WHERE r.status < 3
   ) u
   WHERE NOT EXISTS (
     SELECT 1 FROM troupe.run_events s
     WHERE s.run_id = u.run_id AND s.seq > u.seq AND s.type IN ('CallSettled', 'CallReopened')
       AND position('"call":' || u.call IN s.payload) > 0
   )
   ON CONFLICT DO NOTHING`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
