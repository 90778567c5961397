/**
 * Rows of memories in one process. They are gone at its end.
 */
import { Clock, Effect, Layer } from "effect"
import type { Compounded, MemoryPlace } from "../../services/MemoryStore.ts"
import {
  candidates_max,
  canonicals_max,
  MemoryStore,
  ofOneTenant,
  page_max,
  rows_max
} from "../../services/MemoryStore.ts"
import { holdsText, soughtTexts } from "../../src/erasure/SoughtText.ts"
import type { Tenant } from "../../src/Ids.ts"
import type { CanonicalText, ComparedText } from "../../src/memory/CanonicalText.ts"
import { comparedText, findCanonical } from "../../src/memory/CanonicalText.ts"
import { MemoryRefused } from "../../src/memory/MemoryRefused.ts"
import type {
  MemoryRow,
  MemoryScope,
  MemoryTier,
  NewMemoryRow
} from "../../src/memory/MemoryRow.ts"
import { isCurrent, MemoryId } from "../../src/memory/MemoryRow.ts"
import { query_words_max, rowWords } from "../../src/memory/SearchWords.ts"
import { isAbout } from "../../src/memory/Subject.ts"
import { offerRows } from "./EphemeralStore.ts"

interface Stored {
  row: MemoryRow
  /** Increases from row to row. */
  readonly position: number
  readonly words: ReadonlySet<string>
}

/** Oldest first. */
interface Scope {
  readonly scope: MemoryScope
  readonly place: string
  readonly session: string
  rows: Array<Stored>
  /** When something was last written, in ms since 1970. */
  touched_at: number
}

interface Memory {
  readonly scopes: Map<string, Scope>
  readonly rows: Map<MemoryId, Stored>
  /** By tenant, agent and key. */
  readonly keys: Map<string, MemoryId>
  /** By tenant and place, then by name. */
  readonly canonicals: Map<string, Map<string, { text: CanonicalText; compared: ComparedText }>>
  last: number
}

const scopeKey = ({ agent, anchor, tenant, tier }: MemoryScope): string =>
  `${tenant}\0${agent}\0${tier}\0${anchor}`

const placeKey = (tenant: Tenant, place: string): string => `${tenant}\0${place}`

const refused = (reason: MemoryRefused["reason"], message: string) =>
  Effect.fail(new MemoryRefused({ reason, message }))

const rowOf = (memory: Memory, { agent, id, tenant }: MemoryPlace): Stored | undefined => {
  const found = memory.rows.get(id)
  return found?.row.tenant === tenant && found.row.agent === agent ? found : undefined
}

const isIn = ({ row }: Stored, scope: MemoryScope): boolean => scopeKey(row) === scopeKey(scope)

const scopeOf = (memory: Memory, row: NewMemoryRow): Scope => {
  const { agent, anchor, place, session, tenant, tier } = row
  const scope = { tenant, agent, tier, anchor }
  const key = scopeKey(scope)
  let found = memory.scopes.get(key)
  if (found === undefined) {
    memory.scopes.set(key, (found = { scope, place, session, rows: [], touched_at: row.at }))
  }
  return found
}

const keyOf = ({ agent, tenant }: NewMemoryRow, key: string): string =>
  `${tenant}\0${agent}\0${key}`

const canonicalOf = (memory: Memory, { place, tenant, text }: NewMemoryRow) => {
  const known = memory.canonicals.get(placeKey(tenant, place))
  return known === undefined
    ? undefined
    : findCanonical(
        text,
        [...known.values()].map(({ compared }) => compared)
      )
}

const idOf = (position: number): MemoryId =>
  MemoryId.make(`00000000-0000-4000-8000-${position.toString(16).padStart(12, "0")}`)

const put = (memory: Memory, home: Scope, row: NewMemoryRow): Stored => {
  const position = ++memory.last
  const stored: Stored = {
    row: { ...row, id: idOf(position), seen: 1 },
    position,
    words: new Set(rowWords(row.text))
  }
  home.rows.push(stored)
  home.touched_at = Math.max(home.touched_at, row.at)
  memory.rows.set(stored.row.id, stored)
  if (row.key !== undefined) memory.keys.set(keyOf(row, row.key), stored.row.id)
  return stored
}

const remove = (memory: Memory, gone: ReadonlySet<Stored>): void => {
  for (const { row } of gone) {
    memory.rows.delete(row.id)
    if (row.key !== undefined) memory.keys.delete(keyOf(row, row.key))
  }
  for (const [key, scope] of memory.scopes) {
    scope.rows = scope.rows.filter((stored) => !gone.has(stored))
    if (scope.rows.length === 0) memory.scopes.delete(key)
  }
}

