/** What a run did beside what another one did, such as a fork beside the run that it was forked from. */
import { Schema } from "effect"
import type { JournalEntry } from "../run/RunEvent.ts"
import { isSameJson } from "../value/Canonical.ts"
import { defined } from "../value/PlainObject.ts"
import type { Deed } from "./Divergence.ts"
import { deedsOf } from "./Divergence.ts"

/** Something that a run did, beside what the other run did in its place. */
export const ComparedDeed = Schema.Struct({
  /** What it is and where, such as `turn 0/2`, `result 0/2.0` or `end`. */
  deed: Schema.String,
  /** `only_before`: the other run alone did it, as yet. `only_after`: this run alone did. */
  how: Schema.Literals(["same", "differs", "only_before", "only_after"]),
  /** The event of the other run. */
  before_seq: Schema.optionalKey(Schema.Int),
  /** The event of this run. */
  after_seq: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "ComparedDeed" })
export interface ComparedDeed extends Schema.Schema.Type<typeof ComparedDeed> {}

/** In a fork nobody is asked. */
const isQuestion = ({ event }: Deed): boolean =>
  event._tag === "ApprovalRequested" || event._tag === "ApprovalDecided"

const row = (key: string, before: Deed | undefined, after: Deed | undefined): ComparedDeed => ({
  deed: key,
  how:
    before === undefined
      ? "only_after"
      : after === undefined
        ? "only_before"
        : isSameJson(before.value, after.value)
          ? "same"
          : "differs",
  ...defined({ before_seq: before?.seq, after_seq: after?.seq })
})

/** All that the two did, in the order of `forked`; what that did not do stands where the other run did it. */
export const comparedDeeds = (
  recorded: ReadonlyArray<JournalEntry>,
  forked: ReadonlyArray<JournalEntry>
): ReadonlyArray<ComparedDeed> => {
  const [before, after] = [deedsOf(recorded), deedsOf(forked)]
  const rows = new Map<string, ComparedDeed>()
  const add = (key: string) => {
    const [left, right] = [before.get(key), after.get(key)]
    const deed = left ?? right
    if (deed === undefined || rows.has(key) || isQuestion(deed)) return
    rows.set(key, row(key, left, right))
  }
  const left = [...before.keys()]
  const places = new Map(left.map((key, at) => [key, at]))
  let reached = 0
  for (const key of after.keys()) {
    const at = places.get(key) ?? -1
    while (reached <= at) add(left[reached++] ?? "")
    add(key)
  }
  for (const key of left.slice(reached)) add(key)
  return [...rows.values()]
}
