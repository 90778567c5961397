/**
 * What turns cost, and the functions that append with it. An append without a cost goes through those that were there.
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

/** Turns with a cost, or that should have one. Parameters are numbered from `first` on. */
export const costs = (first: number): string => {
  const params = Array.from({ length: 12 }, (_, n) => `$${first + n}`).join(", ")
  return `,
co AS (INSERT INTO troupe.turn_costs (run_id, seq, at, tenant, agent, model, currency, amount, prices,
    input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens)
  SELECT h.run_id, h.base + c.off, h.at, h.tenant, c.agent, c.model, NULLIF(c.currency, ''), NULLIF(c.amount, '')::numeric, c.prices,
    c.input::int8, c.output::int8, c.cached::int8, c.written::int8, c.reasoning::int8
  FROM head h JOIN unnest(${params})
    AS c(i, off, agent, model, currency, amount, prices, input, output, cached, written, reasoning) ON c.i = h.i)`
}

export const cost_types =
  "int4[], int4[], text[], text[], text[], text[], text[], text[], text[], text[], text[], text[]"

const statements = [
  // Amount and currency are null where nobody knows the cost. Numeric is exact.
  `CREATE TABLE troupe.turn_costs (
    run_id uuid NOT NULL,
    seq int4 NOT NULL,
    at int8 NOT NULL,
    tenant text NOT NULL,
    agent text NOT NULL,
    model text NOT NULL,
    currency text,
    amount numeric,
    prices text NOT NULL,
    input_tokens int8 NOT NULL,
    output_tokens int8 NOT NULL,
    cached_tokens int8 NOT NULL,
    cache_write_tokens int8 NOT NULL,
    reasoning_tokens int8 NOT NULL,
    PRIMARY KEY (run_id, seq)
  )`,
  `CREATE INDEX turn_costs_tenant ON troupe.turn_costs (tenant, at)`,
  batch(
    "append_costs",
    [head_types, event_types, cost_types],
    `${general}${costs(11)}\n${refused}`
  ),
  batch(
    "append_priced",
    [head_types, event_types, question_types, end_types, cost_types],
    `${general}${questions}${ends(21)}${costs(27)}\n${refused}`
  )
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
