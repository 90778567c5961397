import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import { RunItem, runItem, Status, WaitingFor } from "../../src/run/RunItem.ts"
import * as Samples from "../contracts/Samples.ts"

const { address, by, conversation, id, message, tenant, trace_id } = Samples.newTask()
const task: AgentTask = {
  id,
  tenant,
  address,
  conversation,
  message,
  by,
  trace_id,
  ordinal: 3,
  status: "failed",
  created_at: 5
}

it("a run of a list is what its task says, and its reason where it has one", () => {
  const unknown = {
    run_id: task.id,
    call: Samples.firstCall,
    tool: "write",
    agent: task.address.agent,
    conversation: task.conversation,
    since: 4
  }
  const item = {
    id: task.id,
    conversation: task.conversation,
    agent: task.address.agent,
    ordinal: 3,
    status: "awaiting_approval",
    task_status: "failed",
    message: "what is stuck?",
    by: "ada",
    trace_id: task.trace_id,
    created_at: 5,
    unknown_calls: [unknown]
  } as const
  assert.deepStrictEqual(runItem(task, "awaiting_approval", [unknown]), item)
  assert.deepStrictEqual(runItem({ ...task, reason: "" }, "awaiting_approval", [unknown]), item)
  const failed = { ...item, status: "failed", reason: "r" } as const
  assert.deepStrictEqual(runItem({ ...task, reason: "r" }, "failed", [unknown]), failed)
  const json = JSON.parse(JSON.stringify(failed)) as unknown
  assert.deepStrictEqual(Schema.decodeUnknownSync(RunItem)(json), failed)
})

it("a run of a list shows 200 units of its message, and never half a character", () => {
  const shown = (message: string) => runItem({ ...task, message }, "pending", []).message
  assert.strictEqual(shown("m".repeat(200)), "m".repeat(200))
  assert.strictEqual(shown("m".repeat(201)), "m".repeat(200))
  assert.strictEqual(shown(`${"m".repeat(199)}\u{1f600}`), `${"m".repeat(199)}\ufffd`)
})

it("a list may be asked for each status, and for each that a run waits for", () => {
  assert.deepStrictEqual(Status.literals, [
    "pending",
    "processing",
    "awaiting_approval",
    "complete",
    "failed",
    "cancelled"
  ])
  assert.deepStrictEqual(WaitingFor.literals, ["approval", "unknown"])
})
