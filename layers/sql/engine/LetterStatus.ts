/**
 * The statuses of dead letters as the table stores them.
 */
import type { DeadLetterStatus } from "../../../src/delivery/OutboxMessage.ts"
import { storedStatus } from "./StoredStatus.ts"

/** A number is never reused for another meaning. */
const codes: Readonly<Record<DeadLetterStatus, number>> = { dead: 0, replayed: 1, discarded: 2 }

export const letterCode = (status: DeadLetterStatus): number => codes[status]
export const StoredLetterStatus = storedStatus(codes)