const add = (memory: Memory, row: NewMemoryRow) => {
  const known = row.key === undefined ? undefined : memory.keys.get(keyOf(row, row.key))
  const stored = known === undefined ? undefined : memory.rows.get(known)
  if (stored !== undefined) return Effect.succeed(stored.row)
  const canonical = canonicalOf(memory, row)
  if (canonical !== undefined) return Effect.fail(isCopy(canonical.name))
  const older = row.supersedes === undefined ? undefined : memory.rows.get(row.supersedes)
  if (
    row.supersedes !== undefined &&
    (older === undefined || !isIn(older, row) || !isCurrent(older.row))
  ) {
    return refused("superseded", "there is no such row to supersede, or it has a successor")
  }
  const home = scopeOf(memory, row)
  if (home.rows.length >= rows_max[row.tier]) {
    return refused("full", `the ${row.tier} tier holds ${rows_max[row.tier]} rows already`)
  }
  const added = put(memory, home, row)
  if (older !== undefined) older.row = { ...older.row, superseded_by: added.row.id }
  return Effect.succeed(added.row)
}

const isCopy = (name: string) =>
  new MemoryRefused({
    reason: "canonical",
    message: "the text is a copy of a canonical text, or holds one",
    canonical: name
  })

const undo = (memory: Memory, place: MemoryPlace, by: string) => {
  const stored = rowOf(memory, place)
  if (stored === undefined) return refused("superseded", "there is no such row")
  const { row } = stored
  if (row.superseded_by !== undefined) return refused("superseded", "the row has a successor")
  if (row.undone_by !== undefined) return Effect.succeed(row)
  stored.row = { ...row, undone_by: by }
  const older = row.supersedes === undefined ? undefined : memory.rows.get(row.supersedes)
  if (older !== undefined) {
    const { superseded_by: _, ...restored } = older.row
    older.row = restored
  }
  return Effect.succeed(stored.row)
}

const candidates = (
  memory: Memory,
  scopes: ReadonlyArray<MemoryScope>,
  words: ReadonlyArray<string>
) => {
  const scores = new Map<Stored, number>()
  const newest = new Set<Stored>()
  for (const scope of ofOneTenant(scopes)) {
    const live = (memory.scopes.get(scopeKey(scope))?.rows ?? [])
      .filter(({ row }) => isCurrent(row))
      .toReversed()
    for (const stored of live.slice(0, candidates_max.newest)) newest.add(stored)
    for (const word of words.slice(0, query_words_max)) {
      const having = live.filter((each) => each.words.has(word)).slice(0, candidates_max.of_word)
      for (const each of having) scores.set(each, (scores.get(each) ?? 0) + 1 / having.length)
    }
  }
  const best = [...scores]
    .toSorted(([a, x], [b, y]) => y - x || b.position - a.position)
    .slice(0, candidates_max.all)
  return [...new Set([...best.map(([stored]) => stored), ...newest])].map(({ row }) => row)
}

const compound = (memory: Memory, { from, promoted, repeated, to }: Compounded, now: number) => {
  const rows = memory.scopes.get(scopeKey(from))?.rows ?? []
  const own = new Set(rows.map(({ row }) => row.id))
  const room = Math.max(0, rows_max[to.tier] - (memory.scopes.get(scopeKey(to))?.rows.length ?? 0))
  const kinds = new Map(
    promoted
      .filter(({ id }) => own.has(id))
      .slice(0, room)
      .map(({ id, typology }) => [id, typology])
  )
  const gone = new Set(rows.filter(({ row }) => !kinds.has(row.id)))
  const moving = rows.filter((stored) => !gone.has(stored))
  if (rows.length === 0) return { promoted: 0, dropped: 0 }
  for (const id of repeated) {
    const stored = memory.rows.get(id)
    if (stored !== undefined && isIn(stored, to)) {
      stored.row = { ...stored.row, seen: stored.row.seen + 1 }
    }
  }
  memory.scopes.delete(scopeKey(from))
  for (const stored of moving) {
    const { anchor, tier } = to
    stored.row = { ...stored.row, tier, anchor, typology: kinds.get(stored.row.id) ?? "episodic" }
    const home = scopeOf(memory, stored.row)
    home.rows = [...home.rows, stored].toSorted((a, b) => a.position - b.position)
    home.touched_at = now
  }
  remove(memory, gone)
  return { promoted: moving.length, dropped: gone.size }
}

