/**
 * Calls of tools are claimed by turns of tenants, as the outbox's messages are. And what a run needs of whoever claims
 * it, beside its agent.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { claims as claim_runs_before } from "./0009_claims.ts"

/** Takes the oldest call of one tenant that is due. One that another claim holds is left out. */
const one = `CREATE FUNCTION troupe.take_tool_message(claimer text, at int8, until int8, tools text[], whose text)
RETURNS SETOF troupe.tool_messages LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $body$
BEGIN
  RETURN QUERY UPDATE troupe.tool_messages m SET deliveries = m.deliveries + 1, owner = claimer, due_at = until
  WHERE m.id = (
    SELECT x.id FROM unnest(tools) t(tool) CROSS JOIN LATERAL (
      SELECT w.id, w.due_at, w.place FROM troupe.tool_messages w
      WHERE w.status = 0 AND w.tool = t.tool AND w.tenant = whose AND w.due_at <= at
      ORDER BY w.due_at, w.place LIMIT 1 FOR UPDATE SKIP LOCKED) x
    ORDER BY x.due_at, x.place LIMIT 1)
  RETURNING m.*;
END $body$`

/**
 * Takes as many as are wanted: of each tenant in turn its oldest, from the tenant behind \`behind\` on, then a second of
 * each, and so on. Whose turn it is, is found by one probe of an index a tenant, so that a claim costs what it takes and
 * not what waits.
 */
const claims = `CREATE FUNCTION troupe.claim_tool_messages(claimer text, at int8, until int8, tools text[], wanted int4, behind text)
RETURNS SETOF troupe.tool_messages LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $body$
DECLARE
  turn text := behind;
  around boolean := false;
  taken int4 := 0;
  line text[] := '{}';
  left_in text[];
BEGIN
  WHILE taken < wanted LOOP
    SELECT min(x.tenant) INTO turn FROM unnest(tools) t(tool) CROSS JOIN LATERAL (
      SELECT w.tenant FROM troupe.tool_messages w
      WHERE w.status = 0 AND w.tool = t.tool AND w.tenant > turn ORDER BY w.tenant LIMIT 1) x;
    IF turn IS NULL THEN
      EXIT WHEN around OR behind = '';
      around := true;
      turn := '';
      CONTINUE;
    END IF;
    EXIT WHEN around AND turn > behind;
    RETURN QUERY SELECT * FROM troupe.take_tool_message(claimer, at, until, tools, turn);
    IF FOUND THEN
      taken := taken + 1;
      line := line || turn;
    END IF;
  END LOOP;
  WHILE taken < wanted AND cardinality(line) > 0 LOOP
    left_in := '{}';
    FOR i IN 1 .. cardinality(line) LOOP
      EXIT WHEN taken >= wanted;
      RETURN QUERY SELECT * FROM troupe.take_tool_message(claimer, at, until, tools, line[i]);
      CONTINUE WHEN NOT FOUND;
      taken := taken + 1;
      left_in := left_in || line[i];
    END LOOP;
    line := left_in;
  END LOOP;
END $body$`

/** As it was; a claim forgets what the run needed of whoever was to claim it. */
const claim_runs = claim_runs_before
  .replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
  .replace("SET owner = h.owner FROM", "SET owner = h.owner, needs = '{}' FROM")

const statements = [
  `CREATE INDEX tool_messages_turn ON troupe.tool_messages (tool, tenant, due_at, place) WHERE status = 0`,
  one,
  claims,
  // Beside its agent: agents, versions of agents, tools (`Needs`). Written when an owner finds that it lacks one of them.
  `ALTER TABLE troupe.run_details ADD COLUMN needs text[] NOT NULL DEFAULT '{}'`,
  `CREATE INDEX run_details_needs ON troupe.run_details (tenant) WHERE open AND needs <> '{}'`,
  claim_runs
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
