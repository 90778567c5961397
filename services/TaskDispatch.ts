/**
 * Delivers dispatched tasks: the handler of the outbox topic `agent.task.dispatched`. It also ends the intake of a process that
 * is about to stop.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentName, RunId } from "../src/value/Ids.ts"
import type { JournalError } from "./RunJournal.ts"
import type { StoreError } from "./StoreError.ts"

/** Passes accepted tasks to the actors that handle them. */
export class TaskDispatch extends Context.Service<
  TaskDispatch,
  {
    /** The agents that this process hosts. Tasks of other agents are not delivered to it. */
    readonly agents: ReadonlyArray<AgentName>
    /** Begins the task's run, once, and wakes its actor. A repeated delivery does nothing. */
    deliver(task: RunId): Effect.Effect<void, JournalError | StoreError>
    /**
     * Prepares the process for its stop: from now on no run starts a turn or a call, and no message is accepted. Returns at once;
     * work in flight continues until the runtime's scope closes, which waits for it. A second call changes nothing.
     */
    readonly drain: Effect.Effect<void>
  }
>()("troupe/services/TaskDispatch") {}
