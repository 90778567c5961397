/**
 * The memory of one address, over a store. Every write to a memory passes this gateway.
 */
import { Cause, Clock, Effect, Layer, Predicate, Schema } from "effect"
import type { Measure } from "../../src/conversation/TokenEstimate.ts"
import { truncateUnits } from "../../src/value/CutText.ts"
import type { Note, RecallQuery, Remembered } from "../../services/AgentMemory.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { MemoryEmbedder } from "../../services/MemoryEmbedder.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { Tokenizer } from "../../services/Tokenizer.ts"
import type { Address, Tenant } from "../../src/value/Ids.ts"
import type { AnchorKind, MemoryOwner } from "../../src/memory/MemoryAnchors.ts"
import {
  interactionScope,
  isOfOwner,
  persistentScope,
  sessionScope
} from "../../src/memory/MemoryAnchors.ts"
import type {
  MemoryOrigin,
  MemoryRow,
  MemoryScope,
  NewMemoryRow
} from "../../src/memory/MemoryRow.ts"
import {
  MemoryId,
  MemoryRefused,
  noSuchMemory,
  supersedingFault,
  typologyOf
} from "../../src/memory/MemoryRow.ts"
import type { RowFacts } from "../../src/memory/RowFacts.ts"
import { factsOf } from "../../src/memory/RowFacts.ts"
import type { Direction } from "../../src/memory/TextVector.ts"
import { nearness, packDirection, vectorDirection } from "../../src/memory/TextVector.ts"
import { rank, withoutRepetitions } from "../../src/memory/Ranking.ts"
import { promptText, withinTokens } from "../../src/memory/RecalledLines.ts"
import { queryWords } from "../../src/memory/SearchWords.ts"
import { endConversation, endRun } from "./MemoryEnds.ts"
import { checkCanonical, checkNote, checkRepetition } from "./NoteChecks.ts"
import { sanitiseError } from "../../src/error/Exception.ts"
import { isDuplicate } from "../../src/memory/NearDuplicate.ts"

/** `Effect.fn` would capture a stack for each call, even if no tracer listens, and a run makes three calls (bench row `send`). */
const traced = <A, E, R>(name: string, asked: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ cache }) =>
    cache.tracer === undefined ? asked : Effect.withSpan(asked, name)
  )

/** How long an embedder may take, in ms: a run waits for the vector of its message before its first turn. */
const embed_ms = 10_000

const messageOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return sanitiseError(error instanceof Error ? error.message : "it broke")
}

/** Undefined = no vector could be made: an embedder that fails or does not answer in time costs a warning, and no memory. */
const textDirection = (
  { embed, name }: MemoryEmbedder,
  text: string
): Effect.Effect<Direction | undefined> =>
  Effect.suspend(() => embed(text)).pipe(
    Effect.map(vectorDirection),
    Effect.timeout(embed_ms),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.as(
            Effect.annotateLogs(
              Effect.logWarning(`an embedder made no vector: ${messageOf(cause)}`),
              { embedder: name }
            ),
            undefined
          )
    )
  )

const embedded = (
  embedder: MemoryEmbedder,
  text: string
): Effect.Effect<Pick<NewMemoryRow, "embedding" | "embedded_by">> =>
  Effect.map(textDirection(embedder, text), (direction) =>
    direction === undefined
      ? {}
      : { embedding: packDirection(direction), embedded_by: embedder.name }
  )

type Store = MemoryStore["Service"]

const isLate = (error: unknown): boolean =>
  error instanceof MemoryRefused && error.reason === "superseded"

/** The outcome for a row that has a successor: only a note with the successor's key has been stored before. */
const late = Effect.fnUntraced(function* (store: Store, row: NewMemoryRow, old: MemoryRow) {
  const { agent, superseded_by: id, tenant } = old
  const successor = id === undefined ? undefined : yield* store.get({ tenant, agent, id })
  if (row.key === undefined || successor?.key !== row.key) {
    return yield* supersedingFault(old) ?? noSuchMemory()
  }
  const repeated: Remembered = { row: successor, isNew: false, superseded: old }
  return repeated
})

