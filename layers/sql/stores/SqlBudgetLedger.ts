/**
 * Budgets in SQL. Concurrent reservations of a process share a statement, and what the database's function locks is theirs only
 * for that statement. The journal settles them (`0001_budgets.ts`).
 */
import { Clock, Effect, Layer, Schema } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { BudgetReservation } from "../../../services/BudgetLedger.ts"
import { BudgetLedger } from "../../../services/BudgetLedger.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { BudgetScope, BudgetUnit } from "../../../src/cost/Budget.ts"
import { Tenant } from "../../../src/value/Ids.ts"
import { rowDecoder, rowReader } from "../engine/DecodedRows.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { StoredText } from "../engine/StoredText.ts"
import { TenantReads } from "../engine/TenantReads.ts"
import { accountRow } from "../journal/AppendStatement.ts"
import type { Item } from "../journal/GroupCommit.ts"
import * as GroupCommit from "../journal/GroupCommit.ts"

const page_max = 500
const batch_max = 128
/** How long an account is kept after its period, in ms. */
const kept_ms = 86_400_000
/** Each of so many reservations of a process removes old accounts, and at most so many. */
const removed_each = 1_000
const removed_max = 4_000

const readRefused = rowReader(
  Schema.Struct({
    call: Schema.Int,
    line: Schema.Int,
    spent: Schema.String,
    reserved: Schema.String
  }),
  "refused reservations"
)
const decodeAccounts = rowDecoder(
  Schema.Struct({
    tenant: Tenant,
    budget: Schema.String,
    holder: StoredText,
    starts_at: Schema.Number,
    ends_at: Schema.NullOr(Schema.Number),
    scope: BudgetScope,
    unit: BudgetUnit,
    spent: Schema.String,
    reserved: Schema.String
  }),
  "budgets"
)

/** An amount that is reserved counts while its run is not over. */
const list = `SELECT a.tenant, a.budget, a.holder, a.starts_at::float8 AS starts_at, a.ends_at::float8 AS ends_at, a.scope, a.unit,
  trim_scale(a.spent + h.settled)::text AS spent, trim_scale(h.reserved)::text AS reserved
FROM troupe.budget_accounts a CROSS JOIN LATERAL (
  SELECT coalesce(sum(h.settled), 0) AS settled, coalesce(sum(h.reserved) FILTER (WHERE h.settled IS NULL AND EXISTS (
    SELECT FROM troupe.runs r WHERE r.run_id = h.run_id AND NOT r.status BETWEEN 3 AND 5)), 0) AS reserved
  FROM troupe.budget_holds h WHERE h.holder = a.holder AND h.budget = a.budget AND h.starts_at = a.starts_at
    AND h.tenant = a.tenant) h
WHERE a.tenant = $1::text AND (a.ends_at IS NULL OR a.ends_at > $2::text::int8) AND ($3::text IS NULL OR a.budget = $3::text)
  AND ($4::boolean OR EXISTS (SELECT FROM unnest($5::text[], $6::text[]) AS w(scope, holder)
    WHERE w.scope = a.scope AND w.holder = a.holder))
  AND ($7::text IS NULL OR (a.budget COLLATE "C", a.holder COLLATE "C") > ($7::text, $8::text))
ORDER BY a.budget COLLATE "C", a.holder COLLATE "C" LIMIT $9::int4`

const old = `WITH gone AS (
    DELETE FROM troupe.budget_accounts a WHERE (a.holder, a.budget, a.starts_at, a.tenant) IN (
      SELECT o.holder, o.budget, o.starts_at, o.tenant FROM troupe.budget_accounts o WHERE o.ends_at < $1::text::int8
      LIMIT ${removed_max} FOR UPDATE SKIP LOCKED)
    RETURNING a.holder, a.budget, a.starts_at, a.tenant)
  DELETE FROM troupe.budget_holds h USING gone g
  WHERE h.holder = g.holder AND h.budget = g.budget AND h.starts_at = g.starts_at AND h.tenant = g.tenant`

interface Waiting extends Item {
  readonly wanted: object
}

const waitingOf = ({ lines, place, run }: BudgetReservation): Waiting => {
  const rows = lines.map(({ account, amount, max }, line) => ({
    line,
    amount,
    most: max,
    ...accountRow(account)
  }))
  return { lane: `${run} ${place}`, size: 0, wanted: { run, place, lines: rows } }
}

/** A reservation that was made twice is the same, so a lost answer is no harm. */
class Failed {
  readonly lost = false
  readonly error: StoreError
  constructor(error: StoreError) {
    this.error = error
  }
}

const reserving = (
  sql: SqlClient.SqlClient
): Effect.Effect<BudgetLedger["Service"]["reserve"], never, Scope.Scope> =>
  Effect.map(
    GroupCommit.make({
      batch_max,
      overflow: () => new Failed(new StoreError({ message: "too many reservations wait" })),
      commit: (batch: ReadonlyArray<Waiting>) =>
        readRefused(
          sql,
          "SELECT call, line, spent, reserved FROM troupe.reserve_budgets($1::text::json)",
          [JSON.stringify(batch.map(({ wanted }) => wanted))]
        ).pipe(
          Effect.mapBoth({
            onFailure: (error) => new Failed(orStoreError(error)),
            onSuccess: (refused) => {
              const byCall = new Map(refused.map(({ call, ...refusal }) => [call, refusal]))
              return batch.map((_, index) => byCall.get(index + 1))
            }
          })
        )
    }),
    (write) => (wanted: BudgetReservation) =>
      Effect.mapError(write(waitingOf(wanted)), ({ error }) => error)
  )

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  const reserve = yield* reserving(sql)
  let reservations = 0
  const forget = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    sql.unsafe(old, [String(now - kept_ms)])
  )
  return BudgetLedger.of({
    reserve: (wanted) =>
      reservations++ % removed_each === 0
        ? Effect.andThen(Effect.mapError(forget, orStoreError), reserve(wanted))
        : reserve(wanted),
    list: Effect.fn("BudgetLedger.list")(function* (query) {
      const { after, budget, holders, limit, now, tenant } = query
      const rows = yield* reads.of(tenant)(
        sql.unsafe(list, [
          tenant,
          String(now),
          budget ?? null,
          holders === undefined,
          (holders ?? []).map(([scope]) => scope),
          (holders ?? []).map(([, holder]) => JSON.stringify(holder)),
          after?.[0] ?? null,
          after === undefined ? null : JSON.stringify(after[1]),
          Math.max(0, Math.min(limit, page_max))
        ])
      )
      const found = yield* decodeAccounts(rows)
      return found.map(({ ends_at, ...account }) =>
        ends_at === null ? account : { ...account, ends_at }
      )
    }, Effect.mapError(orStoreError))
  })
})

export const layer: Layer.Layer<BudgetLedger, never, SqlClient.SqlClient | TenantReads> =
  Layer.effect(BudgetLedger, make)
