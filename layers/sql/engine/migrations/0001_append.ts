/**
 * The functions that append. Of the heads (rows of `runs`) that they are given they advance those whose epoch and length
 * are as expected and that are not over (status < 3). They write nothing for the others: a refused append fails alone.
 *
 * Functions, because PGlite plans each statement anew and keeps the plans of a function (bench row `durable`). They need
 * READ COMMITTED: only there a head that a claim had locked is compared again, with its new epoch.
 */

/**
 * Writes what one append projects beside its events: an object, of which each member may be left out. `base` is the length
 * of its run before it, `at` the time of its events.
 *
 * Each statement finds its rows by a key that it is given, so that no plan depends on what is known of a table's size: a
 * plan is kept, and may have been made when the table was empty. The tenant of the conversation is therefore compared by
 * `IS NOT DISTINCT FROM`, which no index serves: with `=` the planner may choose an index that begins with the tenant, which
 * seems as good while the table is empty, and the kept plan would then read every conversation of the tenant.
 *
 * `place` is the position of the assistant's message in its conversation (its `seq`); null if there is no conversation.
 */
const projection = `CREATE FUNCTION troupe.append_projection(run uuid, base int4, at int8, projection json)
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $body$
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
    WHERE a.run_id = run AND a.id = x.id AND a.status = 0;
  END IF;
  -- A task that is over stays as it is.
  IF p.task_status IS NOT NULL THEN
    UPDATE troupe.agent_tasks t SET status = p.task_status, reason = p.task_reason WHERE t.id = run AND t.status < 2;
  END IF;
  -- The run is over: the next run of its address may begin.
  IF p.closed THEN
    UPDATE troupe.run_details d SET open = false WHERE d.run_id = run;
  END IF;
  -- The assistant's message, at the end of the conversation. Its tenant is compared in a way that no index serves, so that
  -- the conversation is found by its id: indexes that begin with the tenant seem as good while the table is empty.
  IF p.answer IS NOT NULL THEN
    UPDATE troupe.conversations c SET messages = c.messages + 1
    WHERE c.id = detail.conversation AND c.tenant IS NOT DISTINCT FROM detail.tenant RETURNING c.messages - 1 INTO place;
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

/** One event, which most appends are; `projection` may be null. False = refused. */
const event = `CREATE FUNCTION troupe.append_event(
  run uuid, expected_epoch int4, expected_length int4, new_status int4, at int8, type text, payload text, projection json)
RETURNS boolean LANGUAGE plpgsql AS $body$
BEGIN
  UPDATE troupe.runs r SET length = r.length + 1, status = new_status::int2
  WHERE r.run_id = run AND r.epoch = expected_epoch AND r.length = expected_length AND r.status < 3;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO troupe.run_events (run_id, seq, at, type, payload) VALUES (run, expected_length, at, type, payload);
  IF projection IS NOT NULL THEN
    PERFORM troupe.append_projection(run, expected_length, at, projection);
  END IF;
  RETURN true;
END $body$`

/**
 * Appends of several runs, each run once. The place of an append is its position in the batch, from 1. Gives the places of
 * those that it refused.
 *
 * The first six arrays have an entry for each append. The next four have one for each event: the place of its append, its
 * position in that, its type and its JSON. The last two have one for each append that projects anything: its place and its
 * projection. Arrays, because JSON took a third more time for them (bench row `durable`).
 */
const batch = `CREATE FUNCTION troupe.append_batch(
  runs uuid[], epochs int4[], lengths int4[], counts int4[], statuses int4[], times int8[],
  places int4[], positions int4[], types text[], payloads text[],
  projecting int4[], projections text[])
RETURNS SETOF int4 LANGUAGE plpgsql AS $body$
DECLARE
  accepted int4[];
BEGIN
  WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(runs, epochs, lengths, counts, statuses, times) WITH ORDINALITY
      AS w(run_id, epoch, length, count, status, at, place)),
  head AS (
    UPDATE troupe.runs r SET length = w.length + w.count, status = w.status::int2 FROM wanted w
    WHERE r.run_id = w.run_id AND r.epoch = w.epoch AND r.length = w.length AND r.status < 3
    RETURNING r.run_id, w.length, w.at, w.place::int4 AS place),
  event AS (
    INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
    SELECT h.run_id, h.length + e.position, h.at, e.type, e.payload
    FROM head h JOIN unnest(places, positions, types, payloads) AS e(place, position, type, payload) ON e.place = h.place)
  SELECT coalesce(array_agg(h.place), '{}') INTO accepted FROM head h;
  PERFORM troupe.append_projection(runs[x.place], lengths[x.place], times[x.place], x.projection::json)
  FROM unnest(projecting, projections) AS x(place, projection) WHERE x.place = ANY (accepted);
  IF cardinality(accepted) < cardinality(runs) THEN
    RETURN QUERY SELECT x.place FROM generate_series(1, cardinality(runs)) AS x(place) WHERE x.place <> ALL (accepted);
  END IF;
END $body$`

export const statements: ReadonlyArray<string> = [projection, event, batch]