/** Also replaces each of the `candidates` that says the same: otherwise a recall would give the fact in those words again. */
const supersede = Effect.fnUntraced(function* (
  store: Store,
  row: NewMemoryRow,
  old: MemoryRow,
  candidates: ReadonlyArray<MemoryRow>
) {
  if (supersedingFault(old) !== undefined) return yield* late(store, row, old)
  const { said } = factsOf(old)
  const { key: _, ...again } = row
  // The named row comes last, so that a repetition after a crash replaces those that are left.
  for (const each of candidates) {
    if (each.id === old.id || !isDuplicate(said, factsOf(each).said)) continue
    const { anchor, id: supersedes, tier } = each
    const typology = typologyOf(tier, row.text, undefined)
    const other = store.add({ ...again, anchor, tier, typology, supersedes })
    yield* Effect.catchIf(other, isLate, () => Effect.void)
  }
  const named = Effect.map(store.add(row), (stored): Remembered => {
    const isNew = stored.at === row.at && stored.text === row.text
    return { row: stored, isNew, superseded: old }
  })
  return yield* Effect.catchIf(named, isLate, () =>
    Effect.flatMap(store.get(old), (now) => late(store, row, now ?? old))
  )
})

/** The most UTF-16 units of a query. A longer one is cut, so that only the words of its first part count. */
const query_units_max = 8_000

/** One measure for each tokenizer, so that lines already measured by it are recognised. */
const measures = new WeakMap<Tokenizer, Measure>()

const measureOf = (tokenizer: Tokenizer): Measure => {
  let known = measures.get(tokenizer)
  if (known === undefined) {
    measures.set(tokenizer, (known = (text) => tokenizer.count(text, undefined)))
  }
  return known
}

const isId = Schema.is(MemoryId)

/** A row of another place is not found, so that its id reveals nothing. A model may have invented the id, in any form. */
const find = Effect.fnUntraced(function* (
  store: MemoryStore["Service"],
  owner: MemoryOwner,
  id: MemoryId
) {
  if (!isId(id)) return undefined
  const row = yield* store.get({ tenant: owner.tenant, agent: owner.address.agent, id })
  return row !== undefined && isOfOwner(owner)(row) ? row : undefined
})

const undo = Effect.fn("AgentMemory.undo")(function* (
  store: MemoryStore["Service"],
  owner: MemoryOwner,
  id: MemoryId,
  by: string
) {
  const row = yield* find(store, owner, id)
  return yield* row === undefined ? noSuchMemory() : store.undo(row, by)
})

const usedElsewhere = new MemoryRefused({
  reason: "invalid",
  message: "another note has this key"
})

/** The nearness of a row to the query; 0 where one of them has no vector or the row's was made by another embedder. */
const nearnessTo =
  (direction: Direction | undefined, name: string) =>
  ({ embedded_by }: MemoryRow, { direction: own }: RowFacts): number =>
    direction === undefined || own === undefined || embedded_by !== name
      ? 0
      : nearness(direction, own)

interface Owned {
  readonly owner: MemoryOwner
  readonly store: MemoryStore["Service"]
  readonly embedder: MemoryEmbedder
  /** The scopes in which a run, or nobody's run, reads. */
  readonly scopesOf: (run: MemoryOrigin["run"]) => ReadonlyArray<MemoryScope>
}

/** The note, of the tier and subject of the row that it replaces, unless it names its own. */
const noteOn = (note: Note, old: MemoryRow): Note => {
  const { subject = old.subject, tier = old.tier } = note
  return { ...note, tier, ...(subject === undefined ? undefined : { subject }) }
}

