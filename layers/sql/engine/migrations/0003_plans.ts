/**
 * Plans of the functions that append, begin and claim runs, and take messages. A session keeps the plan of a function's
 * statement, and may have made it while the tables were empty or small: there all ways to a row seem equally
 * cheap, and the kept plan may read a whole table, or a whole index, until statistics are gathered, however many rows came
 * since. All that these functions read they find by a key that they are given. So that only one way is left, whenever a
 * plan is made:
 *
 * - a function has settings of its own, which also hold behind a pooler of connections (`by_key`);
 * - a table that is joined by a key is restricted to an array of the keys as well (`= ANY`): the join may begin with it;
 * - a column is compared as an expression (`status + 0`) where the plain comparison would also suit an index of few rows
 *   (`WHERE status = 0`);
 * - an index of lists and turns has the tenant as an expression (`tenant || ''`): it serves who asks for it in these words,
 *   and not who looks for a key of a tenant.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Leaves the planner nothing but probes of indexes. */
const by_key =
  "SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off"

/** As in the first schema, but for its plans. */
const projection = `CREATE OR REPLACE FUNCTION troupe.append_projection(run uuid, base int4, at int8, projection json)
RETURNS void LANGUAGE plpgsql ${by_key} AS $body$
DECLARE
  p record;
  detail record;
  place int4;
BEGIN
  SELECT * INTO p FROM json_to_record(projection) AS x(asked json, answered json, task_status int2, task_reason text,
    closed boolean, answer text, costs json, known json, unknown json);
  SELECT d.tenant, d.conversation INTO detail FROM troupe.run_details d WHERE d.run_id = run;
  -- Questions for a person.
  IF p.asked IS NOT NULL THEN
    INSERT INTO troupe.approvals (id, tenant, run_id, expires_at, payload)
    SELECT x.id, detail.tenant, run, x.expires_at, x.payload
    FROM json_to_recordset(p.asked) AS x(id uuid, expires_at int8, payload text);
  END IF;
  -- A question that was answered or closed before is left as it is.
  IF p.answered IS NOT NULL THEN
    UPDATE troupe.approvals a SET status = x.status, answer = x.answer
    FROM json_to_recordset(p.answered) AS x(id uuid, status int2, answer text)
    WHERE a.run_id = run AND a.id = x.id AND a.status + 0 = 0;
  END IF;
  -- A task that is over stays as it is.
  IF p.task_status IS NOT NULL THEN
    UPDATE troupe.agent_tasks t SET status = p.task_status, reason = p.task_reason WHERE t.id = run AND t.status + 0 < 2;
  END IF;
  -- The run is over: the next run of its address may begin.
  IF p.closed THEN
    UPDATE troupe.run_details d SET open = false WHERE d.run_id = run;
  END IF;
  -- The assistant's message, at the end of the conversation.
  IF p.answer IS NOT NULL THEN
    UPDATE troupe.conversations c SET messages = c.messages + 1
    WHERE c.id = detail.conversation AND c.tenant = detail.tenant RETURNING c.messages - 1 INTO place;
    INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    SELECT detail.tenant, detail.conversation, place, 'assistant', p.answer,
      coalesce((SELECT t.channel_origin FROM troupe.agent_tasks t WHERE t.id = run), 'api'), run, at
    WHERE place IS NOT NULL;
  END IF;
  -- What turns cost, and what tools spent on models.
  IF p.costs IS NOT NULL THEN
    INSERT INTO troupe.turn_costs (run_id, seq, part, at, tenant, agent, model, tool, turns, currency, amount, prices,
      input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens)
    SELECT run, base + x.position, x.part, at, detail.tenant, x.agent, x.model, x.tool, x.turns, x.currency, x.amount, x.prices,
      x.input_tokens, x.output_tokens, x.cached_tokens, x.cache_write_tokens, x.reasoning_tokens
    FROM json_to_recordset(p.costs) AS x(position int4, part int2, agent text, model text, tool text, turns int8,
      currency text, amount numeric, prices text,
      input_tokens int8, output_tokens int8, cached_tokens int8, cache_write_tokens int8, reasoning_tokens int8);
  END IF;
  -- Calls whose outcome is not unknown any more, then those that became unknown.
  IF p.known IS NOT NULL THEN
    DELETE FROM troupe.unknown_calls u USING json_to_recordset(p.known) AS x(call text)
    WHERE u.run_id = run AND u.call = x.call;
  END IF;
  IF p.unknown IS NOT NULL THEN
    INSERT INTO troupe.unknown_calls (run_id, call, tool, tenant, since)
    SELECT run, x.call, x.tool, detail.tenant, at FROM json_to_recordset(p.unknown) AS x(call text, tool text)
    ON CONFLICT DO NOTHING;
  END IF;
END $body$`

