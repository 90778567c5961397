import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { RunFilters } from "../../src/operation/Filters.ts"
import { RunItem, runItem, WaitingFor, UnhostedWork } from "../../src/run/RunItem.ts"
import { RunStatus } from "../../src/run/RunState.ts"
import * as Samples from "../contracts/Samples.ts"
import { corrupted } from "./Corrupted.ts"

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

it("a run in a list has the fields of its task, and its reason if it has one", () => {
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
  const handed_to = AgentName.make("billing")
  const handed = { ...failed, handed_to } as const
  assert.deepStrictEqual(
    runItem({ ...task, reason: "r" }, "failed", [unknown], { handed_to }),
    handed
  )
  // Handed over and back.
  const back = { handed_to: task.address.agent }
  assert.deepStrictEqual(runItem({ ...task, reason: "r" }, "failed", [unknown], back), failed)
  const quarantined = { ...failed, quarantined: true } as const
  assert.deepStrictEqual(
    runItem({ ...task, reason: "r" }, "failed", [unknown], { quarantined: true }),
    quarantined
  )
  const decode = Schema.decodeUnknownSync(RunItem)
  for (const each of [item, failed, handed, quarantined]) {
    assert.deepStrictEqual(decode(JSON.parse(JSON.stringify(each))), each)
    for (const [path, strange] of corrupted(each)) {
      assert.throws(() => decode(strange), undefined, undefined, path)
    }
  }
  assert.throws(() => decode({ ...failed, quarantined: false }))
})

it("a run in a list shows 200 units of its message, and never half a character", () => {
  const shown = (message: string) => runItem({ ...task, message }, "pending", []).message
  assert.strictEqual(shown("m".repeat(200)), "m".repeat(200))
  assert.strictEqual(shown("m".repeat(201)), "m".repeat(200))
  assert.strictEqual(shown(`${"m".repeat(199)}\u{1f600}`), "m".repeat(199))
})

it("a list may be filtered by each status, and by what its runs wait for", () => {
  assert.deepStrictEqual(RunStatus.literals, [
    "pending",
    "processing",
    "awaiting_approval",
    "complete",
    "failed",
    "cancelled"
  ])
  assert.deepStrictEqual(WaitingFor.literals, ["approval", "unknown"])
  const decode = Schema.decodeUnknownSync(RunFilters)
  const query = {
    status: "failed",
    waiting: "unknown",
    agent: "operations",
    created_from: 1,
    created_to: 2,
    limit: 3,
    after: task.id
  }
  assert.deepStrictEqual(decode(query), query as never)
  assert.deepStrictEqual(decode({}), {})
  for (const [path, strange] of corrupted(query)) {
    assert.throws(() => decode(strange), undefined, undefined, path)
  }
})

it("unhosted work is counted by tenant and by what it needs", () => {
  const work = { tenant, agent: address.agent, version: "d.t", tool: "k@1", count: 2, oldest_at: 5 }
  const decode = Schema.decodeUnknownSync(UnhostedWork)
  assert.deepStrictEqual(decode(work), work)
  for (const [path, strange] of corrupted(work)) {
    assert.throws(() => decode(strange), undefined, undefined, path)
  }
})
