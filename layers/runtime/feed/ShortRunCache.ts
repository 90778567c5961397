/**
 * Runs at work here whose entries are in memory from the first on: whoever begins to watch one, as a client does right after its
 * message or its answer, needs no statement for them (bench rows `send-durable` and `answers`). Kept while the run has few entries
 * and asks nobody: an answer may come by way of another process, and then the journal knows of it first. At most 10,000 runs and
 * 16,000,000 UTF-16 units.
 */
import type { RunId } from "../../../src/value/Ids.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import type { Committed } from "../../../services/RunNews.ts"
import type { ChannelKey } from "./ChannelKey.ts"

const runs_max = 10_000
/** The most entries of one run that are kept: as many as a page of a watcher has. */
const entries_max = 16
const run_units_max = 16_000
const units_max = 16_000_000

interface CachedRun {
  readonly run: RunId
  readonly key: ChannelKey
  readonly ordinal: number
  /** Each directly after the one before it, from the first entry on. */
  readonly appends: Array<Committed>
  count: number
  units: number
}

export class ShortRunCache {
  readonly #byRun = new Map<RunId, CachedRun>()
  /** The last one of each conversation. */
  readonly #byKey = new Map<ChannelKey, CachedRun>()
  #units = 0
  readonly #units_max: number

  /** `most`: fewer UTF-16 units for all runs than the default. */
  constructor(most = units_max) {
    this.#units_max = Math.min(most, units_max)
  }

  get size(): number {
    return this.#byRun.size
  }

  has(run: RunId): boolean {
    return this.#byRun.has(run)
  }

  /** These are all entries of the run, which is at work here. */
  set(key: ChannelKey, ordinal: number, committed: Committed): void {
    const before = this.#byKey.get(key)
    if (before !== undefined) this.delete(before.run)
    if (this.#byRun.size >= runs_max) return
    const { run } = committed
    const cached: CachedRun = { run, key, ordinal, appends: [], count: 0, units: 0 }
    this.#byRun.set(run, cached)
    this.#byKey.set(key, cached)
    this.add(committed)
  }

  add(committed: Committed): void {
    const cached = this.#byRun.get(committed.run)
    if (cached === undefined || committed.from < cached.count) return
    const { count, isEnd, size } = committed
    const isNext = committed.from === cached.count && cached.count + count <= entries_max
    const hasRoom = cached.units + size <= run_units_max && this.#units + size <= this.#units_max
    if (isEnd || !isNext || !hasRoom) return this.delete(cached.run)
    cached.appends.push(committed)
    cached.count += count
    cached.units += size
    this.#units += size
  }

  /** All entries of the run with this ordinal; undefined where the journal is to be read. */
  get(
    key: ChannelKey,
    ordinal: number
  ): { readonly run: RunId; readonly entries: ReadonlyArray<JournalEntry> } | undefined {
    const cached = this.#byKey.get(key)
    if (cached === undefined || cached.ordinal !== ordinal) return undefined
    const entries: Array<JournalEntry> = []
    for (const append of cached.appends) {
      const read = append.entries()
      if (read === undefined) return undefined
      entries.push(...read)
    }
    return { run: cached.run, entries }
  }

  /** It has ended, leaves this process, or asks. */
  delete(run: RunId): void {
    const cached = this.#byRun.get(run)
    if (cached === undefined) return
    this.#byRun.delete(run)
    if (this.#byKey.get(cached.key) === cached) this.#byKey.delete(cached.key)
    this.#units -= cached.units
  }

  /** Those of the conversation, or all. */
  deleteAll(key: ChannelKey | undefined): void {
    for (const cached of this.#byRun.values()) {
      if (key === undefined || cached.key === key) this.delete(cached.run)
    }
  }
}