const remember = Effect.fnUntraced(function* (
  { embedder, owner, scopesOf, store }: Owned,
  given: Note,
  origin: MemoryOrigin
) {
  const isOwn = isOfOwner(owner)
  const supersedes = Predicate.isObject(given) ? given.supersedes : undefined
  const old = supersedes === undefined ? undefined : yield* find(store, owner, supersedes)
  const note = old === undefined ? given : noteOn(given, old)
  const row = yield* checkNote(owner, note, origin, yield* Clock.currentTimeMillis)
  if (supersedes !== undefined && old === undefined) return yield* noSuchMemory()
  yield* checkCanonical(store, row)
  const candidates = yield* store.candidates(scopesOf(origin.run), queryWords((old ?? row).text))
  if (old !== undefined) {
    const complete = { ...row, ...(yield* embedded(embedder, row.text)) }
    const remembered = yield* supersede(store, complete, old, candidates.filter(isOwn))
    return remembered.row.supersedes === old.id ? remembered : yield* usedElsewhere
  }
  const known = yield* checkRepetition(row, candidates)
  if (known !== undefined) {
    // A call that is sent again has told nothing again.
    if (row.key !== undefined && known.key === row.key) return { row: known, isNew: false }
    yield* store.repeat(known)
    return { row: { ...known, seen: known.seen + 1 }, isNew: false }
  }
  const stored = yield* store.add({ ...row, ...(yield* embedded(embedder, row.text)) })
  // If the agent has used the key before, the store gives that older row, which may belong to another operator.
  if (row.key !== undefined && !isOwn(stored)) return yield* usedElsewhere
  return { row: stored, isNew: stored.at === row.at && stored.text === row.text }
})

const make = (owner: MemoryOwner) =>
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const embedder = yield* MemoryEmbedder
    const measure = measureOf(yield* Tokenizer)
    const session = sessionScope(owner)
    const persistent = persistentScope(owner)

    const scopesOf = (run: MemoryOrigin["run"]): ReadonlyArray<MemoryScope> =>
      run === undefined
        ? [session, persistent]
        : [interactionScope(owner, run), session, persistent]

    const owned: Owned = { owner, store, embedder, scopesOf }
    const isOwn = isOfOwner(owner)
    /** Drops rows of other owners, because a caller may name a run of another conversation. */
    const ofOwner = (rows: ReadonlyArray<MemoryRow>) => rows.filter(isOwn)

    const recall = Effect.fnUntraced(function* (query: RecallQuery) {
      const text = truncateUnits(query.text, query_units_max)
      const words = queryWords(text)
      const rows = yield* Effect.map(store.candidates(scopesOf(query.run), words), ofOwner)
      if (rows.length === 0) return { lines: [], text: "", tokens: 0 }
      const direction = yield* textDirection(embedder, text)
      const ranked = rank(rows, {
        words,
        now: yield* Clock.currentTimeMillis,
        nearness: nearnessTo(direction, embedder.name)
      })
      const within = withinTokens(
        withoutRepetitions(ranked).map(({ facts }) => facts.line),
        query.tokens_max,
        measure
      )
      return { ...within, text: promptText(within.lines) }
    })

    return AgentMemory.of({
      remember: (note, origin) => traced("AgentMemory.remember", remember(owned, note, origin)),
      recall: (query) => traced("AgentMemory.recall", recall(query)),
      get: (id) => find(store, owner, id),
      list: (tier, page, run) => {
        const scope = scopesOf(run).find((each) => each.tier === tier)
        // A cursor that is not an id matches no row, and a database would refuse the statement with it.
        const isBehindRow = page.after === undefined || isId(page.after)
        return scope === undefined || !isBehindRow
          ? Effect.succeed([])
          : Effect.map(store.list(scope, page), ofOwner)
      },
      undo: (id, by) => undo(store, owner, id, by),
      endRun: (run) => traced("AgentMemory.endRun", endRun(store, owner, run)),
      endConversation: endConversation(store, owner)
    })
  })

/** Each call makes a new one, because a shared layer would be built once and give every address the same memory. */
export const layer = (
  tenant: Tenant,
  address: Address,
  kind: AnchorKind
): Layer.Layer<AgentMemory, never, MemoryStore> =>
  Layer.effect(AgentMemory, make({ tenant, address, kind }))
