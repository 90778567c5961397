/**
 * The maps that the ephemeral services share. Private to this room. `RunEviction.ts` says how long ended runs are kept,
 * `EphemeralDeadLetters.ts` how long dead letters are. Nothing outlives the process.
 */
import { Context, Effect, Layer, Option } from "effect"
import type { BigDecimal } from "effect"
import type { Deferred } from "effect"
import type { Row, RowQuery } from "../../services/Rows.ts"
import type { WebhookHint } from "../../services/Webhooks.ts"
import { webhook_event_topic, webhookKey } from "../../services/Webhooks.ts"
import type { AmendmentListener } from "../../services/RunNews.ts"
import type { Approval } from "../../src/approval/Approval.ts"
import type {
  Conversation,
  ConversationMessage,
  Metadata
} from "../../src/conversation/Conversation.ts"
import type { BudgetAccount } from "../../src/cost/Budget.ts"
import type { RunEraser } from "../../src/erasure/ErasedValue.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import type {
  DeadLetter,
  DeliveryFailure,
  NewOutboxMessage,
  OutboxMessage
} from "../../src/delivery/OutboxMessage.ts"
import { Counts } from "../../src/value/Counts.ts"
import type {
  Address,
  ApprovalId,
  CallId,
  ConversationId,
  MessageId,
  RunId,
  Tenant
} from "../../src/value/Ids.ts"
import type { Need } from "../../src/run/Needs.ts"
import type { CostEntry } from "../../src/run/Projection.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import type { RunQuarantined } from "../../src/run/Quarantine.ts"
import type { RunStatus } from "../../src/run/RunState.ts"
import type { UnknownCall } from "../../src/run/UnknownCall.ts"
import { channelBindings } from "../stores/StoredChannelBindings.ts"
import { questionPosts } from "../stores/StoredNotices.ts"
import { webhooks } from "../stores/StoredWebhooks.ts"

/** A run's head and its events; its length is the number of entries. */
export interface StoredRun {
  readonly run_id: RunId
  readonly tenant: Tenant
  readonly address: Address
  /** `actorKey` of tenant and address. */
  readonly actor: string
  readonly conversation: ConversationId
  readonly ordinal: number
  readonly created_at: number
  /** Replaced by a copy of the same entries that takes less memory, when the run begins to wait (`appendEvents`). */
  entries: Array<JournalEntry>
  /** About how many UTF-16 units they have. */
  units: number
  status: RunStatus
  /** True while only an amendment can advance the run. */
  parkable: boolean
  epoch: number
  owner: string | undefined
  /** What the run needs and its last owner did not host; empty if that is not known. */
  needs: ReadonlyArray<Need>
  /** Completed at the end of the transaction that holds the run; other writers wait for it. */
  held: Deferred.Deferred<void> | undefined
  /** Why the journal does not fold, and since when, in ms since 1970. */
  quarantined: { readonly why: RunQuarantined; readonly at: number } | undefined
}

export interface StoredTask {
  task: AgentTask
  readonly channel_origin: string
  /** Its key in `Store.accepted`. */
  readonly accepted_as?: string
  /** Its key in `Store.posted`. */
  readonly posted_as?: string
}

/** How many tasks and messages a conversation has had, including forgotten ones. */
export interface ConversationCounts {
  /** The ordinal of the last task. */
  tasks: number
  /** The seq of the next message. */
  messages: number
}

export interface StoredConversation {
  /** An erasure replaces it. */
  conversation: Conversation
  title?: string
  metadata?: Metadata
  /** When a message or an answer was last written, in ms since 1970. */
  active_at: number
  /** It was erased as a whole: lists leave it out. */
  isDeleted?: true
  readonly counts: ConversationCounts
  /** The ordinal of the conversation's first task. It is 1, unless an earlier conversation with the same id was forgotten. */
  readonly first: number
  /** In the order of `seq`, which has gaps where runs were forgotten. */
  messages: Array<ConversationMessage>
  /** In the order of their ordinals, which have gaps for the same reason. */
  tasks: Array<StoredTask>
}

interface StoredApproval {
  /** Increases from record to record: a cursor that stays valid when records leave a list. */
  readonly place: number
  record: Approval
}

