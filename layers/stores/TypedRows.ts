/**
 * Tables whose columns have types. A store that is written once asks for its rows here: cells are decoded once, between the store
 * and the driver.
 */
import { Effect, Option, Schema } from "effect"
import type {
  Cell,
  CellType,
  Row,
  RowQuery,
  Rows,
  Table,
  Test,
  Where
} from "../../services/Rows.ts"
import { StoreError } from "../../services/StoreError.ts"

type Kind = "always" | "optional" | "hidden" | "place"

/** A column: how a driver keeps it, and how its cell is read and written. */
export interface Column<A, K extends Kind> {
  /** How a driver keeps a cell. */
  readonly type: CellType
  /** Whether every row has a cell, and whether it is read. */
  readonly kind: K
  /** The value of a stored cell. None = the cell does not fit the column. */
  readonly read: (cell: unknown) => Option.Option<A>
  /** The cell for a value. */
  write(value: A): Cell
}

type Codec<A extends Cell> = Schema.ConstraintDecoder<A>

const plain = <A extends Cell>(type: CellType, schema: Codec<A>): Column<A, "always"> => ({
  type,
  kind: "always",
  read: Schema.decodeUnknownOption(schema),
  write: (value) => value
})

/** A text that PostgreSQL keeps as it is: an id, a digest, a name of ours. `text` in SQL; it may have no character U+0000. */
export const text = <A extends string>(schema: Codec<A>) => plain("text", schema)

/** A UUID as a text of a schema, in lower case with hyphens. `uuid` in SQL, which fails with StoreError for any other text. */
export const uuid = <A extends string>(schema: Codec<A>) => plain("uuid", schema)

/** True or false: `boolean` in SQL. */
export const flag = plain("boolean", Schema.Boolean)

/** A number, which may have a fraction: `double precision` in SQL. */
export const float8 = plain("float8", Schema.Number)

/** A whole number: `integer` in SQL, which fails with StoreError outside of -(2^31) to 2^31 - 1. */
export const int4 = plain("int4", Schema.Int)

/** A whole number within JavaScript's safe ones, -(2^53 - 1) to 2^53 - 1: `bigint` in SQL. Times are in milliseconds since 1970. */
export const int8 = plain("int8", Schema.Int)

/** One of some words, as its number among them. */
export const oneOf = <const W extends string>({
  literals
}: {
  /** The words, in an order that never changes: their numbers are stored. */
  readonly literals: ReadonlyArray<W>
}): Column<W, "always"> => ({
  type: "int2",
  kind: "always",
  read: (cell) => Option.fromUndefinedOr(literals[Number(cell)]),
  write: (word) => literals.indexOf(word)
})

/** A value as JSON text. */
export const json = <A>(schema: Schema.ConstraintDecoder<A>): Column<A, "always"> => ({
  type: "text",
  kind: "always",
  read: Schema.decodeUnknownOption(Schema.fromJsonString(schema)),
  write: (value) => JSON.stringify(value)
})

/** A text from outside, as JSON text: it may contain what PostgreSQL refuses. */
export const said = json(Schema.String)

/** A column that may be null: the member is absent then. */
export const optional = <A>(column: Column<A, "always">): Column<A, "optional"> => ({
  ...column,
  kind: "optional"
})

/** A column that numbers rows in the order in which they were added. */
export const place: Column<number, "place"> = { ...int8, kind: "place" }

/** A text of which a driver may keep the SHA-256 alone (`bytea` in SQL): it is compared, and never read. */
export const digest: Column<string, "hidden"> = {
  ...plain("digest", Schema.String),
  kind: "hidden"
}

/** A column that is compared, and never read. */
export const hidden = <A>(column: Column<A, "always">): Column<A, "hidden"> => ({
  ...column,
  kind: "hidden"
})

type Columns = Readonly<Record<string, Column<unknown, Kind>>>
type ValueOf<X> = X extends { readonly read: (cell: unknown) => Option.Option<infer A> } ? A : never
type Named<C, K extends Kind> = {
  [N in keyof C]: C[N] extends { readonly kind: K } ? N : never
}[keyof C]

