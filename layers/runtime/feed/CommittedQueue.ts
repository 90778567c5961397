/**
 * Entries of a conversation that this process has committed and one watcher has not taken yet. Where entries are missing
 * here, it says so, and the watcher reads the journal. At most 256 entries and 1,000,000 UTF-16 units wait for a watcher, 16,000,000 for
 * all watchers of a tenant, and 64,000,000 for all; beyond that what waits for the watcher is dropped.
 */
import type { RunId, Tenant } from "../../../src/value/Ids.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import { appended } from "../../../src/value/ShortList.ts"
import type { FeedItem } from "../../../src/run/FeedItem.ts"
import type { Committed } from "../../../services/RunNews.ts"
import type { BufferQuota } from "./BufferQuota.ts"

const entries_max = 256
const watcher_units_max = 1_000_000
/** For all watchers together, with pieces of turns in progress. */
export const waiting_bounds = { tenant_max: 16_000_000, all_max: 64_000_000 }
/** What an entry counts for beside its text. */
const entry_units = 500
/** Runs of the conversation of which something is known and not taken. */
const runs_max = 256
/** Entries that are taken at once: few, because each may hold a result of several megabytes. */
const taken_max = 16
/** From so many UTF-16 units on, or from `taken_max` entries on, what waits is to be taken. */
const pressing_units = 100_000

/** Where a watcher is: the last entry that it got, and whether that ended its run. */
export interface Position {
  readonly ordinal: number
  readonly seq: number
  readonly isEnded: boolean
}

/** An entry as a watcher gets it. */
export type EventItem = Extract<FeedItem, { readonly _tag: "Event" }>

interface TakenBatch {
  /** At most 16, the first directly after the position. The list is the caller's. */
  readonly entries: Array<EventItem>
  /** More can be taken at once. */
  readonly isMore: boolean
  /** The journal has more, and this queue does not. */
  readonly isBehind: boolean
}

interface KnownRun {
  /** Entries that its journal has, as far as is known here. */
  length: number
  /** Appends, each directly after the one before it. */
  appends: Array<Committed>
}

/** Never pushed to. */
const no_entries: Array<never> = []

const endOf = ({ count, from }: Committed): number => from + count

const unitsOf = ({ count, size }: Committed): number => size + count * entry_units

const eventItemsOf = (
  run: RunId,
  ordinal: number,
  entries: ReadonlyArray<JournalEntry>
): Array<EventItem> => entries.map((entry) => ({ _tag: "Event", run, ordinal, entry }))

export class CommittedQueue {
  readonly #tenant: Tenant
  readonly #quota: BufferQuota
  /** By ordinal. */
  readonly #runs = new Map<number, KnownRun>()
  #entries = 0
  #units = 0
  /** So many runs were known that they were forgotten. */
  #hasForgotten = false

  constructor(tenant: Tenant, quota: BufferQuota) {
    this.#tenant = tenant
    this.#quota = quota
  }