/**
 * As in the first schema, without its join of heads and events: joined by probes alone, which is what `by_key` leaves, each
 * event would be compared with each head. An event finds its head by its place in the arrays.
 */
const batch = `CREATE OR REPLACE FUNCTION troupe.append_batch(
  runs uuid[], epochs int4[], lengths int4[], counts int4[], statuses int4[], times int8[],
  places int4[], positions int4[], types text[], payloads text[],
  projecting int4[], projections text[])
RETURNS SETOF int4 LANGUAGE plpgsql ${by_key} AS $body$
DECLARE
  accepted int4[];
  are_all boolean;
BEGIN
  WITH head AS (
    UPDATE troupe.runs r SET length = w.length + w.count, status = w.status::int2
    FROM unnest(runs, epochs, lengths, counts, statuses) WITH ORDINALITY AS w(run_id, epoch, length, count, status, place)
    WHERE r.run_id = w.run_id AND r.run_id = ANY (runs) AND r.epoch = w.epoch AND r.length = w.length AND r.status < 3
    RETURNING w.place::int4 AS place)
  SELECT coalesce(array_agg(h.place), '{}') INTO accepted FROM head h;
  are_all := cardinality(accepted) = cardinality(runs);
  INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
  SELECT runs[e.place], lengths[e.place] + e.position, times[e.place], e.type, e.payload
  FROM unnest(places, positions, types, payloads) AS e(place, position, type, payload)
  WHERE are_all OR e.place = ANY (accepted);
  PERFORM troupe.append_projection(runs[x.place], lengths[x.place], times[x.place], x.projection::json)
  FROM unnest(projecting, projections) AS x(place, projection) WHERE are_all OR x.place = ANY (accepted);
  IF NOT are_all THEN
    RETURN QUERY SELECT x.place FROM generate_series(1, cardinality(runs)) AS x(place) WHERE x.place <> ALL (accepted);
  END IF;
END $body$`

/** As in the first schema, but for its plans. */
const claimRuns = `CREATE OR REPLACE FUNCTION troupe.claim_runs(text[], int4[], text[], text[], text[], waits boolean)
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
    INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
    SELECT run_id, length - 1, at, 'RunClaimed', '{"_tag":"RunClaimed","epoch":' || epoch || ',"owner":' || name || '}'
    FROM head),
  task AS (
    UPDATE troupe.agent_tasks t SET status = 1 FROM head h
    WHERE t.id = h.run_id AND t.id = ANY (free) AND t.status + 0 = 0)
  SELECT array_agg(h.run_id) INTO taken FROM head h;
  RETURN QUERY SELECT r.run_id, r.tenant, d.agent, d.address_key, d.conversation, d.ordinal, r.status, r.epoch, r.length, d.created_at,
    (SELECT p.owner FROM troupe.processes p WHERE p.owner = d.owner AND p.expires_at > clock_timestamp()),
    CASE WHEN (SELECT sum(octet_length(e.payload)) FROM troupe.run_events e WHERE e.run_id = r.run_id) <= 1000000 THEN
      (SELECT '[' || string_agg('[' || e.at || ',' || e.payload || ']', ',' ORDER BY e.seq) || ']'
        FROM troupe.run_events e WHERE e.run_id = r.run_id) END
    FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id
    WHERE r.run_id = ANY (taken) AND d.run_id = ANY (taken);
END $body$`

