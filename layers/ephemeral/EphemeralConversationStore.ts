/**
 * Conversations in one process.
 */
import { Effect, Layer } from "effect"
import type { ConversationQuery, ShownRuns } from "../../services/ConversationStore.ts"
import {
  ConversationStore,
  cursorParts,
  looked_max,
  searched_messages_max,
  searched_units_max
} from "../../services/ConversationStore.ts"
import type {
  ConversationItem,
  ConversationMessage,
  ConversationStatus
} from "../../src/conversation/Conversation.ts"
import { shownText } from "../../src/conversation/Conversation.ts"
import type { ConversationId, Tenant } from "../../src/value/Ids.ts"
import { defined } from "../../src/value/PlainObject.ts"
import type { Store, StoredConversation } from "./EphemeralStore.ts"
import { EphemeralStore, indexAfter, tenantKey } from "./EphemeralStore.ts"

const page_max = 500

const statusOf = (store: Store, { tasks }: StoredConversation): ConversationStatus => {
  const open = tasks.find(({ task: { status } }) => status === "pending" || status === "processing")
  if (open === undefined) return "idle"
  const run = store.runs.get(open.task.id)
  if (run?.quarantined !== undefined) return "quarantined"
  const status = run?.status ?? "pending"
  return status === "awaiting_approval" || status === "processing" ? status : "pending"
}

/** The messages of people and agents that are shown and searched, in their order. */
const saidIn = ({ messages }: StoredConversation) =>
  messages.filter(({ role }) => role === "user" || role === "assistant")

const itemOf = (store: Store, stored: StoredConversation): ConversationItem => {
  const { active_at, conversation, counts, metadata, title } = stored
  const last = saidIn(stored).at(-1)
  return {
    ...conversation,
    ...defined({ title, metadata }),
    status: statusOf(store, stored),
    messages: counts.messages,
    ...(last === undefined
      ? undefined
      : {
          last_message: {
            role: last.role === "user" ? ("user" as const) : ("assistant" as const),
            text: shownText(last.content),
            at: last.created_at
          }
        }),
    active_at,
    cursor: `${active_at}.${conversation.id}`
  }
}

const hasWords = (stored: StoredConversation, words: ReadonlyArray<string>): boolean => {
  const said = saidIn(stored)
    .slice(-searched_messages_max)
    .map(({ content }) => content.slice(0, searched_units_max))
  const texts = [stored.title ?? "", ...said].map((text) => text.toLowerCase())
  return words.every((word) => texts.some((text) => text.includes(word.toLowerCase())))
}

const isBehind = ({ active_at, conversation }: StoredConversation, after: string): boolean => {
  const { at, id } = cursorParts(after)
  return active_at < at || (active_at === at && conversation.id < id)
}

/** Those of the query in the order of the list, without regard to words. */
const sorted = (store: Store, { after, begun_by, id, tenant }: ConversationQuery) =>
  (store.conversationsOf.get(tenant) ?? [])
    .flatMap((each) => store.conversations.get(tenantKey(tenant, each.id)) ?? [])
    .filter(
      (stored) =>
        stored.isDeleted !== true &&
        (begun_by === undefined || stored.conversation.begun_by === begun_by) &&
        (id === undefined || stored.conversation.id === id) &&
        (after === undefined || isBehind(stored, after))
    )
    .sort((a, b) => b.active_at - a.active_at || (a.conversation.id < b.conversation.id ? 1 : -1))

const pageOf = (store: Store, query: ConversationQuery) => {
  const limit = Math.min(query.limit, page_max)
  const { words } = query
  const all = sorted(store, query)
  const looked = words === undefined ? all : all.slice(0, looked_max)
  const found = looked.filter((each) => words === undefined || hasWords(each, words))
  const items = found.slice(0, limit).map((each) => itemOf(store, each))
  const last = looked.at(-1)
  const next =
    items.length === limit
      ? items.at(-1)?.cursor
      : looked.length === looked_max && last !== undefined && words !== undefined
        ? itemOf(store, last).cursor
        : undefined
  return { items, ...defined({ next }) }
}

/** The messages that are listed, those of other branches marked. */
const shownOf = (
  store: Store,
  messages: StoredConversation["messages"],
  shown: ShownRuns | undefined
): StoredConversation["messages"] => {
  if (shown === undefined) return messages
  const isCurrent = ({ run_id }: ConversationMessage) => {
    const ordinal = run_id === undefined ? undefined : store.tasks.get(run_id)?.task.ordinal
    return (
      ordinal === undefined ||
      shown.current.some(({ first, last }) => first <= ordinal && ordinal <= last)
    )
  }
  return shown.others
    ? messages.map((each) => (isCurrent(each) ? each : { ...each, superseded: true }))
    : messages.filter(isCurrent)
}

const make = Effect.map(EphemeralStore, (store) => {
  const find = (tenant: Tenant, id: ConversationId) =>
    store.conversations.get(tenantKey(tenant, id))
  return ConversationStore.of({
    get: (tenant, id) => Effect.sync(() => find(tenant, id)?.conversation),
    read: (tenant, id) => Effect.sync(() => find(tenant, id)?.conversation),
    list: (query) => Effect.sync(() => pageOf(store, query)),
    change: (tenant, id, { metadata, title }) =>
      Effect.sync(() => {
        const stored = find(tenant, id)
        if (stored === undefined || stored.isDeleted === true) return false
        Object.assign(stored, defined({ metadata, title }))
        return true
      }),
    messages: (tenant, id, after, limit, shown) =>
      Effect.sync(() => {
        const all = shownOf(store, find(tenant, id)?.messages ?? [], shown)
        const from = indexAfter(all, after, ({ seq }) => seq)
        return all.slice(from, from + Math.min(limit, page_max))
      })
  })
})

export const layer: Layer.Layer<ConversationStore, never, EphemeralStore> = Layer.effect(
  ConversationStore,
  make
)
