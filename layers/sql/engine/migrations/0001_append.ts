/**
 * The functions that append, and the one that claims runs. Of the heads (rows of `runs`) that they are given they advance those whose epoch and length
 * are as expected and that are not over (status < 3). They write nothing for the others: a refused append fails alone.
 *
 * Functions, because PGlite plans each statement anew and keeps the plans of a function (bench row `durable`). They need
 * READ COMMITTED: only there a head that a claim had locked is compared again, with its new epoch.
 */
import { by_key, once } from "./0001_plans.ts"

/**
 * Inserts the events of the accepted appends of a batch. They find their heads by their places in the arrays: joined by probes
 * alone, which is what `by_key` leaves, each event would be compared with each head. An event at an even place in its append takes
 * the next one into its row, unless statements look for one of them (`0001_runs.ts`).
 */
const insert_events = `  INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next)
  SELECT runs[e.place], lengths[e.place] + e.position, times[e.place], CASE WHEN troupe.is_sought(e.type) THEN e.type END,
    e.payload,
    CASE WHEN e.position % 2 = 0 AND e.next_place = e.place AND NOT troupe.is_sought(e.type)
      AND NOT troupe.is_sought(e.next_type) THEN e.next END
  FROM unnest(places, positions, types, payloads, places[2:], types[2:], payloads[2:],
    ARRAY['']::text[] || types[:cardinality(types) - 1])
    AS e(place, position, type, payload, next_place, next_type, next, last_type)
  WHERE (are_all OR e.place = ANY (accepted))
    AND NOT (e.position % 2 = 1 AND NOT troupe.is_sought(e.type) AND NOT troupe.is_sought(e.last_type));`

/** Writes the projections of the accepted appends of a batch, and gives the places of the others. */
const project_and_refuse = `  IF cardinality(projecting) > 0 THEN
    PERFORM troupe.append_projection(runs[x.place], lengths[x.place], times[x.place], x.projection::json)
    FROM unnest(projecting, projections) AS x(place, projection) WHERE are_all OR x.place = ANY (accepted);
  END IF;
  IF NOT are_all THEN
    RETURN QUERY SELECT x.place FROM generate_series(1, cardinality(runs)) AS x(place) WHERE x.place <> ALL (accepted);
  END IF;`