const erase = (memory: Memory, tenant: Tenant, subject: string) => {
  const named = () =>
    [...memory.rows.values()].filter(({ row }) => row.tenant === tenant && isAbout(row, subject))
  const gone = new Set(named())
  const sought = soughtTexts(subject)
  const count = (tier: MemoryTier) => [...gone].filter(({ row }) => row.tier === tier).length
  const erased = {
    interaction: count("interaction"),
    session: count("session"),
    persistent: count("persistent")
  }
  remove(memory, gone)
  const left = [...memory.rows.values()].filter(
    ({ row }) => row.tenant === tenant && holdsText(JSON.stringify(row), sought)
  )
  return { subject, erased, scanned: [{ table: "memory_rows", rows: left.length }] }
}

const bySize = (memory: Memory, tier: MemoryTier) =>
  [...memory.scopes.values()]
    .filter(({ scope }) => scope.tier === tier)
    .toSorted((a, b) => a.touched_at - b.touched_at)

const canonicalTexts = (memory: Memory) => ({
  register: (text: CanonicalText) =>
    Effect.suspend(() => {
      const key = placeKey(text.tenant, text.place)
      const known = memory.canonicals.get(key) ?? new Map()
      if (!known.has(text.name) && known.size >= canonicals_max) {
        return refused("full", `a place has at most ${canonicals_max} canonical texts`)
      }
      memory.canonicals.set(key, known.set(text.name, { text, compared: comparedText(text) }))
      return Effect.void
    }),
  unregister: (tenant: Tenant, place: string, name: string) =>
    Effect.sync(() => void memory.canonicals.get(placeKey(tenant, place))?.delete(name)),
  canonicals: (tenant: Tenant, place: string) =>
    Effect.sync(() =>
      [...(memory.canonicals.get(placeKey(tenant, place))?.values() ?? [])]
        .map(({ text }) => text)
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    )
})

const make = Effect.gen(function* () {
  const memory: Memory = {
    scopes: new Map(),
    rows: new Map(),
    keys: new Map(),
    canonicals: new Map(),
    last: 0
  }
  yield* offerRows("memory_rows", (tenant) =>
    [...memory.rows.values()].flatMap((stored) => {
      const { agent: _agent, tenant: whose, ...value } = stored.row
      return whose === tenant ? [{ value, remove: () => remove(memory, new Set([stored])) }] : []
    })
  )
  return MemoryStore.of({
    ...canonicalTexts(memory),
    add: (row) => Effect.suspend(() => add(memory, row)),
    repeat: (place) =>
      Effect.sync(() => {
        const stored = rowOf(memory, place)
        if (stored !== undefined) stored.row = { ...stored.row, seen: stored.row.seen + 1 }
      }),
    get: (place) => Effect.sync(() => rowOf(memory, place)?.row),
    candidates: (scopes, words) => Effect.sync(() => candidates(memory, scopes, words)),
    list: (scope, { after, all = false, limit }) =>
      Effect.sync(() => {
        const cursor = after === undefined ? Infinity : (memory.rows.get(after)?.position ?? 0)
        return (memory.scopes.get(scopeKey(scope))?.rows ?? [])
          .filter(({ position, row }) => position < cursor && (all || isCurrent(row)))
          .toReversed()
          .slice(0, Math.min(Math.max(limit, 0), page_max))
          .map(({ row }) => row)
      }),
    undo: (place, by) => Effect.suspend(() => undo(memory, place, by)),
    compound: (ended) => Effect.map(Clock.currentTimeMillis, (now) => compound(memory, ended, now)),
    interactions: ({ agent, anchor, tenant }) =>
      Effect.sync(() =>
        bySize(memory, "interaction")
          .filter(
            ({ scope, session }) =>
              scope.tenant === tenant && scope.agent === agent && session === anchor
          )
          .slice(0, 100)
          .map(({ scope }) => scope)
      ),
    stale: (tier, before, limit) =>
      Effect.sync(() =>
        bySize(memory, tier)
          .filter(({ touched_at }) => touched_at < before)
          .slice(0, Math.min(limit, page_max))
          .map(({ place, scope, session }) => ({ scope, place, session }))
      ),
    expire: (before, limit) =>
      Effect.sync(() => {
        const old = [...memory.rows.values()]
          .filter(({ row }) => row.tier === "persistent" && row.at < before)
          .toSorted((a, b) => a.row.at - b.row.at)
          .slice(0, Math.min(limit, 1_000))
        remove(memory, new Set(old))
        return old.length
      }),
    erase: (tenant, subject) => Effect.sync(() => erase(memory, tenant, subject))
  })
})

/** A new memory at every build. */
export const layer: Layer.Layer<MemoryStore> = Layer.effect(MemoryStore, make)
