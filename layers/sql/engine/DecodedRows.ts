/**
 * Rows as a schema reads them. What cannot be read was changed from outside, or is of a newer process: a StoreError that
 * says what it was.
 */
import { Effect, Schema } from "effect"
import { StoreError } from "../../../services/StoreError.ts"

/** Decodes rows; `what` is their name in the error, in the plural. Made once for each statement: it compiles the schema. */
export const rowDecoder = <A, I>(row: Schema.Codec<A, I>, what: string) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  return (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<A>, StoreError> =>
    Effect.mapError(decode(rows), () => new StoreError({ message: `${what} cannot be read` }))
}
