/**
 * The function that claims, several runs at a time, and gives each with its events: to have a run again costs no
 * statement of its own. And runs that rest (status -1: they wait only for people) apart from those that move, so that a
 * sweep does not look at what nobody is to recover.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Of the runs given by id, with the epoch at which each was seen (-1 = any), its owner, that as JSON, and the time, as
 * texts. A run whose head another transaction holds is left out, unless `waits`: one stopped writer never keeps others
 * from their runs, and no two batches wait for each other. The event's text is made here, because only here its epoch is
 * known; its keys stand in order. The events are read by a statement of their own, which sees what was committed while
 * the head was waited for; beyond 1,000,000 bytes they are not given, because a row has its limit.
 */
export const claims = `CREATE FUNCTION troupe.claim_runs(text[], int4[], text[], text[], text[], waits boolean)
RETURNS TABLE (run_id uuid, tenant text, agent text, address_key text, conversation text, ordinal int4, status int2,
  epoch int4, length int4, created_at int8, owner text, entries text) LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE
  free uuid[] := $1::uuid[];
  taken uuid[];
BEGIN
  IF NOT waits THEN
    SELECT array_agg(x.run_id) INTO free FROM (
      SELECT r.run_id FROM troupe.runs r WHERE r.run_id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED) x;
  END IF;
  WITH b AS MATERIALIZED (SELECT * FROM unnest($1, $2, $3, $4, $5) AS t(run_id, seen, owner, name, at)),
  h AS (UPDATE troupe.runs r SET epoch = r.epoch + 1, length = r.length + 1, status = CASE r.status WHEN 0 THEN 1 ELSE r.status END
    FROM b WHERE r.run_id = b.run_id::uuid AND r.run_id = ANY (free) AND r.status < 3 AND (b.seen = -1 OR r.epoch = b.seen)
    RETURNING r.run_id, r.epoch, r.length, b.owner, b.name, b.at::int8 AS at),
  d AS (UPDATE troupe.run_details d SET owner = h.owner FROM h WHERE d.run_id = h.run_id),
  e AS (INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
    SELECT run_id, length - 1, at, 'RunClaimed', '{"_tag":"RunClaimed","epoch":' || epoch || ',"owner":' || name || '}' FROM h),
  t AS (UPDATE troupe.agent_tasks t SET status = 1 FROM h WHERE t.id = h.run_id AND t.status = 0)
  SELECT array_agg(h.run_id) INTO taken FROM h;
  RETURN QUERY SELECT r.run_id, r.tenant, d.agent, d.address_key, d.conversation, d.ordinal, r.status, r.epoch, r.length, d.created_at,
    (SELECT p.owner FROM troupe.processes p WHERE p.owner = d.owner AND p.expires_at > clock_timestamp()),
    CASE WHEN (SELECT sum(octet_length(e.payload)) FROM troupe.run_events e WHERE e.run_id = r.run_id) <= 1000000 THEN
      (SELECT '[' || string_agg('[' || e.at || ',' || e.payload || ']', ',' ORDER BY e.seq) || ']'
        FROM troupe.run_events e WHERE e.run_id = r.run_id) END
    FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id WHERE r.run_id = ANY (taken);
END $body$`

const statements = [
  claims,
  `DROP INDEX troupe.runs_working`,
  `CREATE INDEX runs_moving ON troupe.runs (run_id) WHERE status > -1 AND status < 3`,
  `CREATE INDEX runs_resting ON troupe.runs (run_id) WHERE status = -1`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