/** A row as it is read. */
export type Stored<C> = { readonly [N in Named<C, "always" | "place">]: ValueOf<C[N]> } & {
  readonly [N in Named<C, "optional">]?: ValueOf<C[N]>
}

/** A row as it is added. */
type Added<C> = { readonly [N in Named<C, "always" | "hidden">]: ValueOf<C[N]> } & {
  readonly [N in Named<C, "optional">]?: ValueOf<C[N]> | undefined
}

type Tests<C> = { readonly [N in keyof C]?: ValueOf<C[N]> | Test | undefined }

/** In place of a tenant, rows of all of them: for sweeps and lists of operators in this house. No feature gets it. */
export const anyTenant: unique symbol = Symbol("rows of any tenant")

/** Tests by column. Those of a table with a column `tenant` have to name one. */
type TypedWhere<C> = Tests<Omit<C, "tenant">> & {
  readonly [N in keyof C & "tenant"]: ValueOf<C[N]> | typeof anyTenant
}

/** Which rows, in which order, and how many. */
export interface TypedQuery<C> extends Omit<RowQuery, "where" | "or" | "after"> {
  /**
   * Tests by column, which must all hold: a value, or a `Test`. Absent or undefined = any cell, but for `tenant`: where the table has
   * this column, the query names one tenant, or dies with a TypeError.
   */
  readonly where: TypedWhere<C>
  /** Of these tests one must hold as well. Absent = no further condition. */
  readonly or?: ReadonlyArray<Tests<C>>
  /** The page begins behind the one row with these cells; empty if there is no such row. Needs `order`. */
  readonly after?: Tests<C> | undefined
}

/** A table with its typed columns, as `table` makes it. */
export interface TypedTable<C> extends Omit<Table, "columns" | "hidden" | "place"> {
  /** What the rows are, in the plural, for errors. */
  readonly what: string
  /** Its columns, by their names in SQL. */
  readonly columns: C
}

/** A table of any columns. */
export type AnyTable = TypedTable<Columns>

/** Says the type of a table's columns. */
export const table = <C extends Columns>(given: TypedTable<C>): TypedTable<C> => given

const isTest = (value: unknown): value is Test => value === null || Array.isArray(value)

/**
 * The rows of one table. What a query gives is what its driver gives. A query that names no tenant of a table with this column, and a
 * value that its column does not have, die with a TypeError that names the table and the column.
 */
export interface TableRows<C> {
  /** The rows that can be read and that fit; those that cannot be read are logged. None that is left out shortens the page. */
  readonly list: (
    query: TypedQuery<C>,
    fits?: (row: Stored<C>) => boolean
  ) => Effect.Effect<ReadonlyArray<Stored<C>>, StoreError>
  /** All of the rows. Fails if one cannot be read. */
  readonly all: (query: TypedQuery<C>) => Effect.Effect<ReadonlyArray<Stored<C>>, StoreError>
  /** The first row; undefined if there is none. */
  readonly one: (
    where: TypedWhere<C>,
    lock?: RowQuery["lock"]
  ) => Effect.Effect<Stored<C> | undefined, StoreError>
  /** Removes the rows of a query, of a table whose key is one column. Gives those that can be read; the others are logged. */
  readonly take: (query: TypedQuery<C>) => Effect.Effect<ReadonlyArray<Stored<C>>, StoreError>
  /** How many rows a query has; with a `limit`, at most that many. */
  readonly count: (query: TypedQuery<C>) => Effect.Effect<number, StoreError>
  /** How many rows of a query there are for each combination of these cells. */
  readonly counts: <N extends keyof C & string>(
    query: TypedQuery<C>,
    by: ReadonlyArray<N>
  ) => Effect.Effect<
    ReadonlyArray<{ readonly [K in N]: ValueOf<C[K]> } & { readonly count: number }>,
    StoreError
  >
  /** Adds rows that are not there. Of those that are, these columns follow. Gives how many rows it wrote. */
  readonly add: (
    rows: ReadonlyArray<Added<C>>,
    follows?: ReadonlyArray<keyof C & string>
  ) => Effect.Effect<number, StoreError>
  /**
   * Changes these cells of the rows of a query, also of several; a column that is absent stays as it is, and one that is optional
   * becomes empty by undefined. Rows stay their tenant's. Gives how many rows it changed.
   */
  readonly set: (
    query: TypedQuery<C>,
    cells: { readonly [N in keyof C]?: ValueOf<C[N]> | undefined }
  ) => Effect.Effect<number, StoreError>
  /** Removes the rows of a query. Gives how many. */
  readonly remove: (query: TypedQuery<C>) => Effect.Effect<number, StoreError>
}

