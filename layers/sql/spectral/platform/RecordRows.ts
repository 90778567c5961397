/**
 * Reads rows of the platform: a page after a record, one record by its id, and one record that is about to be changed.
 */
import { Effect } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import { record_page_max } from "../../../../services/spectral/platform/contracts/RecordPage.ts"
import type { RecordPage } from "../../../../services/spectral/platform/contracts/RecordPage.ts"
import type { StoreError } from "../../../../services/StoreError.ts"
import type { Tenant } from "../../../../src/value/Ids.ts"
import { RecordNotFound } from "../../../../src/spectral/platform/contracts/RecordErrors.ts"
import { readablePage } from "../../engine/DecodedRows.ts"
import { orStoreError } from "../../engine/SqlFailure.ts"
import type { TenantReads } from "../../engine/TenantReads.ts"

/** The SQL client, and the service that runs reads on behalf of a tenant. */
export interface RecordReads {
  readonly sql: SqlClient.SqlClient
  readonly reads: TenantReads["Service"]
}

type Decode<A> = (rows: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<A>, StoreError>

/** One list of records and how it is ordered. */
export interface RecordList<A> {
  readonly table: string
  /** The selected columns, as SQL. */
  readonly columns: string
  readonly id: string
  /** The columns by which the list is ordered, the id last, all in one direction. */
  readonly order: ReadonlyArray<string>
  readonly direction: "ASC" | "DESC"
  /** The columns that a query may compare with a value. */
  readonly filters: ReadonlyArray<readonly [column: string, type: "int2" | "text"]>
  /** True: the record after which a page begins must also match the first filter, which every query of this list has. */
  readonly within?: boolean
  /** The records of rows, as `readableRows` gives them. */
  readonly read: (rows: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<A>>
}

type Filters = ReadonlyArray<string | number | undefined>

/**
 * The statement of a page. $1 is the tenant and $2 the limit. It has only the comparisons that the query asks for, so that an
 * index can serve them.
 */
const pageStatement = <A>(
  { columns, direction, filters, id, order, table, within }: RecordList<A>,
  after: string | undefined,
  values: Filters
): readonly [text: string, rest: ReadonlyArray<string | number>] => {
  const rest: Array<string | number> = []
  const given = filters.flatMap(([column, type], i) => {
    const value = values[i]
    return value === undefined ? [] : [`${column} = $${rest.push(value) + 2}::${type}`]
  })
  const places = order.join(", ")
  const conditions = ["tenant = $1::text", ...given]
  if (after !== undefined) {
    const same = ["tenant = $1::text", ...(within === true ? given.slice(0, 1) : [])]
    const last = [...same, `${id} = $${rest.push(after) + 2}::text`].join(" AND ")
    conditions.push(
      `(${places}) ${direction === "ASC" ? ">" : "<"} (SELECT ${places} FROM troupe.${table} WHERE ${last})`
    )
  }
  const text = `SELECT ${columns}, ${id} AS page_id FROM troupe.${table} WHERE ${conditions.join(" AND ")}
    ORDER BY ${order.map((column) => `${column} ${direction}`).join(", ")} LIMIT $2::int4`
  return [text, rest]
}

/** Makes a reader of the list's pages. A page after an unknown id is empty. */
export const pageReader =
  <A>({ reads, sql }: RecordReads, list: RecordList<A>) =>
  (
    tenant: Tenant,
    { after, limit }: RecordPage,
    ...filters: Filters
  ): Effect.Effect<ReadonlyArray<A>, StoreError> => {
    const rowsOf = (behind: string | undefined, count: number) => {
      const [text, rest] = pageStatement(list, behind, filters)
      return reads
        .of(tenant)(sql.unsafe<SqlConnection.Row>(text, [tenant, count, ...rest]))
        .pipe(Effect.mapError(orStoreError))
    }
    return readablePage({
      limit: Math.min(Math.max(limit, 0), record_page_max),
      after,
      rowsOf,
      read: list.read,
      keyOf: (row) => row["page_id"]
    })
  }

/** The row that was asked for by its id. Fails with RecordNotFound if there is none. */
export const firstOf = <A>(
  [row]: ReadonlyArray<A>,
  kind: RecordNotFound["kind"],
  id: string
): Effect.Effect<A, RecordNotFound> =>
  row === undefined
    ? Effect.fail(new RecordNotFound({ kind, id: id.slice(0, 200) }))
    : Effect.succeed(row)

/**
 * Makes a reader of the row that a statement finds by tenant and id. A statement that locks the row is for an open transaction.
 */
export const oneOf =
  <A>({ reads, sql }: RecordReads, text: string, decode: Decode<A>, kind: RecordNotFound["kind"]) =>
  (tenant: Tenant, id: string): Effect.Effect<A, RecordNotFound | StoreError | SqlError.SqlError> =>
    reads
      .of(tenant)(sql.unsafe(text, [tenant, id]))
      .pipe(
        Effect.flatMap(decode),
        Effect.flatMap((rows) => firstOf(rows, kind, id))
      )
