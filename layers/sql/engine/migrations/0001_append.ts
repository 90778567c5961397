/**
 * The functions that append. Each advances the heads whose epoch and length match, and writes events and projections
 * joined to the heads that it returned, so that a refused append writes nothing and fails alone.
 *
 * Functions, because PGlite plans every statement anew and a function's plan is kept: a batch of 16 went from 0.43 to 0.84
 * of a bare insert, one append alone from 0.32 to 0.61. On PostgreSQL, which prepares either, they measured the same.
 *
 * READ COMMITTED only: there, a head that was locked by a claim is checked again with its new epoch. A status from 3 on is
 * a run that is over.
 */
const one = `CREATE FUNCTION troupe.append_one(uuid, int4, int4, int4, int8, text, text)
RETURNS boolean LANGUAGE plpgsql AS $body$
BEGIN
  UPDATE troupe.runs SET length = length + 1, status = $4::int2
  WHERE run_id = $1 AND epoch = $2 AND length = $3 AND status < 3;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO troupe.run_events (run_id, seq, at, type, payload) VALUES ($1, $3, $5, $6, $7);
  RETURN true;
END $body$`

const heads = `head AS (UPDATE troupe.runs r SET length = b.length + b.n, status = b.status::int2 FROM b
  WHERE r.run_id = b.run_id::uuid AND r.epoch = b.epoch AND r.length = b.length AND r.status < 3
  RETURNING r.run_id, r.tenant, b.length AS base, b.at::int8 AS at, b.i::int4 AS i`
const refused = `SELECT b.i::int4 FROM b WHERE NOT EXISTS (SELECT FROM head h WHERE h.i = b.i)`

/** Each append one event, and nothing else: type and payload travel with the head. */
const flat = `WITH b AS MATERIALIZED (SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
  WITH ORDINALITY AS t(run_id, epoch, length, n, status, at, type, payload, i)),
${heads}, b.type, b.payload),
ev AS (INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
  SELECT run_id, base, at, type, payload FROM head)
${refused}`

const general = `WITH b AS MATERIALIZED (SELECT * FROM unnest($1, $2, $3, $4, $5, $6)
  WITH ORDINALITY AS t(run_id, epoch, length, n, status, at, i)),
${heads}),
ev AS (INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
  SELECT h.run_id, h.base + e.off, h.at, e.type, e.payload FROM head h
  JOIN unnest($7, $8, $9, $10) AS e(i, off, type, payload) ON e.i = h.i)`

/** Questions asked and answered. Parameters from $11 on. */
const questions = `,
ap AS (INSERT INTO troupe.approvals (id, tenant, run_id, status, expires_at, payload, answer)
  SELECT a.id::uuid, h.tenant, h.run_id, a.status::int2, NULLIF(a.expires_at, '')::int8, a.payload, NULLIF(a.answer, '')
  FROM head h JOIN unnest($11, $12, $13, $14, $15, $16)
    WITH ORDINALITY AS a(i, id, status, expires_at, payload, answer, ordinal) ON a.i = h.i
  ORDER BY a.ordinal),
an AS (UPDATE troupe.approvals p SET status = a.status::int2, answer = a.answer
  FROM head h JOIN unnest($17, $18, $19, $20) AS a(i, id, status, answer) ON a.i = h.i
  WHERE p.id = a.id::uuid AND p.status = 0)`

/** The task's status, the end, the answer in the conversation. Parameters are numbered from `first` on. */
const ends = (first: number): string => {
  const p = (n: number) => `$${first + n}`
  return `,
tk AS (UPDATE troupe.agent_tasks t SET status = x.status::int2, reason = NULLIF(x.reason, '')
  FROM head h JOIN unnest(${p(0)}, ${p(1)}, ${p(2)}) AS x(i, status, reason) ON x.i = h.i
  WHERE t.id = h.run_id AND t.status < 2),
de AS (UPDATE troupe.run_details d SET open = false
  FROM head h JOIN unnest(${p(3)}) AS x(i) ON x.i = h.i WHERE d.run_id = h.run_id),
said AS (SELECT h.run_id, h.tenant, h.at, h.i, d.conversation, x.content FROM head h
  JOIN unnest(${p(4)}, ${p(5)}) AS x(i, content) ON x.i = h.i
  JOIN troupe.run_details d ON d.run_id = h.run_id),
cv AS (UPDATE troupe.conversations c SET messages = c.messages + x.n
  FROM (SELECT tenant, conversation, count(*)::int4 AS n FROM said GROUP BY tenant, conversation) x
  WHERE c.tenant = x.tenant AND c.id = x.conversation RETURNING c.tenant, c.id, c.messages - x.n AS base),
ms AS (INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
  SELECT s.tenant, s.conversation,
    cv.base + (row_number() OVER (PARTITION BY s.tenant, s.conversation ORDER BY s.i))::int4 - 1,
    'assistant', s.content, COALESCE(t.channel_origin, 'api'), s.run_id, s.at
  FROM said s JOIN cv ON cv.tenant = s.tenant AND cv.id = s.conversation
  LEFT JOIN troupe.agent_tasks t ON t.id = s.run_id)`
}

