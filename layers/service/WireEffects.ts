/** What wires do for a client of another system: conversations by its names, messages, and answers to questions. */
import { Effect, Schema } from "effect"
import { Digest } from "effect/crypto"
import { AgentDirectory, CustomerAgents } from "../../services/AgentDirectory.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { Message } from "../../services/AgentRuntime.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { RunList } from "../../services/RunList.ts"
import type { RunQuery } from "../../services/RunList.ts"
import type { StoreError } from "../../services/StoreError.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { Approval } from "../../src/approval/Approval.ts"
import { ApprovalExpired, ApprovalNotFound, ApprovalSettled } from "../../src/approval/Approval.ts"
import { agentRefusal, isOpenTo, ownPrefix } from "../../src/conversation/CustomerView.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import { makeProblem } from "../../src/operation/Problem.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { approverRefusal } from "../../src/principal/Rights.ts"
import type { RunItem } from "../../src/run/RunItem.ts"
import { canonical } from "../../src/value/Canonical.ts"
import type { AgentName, ApprovalId, RunId } from "../../src/value/Ids.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import { boundedPage } from "../../src/value/Pages.ts"
import { defined } from "../../src/value/PlainObject.ts"
import type { CheckedJsonRecord } from "../../src/value/JsonObject.ts"
import { decide } from "./ApprovalEffects.ts"
import { conversationFor, followable, isCustomer } from "./CustomerRules.ts"
import { recipient } from "./MessageEffects.ts"
import { cancel } from "./RunEffects.ts"

const encoder = new TextEncoder()

const digestOf = (value: unknown) =>
  Digest.Digest.use((digest) => digest.digestHex(Digest.sha256, encoder.encode(canonical(value))))

/** A conversation by the name that a client gave it. The same name is another conversation for another wire, agent, tenant or customer. */
export const conversationOf = (
  by: Principal,
  of: { readonly wire: string; readonly agent: AgentName; readonly name: string }
) =>
  Effect.map(digestOf({ ...of, tenant: by.tenant }), (hex) => {
    const name = hex.slice(0, 32)
    return (isCustomer(by) ? ownPrefix(by) + name : name) as ConversationId
  })

const isOurs = Schema.is(ConversationId)

/**
 * A conversation by its id, if `conversationOf` made it and the principal may write to this agent there, else by a name of the client's:
 * a name of the application's own conversations is the client's name for another one.
 */
export const begunOrNamed = Effect.fnUntraced(function* (
  by: Principal,
  of: { readonly wire: string; readonly agent: AgentName; readonly name: string }
) {
  const { agent, name } = of
  if (/^(?:[^:]+:)?[0-9a-f]{32}$/.test(name) && isOurs(name)) {
    const found = yield* Effect.catchTag(
      conversationFor(by, "send", name),
      "ConversationNotFound",
      () => Effect.undefined
    )
    if (found?.address.agent === agent) return name
  }
  return yield* conversationOf(by, of)
})

/** The idempotency key of a client's request, by its own id of it. */
export const keyOf = (by: Principal, of: Readonly<Record<string, string>>) =>
  Effect.map(digestOf({ ...of, by: by.id }), (hex) => `wire-${hex}`)

/** The digest of what the principal posts (`Message.posted`): another one for each tenant and principal. */
export const postedOf = ({ id: by, tenant }: Principal, of: unknown) => digestOf({ by, tenant, of })

/** The newest messages that say what was posted. */
export const postedBefore = ({ tenant }: Principal, digest: string, limit: number) =>
  TaskStore.use((tasks) => tasks.posted(tenant, digest, limit))

/** Whether nothing has come behind a message in its conversation. */
export const isNewest = ({ conversation, ordinal, tenant }: AgentTask) =>
  Effect.map(
    TaskStore.use((tasks) => tasks.newestOrdinal(tenant, conversation)),
    (newest) => newest === ordinal
  )

