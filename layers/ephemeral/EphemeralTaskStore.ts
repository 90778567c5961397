/**
 * Tasks in one process. `accept` checks everything before it writes, and then writes synchronously, so that it writes everything
 * or nothing.
 */
import { Effect, Layer } from "effect"
import type { Accepted, NewTask } from "../../services/TaskStore.ts"
import { StoreError } from "../../services/StoreError.ts"
import { dispatched_topic, TaskStore } from "../../services/TaskStore.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import {
  AddressConflict,
  AgentBusy,
  IdempotencyConflict,
  hasSameExtras,
  MailboxFull,
  extrasOf
} from "../../src/delivery/AgentTask.ts"
import { branches_max } from "../../src/run/Branch.ts"
import { actorKey, addressKey } from "../../src/value/Ids.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { appended } from "../../src/value/ShortList.ts"
import type { Store, StoredConversation, StoredTask } from "./EphemeralStore.ts"
import {
  EphemeralStore,
  tenantKey,
  enqueueMessage,
  leaseMessage,
  isHead,
  indexAfter
} from "./EphemeralStore.ts"

const page_max = 500

const ordinalOf = ({ task }: StoredTask): number => task.ordinal

/**
 * The task that was accepted before with this idempotency key; undefined if the key is new or there is none. Fails with
 * IdempotencyConflict where that task was another one.
 */
const acceptedBefore = (store: Store, task: NewTask) => {
  const key = task.idempotency_key
  if (key === undefined) return undefined
  const before = store.accepted.get(tenantKey(task.tenant, key))?.task
  if (before === undefined) return undefined
  return before.message === task.message &&
    before.conversation === task.conversation &&
    before.address.agent === task.address.agent &&
    hasSameExtras(before, task)
    ? Effect.succeed<Accepted>({ task: before, created: false })
    : Effect.fail(new IdempotencyConflict({ key, run_id: before.id }))
}

/** The error with which the task is refused; undefined if it may be accepted. */
const refusalOf = (store: Store, task: NewTask) => {
  const address = addressKey(task.address)
  const stored = store.conversations.get(tenantKey(task.tenant, task.conversation))
  const conversation = stored?.conversation
  const { after = stored?.counts.tasks, must_begin = false } = task
  if (conversation && (must_begin || addressKey(conversation.address) !== address)) {
    return new AddressConflict({ conversation: task.conversation, agent: task.address.agent })
  }
  if (after !== stored?.counts.tasks) return new AgentBusy({ address })
  const waiting = must_begin ? 0 : store.waiting.of(actorKey(task.tenant, task.address))
  if (task.reject_when_busy && waiting > 0) return new AgentBusy({ address })
  if (!must_begin && waiting >= task.waiting_max) {
    return new MailboxFull({ address, waiting_max: task.waiting_max })
  }
  if (store.units > 2 * store.retention.units_max) {
    return new StoreError({ message: "the store in memory is full of runs that are not over" })
  }
  return store.tasks.has(task.id) || store.messages.has(task.message_id)
    ? new StoreError({ message: "the id of the task or of its message is taken" })
    : undefined
}

const conversationOf = (store: Store, task: NewTask, now: number): StoredConversation => {
  const key = tenantKey(task.tenant, task.conversation)
  const known = store.conversations.get(key)
  if (known !== undefined) return known
  const counts = store.counted.get(key) ?? { tasks: 0, messages: 0 }
  const made: StoredConversation = {
    conversation: {
      id: task.conversation,
      tenant: task.tenant,
      address: task.address,
      initiated_by: task.initiated_by,
      ...(task.trigger_event_id === undefined
        ? undefined
        : { trigger_event_id: task.trigger_event_id }),
      begun_by: task.by,
      created_at: now
    },
    ...defined({ title: task.title, metadata: task.metadata }),
    active_at: now,
    counts,
    first: counts.tasks + 1,
    messages: [],
    tasks: []
  }
  store.counted.delete(key)
  store.conversations.set(key, made)
  const others = store.conversationsOf.get(task.tenant)
  if (others === undefined) store.conversationsOf.set(task.tenant, [made.conversation])
  else others.push(made.conversation)
  return made
}

/** The user's message and, of an imported exchange, what was answered. */
const writeMessages = (stored: StoredConversation, request: NewTask, now: number) => {
  const { counts } = stored
  const said = {
    conversation: request.conversation,
    channel_origin: request.channel_origin,
    run_id: request.id,
    created_at: now
  }
  stored.messages = appended(stored.messages, {
    ...said,
    seq: counts.messages++,
    role: request.trigger_event_id === undefined ? "user" : "system",
    content: request.message,
    ...(request.parts === undefined ? undefined : { parts: request.parts })
  })
  const content = request.imported?.answer ?? ""
  if (content === "") return
  const answer = { ...said, seq: counts.messages++, role: "assistant" as const, content }
  stored.messages = appended(stored.messages, answer)
}

