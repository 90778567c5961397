/**
 * Statuses that a column stores as numbers. A number is never reused for another meaning. Private to this room.
 */
import { Record, Schema } from "effect"

/** A codec between a status and its number. Other numbers are refused. */
export const storedStatus = <S extends string>(
  codes: Readonly<Record<S, number>>
): Schema.Codec<S, number> => {
  const statuses = Record.keys(codes)
  return Schema.Literals(statuses.map((status) => codes[status])).transform(statuses)
}
