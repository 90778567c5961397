/**
 * The mark that replaces a payload which was erased on a person's request. It has the payload's SHA-256, so that the audit chain
 * can still be verified and a replay reports what is missing.
 */
import { Schema } from "effect"
import type { JournalEntry } from "../run/RunEvent.ts"

/** `erased` is the SHA-256 of the payload's canonical JSON, in lower-case hex. */
export const Erased = Schema.Struct({
  erased: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
})
export interface Erased extends Schema.Schema.Type<typeof Erased> {}

const isMark = Schema.is(Erased)

/** Whether the value is an erasure mark, as JSON or as the text of that JSON. */
export const isErased = (value: unknown): boolean => {
  if (typeof value === "string") {
    return value.startsWith('{"erased":') && value.length === mark_length && marked(value)
  }
  return isMark(value) && Object.keys(value).length === 1
}

const mark_length = JSON.stringify({ erased: "0".repeat(64) }).length
const marked = (text: string): boolean => /^\{"erased":"[0-9a-f]{64}"\}$/.test(text)

/** Where in the journal a value was erased: the event's `seq`, and the path of the member, with dots between the names. */
export interface ErasedPlace {
  readonly seq: number
  readonly path: string
}

const search = (value: unknown, path: string, found: (path: string) => void): void => {
  if (isErased(value)) return found(path)
  if (typeof value !== "object" || value === null) return
  for (const [name, member] of Object.entries(value)) {
    search(member, path === "" ? name : `${path}.${name}`, found)
  }
}

const places_max = 1_000

/** The places of erased values, oldest first; at most 1,000. */
export const erasedPlaces = (entries: ReadonlyArray<JournalEntry>): ReadonlyArray<ErasedPlace> => {
  const places: Array<ErasedPlace> = []
  for (const { event, seq } of entries) {
    search(event, "", (path) => {
      if (places.length < places_max) places.push({ seq, path })
    })
  }
  return places
}
