/**
 * Answers to many questions at once: one function writes a batch of amendments and raises each head once, in place of a statement
 * that the database planned again for each batch and that wrote the head of a claimed run twice. The function that writes
 * batches of appends keeps one plan too. Channels are looked up once for all answers of a statement (bench row `answers`).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Leaves the planner nothing but probes of indexes. */
const by_key =
  "SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off"

/**
 * The session keeps one plan for each statement of the function, whatever its arguments are. They can be planned in one way only,
 * so a plan for the lengths of particular arrays would be the same.
 */
const once = "SET plan_cache_mode = force_generic_plan"

/** The function that writes batches of appends stays as it is, but for the one plan. */
const append = `ALTER FUNCTION troupe.append_runs(uuid[], int4[], int4[], int4[], int4[], int8[], int4[], int4[], text[], text[],
  int4[], int4[], text[], text[], int4[], text[]) ${once}`

/**
 * Appends a batch of amendments, and claims the runs that have an owner in `owners`; the last event of those is the claim. A
 * batch has at most one append for each run. Gives the places of those that it refuses, from 1.
 *
 * - A run whose head another transaction has locked is refused, so that nobody waits for it.
 * - `sender`: what comes before the ids of runs in a notification of the other processes. Its ids are 3,700 bytes at most, of the
 *   8,000 that a notification may have.
 * - `questions`: the ids of the questions that are no longer pending, with their places, statuses and answers. They are found by
 *   their ids: the condition `status + 0 = 0` keeps the planner from the index of open questions.
 *
 * Events are inserted as `append_runs` does it (`0016_pairs.ts`).
 */
const amend = `CREATE FUNCTION troupe.amend_runs(
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
  INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next)
  SELECT runs[e.place], lengths[e.place] + e.position, times[e.place], CASE WHEN troupe.is_sought(e.type) THEN e.type END,
    e.payload,
    CASE WHEN e.position % 2 = 0 AND e.next_place = e.place AND NOT troupe.is_sought(e.type)
      AND NOT troupe.is_sought(e.next_type) THEN e.next END
  FROM unnest(places, positions, types, payloads, places[2:], types[2:], payloads[2:],
    ARRAY['']::text[] || types[:cardinality(types) - 1])
    AS e(place, position, type, payload, next_place, next_type, next, last_type)
  WHERE (are_all OR e.place = ANY (accepted))
    AND NOT (e.position % 2 = 1 AND NOT troupe.is_sought(e.type) AND NOT troupe.is_sought(e.last_type));
  UPDATE troupe.approvals a SET status = q.status::int2, answer = q.answer
  FROM unnest(answered, questions, closing, answers) AS q(place, id, status, answer)
  WHERE a.id = q.id AND a.id = ANY (questions) AND a.run_id = runs[q.place] AND a.status + 0 = 0
    AND (are_all OR q.place = ANY (accepted));
  PERFORM pg_notify('troupe_amended', sender || string_agg(w.run_id::text, ' '))
  FROM unnest(runs) WITH ORDINALITY AS w(run_id, place) WHERE are_all OR w.place = ANY (accepted) GROUP BY w.place / 100;
  IF cardinality(projecting) > 0 THEN
    PERFORM troupe.append_projection(runs[x.place], lengths[x.place], times[x.place], x.projection::json)
    FROM unnest(projecting, projections) AS x(place, projection) WHERE are_all OR x.place = ANY (accepted);
  END IF;
  IF NOT are_all THEN
    RETURN QUERY SELECT x.place FROM generate_series(1, cardinality(runs)) AS x(place) WHERE x.place <> ALL (accepted);
  END IF;
END $body$`

/** Announces the agents' answers of one statement in conversations that are bound to a channel. */
const announce = [
  `DROP TRIGGER announce_answer ON troupe.conversation_messages`,
  `CREATE OR REPLACE FUNCTION troupe.announce_answer() RETURNS trigger LANGUAGE plpgsql ${by_key} ${once} AS $body$
BEGIN
  PERFORM troupe.announce(a.tenant, 'conversation/' || a.conversation, 'conversation.answered',
    json_build_object('conversation', a.conversation, 'seq', a.seq)::text, a.created_at)
  FROM added a WHERE a.role = 'assistant'
    AND EXISTS (SELECT FROM troupe.channel_bindings b WHERE b.conversation = a.conversation AND b.tenant = a.tenant);
  RETURN NULL;
END $body$`,
  `CREATE TRIGGER announce_answer AFTER INSERT ON troupe.conversation_messages REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION troupe.announce_answer()`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of [append, amend, ...announce]) yield* sql.unsafe(statement)
})
