/**
 * Rows of memories and canonical texts, in one process. They are lost at its end.
 */
import { Clock, Effect, Layer, Option } from "effect"
import type { EndedScope, RowReference } from "../../services/MemoryStore.ts"
import {
  canonicals_max,
  MemoryStore,
  ofOneTenant,
  page_max,
  rows_max
} from "../../services/MemoryStore.ts"
import { holdsText, soughtTexts } from "../../src/erasure/SubjectEraser.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import type { CanonicalText } from "../../src/memory/CanonicalText.ts"
import { findCanonical, registeredText } from "../../src/memory/CanonicalText.ts"
import type { MemoryScope, MemoryTier, NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import { isCurrent, MemoryRefused } from "../../src/memory/MemoryRow.ts"
import { isAbout } from "../../src/memory/Subject.ts"
import { EphemeralStore, offerRows } from "./EphemeralStore.ts"
import type { StoredRow } from "./MemoryRowIndex.ts"
import { candidatesOf, isIn, MemoryRowIndex } from "./MemoryRowIndex.ts"

interface Memory {
  readonly remembered: MemoryRowIndex
  /** The texts of each tenant and place, sorted by name. */
  readonly canonicals: Map<string, ReadonlyArray<CanonicalText>>
}

const placeKey = (tenant: Tenant, place: string): string => `${tenant}\0${place}`

const refused = (reason: MemoryRefused["reason"], message: string) =>
  Effect.fail(new MemoryRefused({ reason, message }))

const rowOf = (
  { remembered }: Memory,
  { agent, id, tenant }: RowReference
): StoredRow | undefined => {
  const found = remembered.get(id)
  return found?.row.tenant === tenant && found.row.agent === agent ? found : undefined
}

const nothing: ReadonlyArray<CanonicalText> = []

const canonicalsOf = ({ canonicals }: Memory, tenant: Tenant, place: string) =>
  canonicals.get(placeKey(tenant, place)) ?? nothing

const count = (stored: StoredRow): void => {
  stored.row = { ...stored.row, seen: stored.row.seen + 1 }
}

const add = (memory: Memory, row: NewMemoryRow) => {
  const { remembered } = memory
  const known = remembered.withKeyOf(row)
  if (known !== undefined) return Effect.succeed(known.row)
  const copied = canonicalsOf(memory, row.tenant, row.place)
  const canonical = findCanonical(row.text, copied.map(registeredText))
  if (canonical !== undefined) return Effect.fail(isCopy(canonical.name))
  const older = remembered.get(row.supersedes)
  if (
    row.supersedes !== undefined &&
    (older === undefined || !isIn(older, row) || !isCurrent(older.row))
  ) {
    return refused("superseded", "there is no such row to supersede, or it has a successor")
  }
  if ((remembered.scope(row)?.rows.length ?? 0) >= rows_max[row.tier]) {
    return refused("full", `the ${row.tier} tier holds ${rows_max[row.tier]} rows already`)
  }
  const added = remembered.put(row)
  if (older !== undefined) older.row = { ...older.row, superseded_by: added.row.id }
  return Effect.succeed(added.row)
}

const isCopy = (name: string) =>
  new MemoryRefused({
    reason: "canonical",
    message: "the text is a copy of a canonical text, or holds one",
    canonical: name
  })

const undo = (memory: Memory, wanted: RowReference, by: string) => {
  const stored = rowOf(memory, wanted)
  if (stored === undefined) return refused("superseded", "there is no such row")
  const { row } = stored
  if (row.superseded_by !== undefined) return refused("superseded", "the row has a successor")
  if (row.undone_by !== undefined) return Effect.succeed(row)
  stored.row = { ...row, undone_by: by }
  const older = memory.remembered.get(row.supersedes)
  if (older !== undefined) {
    const { superseded_by: _, ...restored } = older.row
    older.row = restored
  }
  return Effect.succeed(stored.row)
}

const compound = (
  { remembered }: Memory,
  { from, promoted, repeated, seen, to }: EndedScope,
  now: number
) => {
  const ended = remembered.scope(from)
  if (ended === undefined) return { promoted: 0, dropped: 0 }
  const room = Math.max(0, rows_max[to.tier] - (remembered.scope(to)?.rows.length ?? 0))
  const own = new Set(ended.rows.map(({ row }) => row.id))
  const kinds = new Map(
    promoted
      .filter(({ id }) => own.has(id))
      .slice(0, room)
      .map(({ id, typology }) => [id, typology])
  )
  const known = new Set(seen)
  // Rows that were written since the caller read the scope.
  const staying = ended.rows.filter(
    ({ isCurrent, row }) => seen !== undefined && isCurrent && !known.has(row.id)
  )
  const stays = new Set(staying)
  const gone = ended.rows.filter((stored) => !kinds.has(stored.row.id) && !stays.has(stored))
  const moving = ended.rows.filter(({ row }) => kinds.has(row.id))
  for (const id of repeated) {
    const stored = remembered.get(id)
    if (stored !== undefined && isIn(stored, to)) count(stored)
  }
  remembered.drop(ended)
  remembered.remove(gone)
  for (const stored of staying) remembered.place(stored, stored.row, stored.row.at)
  for (const stored of moving) {
    const { anchor, tier } = to
    const typology = kinds.get(stored.row.id) ?? "episodic"
    remembered.place(stored, { ...stored.row, tier, anchor, typology }, now)
  }
  return { promoted: moving.length, dropped: gone.length }
}

const erase = ({ remembered }: Memory, tenant: Tenant, subject: string) => {
  const gone = remembered.all().filter(({ row }) => row.tenant === tenant && isAbout(row, subject))
  const sought = soughtTexts(subject)
  const counted = (tier: MemoryTier) => gone.filter(({ row }) => row.tier === tier).length
  const erased = {
    interaction: counted("interaction"),
    session: counted("session"),
    persistent: counted("persistent")
  }
  remembered.remove(gone)
  const left = remembered
    .all()
    .filter(({ row }) => row.tenant === tenant && holdsText(JSON.stringify(row), sought))
  return { subject, erased, scanned: [{ table: "memory_rows", rows: left.length }] }
}

const canonicalTexts = (memory: Memory) => {
  const replace = (
    tenant: Tenant,
    place: string,
    name: string,
    by: ReadonlyArray<CanonicalText>
  ) => {
    const others = canonicalsOf(memory, tenant, place).filter((text) => text.name !== name)
    const texts = [...others, ...by].sort((a, b) => (a.name < b.name ? -1 : 1))
    memory.canonicals.set(placeKey(tenant, place), texts)
  }
  return {
    register: (text: CanonicalText) =>
      Effect.suspend(() => {
        const known = canonicalsOf(memory, text.tenant, text.place)
        if (known.length >= canonicals_max && known.every(({ name }) => name !== text.name)) {
          return refused("full", `a place has at most ${canonicals_max} canonical texts`)
        }
        replace(text.tenant, text.place, text.name, [text])
        return Effect.void
      }),
    unregister: (tenant: Tenant, place: string, name: string) =>
      Effect.sync(() => replace(tenant, place, name, [])),
    canonicals: (tenant: Tenant, place: string) =>
      Effect.sync(() => canonicalsOf(memory, tenant, place))
  }
}

const make = Effect.gen(function* () {
  const remembered = new MemoryRowIndex()
  const memory: Memory = { remembered, canonicals: new Map() }
  yield* offerRows("memory_rows", (tenant) =>
    remembered.all().flatMap((stored) => {
      const { agent: _agent, tenant: whose, ...value } = stored.row
      return whose === tenant ? [{ value, remove: () => remembered.remove([stored]) }] : []
    })
  )
  const shared = yield* Effect.serviceOption(EphemeralStore)
  const isOfOpenRun = ({ anchor, tier }: MemoryScope): boolean => {
    if (tier !== "interaction" || Option.isNone(shared)) return false
    const run = shared.value.runs.get(anchor as RunId)
    return run !== undefined && shared.value.open.has(run)
  }
  return MemoryStore.of({
    ...canonicalTexts(memory),
    add: (row) => Effect.suspend(() => add(memory, row)),
    repeat: (wanted) =>
      Effect.sync(() => {
        const stored = rowOf(memory, wanted)
        if (stored !== undefined) count(stored)
      }),
    get: (wanted) => Effect.sync(() => rowOf(memory, wanted)?.row),
    candidates: (scopes, words) =>
      Effect.sync(() =>
        candidatesOf(
          ofOneTenant(scopes).flatMap((scope) => remembered.scope(scope) ?? []),
          words
        )
      ),
    list: (scope, { after, all = false, limit }) =>
      Effect.sync(() => {
        const cursor = after === undefined ? Infinity : (remembered.get(after)?.position ?? 0)
        return (remembered.scope(scope)?.rows ?? [])
          .filter(({ position, row }) => position < cursor && (all || isCurrent(row)))
          .toReversed()
          .slice(0, Math.min(Math.max(limit, 0), page_max))
          .map(({ row }) => row)
      }),
    undo: (wanted, by) => Effect.suspend(() => undo(memory, wanted, by)),
    compound: (ended) => Effect.map(Clock.currentTimeMillis, (now) => compound(memory, ended, now)),
    interactions: (conversation) =>
      Effect.sync(() =>
        remembered
          .runsOf(conversation)
          .slice(0, 100)
          .map(({ scope }) => scope)
      ),
    stale: (tier, before, limit) =>
      Effect.sync(() =>
        remembered
          .scopesOf(tier)
          .filter(({ scope, touched_at }) => touched_at < before && !isOfOpenRun(scope))
          .slice(0, Math.min(limit, page_max))
          .map(({ place, scope, session }) => ({ scope, place, session }))
      ),
    expire: (before, limit) =>
      Effect.sync(() => {
        const old = remembered
          .all()
          .filter(({ row }) => row.tier === "persistent" && row.at < before)
          .toSorted((a, b) => a.row.at - b.row.at)
          .slice(0, Math.min(limit, 1_000))
        remembered.remove(old)
        return old.length
      }),
    erase: (tenant, subject) => Effect.sync(() => erase(memory, tenant, subject))
  })
})

/** Each build of the layer starts with an empty memory. */
export const layer: Layer.Layer<MemoryStore> = Layer.effect(MemoryStore, make)
