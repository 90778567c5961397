/**
 * A run as a task of the extension for tasks of MCP 2026-07-28. The task's id is the run's, and the journal alone says what it is: any
 * process tells it, before and after a restart.
 */
import type { AgentTask } from "../delivery/AgentTask.ts"
import type { InputRequests } from "./McpQuestions.ts"
import type { McpResult } from "./McpTools.ts"
import { toolResult } from "./McpTools.ts"

/** How long a call waits for its run before a client that knows tasks is given a handle, in ms. Absent `wait_s` = this. */
export const handle_ms = 500

/** How often a client should look, in ms. */
const poll_ms = 2_000

/** How far a run has come. */
export interface McpCome {
  readonly result: McpResult
  /** When its last event was journaled, in ms since 1970; 0 = there is none. */
  readonly at: number
  /** What its client is asked. */
  readonly requests: InputRequests
}

/** Whether a call is answered with the handle of its task. */
export const isAtWork = ({ status }: McpResult): boolean =>
  status === "processing" || status === "awaiting_approval"

const states = {
  processing: "working",
  awaiting_approval: "input_required",
  complete: "completed",
  // What a tool reports as an error is a result. No run fails as its request may.
  failed: "completed",
  cancelled: "cancelled"
} as const satisfies Record<McpResult["status"], string>

/** A task of whose client nothing is asked is at work: it waits for people whom the client does not reach. */
const stateOf = ({ requests, result: { status } }: McpCome) =>
  status === "awaiting_approval" && Object.keys(requests).length === 0 ? "working" : states[status]

const timeOf = (ms: number) => new Date(ms).toISOString()

/** What both forms of a task have. It is kept as long as its run, of which no client is told when it goes. */
const membersOf = ({ created_at, id }: AgentTask, come: McpCome): object => {
  const { at, result } = come
  const waiting = result.waiting_for.map(({ summary, url }) =>
    url === undefined ? summary : `${summary} (${url})`
  )
  return {
    taskId: id,
    status: stateOf(come),
    ...(waiting.length > 0 && { statusMessage: `Waits for people: ${waiting.join("\n")}` }),
    createdAt: timeOf(created_at),
    lastUpdatedAt: timeOf(Math.max(created_at, at)),
    ttlMs: null,
    pollIntervalMs: poll_ms
  }
}

/** The handle of a task, in place of the result of a call. */
export const taskHandle = (task: AgentTask, come: McpCome): object => ({
  resultType: "task",
  ...membersOf(task, come)
})

/** A task with what it has come to. */
export const taskDetails = (task: AgentTask, come: McpCome): object => {
  const state = stateOf(come)
  return {
    ...membersOf(task, come),
    ...(state === "input_required" && { inputRequests: come.requests }),
    ...(state === "completed" && {
      result: { resultType: "complete", ...toolResult(come.result) }
    })
  }
}
