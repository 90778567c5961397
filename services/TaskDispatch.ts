/**
 * Where a dispatched task goes: the handler of the outbox topic `agent.task.dispatched`.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { RunId } from "../src/Ids.ts"
import type { JournalError } from "./RunJournal.ts"
import type { StoreError } from "./TaskStore.ts"

export class TaskDispatch extends Context.Service<
  TaskDispatch,
  {
    /** Begins the task's run, once, and wakes its actor. Delivered again it does nothing. */
    deliver(task: RunId): Effect.Effect<void, JournalError | StoreError>
  }
>()("troupe/services/TaskDispatch") {}
