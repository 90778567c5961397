/** Conversations as a list, and one of them as people read it, with a form that talks to its agent. */
import type {
  Conversation,
  ConversationItem,
  ConversationMessage
} from "../../src/conversation/Conversation.ts"
import { fileText } from "../../src/conversation/Part.ts"
import type { RunSummary } from "../../src/operation/RunSummary.ts"
import { truncateUnits } from "../../src/value/CutText.ts"
import type { Following } from "./Following.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import { memoryHref } from "./MemoryPages.ts"
import type { Rejected, View } from "./Shell.ts"
import { emptyList, fact, form, may, nextPage, page, rejectedNotice, table } from "./Shell.ts"
import { opening } from "./WordedForm.ts"
import { moment, shortId } from "./Words.ts"

/** What a form that sends a message has with it. */
export interface Sending {
  /** Sends it once, however often the form is posted. */
  readonly message_key: string
  readonly rejected?: Rejected | undefined
}

/** A page of conversations, what was searched, and where the next one begins. */
export interface Talks extends Sending {
  readonly items: ReadonlyArray<ConversationItem>
  readonly next_after?: string | undefined
  readonly search?: string | undefined
  /** Undefined = it is not the first page of all, which alone is followed. */
  readonly follows: Following | undefined
  /** Whom whoever looks may talk to. */
  readonly agents: ReadonlyArray<string>
}

const current = "/conversations"

/** How many messages a page has. */
export const messages_max = 50
/** What a page has of one message, in UTF-16 units. */
const message_units_max = 20_000

const statusTag = (status: string) =>
  element(
    "span",
    { class: `tag ${{ awaiting_approval: "wait", quarantined: "bad" }[status] ?? ""}` },
    status.replaceAll("_", " ")
  )

/** The text and the button of a message. */
const messageFields = ({ message_key, rejected }: Sending, label: string): Child => [
  // What follows keeps it: a message that is posted twice is one.
  element("input", {
    type: "hidden",
    name: "message_key",
    value: message_key,
    "hx-morph-skip": ""
  }),
  element("label", { for: "text" }, label),
  element(
    "textarea",
    { id: "text", name: "text", required: true, rows: 3 },
    rejected?.typed["text"] ?? ""
  ),
  element("button", { class: "go" }, "Send")
]

const newConversation = (view: View, { agents, ...sending }: Talks): Child =>
  agents.length > 0 &&
  opening(
    "New conversation …",
    { isOpen: sending.rejected !== undefined },
    form(
      view,
      view.path + current,
      { class: "panel talk" },
      rejectedNotice(sending.rejected),
      element("label", { for: "agent" }, "Agent"),
      element(
        "select",
        { id: "agent", name: "agent" },
        agents.map((name) =>
          element("option", { selected: name === sending.rejected?.typed["agent"] }, name)
        )
      ),
      messageFields(sending, "What do you want to say?")
    )
  )

const searchForm = ({ path }: View, search = "") =>
  element(
    "form",
    { method: "get", action: path + current, class: "search", role: "search" },
    element("input", {
      type: "search",
      name: "search",
      value: search,
      maxlength: 200,
      "aria-label": "Words of a title or of what was said",
      placeholder: "Words of a title or of what was said"
    }),
    element("button", {}, "Search")
  )

/** Where one reads a conversation: its last messages, and room for some more, where it is long. */
export const addressOf = ({ path }: View, { id, messages }: ConversationItem): string =>
  `${path}${current}/${id}${messages > messages_max ? `?after=${messages - messages_max / 2 - 1}` : ""}`

const talkRow = (view: View, item: ConversationItem) => {
  const { active_at, address, begun_by, id, initiated_by, last_message, status, title } = item
  return element(
    "tr",
    { id: `conversation-${id}` },
    element("td", { class: "wide" }, element("a", { href: addressOf(view, item) }, title ?? id)),
    element(
      "td",
      { class: "wide" },
      last_message !== undefined && [
        element("span", { class: "quiet" }, last_message.role === "user" ? "person: " : "agent: "),
        last_message.text
      ]
    ),
    element("td", {}, statusTag(status)),
    element("td", {}, address.agent),
    element("td", {}, begun_by ?? initiated_by),
    element("td", { class: "num" }, moment(active_at, view.now))
  )
}

/** Conversations, those that were active last first. */
export const talksPage = (view: View, talks: Talks): Html => {
  const { follows, items, next_after, search } = talks
  const more = new URLSearchParams({
    ...(search !== undefined && { search }),
    after: next_after ?? ""
  })
  return page(
    view,
    { title: "Conversations", current, follows },
    searchForm(view, search),
    newConversation(view, talks),
    items.length === 0
      ? search === undefined
        ? emptyList("Nobody has said anything yet.", "A message to an agent begins a conversation.")
        : emptyList(
            "None of those that were looked at has these words.",
            "A search looks at the titles and the last messages of 500 conversations at a time."
          )
      : table(
          ["Title", "Last message", "Status", "Agent", "Begun by", "Active"],
          items.map((each) => talkRow(view, each))
        ),
    nextPage(next_after === undefined ? undefined : `${view.path}${current}?${more}`)
  )
}

const sayer = ({ agent, role }: ConversationMessage, { address }: Conversation): string =>
  role === "user" ? "person" : role === "assistant" ? (agent ?? address.agent) : role

