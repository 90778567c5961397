/**
 * Valid tasks, events and principals for tests. Ids are new at each use, so that tests can share a store.
 */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import type { Append, Fence } from "../../services/RunJournal.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { NewOutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import type { CallId, FrameId } from "../../src/value/Ids.ts"
import {
  AgentName,
  ApprovalId,
  ConversationId,
  callId,
  MessageId,
  rootFrame,
  RunId,
  Tenant
} from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type {
  ApprovalRequested,
  ClientRequested,
  ModelTurned,
  Outcome,
  ProposedCall,
  RunAccepted,
  RunEnded,
  RunEvent
} from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { isParkable, statusOf } from "../../src/run/RunState.ts"
import { fold } from "../../src/run/RunFold.ts"

export const runId = (): RunId => RunId.make(randomUUID())
export const approvalId = (): ApprovalId => ApprovalId.make(randomUUID())
export const messageId = (): MessageId => MessageId.make(randomUUID())
export const tenant = (): Tenant => Tenant.make(`tenant-${randomUUID()}`)
/** A text that no other test uses: a topic, an owner, a key. */
export const unique = (prefix: string): string => `${prefix}-${randomUUID()}`

export const operations = AgentName.make("operations")
export const acme = Tenant.make("acme")

export const principal = (
  roles: ReadonlyArray<Role> = ["approver"],
  of: Tenant = acme,
  id = "ada"
): Principal => Principal.make({ id, tenant: of, roles: [...roles] })

/** A task in a new conversation, unless `given` has one. */
export const newTask = (given: Partial<NewTask> = {}): NewTask => {
  const conversation =
    given.conversation ?? given.address?.key ?? ConversationId.make(`c-${randomUUID()}`)
  return {
    id: runId(),
    tenant: acme,
    address: { agent: operations, key: conversation },
    conversation,
    message: "what is stuck?",
    by: "ada",
    trace_id: "0af7651916cd43dd8448eb211c80319c",
    channel_origin: "api",
    initiated_by: "customer",
    waiting_max: 1_000,
    reject_when_busy: false,
    message_id: messageId(),
    ...given
  }
}

/** The first event of the run of a task. */
export const runAccepted = (
  task: Pick<NewTask, "tenant" | "address" | "conversation" | "message" | "by" | "trace_id">,
  limits: Partial<RunLimits> = {}
): RunAccepted => ({
  _tag: "RunAccepted",
  tenant: task.tenant,
  address: task.address,
  conversation: task.conversation,
  message: task.message,
  by: task.by,
  trace_id: task.trace_id,
  limits: RunLimits.make(limits),
  pins: { definition: "d".repeat(64), tools: "e".repeat(64) }
})

export const proposedCall = (name = "replay_dlq_event", index = 0): ProposedCall => ({
  model_id: `call_${index}`,
  name,
  arguments: {
    event_id: `e-${index + 1}`,
    reason: "ümlaut \u0000 and \u{1f600}",
    "2": [1, null, 1.5],
    "10": {}
  }
})

/** One turn of a frame with `calls` calls; a turn without calls is the frame's answer. */
export const modelTurned = (
  step: number,
  calls = 0,
  frame: FrameId = rootFrame,
  text = calls === 0 ? "done" : "let me look"
): ModelTurned => ({
  _tag: "ModelTurned",
  frame,
  step,
  text,
  calls: Array.from({ length: calls }, (_, index) => proposedCall("replay_dlq_event", index)),
  finish: calls === 0 ? "stop" : "tool_calls",
  usage: { input_tokens: 10, output_tokens: 5 },
  model: "scripted"
})

export const firstCall: CallId = callId(rootFrame, 1, 0)

