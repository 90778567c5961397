/**
 * Erases subjects in one process. An erasure is one step, during which nothing else runs. Digests are random, because the store
 * is lost with the process; within one erasure, the same text has the same digest.
 */
import { Clock, Effect, Layer } from "effect"
import { BlobStore } from "../../services/BlobStore.ts"
import type { ErasedConversation, ErasureRequest } from "../../services/SubjectErasure.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { dispatched_topic } from "../../services/TaskStore.ts"
import type { ErasureRecord, ErasureReport } from "../../src/erasure/Erasure.ts"
import { ErasureId, SubjectIsActive, waiting_max } from "../../src/erasure/Erasure.ts"
import type { RunEraser } from "../../src/erasure/ErasedValue.ts"
import {
  codesIn,
  erasedEvent,
  erasedMember,
  markOf,
  markText,
  namesIn,
  textsWithoutNames
} from "../../src/erasure/ErasedValue.ts"
import {
  conversationEraser,
  holdsId,
  holdsText,
  soughtTexts,
  subjectEraser
} from "../../src/erasure/SubjectEraser.ts"
import type { ConversationMessage } from "../../src/conversation/Conversation.ts"
import { ConversationNotFound } from "../../src/conversation/Conversation.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import { listenIn } from "../../src/value/Listeners.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { Store, StoredConversation, StoredRun, StoredTask } from "./EphemeralStore.ts"
import {
  EphemeralStore,
  newId,
  offerRows,
  removeMessage,
  forgetPosted,
  tenantKey,
  unbind
} from "./EphemeralStore.ts"

const page_max = 500
const counted_max = 1_000

interface Erasing {
  readonly store: Store
  readonly tenant: Tenant
  /** Empty = one conversation is erased. */
  readonly subject: string
  readonly eraser: RunEraser
  readonly count: (table: string, rows: number) => void
}

/**
 * What belongs to a subject: runs by their ids, conversations that are the subject's as a whole, and all conversations that have
 * one of these runs or are the subject's.
 */
interface Owned {
  readonly runs: Set<RunId>
  readonly whole: Set<StoredConversation>
  readonly touched: Set<StoredConversation>
}

const isOver = ({ task: { status } }: StoredTask): boolean =>
  status === "complete" || status === "failed"

const conversationsOf = ({ store, tenant }: Erasing): ReadonlyArray<StoredConversation> =>
  [...store.conversations.values()].filter(({ conversation }) => conversation.tenant === tenant)

const findOwned = (erasing: Erasing): Owned => {
  const { eraser, subject } = erasing
  const owned: Owned = { runs: new Set(), whole: new Set(), touched: new Set() }
  for (const stored of conversationsOf(erasing)) {
    const { address, begun_by, id } = stored.conversation
    const isWhole = begun_by === subject || eraser.names(id) || eraser.names(address.key)
    if (isWhole) owned.whole.add(stored)
    for (const { task } of stored.tasks) {
      if (!isWhole && task.by !== subject) continue
      owned.runs.add(task.id)
      owned.touched.add(stored)
    }
    if (isWhole) owned.touched.add(stored)
  }
  const ids = new Set<string>([...owned.whole].map(({ conversation: { id } }) => id))
  for (const fork of conversationsOf(erasing)) {
    const [first] = fork.tasks
    const { conversation, sender } = first?.task.forked ?? {}
    if (first === undefined || conversation === undefined) continue
    if (sender !== subject && !ids.has(conversation)) continue
    // It has its conversation for itself.
    owned.runs.add(first.task.id)
    owned.whole.add(fork)
    owned.touched.add(fork)
  }
  return owned
}

const activeIn = (store: Store, conversations: Iterable<StoredConversation>): Array<RunId> => {
  const active: Array<RunId> = []
  for (const { tasks } of conversations) {
    for (const each of tasks) {
      const isAtRest = store.runs.get(each.task.id)?.quarantined !== undefined
      if (!isOver(each) && !isAtRest) active.push(each.task.id)
    }
  }
  return active.slice(0, waiting_max)
}

