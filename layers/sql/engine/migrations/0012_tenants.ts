/**
 * Conversations, their messages, tasks and addresses are known within their tenant: two tenants may use the same id.
 * The functions that write an answer find its conversation by both.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import {
  batch,
  end_types,
  event_types,
  general,
  head_types,
  question_types,
  questions,
  refused
} from "./0003_append.ts"
import { cost_types, costs } from "./0004_costs.ts"
import { cost_types as spent_types, costs as spent } from "./0010_tool_costs.ts"

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

/** Takes the place of one that was there. */
const replaced = (name: string, types: ReadonlyArray<string>, body: string): string =>
  batch(
    name,
    [head_types, event_types, ...types],
    `${general}${body}\n${refused}`,
    "CREATE OR REPLACE"
  )

/**
 * A process of an earlier version, which may run for as long as a deploy takes, writes no tenant: it is looked up, or the
 * write fails where it is not plain.
 */
const filled = (table: string, query: string): ReadonlyArray<string> => [
  `CREATE FUNCTION troupe.${table}_tenant() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  ${query};
  RETURN NEW;
END $body$`,
  `CREATE TRIGGER ${table}_tenant BEFORE INSERT ON troupe.${table}
   FOR EACH ROW WHEN (NEW.tenant IS NULL) EXECUTE FUNCTION troupe.${table}_tenant()`
]

const statements = [
  `ALTER TABLE troupe.conversations DROP CONSTRAINT conversations_pkey, ADD PRIMARY KEY (tenant, id)`,
  `ALTER TABLE troupe.conversation_messages ADD COLUMN tenant text`,
  `UPDATE troupe.conversation_messages m SET tenant = c.tenant FROM troupe.conversations c WHERE c.id = m.conversation`,
  `ALTER TABLE troupe.conversation_messages ALTER COLUMN tenant SET NOT NULL,
    DROP CONSTRAINT conversation_messages_pkey, ADD PRIMARY KEY (tenant, conversation, seq)`,
  ...filled(
    "conversation_messages",
    `SELECT c.tenant INTO STRICT NEW.tenant FROM troupe.conversations c WHERE c.id = NEW.conversation`
  ),
  `ALTER TABLE troupe.run_details ADD COLUMN tenant text`,
  `UPDATE troupe.run_details d SET tenant = r.tenant FROM troupe.runs r WHERE r.run_id = d.run_id`,
  `ALTER TABLE troupe.run_details ALTER COLUMN tenant SET NOT NULL`,
  ...filled(
    "run_details",
    `SELECT t.tenant INTO STRICT NEW.tenant FROM troupe.agent_tasks t WHERE t.id = NEW.run_id`
  ),
  `DROP INDEX troupe.run_details_open`,
  `CREATE INDEX run_details_open ON troupe.run_details (tenant, agent, address_key, ordinal) WHERE open`,
  `ALTER TABLE troupe.agent_tasks DROP CONSTRAINT agent_tasks_conversation_ordinal_key,
    ADD UNIQUE (tenant, conversation, ordinal)`,
  `DROP INDEX troupe.agent_tasks_waiting`,
  `CREATE INDEX agent_tasks_waiting ON troupe.agent_tasks (tenant, agent, address_key) WHERE status < 2`,
  replaced("append_ends", [end_types], ends(11)),
  replaced("append_all", [question_types, end_types], `${questions}${ends(21)}`),
  replaced(
    "append_priced",
    [question_types, end_types, cost_types],
    `${questions}${ends(21)}${costs(27)}`
  ),
  replaced(
    "append_spent",
    [question_types, end_types, spent_types],
    `${questions}${ends(21)}${spent}`
  )
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