const wrong = ({ name }: { readonly name: string }, message: string) =>
  new TypeError(`the table ${name}: ${message}`)

const columnOf = (table: AnyTable, name: string) => {
  const column = Object.hasOwn(table.columns, name) ? table.columns[name] : undefined
  if (column === undefined) throw wrong(table, `there is no column ${name}`)
  return column
}

const hasTenant = ({ columns }: AnyTable) => Object.hasOwn(columns, "tenant")

/** The way from queries with values to those of a driver. */
const queriesOf = <C extends Columns>(table: TypedTable<C>) => {
  const tests = (given: object): Where =>
    Object.fromEntries(
      Object.entries(given).map(([name, value]) => [
        name,
        value === undefined || isTest(value) ? value : columnOf(table, name).write(value)
      ])
    )
  const where = (given: object): Where => {
    const tenant: unknown = Reflect.get(given, "tenant")
    if (!hasTenant(table)) return tests(given)
    if (tenant === anyTenant) return tests({ ...given, tenant: undefined })
    if (typeof tenant === "string") return tests(given)
    throw wrong(table, "a query has to name one tenant, in the member tenant of its where")
  }
  return ({ after, or, where: given, ...query }: Partial<TypedQuery<C>> = {}): RowQuery => ({
    ...query,
    where: where(given ?? {}),
    or: or?.map(tests),
    after: after === undefined ? undefined : tests(after)
  })
}

/** The way from values to the cells that are written. */
const writesOf = <C extends Columns>(table: TypedTable<C>) => {
  const { columns, key } = table
  const cellOf = (name: string, value: unknown): Cell => {
    const column = columnOf(table, name)
    if ((value ?? null) === null && column.kind === "optional") return null
    const cell = (value ?? null) === null ? null : column.write(value)
    if (column.kind !== "place" && Option.isSome(column.read(cell))) return cell
    throw wrong(table, `its column ${name} does not have this value`)
  }
  const row = (values: object): Row =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, cellOf(name, value)]))
  const needed = Object.keys(columns).filter(
    (name) => columns[name]?.kind === "always" || columns[name]?.kind === "hidden"
  )
  return {
    /** Rows to be added. Where others follow them, these are of the same tenant. */
    added: (rows: ReadonlyArray<object>, follows: ReadonlyArray<string>) => {
      if (follows.length > 0 && hasTenant(table) && !key.includes("tenant")) {
        throw wrong(table, "no row can follow another: its key is not of one tenant")
      }
      return rows.map((values) => {
        const missing = needed.find((name) => !Object.hasOwn(values, name))
        if (missing !== undefined) throw wrong(table, `a row without its column ${missing}`)
        return row(values)
      })
    },
    /** Cells that change; never the tenant's. */
    changed: ({ tenant: of }: Where, values: object) => {
      const tenant: unknown = Reflect.get(values, "tenant")
      if (tenant === undefined || tenant === of) return row(values)
      throw wrong(table, "a row stays its tenant's")
    }
  }
}

/** The way from the cells of a table to values. */
const cellsOf = <C extends Columns>({ columns }: TypedTable<C>) => {
  const read = Object.entries(columns).filter(([, { kind }]) => kind !== "hidden")
  return {
    /** Some of the row's values, of columns whose cells are ours. */
    some: <N extends keyof C & string>(row: Row, names: ReadonlyArray<N>) =>
      Object.fromEntries(
        names.map((name) => [
          name,
          Option.getOrUndefined(columns[name]?.read(row[name]) ?? Option.none())
        ])
      ) as { readonly [K in N]: ValueOf<C[K]> },
    /** The row's values; undefined if one cannot be read. */
    values: (row: Row): Stored<C> | undefined => {
      const values: Record<string, unknown> = {}
      for (const [name, column] of read) {
        const cell = row[name] ?? null
        if (cell === null && column.kind === "optional") continue
        const value = column.read(cell)
        if (Option.isNone(value)) return undefined
        values[name] = value.value
      }
      return values as Stored<C>
    }
  }
}