/** Erases the events of a run. Gives the number of overwritten events. */
const eraseEvents = (run: StoredRun, eraser: RunEraser): number => {
  const codes = codesIn(run.entries.map(({ event }) => event))
  let written = 0
  run.entries = run.entries.map((entry) => {
    const event = erasedEvent(entry.event, codes, eraser) as RunEvent
    if (JSON.stringify(event) === JSON.stringify(entry.event)) return entry
    written++
    return { ...entry, event }
  })
  return written
}

const erasedTask = (task: AgentTask, codes: ReadonlySet<string>, eraser: RunEraser): AgentTask => {
  const { conversation, id, tenant, status, by, ...said } = task
  const erased = erasedMember("task", said, codes, eraser) as typeof said
  const isErasedToo = eraser.whole || namesIn(by, eraser)
  return {
    ...erased,
    conversation,
    id,
    tenant,
    status,
    by: isErasedToo ? markText(eraser, by) : by
  }
}

const eraseRun = ({ count, eraser, store }: Erasing, run: RunId) => {
  const stored = store.runs.get(run)
  const task = store.tasks.get(run)
  const codes = codesIn(stored?.entries.map(({ event }) => event) ?? [])
  if (stored !== undefined) count("run_events", eraseEvents(stored, eraser))
  if (task !== undefined) {
    task.task = erasedTask(task.task, codes, eraser)
    count("agent_tasks", 1)
    forgetPosted(store, task)
    for (const [key, each] of store.accepted) if (each === task) store.accepted.delete(key)
  }
  for (const [id, { record }] of store.approvals) {
    if (record.run_id !== run) continue
    store.approvals.delete(id)
    store.pending.delete(id)
    count("approvals", 1)
  }
}

const eraseOwned = (erasing: Erasing, stored: StoredConversation, owned: Owned): void => {
  const { count, eraser, store } = erasing
  const isWhole = owned.whole.has(stored)
  stored.messages = stored.messages.map((message) => {
    const { channel_origin, content, conversation, created_at, role, run_id, seq } = message
    const isTheirs = run_id === undefined ? isWhole : owned.runs.has(run_id)
    if (!isTheirs) return message
    count("conversation_messages", 1)
    const kept = { conversation, seq, role, channel_origin, created_at }
    return {
      ...kept,
      content: markText(eraser, content),
      ...(run_id === undefined ? undefined : { run_id })
    }
  })
  if (!isWhole) return
  delete stored.title
  delete stored.metadata
  count("conversations", 1)
  rename(store, stored, eraser)
}

/** Marks who began the conversation, and replaces its id and key where they contain the subject's name. */
const rename = (store: Store, stored: StoredConversation, eraser: RunEraser): void => {
  const before = stored.conversation
  const { address, begun_by, id, tenant } = before
  const renamed = { id: id, key: address.key }
  const conversation = {
    ...before,
    id: eraser.rename(renamed.id) as typeof id,
    address: { ...address, key: eraser.rename(renamed.key) as typeof address.key },
    ...(begun_by === undefined ? undefined : { begun_by: markText(eraser, begun_by) })
  }
  stored.conversation = conversation
  const list = store.conversationsOf.get(tenant) ?? []
  const at = list.indexOf(before)
  if (at >= 0) list[at] = conversation
  store.conversations.delete(tenantKey(tenant, id))
  store.conversations.set(tenantKey(tenant, conversation.id), stored)
  stored.messages = stored.messages.map((each) => ({ ...each, conversation: conversation.id }))
  for (const each of stored.tasks) {
    const { address: sent } = each.task
    const key = eraser.rename(sent.key) as typeof sent.key
    each.task = { ...each.task, conversation: conversation.id, address: { ...sent, key } }
    const run = store.runs.get(each.task.id)
    if (run === undefined) continue
    store.runs.set(run.run_id, {
      ...run,
      conversation: conversation.id,
      address: each.task.address
    })
  }
}

