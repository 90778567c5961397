/**
 * What outlives a run, and what outlives a conversation. Outcomes and what people and the model chose to keep go on; what a
 * tool's call left by itself goes on only where it came up more than once.
 */
import type { MemoryRow } from "./MemoryRow.ts"
import { isCurrent } from "./MemoryRow.ts"

/** Rows of one run, and of one conversation, that go on at most. */
export const promoted_max = { interaction: 64, session: 256 } as const

const lasts = ({ provenance, seen }: MemoryRow): boolean => provenance.author !== "tool" || seen > 1

/** The rows that go on to the next tier: the newest, where there are more than may. */
export const promoted = (
  rows: ReadonlyArray<MemoryRow>,
  from: keyof typeof promoted_max
): ReadonlyArray<MemoryRow> =>
  rows
    .filter((row) => isCurrent(row) && lasts(row))
    .toSorted((a, b) => b.at - a.at)
    .slice(0, promoted_max[from])
