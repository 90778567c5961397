/**
 * Ends the memory of a run or of a conversation: rows that last are moved to the next tier, and the others are deleted. The store
 * does this in one transaction for each scope, so that a process that dies has done all of it or nothing. Rows that are written
 * meanwhile stay. A scope that was not ended is ended after the conversation's next run, or by a sweep.
 */
import { Effect } from "effect"
import type { Compounded, MemoryStore } from "../../services/MemoryStore.ts"
import { page_max } from "../../services/MemoryStore.ts"
import type { RunId } from "../../src/value/Ids.ts"
import type { MemoryRow, MemoryScope } from "../../src/memory/MemoryRow.ts"
import { classify, isCurrent } from "../../src/memory/MemoryRow.ts"
import type { MemoryOwner } from "../../src/memory/MemoryAnchors.ts"
import { interactionScope, persistentScope, sessionScope } from "../../src/memory/MemoryAnchors.ts"
import { isDuplicate } from "../../src/memory/NearDuplicate.ts"
import { factsOf } from "../../src/memory/RowFacts.ts"
import { everyItem } from "../../src/value/Pages.ts"
import { queryWords } from "../../src/memory/SearchWords.ts"

/** How many rows of one run, and of one conversation, move to the next tier at most. */
export const promoted_max = { interaction: 64, session: 256 } as const

const lasts = ({ provenance, seen }: MemoryRow): boolean => provenance.author !== "tool" || seen > 1

/** Newest first, at most `promoted_max`. What a tool's call recorded by itself moves only if it came up more than once. */
export const promoted = (
  rows: ReadonlyArray<MemoryRow>,
  from: keyof typeof promoted_max
): ReadonlyArray<MemoryRow> =>
  rows
    .filter((row) => isCurrent(row) && lasts(row))
    .toSorted((a, b) => b.at - a.at)
    .slice(0, promoted_max[from])

type Store = MemoryStore["Service"]

export interface Ending {
  readonly from: MemoryScope
  readonly to: MemoryScope
}

/** All rows of a scope, which are at most `rows_max` of its tier. */
const allRows = (store: Store, scope: MemoryScope) =>
  everyItem(page_max, (last: MemoryRow | undefined) =>
    store.list(scope, { limit: page_max, after: last?.id })
  )

const corrections_max = 8

/** Whether a correction that is newer than the row has replaced what the row says. */
const isReplaced = Effect.fnUntraced(function* (store: Store, row: MemoryRow, newest: MemoryRow) {
  const { agent, tenant } = row
  let by: MemoryRow | undefined = newest
  for (let count = 0; count < corrections_max; count++) {
    if (by?.supersedes === undefined || by.at <= row.at) return false
    by = yield* store.get({ tenant, agent, id: by.supersedes })
    if (by !== undefined && isDuplicate(factsOf(row).said, factsOf(by).said)) return true
  }
  return false
})

/** The scope's row with the same content, or whether what it says was replaced, found by a shared word or its age. */
const knownIn = Effect.fnUntraced(function* (store: Store, scope: MemoryScope, row: MemoryRow) {
  const candidates = yield* store.candidates([scope], queryWords(row.text))
  const same = candidates.find((each) => isDuplicate(factsOf(row).said, factsOf(each).said))
  if (same !== undefined) return same
  for (const each of candidates) if (yield* isReplaced(store, row, each)) return "replaced"
  return undefined
})

export const endScope = Effect.fnUntraced(function* (store: Store, { from, to }: Ending) {
  const rows = yield* allRows(store, from)
  const lasting = promoted(rows, from.tier === "session" ? "session" : "interaction")
  const known = yield* Effect.forEach(lasting, (row) => knownIn(store, to, row))
  return yield* store.compound({
    from,
    to,
    promoted: lasting
      .filter((_, i) => known[i] === undefined)
      .map(({ id, text, typology }) => ({
        id,
        typology: to.tier === "persistent" ? classify(text) : typology
      })),
    repeated: known.flatMap((row) => (typeof row === "object" ? [row.id] : [])),
    seen: rows.map(({ id }) => id)
  })
})

const sum = (ended: ReadonlyArray<Compounded>): Compounded => ({
  promoted: ended.reduce((all, each) => all + each.promoted, 0),
  dropped: ended.reduce((all, each) => all + each.dropped, 0)
})

/** Also of earlier runs of the conversation that were not ended: they are over, because an address has one run at a time. */
export const endRun = Effect.fnUntraced(function* (
  store: Store,
  owner: MemoryOwner,
  run: RunId | undefined
) {
  const to = sessionScope(owner)
  const left = yield* store.interactions(to)
  const own = run === undefined ? [] : [interactionScope(owner, run)]
  const all = [...own, ...left.filter(({ anchor }) => anchor !== run)]
  return sum(yield* Effect.forEach(all, (from) => endScope(store, { from, to })))
})

export const endConversation = Effect.fn("AgentMemory.endConversation")(function* (
  store: Store,
  owner: MemoryOwner
) {
  const runs = yield* endRun(store, owner, undefined)
  const session = yield* endScope(store, {
    from: sessionScope(owner),
    to: persistentScope(owner)
  })
  return { promoted: session.promoted, dropped: runs.dropped + session.dropped }
})
