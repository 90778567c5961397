/**
 * The maps that the ephemeral services share. Private to this room. What is over is kept as long as `ForgottenRuns.ts` says,
 * dead letters as long as `ForgottenLetters.ts` says, and nothing outlives the process.
 */
import { Context, Effect, Layer, Option } from "effect"
import type { Deferred } from "effect"
import type { AmendmentListener } from "../../services/RunJournal.ts"
import type { Approval } from "../../src/approval/Approval.ts"
import type { ChannelBinding } from "../../src/conversation/ChannelBinding.ts"
import type { Conversation, ConversationMessage } from "../../src/conversation/Conversation.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import type {
  DeadLetter,
  DeliveryFailure,
  NewOutboxMessage,
  OutboxMessage
} from "../../src/delivery/Outbox.ts"
import type {
  Address,
  ApprovalId,
  CallId,
  ConversationId,
  MessageId,
  RunId,
  Tenant
} from "../../src/Ids.ts"
import type { Need } from "../../src/run/Needs.ts"
import type { CostEntry } from "../../src/run/Projection.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import type { RunQuarantined } from "../../src/run/Quarantine.ts"
import type { RunStatus } from "../../src/run/RunState.ts"
import type { UnknownCall } from "../../src/run/UnknownCall.ts"

/** A run's head and its events; its length is the number of entries. */
export interface StoredRun {
  readonly run_id: RunId
  readonly tenant: Tenant
  readonly address: Address
  readonly conversation: ConversationId
  readonly ordinal: number
  readonly created_at: number
  /** Replaced by a shorter list of the same when the run begins to wait: see `appendEvents`. */
  entries: Array<JournalEntry>
  status: RunStatus
  /** Only an amendment can advance the run. */
  parkable: boolean
  epoch: number
  owner: string | undefined
  /** What the run needs and its last owner did not host. */
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
}

/** How much a conversation has had, with what was forgotten. */
export interface ConversationCounts {
  /** The ordinal of the last task. */
  tasks: number
  /** The seq of the next message. */
  messages: number
}

export interface StoredConversation {
  /** Replaced by an erasure. */
  conversation: Conversation
  readonly counts: ConversationCounts
  /** The ordinal of the task that began it. */
  readonly first: number
  /** In the order of `seq`, which has gaps where runs were forgotten. */
  messages: Array<ConversationMessage>
  /** In the order of their ordinals, which have such gaps too. */
  tasks: Array<StoredTask>
  /** First bound first. Absent = none. */
  bindings?: ReadonlyArray<ChannelBinding>
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
  /** The same by actor; no list is empty. */
  readonly openOf: Map<string, ReadonlyArray<StoredRun>>
  /** When the lease of an owner ends, in ms since 1970. */
  readonly leases: Map<string, number>
  readonly amended: Set<AmendmentListener>
  readonly tasks: Map<RunId, StoredTask>
  /** Tasks that are neither complete nor failed, by actor. */
  readonly waiting: Map<string, number>
  /** By tenant and idempotency key. */
  readonly accepted: Map<string, StoredTask>
  /** By tenant and conversation. */
  readonly conversations: Map<string, StoredConversation>
  /** Oldest first. */
  readonly conversationsOf: Map<Tenant, Array<Conversation>>
  /** Those in which a run has ended; first the one that has been quiet the longest. */
  readonly rested: Set<StoredConversation>
  /** Runs of conversations that have ended and are still here. */
  ended: number
  /** How many of them are kept, and how many more there are before the oldest ones go. */
  readonly kept: { runs_max: number; more_max: number }
  /** Of conversations that were forgotten, by tenant and conversation: their numbers go on where they are spoken to again. */
  readonly counted: Map<string, ConversationCounts>
  /** Told which runs of a tenant were forgotten. */
  readonly forgotten: Set<(tenant: Tenant, runs: ReadonlySet<RunId>) => void>
  readonly approvals: Map<ApprovalId, StoredApproval>
  /** The pending ones of them, oldest first. */
  readonly pending: Map<ApprovalId, StoredApproval>
  readonly messages: Map<MessageId, StoredMessage>
  readonly keys: Map<string, StoredKey>
  /** Oldest first. */
  readonly dead: Map<string, StoredDeadLetter>
  readonly written: Set<() => void>
  /** Turns that have a cost, by their run. */
  readonly costs: Map<Tenant, Map<RunId, ReadonlyArray<StoredCost>>>
  /** Calls that wait for an operator; no run without one. */
  readonly unknown: Map<RunId, Map<CallId, UnknownCall>>
  /** Rows that services of this room keep for themselves, by the name of their table in SQL, for an erasure. */
  readonly erasable: Map<string, ErasableRows>
  /** The last place given out. */
  place: number
}

