/**
 * Where a dispatched task goes: the handler of the outbox topic `agent.task.dispatched`.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentName, RunId } from "../src/Ids.ts"
import type { JournalError } from "./RunJournal.ts"
import type { StoreError } from "./StoreError.ts"

export class TaskDispatch extends Context.Service<
  TaskDispatch,
  {
    /** The agents that live in this process: tasks of others are not delivered here. */
    readonly agents: ReadonlyArray<AgentName>
    /** Begins the task's run, once, and wakes its actor. Delivered again it does nothing. */
    deliver(task: RunId): Effect.Effect<void, JournalError | StoreError>
  }
>()("troupe/services/TaskDispatch") {}
