/** The events of a run that a page reads: one page of them, or all that say why a call is asked for or ran. */
import { Effect } from "effect"
import type { InputOf } from "../../src/operation/Operation.ts"
import type * as RunOperations from "../../src/operation/RunOperations.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { operations } from "../service/ServiceOperations.ts"
import type { Asked } from "./SignedPages.ts"
import { perform } from "./SignedPages.ts"

type Read = InputOf<typeof RunOperations.events>

/** The events of a run that its page has. */
export const events_max = 500
/** How many pages of them are read at most for one question, and together they are this many events. */
const reads_max = 8

/** A part of the events of a run. */
export interface KnownEvents {
  /** In order. */
  readonly entries: ReadonlyArray<JournalEntry>
  /** Whether there is none besides them. */
  readonly isWhole: boolean
}

/** Events of a run, as many as its page has. */
export const eventsOf = (asked: Asked, { after, id }: Pick<Read, "after" | "id">) =>
  perform(operations.runEvents, { id, limit: events_max, ...defined({ after }) }, asked)

/** `reads_max` pages of the events of a run: the first page and the last ones, or those that are `first`. */
export const knownEvents = Effect.fnUntraced(function* (
  asked: Asked,
  id: Read["id"],
  which: "first" | "ends" = "ends"
) {
  const { items, next_after } = yield* eventsOf(asked, { id })
  if (next_after === undefined) return { entries: items, isWhole: true } satisfies KnownEvents
  const entries = [...items]
  const length = which === "first" ? 0 : (yield* perform(operations.run, { id }, asked)).length
  let after: number | undefined = Math.max(next_after, length - 1 - (reads_max - 1) * events_max)
  let isWhole = after === next_after
  for (let read = 1; after !== undefined && isFull(entries.length, read); read++) {
    const page: { readonly items: typeof items; readonly next_after?: number } = yield* eventsOf(
      asked,
      { id, after }
    )
    entries.push(...page.items)
    after = page.next_after
  }
  isWhole &&= after === undefined
  return { entries, isWhole } satisfies KnownEvents
})

/** Whether so many reads were full of events: one that is full of bytes is the last, so that pages take no more memory than there is. */
const isFull = (count: number, reads: number): boolean =>
  reads < reads_max && count === reads * events_max

/** The `after` of the page of a run that has this event: pages begin where the one before ends. */
export const pageWith = (seq: number): number => seq - (seq % events_max) - 1

/** The address of an event on the page of its run. `path`: the run's. */
export const eventAddress = (path: string, seq: number, { entries, isWhole }: KnownEvents) =>
  isWhole && entries.length <= events_max
    ? `${path}#event-${seq}`
    : `${path}?after=${pageWith(seq)}#event-${seq}`