/** The newest message of a conversation that the principal may follow; undefined = it has none. */
export const newestTask = Effect.fnUntraced(function* (
  by: Principal,
  conversation: ConversationId
) {
  const found = yield* Effect.catchTag(
    conversationFor(by, "follow", conversation),
    "ConversationNotFound",
    () => Effect.undefined
  )
  if (found === undefined) return undefined
  const tasks = yield* TaskStore
  const newest = yield* tasks.newestOrdinal(by.tenant, conversation)
  const [task] = yield* tasks.ofConversation(by.tenant, conversation, newest - 1, 1)
  return task
})

/** The newest message of a conversation, if its run is at work and waits for nobody; else undefined. */
export const taskAtWork = Effect.fnUntraced(function* (
  by: Principal,
  conversation: ConversationId
) {
  const task = yield* newestTask(by, conversation)
  if (task === undefined) return undefined
  const { items } = yield* ConversationStore.use((store) =>
    store.list({ tenant: by.tenant, id: conversation, limit: 1 })
  )
  const status = items[0]?.status
  return status === "pending" || status === "processing" ? yield* followable(task, by) : undefined
})

/** How many runs of all senders are looked at for one list, and read at once. */
const [looked_max, read_max] = [2_000, 500]

/**
 * The runs that the principal has sent to an agent, newest first: of a conversation, and of a status. `last`: where to look on, if there
 * may be more.
 */
export const ownRuns = Effect.fnUntraced(function* (
  by: Principal,
  {
    after,
    conversation,
    ...query
  }: Pick<RunQuery, "agent" | "status" | "after"> & {
    readonly conversation?: ConversationId | undefined
  }
) {
  const runs = yield* RunList
  const { items, last } = yield* boundedPage<RunItem, StoreError>(
    looked_max,
    (last, limit) => runs.list({ ...query, tenant: by.tenant, limit, after: last?.id ?? after }),
    {
      read_max,
      looked_max,
      keeps: (item) =>
        item.by === by.id &&
        item.quarantined === undefined &&
        (conversation === undefined || item.conversation === conversation)
    }
  )
  return { items, last: last?.id }
})

/**
 * Sends a message, to whoever has the conversation, or to the agent that is named where this begins it. `edits`: a message with this key
 * and another text stands in place of the one before.
 */
export const sendTo = Effect.fnUntraced(function* (by: Principal, message: Message, edits = false) {
  const { agent: named, conversation, follows, replaces } = message
  const begun =
    conversation !== undefined &&
    (yield* ConversationStore.use((store) => store.read(by.tenant, conversation))) !== undefined
  const to = begun ? { conversation } : { agent: named, ...defined({ conversation }) }
  const agent = yield* recipient({ ...to, ...defined({ follows, replaces }) }, by)
  const runtime = yield* AgentRuntime
  const send = (more: Partial<Message>) => runtime.send({ ...message, agent, ...more }, by)
  return yield* Effect.catchTag(send({}), "IdempotencyConflict", (conflict) =>
    Effect.gen(function* () {
      const { run_id: replaced } = conflict
      if (!edits || replaced === undefined) return yield* conflict
      const said = { text: message.text, key: message.idempotency_key, replaced }
      const idempotency_key = `wire-${yield* digestOf(said)}`
      return yield* send({ replaces: replaced, idempotency_key })
    })
  )
})

/** The run of a question of the principal's tenant. */
export const runOfApproval = Effect.fnUntraced(function* ({ tenant }: Principal, id: ApprovalId) {
  const found = yield* ApprovalRecords.use((records) => records.read(tenant, id))
  return found === undefined ? yield* new ApprovalNotFound({ id }) : found.run_id
})

/** The agents that the principal may talk to. */
export const agentsFor = (by: Principal) =>
  Effect.map(Effect.all([AgentDirectory, CustomerAgents]), ([{ all }, customer_agents]) =>
    all.flatMap(({ spec: { name } }) =>
      agentRefusal(by, "send", name, customer_agents) === undefined ? [name] : []
    )
  )

