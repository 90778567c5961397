/** The routes of conversations: they are read, and messages are sent in them. */
import { Effect, Schema } from "effect"
import { Hex } from "effect/encoding"
import { SecureRandom } from "effect/crypto"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { ConversationMessage } from "../../src/conversation/Conversation.ts"
import * as ConversationOperations from "../../src/operation/ConversationOperations.ts"
import { After } from "../../src/operation/Page.ts"
import { rightRefusal } from "../../src/principal/Rights.ts"
import type { ConversationId } from "../../src/value/Ids.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { recipient } from "../service/MessageEffects.ts"
import { operations } from "../service/ServiceOperations.ts"
import { followingList, lists } from "./FollowedLists.ts"
import type { Rejected } from "./Shell.ts"
import { may } from "./Shell.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import {
  againWith,
  decoded,
  doneOr,
  followedPage,
  nothingHere,
  page_max,
  perform,
  queryOf,
  signedPage,
  to
} from "./SignedPages.ts"
import { addressOf, messages_max, talkPage, talksPage } from "./TalkPages.ts"

const newKey = SecureRandom.SecureRandom.use((random) =>
  Effect.map(random.randomBytes(16), Hex.encode)
)

const talksWith = Effect.fnUntraced(function* (asked: Asked, rejected?: Rejected) {
  const { after, search } = yield* decoded(
    Schema.Struct({
      after: ConversationOperations.list.query.fields.after,
      search: ConversationOperations.list.query.fields.search
    }),
    queryOf(asked, ["after", "search"]),
    {
      status: 422,
      title: "This cannot be searched",
      detail: "A search has 1 to 8 words, of at most 200 characters together."
    }
  )
  const query = {
    ...(after === undefined ? undefined : { after }),
    ...(search === undefined ? undefined : { search })
  }
  const found = yield* perform(operations.conversations, { ...query, limit: page_max }, asked)
  const isFirst = after === undefined && search === undefined && rejected === undefined
  const agents = may(asked.view, "send") ? (yield* perform(operations.agents, {}, asked)).items : []
  return talksPage(asked.view, {
    ...found,
    search,
    agents: agents.map(({ name }) => name),
    message_key: yield* newKey,
    rejected,
    follows: isFirst
      ? yield* followingList(asked, lists.conversations, found, { page: "/conversations" })
      : undefined
  })
})

const talks = followedPage((asked) => talksWith(asked))

const talkId = ({ params }: Asked) =>
  Effect.map(decoded(ConversationOperations.get.params, params, nothingHere), ({ id }) => id)

/** The run of the oldest message that has no answer yet. */
const openRun = (messages: ReadonlyArray<ConversationMessage>) => {
  const answered = new Set(
    messages.flatMap(({ role, run_id }) => (role === "assistant" ? [run_id] : []))
  )
  // An imported message has no run that can be read.
  return messages.find(
    ({ imported, role, run_id }) => role === "user" && imported !== true && !answered.has(run_id)
  )?.run_id
}

const atWork: ReadonlyArray<string | undefined> = ["pending", "processing", "awaiting_approval"]

/** A conversation that was found, as the list of the API has it. Undefined = it is deleted meanwhile. */
const itemOf = ({ view }: Asked, id: ConversationId) =>
  Effect.map(
    ConversationStore.use((store) => store.list({ tenant: view.principal.tenant, id, limit: 1 })),
    ({ items }) => items[0]
  )

const AfterText = Schema.Struct({
  after: Schema.optionalKey(Schema.FiniteFromString.pipe(Schema.decodeTo(After)))
})

const talkWith = Effect.fnUntraced(function* (
  asked: Asked,
  id: ConversationId,
  rejected?: Rejected
) {
  const { after } = yield* decoded(AfterText, queryOf(asked, ["after"]), nothingHere)
  const found = yield* perform(
    operations.messages,
    { id, limit: messages_max + 1, ...(after === undefined ? undefined : { after }) },
    asked
  )
  const messages = found.messages.slice(0, messages_max)
  const item = yield* itemOf(asked, id)
  // What is in quarantine cannot be read.
  const run = atWork.includes(item?.status) ? openRun(messages) : undefined
  const open = run === undefined ? undefined : yield* perform(operations.run, { id: run }, asked)
  return talkPage(asked.view, {
    conversation: found.conversation,
    messages,
    after,
    // One more tells whether there is a next page; a page of large messages is cut by its size.
    next_after: found.messages.length > messages_max ? messages.at(-1)?.seq : found.next_after,
    item,
    open,
    message_key: yield* newKey,
    rejected
  })
})

const talk = signedPage((asked) => Effect.flatMap(talkId(asked), (id) => talkWith(asked, id)))

const nothingSaid = {
  problem: { status: 422, title: "Nothing was said", detail: "A message has a text." }
}

/** Sends the message of a form. */
const sent = Effect.fnUntraced(function* (
  surface: Surface,
  { fields, view: { principal } }: Asked,
  to: { readonly agent: AgentName } | { readonly conversation: ConversationId }
) {
  const refusal = rightRefusal(principal, "send")
  if (refusal !== undefined) return yield* Effect.fail(refusal)
  const { message_key = "", text = "" } = fields
  if (text.trim() === "") return yield* Effect.fail(nothingSaid)
  const agent = yield* recipient(to, principal)
  yield* surface.message(principal)
  return yield* AgentRuntime.use((runtime) =>
    runtime.send(
      {
        ...to,
        agent,
        text,
        channel_origin: "console",
        ...(message_key === "" ? undefined : { idempotency_key: message_key })
      },
      principal
    )
  )
})

const begin = (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const again = againWith(asked, (rejected) => talksWith(asked, rejected))
      const agent = Schema.decodeUnknownOption(AgentName)(asked.fields["agent"])
      if (agent._tag === "None") return yield* again("Say which agent it is for.", 422)
      return yield* doneOr(
        surface,
        Effect.map(sent(surface, asked, { agent: agent.value }), ({ task }) =>
          to(`${asked.view.path}/conversations/${task.conversation}`)
        ),
        again
      )
    })
  )(surface)

const say = (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const id = yield* talkId(asked)
      const { view } = asked
      return yield* doneOr(
        surface,
        Effect.gen(function* () {
          yield* sent(surface, asked, { conversation: id })
          const item = yield* itemOf(asked, id)
          return to(item === undefined ? `${view.path}/conversations` : addressOf(view, item))
        }),
        againWith(asked, (rejected) => talkWith(asked, id, rejected))
      )
    })
  )(surface)

/** The routes of conversations. */
export const conversations: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/conversations", answer: talks },
  { method: "POST", path: "/console/conversations", answer: begin },
  { method: "GET", path: "/console/conversations/:id", answer: talk },
  { method: "POST", path: "/console/conversations/:id", answer: say }
]