export const statements: ReadonlyArray<string> = [
  /*
   * Writes what one append projects beside its events: an object, of which each member may be left out. `base` is the length
   * of its run before it, `at` the time of its events.
   *
   * `place` is the position of the assistant's message in its conversation (its `seq`); null if there is no conversation.
   */
  `CREATE FUNCTION troupe.append_projection(run uuid, base int4, at int8, projection json)
RETURNS void LANGUAGE plpgsql ${by_key} AS $body$
DECLARE
  p record;
  detail record;
  place int4;
BEGIN
  SELECT * INTO p FROM json_to_record(projection) AS x(asked json, answered json, task_status int2, task_reason text,
    closed boolean, answer text, costs json, known json, unknown json, took json);
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
    UPDATE troupe.conversations c SET messages = c.messages + 1, active_at = greatest(c.active_at, at)
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
  IF p.took IS NOT NULL THEN
    PERFORM troupe.settle_budgets(run, p.took);
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
END $body$`,
  // One event, which many appends are; `projection` may be null. False = refused.
  `CREATE FUNCTION troupe.append_event(
  run uuid, expected_epoch int4, expected_length int4, new_status int4, at int8, type text, payload text, projection json)
RETURNS boolean LANGUAGE plpgsql ${by_key} AS $body$
BEGIN
  UPDATE troupe.runs r SET length = r.length + 1, status = new_status::int2
  WHERE r.run_id = run AND r.epoch = expected_epoch AND r.length = expected_length AND r.status < 3;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload)
  VALUES (run, expected_length, at, CASE WHEN troupe.is_sought(type) THEN type END, payload);
  IF projection IS NOT NULL THEN
    PERFORM troupe.append_projection(run, expected_length, at, projection);
  END IF;
  RETURN true;
END $body$`,
  /*
   * Appends of several runs, each run once. The place of an append is its position in the batch, from 1. Gives the places of
   * those that it refused. What most ends project is written in statements for all of them.
   *
   * The first six arrays have an entry for each append. The next four have one for each event: the place of its append, its
   * position in that, its type and its JSON. Arrays, because JSON took a third more time for them (bench row `durable`).
   *
   * - `ended`: the places of appends that end their run and project nothing but that: `closing` is the status of the task,
   *   `reasons` why it failed, `answers` the assistant's message; an empty text means that there is none.
   * - `projecting`, `projections`: the others that project anything, one by one: their places and projections.
   *
   * The conversations of answers are found by one probe of an index for each, and written in their order, because concurrent
   * batches lock their rows. A condition that named all conversations of the batch once more, next to the key of each, would be
   * prepared again for each of them (bench rows `answers` and `http`).
   */
  `CREATE FUNCTION troupe.append_runs(
  runs uuid[], epochs int4[], lengths int4[], counts int4[], statuses int4[], times int8[],
  places int4[], positions int4[], types text[], payloads text[],
  ended int4[], closing int4[], reasons text[], answers text[],
  projecting int4[], projections text[])
RETURNS SETOF int4 LANGUAGE plpgsql ${by_key} ${once} AS $body$
#variable_conflict use_column
DECLARE
  accepted int4[];
  are_all boolean;
  -- Of the runs that end: each with its place among them, its conversation, and the place of its answer in that.
  endings uuid[];
  tenants text[];
  conversations text[];
  spots int4[];
BEGIN
  WITH head AS (
    UPDATE troupe.runs r SET length = w.length + w.count, status = w.status::int2
    FROM unnest(runs, epochs, lengths, counts, statuses) WITH ORDINALITY AS w(run_id, epoch, length, count, status, place)
    WHERE r.run_id = w.run_id AND r.run_id = ANY (runs) AND r.epoch = w.epoch AND r.length = w.length AND r.status < 3
    RETURNING w.place::int4 AS place)
  SELECT coalesce(array_agg(h.place), '{}') INTO accepted FROM head h;
  are_all := cardinality(accepted) = cardinality(runs);
${insert_events}
  IF cardinality(ended) > 0 THEN
    endings := ARRAY (SELECT CASE WHEN are_all OR e.place = ANY (accepted) THEN runs[e.place] END
      FROM unnest(ended) WITH ORDINALITY AS e(place, n) ORDER BY e.n);
    -- A task that is over stays as it is.
    UPDATE troupe.agent_tasks t SET status = e.status, reason = nullif(e.reason, '')
    FROM unnest(endings, closing, reasons) AS e(run_id, status, reason)
    WHERE t.id = e.run_id AND t.id = ANY (endings) AND t.status + 0 < 2;
    -- The next run of its address may begin.
    UPDATE troupe.run_details d SET open = false WHERE d.run_id = ANY (endings);
    SELECT array_agg(d.tenant ORDER BY e.n), array_agg(d.conversation ORDER BY e.n) INTO tenants, conversations
    FROM unnest(endings, answers) WITH ORDINALITY AS e(run_id, answer, n) LEFT JOIN LATERAL (
      SELECT d.tenant, d.conversation FROM troupe.run_details d WHERE d.run_id = e.run_id AND e.answer <> '' OFFSET 0) d ON true;
    -- The assistant's messages, at the ends of their conversations. A conversation may have several.
    WITH answered AS MATERIALIZED (
      SELECT u.tenant, u.conversation, array_agg(u.n::int4 ORDER BY u.n) AS places
      FROM unnest(tenants, conversations) WITH ORDINALITY AS u(tenant, conversation, n) WHERE u.conversation IS NOT NULL
      GROUP BY u.tenant, u.conversation ORDER BY u.tenant, u.conversation),
    home AS (
      UPDATE troupe.conversations c SET messages = c.messages + cardinality(a.places),
        active_at = greatest(c.active_at, times[ended[a.places[cardinality(a.places)]]]) FROM answered a
      WHERE c.id = a.conversation AND c.tenant = a.tenant
      RETURNING c.tenant, c.id, c.messages - cardinality(a.places) AS first, a.places)
    INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    SELECT h.tenant, h.id, h.first + a.nth - 1, 'assistant', answers[a.n],
      coalesce((SELECT t.channel_origin FROM troupe.agent_tasks t WHERE t.id = endings[a.n]), 'api'), endings[a.n], times[ended[a.n]]
    FROM home h CROSS JOIN LATERAL unnest(h.places) WITH ORDINALITY AS a(n, nth);
  END IF;
${project_and_refuse}
END $body$`,
  /*
   * Appends a batch of amendments, and claims the runs that have an owner in `owners`; the last event of those is the claim. It
   * raises each head once. A batch has at most one append for each run. Gives the places of those that it refuses, from 1.
   *
   * - A run whose head another transaction has locked is refused, so that nobody waits for it.
   * - `sender`: what comes before the ids of runs in a notification of the other processes. Its ids are 3,700 bytes at most, of the
   *   8,000 that a notification may have.
   * - `questions`: the ids of the questions that are no longer pending, with their places, statuses and answers. They are found by
   *   their ids: the condition `status + 0 = 0` keeps the planner from the index of open questions.
   */
  `CREATE FUNCTION troupe.amend_runs(
  runs uuid[], epochs int4[], lengths int4[], counts int4[], statuses int4[], times int8[], places int4[], positions int4[],
  types text[], payloads text[], projecting int4[], projections text[], owners text[], sender text,
  answered int4[], questions uuid[], closing int4[], answers text[])
RETURNS SETOF int4 LANGUAGE plpgsql ${by_key} ${once} AS $body$
#variable_conflict use_column
DECLARE
  free uuid[];
  accepted int4[];
  are_all boolean;
BEGIN
  free := ARRAY (SELECT r.run_id FROM troupe.runs r WHERE r.run_id = ANY (runs) FOR UPDATE SKIP LOCKED);
  WITH head AS (
    UPDATE troupe.runs r SET length = w.length + w.count, status = w.status::int2,
      epoch = r.epoch + CASE WHEN w.owner = '' THEN 0 ELSE 1 END
    FROM unnest(runs, epochs, lengths, counts, statuses, owners) WITH ORDINALITY
      AS w(run_id, epoch, length, count, status, owner, place)
    WHERE r.run_id = w.run_id AND r.run_id = ANY (free) AND r.epoch = w.epoch AND r.length = w.length AND r.status < 3
    RETURNING w.place::int4 AS place)
  SELECT coalesce(array_agg(h.place), '{}') INTO accepted FROM head h;
  are_all := cardinality(accepted) = cardinality(runs);
  UPDATE troupe.run_details d SET owner = w.owner, needs = '{}'
  FROM unnest(runs, owners) WITH ORDINALITY AS w(run_id, owner, place)
  WHERE d.run_id = w.run_id AND d.run_id = ANY (free) AND w.owner <> '' AND (are_all OR w.place = ANY (accepted));
${insert_events}
  UPDATE troupe.approvals a SET status = q.status::int2, answer = q.answer
  FROM unnest(answered, questions, closing, answers) AS q(place, id, status, answer)
  WHERE a.id = q.id AND a.id = ANY (questions) AND a.run_id = runs[q.place] AND a.status + 0 = 0
    AND (are_all OR q.place = ANY (accepted));
  PERFORM pg_notify('troupe_amended', sender || string_agg(w.run_id::text, ' '))
  FROM unnest(runs) WITH ORDINALITY AS w(run_id, place) WHERE are_all OR w.place = ANY (accepted) GROUP BY w.place / 100;
${project_and_refuse}
END $body$`,
  /*
   * Claims the runs of $1, at most once each. Per run: the epoch at which it was seen (-1 = any), its owner, the owner as
   * JSON, and the time in ms, as text. A run whose head another transaction holds is left out unless `waits`, so that one
   * stopped writer keeps nobody from other runs, and two batches never wait for each other.
   *
   * The event's text is made here, because only here its epoch is known; its keys stand in canonical order. The events are
   * read by a statement of their own, which sees what was committed while the head was waited for. Beyond 1,000,000 bytes
   * `entries` is null, because a row has its limit.
   */
  `CREATE FUNCTION troupe.claim_runs(text[], int4[], text[], text[], text[], waits boolean)
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
]
