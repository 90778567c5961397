/**
 * Statuses that a column stores as numbers, of which none is ever reused for another meaning, and those of dead letters. Private to
 * this room.
 */
import { Record, Schema } from "effect"
import type { DeadLetterStatus } from "../../../src/delivery/OutboxMessage.ts"

/** A codec between a status and its number. Other numbers are refused. */
export const storedStatus = <S extends string>(
  codes: Readonly<Record<S, number>>
): Schema.Codec<S, number> => {
  const statuses = Record.keys(codes)
  return Schema.Literals(statuses.map((status) => codes[status])).transform(statuses)
}

/** A number is never reused for another meaning. */
const codes: Readonly<Record<DeadLetterStatus, number>> = { dead: 0, replayed: 1, discarded: 2 }

export const letterCode = (status: DeadLetterStatus): number => codes[status]
export const StoredLetterStatus = storedStatus(codes)
