/** Whether the store answers. */
import { Effect } from "effect"
import { StoreError } from "../../services/StoreError.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { RunId } from "../../src/value/Ids.ts"

/** The time in ms after which a store that has not answered counts as not available. */
const answer_ms = 5_000

const unknown_run = RunId.make("00000000-0000-4000-8000-000000000000")

/** Fails where the store has not answered in time. */
export const inTime = Effect.timeoutOrElse({
  duration: answer_ms,
  orElse: () => new StoreError({ message: "no answer in time" })
})

export const answers = inTime(TaskStore.use((tasks) => tasks.get(unknown_run)))