interface Given {
  readonly approval: ApprovalId
  readonly approved: boolean
  readonly reason?: string
  /** All arguments of the call, in place of the proposed ones. Absent = it runs as it was shown. */
  readonly edited?: typeof CheckedJsonRecord.Type
  /** Whether it is no error that somebody else settled the question in another way. Absent = it is. */
  readonly mayBeSettled?: boolean
  /** Whether it is no error that nobody answered in time. Absent = it is. */
  readonly mayBeExpired?: boolean
  /** Whether the question is the one that its person was shown. */
  readonly isAsShown: (approval: Approval) => boolean
}

const notAsShown = makeProblem(
  409,
  "not-as-shown",
  "This is not what was asked",
  "The arguments that came with the answer are others than those of the question. Nothing was decided."
)

/** The question if it still has to be decided; undefined if it was, in the same way. */
const openQuestion = Effect.fnUntraced(function* (by: Principal, run: RunId, given: Given) {
  const records = yield* ApprovalRecords
  const found = yield* records.read(by.tenant, given.approval)
  if (found === undefined || found.run_id !== run) {
    return yield* new ApprovalNotFound({ id: given.approval })
  }
  const { decision, id, status } = found
  if (status === "expired") {
    if (given.mayBeExpired === true) return undefined
    return yield* new ApprovalExpired({ id, expired_at: found.expires_at ?? 0 })
  }
  if (status === "pending") return given.isAsShown(found) ? found : yield* Effect.fail(notAsShown)
  if (given.mayBeSettled === true) return undefined
  const wasApproved = decision?._tag === "Approve" || decision?._tag === "Modify"
  if (status === "cancelled" || wasApproved !== given.approved) {
    return yield* new ApprovalSettled({ id, status })
  }
  return undefined
})

const inputOf = ({ approval: id, approved, edited, reason }: Given) => {
  if (!approved) return { id, decision: "deny", reason: reason || "Denied in the chat." } as const
  const note = reason ? { note: reason } : undefined
  return edited === undefined
    ? ({ id, decision: "approve", ...note } as const)
    : ({ id, decision: "modify", arguments: edited, ...note } as const)
}

/** Decides the questions of a run. All are looked at before the first is decided. Fails with 403, 404, 409 and 410. */
export const answerAll = Effect.fnUntraced(function* (
  by: Principal,
  run: RunId,
  answers: ReadonlyArray<Given>
) {
  const open = yield* Effect.forEach(answers, (given) => openQuestion(by, run, given))
  for (const [at, given] of answers.entries()) {
    if (open[at] !== undefined) yield* decide.perform(Effect.succeed(inputOf(given)), by)
  }
})

/** Cancels a run. False = it was over. */
export const stop = Effect.fnUntraced(function* (by: Principal, id: RunId, reason: string) {
  const stopped = Effect.map(cancel.perform(Effect.succeed({ id, reason }), by), () => true)
  return yield* Effect.catchTag(stopped, "RunIsOver", () => Effect.succeed(false))
})

/** Cancels the newest run of a conversation, unless it is over. */
export const stopNewest = Effect.fnUntraced(function* (
  by: Principal,
  conversation: ConversationId
) {
  const task = yield* newestTask(by, conversation)
  if (task === undefined || task.status === "complete" || task.status === "failed") return
  yield* stop(by, task.id, "Stopped in the chat.")
})

/** Those of the questions that still have to be decided, and that the principal may decide. */
export const decidable = Effect.fnUntraced(function* <Q extends { readonly approval: ApprovalId }>(
  by: Principal,
  questions: ReadonlyArray<Q>
) {
  const records = yield* ApprovalRecords
  return yield* Effect.filter(questions, ({ approval }) =>
    Effect.map(
      records.read(by.tenant, approval),
      (found) =>
        found?.status === "pending" &&
        found.client === undefined &&
        found.asked_by !== undefined &&
        isOpenTo(by, "decide", found.asked_by) &&
        approverRefusal(by, "decide", found.approvers) === undefined
    )
  )
})
