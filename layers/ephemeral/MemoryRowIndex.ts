/**
 * Indexes of the rows of memories in one process: by id and key, by scope, and within a scope by word. The cost of an operation
 * in one scope does not depend on the number of other scopes.
 */
import { candidates_max } from "../../services/MemoryStore.ts"
import type { AgentName, Tenant } from "../../src/value/Ids.ts"
import type {
  MemoryRow,
  MemoryScope,
  MemoryTier,
  NewMemoryRow
} from "../../src/memory/MemoryRow.ts"
import { isCurrent, MemoryId } from "../../src/memory/MemoryRow.ts"
import { query_words_max } from "../../src/memory/SearchWords.ts"
import { factsOf } from "../../src/memory/RowFacts.ts"

export class StoredRow {
  /** Increases from row to row. */
  readonly position: number
  readonly words: ReadonlySet<string>
  /** Used only during a search for candidates: how well the row's words match. */
  fit = 0
  /** Used only during such a search: whether the row is already found. */
  isFound = false
  /** Whether the row is part of the memory: neither superseded nor undone. */
  isCurrent = true
  #row: MemoryRow

  constructor(position: number, row: MemoryRow) {
    this.position = position
    this.words = factsOf(row).words
    this.#row = row
  }

  get row(): MemoryRow {
    return this.#row
  }

  set row(row: MemoryRow) {
    this.#row = row
    this.isCurrent = isCurrent(row)
  }
}

const scopeKey = ({ agent, anchor, tenant, tier }: MemoryScope): string =>
  `${tenant}\0${agent}\0${tier}\0${anchor}`

export const isIn = ({ row }: StoredRow, scope: MemoryScope): boolean =>
  row.anchor === scope.anchor &&
  row.tier === scope.tier &&
  row.agent === scope.agent &&
  row.tenant === scope.tenant

/** Inserts a row in a list that is sorted oldest first; mostly at the end. */
const insert = (list: Array<StoredRow>, stored: StoredRow): void => {
  let at = list.length
  while (at > 0 && (list[at - 1]?.position ?? 0) > stored.position) at--
  if (at === list.length) list.push(stored)
  else list.splice(at, 0, stored)
}

export class ScopeRows {
  readonly scope: MemoryScope
  readonly place: string
  readonly session: string
  /** When something was last written, in ms since 1970. */
  touched_at: number
  /** Oldest first. */
  #rows: Array<StoredRow> = []
  readonly #byWord = new Map<string, Array<StoredRow>>()

  constructor({ agent, anchor, at, place, session, tenant, tier }: NewMemoryRow) {
    this.scope = { tenant, agent, tier, anchor }
    this.place = place
    this.session = session
    this.touched_at = at
  }

  get rows(): ReadonlyArray<StoredRow> {
    return this.#rows
  }