/** As in the first schema, but for its plans. */
const takeMessage = `CREATE OR REPLACE FUNCTION troupe.take_outbox(claimer text, at int8, until int8, topics text[], agents text[], whose text)
RETURNS SETOF troupe.outbox LANGUAGE plpgsql ${by_key} AS $body$
DECLARE
  first record;
BEGIN
  SELECT x.* INTO first FROM unnest(topics) t(topic) CROSS JOIN unnest(agents) a(agent) CROSS JOIN LATERAL (
    SELECT k.key, k.due_at, k.place FROM troupe.outbox_keys k
    WHERE k.topic = t.topic AND k.agent = a.agent AND k.tenant || '' = whose AND k.due_at <= at
    ORDER BY k.due_at, k.place LIMIT 1 FOR UPDATE SKIP LOCKED) x
  ORDER BY x.due_at, x.place LIMIT 1;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE troupe.outbox_keys k SET due_at = until
  WHERE k.tenant = whose AND k.key = first.key;
  RETURN QUERY UPDATE troupe.outbox o SET attempts = o.attempts + 1, lease_owner = claimer
    WHERE o.id = (SELECT m.id FROM troupe.outbox m WHERE m.tenant = whose AND m.key = first.key
      ORDER BY m.key_seq LIMIT 1)
    RETURNING o.*;
END $body$`

/** As in the first schema, but for its plans. */
const claimMessages = `CREATE OR REPLACE FUNCTION troupe.claim_outbox(claimer text, at int8, until int8, topics text[], agents text[],
  wanted int4, behind text, room int4, busy text[], rooms int4[])
RETURNS SETOF troupe.outbox LANGUAGE plpgsql ${by_key} AS $body$
DECLARE
  whose text := behind;
  wrapped boolean := false;
  taken int4 := 0;
  free int4;
  -- The tenants that gave a message, and how many more each may give.
  tenants text[] := '{}';
  places int4[] := '{}';
  found_any boolean := true;
BEGIN
  WHILE taken < wanted LOOP
    SELECT min(x.tenant) INTO whose FROM unnest(topics) t(topic) CROSS JOIN unnest(agents) a(agent) CROSS JOIN LATERAL (
      SELECT k.tenant FROM troupe.outbox_keys k
      WHERE k.topic = t.topic AND k.agent = a.agent AND k.tenant || '' > whose ORDER BY k.tenant || '' LIMIT 1) x;
    IF whose IS NULL THEN
      EXIT WHEN wrapped OR behind = '';
      wrapped := true;
      whose := '';
      CONTINUE;
    END IF;
    EXIT WHEN wrapped AND whose > behind;
    free := coalesce(rooms[array_position(busy, whose)], room);
    CONTINUE WHEN free < 1;
    RETURN QUERY SELECT * FROM troupe.take_outbox(claimer, at, until, topics, agents, whose);
    IF FOUND THEN
      taken := taken + 1;
      tenants := tenants || whose;
      places := places || (free - 1);
    END IF;
  END LOOP;
  WHILE found_any AND taken < wanted LOOP
    found_any := false;
    FOR i IN 1 .. cardinality(tenants) LOOP
      EXIT WHEN taken >= wanted;
      CONTINUE WHEN places[i] < 1;
      RETURN QUERY SELECT * FROM troupe.take_outbox(claimer, at, until, topics, agents, tenants[i]);
      IF FOUND THEN
        taken := taken + 1;
        places[i] := places[i] - 1;
        found_any := true;
      ELSE
        places[i] := 0;
      END IF;
    END LOOP;
  END LOOP;
END $body$`