export interface StoredMessage {
  message: OutboxMessage
  /** Increases from message to message; decides which of two that are due at the same time is older. */
  readonly place: number
  due_at: number
  owner: string | undefined
  /** In ms since 1970; 0 = free. */
  leased_until: number
  readonly failures: Array<DeliveryFailure>
}

interface StoredKey {
  /** In the order of `key_seq`. */
  readonly waiting: Set<StoredMessage>
}

export interface Store {
  readonly runs: Map<RunId, StoredRun>
  /** Runs that have not ended, oldest first. */
  readonly open: Set<StoredRun>
  /** The runs that have not ended, by actor; no list is empty. */
  readonly openOf: Map<string, ReadonlyArray<StoredRun>>
  /** Owners with a lease: since when, when they last extended it, and when it ends, in ms since 1970. */
  readonly leases: Map<
    string,
    { readonly since: number; readonly seen_at: number; readonly until: number }
  >
  readonly amended: Set<AmendmentListener>
  readonly tasks: Map<RunId, StoredTask>
  /** The number of tasks that are neither complete nor failed, by actor; never 0. */
  readonly waiting: Counts
  /** By tenant and digest of what was posted, oldest first. */
  readonly posted: Map<string, Array<StoredTask>>
  /** By tenant and idempotency key. */
  readonly accepted: Map<string, StoredTask>
  /** By tenant and conversation. */
  readonly conversations: Map<string, StoredConversation>
  /** Oldest first. */
  readonly conversationsOf: Map<Tenant, Array<Conversation>>
  /** The conversations in which a run has ended, the one that has been quiet for the longest time first. */
  readonly byLastEnd: Set<StoredConversation>
  /** The number of ended runs that are stored, not counting runs without a conversation. */
  ended: number
  /**
   * `runs_max`: how many ended runs are kept. `more_max`: by how many more that may be exceeded before the oldest are forgotten.
   * `units_max`: how many UTF-16 units the journals of all runs may have before the oldest ended ones are forgotten; where that does
   * not help, twice as many are the most at which a message is accepted.
   */
  readonly retention: { runs_max: number; more_max: number; units_max: number }
  /** About how many UTF-16 units the journals of all runs have. */
  units: number
  /**
   * The counts of forgotten conversations, by tenant and conversation. If such a conversation gets another message, its numbers
   * continue.
   */
  readonly counted: Map<string, ConversationCounts>
  /** Listeners that are called with the runs of a tenant that were forgotten. */
  readonly evictionListeners: Set<(tenant: Tenant, runs: ReadonlySet<RunId>) => void>
  readonly approvals: Map<ApprovalId, StoredApproval>
  /** The pending approvals, oldest first. */
  readonly pending: Map<ApprovalId, StoredApproval>
  readonly messages: Map<MessageId, StoredMessage>
  readonly keys: Map<string, StoredKey>
  /** Oldest first. */
  readonly dead: Map<string, StoredDeadLetter>
  readonly written: Set<() => void>
  /** The costs of turns and tools, by tenant and run. */
  readonly costs: Map<Tenant, Map<RunId, ReadonlyArray<StoredCost>>>
  /** What holders have of budgets, by `budgetKey`. */
  readonly budgets: Map<string, StoredBudget>
  /** Those in which something is reserved, by run and place. */
  readonly reserved: Map<string, ReadonlyArray<StoredBudget>>
  /** The calls of unknown outcome, which wait for an operator, by run; no map is empty. */
  readonly unknown: Map<RunId, Map<CallId, UnknownCall>>
  /** The rows of stores that are written once, by table: of those that were asked for. */
  readonly tables: Map<string, KeptRows>
  /** Access for an erasure to the rows that other services of this room keep, by the name of their table in SQL. */
  readonly erasable: Map<string, ErasableRows>
  /** The last place that was assigned. */
  place: number
}

/** The rows of one table of `EphemeralRows`. */
interface KeptRows {
  find(query: RowQuery): ReadonlyArray<Row>
  drop(row: Row): void
}