  /** Adds durable entries of the run with this ordinal. What cannot be given in order is dropped, and read in the journal. */
  push(ordinal: number, committed: Committed): void {
    const run = this.#know(ordinal, endOf(committed))
    const last = run.appends.at(-1)
    if (last !== undefined && committed.from < endOf(last)) return
    if (last !== undefined && committed.from > endOf(last)) this.#drop(run)
    if (this.#hold(committed)) run.appends = appended(run.appends, committed)
  }

  /** The journal of the run with this ordinal has at least so many entries. True = that was not known. */
  reached(ordinal: number, length: number): boolean {
    const known = this.#runs.get(ordinal)
    if (known !== undefined && known.length >= length) return false
    this.#know(ordinal, length)
    return true
  }

  /** A number that changes where more is known of the runs from this one on. */
  newsFrom(ordinal: number): number {
    let news = 0
    for (const [each, { length }] of this.#runs) if (each >= ordinal) news += length
    return news
  }

  /** Takes what comes directly after the position. What is before it is dropped. */
  take({ isEnded, ordinal, seq }: Position): TakenBatch {
    let entries: Array<EventItem> = no_entries
    let current = isEnded ? ordinal + 1 : ordinal
    let next = isEnded ? 0 : seq + 1
    this.#dropBefore(current)
    for (let run = this.#runs.get(current); run !== undefined; run = this.#runs.get(current)) {
      const append = this.#appendWith(run, next)
      const read = append?.entries()
      if (append === undefined || read === undefined) break
      const room = taken_max - entries.length
      if (room === 0) return { entries, isMore: true, isBehind: false }
      const from = next - append.from
      const isWhole = from === 0 && read.length <= room
      const taken = eventItemsOf(
        append.run,
        current,
        isWhole ? read : read.slice(from, from + room)
      )
      // Usually one append is all that waits, and the list is as long as it has entries (bench row `send`, 1,000 runs).
      entries = entries === no_entries ? taken : entries.concat(taken)
      next += taken.length
      const last = taken.at(-1)
      if (last === undefined) break
      if (last.entry.event._tag === "RunEnded") {
        this.#dropBefore(++current)
        next = 0
      }
    }
    const isBehind = this.#isBehind(current, next)
    return { entries: entries === no_entries ? [] : entries, isMore: false, isBehind }
  }

  /** So much waits that it is to be taken, long before anything is dropped. */
  get isPressing(): boolean {
    return this.#entries >= taken_max || this.#units >= pressing_units
  }

  /** Whether the entry directly after the position waits here. */
  canTake({ isEnded, ordinal, seq }: Position): boolean {
    const run = this.#runs.get(isEnded ? ordinal + 1 : ordinal)
    const next = isEnded ? 0 : seq + 1
    return run?.appends.some((each) => each.from <= next && next < endOf(each)) === true
  }

  /** What waits is dropped, and the journal is read in its place. */
  drop(): void {
    for (const run of this.#runs.values()) this.#drop(run)
  }

  close(): void {
    this.#forget()
  }

  #know(ordinal: number, length: number): KnownRun {
    const known = this.#runs.get(ordinal)
    if (known !== undefined) {
      known.length = Math.max(known.length, length)
      return known
    }
    if (this.#runs.size === runs_max) {
      this.#forget()
      this.#hasForgotten = true
    }
    const run = { length, appends: [] }
    this.#runs.set(ordinal, run)
    return run
  }

  /** False = there is no room, also after what waited was dropped. */
  #hold(committed: Committed): boolean {
    const units = unitsOf(committed)
    if (this.#entries + committed.count > entries_max || this.#units + units > watcher_units_max) {
      this.drop()
    }
    if (committed.count > entries_max || units > watcher_units_max) return false
    if (this.#quota.reserve(this.#tenant, units) !== undefined) {
      this.drop()
      return false
    }
    this.#entries += committed.count
    this.#units += units
    return true
  }

  #release(committed: Committed): void {
    const units = unitsOf(committed)
    this.#entries -= committed.count
    this.#units -= units
    this.#quota.release(this.#tenant, units)
  }

  #drop(run: KnownRun): void {
    for (const committed of run.appends) this.#release(committed)
    run.appends = []
  }

  #dropBefore(ordinal: number): void {
    // The usual case: one run is watched, and none before it.
    if (this.#runs.size === 1 && this.#runs.has(ordinal)) return
    for (const [each, run] of this.#runs) {
      if (each >= ordinal) continue
      this.#drop(run)
      this.#runs.delete(each)
    }
  }

  #forget(): void {
    for (const run of this.#runs.values()) this.#drop(run)
    this.#runs.clear()
  }

  /** The append that has the entry with this seq; undefined where it is not here. */
  #appendWith(known: KnownRun, seq: number): Committed | undefined {
    for (let first = known.appends[0]; first !== undefined; first = known.appends[0]) {
      if (seq < first.from) return undefined
      if (seq < endOf(first)) return first
      known.appends.shift()
      this.#release(first)
    }
    return undefined
  }

  #isBehind(ordinal: number, seq: number): boolean {
    if (this.#hasForgotten) {
      this.#hasForgotten = false
      return true
    }
    const run = this.#runs.get(ordinal)
    // Where the next run is not known and a later one is, another process has begun the next one.
    return run === undefined ? seq === 0 && this.#runs.size > 0 : run.length > seq
  }
}