  add(stored: StoredRow): void {
    insert(this.#rows, stored)
    for (const word of stored.words) {
      const having = this.#byWord.get(word)
      if (having === undefined) this.#byWord.set(word, [stored])
      else insert(having, stored)
    }
  }

  remove(gone: ReadonlySet<StoredRow>): void {
    this.#rows = this.#rows.filter((stored) => !gone.has(stored))
    const words = new Set<string>()
    for (const stored of gone) for (const word of stored.words) words.add(word)
    for (const word of words) {
      const left = this.#byWord.get(word)?.filter((stored) => !gone.has(stored)) ?? []
      if (left.length === 0) this.#byWord.delete(word)
      else this.#byWord.set(word, left)
    }
  }

  /** The newest rows that are part of the memory, newest first. */
  newest(): ReadonlyArray<StoredRow> {
    return newestOf(this.#rows, candidates_max.newest)
  }

  /** As `newest`, but of the rows that have the word. */
  newestWithWord(word: string): ReadonlyArray<StoredRow> {
    return newestOf(this.#byWord.get(word), candidates_max.of_word)
  }
}

const nothing: ReadonlyArray<StoredRow> = []

const newestOf = (rows: ReadonlyArray<StoredRow> | undefined, count: number) => {
  if (rows === undefined) return nothing
  const newest: Array<StoredRow> = []
  for (let i = rows.length - 1; i >= 0 && newest.length < count; i--) {
    const stored = rows[i]
    if (stored?.isCurrent === true) newest.push(stored)
  }
  return newest
}

/** The rows that match best: a row counts more the more of the words it has, and the rarer they are. */
const bestMatches = (
  scopes: ReadonlyArray<ScopeRows>,
  words: ReadonlyArray<string>
): Array<StoredRow> => {
  const found: Array<StoredRow> = []
  for (const scope of scopes) {
    for (const word of words) {
      const having = scope.newestWithWord(word)
      for (const each of having) {
        if (each.fit === 0) found.push(each)
        each.fit += 1 / having.length
      }
    }
  }
  if (found.length > candidates_max.all) {
    found.sort((a, b) => b.fit - a.fit || b.position - a.position)
  }
  for (const each of found) each.fit = 0
  return found.slice(0, candidates_max.all)
}

/** The rows that match the words best, followed by the newest rows that are not among them. */
export const candidatesOf = (
  scopes: ReadonlyArray<ScopeRows>,
  words: ReadonlyArray<string>
): ReadonlyArray<MemoryRow> => {
  const found = bestMatches(scopes, words.slice(0, query_words_max))
  for (const each of found) each.isFound = true
  for (const scope of scopes) {
    for (const each of scope.newest()) {
      if (each.isFound) continue
      each.isFound = true
      found.push(each)
    }
  }
  for (const each of found) each.isFound = false
  return found.map(({ row }) => row)
}

const idOf = (position: number): MemoryId =>
  MemoryId.make(`00000000-0000-4000-8000-${position.toString(16).padStart(12, "0")}`)

/** The key of an agent's conversation, or of a row that the agent wrote with a key. */
const agentKey = (tenant: Tenant, agent: AgentName, name: string): string =>
  `${tenant}\0${agent}\0${name}`

export class MemoryRowIndex {
  readonly #scopes = new Map<string, ScopeRows>()
  /** The scopes of runs, by tenant, agent and conversation. */
  readonly #runs = new Map<string, Set<ScopeRows>>()
  readonly #rows = new Map<MemoryId, StoredRow>()
  /** By tenant, agent and key. */
  readonly #keys = new Map<string, MemoryId>()
  #last = 0

  all(): Array<StoredRow> {
    return [...this.#rows.values()]
  }

  get(id: MemoryId | undefined): StoredRow | undefined {
    return id === undefined ? undefined : this.#rows.get(id)
  }

  /** The row that the agent has already written with the same key; undefined if there is none. */
  withKeyOf({ agent, key, tenant }: NewMemoryRow): StoredRow | undefined {
    return key === undefined ? undefined : this.get(this.#keys.get(agentKey(tenant, agent, key)))
  }

  scope(scope: MemoryScope): ScopeRows | undefined {
    return this.#scopes.get(scopeKey(scope))
  }

  /** The scopes of a tier, the one that has been untouched for the longest time first. */
  scopesOf(tier: MemoryTier): Array<ScopeRows> {
    return byAge([...this.#scopes.values()].filter(({ scope }) => scope.tier === tier))
  }

  /** The scopes of a conversation's runs, the one that has been untouched for the longest time first. */
  runsOf({ agent, anchor, tenant }: MemoryScope): Array<ScopeRows> {
    return byAge([...(this.#runs.get(agentKey(tenant, agent, anchor)) ?? [])])
  }

  #scopeFor(row: NewMemoryRow): ScopeRows {
    const known = this.scope(row)
    if (known !== undefined) return known
    const home = new ScopeRows(row)
    this.#scopes.set(scopeKey(row), home)
    if (row.tier === "interaction") {
      const key = agentKey(row.tenant, row.agent, row.session)
      const runs = this.#runs.get(key)
      if (runs === undefined) this.#runs.set(key, new Set([home]))
      else runs.add(home)
    }
    return home
  }

  put(given: NewMemoryRow): StoredRow {
    const position = ++this.#last
    const row: MemoryRow = { ...given, id: idOf(position), seen: 1 }
    const stored = new StoredRow(position, row)
    const home = this.#scopeFor(row)
    home.add(stored)
    home.touched_at = Math.max(home.touched_at, row.at)
    this.#rows.set(row.id, stored)
    if (row.key !== undefined) this.#keys.set(agentKey(row.tenant, row.agent, row.key), row.id)
    return stored
  }

  /** Puts a stored row, which is in no scope any more, into the scope of its new content. */
  place(stored: StoredRow, row: MemoryRow, now: number): void {
    stored.row = row
    const home = this.#scopeFor(row)
    home.add(stored)
    home.touched_at = now
  }

  /** Removes a scope but keeps its rows, which the caller then moves or removes. */
  drop(scope: ScopeRows): void {
    this.#scopes.delete(scopeKey(scope.scope))
    if (scope.scope.tier !== "interaction") return
    const { agent, tenant } = scope.scope
    const key = agentKey(tenant, agent, scope.session)
    const runs = this.#runs.get(key)
    runs?.delete(scope)
    if (runs?.size === 0) this.#runs.delete(key)
  }

  remove(gone: ReadonlyArray<StoredRow>): void {
    const byScope = new Map<ScopeRows, Set<StoredRow>>()
    for (const stored of gone) {
      const { row } = stored
      this.#rows.delete(row.id)
      if (row.key !== undefined) this.#keys.delete(agentKey(row.tenant, row.agent, row.key))
      const home = this.scope(row)
      if (home === undefined) continue
      const own = byScope.get(home)
      if (own === undefined) byScope.set(home, new Set([stored]))
      else own.add(stored)
    }
    for (const [home, own] of byScope) {
      home.remove(own)
      if (home.rows.length === 0) this.drop(home)
    }
  }
}

const byAge = (scopes: Array<ScopeRows>): Array<ScopeRows> =>
  scopes.length < 2 ? scopes : scopes.sort((a, b) => a.touched_at - b.touched_at)