const writeTask = (store: Store, request: NewTask, now: number): Accepted => {
  const stored = conversationOf(store, request, now)
  const { conversation, counts, tasks } = stored
  stored.active_at = Math.max(stored.active_at, now)
  const task: AgentTask = {
    id: request.id,
    tenant: request.tenant,
    address: request.address,
    conversation: conversation.id,
    ordinal: ++counts.tasks,
    message: request.message,
    by: request.by,
    ...(request.roles === undefined ? undefined : { roles: request.roles }),
    ...(request.via === undefined ? undefined : { via: request.via }),
    trace_id: request.trace_id,
    ...extrasOf(request),
    status: "pending",
    created_at: now
  }
  writeMessages(stored, request, now)
  const { channel_origin, idempotency_key, posted, tenant } = request
  const accepted: StoredTask = {
    task,
    channel_origin,
    ...defined({
      accepted_as: idempotency_key && tenantKey(tenant, idempotency_key),
      posted_as: posted && tenantKey(tenant, posted)
    })
  }
  stored.tasks = appended(tasks, accepted)
  store.tasks.set(request.id, accepted)
  const actor = actorKey(request.tenant, request.address)
  const waiting = store.waiting.of(actor)
  store.waiting.add(actor, 1)
  if (accepted.accepted_as !== undefined) store.accepted.set(accepted.accepted_as, accepted)
  if (accepted.posted_as !== undefined) {
    const others = store.posted.get(accepted.posted_as) ?? []
    store.posted.set(accepted.posted_as, appended(others, accepted))
  }
  const dispatch = enqueueMessage(
    store,
    {
      id: request.message_id,
      tenant: request.tenant,
      key: addressKey(request.address),
      topic: dispatched_topic,
      agent: task.address.agent,
      payload: { task_id: request.id }
    },
    now,
    false
  )
  const { claim } = request
  if (claim === undefined || waiting > 0 || !isHead(store, dispatch)) {
    return { task, created: true }
  }
  leaseMessage(dispatch, claim, now)
  return { task, created: true, held: true }
}

const accept = (
  store: Store,
  request: NewTask,
  now: number
): ReturnType<TaskStore["Service"]["accept"]> => {
  const before = acceptedBefore(store, request)
  if (before !== undefined) return before
  const refused = refusalOf(store, request)
  if (refused !== undefined) return Effect.fail(refused)
  const accepted = writeTask(store, request, now)
  if (accepted.held !== true) for (const listener of store.written) listener()
  return Effect.succeed(accepted)
}

const make = Effect.map(EphemeralStore, (store) =>
  TaskStore.of({
    accept: (request) =>
      Effect.clockWith((clock) => accept(store, request, clock.currentTimeMillisUnsafe())),
    get: (id) => Effect.sync(() => store.tasks.get(id)?.task),
    read: (tenant, id) =>
      Effect.sync(() => {
        const task = store.tasks.get(id)?.task
        return task?.tenant === tenant ? task : undefined
      }),
    ofConversation: (tenant, conversation, after, limit) =>
      Effect.sync(() => {
        const tasks = store.conversations.get(tenantKey(tenant, conversation))?.tasks ?? []
        const from = indexAfter(tasks, after, ordinalOf)
        return tasks.slice(from, from + Math.min(limit, page_max)).map((stored) => stored.task)
      }),
    newestOrdinal: (tenant, conversation) =>
      Effect.sync(() => {
        const key = tenantKey(tenant, conversation)
        const counts = store.conversations.get(key)?.counts ?? store.counted.get(key)
        return counts?.tasks ?? 0
      }),
    branches: (tenant, conversation) =>
      Effect.sync(() =>
        (store.conversations.get(tenantKey(tenant, conversation))?.tasks ?? [])
          .filter(({ task }) => task.branch !== undefined)
          .slice(-branches_max)
          .map(({ task }) => task)
          .toReversed()
      ),
    posted: (tenant, digest, limit) =>
      Effect.sync(() =>
        (store.posted.get(tenantKey(tenant, digest)) ?? [])
          .slice(-Math.min(limit, page_max))
          .map(({ task }) => task)
          .toReversed()
      ),
    endedBefore: (tenant, conversation, ordinal, limit) =>
      Effect.sync(() => {
        const tasks = store.conversations.get(tenantKey(tenant, conversation))?.tasks ?? []
        const found: Array<AgentTask> = []
        for (const { task } of tasks
          .slice(0, indexAfter(tasks, ordinal - 1, ordinalOf))
          .toReversed()) {
          if (found.length >= Math.min(limit, page_max)) break
          if (task.status === "complete" || task.status === "failed") found.push(task)
        }
        return found
      })
  })
)

export const layer: Layer.Layer<TaskStore, never, EphemeralStore> = Layer.effect(TaskStore, make)