const said = (text: string): Child => {
  const shown = truncateUnits(text, message_units_max)
  const missing = text.length - shown.length
  return [
    text !== "" && element("p", { class: "said" }, shown),
    missing > 0 &&
      element(
        "p",
        { class: "quiet" },
        `The last ${missing.toLocaleString("en")} characters are not shown here. The API has all of it.`
      )
  ]
}

const messageItem = (view: View, message: ConversationMessage, of: Conversation) => {
  const { content, created_at, files = [], finish, imported, parts = [], reason } = message
  const { role, run_id, seq, sources = [] } = message
  return element(
    "li",
    { class: `panel ${role === "user" ? "user" : ""}`, id: `message-${seq}` },
    element(
      "div",
      { class: "top" },
      element("b", {}, sayer(message, of)),
      element(
        "span",
        { class: "small quiet" },
        imported === true && "imported, ",
        moment(created_at, view.now),
        run_id !== undefined && [
          ", ",
          element("a", { href: `${view.path}/runs/${run_id}` }, "run ", shortId(run_id))
        ]
      )
    ),
    said(content),
    parts.map((part) =>
      part.type === "text" ? said(part.text) : element("p", { class: "quiet" }, fileText(part))
    ),
    files.map((file) => element("p", { class: "quiet" }, fileText(file))),
    sources.length > 0 && element("p", { class: "quiet small" }, `${sources.length} sources`),
    (finish !== undefined || reason !== undefined) &&
      element("p", {}, element("span", { class: "tag bad" }, reason ?? finish))
  )
}

/** A page of the messages of a conversation. */
export interface Talk extends Sending {
  readonly conversation: Conversation
  /** As lists have it. Absent = it is deleted meanwhile. */
  readonly item: ConversationItem | undefined
  readonly messages: ReadonlyArray<ConversationMessage>
  /** The page begins behind this message. Absent = at the beginning. */
  readonly after?: number | undefined
  readonly next_after?: number | undefined
  /** The oldest run that is not over. Absent = there is none on this page. */
  readonly open: RunSummary | undefined
}

/** What the conversation waits for, and what that means for whoever writes now. */
const waits = (view: View, { item, open }: Talk): Child => {
  const notice = (...content: ReadonlyArray<Child>) => element("div", { class: "notice" }, content)
  if (item?.status === "quarantined") {
    return notice(
      "Its run is in quarantine: an operator has to release it before anything goes on."
    )
  }
  if (open === undefined) return false
  const line = (href: string, text: string) => element("li", {}, element("a", { href }, text))
  const questions = [
    ...open.pending_approvals.map(({ payload }) =>
      line(`${view.path}/inbox/${payload.correlation_id}`, payload.effect_description)
    ),
    ...open.unknown_calls.map(({ tool }) =>
      line(`${view.path}/unknown/${open.id}`, `What became of ${tool}?`)
    )
  ]
  return questions.length > 0
    ? notice(
        "Waits for people. A message that is sent meanwhile waits behind these questions:",
        element("ul", {}, questions)
      )
    : notice(
        "The agent is at work. What it answers comes here, without a script when this is loaded again."
      )
}

const talkForm = (view: View, { after, conversation, next_after, ...sending }: Talk): Child =>
  next_after === undefined &&
  (may(view, "send")
    ? form(
        view,
        `${view.path}${current}/${conversation.id}${after === undefined ? "" : `?after=${after}`}`,
        { class: "panel talk" },
        rejectedNotice(sending.rejected),
        messageFields(sending, "Your message to its agent")
      )
    : element("p", { class: "quiet" }, "You may read it, and not write."))

/** The page follows the run that is not over, until that is. What was refused is on this page alone. */
const followed = (view: View, { after, conversation, open, rejected }: Talk) =>
  open === undefined || rejected !== undefined || !may(view, "follow")
    ? undefined
    : {
        page: `${view.path}${current}/${conversation.id}${after === undefined ? "" : `?after=${after}`}`,
        news: `${view.path}/live?run=${open.id}&after=${open.length - 1}`
      }

/** One conversation. */
export const talkPage = (view: View, talk: Talk): Html => {
  const { after, conversation, item, messages, next_after } = talk
  const here = `${view.path}${current}/${conversation.id}`
  const title = item?.title ?? "Conversation"
  return page(
    view,
    {
      title,
      current,
      follows: followed(view, talk),
      aside: [item !== undefined && statusTag(item.status), shortId(conversation.id)]
    },
    element(
      "dl",
      { class: "facts" },
      fact("Agent", conversation.address.agent),
      fact("Begun by", conversation.begun_by ?? conversation.initiated_by),
      fact("Began", moment(conversation.created_at, view.now)),
      fact("Messages", item?.messages),
      fact(
        "Memory",
        element(
          "a",
          { href: memoryHref(view, conversation.address.agent, conversation.id) },
          "what it remembers"
        )
      )
    ),
    after !== undefined &&
      element(
        "p",
        {},
        element(
          "a",
          {
            href: after < messages_max ? here : `${here}?after=${after - messages_max}`,
            rel: "prev"
          },
          "Earlier messages"
        )
      ),
    element(
      "ol",
      { class: "talk-messages stack" },
      messages.map((each) => messageItem(view, each, conversation))
    ),
    nextPage(
      next_after === undefined ? undefined : `${here}?after=${next_after}`,
      "Later messages"
    ),
    waits(view, talk),
    talkForm(view, talk)
  )
}
