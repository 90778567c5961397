/**
 * Where a dispatched task goes: the handler of the outbox topic `agent.task.dispatched`. It also ends the intake of a process
 * that is about to stop.
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
    /**
     * The process is about to stop: from here on no run starts a turn or a call, and no message is accepted. Returns at once;
     * what is in flight goes on until the runtime's scope closes, and is waited for then. A second call changes nothing.
     */
    readonly drain: Effect.Effect<void>
  }
>()("troupe/services/TaskDispatch") {}