/** Erases the rows of other stores that belong to these runs or conversations, or that name the subject. */
const sweep = (erasing: Erasing, owned: Owned): void => {
  const { count, eraser, store, subject, tenant } = erasing
  const whole = [...owned.whole].map(({ conversation }) => conversation.id)
  // The id of a conversation may be any word: where no subject is erased, it counts only where it stands as the id of one.
  const ids = new Set<string>(subject === "" ? owned.runs : [...owned.runs, ...whole])
  const members = whole.flatMap((id) => [
    `"conversation":"${id}"`,
    `"session":"${id}"`,
    `"conversation/${id}"`
  ])
  const holdsSubjectId = (value: unknown): boolean => {
    const text = JSON.stringify(value)
    if (holdsId(text, ids)) return true
    // A member of a record that may be stored as a text.
    const said = text.replaceAll("\\", "")
    return subject === "" && members.some((member) => said.includes(member))
  }
  const isOfSubject = (value: unknown): boolean => namesIn(value, eraser) || holdsSubjectId(value)
  for (const stored of store.messages.values()) {
    if (stored.message.tenant !== tenant) continue
    const { key, payload, topic } = stored.message
    const said = [key, payload, stored.failures]
    // A dispatch is matched by ids only: it contains nothing else, and a task of somebody else needs it to begin.
    if (!(topic === dispatched_topic ? holdsSubjectId(said) : isOfSubject(said))) continue
    removeMessage(store, stored)
    count("outbox", 1)
  }
  for (const [id, { letter, message }] of store.dead) {
    const { key, payload } = message
    const { failures, resolved_by = "", resolved_reason = "" } = letter
    const said = [key, payload, failures, resolved_by, resolved_reason]
    if (letter.tenant !== tenant || !isOfSubject(said)) continue
    store.dead.delete(id)
    count("dead_letters", 1)
  }
  for (const stored of conversationsOf(erasing)) {
    const { metadata, title } = stored
    if (owned.whole.has(stored) || !namesIn([title, metadata], eraser)) continue
    count("conversations", 1)
    if (title !== undefined && namesIn(title, eraser)) stored.title = markText(eraser, title)
    if (namesIn(metadata, eraser)) stored.metadata = { ...markOf(eraser, metadata) }
  }
  for (const name of store.counted.keys()) {
    const [whose, id = ""] = name.split("\0")
    if (whose === tenant && eraser.names(id)) store.counted.delete(name)
  }
  for (const [table, rows] of store.erasable) {
    for (const { mark, remove, replace, texts, value, whose } of Array.from(rows(tenant))) {
      if (mark !== undefined) {
        if (!mark(eraser)) continue
      } else if (replace === undefined) {
        if (!(whose === undefined ? isOfSubject(value) : whose === subject)) continue
        remove()
      } else {
        const marked = textsWithoutNames(value, eraser, texts)
        if (marked === value) continue
        replace(marked)
      }
      count(table, 1)
    }
  }
}

const no_codes: ReadonlySet<string> = new Set()

const erasedMessage = (message: ConversationMessage, eraser: RunEraser): ConversationMessage => {
  const { channel_origin, conversation, created_at, role, run_id, seq, ...said } = message
  if (!namesIn(said, eraser)) return message
  const erased = erasedMember("said", said, no_codes, eraser) as typeof said
  const kept = { channel_origin, conversation, created_at, role, seq }
  return { ...erased, ...kept, ...(run_id === undefined ? undefined : { run_id }) }
}

/**
 * Erases the subject's name in runs and messages of others. Gives the runs that are not over, at most `waiting_max`: their
 * conversations are left unchanged.
 */
const eraseNames = (erasing: Erasing, owned: Owned): ReadonlyArray<RunId> => {
  const { count, eraser, store } = erasing
  const named = { ...eraser, whole: false }
  const waiting: Array<RunId> = []
  for (const stored of conversationsOf(erasing)) {
    const texts = [stored.messages, stored.tasks.map(({ task }) => task)]
    const runs = stored.tasks.flatMap(({ task }) => store.runs.get(task.id) ?? [])
    const events = runs.flatMap(({ entries }) => entries.map(({ event }) => event))
    if (!namesIn([texts, events], eraser)) continue
    const active = activeIn(store, [stored])
    waiting.push(...active)
    if (active.length > 0) continue
    owned.touched.add(stored)
    for (const run of runs) count("run_events", eraseEvents(run, named))
    stored.messages = stored.messages.map((each) => erasedMessage(each, named))
    for (const each of stored.tasks) each.task = erasedTask(each.task, no_codes, named)
  }
  return waiting.slice(0, waiting_max)
}

