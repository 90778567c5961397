/**
 * What tools' bodies spent on models, beside the turns: a call may have several entries, and one of them may be several
 * turns of a model. An append without any goes through the functions that were there.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import {
  batch,
  end_types,
  ends,
  event_types,
  general,
  head_types,
  question_types,
  questions,
  refused
} from "./0003_append.ts"

const params = Array.from({ length: 15 }, (_, n) => `$${27 + n}`).join(", ")

/** Turns have no tool. Parameters from $27 on. */
export const costs = `,
co AS (INSERT INTO troupe.turn_costs (run_id, seq, at, tenant, agent, model, currency, amount, prices,
    input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, tool, part, turns)
  SELECT h.run_id, h.base + c.off, h.at, h.tenant, c.agent, c.model, NULLIF(c.currency, ''), NULLIF(c.amount, '')::numeric, c.prices,
    c.input::int8, c.output::int8, c.cached::int8, c.written::int8, c.reasoning::int8, NULLIF(c.tool, ''), c.part::int2, c.turns::int8
  FROM head h JOIN unnest(${params})
    AS c(i, off, agent, model, currency, amount, prices, input, output, cached, written, reasoning, tool, part, turns) ON c.i = h.i)`

export const cost_types =
  "int4[], int4[], text[], text[], text[], text[], text[], text[], text[], text[], text[], text[], text[], int4[], text[]"

const statements = [
  `ALTER TABLE troupe.turn_costs ADD COLUMN tool text, ADD COLUMN part int2 NOT NULL DEFAULT 0,
    ADD COLUMN turns int8 NOT NULL DEFAULT 1`,
  `ALTER TABLE troupe.turn_costs DROP CONSTRAINT turn_costs_pkey, ADD PRIMARY KEY (run_id, seq, part)`,
  batch(
    "append_spent",
    [head_types, event_types, question_types, end_types, cost_types],
    `${general}${questions}${ends(21)}${costs}\n${refused}`
  )
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
