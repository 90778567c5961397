/**
 * Rows in SQL. Each method is one statement, which is made of the table's names; cells are parameters.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { Cell, CellType, Row, RowQuery, Table, Test, Where } from "../../../services/Rows.ts"
import { Rows } from "../../../services/Rows.ts"
import { inTransaction, orStoreError } from "./SqlFailure.ts"
import { TenantReads } from "./TenantReads.ts"

/** How a parameter, or a cell of JSON as text, becomes a cell of the type. */
const cast: Readonly<Record<CellType, (text: string) => string>> = {
  text: (text) => `${text}::text`,
  uuid: (text) => `${text}::text::uuid`,
  digest: (text) => `sha256(convert_to(${text}::text, 'UTF8'))`,
  int2: (text) => `${text}::int2`,
  int4: (text) => `${text}::int4`,
  int8: (text) => `${text}::int8`,
  float8: (text) => `${text}::float8`,
  boolean: (text) => `${text}::boolean`
}

/** How a column is read. */
const shown: Readonly<Partial<Record<CellType, (column: string) => string>>> = {
  uuid: (column) => `${column}::text`,
  int8: (column) => `${column}::float8`
}

const locks = { wait: "FOR UPDATE", skip: "FOR UPDATE SKIP LOCKED", share: "FOR SHARE" }

/** A statement that grows with its parameters. */
class Statement {
  readonly params: Array<unknown> = []
  readonly #table: Table

  constructor(table: Table) {
    this.#table = table
  }

  param(type: CellType, cell: Cell): string {
    return cast[type](`$${this.params.push(cell)}`)
  }

  /** The type of a column; the place is none of the table's columns. */
  typeOf(column: string): CellType {
    return this.#table.columns[column] ?? "int8"
  }

  #test(alias: string, name: string, test: Test): string {
    const column = `${alias}.${name}`
    if (test === null) return `${column} IS NULL`
    const type = this.typeOf(name)
    if (typeof test !== "object") return `${column} = ${this.param(type, test)}`
    const [how, cell] = test
    if (how === "not") return `${column} IS NOT NULL`
    if (how !== "in") return `${column} ${how} ${this.param(type, cell)}`
    return `${column} = ANY ($${this.params.push(cell)}::text[]${type === "text" ? "" : `::${type}[]`})`
  }

  tests(alias: string, where: Where): string {
    const all = Object.entries(where).flatMap(([name, test]) =>
      test === undefined ? [] : [this.#test(alias, name, test)]
    )
    return all.length === 0 ? "true" : all.join(" AND ")
  }

  /** The conditions of a query, on rows that are called `t`. */
  where({ after, descends = false, or, order = [], where }: RowQuery): string {
    const conditions = [this.tests("t", where)]
    if (or !== undefined)
      conditions.push(`(${or.map((each) => this.tests("t", each)).join(" OR ") || "false"})`)
    if (after !== undefined) {
      conditions.push(
        `(${placesOf("t", order)}) ${descends ? "<" : ">"} (SELECT ${placesOf("b", order)}
          FROM troupe.${this.#table.name} b WHERE ${this.tests("b", after)})`
      )
    }
    return conditions.join(" AND ")
  }

  /** The conditions of what is written, on rows that are called `t`. */
  which(query: RowQuery): string {
    return query.limit === undefined && query.skip === undefined
      ? this.where(query)
      : `t.ctid = ANY (ARRAY (SELECT t.ctid ${this.from(query)}))`
  }

  /** A query, from its table on. */
  from(query: RowQuery): string {
    const { descends = false, limit, lock, order = [], skip } = query
    const by = order.map((column) => `${placesOf("t", [column])} ${descends ? "DESC" : "ASC"}`)
    return [
      `FROM troupe.${this.#table.name} t WHERE ${this.where(query)}`,
      by.length === 0 ? "" : `ORDER BY ${by.join(", ")}`,
      limit === undefined ? "" : `LIMIT ${this.param("int8", limit)}`,
      skip === undefined ? "" : `OFFSET ${this.param("int8", skip)}`,
      lock === undefined ? "" : locks[lock]
    ].join(" ")
  }
}