const isRead = <A>(values: A | undefined): values is A => values !== undefined

/** The table as a driver knows it. */
const drivenOf = ({ columns, what: _what, ...about }: AnyTable): Table => {
  const all = Object.entries(columns)
  const of = (kind: Kind) => all.filter(([, each]) => each.kind === kind).map(([name]) => name)
  const [placed] = of("place")
  return {
    ...about,
    columns: Object.fromEntries(
      all.filter(([name]) => name !== placed).map(([name, { type }]) => [name, type])
    ),
    place: placed,
    hidden: of("hidden")
  }
}

/** The rows of a table in a driver. */
export const tableRows = <C extends Columns>(
  rows: Rows["Service"],
  given: TypedTable<C>
): TableRows<C> => {
  const { key: keys, what } = given
  const cells = cellsOf(given)
  const driven = drivenOf(given)
  const queryOf = queriesOf(given)
  const written = writesOf(given)
  /** What a caller got wrong is a defect of the effect. */
  const asked = <A>(
    query: TypedQuery<C>,
    use: (query: RowQuery) => Effect.Effect<A, StoreError>
  ): Effect.Effect<A, StoreError> => Effect.suspend(() => use(queryOf(query)))
  const listed = (query: TypedQuery<C>) => asked(query, (each) => rows.list(driven, each))
  const strict: TableRows<C>["all"] = (query) =>
    Effect.flatMap(listed(query), (found) => {
      const values = found.map(cells.values)
      return values.every(isRead)
        ? Effect.succeed(values)
        : Effect.fail(new StoreError({ message: `${what} cannot be read` }))
    })
  return {
    all: strict,
    one: (where, lock) => Effect.map(strict({ where, lock, limit: 1 }), ([first]) => first),
    list: Effect.fnUntraced(function* (asking, fits = () => true) {
      const { limit = Infinity, ...query } = queryOf(asking)
      const found: Array<Stored<C>> = []
      let after = query.after
      for (;;) {
        const wanted = limit - found.length
        const more = limit === Infinity ? undefined : wanted
        const page = yield* rows.list(driven, { ...query, after, limit: more })
        const values = page.map(cells.values).filter(isRead)
        found.push(...values.filter(fits))
        const left = page.length - values.length
        if (left > 0) yield* Effect.logError(`${left} ${what} cannot be read; they are left out`)
        const last = page.at(-1)
        if (last === undefined || page.length < wanted || found.length >= limit) return found
        after = Object.fromEntries(keys.map((name) => [name, last[name]]))
      }
    }),
    take: Effect.fnUntraced(function* (query) {
      const [key = ""] = keys
      const taken = yield* listed(query)
      if (keys.length > 1) throw wrong(given, "none is taken: its key is of several columns")
      const names = taken.flatMap((row) => row[key] as string | number)
      yield* rows.remove(driven, { where: { [key]: ["in", names] } })
      const values = taken.map(cells.values).filter(isRead)
      const left = taken.length - values.length
      if (left > 0) yield* Effect.logError(`${left} ${what} cannot be read; they are left out`)
      return values
    }),
    count: (query) =>
      Effect.map(
        asked(query, (each) => rows.count(driven, each, [])),
        ([row]) => Number(row?.["count"])
      ),
    counts: (query, by) =>
      Effect.map(
        asked(query, (each) => rows.count(driven, each, by)),
        (found) => found.map((row) => ({ ...cells.some(row, by), count: Number(row["count"]) }))
      ),
    add: (added, follows = []) =>
      Effect.suspend(() => rows.add(driven, written.added(added, follows), follows)),
    set: (query, values) =>
      asked(query, (each) => rows.set(driven, each, written.changed(each.where, values))),
    remove: (query) => asked(query, (each) => rows.remove(driven, each))
  }
}