/** A row: what it says, and how it is removed. */
export interface ErasableRow {
  readonly value: unknown
  readonly remove: () => void
  /** Writes over what names a subject; absent = the row is removed. */
  readonly replace?: (value: unknown) => void
  /** Of a record that stays: the members in which a person may be named. Absent = it is one text, or texts. */
  readonly texts?: ReadonlySet<string>
  /** Whose it is: it is removed with that subject and with no other. Absent = with whoever it names. */
  readonly whose?: string
}

/** The rows of a tenant. */
type ErasableRows = (tenant: Tenant) => Iterable<ErasableRow>

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

/** Offers rows to erasures, where the service is built with the others; alone, nobody erases anything. */
export const offerRows = (table: string, rows: ErasableRows): Effect.Effect<void> =>
  Effect.map(Effect.serviceOption(EphemeralStore), (store) => {
    if (Option.isSome(store)) store.value.erasable.set(table, rows)
  })

/** The key of a record of one tenant. Neither part holds NUL. */
export const tenantKey = (tenant: Tenant, key: string): string => `${tenant}\0${key}`

/** Where, in a list whose items are in the order of a number, the first item is whose number is greater than `after`. */
export const placeBehind = <A>(
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

/** Appends a message to the end of its key. Wakes no listener. */
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
  // One counter for all keys, so that a key that became empty and was removed does not count from the start again.
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

/** Is it the first message of its key? */
export const isHead = (store: Store, { message, ...stored }: StoredMessage): boolean => {
  const [first] = store.keys.get(tenantKey(message.tenant, message.key))?.waiting ?? []
  return first?.place === stored.place
}

/** A UUID that no other of this store has. */
export const newId = (store: Store): string =>
  `00000000-0000-4000-8000-${(++store.place).toString(16).padStart(12, "0")}`

/** Puts a message of a bound conversation into the outbox, for the channels. Of one that is not bound nothing is put there. */
export const announce = (
  store: Store,
  { conversation: { id, tenant }, bindings = [] }: StoredConversation,
  topic: string,
  payload: OutboxMessage["payload"],
  now: number
): void => {
  if (bindings.length === 0) return
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

/** Gives the message to a claim, and counts the attempt. */
export const hold = (
  stored: StoredMessage,
  claim: { readonly owner: string; readonly lease_ms: number },
  now: number
): void => {
  stored.owner = claim.owner
  stored.leased_until = now + claim.lease_ms
  stored.message = { ...stored.message, attempts: stored.message.attempts + 1 }
}

/** Takes the message out and frees its key for its next message. True = it was the last; the key is forgotten. */
export const removeMessage = (store: Store, stored: StoredMessage): boolean => {
  store.messages.delete(stored.message.id)
  const name = tenantKey(stored.message.tenant, stored.message.key)
  const key = store.keys.get(name)
  key?.waiting.delete(stored)
  return key?.waiting.size === 0 && store.keys.delete(name)
}

const empty = (): Store => ({
  runs: new Map(),
  open: new Set(),
  openOf: new Map(),
  leases: new Map(),
  amended: new Set(),
  tasks: new Map(),
  waiting: new Map(),
  accepted: new Map(),
  conversations: new Map(),
  conversationsOf: new Map(),
  rested: new Set(),
  ended: 0,
  kept: { runs_max: 10_000, more_max: 500 },
  counted: new Map(),
  forgotten: new Set(),
  approvals: new Map(),
  pending: new Map(),
  messages: new Map(),
  keys: new Map(),
  dead: new Map(),
  written: new Set(),
  costs: new Map(),
  unknown: new Map(),
  erasable: new Map(),
  place: 0
})

/** A new store at every build. */
export const layer: Layer.Layer<EphemeralStore> = Layer.effect(EphemeralStore, Effect.sync(empty))
