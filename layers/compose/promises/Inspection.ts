/**
 * The methods of a service that read: conversations with their messages, files and waiting client calls, runs, costs, and dead
 * letters, which operators can also replay or discard.
 */
import { Effect, Schema } from "effect"
import { CustomerAgents } from "../../../services/AgentDirectory.ts"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import { BlobStore } from "../../../services/BlobStore.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import { CostLedger } from "../../../services/CostLedger.ts"
import { OutboxReader } from "../../../services/OutboxReader.ts"
import { OutboxReplayer } from "../../../services/OutboxReplayer.ts"
import { RunList } from "../../../services/RunList.ts"
import { CostFilters, LetterFilters, RunFilters } from "../../../src/operation/Filters.ts"
import { After, Limit, limit_default } from "../../../src/operation/Page.ts"
import type { Conversation, ConversationMessage } from "../../../src/conversation/Conversation.ts"
import {
  customerConversation,
  customerMessage,
  isFileForCustomers
} from "../../../src/conversation/CustomerView.ts"
import { FileDigest, FileNotFound, fileTypeOf } from "../../../src/conversation/Part.ts"
import * as Entries from "../../../src/entry/Entries.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import { ConversationId, MessageId } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { conversationFor, isCustomer } from "../assembly/CustomerAccess.ts"

const limit = Schema.optionalKey(Limit)
const readPage = inputReader(Schema.Struct({ limit, after: Schema.optionalKey(ConversationId) }))
const readMessages = inputReader(Schema.Struct({ limit, after: Schema.optionalKey(After) }))
const readRuns = inputReader(RunFilters)
const readCosts = inputReader(CostFilters)
const readLetters = inputReader(LetterFilters)
const readDigest = inputReader(FileDigest)
const readLetter = inputReader(MessageId)

export const runs = Effect.fnUntraced(function* (query: unknown, who: Principal) {
  const { tenant } = yield* Entries.entitled(who, "inspect")
  const { limit = limit_default, ...filters } = yield* readRuns(query, "query")
  return yield* RunList.use((runs) => runs.list({ ...filters, tenant, limit }))
})

/** Lists conversations; a customer gets the members that `CustomerView` lists. */
export const conversations = Effect.fnUntraced(function* (page: unknown, who: Principal) {
  const by = yield* Entries.entitled(who, "follow")
  const { after, limit = limit_default } = yield* readPage(page, "page")
  const store = yield* ConversationStore
  const own = isCustomer(by) ? by.id : undefined
  const found = yield* store.list(by.tenant, limit, after, own)
  if (own === undefined) return found
  const customer_agents = yield* CustomerAgents
  return found
    .filter(({ address }) => customer_agents.includes(address.agent))
    .map((each) => customerConversation(each) as Conversation)
})

/** A file that a run of the conversation refers to, with its bytes. */
export const file = Effect.fnUntraced(function* (
  conversation: unknown,
  given: unknown,
  who: Principal
) {
  const by = yield* Entries.entitled(who, "follow")
  const id = yield* Entries.conversationId(conversation, "conversation")
  const digest = yield* readDigest(given, "digest")
  yield* conversationFor(by, "follow", id)
  const blobs = yield* BlobStore
  const held = yield* blobs.heldBy(by.tenant, id, digest)
  const shown = held.find(({ as }) => !isCustomer(by) || isFileForCustomers(as))
  const data = shown === undefined ? undefined : yield* blobs.read(by.tenant, digest, 0, shown.size)
  if (shown === undefined || data === undefined) return yield* new FileNotFound({ digest })
  const { as: _, ...label } = shown
  return { ...label, type: fileTypeOf(label.media_type), data: new Uint8Array(data) }
})

export const messages = Effect.fnUntraced(function* (
  conversation: unknown,
  page: unknown,
  who: Principal
) {
  const by = yield* Entries.entitled(who, "follow")
  const id = yield* Entries.conversationId(conversation, "conversation")
  const { after = -1, limit = limit_default } = yield* readMessages(page, "page")
  yield* conversationFor(by, "follow", id)
  const rows = yield* ConversationStore.use((store) => store.messages(by.tenant, id, after, limit))
  return isCustomer(by)
    ? rows.flatMap((each) => (customerMessage(each) as ConversationMessage | undefined) ?? [])
    : rows
})

export const costs = Effect.fnUntraced(function* (query: unknown, who: Principal) {
  const { tenant } = yield* Entries.entitled(who, "inspect")
  const {
    by = "agent",
    limit = limit_default,
    run: run_id,
    ...rest
  } = yield* readCosts(query, "query")
  return yield* CostLedger.use((ledger) => ledger.totals({ ...rest, tenant, by, run_id, limit }))
})

export const deadLetters = Effect.fnUntraced(function* (query: unknown, who: Principal) {
  const { tenant } = yield* Entries.entitled(who, "inspect")
  const { limit = limit_default, ...filters } = yield* readLetters(query, "query")
  return yield* OutboxReader.use((reader) => reader.deadLetters({ ...filters, tenant, limit }))
})

export const resolveLetter = Effect.fnUntraced(function* (
  how: "replay" | "discard",
  letter: unknown,
  given: unknown,
  who: Principal
) {
  const { id: by, tenant } = yield* Entries.entitled(who, "redeliver")
  const event_id = yield* readLetter(letter, "event_id")
  const reason = yield* Entries.reason(given, "reason")
  const replayer = yield* OutboxReplayer
  yield* replayer[how]({ tenant, event_id, reason, by })
})

/** The calls of a conversation that wait for its client. */
export const clientCalls = Effect.fnUntraced(function* (conversation: string, who: Principal) {
  const by = yield* Entries.entitled(who, "answer")
  const id = yield* Entries.conversationId(conversation, "conversation")
  yield* conversationFor(by, "answer", id)
  return yield* ApprovalDesk.use((desk) => desk.clientCalls(id, by))
})
