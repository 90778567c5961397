/** Where a run stands in its conversation, if it does not follow the run before it with a message of a sender. */
import { Schema } from "effect"
import { Branch } from "./Branch.ts"
import { Forked } from "./Forked.ts"
import { Imported } from "./Imported.ts"

/** The members of a message, and of the event that accepts it. */
export const Placement = {
  /** The run in place of which this one stands. Absent = it follows the run before it. */
  branch: Schema.optionalKey(Branch),
  /** What was answered elsewhere, in an imported history: the run ends with it. Absent = a model answers. */
  imported: Schema.optionalKey(Imported),
  /** The run that this one was forked from. Absent = from none. */
  forked: Schema.optionalKey(Forked)
}