/** The number of rows of each table, at most 1,000, that still contain the name. */
const scan = ({ store, subject, tenant }: Erasing): ErasureReport["found"] => {
  const sought = soughtTexts(subject)
  const ofTenant = <A extends { readonly tenant: Tenant }>(all: Iterable<A>) =>
    [...all].filter((each) => each.tenant === tenant)
  const tables: ReadonlyArray<readonly [string, ReadonlyArray<unknown>]> = [
    ["run_events", ofTenant(store.runs.values()).flatMap(({ entries }) => entries)],
    ["agent_tasks", ofTenant([...store.tasks.values()].map(({ task }) => task))],
    ["approvals", ofTenant([...store.approvals.values()].map(({ record }) => record))],
    ["outbox", ofTenant([...store.messages.values()].map(({ message }) => message))],
    ["dead_letters", ofTenant([...store.dead.values()].map(({ letter }) => letter))],
    [
      "conversations",
      [...store.conversations.values()].filter(({ conversation }) => conversation.tenant === tenant)
    ],
    ...[...store.erasable].map(
      ([table, rows]) => [table, [...rows(tenant)].map(({ value }) => value)] as const
    )
  ]
  return tables
    .map(([table, rows]) => ({
      table,
      rows: Math.min(
        rows.filter((row) => holdsText(JSON.stringify(row), sought)).length,
        counted_max
      )
    }))
    .filter(({ rows }) => rows > 0)
}

const randomDigest = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) =>
    byte.toString(16).padStart(2, "0")
  ).join("")

/** Gives each text a random digest, the same one each time. */
const digestOnce = () => {
  const digests = new Map<string, string>()
  return (text: string): string => {
    const digest = digests.get(text) ?? randomDigest()
    digests.set(text, digest)
    return digest
  }
}

const eraserOf = (subject: string): RunEraser => subjectEraser(subject, digestOnce())

const beginCounts = () => {
  const counts = new Map<string, number>()
  const count = (table: string, rows: number) => {
    if (rows > 0) counts.set(table, (counts.get(table) ?? 0) + rows)
  }
  return { counts, count }
}

interface Deleting {
  readonly store: Store
  readonly blobs: BlobStore["Service"]
  readonly records: Array<ErasureRecord>
  readonly notifyErased: (erased: ErasedConversation) => void
}

/** Erases one conversation, in one step, and before it the forks of its runs. */
const conversationEraserOf = ({ blobs, notifyErased, records, store }: Deleting) => {
  const eraseOne = Effect.fn("SubjectErasure.eraseConversation")(function* ({
    conversation,
    tenant,
    ...who
  }: ErasedConversation & Pick<ErasureRequest, "by" | "via">) {
    const stored = store.conversations.get(tenantKey(tenant, conversation))
    if (stored === undefined || stored.isDeleted === true) {
      return yield* new ConversationNotFound({ id: conversation })
    }
    const active = activeIn(store, [stored])
    if (active.length > 0) return yield* new SubjectIsActive({ runs: active })
    const at = yield* Clock.currentTimeMillis
    const eraser = conversationEraser(conversation, digestOnce())
    const { count, counts } = beginCounts()
    const whole = new Set([stored])
    const runs = new Set(stored.tasks.map(({ task }) => task.id))
    const owned: Owned = { runs, whole, touched: whole }
    const erasing: Erasing = { store, tenant, subject: "", eraser, count }
    yield* blobs.release(tenant, [...runs])
    count("channel_bindings", unbind(store, stored))
    sweep(erasing, owned)
    for (const run of runs) eraseRun(erasing, run)
    eraseOwned(erasing, stored, owned)
    stored.isDeleted = true
    notifyErased({ tenant, conversation })
    records.push({
      id: ErasureId.make(newId(store)),
      tenant,
      subject: eraser.digest(conversation),
      of: "conversation",
      ...who,
      at,
      ended_at: at,
      erased: Object.fromEntries(counts)
    })
  }, Effect.uninterruptible)
  return Effect.fnUntraced(function* (request: Parameters<typeof eraseOne>[0]) {
    for (const { conversation, isDeleted, tasks } of store.conversations.values()) {
      const forked = tasks[0]?.task.forked
      const isOf =
        conversation.tenant === request.tenant && forked?.conversation === request.conversation
      if (isOf && isDeleted !== true) yield* eraseOne({ ...request, conversation: conversation.id })
    }
    yield* eraseOne(request)
  })
}

