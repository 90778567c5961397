/**
 * The methods of a service that read: conversations with their messages, files and waiting client calls.
 */
import { Effect, Schema } from "effect"
import { CustomerAgents } from "../../../services/AgentDirectory.ts"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import { BlobStore } from "../../../services/BlobStore.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
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
import { ConversationId } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { conversationFor, isCustomer } from "../assembly/CustomerAccess.ts"

const limit = Schema.optionalKey(Limit)
const readPage = inputReader(Schema.Struct({ limit, after: Schema.optionalKey(ConversationId) }))
const readMessages = inputReader(Schema.Struct({ limit, after: Schema.optionalKey(After) }))
const readDigest = inputReader(FileDigest)

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

/** The calls of a conversation that wait for its client. */
export const clientCalls = Effect.fnUntraced(function* (conversation: string, who: Principal) {
  const by = yield* Entries.entitled(who, "answer")
  const id = yield* Entries.conversationId(conversation, "conversation")
  yield* conversationFor(by, "answer", id)
  return yield* ApprovalDesk.use((desk) => desk.clientCalls(id, by))
})
