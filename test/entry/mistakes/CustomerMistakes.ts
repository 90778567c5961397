/** The commonest mistakes with conversations of customers: their ids, branches, lists, budgets, and who acts for them. */
import type { Mistake } from "./Mistake.ts"
import { call, starting, streamed } from "./Mistake.ts"

const message = { agent: "shop", text: "Pay it back" }
const run = "01a22bba-c87a-778e-b776-3a0948f67a9b"
const carl = { id: "carl", tenant: "default", roles: ["customer"] }
const olga = { id: "olga", tenant: "default", roles: ["operator"] }
const branch = "is `replaces` here: the run of the message that this one stands in place of"
const who = "who asks is the second argument: { id, tenant, roles }"
const acting = "is `via` here: the principal is the user, and `via` is who acts for it"

const budget = (members: object) =>
  starting({ budgets: [{ name: "daily", scope: "customer", period: "day", ...members }] })

/** What a backend that only sends for customers asks for somebody. */
const acted = async (method: "messages" | "pending", of: object) => {
  const troupe = await starting({
    customer_agents: ["shop"],
    roles: { web: { actFor: { customer: ["send"] } } }
  })
  const via = { id: "web", tenant: "default", roles: ["web"] }
  try {
    return await call(troupe, method, ...(method === "messages" ? ["c-1", {}] : []), { ...of, via })
  } finally {
    await troupe.stop()
  }
}

export const customers: ReadonlyArray<Mistake> = [
  [
    "an id of the application's own",
    (troupe) => call(troupe, "send", { ...message, conversation: "auth0|7:1" }, carl),
    "message.conversation: Expected 1 to 200 characters: letters, digits and . _ : @ ~ -, and no other (a customer auth0|7 begins auth0~007c7:NAME)"
  ],
  [
    "id of a chat",
    (troupe) => call(troupe, "send", { ...message, id: "c-1" }),
    "message.id is `conversation` here"
  ],
  [
    "messageId of an edited message",
    (troupe) => call(troupe, "send", { ...message, messageId: "m-1" }),
    `message.messageId ${branch}`
  ],
  [
    "trigger of useChat",
    (troupe) => call(troupe, "send", { ...message, trigger: "regenerate-message" }),
    `message.trigger ${branch}`
  ],
  [
    "checkpoint_id",
    (troupe) => call(troupe, "send", { ...message, checkpoint_id: "x" }),
    `message.checkpoint_id ${branch}`
  ],
  [
    "a run that is replaced, without its conversation",
    (troupe) => call(troupe, "send", { text: "x", replaces: run }),
    "message.conversation is missing: give that of the run in `replaces`"
  ],
  [
    "the id of a message as that of its run",
    (troupe) =>
      call(troupe, "send", { conversation: "c-1", agent: "shop", text: "", replaces: "m-1" }),
    "message.replaces: Expected the id of a run, as `send` gives it: a lower-case UUID"
  ],
  [
    "an empty text",
    (troupe) => call(troupe, "send", { ...message, text: "" }),
    "message.text: Expected a text, which is empty only beside `parts` or `replaces`"
  ],
  [
    "the customer in the message",
    (troupe) => call(troupe, "send", { ...message, customer: "carl" }),
    `message.customer: ${who}`
  ],
  [
    "onBehalfOf in the message",
    (troupe) => call(troupe, "send", { ...message, onBehalfOf: "carl" }),
    `message.onBehalfOf ${acting}`
  ],
  [
    "on_behalf_of of who asks",
    (troupe) => call(troupe, "send", message, { ...olga, on_behalf_of: "carl" }),
    `by.on_behalf_of ${acting}`
  ],
  [
    "a role in place of roles",
    (troupe) => call(troupe, "send", message, { ...olga, role: "customer" }),
    "by.role is `roles` here, a list"
  ],
  [
    "metadata of a customer",
    (troupe) => call(troupe, "send", { ...message, metadata: { plan: "gold" } }, carl),
    "carl holds none of the roles that may give `metadata`: operator"
  ],
  [
    "a right that the backend's role does not name",
    () => acted("messages", carl),
    'web may not do this for carl. Roles that may: none of this service (actFor: { customer: ["follow"] })'
  ],
  [
    "a role that the backend's role does not name",
    () => acted("pending", { ...olga, roles: ["approver"] }),
    'web may not do this for olga. Roles that may: none of this service (actFor: { approver: ["inspect"] })'
  ],
  [
    "actFor beside roles",
    () => starting({ actFor: { customer: ["send"] } }),
    'start: actFor is a role here: roles: { web: { actFor: { customer: ["send"] } } }'
  ],
  [
    "a title in the message",
    (troupe) => call(troupe, "send", { ...message, title: "Refund" }),
    "message.title is set by `changeConversation`, or by `title` of `agent`"
  ],
  [
    "a title as the second argument",
    (troupe) => call(troupe, "changeConversation", "c-1", "Refund", olga),
    "payload is a text: write { title, metadata }"
  ],
  [
    "who asks in place of a query",
    (troupe) => call(troupe, "conversations", carl),
    "query.id: here stands the query; who asks is the argument behind it"
  ],
  [
    "the customer in a query",
    (troupe) => call(troupe, "conversations", { resourceId: "carl" }, olga),
    "query.resourceId: whose they are is said by who asks, in code the last argument"
  ],
  [
    "pages by their number",
    (troupe) => call(troupe, "conversations", { page: 2 }, olga),
    "query.page is `after` here: the cursor, seq or id of the last of the page before"
  ],
  [
    "a number out of a URL",
    (troupe) => call(troupe, "conversations", { limit: "5" }, olga),
    "query.limit is a text: write a number, 5"
  ],
  [
    "the cursor of a stream in a message",
    (troupe) => streamed(troupe, { ...message, lastEventId: "x" }),
    "message.lastEventId: a run is followed on by stream({ run, after: cursor })"
  ],
  [
    "user of a history",
    (troupe) =>
      call(
        troupe,
        "importHistory",
        "c-1",
        { agent: "shop", format: "ai-sdk", userId: "carl" },
        olga
      ),
    "payload.userId is `customer` here"
  ],
  [
    "an amount of a budget as a number",
    () => budget({ cost: 5 }),
    'start: budgets[0].cost is a number: write a text, "5"'
  ],
  [
    "amount of a budget",
    () => budget({ amount: 5 }),
    "start: budgets[0].amount is `cost`, `tokens` or `calls` here"
  ],
  [
    "a member that a message never has",
    (troupe) => call(troupe, "send", { ...message, zebra: 1 }),
    "message.zebra: there is no such member. There is: agent, text, parts, conversation, replaces, idempotency_key, answer, context, metadata, traceparent, tracestate, baggage."
  ]
]
