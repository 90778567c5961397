/**
 * Rows in one process. Each method is one step, and so is a transaction whose steps do not wait: nothing else runs between them.
 */
import { Context, Effect, Layer, Option, References } from "effect"
import type { Cell, Row, RowQuery, Table, Test, Where } from "../../services/Rows.ts"
import { Rows } from "../../services/Rows.ts"
import { StoreError } from "../../services/StoreError.ts"
import { markedColumn } from "../../src/erasure/ErasedValue.ts"
import type { RunEraser } from "../../src/erasure/ErasedValue.ts"
import type { ErasableRow } from "./EphemeralStore.ts"
import { EphemeralStore } from "./EphemeralStore.ts"

/** What undoes the steps of the open transaction, the last step first. */
class Undo extends Context.Service<Undo, Array<() => void>>()("troupe/layers/ephemeral/Undo") {}

const nameOf = (row: Row, columns: ReadonlyArray<string>): string =>
  JSON.stringify(columns.map((column) => row[column] ?? null))

/** Whether a cell passes a test. No comparison holds for null. */
const passing = (test: Test): ((cell: Cell) => boolean) => {
  if (typeof test !== "object" || test === null) return (cell) => cell === test
  const [how, given] = test
  if (how === "in") {
    const cells = new Set<Cell>(given)
    return (cell) => cells.has(cell)
  }
  if (how === "not") return (cell) => cell !== null
  if (how === "<") return (cell) => cell !== null && cell < given
  if (how === ">") return (cell) => cell !== null && cell > given
  return (cell) => cell !== null && cell >= given
}

/** Whether a row passes these tests. */
const fitting = (where: Where): ((row: Row) => boolean) => {
  const tests = Object.entries(where).flatMap(([name, test]) =>
    test === undefined ? [] : [{ name, passes: passing(test) }]
  )
  return (row) => tests.every(({ name, passes }) => passes(row[name] ?? null))
}

const placeOf = (row: Row, column: string): Cell =>
  column.startsWith("-") ? -Number(row[column.slice(1)]) : (row[column] ?? null)

const isBefore = (a: Cell, b: Cell): boolean => a !== null && b !== null && a < b

const compare =
  (order: ReadonlyArray<string>, descends: boolean) =>
  (a: Row, b: Row): number => {
    for (const column of order) {
      const [one, other] = [placeOf(a, column), placeOf(b, column)]
      if (one !== other) return isBefore(one, other) === descends ? 1 : -1
    }
    return 0
  }

/** The rows that have the same cells in some columns, each in the order in which they were added. */
class RowGroups {
  readonly #columns: ReadonlyArray<string>
  readonly #groups = new Map<string, Map<string, Row>>()

  constructor(columns: ReadonlyArray<string>) {
    this.#columns = columns
  }

  /** Whether a query names one group. */
  isNamed(where: Where): boolean {
    return this.#columns.every((name) => isExact(where[name]))
  }

  of(row: Row): ReadonlyMap<string, Row> | undefined {
    return this.#groups.get(nameOf(row, this.#columns))
  }