const placesOf = (alias: string, order: ReadonlyArray<string>): string =>
  order
    .map((column) =>
      column.startsWith("-") ? `(-${alias}.${column.slice(1)})` : `${alias}.${column}`
    )
    .join(", ")

const shownAs = (name: string, type: CellType): string =>
  `${shown[type]?.(`t.${name}`) ?? `t.${name}`} AS ${name}`

const readable = ({ columns, hidden = [], place }: Table): string =>
  Object.entries<CellType>(place === undefined ? columns : { ...columns, [place]: "int8" })
    .filter(([name]) => !hidden.includes(name))
    .map(([name, type]) => shownAs(name, type))
    .join(", ")

const insertion = ({ columns, key, name }: Table, follows: ReadonlyArray<string>): string => {
  const names = Object.keys(columns)
  const cells = Object.values(columns).map((type, i) => cast[type](`(r.row ->> ${i})`))
  const follow = follows.map((each) => `${each} = excluded.${each}`).join(", ")
  return `INSERT INTO troupe.${name} (${names.join(", ")}) SELECT ${cells.join(", ")}
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS r(row, n) ORDER BY r.n
    ON CONFLICT ${follows.length === 0 ? "DO NOTHING" : `(${key.join(", ")}) DO UPDATE SET ${follow}`} RETURNING 1`
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads

  const run = (text: string, { params }: Pick<Statement, "params">) => sql.unsafe<Row>(text, params)
  const read = (
    { lock, where }: RowQuery,
    rows: Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError>
  ) => {
    const tenant = where["tenant"]
    const owned =
      typeof tenant === "string" && lock === undefined ? reads.of(tenant as never)(rows) : rows
    return Effect.mapError(owned, orStoreError)
  }
  const written = (text: string, statement: Pick<Statement, "params">) =>
    Effect.mapBoth(run(text, statement), {
      onSuccess: (rows) => rows.length,
      onFailure: orStoreError
    })

  return Rows.of({
    list: (table, query) => {
      const statement = new Statement(table)
      return read(query, run(`SELECT ${readable(table)} ${statement.from(query)}`, statement))
    },
    count: (table, query, by) => {
      const statement = new Statement(table)
      const cut = by.map((name) => shownAs(name, statement.typeOf(name))).join(", ")
      const from = `(SELECT ${cut} ${statement.from(query)}) c`
      const grouped = by.length === 0 ? "" : `GROUP BY ${by.join(", ")}`
      const cells = [...by, "count(*)::int4 AS count"].join(", ")
      return read(query, run(`SELECT ${cells} FROM ${from} ${grouped}`, statement))
    },
    add: (table, rows, follows) => {
      if (rows.length === 0) return Effect.succeed(0)
      const names = Object.keys(table.columns)
      const cells = rows.map((row) => names.map((name) => row[name] ?? null))
      return written(insertion(table, follows), { params: [JSON.stringify(cells)] })
    },
    set: (table, query, cells) => {
      const statement = new Statement(table)
      const sets = Object.entries(cells).map(
        ([name, cell]) => `${name} = ${statement.param(statement.typeOf(name), cell)}`
      )
      return written(
        `UPDATE troupe.${table.name} t SET ${sets.join(", ")} WHERE ${statement.which(query)} RETURNING 1`,
        statement
      )
    },
    remove: (table, query) => {
      const statement = new Statement(table)
      return written(
        `DELETE FROM troupe.${table.name} t WHERE ${statement.which(query)} RETURNING 1`,
        statement
      )
    },
    transaction: (self) => Effect.mapError(inTransaction(sql)(self), orStoreError),
    alone: (name) =>
      Effect.asVoid(
        Effect.mapError(
          sql.unsafe("SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))::text", [name]),
          orStoreError
        )
      )
  })
})

export const layer: Layer.Layer<Rows, never, SqlClient.SqlClient | TenantReads> = Layer.effect(
  Rows,
  make
)