/** As in 0002, but for its plans. */
const beginRuns = `CREATE OR REPLACE FUNCTION troupe.begin_runs(
  ids text[], messages text[], claims text[], tenants text[], agents text[], address_keys text[], conversations text[],
  ordinals int4[], owners text[], times text[], accepted text[], claimed text[], outbox_keys text[], waits boolean)
RETURNS TABLE (place int4, begun boolean) LANGUAGE plpgsql ${by_key} AS $body$
#variable_conflict use_column
DECLARE
  x record;
  -- The next message of the key.
  n record;
  gone int4;
  wakes boolean := false;
BEGIN
  FOR x IN SELECT u.*, u.n::int4 AS place, u.at::int8 AS begun_at, u.id::uuid AS run FROM unnest(ids, messages, claims, tenants,
      agents, address_keys, conversations, ordinals, owners, times, accepted, claimed, outbox_keys)
      WITH ORDINALITY AS u(id, message, claim, tenant, agent, address_key, conversation, ordinal, owner, at, accepted, claimed,
      outbox_key, n)
    ORDER BY u.tenant, u.outbox_key
  LOOP
    -- The key before its messages, as everybody does.
    IF waits THEN
      PERFORM FROM troupe.outbox_keys k WHERE k.tenant = x.tenant AND k.key = x.outbox_key FOR UPDATE;
    ELSE
      PERFORM FROM troupe.outbox_keys k WHERE k.tenant = x.tenant AND k.key = x.outbox_key FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
    END IF;
    place := x.place;
    begun := false;
    DELETE FROM troupe.outbox o WHERE o.id = x.message::uuid AND o.lease_owner = x.claim RETURNING o.key_seq INTO gone;
    IF NOT FOUND THEN
      RETURN NEXT;
      CONTINUE;
    END IF;
    SELECT o.created_at, o.place, o.topic, o.agent INTO n FROM troupe.outbox o
    WHERE o.tenant = x.tenant AND o.key = x.outbox_key AND o.key_seq > gone ORDER BY o.key_seq LIMIT 1;
    IF FOUND THEN
      UPDATE troupe.outbox_keys k SET pending = k.pending - 1, due_at = n.created_at, place = n.place, topic = n.topic,
        agent = n.agent
      WHERE k.tenant = x.tenant AND k.key = x.outbox_key;
      wakes := true;
    ELSE
      DELETE FROM troupe.outbox_keys k WHERE k.tenant = x.tenant AND k.key = x.outbox_key;
    END IF;
    INSERT INTO troupe.runs (run_id, tenant, epoch, length, status) VALUES (x.run, x.tenant, 1, 2, 1) ON CONFLICT DO NOTHING;
    begun := FOUND;
    RETURN NEXT;
    CONTINUE WHEN NOT begun;
    INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, owner, created_at)
    VALUES (x.run, x.tenant, x.agent, x.address_key, x.conversation, x.ordinal, x.owner, x.begun_at);
    INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
    VALUES (x.run, 0, x.begun_at, 'RunAccepted', x.accepted), (x.run, 1, x.begun_at, 'RunClaimed', x.claimed);
    UPDATE troupe.agent_tasks t SET status = 1 WHERE t.id = x.run AND t.status + 0 = 0;
  END LOOP;
  IF wakes THEN PERFORM pg_notify('troupe_outbox', ''); END IF;
END $body$`

/** The indexes that begin with the tenant, or have it beside the key: who looks for a key is not to take them. */
const indexes = [
  `DROP INDEX troupe.conversations_tenant, troupe.conversations_begun_by, troupe.outbox_keys_turn`,
  `CREATE INDEX conversations_tenant ON troupe.conversations ((tenant || ''), created_at DESC, position DESC)`,
  `CREATE INDEX conversations_begun_by ON troupe.conversations ((tenant || ''), begun_by, created_at DESC, position DESC)`,
  `CREATE INDEX outbox_keys_turn ON troupe.outbox_keys (topic, agent, (tenant || ''), due_at, place)`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const functions = [projection, batch, claimRuns, beginRuns, takeMessage, claimMessages]
  for (const statement of [...indexes, ...functions]) yield* sql.unsafe(statement)
  for (const name of ["append_event", "accept_tasks"]) {
    yield* sql.unsafe(`ALTER FUNCTION troupe.${name} ${by_key}`)
  }
})