  put(name: string, row: Row): void {
    const place = nameOf(row, this.#columns)
    let group = this.#groups.get(place)
    if (group === undefined) this.#groups.set(place, (group = new Map()))
    group.set(name, row)
  }

  /** `after`: the row that is put in its place, which may be of another group. */
  drop(name: string, row: Row, after?: Row): void {
    const place = nameOf(row, this.#columns)
    if (after !== undefined && place === nameOf(after, this.#columns)) return
    const group = this.#groups.get(place)
    group?.delete(name)
    if (group?.size === 0) this.#groups.delete(place)
  }
}

const isExact = (test: Test | undefined): boolean => test !== undefined && typeof test !== "object"

/** The rows of one table. */
class MemoryTable {
  readonly #table: Table
  readonly #rows = new Map<string, Row>()
  readonly #group: RowGroups
  /** A column that is never read is compared: by it, few rows are found. */
  readonly #groups: ReadonlyArray<RowGroups>
  #place = 0

  constructor(table: Table) {
    this.#table = table
    this.#group = new RowGroups(table.group ?? ("tenant" in table.columns ? ["tenant"] : []))
    const { hidden = [] } = table
    this.#groups = [...hidden.map((column) => new RowGroups([column])), this.#group]
  }

  #all(where: Where): Iterable<Row> {
    const { key } = this.#table
    if (key.every((name) => isExact(where[name]))) {
      const row = this.#rows.get(nameOf(where as Row, key))
      return row === undefined ? [] : [row]
    }
    const named = this.#groups.find((each) => each.isNamed(where))
    return named === undefined ? this.#rows.values() : (named.of(where as Row)?.values() ?? [])
  }

  find({ after, descends = false, limit, or, order = [], skip = 0, where }: RowQuery): Array<Row> {
    const fits = fitting(where)
    const others = or?.map(fitting)
    let found = Array.from(this.#all(where)).filter(
      (row) => fits(row) && (others === undefined || others.some((each) => each(row)))
    )
    const by = compare(order, descends)
    if (after !== undefined) {
      const [last] = this.find({ where: after })
      found = last === undefined ? [] : found.filter((row) => by(row, last) > 0)
    }
    if (order.length > 0) found.sort(by)
    return found.slice(skip, limit === undefined ? undefined : skip + limit)
  }

  put(row: Row): void {
    const name = nameOf(row, this.#table.key)
    const before = this.#rows.get(name)
    this.#rows.set(name, row)
    for (const groups of this.#groups) {
      if (before !== undefined) groups.drop(name, before, row)
      groups.put(name, row)
    }
  }

  drop(row: Row): void {
    const name = nameOf(row, this.#table.key)
    const standing = this.#rows.get(name)
    if (standing === undefined) return
    this.#rows.delete(name)
    for (const groups of this.#groups) groups.drop(name, standing)
  }

  known(row: Row): Row | undefined {
    return this.#rows.get(nameOf(row, this.#table.key))
  }

  /** The row as it is kept: with all cells, and its place. */
  whole({ columns, place }: Table, row: Row): Row {
    const cells: Record<string, Cell> = {}
    for (const name in columns) cells[name] = row[name] ?? null
    if (place !== undefined) cells[place] = ++this.#place
    return cells
  }

  /** The oldest rows of this one's group that are more than are kept, after one was added; undefined = none of them may go. */
  surplus(added: Row): ReadonlyArray<Row> | undefined {
    const { kept } = this.#table
    const group = this.#group.of(added)
    if (kept === undefined || group === undefined || group.size <= kept.rows_max) return []
    const { refuses, rows_max, spares } = kept
    if (spares !== undefined) {
      const ended = [...group.values()].filter((row) => !spares(row, added))
      if (refuses !== undefined) return ended.length > 0 ? ended : undefined
      return ended.slice(0, Math.max(ended.length - rows_max, 0))
    }
    const [oldest] = group.values()
    return oldest === undefined ? [] : [oldest]
  }
}

type Log = Array<() => void>

const putting = (table: MemoryTable, row: Row, log: Log): void => {
  const before = table.known(row)
  table.put(row)
  log.push(() => (before === undefined ? table.drop(row) : table.put(before)))
}

const dropping = (table: MemoryTable, row: Row, log: Log): void => {
  table.drop(row)
  log.push(() => table.put(row))
}

const replacing = (table: MemoryTable, before: Row, row: Row, log: Log): void => {
  if (table.known(row) !== before) dropping(table, before, log)
  putting(table, row, log)
}

const adding = (
  given: Table,
  table: MemoryTable,
  rows: ReadonlyArray<Row>,
  follows: ReadonlyArray<string>,
  log: Log
): Effect.Effect<number, StoreError> => {
  let written = 0
  for (const row of rows) {
    const before = table.known(row)
    if (before !== undefined) {
      if (follows.length === 0) continue
      const cells = Object.fromEntries(follows.map((name) => [name, row[name] ?? null]))
      putting(table, { ...before, ...cells }, log)
      written++
      continue
    }
    written++
    const added = table.whole(given, row)
    putting(table, added, log)
    const surplus = table.surplus(added)
    if (surplus === undefined) {
      table.drop(added)
      const { refuses, rows_max } = given.kept ?? {}
      return Effect.fail(new StoreError({ message: `${rows_max} ${refuses} are held` }))
    }
    for (const each of surplus) dropping(table, each, log)
  }
  return Effect.succeed(written)
}

const counted = (rows: ReadonlyArray<Row>, by: ReadonlyArray<string>): ReadonlyArray<Row> =>
  by.length === 0
    ? [{ count: rows.length }]
    : Array.from(
        Map.groupBy(rows, (row) => nameOf(row, by)).values(),
        ([first = {}, ...others]) => ({ ...first, count: 1 + others.length })
      )

/** What an erasure sees of a row. */
const erasableOf = (
  { erased = {} }: Table,
  table: MemoryTable,
  row: Row
): ReadonlyArray<ErasableRow> => {
  const { marked = {}, owner, removed } = erased
  const remove = () => {
    const standing = table.known(row)
    if (standing !== undefined) table.drop(standing)
  }
  const textsIn = (columns: ReadonlyArray<string>) =>
    columns.flatMap((column) => (typeof row[column] === "string" ? [row[column]] : []))
  const rows: Array<ErasableRow> = []
  if (removed !== undefined) rows.push({ value: textsIn(removed), remove })
  if (owner !== undefined) {
    const [column, member] = owner
    const value = (JSON.parse(String(row[column])) as Readonly<Record<string, unknown>>)[member]
    rows.push({ value, whose: String(value), remove })
  }
  const columns = Object.entries(marked)
  if (columns.length > 0) {
    const mark = (eraser: RunEraser) => {
      const standing = table.known(row)
      if (standing === undefined) return false
      const cells = columns.map(([column, as]) => {
        const cell = standing[column] ?? null
        return [column, typeof cell === "string" ? markedColumn(column, as, cell, eraser) : cell]
      })
      const next = { ...standing, ...Object.fromEntries(cells) }
      if (columns.every(([column]) => next[column] === standing[column])) return false
      replacing(table, standing, next, [])
      return true
    }
    rows.push({ value: textsIn(Object.keys(marked)), remove, mark })
  }
  return rows
}

const transaction: Rows["Service"]["transaction"] = (self) =>
  Effect.withFiber(({ context }) => {
    const log: Log = []
    const outer = Option.getOrUndefined(Context.getOption(context, Undo))
    return Effect.onExit(
      self.pipe(
        Effect.provideService(Undo, log),
        Effect.provideService(References.PreventSchedulerYield, true)
      ),
      (exit) =>
        Effect.sync(() => {
          if (exit._tag === "Success") outer?.push(...log)
          else for (const undo of log.reverse()) undo()
        })
    )
  })

/** Rows that are there until the scope closes. */
const make = Effect.gen(function* () {
  const tables = new Map<string, MemoryTable>()
  const store = Option.getOrUndefined(yield* Effect.serviceOption(EphemeralStore))
  const of = (table: Table): MemoryTable => {
    const known = tables.get(table.name)
    if (known !== undefined) return known
    const made = new MemoryTable(table)
    tables.set(table.name, made)
    store?.tables.set(table.name, made)
    if (table.erased !== undefined) {
      store?.erasable.set(table.name, (tenant) =>
        made.find({ where: { tenant } }).flatMap((row) => erasableOf(table, made, row))
      )
    }
    return made
  }
  let isOpen = true
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isOpen = false
      tables.clear()
    })
  )
  /** One step, which the open transaction can undo. */
  const step = <A>(change: (log: Log) => A): Effect.Effect<A, StoreError> =>
    Effect.withFiber(({ context }) =>
      isOpen
        ? Effect.sync(() => change(Option.getOrElse(Context.getOption(context, Undo), () => [])))
        : Effect.fail(new StoreError({ message: "the store is closed" }))
    )

  return Rows.of({
    list: (table, query) => step(() => of(table).find(query)),
    count: (table, query, by) => step(() => counted(of(table).find(query), by)),
    add: (table, rows, follows) =>
      Effect.flatten(step((log) => adding(table, of(table), rows, follows, log))),
    set: (table, query, cells) =>
      step((log) => {
        const kept = of(table)
        const found = kept.find(query)
        for (const row of found) replacing(kept, row, { ...row, ...cells }, log)
        return found.length
      }),
    remove: (table, query) =>
      step((log) => {
        const kept = of(table)
        const found = kept.find(query)
        for (const row of found) dropping(kept, row, log)
        return found.length
      }),
    transaction,
    alone: () => Effect.void
  })
})

/** Each build of the layer starts without rows. */
export const layer: Layer.Layer<Rows> = Layer.effect(Rows, make)