/** A row as an erasure sees it: its content, and how to remove or overwrite it. */
export interface ErasableRow {
  readonly value: unknown
  readonly remove: () => void
  /** Stores the value after the subject's name was overwritten in it. Absent = the row is removed instead. */
  readonly replace?: (value: unknown) => void
  /** As `replace`, but it overwrites the name itself, and gives whether there was anything to overwrite. */
  readonly mark?: (eraser: RunEraser) => boolean
  /**
   * For a row that is overwritten: the members in which a person may be named. Absent = the value is one text, or consists of
   * texts.
   */
  readonly texts?: ReadonlySet<string>
  /**
   * The subject who owns the row: it is removed with that subject only. Absent = it is removed with each subject that it names.
   */
  readonly whose?: string
}

/** Gives the rows of a tenant. */
type ErasableRows = (tenant: Tenant) => Iterable<ErasableRow>

export interface StoredBudget {
  readonly account: BudgetAccount
  spent: BigDecimal.BigDecimal
  /** What is reserved, by run and place. */
  readonly holds: Map<string, { readonly run: RunId; readonly amount: BigDecimal.BigDecimal }>
}

export interface StoredCost extends CostEntry {
  readonly run_id: RunId
  readonly at: number
}

interface StoredDeadLetter {
  letter: DeadLetter
  readonly message: OutboxMessage
}

export class EphemeralStore extends Context.Service<EphemeralStore, Store>()(
  "troupe/layers/ephemeral/EphemeralStore"
) {}

/** Registers rows for erasures, if the service is built over an `EphemeralStore`. Without one, nobody erases anything. */
export const offerRows = (table: string, rows: ErasableRows): Effect.Effect<void> =>
  Effect.map(Effect.serviceOption(EphemeralStore), (store) => {
    if (Option.isSome(store)) store.value.erasable.set(table, rows)
  })

/** The key of a record of one tenant. Neither part contains NUL. */
export const tenantKey = (tenant: Tenant, key: string): string => `${tenant}\0${key}`

/** The index of the first item whose number is greater than `after`, in a list sorted by that number. */
export const indexAfter = <A>(
  list: ReadonlyArray<A>,
  after: number,
  numberOf: (item: A) => number
): number => {
  let from = 0
  let to = list.length
  while (from < to) {
    const middle = (from + to) >> 1
    const item = list[middle]
    if (item !== undefined && numberOf(item) > after) to = middle
    else from = middle + 1
  }
  return from
}

/** Appends a message to the queue of its key. It wakes no listener. */
export const enqueueMessage = (
  store: Store,
  message: NewOutboxMessage,
  now: number,
  replayed: boolean,
  failures: ReadonlyArray<DeliveryFailure> = []
): StoredMessage => {
  const name = tenantKey(message.tenant, message.key)
  let key = store.keys.get(name)
  if (key === undefined) store.keys.set(name, (key = { waiting: new Set() }))
  // All keys share one counter, so that the numbers of a key that was emptied and removed do not start again.
  const place = ++store.place
  const stored: StoredMessage = {
    message: {
      id: message.id,
      tenant: message.tenant,
      key: message.key,
      key_seq: place,
      topic: message.topic,
      ...(message.agent === undefined ? undefined : { agent: message.agent }),
      payload: message.payload,
      attempts: 0,
      created_at: now,
      replayed
    },
    place,
    due_at: now,
    owner: undefined,
    leased_until: 0,
    failures: [...failures]
  }
  key.waiting.add(stored)
  store.messages.set(message.id, stored)
  return stored
}

/** Whether the message is the first one of its key. */
export const isHead = (store: Store, { message, ...stored }: StoredMessage): boolean => {
  const [first] = store.keys.get(tenantKey(message.tenant, message.key))?.waiting ?? []
  return first?.place === stored.place
}

/** A UUID that is unique in this store. */
export const newId = (store: Store): string =>
  `00000000-0000-4000-8000-${(++store.place).toString(16).padStart(12, "0")}`

/** The rows of the channels of a conversation. */
export const boundOf = (
  { tables }: Store,
  { conversation: { id, tenant } }: StoredConversation
): ReadonlyArray<Row> =>
  tables.get(channelBindings.name)?.find({ where: { tenant, conversation: id } }) ?? []

/** Whether the question stands in a channel. */
export const isPosted = ({ tables }: Store, { id, tenant }: Approval): boolean =>
  (tables.get(questionPosts.name)?.find({ where: { tenant, approval: id }, limit: 1 }) ?? [])
    .length > 0

