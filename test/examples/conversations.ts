import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const carl = new Principal({ id: "auth0|7", tenant: "default", roles: ["customer"] })
const dora = new Principal({ id: "auth0|8", tenant: "default", roles: ["customer"] })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
let asked = 0
// It says what it was told of the conversation.
const model = scripted(({ history }) => text(`answer ${++asked}, ${history.length} texts before`))
const troupe = await start({ agents: [shop], model, customer_agents: ["shop"] })

// A customer names a conversation behind its own id, whose other characters become `~` and four hex digits.
const hex = (unit: string) => `~${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
const chat = `${carl.id.replace(/[^A-Za-z0-9._@-]/g, hex)}:chat-1`

// What was said elsewhere, for `carl`. Whoever imports is staff.
const messages = [
  { role: "user", content: "Where is order 7?" },
  { role: "assistant", content: "It is shipped." }
]
const history = { agent: "shop", customer: carl.id, format: "chat-completions", messages } as const
const { conversation, created } = await troupe.importHistory(chat, history, olga)
console.log(conversation, created)

const first = await troupe.ask({ conversation, text: "And ordre 8?" }, carl)
// Edited: a branch beside the first message, with what was said before it.
const second = await troupe.ask({ conversation, text: "And order 8?", replaces: first.run }, carl)
// An empty text gives the answer anew.
await troupe.ask({ conversation, text: "", replaces: second.run }, carl)
for (const { content, role } of await troupe.messages(conversation, {}, carl)) {
  console.log(`${role}: ${content}`)
}
const all = await troupe.messages(conversation, { superseded: true }, carl)
console.log(all.filter(({ superseded }) => superseded).map(({ content }) => content))

// What a list draws.
await troupe.changeConversation(conversation, { title: "Order 8" }, carl)
const [found] = await troupe.conversations({ search: "order" }, carl)
console.log(found?.title, "|", found?.status, "|", found?.last_message?.text)
console.log(await troupe.conversations({}, dora))
await troupe.deleteConversation(conversation, carl)
console.log(await troupe.conversations({}, carl))
await troupe.stop()

// Output:
// auth0~007c7:chat-1 true
// user: Where is order 7?
// assistant: It is shipped.
// user: And order 8?
// assistant: answer 3, 2 texts before
// [
//   'And ordre 8?',
//   'answer 1, 2 texts before',
//   'And order 8?',
//   'answer 2, 2 texts before'
// ]
// Order 8 | idle | answer 3, 2 texts before
// []
// []
