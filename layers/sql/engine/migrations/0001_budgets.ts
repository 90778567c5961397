/**
 * Budgets: what each holder has spent in a period, and what is reserved for calls of models that have not ended.
 *
 * An append settles its own reservations and no row that others write, so that no append waits for a budget. The next reservation
 * in an account adds what was settled to it, and drops what is void, because its run is over.
 */
import { by_key } from "./0001_plans.ts"

/** The columns that name an account, of these two rows. */
const same = (a: string, b: string) =>
  ["holder", "budget", "starts_at", "tenant"]
    .map((column) => `${a}.${column} = ${b}.${column}`)
    .join(" AND ")

/** The order in which accounts are locked, so that no two reservations wait for each other. */
const order = (row: string) =>
  ["holder", "budget", "starts_at", "tenant"].map((column) => `${row}.${column}`).join(", ")

const line = `line int4, tenant text, budget text, holder text, starts_at int8, ends_at int8, scope text, unit text,
      amount numeric, most numeric`

export const statements: ReadonlyArray<string> = [
  `CREATE TABLE troupe.budget_accounts (
    tenant text NOT NULL,
    budget text NOT NULL,
    -- A JSON string: a customer, a conversation, an agent, or empty.
    holder text NOT NULL,
    -- The period. Without an end it never ends.
    starts_at int8 NOT NULL,
    ends_at int8,
    scope text NOT NULL,
    unit text NOT NULL,
    -- Without what is settled since the last reservation.
    spent numeric NOT NULL DEFAULT 0,
    -- The sum of its reservations.
    held numeric NOT NULL DEFAULT 0,
    PRIMARY KEY (holder, budget, starts_at, tenant)
  ) WITH (fillfactor = 70)`,
  // A tenant's list, and those that are forgotten.
  `CREATE INDEX budget_accounts_tenant ON troupe.budget_accounts (tenant, budget, holder)`,
  `CREATE INDEX budget_accounts_ended ON troupe.budget_accounts (ends_at) WHERE ends_at IS NOT NULL`,
  `CREATE TABLE troupe.budget_holds (
    run_id uuid NOT NULL,
    -- The call within its run.
    place text NOT NULL,
    tenant text NOT NULL,
    budget text NOT NULL,
    holder text NOT NULL,
    starts_at int8 NOT NULL,
    unit text NOT NULL,
    reserved numeric NOT NULL,
    -- What it took. Null until the journal has its end.
    settled numeric,
    PRIMARY KEY (run_id, place, budget)
  ) WITH (fillfactor = 70)`,
  // Those of an account.
  `CREATE INDEX budget_holds_account ON troupe.budget_holds (holder, budget, starts_at, tenant)`,
  /*
   * Reserves the lines of several calls, each call's all or none. `wanted` is a list of \`{ run, place, lines }\`. Gives the first
   * line of each call that is refused, with its place among the calls, from 1, and what its account has.
   */
  `CREATE FUNCTION troupe.reserve_budgets(wanted json)
RETURNS TABLE (call int4, line int4, spent text, reserved text) LANGUAGE plpgsql ${by_key} AS $body$
#variable_conflict use_column
DECLARE
  each record;
  short record;
BEGIN
  INSERT INTO troupe.budget_accounts (tenant, budget, holder, starts_at, ends_at, scope, unit)
  SELECT DISTINCT ON (${order("l")}) l.tenant, l.budget, l.holder, l.starts_at, l.ends_at, l.scope, l.unit
  FROM json_array_elements(wanted) AS w(value), json_to_recordset(w.value -> 'lines') AS l(${line})
  ORDER BY ${order("l")} ON CONFLICT DO NOTHING;
  PERFORM FROM troupe.budget_accounts a JOIN (
    SELECT DISTINCT ON (${order("l")}) l.tenant, l.budget, l.holder, l.starts_at
    FROM json_array_elements(wanted) AS w(value), json_to_recordset(w.value -> 'lines') AS l(${line})
    ORDER BY ${order("l")}) k ON ${same("a", "k")} ORDER BY ${order("k")} FOR UPDATE OF a;
  -- What others committed before the locks is seen from here on.
  WITH k AS MATERIALIZED (
    SELECT DISTINCT l.tenant, l.budget, l.holder, l.starts_at
    FROM json_array_elements(wanted) AS w(value), json_to_recordset(w.value -> 'lines') AS l(${line})),
  gone AS (
    DELETE FROM troupe.budget_holds h USING k WHERE ${same("h", "k")} AND (h.settled IS NOT NULL OR NOT EXISTS (
      SELECT FROM troupe.runs r WHERE r.run_id = h.run_id AND NOT r.status + 0 BETWEEN 3 AND 5))
    RETURNING h.tenant, h.budget, h.holder, h.starts_at, h.reserved, h.settled),
  sums AS (
    SELECT g.tenant, g.budget, g.holder, g.starts_at, sum(g.reserved) AS reserved, sum(g.settled) AS settled
    FROM gone g GROUP BY 1, 2, 3, 4)
  UPDATE troupe.budget_accounts a SET spent = a.spent + coalesce(s.settled, 0), held = a.held - s.reserved
  FROM sums s WHERE ${same("a", "s")};
  FOR each IN SELECT (w.value ->> 'run')::uuid AS run, w.value ->> 'place' AS place, w.value -> 'lines' AS lines, w.n::int4 AS n
    FROM json_array_elements(wanted) WITH ORDINALITY AS w(value, n) ORDER BY w.n
  LOOP
    SELECT l.line, a.spent, a.held INTO short FROM json_to_recordset(each.lines) AS l(${line})
    JOIN troupe.budget_accounts a ON ${same("a", "l")}
    WHERE a.spent + a.held + l.amount > l.most AND NOT EXISTS (SELECT FROM troupe.budget_holds h
      WHERE h.run_id = each.run AND h.place = each.place AND h.budget = l.budget)
    ORDER BY l.line LIMIT 1;
    IF FOUND THEN
      call := each.n;
      line := short.line;
      spent := trim_scale(short.spent)::text;
      reserved := trim_scale(short.held)::text;
      RETURN NEXT;
      CONTINUE;
    END IF;
    WITH made AS (
      INSERT INTO troupe.budget_holds (run_id, place, tenant, budget, holder, starts_at, unit, reserved)
      SELECT each.run, each.place, l.tenant, l.budget, l.holder, l.starts_at, l.unit, l.amount
      FROM json_to_recordset(each.lines) AS l(${line}) ON CONFLICT DO NOTHING
      RETURNING tenant, budget, holder, starts_at, reserved)
    UPDATE troupe.budget_accounts a SET held = a.held + m.reserved FROM made m WHERE ${same("a", "m")};
  END LOOP;
END $body$`,
  /*
   * Settles what one append took, in its transaction: \`settled\` by place, where an amount that is null is not known; and
   * \`charged\`, which nothing was reserved for.
   */
  `CREATE FUNCTION troupe.settle_budgets(run uuid, took json) RETURNS void LANGUAGE plpgsql ${by_key} AS $body$
BEGIN
  UPDATE troupe.budget_holds h SET settled = coalesce(
    CASE h.unit WHEN 'calls' THEN x.calls WHEN 'tokens' THEN x.tokens ELSE x.cost END, h.reserved)
  FROM json_to_recordset(took -> 'settled') AS x(place text, calls numeric, tokens numeric, cost numeric)
  WHERE h.run_id = run AND h.place = x.place AND h.settled IS NULL;
  INSERT INTO troupe.budget_holds (run_id, place, tenant, budget, holder, starts_at, unit, reserved, settled)
  SELECT run, x.place, x.tenant, x.budget, x.holder, x.starts_at, x.unit, 0, x.amount
  FROM json_to_recordset(took -> 'charged') AS x(place text, tenant text, budget text, holder text, starts_at int8, unit text,
    amount numeric) ON CONFLICT DO NOTHING;
END $body$`
]
