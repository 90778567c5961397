/**
 * Checks a note before it becomes a row, in this order: its form, its kind, canonical texts, and what is already remembered.
 */
import { Effect, Predicate, Schema } from "effect"
import type { Note } from "../../services/AgentMemory.ts"
import type { MemoryStore } from "../../services/MemoryStore.ts"
import { findCanonical, registeredText } from "../../src/memory/CanonicalText.ts"
import type { MemoryRow, MemoryScope, NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import {
  MemoryName,
  MemoryOrigin,
  MemoryRefused,
  MemoryTier,
  textFault,
  Typology,
  typologyFault,
  typologyOf
} from "../../src/memory/MemoryRow.ts"
import type { MemoryOwner } from "../../src/memory/MemoryAnchors.ts"
import {
  interactionScope,
  persistentScope,
  placeOfMemory,
  sessionScope
} from "../../src/memory/MemoryAnchors.ts"
import { comparableText, holds, isDuplicate } from "../../src/memory/NearDuplicate.ts"
import { hasMemoryMark } from "../../src/memory/RecalledLines.ts"
import { factsOf } from "../../src/memory/RowFacts.ts"

const refused = (reason: MemoryRefused["reason"], message: string) =>
  new MemoryRefused({ reason, message })

const isName = Schema.is(MemoryName)
const isText = Schema.is(Schema.String)

const isTier = Schema.is(MemoryTier)
const isTypology = Schema.is(Typology)
const isOrigin = Schema.is(MemoryOrigin)

/** What in a note does not match its type, except its text and names: a model or an untyped program may pass anything. */
const shapeFault = (note: Note, origin: MemoryOrigin): string | undefined => {
  if (!Predicate.isObject(note)) return "the note is no object"
  const { tier, typology } = note
  if (tier !== undefined && !isTier(tier)) return "there is no such tier"
  if (typology !== undefined && !isTypology(typology)) return "there is no such kind of memory"
  return isOrigin(origin) ? undefined : "the origin does not say by which path and by whom it came"
}

const scopeOf = (
  owner: MemoryOwner,
  note: Note,
  { run }: MemoryOrigin
): MemoryScope | undefined => {
  switch (note.tier ?? "interaction") {
    case "interaction":
      return run === undefined ? undefined : interactionScope(owner, run)
    case "session":
      return sessionScope(owner)
    case "persistent":
      return persistentScope(owner)
  }
}

export const checkNote = Effect.fnUntraced(function* (
  owner: MemoryOwner,
  note: Note,
  origin: MemoryOrigin,
  at: number
) {
  const misshapen = shapeFault(note, origin)
  if (misshapen !== undefined) return yield* refused("invalid", misshapen)
  const { key, subject, supersedes, text } = note
  const fault = isText(text) ? textFault(text) : "the text is no text"
  if (fault !== undefined) return yield* refused("invalid", fault)
  for (const [name, value] of Object.entries({ key, subject })) {
    if (value !== undefined && !isName(value)) {
      return yield* refused("invalid", `the ${name} is not a text of 1 to 200 characters`)
    }
  }
  const scope = scopeOf(owner, note, origin)
  if (scope === undefined) {
    return yield* refused("invalid", "the interaction tier needs a run, and the origin names none")
  }
  const typology = typologyOf(scope.tier, text, note.typology)
  const misplaced = typologyFault(scope.tier, typology)
  if (misplaced !== undefined) return yield* refused("typology", misplaced)
  if (hasMemoryMark(text)) {
    return yield* refused("from_memory", "the text has lines that a prompt was told from memory")
  }
  const row: NewMemoryRow = {
    ...scope,
    place: placeOfMemory(owner),
    session: owner.address.key,
    typology,
    text,
    provenance: origin,
    ...(subject === undefined ? undefined : { subject }),
    ...(key === undefined ? undefined : { key }),
    ...(supersedes === undefined ? undefined : { supersedes }),
    at
  }
  return row
})

/** Fails where the row is a copy of a canonical text of its place. */
export const checkCanonical = Effect.fnUntraced(function* (
  store: MemoryStore["Service"],
  { place, tenant, text }: NewMemoryRow
) {
  const texts = yield* store.canonicals(tenant, place)
  const found = findCanonical(text, texts.map(registeredText))
  if (found === undefined) return
  return yield* new MemoryRefused({
    reason: "canonical",
    message: "the text is a copy of a canonical text, or holds one",
    canonical: found.name
  })
})

const isSameScope = (a: MemoryScope, b: MemoryScope): boolean =>
  a.tier === b.tier && a.anchor === b.anchor

/** The row with the same content. Fails where a model or a tool repeats what it may have read in its prompt. */
export const checkRepetition = Effect.fnUntraced(function* (
  row: NewMemoryRow,
  candidates: ReadonlyArray<MemoryRow>
) {
  const text = comparableText(row.text)
  for (const each of candidates) {
    const known = factsOf(each).said
    const isHere = isSameScope(each, row)
    const { author } = row.provenance
    const echoes =
      !isHere && each.tier !== "interaction" && author !== "human" && author !== "event"
    if (echoes && holds(text, known)) {
      return yield* refused("from_memory", `the ${each.tier} tier remembers this already`)
    }
    if (
      isHere ? isDuplicate(text, known) : each.tier !== "interaction" && isDuplicate(text, known)
    ) {
      return each
    }
  }
  return undefined
})
