/**
 * Statuses that a column holds as numbers. A number is never given a second meaning. Private to this room.
 */
import { Record, Schema } from "effect"

/** Decodes the number of a status as the status, and refuses every other number. */
export const storedStatus = <S extends string>(
  codes: Readonly<Record<S, number>>
): Schema.Codec<S, number> => {
  const statuses = Record.keys(codes)
  return Schema.Literals(statuses.map((status) => codes[status])).transform(statuses)
}
