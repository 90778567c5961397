/**
 * The function that claims runs, several at a time, and gives each with its events: a claim costs one statement.
 */
import { by_key } from "./0001_plans.ts"

/**
 * Claims the runs of $1, at most once each. Per run: the epoch at which it was seen (-1 = any), its owner, the owner as
 * JSON, and the time in ms, as text. A run whose head another transaction holds is left out unless `waits`, so that one
 * stopped writer keeps nobody from other runs, and two batches never wait for each other.
 *
 * The event's text is made here, because only here its epoch is known; its keys stand in canonical order. The events are
 * read by a statement of their own, which sees what was committed while the head was waited for. Beyond 1,000,000 bytes
 * `entries` is null, because a row has its limit.
 */
const claim = `CREATE FUNCTION troupe.claim_runs(text[], int4[], text[], text[], text[], waits boolean)
RETURNS TABLE (run_id uuid, tenant text, agent text, address_key text, conversation text, ordinal int4, status int2,
  epoch int4, length int4, created_at int8, owner text, entries text) LANGUAGE plpgsql ${by_key} AS $body$
#variable_conflict use_column
DECLARE
  free uuid[] := $1::uuid[];
  taken uuid[];
BEGIN
  IF NOT waits THEN
    SELECT array_agg(x.run_id) INTO free FROM (
      SELECT r.run_id FROM troupe.runs r WHERE r.run_id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED) x;
  END IF;
  WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest($1, $2, $3, $4, $5) AS w(run_id, seen, owner, name, at)),
  head AS (
    UPDATE troupe.runs r SET epoch = r.epoch + 1, length = r.length + 1, status = CASE r.status WHEN 0 THEN 1 ELSE r.status END
    FROM wanted w
    WHERE r.run_id = w.run_id::uuid AND r.run_id = ANY (free) AND r.status < 3 AND (w.seen = -1 OR r.epoch = w.seen)
    RETURNING r.run_id, r.epoch, r.length, w.owner, w.name, w.at::int8 AS at),
  detail AS (
    UPDATE troupe.run_details d SET owner = h.owner, needs = '{}' FROM head h
    WHERE d.run_id = h.run_id AND d.run_id = ANY (free)),
  event AS (
    INSERT INTO troupe.run_pairs (run_id, seq, at, payload)
    SELECT run_id, length - 1, at, '{"_tag":"RunClaimed","epoch":' || epoch || ',"owner":' || name || '}'
    FROM head),
  task AS (
    UPDATE troupe.agent_tasks t SET status = 1 FROM head h
    WHERE t.id = h.run_id AND t.id = ANY (free) AND t.status + 0 = 0)
  SELECT array_agg(h.run_id) INTO taken FROM head h;
  RETURN QUERY SELECT r.run_id, r.tenant, d.agent, d.address_key, d.conversation, d.ordinal, r.status, r.epoch, r.length, d.created_at,
    (SELECT p.owner FROM troupe.processes p WHERE p.owner = d.owner AND p.expires_at > clock_timestamp()),
    CASE WHEN (SELECT sum(octet_length(e.payload) + coalesce(octet_length(e.next), 0)) FROM troupe.run_pairs e WHERE e.run_id = r.run_id) <= 1000000 THEN
      (SELECT '[' || string_agg('[' || e.at || ',' || e.payload || ']' || coalesce(',[' || e.at || ',' || e.next || ']', ''),
        ',' ORDER BY e.seq) || ']' FROM troupe.run_pairs e WHERE e.run_id = r.run_id) END
    FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id
    WHERE r.run_id = ANY (taken) AND d.run_id = ANY (taken);
END $body$`

export const statements: ReadonlyArray<string> = [claim]