export const approvalRequested = (
  call: CallId = firstCall,
  given: Partial<ApprovalRequested> = {}
): ApprovalRequested => {
  const approval = given.approval ?? approvalId()
  return {
    _tag: "ApprovalRequested",
    call,
    approval,
    digest: "a".repeat(64),
    proposal: "b".repeat(64),
    payload: {
      tool_name: "replay_dlq_event",
      agent_name: "operations",
      args_summary: "event_id: e-1",
      effect_description: "Delivers the event again.",
      correlation_id: approval
    },
    tool_key: "operations.replay_dlq_event@1",
    arguments: { event_id: "e-1" },
    policy_version: "1",
    approvers: [],
    ...given
  }
}

/** A call that waits for the client of its conversation. */
export const clientRequested = (
  call: CallId = firstCall,
  given: Partial<ClientRequested> = {}
): ClientRequested => {
  const {
    _tag,
    limit: _none,
    ...question
  } = approvalRequested(call, {
    ...(given.approval === undefined ? undefined : { approval: given.approval })
  })
  return { ...question, client: { output_schema: {} }, ...given, _tag: "ClientRequested" }
}

export const callSettled = (
  call: CallId = firstCall,
  outcome: Outcome = { _tag: "Value", json: '{"ok":true}' }
): RunEvent => ({ _tag: "CallSettled", call, outcome })

export const runEnded = (given: Partial<RunEnded> = {}): RunEnded => ({
  _tag: "RunEnded",
  status: "complete",
  reason: "complete",
  text: "done",
  ...given
})

export const outboxMessage = (given: Partial<NewOutboxMessage> = {}): NewOutboxMessage => ({
  id: messageId(),
  tenant: acme,
  key: unique("key"),
  topic: unique("topic"),
  payload: { z: 1, a: ["ü", null] },
  ...given
})

/** A run, with the epoch and length that its writer has. */
export interface Begun {
  readonly task: NewTask
  readonly run: RunId
  readonly fence: Fence
  /** The append of these events behind the begun ones. */
  readonly next: (...events: ReadonlyArray<RunEvent>) => Append
}

/** Accepts a task, creates its run, claims it and appends `events`. */
export const begin = Effect.fnUntraced(function* (
  given: Partial<NewTask> = {},
  events: ReadonlyArray<RunEvent> = [],
  owner = unique("owner")
) {
  const tasks = yield* TaskStore
  const journal = yield* RunJournal
  const ownership = yield* RunOwnership
  const task = newTask(given)
  const { task: accepted } = yield* tasks.accept(task)
  const begins = runAccepted(task)
  yield* journal.create(task.id, accepted.ordinal, begins)
  const { entries, head } = yield* ownership.claim(task.id, owner)
  const past = [...entries.map((entry) => entry.event), ...events]
  const fence = { epoch: head.epoch, length: past.length }
  if (events.length > 0) {
    yield* journal.append({
      run: task.id,
      fence: { epoch: head.epoch, length: head.length },
      events,
      status: statusOf(fold(past)),
      parkable: isParkable(fold(past))
    })
  }
  const begun: Begun = {
    task,
    run: task.id,
    fence,
    next: (...more) => ({
      run: task.id,
      fence,
      events: more,
      status: statusOf(fold([...past, ...more])),
      parkable: isParkable(fold([...past, ...more]))
    })
  }
  return begun
})

/** Ends a run that has begun. */
export const end = ({ next }: Begun) =>
  RunJournal.use((journal) => journal.append(next(modelTurned(1), runEnded())))

/** Accepts a task and ends its run. */
export const finish = Effect.fnUntraced(function* (
  given: Partial<NewTask> = {},
  ended: Partial<RunEnded> = {}
) {
  const journal = yield* RunJournal
  const begun = yield* begin(given, [modelTurned(1)])
  yield* journal.append(begun.next(runEnded(ended)))
  return begun
})

/** All entries of a run. */
export const snapshot = Effect.fnUntraced(function* (run: RunId) {
  const reader = yield* RunReader
  return { head: yield* reader.head(run), entries: yield* reader.read(run, 0, 10_000) }
})