/** Removes the channels of a conversation; gives how many there were. */
export const unbind = (store: Store, stored: StoredConversation): number => {
  const rows = boundOf(store, stored)
  for (const row of rows) store.tables.get(channelBindings.name)?.drop(row)
  return rows.length
}

/**
 * Enqueues a message for the channels of a conversation and wakes the relays. It does nothing if the conversation has no
 * bindings, unless something of it stands in a channel (`posted`).
 */
export const announce = (
  store: Store,
  stored: StoredConversation,
  topic: string,
  payload: OutboxMessage["payload"],
  now: number,
  posted = false
): void => {
  if (!posted && boundOf(store, stored).length === 0) return
  const { id, tenant } = stored.conversation
  const message = {
    id: newId(store) as MessageId,
    tenant,
    key: `conversation/${id}`,
    topic,
    payload
  }
  enqueueMessage(store, message, now, false)
  for (const listener of store.written) listener()
}

/** Enqueues what webhooks are told of a run, and wakes the relays. It does nothing if the tenant has no enabled webhook. */
export const publish = (
  store: Store,
  { run_id, tenant }: Pick<StoredRun, "run_id" | "tenant">,
  hint: WebhookHint,
  now: number
): void => {
  const enabled = { tenant, status: webhooks.columns.status.write("enabled") }
  if ((store.tables.get(webhooks.name)?.find({ where: enabled, limit: 1 }) ?? []).length === 0)
    return
  const message = {
    id: newId(store) as MessageId,
    tenant,
    key: webhookKey(run_id),
    topic: webhook_event_topic,
    payload: { ...hint, run: run_id }
  }
  enqueueMessage(store, message, now, false)
  for (const listener of store.written) listener()
}

/** Assigns the message to a claim, and counts the attempt. */
export const leaseMessage = (
  stored: StoredMessage,
  claim: { readonly owner: string; readonly lease_ms: number },
  now: number
): void => {
  stored.owner = claim.owner
  stored.leased_until = now + claim.lease_ms
  stored.message = { ...stored.message, attempts: stored.message.attempts + 1 }
}

/** Removes the message and frees its key for the next one. True if it was the last one; the key is removed then. */
export const removeMessage = (store: Store, stored: StoredMessage): boolean => {
  store.messages.delete(stored.message.id)
  const name = tenantKey(stored.message.tenant, stored.message.key)
  const key = store.keys.get(name)
  key?.waiting.delete(stored)
  return key?.waiting.size === 0 && store.keys.delete(name)
}

const empty = (units_max: number): Store => ({
  runs: new Map(),
  open: new Set(),
  openOf: new Map(),
  leases: new Map(),
  amended: new Set(),
  tasks: new Map(),
  waiting: new Counts(),
  posted: new Map(),
  accepted: new Map(),
  conversations: new Map(),
  conversationsOf: new Map(),
  byLastEnd: new Set(),
  ended: 0,
  retention: { runs_max: 10_000, more_max: 500, units_max },
  units: 0,
  counted: new Map(),
  evictionListeners: new Set(),
  approvals: new Map(),
  pending: new Map(),
  messages: new Map(),
  keys: new Map(),
  dead: new Map(),
  written: new Set(),
  costs: new Map(),
  budgets: new Map(),
  reserved: new Map(),
  unknown: new Map(),
  tables: new Map(),
  erasable: new Map(),
  place: 0
})

/** How many UTF-16 units the journals of all runs may have (`Store.retention`). Whoever composes a process knows its heap. */
export const StoredUnitsMax: Context.Reference<number> = Context.Reference<number>(
  "troupe/ephemeral/StoredUnitsMax",
  { defaultValue: () => Infinity }
)

/** Each build of the layer starts with an empty store. */
export const layer: Layer.Layer<EphemeralStore> = Layer.effect(
  EphemeralStore,
  Effect.map(StoredUnitsMax, empty)
)

/** A task is no longer found by what its sender posted. */
export const forgetPosted = ({ posted }: Store, task: StoredTask): void => {
  const { posted_as = "" } = task
  const others = posted.get(posted_as)?.filter((each) => each !== task)
  if (others === undefined || others.length === 0) posted.delete(posted_as)
  else posted.set(posted_as, others)
}
