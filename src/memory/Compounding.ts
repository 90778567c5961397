/**
 * Which memories are kept at the end of a run, and of a conversation. Outcomes, and what people or the model chose to remember,
 * are kept. What a tool's call recorded by itself is kept only if it came up more than once.
 */
import type { MemoryRow } from "./MemoryRow.ts"
import { isCurrent } from "./MemoryRow.ts"

/** How many rows of one run, and of one conversation, move to the next tier at most. */
export const promoted_max = { interaction: 64, session: 256 } as const

const lasts = ({ provenance, seen }: MemoryRow): boolean => provenance.author !== "tool" || seen > 1

/** The rows that move to the next tier, newest first: at most `promoted_max`. */
export const promoted = (
  rows: ReadonlyArray<MemoryRow>,
  from: keyof typeof promoted_max
): ReadonlyArray<MemoryRow> =>
  rows
    .filter((row) => isCurrent(row) && lasts(row))
    .toSorted((a, b) => b.at - a.at)
    .slice(0, promoted_max[from])
