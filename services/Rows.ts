/**
 * Rows of tables that no hot path reads: plain cells, by column. The driver below the stores that are written once
 * (`layers/stores`): it knows tables and no rules. It separates tenants where a query names one, and erases by a table's marks.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { ErasureMarks } from "../src/erasure/ErasedValue.ts"
import type { StoreError } from "./StoreError.ts"

/** What a driver stores in one column of a row. */
export type Cell = string | number | boolean | null

/** The cells of a row, by the names of their columns. */
export type Row = Readonly<Record<string, Cell>>

/** What a column holds. Of a `digest`, a text, a driver may keep the SHA-256 alone: it is compared, and never read. */
export type CellType = "text" | "uuid" | "digest" | "int2" | "int4" | "int8" | "float8" | "boolean"

/** A table: its columns and keys, and how long its rows are kept. */
export interface Table {
  /** Its name in the schema `troupe`. */
  readonly name: string
  /** What each column holds, by its name. */
  readonly columns: Readonly<Record<string, CellType>>
  /** The columns that no two rows have the same cells in. */
  readonly key: ReadonlyArray<string>
  /** A column besides these, which numbers rows in the order in which they were added. */
  readonly place?: string | undefined
  /** Columns that are compared, and never read. */
  readonly hidden?: ReadonlyArray<string> | undefined
  /** What an erasure of a subject does; absent = the rows name nobody. */
  readonly erased?: ErasureMarks | undefined
  /** Columns that most queries have tests for; absent = the tenant. */
  readonly group?: ReadonlyArray<string> | undefined
  /**
   * How many rows of a group a driver keeps that loses them at the end of its process. The oldest go first, but none that `spares`.
   * A row for which none may go is not added where `refuses` says what they are, in the plural: that fails.
   */
  readonly kept?:
    | {
        /** The most rows of a store in memory. */
        readonly rows_max: number
        /** Whether a row stays, although there are too many with the one that is added. Absent = none does. */
        readonly spares?: ((row: Row, added: Row) => boolean) | undefined
        /** What such rows are, in the plural: one for which none may go is refused with it. Absent = it is not added. */
        readonly refuses?: string
      }
    | undefined
}

/** What a cell must be: equal to a cell, or how it compares. No comparison holds for null, but to be `not` null. */
export type Test =
  | Cell
  | readonly [how: "<" | ">" | ">=", cell: string | number]
  | readonly [how: "in", cells: ReadonlyArray<string | number>]
  | readonly [how: "not", cell: null]

/** Tests by column, which must all hold. Undefined = any cell. */
export type Where = Readonly<Record<string, Test | undefined>>

/** Which rows of a table, in which order, and how many. */
export interface RowQuery {
  /** Tests by column, which must all hold. */
  readonly where: Where
  /** Of these, one must hold as well. */
  readonly or?: ReadonlyArray<Where> | undefined
  /** Columns by which the rows are ordered, the last of them unique. `-column` stands for the negated number. */
  readonly order?: ReadonlyArray<string> | undefined
  /** True = the last rows in this order come first. Absent = the first ones. */
  readonly descends?: boolean | undefined
  /** The rows behind the one row that has these cells; none if there is no such row. Needs an order. */
  readonly after?: Where | undefined
  /** How many rows of the result are left out before its first. Absent = none. */
  readonly skip?: number | undefined
  /** How many rows there are at most. Absent = all. */
  readonly limit?: number | undefined
  /**
   * Keeps the rows from being changed by others until the open transaction ends. Of rows that others keep, `wait` waits for them,
   * `skip` leaves them out; `share` keeps them together with others.
   */
  readonly lock?: "wait" | "skip" | "share" | undefined
}

/** The rows of tables of a store, in memory and in SQL alike. */
export class Rows extends Context.Service<
  Rows,
  {
    /** The rows of a query. What names a tenant is read with the rights of that tenant alone. */
    list(table: Table, query: RowQuery): Effect.Effect<ReadonlyArray<Row>, StoreError>
    /** How many rows a query has for each combination of these cells, as the cell `count`. Without columns it gives one row. */
    count(
      table: Table,
      query: RowQuery,
      by: ReadonlyArray<string>
    ): Effect.Effect<ReadonlyArray<Row>, StoreError>
    /**
     * Adds rows of the same columns in their order; a cell that is absent is null. A row whose key is there stays as it is, but for
     * the columns that follow the new one. Waits for another transaction that is about to add the same key. Gives how many rows
     * it wrote.
     */
    add(
      table: Table,
      rows: ReadonlyArray<Row>,
      follows: ReadonlyArray<string>
    ): Effect.Effect<number, StoreError>
    /** Changes cells of the rows of a query. Gives how many rows it changed. */
    set(table: Table, query: RowQuery, cells: Row): Effect.Effect<number, StoreError>
    /** Removes the rows of a query. Gives how many. */
    remove(table: Table, query: RowQuery): Effect.Effect<number, StoreError>
    /**
     * Runs in one transaction, or as a part of the open one: where it fails, nothing of it stays. While it waits for anything but
     * rows, a driver in one process lets others read and change what it has written.
     */
    transaction<A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreError, R>
    /** Waits until no other transaction has this name, and has it until the open transaction ends. */
    alone(name: string): Effect.Effect<void, StoreError>
  }
>()("troupe/services/Rows") {}