const head_types = "text[], int4[], int4[], int4[], int4[], text[]"
const event_types = "int4[], int4[], text[], text[]"
const question_types =
  "int4[], text[], int4[], text[], text[], text[], int4[], text[], int4[], text[]"
const end_types = "int4[], int4[], text[], int4[], int4[], text[]"

/** A function that gives the places, from 1, of the appends that it refused. */
const batch = (name: string, types: ReadonlyArray<string>, body: string): string =>
  `CREATE FUNCTION troupe.${name}(${types.join(", ")}) RETURNS TABLE (refused int4) LANGUAGE plpgsql AS $body$
BEGIN
  RETURN QUERY ${body};
END $body$`

/** Turns with a cost, or that should have one. Parameters are numbered from `first` on. */
const costs = (first: number): string => {
  const params = Array.from({ length: 12 }, (_, n) => `$${first + n}`).join(", ")
  return `,
co AS (INSERT INTO troupe.turn_costs (run_id, seq, at, tenant, agent, model, currency, amount, prices,
    input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens)
  SELECT h.run_id, h.base + c.off, h.at, h.tenant, c.agent, c.model, NULLIF(c.currency, ''), NULLIF(c.amount, '')::numeric, c.prices,
    c.input::int8, c.output::int8, c.cached::int8, c.written::int8, c.reasoning::int8
  FROM head h JOIN unnest(${params})
    AS c(i, off, agent, model, currency, amount, prices, input, output, cached, written, reasoning) ON c.i = h.i)`
}

const cost_types =
  "int4[], int4[], text[], text[], text[], text[], text[], text[], text[], text[], text[], text[]"

const params = Array.from({ length: 15 }, (_, n) => `$${27 + n}`).join(", ")

/** Turns have no tool. Parameters from $27 on. */
const spent = `,
co AS (INSERT INTO troupe.turn_costs (run_id, seq, at, tenant, agent, model, currency, amount, prices,
    input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, tool, part, turns)
  SELECT h.run_id, h.base + c.off, h.at, h.tenant, c.agent, c.model, NULLIF(c.currency, ''), NULLIF(c.amount, '')::numeric, c.prices,
    c.input::int8, c.output::int8, c.cached::int8, c.written::int8, c.reasoning::int8, NULLIF(c.tool, ''), c.part::int2, c.turns::int8
  FROM head h JOIN unnest(${params})
    AS c(i, off, agent, model, currency, amount, prices, input, output, cached, written, reasoning, tool, part, turns) ON c.i = h.i)`

const spent_types =
  "int4[], int4[], text[], text[], text[], text[], text[], text[], text[], text[], text[], text[], text[], int4[], text[]"

export const statements: ReadonlyArray<string> = [
  one,
  batch("append_flat", [head_types, "text[], text[]"], flat),
  batch("append_events", [head_types, event_types], `${general}\n${refused}`),
  batch(
    "append_questions",
    [head_types, event_types, question_types],
    `${general}${questions}\n${refused}`
  ),
  batch("append_ends", [head_types, event_types, end_types], `${general}${ends(11)}\n${refused}`),
  batch(
    "append_all",
    [head_types, event_types, question_types, end_types],
    `${general}${questions}${ends(21)}\n${refused}`
  ),
  batch(
    "append_costs",
    [head_types, event_types, cost_types],
    `${general}${costs(11)}\n${refused}`
  ),
  batch(
    "append_priced",
    [head_types, event_types, question_types, end_types, cost_types],
    `${general}${questions}${ends(21)}${costs(27)}\n${refused}`
  ),
  batch(
    "append_spent",
    [head_types, event_types, question_types, end_types, spent_types],
    `${general}${questions}${ends(21)}${spent}\n${refused}`
  )
]
