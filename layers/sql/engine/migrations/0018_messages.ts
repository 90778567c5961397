/**
 * The agents' answers of a batch of ends: their conversations are found by one probe of an index for each. A condition that
 * named all conversations of the batch once more, next to the key of each, was prepared again for each of them, and the
 * conversations were joined with the answers row by row (bench rows `answers` and `http`).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const before = `WITH answered AS MATERIALIZED (
      SELECT u.tenant, u.conversation, u.n, row_number() OVER (PARTITION BY u.tenant, u.conversation ORDER BY u.n) AS nth,
        count(*) OVER (PARTITION BY u.tenant, u.conversation) AS total
      FROM unnest(tenants, conversations) WITH ORDINALITY AS u(tenant, conversation, n) WHERE u.conversation IS NOT NULL),
    home AS (
      UPDATE troupe.conversations c SET messages = c.messages + a.total FROM answered a
      WHERE a.nth = 1 AND c.id = a.conversation AND c.tenant = a.tenant AND c.id = ANY (conversations)
      RETURNING c.tenant, c.id, c.messages - a.total AS first)
    INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    SELECT a.tenant, a.conversation, h.first + a.nth - 1, 'assistant', answers[a.n::int4],
      coalesce((SELECT t.channel_origin FROM troupe.agent_tasks t WHERE t.id = endings[a.n::int4]), 'api'), endings[a.n::int4], times[ended[a.n::int4]]
    FROM home h JOIN answered a ON a.conversation = h.id AND a.tenant = h.tenant;`

// In the order of the conversations, because concurrent batches lock their rows.
const after = `WITH answered AS MATERIALIZED (
      SELECT u.tenant, u.conversation, array_agg(u.n::int4 ORDER BY u.n) AS places
      FROM unnest(tenants, conversations) WITH ORDINALITY AS u(tenant, conversation, n) WHERE u.conversation IS NOT NULL
      GROUP BY u.tenant, u.conversation ORDER BY u.tenant, u.conversation),
    home AS (
      UPDATE troupe.conversations c SET messages = c.messages + cardinality(a.places) FROM answered a
      WHERE c.id = a.conversation AND c.tenant = a.tenant
      RETURNING c.tenant, c.id, c.messages - cardinality(a.places) AS first, a.places)
    INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    SELECT h.tenant, h.id, h.first + a.nth - 1, 'assistant', answers[a.n],
      coalesce((SELECT t.channel_origin FROM troupe.agent_tasks t WHERE t.id = endings[a.n]), 'api'), endings[a.n], times[ended[a.n]]
    FROM home h CROSS JOIN LATERAL unnest(h.places) WITH ORDINALITY AS a(n, nth);`

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql.unsafe<{ readonly text: string }>(
    `SELECT pg_get_functiondef('troupe.append_runs'::regproc) AS text`
  )
  const [first, second, ...more] = found?.text.split(before) ?? []
  if (first === undefined || second === undefined || more.length > 0) {
    throw new Error(
      "the function troupe.append_runs of this database is not the one that a migration made"
    )
  }
  yield* sql.unsafe(first + after + second)
})
