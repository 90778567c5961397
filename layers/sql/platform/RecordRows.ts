/**
 * How rows of the platform are read: a page behind a record, one record by its id, and one that is about to be changed.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { record_page_max } from "../../../services/platform/contracts/RecordPage.ts"
import type { RecordPage } from "../../../services/platform/contracts/RecordPage.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Tenant } from "../../../src/Ids.ts"
import { RecordNotFound } from "../../../src/platform/contracts/RecordErrors.ts"
import { orStoreError } from "../engine/SqlFailure.ts"

type Sql = SqlClient.SqlClient

type Decode<A> = (rows: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<A>, StoreError>

/** One list of records and how it is ordered. */
export interface RecordList<A> {
  readonly table: string
  /** What is selected. */
  readonly columns: string
  readonly id: string
  /** The columns of the order, the id last; all in one direction. */
  readonly order: ReadonlyArray<string>
  readonly direction: "ASC" | "DESC"
  /** Columns that a query may compare: the parameters from $4 on, each undefined or a value. */
  readonly filters: ReadonlyArray<readonly [column: string, type: "int2" | "text"]>
  readonly decode: Decode<A>
}

/** The statement of a page. $1 is the tenant, $2 the limit, $3 the id behind which the page begins. */
const pageText = <A>({ columns, direction, filters, id, order, table }: RecordList<A>): string => {
  const places = order.join(", ")
  const behind = direction === "ASC" ? ">" : "<"
  const matching = filters.map(
    ([column, type], i) => `AND ($${i + 4}::${type} IS NULL OR ${column} = $${i + 4}::${type})`
  )
  return `SELECT ${columns} FROM troupe.${table} WHERE tenant = $1::text ${matching.join(" ")}
    AND ($3::text IS NULL OR (${places}) ${behind}
      (SELECT ${places} FROM troupe.${table} WHERE tenant = $1::text AND ${id} = $3::text))
    ORDER BY ${order.map((column) => `${column} ${direction}`).join(", ")} LIMIT $2::int4`
}

/** A reader of its pages. Behind an id that is not known there is nothing. */
export const pageReader = <A>(sql: Sql, list: RecordList<A>) => {
  const text = pageText(list)
  return (
    tenant: Tenant,
    { after, limit }: RecordPage,
    ...filters: ReadonlyArray<string | number | undefined>
  ): Effect.Effect<ReadonlyArray<A>, StoreError> =>
    sql
      .unsafe(text, [
        tenant,
        Math.min(Math.max(limit, 0), record_page_max),
        after ?? null,
        ...filters.map((value) => value ?? null)
      ])
      .pipe(Effect.flatMap(list.decode), Effect.mapError(orStoreError))
}

/** The only row of what was asked for by its id. */
export const firstOf = <A>(
  [row]: ReadonlyArray<A>,
  kind: RecordNotFound["kind"],
  id: string
): Effect.Effect<A, RecordNotFound> =>
  row === undefined
    ? Effect.fail(new RecordNotFound({ kind, id: id.slice(0, 200) }))
    : Effect.succeed(row)

/** A reader of the row that a statement finds by tenant and id. */
export const oneOf =
  <A>(sql: Sql, text: string, decode: Decode<A>, kind: RecordNotFound["kind"]) =>
  (tenant: Tenant, id: string): Effect.Effect<A, RecordNotFound | StoreError | SqlError.SqlError> =>
    sql.unsafe(text, [tenant, id]).pipe(
      Effect.flatMap(decode),
      Effect.flatMap((rows) => firstOf(rows, kind, id))
    )
