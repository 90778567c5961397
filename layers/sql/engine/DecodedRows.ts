/**
 * Decodes rows with a schema. A row that cannot be read was changed from outside, or written by a newer process. The error says
 * what the row was, but not what it contained.
 */
import { Effect, Option, Schema } from "effect"
import type { SqlClient, SqlConnection } from "effect/sql"
import { JournalError } from "../../../services/RunJournal.ts"
import { StoreError } from "../../../services/StoreError.ts"

const decoderOf = <A, I, E>(
  row: Schema.Codec<A, I>,
  what: string,
  failure: (message: string) => E
) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  return (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<A>, E> =>
    Effect.mapError(decode(rows), () => failure(`${what} cannot be read`))
}

/**
 * Makes a decoder of rows that fails with StoreError. `what` names the rows in the error, in the plural. Make it once for each
 * statement, because it compiles the schema.
 */
export const rowDecoder = <A, I>(row: Schema.Codec<A, I>, what: string) =>
  decoderOf(row, what, (message) => new StoreError({ message }))

/** As `rowDecoder`, but fails with a JournalError that says that nothing was written. */
export const journalRowDecoder = <A, I>(row: Schema.Codec<A, I>, what: string) =>
  decoderOf(row, what, (message) => new JournalError({ message, lost: false }))

const readerOf =
  <A, E>(decode: (rows: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<A>, E>) =>
  (sql: SqlClient.SqlClient, statement: string, params: ReadonlyArray<unknown> = []) =>
    Effect.flatMap(sql.unsafe(statement, params), decode)

/** Makes a function that runs a statement and decodes its rows, as `rowDecoder` does. */
export const rowReader = <A, I>(row: Schema.Codec<A, I>, what: string) =>
  readerOf(rowDecoder(row, what))

/** Makes a function that runs a statement and decodes its rows, as `journalRowDecoder` does. */
export const journalRowReader = <A, I>(row: Schema.Codec<A, I>, what: string) =>
  readerOf(journalRowDecoder(row, what))

/**
 * Makes a decoder for a list of independent rows: a row that cannot be read is left out and logged, so that it does not hide the
 * others.
 */
export const readableRows = <A, I>(row: Schema.Codec<A, I>, what: string) => {
  const decode = Schema.decodeUnknownOption(row)
  return (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<A>> =>
    Effect.suspend(() => {
      const read = rows.flatMap((each) => Option.toArray(decode(each)))
      const left = rows.length - read.length
      return left === 0
        ? Effect.succeed(read)
        : Effect.as(Effect.logError(`${left} ${what} cannot be read; they are left out`), read)
    })
}

/** The row of each key of a batch, by its place from 1; undefined where there is none. */
export const byPlace = <A extends { readonly place: number }>(
  keys: ReadonlyArray<unknown>,
  rows: ReadonlyArray<A>
): ReadonlyArray<A | undefined> => {
  const found = new Map(rows.map((row) => [row.place, row]))
  return keys.map((_, index) => found.get(index + 1))
}

interface ReadablePage<A, K, E, R> {
  readonly limit: number
  readonly after: K | undefined
  /** The next rows after `after`, at most `limit`. */
  readonly rowsOf: (
    after: K | undefined,
    limit: number
  ) => Effect.Effect<ReadonlyArray<SqlConnection.Row>, E, R>
  /** Decodes the rows that can be read, as `readableRows` does. */
  readonly read: (rows: ReadonlyArray<SqlConnection.Row>) => Effect.Effect<ReadonlyArray<A>, E, R>
  /** The cursor of a row, taken from the row as it is stored. */
  readonly keyOf: (row: SqlConnection.Row) => unknown
}

/**
 * A page of a list whose unreadable rows are left out. It reads on until the page is full or there are no more rows, so that a
 * row that is left out does not look like the end.
 */
export const readablePage = Effect.fnUntraced(function* <A, K, E, R>({
  after,
  keyOf,
  limit,
  read,
  rowsOf
}: ReadablePage<A, K, E, R>): Effect.fn.Return<ReadonlyArray<A>, E, R> {
  const found: Array<A> = []
  let last = after
  for (;;) {
    const wanted = limit - found.length
    const rows = yield* rowsOf(last, wanted)
    found.push(...(yield* read(rows)))
    const row = rows.at(-1)
    if (row === undefined || rows.length < wanted || found.length >= limit) return found
    last = keyOf(row) as K
  }
})
