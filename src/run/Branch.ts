/**
 * A message said anew in place of an earlier one: its run is a branch beside the run of that one, which stays in the journal. The runs
 * of a conversation are a tree in which each has one before it; the current branch is the way from the newest run to the first.
 */
import { Schema } from "effect"
import { RunId } from "../value/Ids.ts"

export class Branch extends Schema.Opaque<Branch>()(
  Schema.Struct({
    /** The run in place of which this one stands. */
    replaces: RunId,
    /** The number of the run that stands before both, whose history goes on; 0 = there is none. */
    after: Schema.Int
  })
) {}

/** The most messages of a conversation that stand in place of others. */
export const branches_max = 1_000

interface Numbered {
  readonly ordinal: number
  readonly branch?: Branch | undefined
}

/** The number of the run before this one in its own branch; 0 = it is the first. */
export const ordinalBefore = ({ branch, ordinal }: Numbered): number => branch?.after ?? ordinal - 1

/** Runs with the numbers `first` to `last`. */
export interface Stretch {
  readonly first: number
  readonly last: number
}

/** The runs of the current branch, newest first. `branches`: the runs that stand in place of others, newest first. */
export const currentBranch = (
  newest: number,
  branches: ReadonlyArray<Numbered>
): ReadonlyArray<Stretch> => {
  const stretches: Array<Stretch> = []
  let last = newest
  for (const each of branches) {
    if (each.ordinal > last) continue
    stretches.push({ first: each.ordinal, last })
    last = ordinalBefore(each)
  }
  return last > 0 ? [...stretches, { first: 1, last }] : stretches
}
