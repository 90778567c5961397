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
  readonly type: CellType
  readonly kind: K
  readonly read: (cell: unknown) => Option.Option<A>
  write(value: A): Cell
}

type Codec<A extends Cell> = Schema.ConstraintDecoder<A>

const plain = <A extends Cell>(type: CellType, schema: Codec<A>): Column<A, "always"> => ({
  type,
  kind: "always",
  read: Schema.decodeUnknownOption(schema),
  write: (value) => value
})

/** A text that PostgreSQL keeps as it is: an id, a digest, a name of ours. */
export const text = <A extends string>(schema: Codec<A>) => plain("text", schema)
export const uuid = <A extends string>(schema: Codec<A>) => plain("uuid", schema)
export const flag = plain("boolean", Schema.Boolean)
export const float8 = plain("float8", Schema.Number)
export const int4 = plain("int4", Schema.Int)
export const int8 = plain("int8", Schema.Int)

/** One of some words, as its number among them. */
export const oneOf = <const W extends string>({
  literals
}: {
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

type TypedWhere<C> = { readonly [N in keyof C]?: ValueOf<C[N]> | Test | undefined }

export interface TypedQuery<C> extends Omit<RowQuery, "where" | "or" | "after"> {
  readonly where: TypedWhere<C>
  readonly or?: ReadonlyArray<TypedWhere<C>>
  readonly after?: TypedWhere<C> | undefined
}

export interface TypedTable<C> extends Omit<Table, "columns" | "hidden" | "place"> {
  /** What the rows are, in the plural, for errors. */
  readonly what: string
  readonly columns: C
}

/** A table of any columns. */
export type AnyTable = TypedTable<Columns>

/** Says the type of a table's columns. */
export const table = <C extends Columns>(given: TypedTable<C>): TypedTable<C> => given

const isTest = (value: unknown): value is Test => value === null || Array.isArray(value)

/** The rows of one table. What a query gives is what its driver gives. */
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
  readonly set: (
    query: TypedQuery<C>,
    cells: { readonly [N in keyof C]?: ValueOf<C[N]> | undefined }
  ) => Effect.Effect<number, StoreError>
  readonly remove: (query: TypedQuery<C>) => Effect.Effect<number, StoreError>
}

/** The way between values and the cells of a table. */
const cellsOf = <C extends Columns>(columns: C) => {
  const read = Object.entries(columns).filter(([, { kind }]) => kind !== "hidden")
  const cellOf = (name: string, value: unknown): Cell =>
    value === undefined || value === null ? null : (columns[name]?.write(value) ?? null)
  const where = (tests: TypedWhere<C>): Where =>
    Object.fromEntries(
      Object.entries(tests).map(([name, value]) => [
        name,
        value === undefined || isTest(value) ? value : cellOf(name, value)
      ])
    ) as Where
  return {
    row: (values: object): Row =>
      Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, cellOf(name, value)])
      ),
    where,
    query: ({ after, or, where: tests, ...query }: TypedQuery<C>): RowQuery => ({
      ...query,
      where: where(tests),
      or: or?.map(where),
      after: after === undefined ? undefined : where(after)
    }),
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

/** The rows of a table in a driver. */
export const tableRows = <C extends Columns>(
  rows: Rows["Service"],
  { columns, what, ...about }: TypedTable<C>
): TableRows<C> => {
  const cells = cellsOf(columns)
  const all = Object.entries(columns)
  const of = (kind: Kind) => all.filter(([, each]) => each.kind === kind).map(([name]) => name)
  const [placed] = of("place")
  const driven: Table = {
    ...about,
    columns: Object.fromEntries(
      all.filter(([name]) => name !== placed).map(([name, { type }]) => [name, type])
    ),
    place: placed,
    hidden: of("hidden")
  }
  const strict: TableRows<C>["all"] = (query) =>
    Effect.flatMap(rows.list(driven, cells.query(query)), (found) => {
      const values = found.map(cells.values)
      return values.every(isRead)
        ? Effect.succeed(values)
        : Effect.fail(new StoreError({ message: `${what} cannot be read` }))
    })
  return {
    all: strict,
    one: (where, lock) => Effect.map(strict({ where, lock, limit: 1 }), ([first]) => first),
    list: Effect.fnUntraced(function* (given, fits = () => true) {
      const { limit = Infinity, ...query } = cells.query(given)
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
        after = Object.fromEntries(about.key.map((name) => [name, last[name]]))
      }
    }),
    take: Effect.fnUntraced(function* (query) {
      const [key = ""] = about.key
      const taken = yield* rows.list(driven, cells.query(query))
      const names = taken.flatMap((row) => row[key] as string | number)
      yield* rows.remove(driven, { where: { [key]: ["in", names] } })
      const values = taken.map(cells.values).filter(isRead)
      const left = taken.length - values.length
      if (left > 0) yield* Effect.logError(`${left} ${what} cannot be read; they are left out`)
      return values
    }),
    count: (query) =>
      Effect.map(rows.count(driven, cells.query(query), []), ([row]) => Number(row?.["count"])),
    counts: (query, by) =>
      Effect.map(rows.count(driven, cells.query(query), by), (found) =>
        found.map((row) => ({ ...cells.some(row, by), count: Number(row["count"]) }))
      ),
    add: (added, follows = []) => rows.add(driven, added.map(cells.row), follows),
    set: (query, values) => rows.set(driven, cells.query(query), cells.row(values)),
    remove: (query) => rows.remove(driven, cells.query(query))
  }
}