const make = Effect.gen(function* () {
  const store = yield* EphemeralStore
  const blobs = yield* BlobStore
  /** Oldest first. */
  const records: Array<ErasureRecord> = []
  yield* offerRows("erasures", (tenant) =>
    Array.from(records.entries())
      .filter(([, record]) => record.tenant === tenant)
      .flatMap(([place, record]) =>
        (["by", "via"] as const)
          .filter((name) => record[name] !== undefined)
          .map((name) => ({
            value: record[name],
            remove: () => undefined,
            replace: (text: unknown) =>
              void (records[place] = { ...(records[place] ?? record), [name]: String(text) })
          }))
      )
  )
  const listeners = new Set<(erased: ErasedConversation | undefined) => void>()
  const notifyErased = (erased: ErasedConversation) => {
    for (const listener of listeners) listener(erased)
  }

  const remains = ["archives, logs, traces, and memory of the process that it has not used again"]
  const eraseConversation = conversationEraserOf({ store, blobs, records, notifyErased })
  const erase = Effect.fn("SubjectErasure.erase")(function* (request: ErasureRequest) {
    const { by, subject, tenant } = request
    const at = yield* Clock.currentTimeMillis
    const eraser = eraserOf(subject)
    const { count, counts } = beginCounts()
    const erasing: Erasing = { store, tenant, subject, eraser, count }
    const owned = findOwned(erasing)
    const active = activeIn(store, owned.touched)
    if (active.length > 0) return yield* new SubjectIsActive({ runs: active })
    const touched = [...owned.touched].map(({ conversation: { id } }) => id)
    const id = ErasureId.make(newId(store))
    const begun = { id, tenant, subject: eraser.digest(subject), by, at }
    const place = records.push({ ...begun, erased: {} }) - 1
    yield* blobs.release(tenant, [...owned.runs])
    count("blob_uses", yield* blobs.withdraw(tenant, subject))
    sweep(erasing, owned)
    for (const run of owned.runs) eraseRun(erasing, run)
    for (const stored of owned.touched) eraseOwned(erasing, stored, owned)
    const waiting = eraseNames(erasing, owned)
    const conversations = [...owned.touched].map(({ conversation: { id } }) => id)
    for (const id of new Set([...touched, ...conversations]))
      notifyErased({ tenant, conversation: id })
    const ended = { ended_at: at, erased: Object.fromEntries(counts) }
    records[place] = { ...(records[place] ?? begun), ...ended }
    const report: ErasureReport = { ...begun, ...ended, waiting, found: scan(erasing), remains }
    return report
  }, Effect.uninterruptible)

  return SubjectErasure.of({
    erase,
    eraseConversation,
    list: ({ after, limit, tenant }) =>
      Effect.sync(() => {
        const newest = records.filter((each) => each.tenant === tenant).reverse()
        const from = after === undefined ? 0 : newest.findIndex(({ id }) => id === after) + 1
        if (after !== undefined && from === 0) return []
        return newest.slice(from, from + Math.min(limit, page_max))
      }),
    onErased: (listener) => listenIn(listeners, listener)
  })
})

export const layer: Layer.Layer<SubjectErasure, never, BlobStore | EphemeralStore> = Layer.effect(
  SubjectErasure,
  make
)
