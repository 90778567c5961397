/**
 * Rows as a schema reads them. What cannot be read was changed from outside, or is of a newer process: an error that says
 * what it was, and nothing of what it held.
 */
import { Effect, Option, Schema } from "effect"
import type { SqlConnection } from "effect/sql"
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

/** Decodes rows; `what` is their name in the error, in the plural. Made once for each statement: it compiles the schema. */
export const rowDecoder = <A, I>(row: Schema.Codec<A, I>, what: string) =>
  decoderOf(row, what, (message) => new StoreError({ message }))

/** The same for rows of the journal, where it is known that nothing was written. */
export const journalRowDecoder = <A, I>(row: Schema.Codec<A, I>, what: string) =>
  decoderOf(row, what, (message) => new JournalError({ message, lost: false }))

/**
 * Decodes the rows of a list whose other rows do not depend on one that cannot be read: that one is left out and logged, so
 * that it hides none of the others.
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

interface ReadablePage<A, K, E, R> {
  readonly limit: number
  readonly after: K | undefined
  /** Rows behind `after`, at most `limit`. */
  readonly rowsOf: (
    after: K | undefined,
    limit: number
  ) => Effect.Effect<ReadonlyArray<SqlConnection.Row>, E, R>
  /** Those that can be read, as `readableRows` gives them. */
  readonly read: (rows: ReadonlyArray<SqlConnection.Row>) => Effect.Effect<ReadonlyArray<A>, E, R>
  /** What names the row behind which one reads on; it is taken as it is stored. */
  readonly keyOf: (row: SqlConnection.Row) => unknown
}

/**
 * A page of such a list. It reads on until the page is full or there are no more rows: one that is left out must not look like
 * the end.
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
